"""The numbers of every figure and their positions, computed again from the store."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from scipy.stats import rankdata, studentized_range

from amounts import amount
from berlyne.figures import Drawing
from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction import draw_figures
from berlyne.paper.reproduction.draw_figures import draw
from berlyne.paper.reproduction.evidence import gather_evidence
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.robustness import variant_evidence
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.processes import Workers
from berlyne.serialization import StoreError

from .by_hand import ALPHA, CLASSES, N_STEPS, N_WORLDS, SNAPSHOTS, STRATEGIES, stage, stored, world

pytestmark = pytest.mark.slow

TITLES = {"dense": "Dense Worlds", "maze": "Mazes", "1-2-3": "1-2-3 Worlds"}
BASE = ("Unembodied", "Random")
CURVES = {
    "fig3": BASE,
    "fig4": (*BASE, "PIG(greedy)", "PIG(VI)", "PIG(VI+)"),
    "fig6": (*BASE, "LTA", "CB", "PEIG(Q)", "PIG(VI)"),
    "fig7": (*BASE, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
    "figS3": (*BASE, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)"),
    "figS4": (*BASE, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
}
FIG8 = tuple(name for name in STRATEGIES if "(Q)" not in name)


@cache
def lines(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "figures" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def numbers(folder: Path, name: str, *columns: str, **where: str) -> np.ndarray:
    """Some columns of the lines of a figure that have these labels, (lines, columns)."""
    matching = [line for line in lines(folder, name) if all(line[key] == label for key, label in where.items())]
    return np.array([[float(line[column]) for column in columns] for line in matching])


@pytest.mark.parametrize(("name", "world_class"), [("figS1", "dense"), ("figS2", "1-2-3")])
def test_graphs_are_drawn_of_every_transition_of_the_first_world(name: str, world_class: str, folder: Path) -> None:
    theta = np.zeros_like(world(world_class, 0).theta)
    for line in lines(folder, name):
        theta[int(line["action"]), int(line["state"]), int(line["next_state"])] += float(line["probability"])
    assert np.array_equal(theta, world(world_class, 0).theta)


def test_two_rows_of_the_first_maze(folder: Path) -> None:
    values = numbers(folder, "fig1", "action", "room", "next_room", "probability")
    rows = np.unique(values[:, :2].astype(int), axis=0)
    assert len(rows) == 2
    for a, s in rows:
        drawn = np.zeros(36)
        of_row = values[(values[:, 0] == a) & (values[:, 1] == s)]
        drawn[of_row[:, 2].astype(int)] = of_row[:, 3]
        assert np.array_equal(drawn, world("maze", 0).theta[a, s])


@pytest.mark.parametrize("world_class", CLASSES)
def test_fig_2(world_class: str, folder: Path) -> None:
    gains = stage(folder, "gains").sel(world_class=world_class)
    parts = (gains["gain"].mean("world"), gains["sd_gain"], gains["pig"].mean("world"), gains["sd_pig"])
    expected = np.stack([np.arange(20), *(part.values for part in parts)], axis=1)
    columns = ("n_obs", "mean_gain", "sd_gain", "mean_pig", "sd_pig")
    assert numbers(folder, "fig2", *columns, world_class=world_class) == pytest.approx(expected, rel=1e-12)


def test_fig_2_has_the_realised_gain_along_and_the_predicted_gain_up(
    drawings: dict[str, Drawing], folder: Path
) -> None:
    axes = drawings["fig2"].figure.axes
    assert [ax.get_title() for ax in axes] == list(TITLES.values())
    assert axes[0].get_ylabel() == "predicted gain (bits)"
    for ax, name in zip(axes, CLASSES, strict=True):
        assert ax.get_xlabel() == "realised gain (bits)"
        drawn = np.transpose(ax.containers[0].lines[0].get_data())
        assert np.array_equal(drawn, numbers(folder, "fig2", "mean_gain", "mean_pig", world_class=name))


@pytest.mark.parametrize("name", CURVES)
def test_learning_curves(name: str, folder: Path) -> None:
    measure = "l1_distance" if name == "figS4" else "missing_information"
    curves: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for line in lines(folder, name):
        numbers_ = (float(line["time"]), float(line["mean"]), float(line["standard_error"]))
        curves.setdefault((line["world_class"], line["strategy"]), []).append(numbers_)
    assert set(curves) == {(world_class, s) for world_class in CLASSES for s in CURVES[name]}
    for (world_class, strategy), drawn in curves.items():
        values = stored(folder)[world_class][measure].sel(strategy=strategy).values.astype(float)
        error = np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=0) / (N_WORLDS * (N_WORLDS - 1)))
        expected = np.stack([np.arange(N_STEPS[world_class] + 1), values.mean(axis=0), error], axis=1)
        np.testing.assert_allclose(drawn, expected, rtol=1e-9, atol=1e-9)


def labelled(ax: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in ax.lines if not str(line.get_label()).startswith("_")}


def dotted(ax: Axes) -> list[Line2D]:
    return [line for line in ax.lines if line.get_linestyle() == ":"]


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_drawn_in_the_panel_of_their_class(name: str, drawings: dict[str, Drawing], folder: Path) -> None:
    axes = drawings[name].figure.axes[:3]
    assert [ax.get_title() for ax in axes] == list(TITLES.values())
    for ax, world_class in zip(axes, CLASSES, strict=True):
        assert list(labelled(ax)) == list(CURVES[name])
        for strategy, line in labelled(ax).items():
            where = {"world_class": world_class, "strategy": strategy}
            values = numbers(folder, name, "mean", "standard_error", **where)
            times = line.get_xdata().astype(int)
            assert (times[0], times[-1]) == (0, N_STEPS[world_class])
            assert np.array_equal(line.get_ydata(), values[times, 0])
            errors = [other.get_ydata() for other in dotted(ax) if other.get_color() == line.get_color()]
            expected = {tuple((values @ [1, sign])[times]) for sign in (-1, 1)}
            assert {tuple(error) for error in errors} >= expected


@pytest.mark.parametrize("name", ["fig7", "figS4"])
def test_differences_from_pig_vi_are_taken_world_by_world(
    name: str, drawings: dict[str, Drawing], folder: Path
) -> None:
    measure = "l1_distance" if name == "figS4" else "missing_information"
    for ax, world_class in zip(drawings[name].figure.axes[3:], CLASSES, strict=True):
        values = stored(folder)[world_class][measure].astype(float)
        others = [s for s in CURVES[name] if s != "PIG(VI)"]
        assert list(labelled(ax)) == others
        assert len(dotted(ax)) == 2 * len(others)
        for strategy in others:
            apart = (values.sel(strategy=strategy) - values.sel(strategy="PIG(VI)")).values
            expected = np.stack([apart.mean(axis=0), apart.std(axis=0, ddof=1) / 2], axis=1)  # four worlds
            where = {"world_class": world_class, "strategy": strategy}
            differences = numbers(folder, name, "mean_difference", "standard_error_of_difference", **where)
            np.testing.assert_allclose(differences, expected, rtol=1e-9, atol=1e-9)
            line = labelled(ax)[strategy]
            assert np.array_equal(line.get_ydata(), differences[line.get_xdata().astype(int), 0])


def beyond(ax: Axes) -> list[Artist]:
    """Return the artists that lie outside of their panel."""
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    slack_x, slack_y = 1e-6 * (right - left), 1e-6 * (high - low)
    outside = []
    for artist in (*ax.lines, *ax.collections):
        if isinstance(artist, Line2D):
            points = artist.get_xydata() if artist.get_transform() == ax.transData else np.zeros((0, 2))
        elif len(artist.get_offsets()) > 1:
            points = np.asarray(artist.get_offsets())
        else:
            curves = [path.to_polygons(closed_only=False) for path in artist.get_paths()]
            points = np.concatenate([np.zeros((0, 2)), *(piece for curve in curves for piece in curve)])
        points = points[np.isfinite(points).all(axis=1)]
        x, y = points.T
        inside = (x >= left - slack_x) & (x <= right + slack_x) & (y >= low - slack_y) & (y <= high + slack_y)
        if not inside.all():
            outside.append(artist)
    return outside


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name: str, drawings: dict[str, Drawing]) -> None:
    assert [beyond(ax) for ax in drawings[name].figure.axes] == [[] for _ in drawings[name].figure.axes]


@pytest.mark.parametrize("name", FIGURES)
def test_markers_at_the_edges_are_drawn_whole(name: str, drawings: dict[str, Drawing]) -> None:
    for ax in drawings[name].figure.axes:
        (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
        for line in ax.lines:
            if line.get_marker() not in ("None", None, "") and line.get_clip_on():
                x, y = line.get_data()
                assert left < min(x)
                assert max(x) < right
                assert low < min(y)
                assert max(y) < high


WITH_ERRORS = (*CURVES, "figS5")


@pytest.mark.parametrize("name", FIGURES)
def test_only_standard_errors_are_dotted(name: str, drawings: dict[str, Drawing]) -> None:
    for ax in drawings[name].figure.axes:
        errors = [line for line in dotted(ax) if line.get_marker() == "None" and line.get_linewidth() < 1]
        curves = [line for line in ax.lines if line.get_marker() != "None"]
        assert dotted(ax) == errors
        if name in WITH_ERRORS and ax.get_yscale() != "log":
            assert len(errors) == 2 * len(curves)
        else:
            assert errors == []


@pytest.mark.parametrize("name", FIGURES)
def test_panels_have_letters_if_there_are_several(name: str, drawings: dict[str, Drawing]) -> None:
    letters = [ax.get_title(loc="left") for ax in drawings[name].figure.axes if ax.get_title(loc="left")]
    expected = {"fig1": 0, "fig5": 2, "figS1": 4, "figS5": 4, "sensitivity": 0}
    expected |= dict.fromkeys(("fig7", "figS4", "fig8", "fig8-times"), 6)
    assert letters == list("abcdef")[: expected.get(name, 3)]


@pytest.mark.parametrize("name", FIGURES)
def test_captions_are_sentences_with_the_number_of_worlds(name: str) -> None:
    caption = FIGURES[name].text.caption.format(n=N_WORLDS)
    assert "{" not in caption
    assert caption.endswith(".")
    assert "  " not in caption
    assert (
        f"n = {N_WORLDS} worlds" in caption
        or f"One of the {N_WORLDS}" in caption
        or f"of the {N_WORLDS} worlds" in caption
    )
    assert (re.search(r"(?<!dash-)dotted", caption) is not None) == (name in WITH_ERRORS)


def embodiment_index(folder: Path, world_class: str) -> np.ndarray:
    area = stored(folder)[world_class]["area"]
    greedy, free = (area.sel(strategy=s).values for s in ("PIG(greedy)", "Unembodied"))
    return np.asarray(greedy / free - 1)


@pytest.mark.parametrize("world_class", CLASSES)
def test_fig_5(world_class: str, folder: Path) -> None:
    structure = stage(folder, "structure").sel(world_class=world_class)
    points = np.stack([structure["structure_index"].values, embodiment_index(folder, world_class)], axis=1)
    assert numbers(folder, "fig5", "x", "y", panel="a", world_class=world_class) == pytest.approx(points, rel=1e-9)
    reach = structure["controllability"].values
    expected = np.stack([np.arange(1, 21), reach.mean(axis=0), reach.std(axis=0, ddof=1)], axis=1)
    values = numbers(folder, "fig5", "x", "y", "sd", panel="b", world_class=world_class)
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_fig_5_has_structure_along_and_embodiment_up_and_lags_along_and_bits_up(
    drawings: dict[str, Drawing], folder: Path
) -> None:
    left, right = drawings["fig5"].figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("structure index", "embodiment index")
    assert (right.get_xlabel(), right.get_ylabel()) == ("time steps into the future", "controllability (bits)")
    for i, name in enumerate(CLASSES):
        points, curve = left.collections[i], right.containers[i]
        assert points.get_label() == curve.get_label() == TITLES[name]
        a, b = (numbers(folder, "fig5", "x", "y", panel=panel, world_class=name) for panel in "ab")
        assert np.array_equal(points.get_offsets(), a)
        assert np.array_equal(np.transpose(curve.lines[0].get_data()), b)


def average_ranks(tasks: xr.Dataset, task: str) -> np.ndarray:
    """Ranks of the thirteen at each time of testing, averaged, (world, strategy)."""
    losses = tasks[f"{task}_loss"].sel(strategy=list(FIG8)).transpose("snapshot", "world", "strategy").values
    return np.mean([rankdata(at_time, axis=1) for at_time in losses], axis=0)


@pytest.mark.parametrize("world_class", CLASSES)
def test_fig_8(world_class: str, folder: Path) -> None:
    tasks = stage(folder, "tasks").sel(world_class=world_class)
    expected = []
    for task in ("navigation", "reward"):
        ranks = average_ranks(tasks, task)
        expected += [ranks.mean(axis=0), ranks.std(axis=0, ddof=1)]
    columns = ("navigation_rank", "navigation_sd", "reward_rank", "reward_sd")
    values = numbers(folder, "fig8", *columns, world_class=world_class)
    assert values == pytest.approx(np.stack(expected, axis=1))
    assert [line["strategy"] for line in lines(folder, "fig8") if line["world_class"] == world_class] == list(FIG8)


def test_fig_8_has_navigation_along_and_reward_up_with_bounds_of_both_levels(
    drawings: dict[str, Drawing], folder: Path
) -> None:
    axes = drawings["fig8"].figure.axes[:3]
    assert axes[0].get_ylabel() == "mean rank in reward loss"
    for ax, name in zip(axes, CLASSES, strict=True):
        assert (ax.get_title(), ax.get_xlabel()) == (TITLES[name], "mean rank in navigation loss")
        points = {line.get_label(): line.get_xydata()[0].tolist() for line in ax.lines if line.get_label() in FIG8}
        values = numbers(folder, "fig8", "navigation_rank", "reward_rank", world_class=name)
        assert points == dict(zip(FIG8, values.tolist(), strict=True))
        bounds = [line for line in ax.lines if line.get_label().startswith("_child") and len(line.get_xdata()) == 2]
        for along, colour in ((0, "#1a9641"), (1, "#2b55c4")):
            of_task = [line for line in bounds if to_hex(line.get_color()) == colour]
            drawn = np.array([line.get_xydata()[0][along] for line in of_task])
            ranks = average_ranks(stage(folder, "tasks").sel(world_class=name), ("navigation", "reward")[along])
            variance = np.sum((ranks - 7.0) ** 2) / (N_WORLDS * 12) / N_WORLDS  # of a mean rank
            p = studentized_range.sf(np.abs(drawn - points["PIG(VI)"][along]) / np.sqrt(variance), 13, np.inf)
            level = {"-": 0.0001, "--": 0.001}  # solid: the level of the paper's caption
            assert p == pytest.approx([level[line.get_linestyle()] for line in of_task], rel=1e-6)
            limits = (ax.get_xlim(), ax.get_ylim())[along]
            reach = studentized_range.isf([0.001, 0.0001], 13, np.inf) * np.sqrt(variance)
            all_four = points["PIG(VI)"][along] + np.array([*reach, *-reach])
            assert len(drawn) == np.sum((all_four >= limits[0]) & (all_four <= limits[1]))


@pytest.mark.parametrize("world_class", CLASSES)
def test_ranks_at_each_time_point(world_class: str, folder: Path) -> None:
    tasks = stage(folder, "tasks").sel(world_class=world_class)
    for task in ("navigation", "reward"):
        for share in SNAPSHOTS:
            losses = tasks[f"{task}_loss"].sel(snapshot=share)
            ranks = rankdata(np.stack([losses.sel(strategy=s).values for s in FIG8], axis=1), axis=1)
            where = {"task": task, "world_class": world_class, "snapshot": str(share)}
            values = numbers(folder, "fig8-times", "mean_rank", "sd", **where)
            assert values == pytest.approx(np.stack([ranks.mean(axis=0), ranks.std(axis=0, ddof=1)], axis=1))


@pytest.mark.parametrize("world_class", ["dense", "maze"])
def test_fig_s5(world_class: str, folder: Path) -> None:
    learned, n = stage(folder, "learned").sel(world_class=world_class), N_STEPS[world_class] + 1
    columns = ("mean", "standard_error", "median", "percentile_16", "percentile_84")
    for quantity, prior, values in of_learned(learned):
        values_so_far = values[:, :n].astype(float)
        expected = [values_so_far.mean(axis=0), values_so_far.std(axis=0, ddof=1) / 2]  # four worlds
        expected += [np.quantile(values_so_far, q, axis=0) for q in (0.5, 0.16, 0.84)]
        where = {"quantity": quantity, "world_class": world_class, "prior": prior[0], "start": str(prior[1])}
        table = numbers(folder, "figS5", *columns, **where)
        np.testing.assert_allclose(table, np.stack(expected, axis=1), rtol=1e-4, atol=1e-5)


def of_learned(learned: xr.Dataset) -> Iterator[tuple[str, tuple[str, float], np.ndarray]]:
    """Yield the arrays (world, time) of the stage with the prior and the start of their lines in the table."""
    yield "missing_information", ("given", float(learned["true_alpha"])), learned["given"].values
    for start in (1.0, 10.0):
        yield "missing_information", ("learned", start), learned["learned"].sel(start=start).values
        yield "alpha", ("learned", start), learned["alpha"].sel(start=start).values


def test_fig_s5_is_labelled_as_it_is_drawn(drawings: dict[str, Drawing], folder: Path) -> None:
    axes = drawings["figS5"].figure.axes
    for above, below, name in zip(axes[:2], axes[2:], ("dense", "maze"), strict=True):
        assert (above.get_title(), below.get_title()) == (TITLES[name], "")
        drawn = labelled(above)
        assert list(drawn) == ["given", "learned from 1", "learned from 10"]
        *medians, true = below.lines
        for start, line in zip((ALPHA[name], 1.0, 10.0), drawn.values(), strict=True):
            prior = "given" if line.get_label() == "given" else "learned"
            where = {"quantity": "missing_information", "world_class": name, "prior": prior, "start": str(start)}
            mean = numbers(folder, "figS5", "mean", **where)[line.get_xdata().astype(int), 0]
            np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-6)
        for start, line in zip((1.0, 10.0), medians, strict=True):
            expected = numbers(folder, "figS5", "median", quantity="alpha", world_class=name, start=str(start))
            np.testing.assert_allclose(line.get_ydata(), expected[line.get_xdata().astype(int), 0], rtol=1e-6)
        assert set(true.get_ydata()) == {ALPHA[name]}


@pytest.mark.parametrize("world_class", CLASSES)
def test_index_by_length(world_class: str, folder: Path) -> None:
    lengths = stage(folder, "lengths").sel(world_class=world_class)
    greedy, free = (lengths["area"].sel(strategy=s).values for s in ("PIG(greedy)", "Unembodied"))
    index = greedy / free - 1
    expected = np.stack([lengths["length"].values, index.mean(axis=0), index.std(axis=0, ddof=1) / 2], axis=1)
    columns = ("run_length", "embodiment_index", "standard_error")
    values = numbers(folder, "index-by-length", *columns, world_class=world_class)
    assert values == pytest.approx(expected, rel=1e-9)
    assert values[49] == pytest.approx(  # runs as long as ours are ours
        [N_STEPS[world_class], embodiment_index(folder, world_class).mean(), values[49, 2]], rel=1e-9
    )


def test_index_by_length_marks_the_published_index_and_our_lengths(drawings: dict[str, Drawing]) -> None:
    axes = drawings["index-by-length"].figure.axes
    for ax, name, published in zip(axes, CLASSES, (0.02, 2.59, 1.27), strict=True):
        assert ax.get_title() == TITLES[name]
        assert set(ax.lines[1].get_ydata()) == {published}
        assert set(ax.lines[2].get_xdata()) == {N_STEPS[name]}


def test_sensitivity(paper_run: PaperRun, folder: Path) -> None:
    cells_drawn: dict[str, dict[str, tuple[str, str, float]]] = {}
    for line in lines(folder, "sensitivity"):
        cells_drawn.setdefault(line["variant"], {})[line["claim"]] = (
            line["verdict"],
            line["flip"],
            float(line["change"]),
        )
    asked = [id_ for id_, claim in CLAIMS.items() if {"explorations", "tasks", "structure"} & set(claim.needs)]
    assert list(cells_drawn) == ["as read", *(v.id for v in VARIANTS)]
    assert all(list(row) == asked for row in cells_drawn.values())
    as_read = {id_: CLAIMS[id_].verdict(gather_evidence(paper_run)) for id_ in asked}
    assert cells_drawn["as read"] == {id_: (verdict.word, "", 0.0) for id_, verdict in as_read.items()}
    for variant in (v for v in VARIANTS if v.id in ("ties", "maze-law", "half-length", "pool-all", "cap")):
        evidence = variant_evidence(paper_run, variant)
        for id_ in asked:
            verdict = CLAIMS[id_].verdict(evidence)
            word, flip, change = cells_drawn[variant.id][id_]
            if id_ in ("tasks-top", "tasks-only") and variant.id in ("ties", "maze-law"):
                assert (word, flip, np.isnan(change)) == ("", "", True)
                continue
            assert word == verdict.word
            assert bool(flip) == (word != as_read[id_].word)
            moved = [
                abs(b.effect - a.effect) / (10 if a.unit == "ranks" else 1)
                for a, b in zip(as_read[id_].findings, verdict.findings, strict=True)
                if a.effect is not None
            ]
            assert change == pytest.approx(max(moved))


def copied(folder: Path, to: Path) -> PaperRun:
    """A study of the same numbers without figures."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("figures"))
    return PaperRun(to, N_WORLDS, 0)


SOME = amount(("fig2", "figS2"), ("fig1", "fig2", "fig5", "figS1", "figS2", "sensitivity"))


@pytest.fixture(autouse=True)
def draw_few_figures_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_figures, "MIN_FIGURES", amount(0, draw_figures.MIN_FIGURES))


def test_other_processes_draw_what_one_draws(folder: Path, tmp_path: Path, workers: Workers) -> None:
    paper_run = copied(folder, tmp_path / "copy")
    assert sorted(draw(paper_run, SOME, workers)) == sorted(SOME)
    assert "executor" in vars(workers)
    for name in SOME:
        for file in (f"{name}.png", f"{name}.csv"):
            assert (paper_run.folder / "figures" / file).read_bytes() == (folder / "figures" / file).read_bytes()


def test_a_figure_that_another_process_fails_to_draw_is_an_error(
    folder: Path, tmp_path: Path, workers: Workers
) -> None:
    paper_run = copied(folder, tmp_path / "copy")
    shutil.rmtree(paper_run.folder / "data" / "gains.zarr")
    with pytest.raises(StoreError, match="gains"):
        list(draw(paper_run, SOME, workers))
