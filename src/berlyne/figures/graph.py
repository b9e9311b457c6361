"""Any world as a graph, one panel per action, as in the paper's Figs. S1 and S2."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from berlyne.arrays import FloatArray
from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, WIDTH
from berlyne.worlds import World

FAINT = 0.02
"""Transitions less probable than this are not drawn."""


def draw_graph(world: World, caption: str = "action {a}", marked: int | None = None) -> Drawing:
    """Every transition of a world, one panel per action; state `marked` is blue.

    States and actions count from 1 in the picture, as in the paper, and from 0 in the numbers; `{a}` in the
    caption stands for the action.
    """
    with mpl.rc_context(RC):
        m = world.n_actions
        figure = Figure(figsize=(WIDTH, WIDTH / m + 0.25))
        drawing = Drawing(figure, ("action", "state", "next_state", "probability"))
        for a, ax in enumerate(figure.subplots(1, m, squeeze=False)[0]):
            _draw_action(ax, world, a, marked)
            ax.set_title(caption.format(a=a + 1))
            for s in range(world.n_states):
                drawing.add((a, s, int(s_next), p) for s_next, p in zip(*world.rows.row(a, s), strict=True))
    return drawing


def _draw_action(ax: Axes, world: World, a: int, marked: int | None) -> None:
    """States on a circle, transitions as bent arrows, darker where more probable; loops outside."""
    n = world.n_states
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    centre = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    radius = 0.11 if n <= 12 else 0.085
    for s in range(n):
        for s_next, p in zip(*world.rows.row(a, s), strict=True):
            if p < FAINT:
                continue
            shade = {"alpha": float(0.08 + 0.92 * p), "color": "black", "linewidth": 0.5 + 0.9 * p, "zorder": 1 + p}
            if s_next == s:
                ax.add_patch(Circle(tuple(centre[s] * (1 + 1.7 * radius)), radius * 0.9, fill=False, **shade))
            else:
                ax.add_patch(_arrow(centre[s], centre[s_next], radius, shade))
    for s in range(n):
        _draw_state(ax, s, centre[s], radius, s == marked)
    ax.set(xlim=(-1.38, 1.38), ylim=(-1.38, 1.38), aspect="equal")
    ax.axis("off")


def _draw_state(ax: Axes, s: int, centre: FloatArray, radius: float, marked: bool) -> None:
    filled = "#2b55c4" if marked else "white"
    ax.add_patch(Circle(tuple(centre), radius, facecolor=filled, edgecolor="black", zorder=3, linewidth=0.8))
    x, y = (float(c) for c in centre)
    colour = "white" if marked else "black"
    ax.text(x, y, str(s + 1), ha="center", va="center", fontsize=5.5, zorder=4, color=colour)


def _arrow(begin: FloatArray, end: FloatArray, radius: float, shade: dict[str, Any]) -> FancyArrowPatch:
    along = (end - begin) / np.linalg.norm(end - begin)
    return FancyArrowPatch(
        tuple(begin + along * radius),
        tuple(end - along * radius),
        arrowstyle="-|>",
        mutation_scale=5,
        connectionstyle="arc3,rad=0.14",
        shrinkA=0,
        shrinkB=0,
        **shade,
    )
