"""What lies between states: the walls of a maze, the lines of a grid, the arrows of a graph, or a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import Normalize

from berlyne.figures.arrows import Arrow, curved_arrow
from berlyne.figures.map_layout import Map, points_per_unit
from berlyne.figures.maze import draw_walls
from berlyne.figures.style import PROBABILITY
from berlyne.validation import FloatArray

FAINT = 0.15
"""Transitions less probable than this are hairlines without a head, if there are many."""
MAX_MATRIX_CELLS = 400
"""Most lines of a matrix that are drawn; beyond, the largest of each block is."""
BETWEEN = "0.72"
HEAD = 7.5
"""Largest heads of arrows, in points; 3/4 of it is their length."""
JUMPS = 60
"""Most transitions between squares that are not neighbours that are drawn."""


def draw_background(ax: Axes, drawn: Map, action: bool = False, shaded: bool = False) -> ScalarMappable | None:
    """Draw what lies between states; returns what a colour bar of probabilities can be made of, if one is needed.

    action : whether the transitions are those of one action. shaded : whether states are to be coloured.
    """
    match drawn.kind:
        case "maze":
            assert drawn.geometry is not None
            draw_walls(ax, drawn.geometry)
        case "grid":
            _draw_grid(ax, drawn)
        case "graph":
            return _draw_arrows(ax, drawn, shaded)
        case "matrix":
            return None if shaded else _draw_matrix(ax, drawn)
    return _draw_steps(ax, drawn) if action else None


def _draw_grid(ax: Axes, drawn: Map) -> None:
    """Thin lines between squares, walls where nothing leads from a square to that beside it, and jumps."""
    number = {tuple(cell): s for s, cell in enumerate(np.round(drawn.places * 2).astype(int).tolist())}
    connected = drawn.connected
    ends = set(drawn.ends)  # from which nothing leads anywhere
    walls: list[FloatArray] = []
    lines: list[FloatArray] = []
    for (x, y), s in number.items():
        for step in ((2, 0), (0, 2), (-2, 0), (0, -2)):
            beside = number.get((x + step[0], y + step[1]))
            if beside is not None and sum(step) < 0:
                continue  # drawn from the other side
            middle, along = np.array([x + step[0] / 2, y + step[1] / 2]), np.array(step[::-1]) / 2
            face = np.array([middle - along, middle + along]) / 2
            open_ = beside is not None and ((s, beside) in connected or (beside, s) in connected)
            (lines if open_ or {s, beside} <= ends else walls).append(face)
    ax.add_collection(LineCollection(lines, colors=BETWEEN, linewidths=0.4, zorder=2, gid="lines"))
    ax.add_collection(LineCollection(walls, colors="black", linewidths=1.4, capstyle="round", zorder=3, gid="walls"))
    jump = ~drawn.neighbours(drawn.begin, drawn.end)
    if 0 < np.count_nonzero(jump) <= JUMPS:
        pairs = zip(drawn.begin[jump], drawn.end[jump], strict=True)
        paths = [curved_arrow(drawn.places[s], drawn.places[z], 0.12, 1.0, 0.12).headless() for s, z in pairs]
        style: Any = {"facecolors": "none", "edgecolors": "0.45", "linewidths": 0.6, "linestyles": "dashed"}
        ax.add_collection(PathCollection(paths, zorder=3, gid="jumps", **style))


def _draw_steps(ax: Axes, drawn: Map) -> ScalarMappable:
    """The transitions of one action between rooms or squares: short arrows, a dot for staying."""
    arrows, dots = [], []
    for s, z, p in sorted(zip(drawn.begin.tolist(), drawn.end.tolist(), drawn.p.tolist(), strict=True), key=_p):
        if s == z:
            dots.append((s, p))
        else:
            arrows.append(curved_arrow(drawn.places[s], drawn.places[z], 0.17, p, 0.12))
    _add_arrows(ax, drawn, arrows, [True] * len(arrows), zorder=4)
    if dots:
        where, colours = drawn.places[[s for s, _ in dots]], _scale(drawn).to_rgba(np.array([p for _, p in dots]))
        ax.scatter(where[:, 0], where[:, 1], s=9, c=colours, linewidths=0, zorder=4, gid="stays")
    return _scale(drawn)


def _p(edge: tuple[int, int, float]) -> float:
    return edge[2]


def _draw_arrows(ax: Axes, drawn: Map, shaded: bool) -> ScalarMappable:
    """Transitions as bent arrows, darker and wider where more probable; if there are many, faint ones are hairlines."""
    head = min(drawn.radius, HEAD / points_per_unit(ax, drawn))
    arrows = [
        drawn.arrow(int(drawn.begin[i]), int(drawn.end[i]), float(drawn.p[i]), head) for i in drawn.drawn_transitions
    ]
    crowded = len(arrows) > 4 * drawn.n_states
    full = [not crowded or arrow.p >= FAINT for arrow in arrows]
    _add_arrows(ax, drawn, arrows, full, alpha=0.55 if shaded else 1.0)
    if drawn.arrows_per_state is not None:
        note: Any = {"fontsize": 6, "color": "0.35", "ha": "left", "va": "bottom", "gid": "note"}
        ax.text(0, 0, f"arrows: the {drawn.arrows_per_state} likeliest\nof each state", transform=ax.transAxes, **note)
    return _scale(drawn)


def _add_arrows(
    ax: Axes, drawn: Map, arrows: list[Arrow], full: list[bool], alpha: float = 1.0, zorder: float = 1.5
) -> None:
    """Arrows, as dark as they are probable; those that are not `full` are hairlines without a head."""
    p = np.array([arrow.p for arrow in arrows])
    colours = _scale(drawn).to_rgba(p, alpha=alpha)
    widths = np.where(full, 0.5 + 0.9 * p, 0.35)
    paths = [arrow.path if whole else arrow.headless() for arrow, whole in zip(arrows, full, strict=True)]
    lines = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths, zorder=zorder, gid="arrows")
    ax.add_collection(lines)
    heads = [arrow.head for arrow, whole in zip(arrows, full, strict=True) if whole]
    ax.add_collection(PolyCollection(heads, facecolors=colours[full], edgecolors="none", zorder=zorder))


def _scale(drawn: Map) -> ScalarMappable:
    """Which probability is how dark: black is the largest, or a little more."""
    return ScalarMappable(Normalize(0.0, float(np.ceil(5 * drawn.p.max(initial=0.2) - 1e-9) / 5)), PROBABILITY)


def _draw_matrix(ax: Axes, drawn: Map) -> ScalarMappable:
    """Probabilities of all transitions, from the state on the left to the state above; of a block, the largest."""
    n, cells = drawn.n_states, min(drawn.n_states, MAX_MATRIX_CELLS)
    image = np.zeros((cells, cells))
    np.maximum.at(image, (drawn.begin * cells // n, drawn.end * cells // n), drawn.p)
    span = (-0.5, n - 0.5, n - 0.5, -0.5)
    found = ax.imshow(np.ma.masked_equal(image, 0.0), cmap=PROBABILITY, vmin=0.0, vmax=1.0, extent=span, aspect="equal")
    found.set_gid("matrix")
    ax.set(xlabel="next state", ylabel="state")
    return found
