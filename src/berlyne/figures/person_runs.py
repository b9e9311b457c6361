"""Draw the learning curves of people who took over on a page, and those of the explorers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from berlyne.appearance import distinct_looks
from berlyne.figures.style import AGENT, RC, check_axes, disable_math, thinned
from berlyne.validation import FloatArray

if TYPE_CHECKING:
    from berlyne.watch.person_runs import PersonRuns

MAX_NAMED = 12
"""Largest number of people whose names stand at the ends of their curves."""


def draw_person_runs(runs: PersonRuns, ax: Axes | None = None) -> Axes:
    """Draw missing information by step: people in one colour, each named at the end, and explorers in theirs.

    Parameters
    ----------
    runs : PersonRuns
        Runs of people in one world.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        The axes.
    """
    check_axes(ax)
    agents = {name: curve for run in sorted(runs, key=lambda run: run.n_steps) for name, curve in run.agents.items()}
    first = min(run.begin for run in runs)
    with mpl.rc_context(RC):
        if ax is None:
            ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")[1]
        for name, look in distinct_looks(list(agents)).items():
            times = first + thinned(len(agents[name]) - first)
            ax.plot(times, agents[name][times], zorder=2, **look.curve(times))
        for i, run in enumerate(runs):
            times = run.begin + thinned(run.n_steps - run.begin + 1)
            style: Any = {"color": AGENT, "linewidth": 1.0, "zorder": 3, "gid": "person"}
            ax.plot(times, run.missing_information[times], label=None if i else "people", **style)
        shown = [curve[first:] for curve in (*agents.values(), *(run.missing_information for run in runs))]
        low, high = min(map(np.min, shown)), max(map(np.max, shown))
        rim = max(0.06 * (high - low), 0.01 * high)
        ax.set(xlabel="step", ylabel="missing information (bits)", ylim=(max(low - rim, 0.0), high + rim))
        ax.set_xlim(left=first)
        if len(runs) <= MAX_NAMED:
            _write_names(ax, runs)
        ax.legend()
    return ax


def _write_names(ax: Axes, runs: PersonRuns) -> None:
    """Write names at the ends of curves, and move those apart that would cover each other."""
    ends = np.array([(run.n_steps, run.missing_information[-1]) for run in runs])
    heights = ax.transData.transform(ends)[:, 1] * 72 / ax.figure.dpi  # in points
    line = 1.2 * mpl.rcParams["font.size"]
    for i, height in enumerate(spread(heights, line)):
        offset = (3, height - heights[i])
        text = ax.annotate(runs[i].name, ends[i], offset, textcoords="offset points", va="center", color=AGENT)
        disable_math(text)


def spread(heights: FloatArray, distance: float) -> FloatArray:
    """Return heights in the same order that are at least a distance apart, and as near to the given ones as possible.

    Heights that are too close form a group around their mean (isotonic regression of the heights less their places).

    Parameters
    ----------
    heights : ndarray of shape (n,)
        Heights in any order.
    distance : float
        Smallest distance between two of them.

    Returns
    -------
    ndarray of shape (n,)
        The new heights.
    """
    order = np.argsort(heights, kind="stable")
    places = distance * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - places).x + places
    return moved
