"""Draw a world as graphs, one panel per action, as in the paper's Figs. S1 and S2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from berlyne.figures.arrows import Arrow, curved_arrow, loop_arrow
from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import PROBABILITY, RC, WIDTH, letter_panels
from berlyne.labels import Labels
from berlyne.validation import FloatArray
from berlyne.worlds import World

FAINT = 0.15
"""In crowded panels, transitions less probable than this are hairlines without a head."""
BLUE = "#2b55c4"
BENDS = (0.13, 0.28, -0.28)
"""Bends to the left to try for an arrow, as shares of its length, so that both directions stay visible. The first that
avoids the centre of the panel, where a state may be, is used."""
MIN_CENTRE_DISTANCE = 0.16


def draw_graph(
    world: World, caption: str = "action {a}", marked: int | None = None, centred: int | None = None
) -> Drawing:
    """Draw every transition of a world, one panel per action.

    States and actions have their labels. Without labels they are numbered from 1 in the picture, as in the paper, and
    from 0 in the table.

    Parameters
    ----------
    world : World
        The world.
    caption : str
        Title of each panel; `{a}` stands for the action.
    marked : int, optional
        State that is drawn in blue.
    centred : int, optional
        State that is drawn at the centre; the others lie on a circle.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    m = world.n_actions
    columns = 1 if m == 1 else 2
    scale = float(np.ceil(5 * world.rows.data.max()) / 5)  # black stands for this probability
    rows = -(-m // columns)
    with mpl.rc_context(RC):
        size = WIDTH / 2
        figure = Figure(figsize=(size * columns, size * rows + (0.2 if m % columns else 0.6)))
        drawing = Drawing(figure, ("action", "state", "next_state", "probability"))
        axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
        letter_panels(axes[:m])
        for a, ax in enumerate(axes[:m]):
            _draw_action(ax, world, a, scale, _places(world.n_states, centred), marked)
            ax.set_title(caption.format(a=_label(world.action_labels, a)), parse_math=False)
            action, states = world.actions[a], world.states
            for s in range(world.n_states):
                outcomes = zip(*world.rows.row(a, s), strict=True)
                drawing.add((action, states[s], states[int(s_next)], float(p)) for s_next, p in outcomes)
        _draw_scale(figure, axes[:m], axes[m:], scale)
    return drawing


def _label(labels: Labels, index: int) -> str:
    """Return the label of a state or an action; without labels, its number from 1."""
    return str(index + 1) if labels.custom is None else str(labels[index])


def _draw_scale(figure: Figure, axes: list[Axes], unused: list[Axes], scale: float) -> None:
    """Draw a colour bar of probabilities, in the place of an unused panel or below all panels."""
    shades = ScalarMappable(Normalize(0.0, scale), PROBABILITY)
    if unused:
        unused[0].axis("off")
        bar = figure.colorbar(shades, cax=unused[0].inset_axes((0.15, 0.45, 0.7, 0.06)), orientation="horizontal")
    else:
        bar = figure.colorbar(shades, ax=axes, orientation="horizontal", shrink=0.5, aspect=30, pad=0.02)
    bar.set_label("probability of the transition")


def _draw_action(ax: Axes, world: World, a: int, scale: float, centre: FloatArray, marked: int | None) -> None:
    """Draw states on a circle and transitions as curved arrows, darker and wider if more probable; loops point out."""
    radius = 0.095 if world.n_states <= 12 else 0.078
    arrows = sorted(_arrows(world, a, centre, radius), key=lambda arrow: arrow.p)
    crowded = len(arrows) > 4 * world.n_states
    has_head = [not crowded or arrow.p >= FAINT for arrow in arrows]
    colours = PROBABILITY(np.array([arrow.p for arrow in arrows]) / scale)
    widths = [0.5 + 1.1 * arrow.p if full else 0.35 for arrow, full in zip(arrows, has_head, strict=True)]
    paths = [arrow.path if full else arrow.headless() for arrow, full in zip(arrows, has_head, strict=True)]
    ax.add_collection(PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths))
    heads = [arrow.head for arrow, full in zip(arrows, has_head, strict=True) if full]
    ax.add_collection(PolyCollection(heads, facecolors=colours[has_head], edgecolors="none", zorder=2))
    for s in range(world.n_states):
        _draw_state(ax, _label(world.state_labels, s), centre[s], radius, s == marked)
    ax.set(xlim=(-1.33, 1.33), ylim=(-1.33, 1.33), aspect="equal")
    ax.axis("off")


def _places(n: int, centred: int | None) -> FloatArray:
    """Return the positions of states, (n, 2): clockwise on a circle from the top, except for the centred one."""
    around = [s for s in range(n) if s != centred]
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(around)) / len(around)
    places = np.zeros((n, 2))
    places[around] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return places


def _arrows(world: World, a: int, centre: FloatArray, radius: float) -> Iterator[Arrow]:
    for s in range(world.n_states):
        for s_next, p in zip(*world.rows.row(a, s), strict=True):
            if s_next == s:
                yield loop_arrow(centre[s], radius, float(p), centre[s])
            else:
                yield _curved_arrow(centre[s], centre[s_next], radius, float(p))


def _curved_arrow(begin: FloatArray, end: FloatArray, radius: float, p: float) -> Arrow:
    """Return an arrow from the rim of one state to the rim of another that avoids the centre of the panel."""
    across, middle = np.array([begin[1] - end[1], end[0] - begin[0]]), (begin + end) / 2
    at_centre = not (begin.any() and end.any())
    bends = [b for b in BENDS if at_centre or np.linalg.norm(middle + b / 2 * across) > MIN_CENTRE_DISTANCE]
    return curved_arrow(begin, end, radius, p, (bends or BENDS)[0])


def _draw_state(ax: Axes, name: str, centre: FloatArray, radius: float, marked: bool) -> None:
    filled = BLUE if marked else "white"
    ax.add_patch(Circle(tuple(centre), radius, facecolor=filled, edgecolor="black", zorder=3, linewidth=0.8))
    x, y = (float(c) for c in centre)
    colour, weight = ("white", "bold") if marked else ("black", "normal")
    style: Any = {"ha": "center", "va": "center_baseline", "fontsize": 6.5, "color": colour, "weight": weight}
    ax.text(x, y, name, zorder=4, parse_math=False, **style)
