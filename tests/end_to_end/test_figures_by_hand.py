"""The numbers behind every figure, and where they are drawn, worked out again from what is stored."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.stats import rankdata, studentized_range

from berlyne.claims import CLAIMS
from berlyne.reproduction import figures, sensitivity
from berlyne.reproduction.figures import FIGURES
from berlyne.reproduction.study import Study

from .by_hand import ALPHA, CLASSES, N_STEPS, N_WORLDS, STRATEGIES, stage, stored, world

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


@pytest.fixture(scope="module")
def folder(finished: tuple[Path, str]) -> Path:
    return finished[0]


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return Study(folder, N_WORLDS, 0)


def lines(folder: Path, name: str) -> Iterator[dict[str, str]]:
    with (folder / "figures" / f"{name}.csv").open() as file:
        yield from csv.DictReader(file)


def numbers(folder: Path, name: str, *columns: str, **where: str) -> np.ndarray:
    """Some columns of the lines of a figure that have these labels, (lines, columns)."""
    found = [line for line in lines(folder, name) if all(line[key] == label for key, label in where.items())]
    return np.array([[float(line[column]) for column in columns] for line in found])


@pytest.mark.parametrize(("name", "world_class"), [("figS1", "dense"), ("figS2", "1-2-3")])
def test_graphs_are_drawn_of_every_transition_of_the_first_world(name: str, world_class: str, folder: Path) -> None:
    theta = np.zeros_like(world(world_class, 0).theta)
    for line in lines(folder, name):
        theta[int(line["action"]), int(line["state"]), int(line["next_state"])] += float(line["probability"])
    assert np.array_equal(theta, world(world_class, 0).theta)


def test_two_rows_of_the_first_maze(folder: Path) -> None:
    found = numbers(folder, "fig1", "action", "room", "next_room", "probability")
    rows = np.unique(found[:, :2].astype(int), axis=0)
    assert rows[:, 0].tolist() == [0, 3]
    for a, s in rows:
        drawn = np.zeros(36)
        of_row = found[(found[:, 0] == a) & (found[:, 1] == s)]
        drawn[of_row[:, 2].astype(int)] = of_row[:, 3]
        assert np.array_equal(drawn, world("maze", 0).theta[a, s])


@pytest.mark.parametrize("world_class", CLASSES)
def test_fig_2(world_class: str, folder: Path) -> None:
    gains = stage(folder, "gains").sel(world_class=world_class)
    parts = (gains["gain"].mean("world"), gains["sd_gain"], gains["pig"].mean("world"), gains["sd_pig"])
    expected = np.stack([np.arange(20), *(part.values for part in parts)], axis=1)
    columns = ("n_obs", "mean_gain", "sd_gain", "mean_pig", "sd_pig")
    assert numbers(folder, "fig2", *columns, world_class=world_class) == pytest.approx(expected, rel=1e-12)


def test_fig_2_has_the_realised_gain_along_and_the_predicted_gain_up(study: Study, folder: Path) -> None:
    axes = FIGURES["fig2"].draw(study).figure.axes
    assert [ax.get_title() for ax in axes] == list(TITLES.values())
    assert axes[0].get_ylabel() == "predicted gain (bits)"
    for ax, name in zip(axes, CLASSES, strict=True):
        assert ax.get_xlabel() == "realised gain (bits)"
        drawn = np.transpose(ax.containers[0].lines[0].get_data())
        assert np.array_equal(drawn, numbers(folder, "fig2", "mean_gain", "mean_pig", world_class=name))


@pytest.mark.parametrize("name", CURVES)
def test_learning_curves(name: str, folder: Path) -> None:
    measure = "l1_distance" if name == "figS4" else "missing_information"
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for line in lines(folder, name):
        numbers_ = (float(line["time"]), float(line["mean"]), float(line["standard_error"]))
        found.setdefault((line["world_class"], line["strategy"]), []).append(numbers_)
    assert set(found) == {(world_class, s) for world_class in CLASSES for s in CURVES[name]}
    for (world_class, strategy), drawn in found.items():
        values = stored(folder)[world_class][measure].sel(strategy=strategy).values.astype(float)
        error = np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=0) / (N_WORLDS * (N_WORLDS - 1)))
        expected = np.stack([np.arange(N_STEPS[world_class] + 1), values.mean(axis=0), error], axis=1)
        np.testing.assert_allclose(drawn, expected, rtol=1e-9, atol=1e-9)


def test_curves_are_drawn_in_the_panel_of_their_class(study: Study, folder: Path) -> None:
    axes = FIGURES["fig3"].draw(study).figure.axes
    assert [ax.get_title() for ax in axes] == list(TITLES.values())
    for ax, name in zip(axes, CLASSES, strict=True):
        drawn = {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
        assert set(drawn) == {"Unembodied", "Random"}
        for strategy, mean in drawn.items():
            assert mean.tolist() == numbers(folder, "fig3", "mean", world_class=name, strategy=strategy)[:, 0].tolist()


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
    found = numbers(folder, "fig5", "x", "y", "sd", panel="b", world_class=world_class)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_fig_5_has_structure_along_and_embodiment_up_and_lags_along_and_bits_up(study: Study, folder: Path) -> None:
    left, right = FIGURES["fig5"].draw(study).figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("structure index", "embodiment index")
    assert (right.get_xlabel(), right.get_ylabel()) == ("time steps into the future", "controllability (bits)")
    for i, name in enumerate(CLASSES):
        points, curve = left.collections[i], right.containers[i]
        assert points.get_label() == curve.get_label() == TITLES[name]
        a, b = (numbers(folder, "fig5", "x", "y", panel=panel, world_class=name) for panel in "ab")
        assert np.array_equal(points.get_offsets(), a)
        assert np.array_equal(np.transpose(curve.lines[0].get_data()), b)


@pytest.mark.parametrize("world_class", CLASSES)
def test_fig_8(world_class: str, folder: Path) -> None:
    tasks = stage(folder, "tasks").sel(world_class=world_class)
    expected = []
    for task in ("navigation", "reward"):
        losses = np.stack([tasks[f"{task}_loss"].sel(strategy=s).mean("snapshot").values for s in FIG8], axis=1)
        ranks = rankdata(losses, axis=1)
        expected += [ranks.mean(axis=0), ranks.std(axis=0, ddof=1)]
    columns = ("navigation_rank", "navigation_sd", "reward_rank", "reward_sd")
    found = numbers(folder, "fig8", *columns, world_class=world_class)
    assert found == pytest.approx(np.stack(expected, axis=1))
    assert [line["strategy"] for line in lines(folder, "fig8") if line["world_class"] == world_class] == list(FIG8)


def test_fig_8_has_navigation_along_and_reward_up_with_bounds_of_both_levels(study: Study, folder: Path) -> None:
    axes = FIGURES["fig8"].draw(study).figure.axes
    assert axes[0].get_ylabel() == "rank in reward loss"
    variance = 13 * 14 / 12 / N_WORLDS
    for ax, name in zip(axes, CLASSES, strict=True):
        assert (ax.get_title(), ax.get_xlabel()) == (TITLES[name], "rank in navigation loss")
        points = {line.get_label(): line.get_xydata()[0].tolist() for line in ax.lines if line.get_label() in FIG8}
        found = numbers(folder, "fig8", "navigation_rank", "reward_rank", world_class=name)
        assert points == dict(zip(FIG8, found.tolist(), strict=True))
        bounds = [line for line in ax.lines if line.get_label().startswith("_child") and len(line.get_xdata()) == 2]
        for along, colour in ((0, "#1a9641"), (1, "#2b55c4")):
            drawn = [line.get_xydata()[0][along] for line in bounds if to_hex(line.get_color()) == colour]
            reach = np.abs(np.array(drawn) - points["PIG(VI)"][along]) / np.sqrt(variance)
            p = studentized_range.sf(reach, 13, np.inf)
            assert p == pytest.approx([0.001, 0.001, 0.0001, 0.0001], rel=1e-6)
            assert drawn[0] < points["PIG(VI)"][along] < drawn[1]


@pytest.mark.parametrize("world_class", ["dense", "maze"])
def test_fig_s5(world_class: str, folder: Path) -> None:
    learned, n = stage(folder, "learned").sel(world_class=world_class), N_STEPS[world_class] + 1
    for prior in ("given", "learned"):
        values = learned["missing_information"].sel(prior=prior).values[:, :n].astype(float)
        expected = np.stack([values.mean(axis=0), values.std(axis=0, ddof=1) / 2], axis=1)  # four worlds
        where = {"quantity": "missing_information", "world_class": world_class, "prior": prior}
        found = numbers(folder, "figS5", "mean", "standard_error", **where)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    alpha = learned["alpha"].values[:, :n].astype(float)
    expected = np.stack([np.arange(n), alpha.mean(axis=0), alpha.std(axis=0, ddof=1)], axis=1)
    where = {"quantity": "alpha", "world_class": world_class}
    found = numbers(folder, "figS5", "time", "mean", "standard_error", **where)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_fig_s5_is_labelled_as_it_is_drawn(study: Study, folder: Path) -> None:
    axes = FIGURES["figS5"].draw(study).figure.axes
    for k, name in enumerate(("dense", "maze")):
        curves, alpha = axes[2 * k], axes[2 * k + 1]
        assert curves.get_title() == alpha.get_title() == TITLES[name]
        drawn = {line.get_label(): line.get_ydata() for line in (*curves.lines, *alpha.lines)}
        for prior in ("given", "learned"):
            where = {"quantity": "missing_information", "world_class": name, "prior": prior}
            mean = numbers(folder, "figS5", "mean", **where)[:, 0]
            np.testing.assert_allclose(drawn[f"{prior} prior"], mean, rtol=1e-6)
        mean = numbers(folder, "figS5", "mean", quantity="alpha", world_class=name)[:, 0]
        np.testing.assert_allclose(drawn["learned"], mean, rtol=1e-6)
        assert set(drawn["true"]) == {ALPHA[name]}


@pytest.mark.parametrize("world_class", CLASSES)
def test_index_by_length(world_class: str, folder: Path) -> None:
    lengths = stage(folder, "lengths").sel(world_class=world_class)
    greedy, free = (lengths["area"].sel(strategy=s).values for s in ("PIG(greedy)", "Unembodied"))
    index = greedy / free - 1
    expected = np.stack([lengths["length"].values, index.mean(axis=0), index.std(axis=0, ddof=1) / 2], axis=1)
    columns = ("run_length", "embodiment_index", "standard_error")
    found = numbers(folder, "index-by-length", *columns, world_class=world_class)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found[49] == pytest.approx(  # runs as long as ours are ours
        [N_STEPS[world_class], embodiment_index(folder, world_class).mean(), found[49, 2]], rel=1e-9
    )


def test_index_by_length_marks_the_published_index_and_our_lengths(study: Study) -> None:
    axes = FIGURES["index-by-length"].draw(study).figure.axes
    for ax, name, published in zip(axes, CLASSES, (0.02, 2.59, 1.27), strict=True):
        assert ax.get_title() == TITLES[name]
        assert set(ax.lines[1].get_ydata()) == {published}
        assert set(ax.lines[2].get_xdata()) == {N_STEPS[name]}


def test_sensitivity(study: Study, folder: Path) -> None:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in lines(folder, "sensitivity"):
        found.setdefault(line["variant"], {})[line["claim"]] = (line["verdict"], line["changed"])
    asked = [id_ for id_, claim in CLAIMS.items() if claim.needs == ("explorations",)]
    assert list(found) == ["as read", *(v.id for v in sensitivity.VARIANTS)]
    at_hand = study.stage("sensitivity")
    for variant in (v for v in sensitivity.VARIANTS if v.id in ("ties", "maze-law", "half-length", "pool")):
        evidence = sensitivity.evidence_of(study, at_hand, variant)
        words = {id_: CLAIMS[id_].verdict(evidence).word for id_ in asked}
        assert {id_: word for id_, (word, _) in found[variant.id].items()} == words
        changed = {id_ for id_, (_, changed) in found[variant.id].items() if changed == "True"}
        assert changed == {id_ for id_ in asked if words[id_] != found["as read"][id_][0]}


def test_every_verdict_has_its_own_mark_in_the_figure_of_variants() -> None:
    assert figures.VERDICT_MARKS == {
        "holds": ("o", "#1a9641"),
        "does not hold": ("X", "#d7191c"),
        "undecided": ("_", "#777777"),
    }
