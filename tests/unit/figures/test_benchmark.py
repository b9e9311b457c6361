"""Figures of a benchmark draw the numbers that they are given, and write them to their tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from berlyne import explore, explore_env, maze, stats
from berlyne.bounds import fluid
from berlyne.figures import (
    draw_bands,
    draw_benchmark_curves,
    draw_bound,
    draw_cost_and_quality,
    draw_curves,
    draw_interquartile_means,
    draw_performance_profiles,
)
from berlyne.figures.style import BOUND_LINE, look
from messages import raises

AGENTS = ("PIG(VI)", "Random", "my agent", "BEB(VI)")
SCORES = np.random.default_rng(0).normal([[[0.9]], [[0.0]], [[0.5]], [[0.7]]], 0.05, size=(4, 2, 5))


def intervals(statistic: Any) -> dict[str, stats.Interval]:
    made = [stats.stratified_bootstrap(statistic, scores, seed=0, n_resamples=30) for scores in SCORES]
    return dict(zip(AGENTS, made, strict=True))


def lines_of(ax: Any) -> dict[str, Any]:
    return {str(line.get_label()): line for line in ax.get_lines() if not str(line.get_label()).startswith("_")}


def test_profiles_fall_from_one_to_zero_in_the_colour_of_the_utility() -> None:
    thresholds = np.linspace(-0.5, 1.5, 41)
    drawing = draw_performance_profiles(intervals(lambda x: stats.performance_profile(x, thresholds)), thresholds)
    (ax,) = drawing.figure.axes
    lines = lines_of(ax)
    assert list(lines) == list(AGENTS) and lines["PIG(VI)"].get_color() == look("PIG(VI)").colour
    assert all(line.get_ydata()[0] == 1.0 and line.get_ydata()[-1] == 0.0 for line in lines.values())
    assert len(drawing.lines) == 4 * 41 and drawing.lines[0] == ("PIG(VI)", -0.5, 1.0, 1.0, 1.0)
    assert len(ax.collections) == 4  # bands


def test_a_profile_that_never_falls_is_drawn() -> None:
    flat = np.ones(3)
    (ax,) = draw_performance_profiles({"Random": stats.Interval(flat, flat, flat)}, [0.0, 0.1, 0.2]).figure.axes
    assert lines_of(ax)["Random"].get_ydata().tolist() == [1.0, 1.0, 1.0]


def test_interquartile_means_are_sorted_from_the_best_to_the_worst() -> None:
    given = intervals(stats.interquartile_mean)
    drawing = draw_interquartile_means(given)
    (ax,) = drawing.figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["PIG(VI)", "BEB(VI)", "my agent", "Random"]
    assert [line[0] for line in drawing.lines] == ["PIG(VI)", "BEB(VI)", "my agent", "Random"]
    bar, value = ax.patches[0], given["PIG(VI)"]
    assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((float(value.low), float(value.high)))
    assert ax.yaxis_inverted() and ax.get_xlim()[0] < given["Random"].low


def test_curves_lie_above_the_bound_of_their_world() -> None:
    values = {f"world {i}": {name: np.full((3, 6), i + 1.0) for name in AGENTS[:2]} for i in range(5)}
    drawing = draw_benchmark_curves(values, {"world 0": np.linspace(1, 0, 6)})
    assert len(drawing.figure.axes) == 5
    lines = lines_of(drawing.figure.axes[0])
    assert list(lines) == ["bound", "PIG(VI)", "Random"]
    assert lines["bound"].get_ydata().tolist() == np.linspace(1, 0, 6).tolist()
    assert lines["Random"].get_ydata().tolist() == [1.0] * 6
    assert list(lines_of(drawing.figure.axes[1])) == ["PIG(VI)", "Random"]
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == ["PIG(VI)", "Random", "bound"]
    assert drawing.lines[0][:4] == ("world 0", "bound", 0, 1.0) and len(drawing.lines) == 6 * 11


def test_cost_is_drawn_on_a_logarithmic_axis() -> None:
    cost = dict(zip(AGENTS, (20.0, 0.5, 300.0, 4.0), strict=True))
    drawing = draw_cost_and_quality(cost, intervals(stats.interquartile_mean))
    (ax,) = drawing.figure.axes
    assert ax.get_xscale() == "log" and list(lines_of(ax)) == list(AGENTS)
    assert lines_of(ax)["my agent"].get_xdata()[0] == 300.0
    assert drawing.lines[1][:2] == ("Random", 0.5)


def test_a_run_draws_its_bound() -> None:
    run = explore(maze(0, side=3, n_transporters=2), "PIG(VI)", n_steps=60)
    assert list(lines_of(run.plot())) == ["PIG(VI)"]
    lines = lines_of(run.plot(bound=True))
    assert list(lines) == ["bound", "PIG(VI)"]
    assert run.world is not None
    assert lines["bound"].get_ydata() == pytest.approx(fluid(run.world, 60).curve)
    other = run.bound("fixed")
    assert lines_of(run.plot(bound=other))["bound"].get_ydata() == pytest.approx(other.curve)
    assert other.curve[-1] > run.bound().curve[-1]


def test_a_run_without_a_known_world_has_no_bound() -> None:
    gymnasium = pytest.importorskip("gymnasium")

    class Hidden(gymnasium.Wrapper):
        """A wrapper that may change transitions."""

    run = explore_env(Hidden(gymnasium.make("FrozenLake-v1")), "Random", n_steps=5)
    with raises(ValueError, "world", "unknown"):
        run.plot(bound=True)


def test_curves_of_a_study_accept_bounds_by_class() -> None:
    values = {name: (("strategy", "time"), np.ones((1, 3))) for name in ("mean", "sem")}
    dataset = xr.Dataset(values, {"strategy": ["Random"]})
    bounded, unbounded = draw_bands({"maze": dataset, "dense": dataset}, "bits", bounds={"maze": [0.5, 0.2, 0.1]})
    assert lines_of(bounded)["bound"].get_ydata().tolist() == [0.5, 0.2, 0.1]
    assert "bound" not in lines_of(unbounded)
    table = xr.DataArray(np.ones((1, 2, 3)), dims=("strategy", "world", "time"), coords={"strategy": ["Random"]})
    results: Any = SimpleNamespace(strategies=["Random"], classes=["maze"], by_world=lambda *_: table)
    drawing = draw_curves(results, minus="Random", bounds={"maze": [0.5, 0.2, 0.1]})
    assert lines_of(drawing.figure.axes[0])["bound"].get_color() == BOUND_LINE["color"]
    assert drawing.lines[1][:4] == ("maze", "bound", 1, 0.2)
    assert {len(line) for line in drawing.lines} == {len(drawing.header)}


def test_a_bound_is_drawn_on_any_axes() -> None:
    ax = explore(maze(0, side=3, n_transporters=2), "Random", n_steps=5).plot()
    draw_bound(ax, [3.0, 2.0, 1.0])
    assert lines_of(ax)["bound"].get_ydata().tolist() == [3.0, 2.0, 1.0] and len(ax.collections) == 1
