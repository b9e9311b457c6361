"""Figures draw the data that they are given: classes and strategies of any name, in the given order."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import PolyCollection

import berlyne
from berlyne import figures
from berlyne.figures.sensitivity import MARKS
from berlyne.figures.style import CLASS_LOOKS, class_looks

CLASSES = ["mine", "maze", "yours"]
N = 5


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape)


@pytest.fixture
def structure() -> xr.Dataset:
    per_world = ("world_class", "world")
    return xr.Dataset(
        {
            "structure_index": (per_world, random(3, N)),
            "embodiment_index": (per_world, 1 + random(3, N)),
            "controllability": ((*per_world, "lag"), random(3, N, 4)),
        },
        {"world_class": CLASSES, "lag": np.arange(1, 5)},
    )


def test_classes_of_any_name_have_looks_of_their_own() -> None:
    looks = class_looks(CLASSES)
    assert looks["maze"] == CLASS_LOOKS["maze"]
    assert len(set(looks.values())) == 3
    assert len(class_looks(map(str, range(40)))) == 40


def test_structure_of_classes_of_any_name(structure: xr.Dataset) -> None:
    drawn = figures.draw_structure(structure)
    labels = drawn.figure.axes[0].get_legend_handles_labels()[1]
    assert labels == ["mine", "Mazes", "yours"]
    points = [line[2:4] for line in drawn.lines if line[:2] == ("a", "yours")]
    both = structure.sel(world_class="yours")
    assert points == list(zip(both["structure_index"].values, both["embodiment_index"].values, strict=True))


def test_index_by_length_marks_what_was_published_and_what_is_used() -> None:
    lengths = xr.Dataset(
        {
            "length": (("world_class", "share"), np.array([[10.0, 20.0, 30.0]])),
            "embodiment_index": (("world_class", "world", "share"), random(1, N, 3)),
        },
        {"world_class": ["mine"]},
    )
    ax = figures.draw_index_by_length(lengths, {"mine": 0.25}, {"mine": 20}).figure.axes[0]
    _, published, used = ax.lines
    assert not {line.get_linestyle() for line in ax.lines} & {":"}
    assert set(published.get_ydata()) == {0.25}
    assert set(used.get_xdata()) == {20}


TASKS = ("one", "other")


def ranks_of(names: list[str], values: np.ndarray) -> xr.Dataset:
    """Ranks (world, strategy) in one task, and turned round in the other."""
    dims = ("world_class", "world", "strategy")
    return xr.Dataset(
        {"one": (dims, values[None]), "other": (dims, values[None, :, ::-1])},
        {"world_class": ["mine"], "strategy": names},
    )


def reach(one: float, other: float) -> xr.Dataset:
    return xr.Dataset(
        {task: ("world_class", [x]) for task, x in zip(TASKS, (one, other), strict=True)}, {"world_class": ["mine"]}
    )


def test_ranks_with_bounds_around_one_strategy_that_differ_by_task() -> None:
    data = ranks_of(["A", "B", "PIG(VI)"], np.array([[1.0, 2.0, 3.0], [1.0, 3.5, 2.0]]))
    drawn = figures.draw_ranks(data, "PIG(VI)", {0.001: reach(0.5, 0.2), 0.0001: reach(1.0, 0.3)})
    bounds = ("bound_0.0001", "bound_0.001")
    assert drawn.header == (
        "world_class", "strategy", *(f"{task}_{part}" for task in TASKS for part in ("rank", "sd", *bounds)),
    )  # fmt: skip
    assert [line[:3] for line in drawn.lines] == [("mine", "A", 1.0), ("mine", "B", 2.75), ("mine", "PIG(VI)", 2.5)]
    assert drawn.lines[0][4:6] == (1.0, 0.5)
    assert drawn.lines[0][8:] == (0.3, 0.2)
    ax = drawn.figure.axes[0]
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2]
    vertical = {line.get_xdata()[0]: line.get_linestyle() for line in lines if line.get_color() == "#1a9641"}
    assert vertical == {1.5: "-", 3.5: "-", 2.0: "--", 3.0: "--"}
    horizontal = {line.get_ydata()[0]: line.get_linestyle() for line in lines if line.get_color() == "#2b55c4"}
    assert horizontal == pytest.approx({0.7: "-", 1.3: "-", 0.8: "--", 1.2: "--"})


def test_ranks_leave_room_for_deviations_beyond_the_first_and_the_last_rank() -> None:
    names = [f"s{i}" for i in range(5)]
    values = np.array([[1.0, 2, 3, 4, 5], [5.0, 2, 3, 4, 5], [1.0, 2, 3, 4, 1]])
    drawn = figures.draw_ranks(ranks_of(names, values), "s1")
    low, high = drawn.figure.axes[0].get_xlim()
    sd = values.std(axis=0, ddof=1)
    assert low < (values.mean(axis=0) - sd).min()
    assert high > (values.mean(axis=0) + sd).max() > 5.5


def test_strategies_that_lie_close_together_are_drawn_again_apart_from_those_that_do_not() -> None:
    mean = np.array([[3.0, 3.1, 3.2, 6.0, 1.0, 5.0]])
    dims = ("world_class", "world", "strategy")
    names = [f"s{i}" for i in range(6)]
    data = xr.Dataset({task: (dims, np.stack([mean, mean], axis=1)) for task in TASKS}, {"world_class": ["mine"]})
    _, close = figures.draw_ranks(data.assign_coords(strategy=names), "s0").figure.axes
    points = {line.get_label(): float(line.get_xdata()[0]) for line in close.lines}
    assert points == pytest.approx({"s0": 3.0, "s1": 3.1, "s2": 3.2})
    low, high = close.get_xlim()
    assert high - low < 1.5


def test_ranks_at_each_time_point() -> None:
    values = np.random.default_rng(3).random((2, N, 3, 4))
    dims = ("world_class", "world", "strategy", "snapshot")
    coordinates = {
        "world_class": ["mine", "maze"],
        "strategy": ["LTA", "CB", "PIG(VI)"],
        "snapshot": [0.1, 0.2, 0.5, 1],
    }
    data = xr.Dataset({"one": (dims, values), "other": (dims, -values)}, coordinates)
    drawn = figures.draw_ranks_by_time(data)
    assert drawn.header == ("task", "world_class", "strategy", "snapshot", "mean_rank", "sd")
    axes = drawn.figure.axes
    assert [ax.get_title(loc="left") for ax in axes] == list("abcd")
    assert [ax.get_ylabel() for ax in axes] == ["mean rank in one loss", "", "mean rank in other loss", ""]
    assert [text.get_text() for text in axes[3].get_xticklabels()] == ["10 %", "20 %", "50 %", "100 %"]
    for c in range(2):
        for s, name in enumerate(coordinates["strategy"]):
            (line,) = [line for line in axes[2 + c].lines if line.get_label() == name]
            np.testing.assert_allclose(line.get_ydata(), -values[c, :, s].mean(axis=0))
            assert np.all(np.abs(line.get_xdata() - np.arange(4)) < 0.5)
    lines = [line[3:] for line in drawn.lines if line[:3] == ("other", "maze", "CB")]
    expected = [[0.1, 0.2, 0.5, 1], -values[1, :, 1].mean(axis=0), values[1, :, 1].std(axis=0, ddof=1)]
    np.testing.assert_allclose(lines, np.transpose(expected))


def test_deviations_of_predictions_are_drawn_in_full_if_a_logarithm_allows() -> None:
    dims = ("world_class", "world", "n_obs")
    sd = np.array([[0.1, 0.2, 3.0], [0.1, 0.2, 3.0]])
    gains = xr.Dataset(
        {
            **{name: (dims, 1 + random(2, N, 3)) for name in ("pig", "gain")},
            **{f"sd_{name}": (("world_class", "n_obs"), sd) for name in ("pig", "gain")},
        },
        {"world_class": ["mine", "yours"]},
    )
    for ax, below in zip(figures.draw_prediction(gains, above_only=["yours"]).figure.axes, (1, 0), strict=True):
        (container,) = ax.containers
        for along, segments in enumerate(part.get_segments() for part in container.lines[2]):
            mean = container.lines[0].get_data()[along]
            ends = np.array([segment[:, along] for segment in segments])
            np.testing.assert_allclose(ends[:, 1], mean + sd[0])
            np.testing.assert_allclose(ends[:, 0], mean - below * np.array([0.1, 0.2, 0.0]))  # 3.0 would be below zero
            limits = (ax.get_xlim(), ax.get_ylim())[along]
            assert limits[0] < ends.min()
            assert limits[1] > ends.max()


@pytest.fixture
def learned() -> xr.Dataset:
    per_world, time = ("world_class", "world"), np.arange(4.0)
    start = (1 + random(1, N, 2, 4)) * np.array([1.0, 9.0])[:, None]
    return xr.Dataset(
        {
            "given": ((*per_world, "time"), 1 + random(1, N, 4)),
            "learned": ((*per_world, "start", "time"), start - 0.1 * time),
            "alpha": ((*per_world, "start", "time"), 0.1 + start),
            "true_alpha": (("world_class",), [0.25]),
        },
        {"world_class": ["mine"], "start": [1.0, 10.0]},
    )


def test_a_learned_curve_above_the_given_one_is_not_cut_off(learned: xr.Dataset) -> None:
    above, _ = figures.draw_concentration(learned).figure.axes
    assert above.get_ylim()[0] == 0
    assert above.get_ylim()[1] > learned["learned"].mean("world").max()


def test_concentrations_learned_from_every_start(learned: xr.Dataset) -> None:
    drawn = figures.draw_concentration(learned)
    above, below = drawn.figure.axes
    curves = {line.get_label(): line.get_ydata() for line in above.lines if not line.get_label().startswith("_")}
    assert list(curves) == ["given", "learned from 1", "learned from 10"]
    assert (above.get_title(), below.get_title()) == ("mine", "")
    np.testing.assert_allclose(curves["learned from 10"], learned["learned"].sel(start=10.0).mean("world").values[0])
    median = [line for line in below.lines if len(line.get_ydata()) == 4]
    alpha = learned["alpha"].values[0]
    for i in range(2):
        np.testing.assert_allclose(median[i].get_ydata(), np.median(alpha[:, i], axis=0))
    words = [text.get_text() for text in drawn.figure.legends[0].texts]
    assert words[-2:] == ["central 68 % of worlds", "true concentration"]


def test_the_table_of_concentrations_has_a_header(learned: xr.Dataset) -> None:
    drawn = figures.draw_concentration(learned)
    lines = [dict(zip(drawn.header, line, strict=True)) for line in drawn.lines]
    (line,) = [x for x in lines if (x["quantity"], x["start"], x["time"]) == ("alpha", 10.0, 2)]
    values = learned["alpha"].sel(start=10.0).values[0, :, 2]
    assert line["mean"] == pytest.approx(values.mean())
    assert line["standard_error"] == pytest.approx(values.std(ddof=1) / np.sqrt(N))
    expected = np.quantile(values, (0.16, 0.5, 0.84))
    assert [line[part] for part in ("percentile_16", "median", "percentile_84")] == pytest.approx(expected)


@pytest.fixture
def cells() -> xr.Dataset:
    parts = {
        "verdict": [["holds", "does not hold"], ["undecided", "does not hold"], ["does not hold", "holds"]],
        "change": [[0.0, 0.0], [0.004, np.nan], [0.07, 0.5]],
        "flip": [["", ""], ["marginal", "pool"], ["effect", "effect"]],
    }
    return xr.Dataset(
        {name: (("variant", "claim"), np.array(values)) for name, values in parts.items()},
        {"variant": ["as read", "v", "w"], "claim": ["a", "b"]},
    )


def draw_cells(cells: xr.Dataset) -> figures.Drawing:
    return figures.draw_sensitivity(cells, {"a": "claim A", "b": "claim B"}, {"as read": "as read", "v": "V", "w": "W"})


def centres(collection: PolyCollection) -> set[tuple[float, float]]:
    return {tuple(path.vertices[:4].mean(axis=0).tolist()) for path in collection.get_paths()}


def test_every_cell_shows_its_verdict_and_how_far_the_effect_moved(cells: xr.Dataset) -> None:
    ax = draw_cells(cells).figure.axes[0]
    shown = {
        line.get_label(): set(zip(*line.get_data(), strict=True)) for line in ax.lines if len(line.get_xdata()) != 2
    }
    shown |= {
        line.get_label(): set(zip(*line.get_data(), strict=True)) for line in ax.lines if line.get_label() in MARKS
    }
    assert shown == {"holds": {(0, 0), (2, 1)}, "does not hold": {(0, 1), (1, 1), (2, 0)}, "undecided": {(1, 0)}}
    grounds = [part for part in ax.collections if part.get_gid() is None]
    by_cell = {cell: part for part in grounds for cell in centres(part)}
    assert len(by_cell) == 6
    lightness = {cell: float(part.get_facecolor()[0][:3].mean()) for cell, part in by_cell.items()}
    assert lightness[2, 1] < lightness[2, 0] < lightness[1, 0] == lightness[0, 0]  # 50 %, 7 %, 0.4 %, as read
    assert [cell for cell, part in by_cell.items() if part.get_hatch()] == [(1, 1)]


def test_flips_by_a_hair_and_by_an_effect_have_frames_of_their_own(cells: xr.Dataset) -> None:
    drawn = draw_cells(cells)
    frames = {part.get_gid(): part for part in drawn.figure.axes[0].collections if part.get_gid()}
    assert centres(frames["marginal"]) == {(1, 0)}
    assert centres(frames["effect"]) == {(2, 0), (2, 1)}
    assert frames["effect"].get_linewidth()[0] > 1.5 * frames["marginal"].get_linewidth()[0]
    assert centres(frames["pool"]) == {(1, 1)}
    assert len({str(frames[kind].get_linestyle()) for kind in ("pool", "marginal", "effect")}) == 3
    ax = drawn.figure.axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["claim A", "claim B"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["as read", "V", "W"]
    assert drawn.header == ("variant", "claim", "verdict", "change", "flip")
    assert drawn.lines[4] == ("w", "a", "does not hold", 0.07, "effect")
    assert len(drawn.lines) == 6


def test_a_graph_marks_a_state_on_request() -> None:
    world = berlyne.dense_world(0, n_states=4, n_actions=2)
    for marked in (None, 2):
        drawn = figures.draw_graph(world, marked=marked)
        assert [ax.get_title() for ax in drawn.figure.axes[:2]] == ["action 1", "action 2"]
        labels = {text.get_text() for text in drawn.figure.axes[0].texts if text.get_color() == "white"}
        assert labels == (set() if marked is None else {"3"})
        assert len(drawn.lines) == 2 * 4 * 4


def test_a_graph_is_darker_where_more_probable_and_has_a_colour_bar() -> None:
    world = berlyne.dense_world(0, n_states=6, n_actions=1)
    drawn = figures.draw_graph(world)
    ax, bar = drawn.figure.axes
    arrows, _ = ax.collections
    p = np.sort(world.theta[0].ravel())
    shades = arrows.get_edgecolor()[:, 0]
    assert len(shades) == 36
    top = bar.get_xlim()[1]
    assert p.max() <= top < p.max() + 0.2
    np.testing.assert_allclose(shades, 0.84 * (1 - p / top), atol=0.01)


def test_no_arrow_passes_behind_a_state_in_the_middle() -> None:
    world, t = berlyne.one_two_three_world(0), np.linspace(0, 1, 50)[:, None]
    for ax in figures.draw_graph(world, centred=0).figure.axes[:3]:
        for path in ax.collections[0].get_paths():
            begin, *_, end = path.vertices
            if min(np.hypot(*begin), np.hypot(*end)) > 0.5:  # neither from nor to the middle
                middle = path.vertices[1:-1].mean(axis=0)
                points = (1 - t) ** 2 * begin + 2 * t * (1 - t) * middle + t**2 * end
                assert np.hypot(*points.T).min() > 0.078
