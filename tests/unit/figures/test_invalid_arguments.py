"""Invalid axes and quantities give a one-sentence error; colour scales are readable."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import berlyne
from berlyne import Dirichlet, InternalModel, World, explore
from berlyne.figures import draw_bands, draw_maze
from berlyne.figures.map_layout import map_of
from berlyne.figures.maps import colour_limits
from messages import raises


@pytest.fixture(scope="module")
def run():
    return explore(berlyne.maze(0, side=3, n_transporters=4), "Random", n_steps=5, seed=0)


DRAWN = {
    "a world": lambda run, ax: run.world.plot(ax),
    "a world by name": lambda run, ax: run.world.plot(ax=ax),
    "a maze": lambda run, ax: draw_maze(run.world, ax),
    "a run": lambda run, ax: run.plot(ax),
    "a path": lambda run, ax: run.plot_path(3, ax),
    "a coloured path": lambda run, ax: run.plot_path(3, ax, what="visits"),
    "a model": lambda run, ax: run.model.plot("PIG", ax),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("ax", [5, "x", [1, 2]])
def test_invalid_axes_are_refused(run, draw, ax):
    with raises(ValueError, "ax", repr(ax), "Axes", "plt.subplots()[1]"):
        draw(run, ax)
    assert not plt.get_fignums()


def curves(world_class, strategy):
    """Mean learning curves of one strategy in one class, two times."""
    values = {name: (("strategy", "time"), np.array([[2.0, 1.0]])) for name in ("mean", "sem")}
    return {world_class: xr.Dataset(values, {"strategy": [strategy]})}


@pytest.mark.parametrize(("ax", "shown"), [("x", "'x'"), (5, "5"), (["x"], "'x'"), ([None], "None")])
def test_curves_of_a_study_need_axes_too(ax, shown):
    with raises(ValueError, "ax", shown, "Axes"):
        draw_bands(curves("maze", "Random"), "bits", ax=ax)


def test_curves_of_a_study_are_drawn_in_given_axes():
    name = "$\\foo{$"
    for more in (
        {},
        {"ax": plt.subplots()[1]},
        {"ax": [plt.subplots()[1]]},
        {"ax": plt.subplots(1, 1, squeeze=False)[1]},
    ):
        (ax,) = draw_bands(curves(name, name), "bits", **more)
        ax.figure.draw_without_rendering()
        assert ax.get_title().lower() == name and (not more or ax in np.ravel(more["ax"]))


def test_several_axes_are_not_one(run):
    with raises(ValueError, "ax", "array(", "Axes"):
        run.world.plot(plt.subplots(1, 2)[1])


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        (np.full(9, 1j), {}, ("`what`", "np.abs(what)")),
        (np.full((4, 9), np.nan), {}, ("`what`", "NaN")),
        ("PIG", {"rows": "no"}, ("rows", "'no'", "True", "False", "None")),
        ("PIG", {"rows": 1}, ("rows", "1", "True", "False", "None")),
        ("PIG", {"labels": "no"}, ("labels", "'no'", "True", "False", "None")),
        ("PIG", {"bar": "no"}, ("bar", "'no'", "True", "False")),
        ("PIG", {"bar": None}, ("bar", "None", "True", "False")),
    ],
)
def test_ambiguous_quantities_are_refused(run, quantity, options, message):
    with raises(ValueError, *message):
        run.model.plot(quantity, world=run.world, **options)


def test_some_states_may_have_no_number(run):
    values = np.append(np.full(8, np.nan), 2.0)
    (collection,) = [artist for artist in run.model.plot(values).get_children() if artist.get_gid() == "states"]
    assert collection.get_clim() == (0.0, 2.0) and np.ma.count(np.ma.masked_invalid(collection.get_array())) == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.0], (0.0, 1.0)),
        ([np.nan, 3.0], (0.0, 3.0)),
        ([-2.0, 1.0], (-2.0, 1.0)),
        ([-2.0, -1.0], (-2.0, 0.0)),
        ([np.inf, 4.0], (0.0, 4.0)),
        ([np.nan, np.nan], (0.0, 1.0)),
        ([1e-14], (0.0, 1e-14)),
    ],
)
def test_the_scale_holds_zero_and_all_that_is_finite(values, expected):
    assert colour_limits(np.array(values)) == expected


def test_one_state_where_nothing_is_missing_has_a_scale_that_can_be_read_and_no_mark():
    world = World(np.ones((1, 1, 1)), Dirichlet(1.0, n_states=1, n_actions=1))
    ax = explore(world, "Random", n_steps=2).plot_path(what="missing information")
    ax.figure.draw_without_rendering()
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    assert bar.get_ylim() == (0.0, 1.0)
    assert bar.yaxis.label.get_window_extent().height < ax.figure.bbox.height
    assert map_of(world).starts == [] and map_of(World(THERE_AND_BACK, start=1)).starts == [1]


THERE_AND_BACK = np.array([[[0.0, 1.0], [1.0, 0.0]]])


def test_a_model_of_one_state_is_drawn():
    assert InternalModel(Dirichlet(1.0, n_states=1, n_actions=1)).plot("PIG") is not None
