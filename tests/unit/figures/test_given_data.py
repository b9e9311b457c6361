"""Figures draw whatever they are given: classes and strategies of any name, in the order given."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import berlyne
from berlyne import figures
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
    assert set(published.get_ydata()) == {0.25}
    assert set(used.get_xdata()) == {20}


def test_ranks_with_bounds_around_one_strategy() -> None:
    names = ["A", "B", "PIG(VI)"]
    ranks = np.array([[[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]]])
    dims = ("world_class", "world", "strategy")
    given = xr.Dataset(
        {"one": (dims, ranks), "other": (dims, ranks[..., ::-1])}, {"world_class": ["mine"], "strategy": names}
    )
    drawn = figures.draw_ranks(given, "PIG(VI)", [0.5, 1.0])
    assert drawn.header == ("world_class", "strategy", "one_rank", "one_sd", "other_rank", "other_sd")
    assert [line[:3] for line in drawn.lines] == [("mine", "A", 1.0), ("mine", "B", 2.5), ("mine", "PIG(VI)", 2.5)]
    vertical = [line.get_xdata()[0] for line in drawn.figure.axes[0].lines if line.get_color() == "#1a9641"]
    assert sorted(x for x in vertical if x != 2.5) == [1.5, 2.0, 3.0, 3.5]


def test_predictions_of_one_class_drawn_above_only() -> None:
    dims = ("world_class", "world", "n_obs")
    gains = xr.Dataset(
        {
            **{name: (dims, random(2, N, 6)) for name in ("pig", "gain")},
            **{f"sd_{name}": (("world_class", "n_obs"), 0.1 + random(2, 6)) for name in ("pig", "gain")},
        },
        {"world_class": ["mine", "yours"]},
    )
    both, above = figures.draw_prediction(gains, above_only=["yours"]).figure.axes
    for ax, reaches_below in ((both, True), (above, False)):
        (container,) = ax.containers
        xs, _ = container.lines[0].get_data()
        starts = [segment[0, 0] for segment in container.lines[2][0].get_segments()]
        assert np.all(np.array(starts) < xs) == reaches_below
        assert np.all(np.array(starts) <= xs)


def test_a_learned_curve_above_the_given_one_is_not_cut_off() -> None:
    missing = np.stack([np.full((1, N, 4), 1.0), np.full((1, N, 4), 9.0)], axis=2) + random(1, N, 2, 4)
    learned = xr.Dataset(
        {
            "missing_information": (("world_class", "world", "prior", "time"), missing),
            "alpha": (("world_class", "world", "time"), random(1, N, 4)),
            "true_alpha": (("world_class",), [0.25]),
        },
        {"world_class": ["mine"], "prior": ["given", "learned"]},
    )
    left, _ = figures.draw_concentration(learned).figure.axes
    assert left.get_ylim()[0] == 0
    assert left.get_ylim()[1] > 9


def test_verdicts_that_differ_from_the_first_line_are_boxed() -> None:
    verdicts = {"first": {"a": "yes", "b": "no"}, "second": {"a": "yes", "b": "yes"}}
    marks = {"yes": ("o", "green"), "no": ("X", "red")}
    drawn = figures.draw_verdicts(verdicts, {"first": "the first", "second": "the second"}, marks)
    ax = drawn.figure.axes[0]
    (box,) = ax.patches
    assert box.get_center() == pytest.approx((1, 1))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["the first", "the second"]
    assert drawn.lines[-1] == ("second", "b", "yes", True)


def test_a_graph_marks_a_state_if_asked() -> None:
    world = berlyne.dense_world(0, n_states=4, n_actions=2)
    for marked in (None, 2):
        drawn = figures.draw_graph(world, marked=marked)
        assert [ax.get_title() for ax in drawn.figure.axes] == ["action 1", "action 2"]
        labels = {text.get_text() for text in drawn.figure.axes[0].texts if text.get_color() == "white"}
        assert labels == (set() if marked is None else {"3"})
        assert len(drawn.lines) == 2 * 4 * 4
