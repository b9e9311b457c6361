"""Draw the learning curves of people who took over on a page, and those of the explorers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from berlyne.appearance import distinct_looks
from berlyne.figures.style import AGENT, RC, check_axes, disable_math, thinned

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
    with mpl.rc_context(RC):
        if ax is None:
            ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")[1]
        for name, look in distinct_looks(list(agents)).items():
            times = thinned(len(agents[name]))
            ax.plot(times, agents[name][times], zorder=2, **look.curve(times))
        for i, run in enumerate(runs):
            times = run.begin + thinned(run.n_steps - run.begin + 1)
            style: Any = {"color": AGENT, "linewidth": 1.0, "zorder": 3, "gid": "person"}
            ax.plot(times, run.missing_information[times], label=None if i else "people", **style)
            if len(runs) <= MAX_NAMED:
                end = (times[-1], run.missing_information[-1])
                text = ax.annotate(run.name, end, (3, 0), textcoords="offset points", va="center", color=AGENT)
                disable_math(text)
        first = min(run.begin for run in runs)
        shown = [curve[first:] for curve in (*agents.values(), *(run.missing_information for run in runs))]
        low, high = min(map(np.min, shown)), max(map(np.max, shown))
        rim = max(0.06 * (high - low), 0.01 * high)
        ax.set(xlabel="step", ylabel="missing information (bits)", ylim=(max(low - rim, 0.0), high + rim))
        ax.set_xlim(left=first)
        ax.legend()
    return ax
