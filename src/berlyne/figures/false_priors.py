"""Areas under false priors: what explorers concluded, and what their data are worth under the true prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import RC, WIDTH, disable_math, format_log_axis, letter_panels
from berlyne.worlds import title

MARKS: tuple[tuple[str, str], ...] = (("#1a9641", "o"), ("#7a5230", "s"), ("#c98a00", "^"), ("#d7191c", "D"))
"""Colour and marker of each strategy, in their order."""
HEADER = ("world_class", "prior", "strategy", "conclusion", "conclusion_error", "data", "data_error")
TITLES = {"maze, labels": "Mazes, labels of moves (1 is PIG(VI) with the right labels)"}
"""Titles of panels that have other ones than their class of worlds."""
TICKS = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
ROW = 0.235
"""Height of a line of a panel, in inches."""


def draw_false_priors(lines: Sequence[Any]) -> Drawing:
    """Draw the relative areas of each strategy under each prior, one panel for each class of worlds.

    Parameters
    ----------
    lines : sequence
        Lines of `berlyne.studies.false_priors.summarize`: objects with the attributes `world_class`, `prior`,
        `strategy`, `conclusion`, `conclusion_error`, `data` and `data_error`.

    Returns
    -------
    Drawing
        The figure and its numbers. Filled markers are conclusions, and open ones data.
    """
    classes = list(dict.fromkeys(line.world_class for line in lines))
    strategies = list(dict.fromkeys(line.strategy for line in lines))
    priors = {name: list(dict.fromkeys(line.prior for line in lines if line.world_class == name)) for name in classes}
    heights = [len(priors[name]) for name in classes]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, ROW * sum(heights) + 0.55 * len(classes) + 0.6))
        axes = list(figure.subplots(len(classes), 1, squeeze=False, height_ratios=heights, sharex=True).ravel())
        letter_panels(axes)
        drawing = Drawing(figure, HEADER)
        for name, ax in zip(classes, axes, strict=True):
            of_class = [line for line in lines if line.world_class == name]
            _draw_class(ax, of_class, priors[name], strategies)
            ax.set_title(TITLES.get(name) or title(name), parse_math=False)
            drawing.add(tuple(getattr(line, field) for field in HEADER) for line in of_class)
        axes[-1].set_xlabel("area under the learning curve, relative to PIG(VI) with the true prior")
        _add_legend(figure, strategies)
    return drawing


def _draw_class(ax: Axes, lines: Sequence[Any], priors: Sequence[str], strategies: Sequence[str]) -> None:
    """Draw one class of worlds: a line of the panel for each prior."""
    shifts = np.linspace(-0.3, 0.3, len(strategies)) if len(strategies) > 1 else np.zeros(1)
    for line in lines:
        i = strategies.index(line.strategy)
        y, (colour, marker) = priors.index(line.prior) + shifts[i], MARKS[i % len(MARKS)]
        ax.plot([line.data, line.conclusion], [y, y], color=colour, linewidth=0.6, zorder=2)
        for value, error, fill in (
            (line.data, line.data_error, "white"),
            (line.conclusion, line.conclusion_error, colour),
        ):
            ax.errorbar(value, y, xerr=error, color=colour, elinewidth=0.9, zorder=2.5)
            ax.plot(value, y, marker, color=colour, markerfacecolor=fill, markersize=3.6, zorder=3)
    ax.axvline(1.0, color="0.6", linewidth=0.7, zorder=1)
    for y in range(len(priors) - 1):
        ax.axhline(y + 0.5, color="0.9", linewidth=0.5, zorder=0.5)
    ax.set_yticks(range(len(priors)), priors)
    disable_math(*ax.get_yticklabels())
    ax.set_ylim(len(priors) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xscale("log")
    format_log_axis(ax.xaxis, TICKS)


def _add_legend(figure: Figure, strategies: Sequence[str]) -> None:
    marks = [MARKS[i % len(MARKS)] for i in range(len(strategies))]
    handles = [Line2D([], [], color=colour, marker=marker, linestyle="none") for colour, marker in marks]
    handles += [
        Line2D([], [], color="0.2", marker="o", markerfacecolor=fill, linestyle="none") for fill in ("0.2", "white")
    ]
    names = [*strategies, "conclusion, under the prior", "data, under the true prior"]
    legend = figure.legend(handles, names, loc="outside lower center", ncols=min(6, len(names)), columnspacing=1.0)
    disable_math(*legend.get_texts())
