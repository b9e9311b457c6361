"""Draw transitions and walls: the walls of a maze, the lines of a grid, the arrows of a graph, or a matrix."""

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
"""In crowded graphs, transitions less probable than this are hairlines without a head."""
MAX_MATRIX_CELLS = 400
"""Largest number of rows of a matrix image; in larger matrices each cell shows the largest value of its block."""
GRID_LINE_COLOUR = "0.72"
HEAD_SIZE = 7.5
"""Largest size of arrow heads, in points; a head is 3/4 as long."""
MAX_JUMPS = 60
"""Transitions between squares that are not neighbours are drawn if there are at most this many."""


def draw_background(ax: Axes, world_map: Map, action: bool = False, shaded: bool = False) -> ScalarMappable | None:
    """Draw walls, grid lines and transitions.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    world_map : Map
        The map.
    action : bool
        Whether the transitions belong to one action.
    shaded : bool
        Whether the states will be coloured.

    Returns
    -------
    ScalarMappable or None
        Scale for a colour bar of probabilities, if the map needs one.
    """
    match world_map.kind:
        case "maze":
            assert world_map.geometry is not None
            draw_walls(ax, world_map.geometry)
        case "grid":
            _draw_grid(ax, world_map)
        case "graph":
            return _draw_arrows(ax, world_map, shaded)
        case "matrix":
            return None if shaded else _draw_matrix(ax, world_map)
    return _draw_steps(ax, world_map) if action else None


def _draw_grid(ax: Axes, world_map: Map) -> None:
    """Draw thin lines between squares, walls between squares without a transition, and jumps."""
    state_at = {tuple(cell): s for s, cell in enumerate(np.round(world_map.places * 2).astype(int).tolist())}
    connected = world_map.connected
    ends = set(world_map.ends)  # no transition leaves them
    walls: list[FloatArray] = []
    lines: list[FloatArray] = []
    for (x, y), s in state_at.items():
        for step in ((2, 0), (0, 2), (-2, 0), (0, -2)):
            beside = state_at.get((x + step[0], y + step[1]))
            if beside is not None and sum(step) < 0:
                continue  # drawn from the other side
            middle, along = np.array([x + step[0] / 2, y + step[1] / 2]), np.array(step[::-1]) / 2
            face = np.array([middle - along, middle + along]) / 2
            open_ = beside is not None and ((s, beside) in connected or (beside, s) in connected)
            (lines if open_ or {s, beside} <= ends else walls).append(face)
    ax.add_collection(LineCollection(lines, colors=GRID_LINE_COLOUR, linewidths=0.4, zorder=2, gid="lines"))
    ax.add_collection(LineCollection(walls, colors="black", linewidths=1.4, capstyle="round", zorder=3, gid="walls"))
    jump = ~world_map.neighbours(world_map.begin, world_map.end)
    if 0 < np.count_nonzero(jump) <= MAX_JUMPS:
        pairs = zip(world_map.places[world_map.begin[jump]], world_map.places[world_map.end[jump]], strict=True)
        paths = [curved_arrow(begin, end, 0.12, 1.0, 0.12).headless() for begin, end in pairs]
        style: Any = {"facecolors": "none", "edgecolors": "0.45", "linewidths": 0.6, "linestyles": "dashed"}
        ax.add_collection(PathCollection(paths, zorder=3, gid="jumps", **style))


def _draw_steps(ax: Axes, world_map: Map) -> ScalarMappable:
    """Draw the transitions of one action between rooms or squares: short arrows, and a dot for staying."""
    arrows, dots = [], []
    edges = zip(world_map.begin.tolist(), world_map.end.tolist(), world_map.p.tolist(), strict=True)
    for s, s_next, p in sorted(edges, key=_probability):
        if s == s_next:
            dots.append((s, p))
        else:
            arrows.append(curved_arrow(world_map.places[s], world_map.places[s_next], 0.17, p, 0.12))
    _add_arrows(ax, world_map, arrows, [True] * len(arrows), zorder=4)
    if dots:
        centres = world_map.places[[s for s, _ in dots]]
        colours = _scale(world_map).to_rgba(np.array([p for _, p in dots]))
        ax.scatter(centres[:, 0], centres[:, 1], s=9, c=colours, linewidths=0, zorder=4, gid="stays")
    return _scale(world_map)


def _probability(edge: tuple[int, int, float]) -> float:
    return edge[2]


def _draw_arrows(ax: Axes, world_map: Map, shaded: bool) -> ScalarMappable:
    """Draw transitions as curved arrows, darker and wider if more probable; in crowded graphs, faint ones are thin."""
    head_size = min(world_map.radius, HEAD_SIZE / points_per_unit(ax, world_map))
    arrows = [
        world_map.arrow(int(world_map.begin[i]), int(world_map.end[i]), float(world_map.p[i]), head_size)
        for i in world_map.drawn_transitions
    ]
    crowded = len(arrows) > 4 * world_map.n_states
    has_head = [not crowded or arrow.p >= FAINT for arrow in arrows]
    _add_arrows(ax, world_map, arrows, has_head, alpha=0.55 if shaded else 1.0)
    if world_map.arrows_per_state is not None:
        style: Any = {"fontsize": 6, "color": "0.35", "ha": "left", "va": "bottom", "gid": "note"}
        note = f"arrows: {world_map.arrows_per_state} likeliest transitions\nfrom each state"
        ax.text(0, 0, note, transform=ax.transAxes, **style)
    return _scale(world_map)


def _add_arrows(
    ax: Axes, world_map: Map, arrows: list[Arrow], has_head: list[bool], alpha: float = 1.0, zorder: float = 1.5
) -> None:
    """Draw arrows, darker if more probable; those without a head are hairlines."""
    p = np.array([arrow.p for arrow in arrows])
    colours = _scale(world_map).to_rgba(p, alpha=alpha)
    widths = np.where(has_head, 0.5 + 0.9 * p, 0.35)
    paths = [arrow.path if full else arrow.headless() for arrow, full in zip(arrows, has_head, strict=True)]
    lines = PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths, zorder=zorder, gid="arrows")
    ax.add_collection(lines)
    heads = [arrow.head for arrow, full in zip(arrows, has_head, strict=True) if full]
    ax.add_collection(PolyCollection(heads, facecolors=colours[has_head], edgecolors="none", zorder=zorder))


def _scale(world_map: Map) -> ScalarMappable:
    """Return the grey scale of probabilities; black is the largest one, rounded up to a multiple of 0.2."""
    return ScalarMappable(Normalize(0.0, float(np.ceil(5 * world_map.p.max(initial=0.2) - 1e-9) / 5)), PROBABILITY)


def _draw_matrix(ax: Axes, world_map: Map) -> ScalarMappable:
    """Draw all transition probabilities as an image, state by next state; a block shows its largest probability."""
    n, cells = world_map.n_states, min(world_map.n_states, MAX_MATRIX_CELLS)
    blocks = np.zeros((cells, cells))
    np.maximum.at(blocks, (world_map.begin * cells // n, world_map.end * cells // n), world_map.p)
    extent = (-0.5, n - 0.5, n - 0.5, -0.5)
    masked = np.ma.masked_equal(blocks, 0.0)
    image = ax.imshow(masked, cmap=PROBABILITY, vmin=0.0, vmax=1.0, extent=extent, aspect="equal")
    image.set_gid("matrix")
    ax.set(xlabel="next state", ylabel="state")
    return image
