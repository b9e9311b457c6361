"""Worlds with too many states for a graph: a coloured column of states beside the matrix of transitions."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from berlyne import Dirichlet, World, explore, pig
from berlyne.figures.animation import _Film, frame_times
from berlyne.figures.state_column import _column
from messages import raises

N = 61


@pytest.fixture(scope="module")
def run():
    theta = np.stack([np.roll(np.eye(N), 1, axis=1), 0.5 * np.roll(np.eye(N), -1, axis=1) + 0.5 * np.eye(N)])
    world = World(theta, Dirichlet(1.0, n_states=N, n_actions=2), start=0)
    return explore(world, "Random", n_steps=40, seed=0)


def column(ax):
    (beside,) = [child for child in ax.child_axes if child.get_gid() == "column"]
    (image,) = beside.get_images()
    return np.ma.filled(image.get_array(), np.nan)[:, 0]


def missing(run, t):
    theta, theta_hat, possible = run.world.theta, run.model_at(t).theta_hat, run.world.theta > 0
    bits = np.zeros(theta.shape)
    bits[possible] = theta[possible] * np.log2(theta[possible] / theta_hat[possible])
    return bits.sum(axis=(0, 2))


def test_a_path_among_many_states_has_the_requested_colours(run):
    ax = run.plot_path(30, what="visits")
    np.testing.assert_array_equal(column(ax), np.bincount(run.states[:30], minlength=N))
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["visits"]
    np.testing.assert_allclose(column(run.plot_path(30, what="missing information")), missing(run, 30), atol=1e-12)
    np.testing.assert_array_equal(column(run.plot_path(30, what="PIG")), pig(run.model_at(30)).max(axis=0))
    assert run.plot_path(30).child_axes == []
    with raises(ValueError, "`what`", "'boredom'"):
        run.plot_path(30, what="boredom")


def test_the_column_lies_line_by_line_beside_the_matrix_and_not_under_the_bar(run):
    for figure in (Figure(figsize=(6, 4)), Figure(figsize=(6, 4), layout="constrained")):
        ax = figure.subplots()
        run.plot_path(30, ax, what="visits")
        figure.draw_without_rendering()
        (beside,), (bar,) = ax.child_axes, [other for other in figure.axes if other is not ax]
        for s in (0, 17, N - 1):
            one, other = ax.transData.transform((0, s)), beside.transData.transform((0, s))
            assert one[1] == pytest.approx(other[1])
        assert ax.bbox.x1 < beside.bbox.x0 and beside.bbox.x1 < bar.bbox.x0
        assert bar.get_tightbbox().x1 < figure.bbox.x1
        image = beside.get_images()[0]
        assert image.get_extent()[2:] == [N - 0.5, -0.5] and image.get_clim() == (0.0, image.get_array().max())


def test_an_animation_of_many_states_shows_missing_information(run):
    film = _Film(run, frame_times(40, every=10), 5, "missing information", None)
    left = film.figure.axes[0]
    for frame in (3, 1):
        film.show(frame)
        np.testing.assert_allclose(column(left), missing(run, 10 * frame), atol=1e-12)
    assert film.coloured.get_clim() == (0.0, pytest.approx(max(missing(run, t).max() for t in range(0, 41, 10))))
    assert _Film(run, frame_times(2), 5, None, None).figure.axes[0].child_axes == []


def test_the_column_of_very_many_states_shows_the_largest_value_of_each_block():
    values = np.random.default_rng(0).random(1000)
    values[:7] = np.nan
    block_values = _column(values)[:, 0]
    assert len(block_values) == 400
    blocks = [[values[s] for s in range(1000) if s * 400 // 1000 == i] for i in range(400)]
    expected = [max((x for x in block if x == x), default=np.nan) for block in blocks]
    np.testing.assert_array_equal(block_values, expected)
