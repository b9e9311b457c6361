"""Draw the results of a benchmark: profiles, interquartile means, curves with the bound, and cost against quality.

Intervals come from `berlyne.stats.stratified_bootstrap`. Nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from berlyne.appearance import distinct_looks
from berlyne.figures.curves import BAND_ALPHA, MAX_COLUMNS, draw_bound, mean_and_error
from berlyne.figures.figure_data import Drawing
from berlyne.figures.legends import legend_below
from berlyne.figures.style import BOUND_LINE, RC, WIDTH, disable_math, format_log_axis, panels, thinned
from berlyne.stats import Interval
from berlyne.validation import FloatArray

SCORE = "score (0 random, 1 bound)"
HALF_BAR = 0.16
"""Half of the height of an interval, as a share of the distance between agents."""
REFERENCE: Any = {"color": "0.6", "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 0.5}
"""Keywords for the lines of the random explorer and of the bound."""


def draw_performance_profiles(profiles: Mapping[str, Interval], thresholds: ArrayLike) -> Drawing:
    """Draw the share of runs whose score exceeds each threshold, with bands.

    Parameters
    ----------
    profiles : mapping of str to Interval
        Profile of each agent, with arrays of shape (n_thresholds,), from `berlyne.stats.performance_profile`.
    thresholds : array_like of shape (n_thresholds,)
        The thresholds, ascending.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    levels: FloatArray = np.asarray(thresholds, dtype=float)
    with mpl.rc_context(RC):
        figure, (ax,) = panels(1, height=3.4)
        drawing = Drawing(figure, ("agent", "threshold", "share", "low", "high"))
        for name, style in distinct_looks(list(profiles)).items():
            value, low, high = profiles[name]
            ax.fill_between(levels, low, high, color=style.colour, alpha=BAND_ALPHA, linewidth=0)
            falls = _falling(value)
            ax.plot(levels, value, color=style.colour, linestyle=style.line)
            ax.plot(levels[falls], value[falls], **style.curve(levels[falls]))
            drawing.add((name, *line) for line in np.stack([levels, value, low, high], axis=1).tolist())
        for reference in (0.0, 1.0):
            ax.axvline(reference, **REFERENCE)
        ax.set(xlabel=f"threshold of the {SCORE}", ylabel="share of runs above it", ylim=(0, 1))
        ax.set_xlim(levels[0], levels[-1])
        legend_below(figure, *ax.get_legend_handles_labels())
    return drawing


def draw_interquartile_means(intervals: Mapping[str, Interval], label: str = SCORE) -> Drawing:
    """Draw the interquartile mean of each agent as a mark in its bootstrap interval, the best on top.

    Parameters
    ----------
    intervals : mapping of str to Interval
        Interquartile mean of each agent, from `berlyne.stats.interquartile_mean`.
    label : str
        Label of the axis.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    names = sorted(intervals, key=lambda name: -float(intervals[name].value))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 0.8 + 0.22 * len(names)))
        ax = figure.subplots()
        ax.use_sticky_edges = False  # an interval must not end at the edge of the panel
        drawing = Drawing(figure, ("agent", "interquartile_mean", "low", "high"))
        looks = distinct_looks(names)
        for y, name in enumerate(names):
            value, low, high = (float(x) for x in intervals[name])
            bar: Any = {"height": 2 * HALF_BAR, "color": looks[name].colour, "alpha": 0.45, "linewidth": 0}
            ax.barh(y, high - low, left=low, **bar)
            ax.plot(value, y, **looks[name].point())
            drawing.add([(name, value, low, high)])
        for reference in (0.0, 1.0):
            ax.axvline(reference, **REFERENCE)
        ax.set_yticks(range(len(names)), names)
        disable_math(*ax.get_yticklabels())
        ax.set(xlabel=f"interquartile mean, {label}", ylim=(len(names) - 0.4, -0.6))
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    return drawing


def draw_benchmark_curves(
    curves: Mapping[str, Mapping[str, FloatArray]],
    bounds: Mapping[str, ArrayLike] | None = None,
    label: str = "missing information (bits)",
) -> Drawing:
    """Draw mean curves of all agents with bands of one standard error, one panel per world, above the bound.

    Parameters
    ----------
    curves : mapping of str to mapping of str to ndarray of shape (n_runs, n_steps + 1)
        Curves by world and by agent.
    bounds : mapping of str to array_like of shape (n_steps + 1,), optional
        Bound by world, such as `FluidBound.curve`.
    label : str
        Label of the axis.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    worlds, names = list(curves), list(dict.fromkeys(name for by_agent in curves.values() for name in by_agent))
    n_rows = math.ceil(len(worlds) / MAX_COLUMNS)
    columns = math.ceil(len(worlds) / n_rows)
    with mpl.rc_context(RC):
        figure, axes = panels(columns, height=3.0 if n_rows == 1 else 2.3 * n_rows, rows=n_rows)
        drawing = Drawing(figure, ("world", "agent", "time", "mean", "standard_error"))
        looks, handles = distinct_looks(names), {}
        for ax in axes[len(worlds) :]:
            ax.remove()
        for i, (ax, world) in enumerate(zip(axes, worlds, strict=False)):
            if bounds is not None and world in bounds:
                draw_bound(ax, bounds[world])
                bound = np.asarray(bounds[world], dtype=float).tolist()
                drawing.add((world, "bound", t, value, math.nan) for t, value in enumerate(bound))
            for name, values in curves[world].items():
                mean, error = mean_and_error(np.asarray(values, dtype=float))
                times = thinned(len(mean))
                spread = np.nan_to_num(error)
                band: Any = {"color": looks[name].colour, "alpha": BAND_ALPHA, "linewidth": 0}
                ax.fill_between(times, (mean - spread)[times], (mean + spread)[times], **band)
                ax.plot(times, mean[times], **looks[name].curve(times))
                lines = zip(mean.tolist(), error.tolist(), strict=True)
                drawing.add((world, name, t, *line) for t, line in enumerate(lines))
            ax.set(xlabel="time (steps)", xlim=(0, len(mean) - 1), ylabel="" if i % columns else label)
            ax.set_ylim(bottom=0)
            ax.locator_params(axis="x", nbins=4)
            disable_math(ax.set_title(world, loc="right", fontsize="medium"))  # the letter of the panel is on the left
            handles.update({name: handle for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)})
        ordered = [*names, *(name for name in handles if name == BOUND_LINE["label"])]
        legend_below(figure, [handles[name] for name in ordered], ordered)
    return drawing


def draw_cost_and_quality(
    microseconds: Mapping[str, float], quality: Mapping[str, Interval], label: str = f"interquartile mean, {SCORE}"
) -> Drawing:
    """Draw the score of each agent against its time per step, with bootstrap intervals.

    Parameters
    ----------
    microseconds : mapping of str to float
        Time per step of each agent, in µs.
    quality : mapping of str to Interval
        Score of each agent.
    label : str
        Label of the vertical axis.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    names = list(quality)
    with mpl.rc_context(RC):
        figure, (ax,) = panels(1, height=3.4)
        drawing = Drawing(figure, ("agent", "microseconds", "score", "low", "high"))
        for name, style in distinct_looks(names).items():
            value, low, high = (float(x) for x in quality[name])
            ax.plot([microseconds[name]] * 2, [low, high], color=style.colour, linewidth=1.0, alpha=0.7)
            ax.plot(microseconds[name], value, **style.point())
            drawing.add([(name, float(microseconds[name]), value, low, high)])
        for reference in (0.0, 1.0):
            ax.axhline(reference, **REFERENCE)
        ax.set_xscale("log")
        format_log_axis(ax.xaxis, _decades(list(microseconds.values())))
        ax.set(xlabel="time per step (µs)", ylabel=label)
        legend_below(figure, *ax.get_legend_handles_labels())
    return drawing


def _falling(profile: FloatArray) -> slice:
    """Return where a profile is between its first and its last value, and one threshold before and after."""
    between = np.flatnonzero((profile < profile[0]) & (profile > profile[-1]))
    return slice(max(int(between[0]) - 1, 0), int(between[-1]) + 2) if len(between) else slice(0, len(profile))


def _decades(values: Sequence[float]) -> list[float]:
    """Return the marks 1, 3, 10, 30, ... that cover positive values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [step * 10.0**power for power in range(low, high + 1) for step in (1, 3)]
