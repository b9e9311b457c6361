"""Draw mazes as in the paper's Fig. 1, and rooms coloured by the utility of each action."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon
from numpy.typing import ArrayLike

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import BLUE, PROBABILITY, RC, WIDTH, check_axes
from berlyne.sparse import by_action
from berlyne.validation import BoolArray, FloatArray, IntArray, check_index
from berlyne.worlds import Geometry, World

AMBER = LinearSegmentedColormap.from_list("amber", ["#f8f4ea", "#fbe6b8", "#f7bf66", "#ea9136"])
"""Off-white to amber, evenly darker in print; black walls and blue transporters stay visible on every shade."""
STEPS = np.array([[0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
"""Unit vectors up, down, left, right; the y axis points down, in the order in which rooms are numbered."""

ANGLES = (90.0, 270.0, 180.0, 0.0)
"""Angles of these directions in degrees, counterclockwise from the right."""
ARC_RADIUS = 0.2
"""Radius of the arc that joins arrows with the same destination."""

LENGTHS = {"passage": 0.92, "wall": 0.44, "transporter": 0.45}
"""Length of an arrow from the centre of a room, by the kind of side that it points to."""


def draw_maze(world: World, ax: Axes | None = None, rows: Sequence[tuple[int, int]] | None = None) -> Axes:
    """Draw a maze as in the paper's Fig. 1.

    Walls are black, transporters are blue lines along a wall, and the base room is a blue target. A transition
    distribution is four arrows, one for each direction; darker arrows lead to more probable next states. An arrow into
    a wall has a flat head (the agent stays), an arrow into a transporter is dashed (the agent goes to the base).
    Directions with the same destination are one outcome. An arc joins their arrows, whose shade is the probability of
    the outcome.

    Parameters
    ----------
    world : World
        A maze.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    rows : sequence of tuple of int, optional
        Pairs (a, s) whose transition distributions are drawn; by default two rows that show a lot (`telling_rows`).

    Returns
    -------
    Axes
        The axes of the maze.
    """
    maze = _geometry(world)
    chosen = example_rows(world) if rows is None else rows
    checked = [(check_index("a", a, world.n_actions), check_index("s", s, world.n_states)) for a, s in chosen]
    ax = _prepared(ax, maze.side)
    draw_walls(ax, maze)
    for a, s in checked:
        _draw_row(ax, world, maze, a, s)
    return ax


def draw_maze_and_rows(world: World, rows: Sequence[tuple[int, int]]) -> Drawing:
    """Draw a maze and some of its transition distributions, with each probability written once.

    Parameters
    ----------
    world : World
        A maze.
    rows : sequence of tuple of int
        Pairs (a, s) whose transition distributions are drawn.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(0.72 * WIDTH, 0.6 * WIDTH))
        ax = figure.subplots()
        draw_maze(world, ax, rows)
        for a, s in rows:
            _write_row(ax, world, _geometry(world), a, s)
        bar = figure.colorbar(ScalarMappable(cmap=PROBABILITY), ax=ax, shrink=0.6, aspect=18, pad=0.02)
        bar.set_label("probability of the transition")
    drawing = Drawing(figure, ("action", "room", "next_room", "probability"))
    for a, s in rows:
        drawing.add((a, s, int(s_next), float(p)) for s_next, p in zip(*world.rows.row(a, s), strict=True))
    return drawing


def shade_rooms(
    world: World, utility: ArrayLike, ax: Axes | None = None, *, cmap: str | Colormap = AMBER
) -> PolyCollection:
    """Draw a maze with each room split into four triangles, coloured by the utility of each action there.

    Parameters
    ----------
    world : World
        A maze.
    utility : array_like of shape (4, N)
        Utilities `[a, s]`, such as `berlyne.pig(model)`. The upper triangle is action 0, "up".
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    cmap : str or Colormap
        Colour map of the triangles.

    Returns
    -------
    PolyCollection
        The triangles, to which you can attach a colour bar.
    """
    maze = _geometry(world)
    values = np.asarray(utility, dtype=float)
    if values.shape != (4, world.n_states):
        raise ValueError(f"the utility has shape {values.shape}; it must be (4, {world.n_states}), [a, s]")
    ax = _prepared(ax, maze.side)
    s, direction = np.divmod(np.arange(4 * world.n_states), 4)
    centre = _centres(s, maze.side)[:, None, :]
    triangles = np.concatenate([centre, _faces(s, direction, maze.side)], axis=1)  # (4 N, 3, 2)
    shaded = PolyCollection(list(triangles), cmap=cmap, edgecolors="white", linewidths=0.8, zorder=1)
    shaded.set_array(values.T.ravel())
    shaded.set_gid("actions")
    ax.add_collection(shaded)
    draw_walls(ax, maze)
    return shaded


def _geometry(world: World) -> Geometry:
    if world.geometry is None:
        raise ValueError(f"{world!r} is not a maze; only worlds made by berlyne.maze have walls to draw")
    return world.geometry


def _prepared(ax: Axes | None, side: int) -> Axes:
    check_axes(ax)
    if ax is None:
        ax = plt.subplots(figsize=(4.0, 4.0), layout="constrained")[1]
    ax.set(xlim=(-0.05, side + 0.05), ylim=(side + 0.05, -0.05), aspect="equal")
    ax.set_axis_off()
    return ax


def _centres(s: ArrayLike, side: int) -> FloatArray:
    """Return the centres of rooms, (..., 2)."""
    line, column = np.divmod(np.asarray(s), side)
    return np.stack([column + 0.5, line + 0.5], axis=-1)


def _faces(s: IntArray, direction: IntArray, side: int, inset: float = 0.0, margin: float = 0.0) -> FloatArray:
    """Return segments (..., 2, 2) along the sides of rooms, moved inwards by `inset` and shortened by `margin`."""
    step = STEPS[direction]
    middle = _centres(s, side) + (0.5 - inset) * step
    along = (0.5 - margin) * np.abs(step[..., ::-1])
    return np.stack([middle - along, middle + along], axis=-2)


def draw_walls(ax: Axes, maze: Geometry) -> None:
    """Draw each wall once, each transporter on its side of a wall, and the base."""
    s, direction = np.nonzero(~maze.passages)
    line, column = np.divmod(s, maze.side)
    # a wall between two rooms is drawn from below or from the right
    once = (direction % 2 == 0) | ((direction == 1) & (line == maze.side - 1))
    once |= (direction == 3) & (column == maze.side - 1)
    segments = _faces(s[once], direction[once], maze.side)
    walls = LineCollection(list(segments), colors="black", linewidths=1.8, capstyle="round", zorder=3)
    walls.set_gid("walls")
    ax.add_collection(walls)
    s, direction = np.nonzero(maze.transporters)
    segments = _faces(s, direction, maze.side, inset=0.07, margin=0.12)
    transporters = LineCollection(list(segments), colors=BLUE, linewidths=2.8, capstyle="butt", zorder=4)
    transporters.set_gid("transporters")
    ax.add_collection(transporters)
    x, y = _centres(maze.base, maze.side)
    for radius, filled in ((0.3, False), (0.19, False), (0.08, True)):
        ax.add_patch(Circle((x, y), radius, fill=filled, color=BLUE, linewidth=1.8, zorder=4, gid="base"))


def _draw_row(ax: Axes, world: World, maze: Geometry, a: int, s: int) -> None:
    """Draw four arrows from room s, shaded by the probabilities of row (a, s), and join those to one destination."""
    centre = _centres(s, maze.side)
    for directions, p in _outcomes(world, maze, a, s):
        for direction in directions:
            kind = "passage" if maze.passages[s, direction] else "wall"
            kind = "transporter" if maze.transporters[s, direction] else kind
            _draw_arrow(ax, centre, STEPS[direction], kind, p)
        if len(directions) > 1:
            first, last = _span(directions, maze.passages[s])
            around = np.radians(np.linspace(first, last, 40))
            x, y = centre[0] + ARC_RADIUS * np.cos(around), centre[1] - ARC_RADIUS * np.sin(around)
            ax.add_line(Line2D(x, y, color=_shade(p), lw=1.2, zorder=5.0 + p, gid="joint"))
    ax.add_patch(Circle((centre[0], centre[1]), 0.07, color="black", zorder=7, gid="start"))


def _outcomes(world: World, maze: Geometry, a: int, s: int) -> list[tuple[list[int], float]]:
    """Return the directions that lead to each destination, with the probability of the destination."""
    s_next, p = world.rows.row(a, s)
    destinations = maze.destination[s].tolist()
    return [
        ([d for d in range(4) if destinations[d] == destination], float(probability))
        for destination, probability in zip(s_next.tolist(), p.tolist(), strict=True)
    ]


def _span(directions: list[int], passages: BoolArray) -> tuple[float, float]:
    """Return the start and end angle of the arc that joins some directions, in degrees counterclockwise from the right.

    The shortest arc is used. Among equally short ones it is the arc across a passage, because the probability of a
    passage is written outside the room.
    """
    angles = sorted(ANGLES[direction] for direction in directions)
    arcs = [(first, last + 360.0 * (last < first)) for first, last in zip(angles, [angles[-1], *angles], strict=False)]
    return min(
        arcs, key=lambda arc: (arc[1] - arc[0], not passages[ANGLES.index(float(np.mean(arc)) // 90 * 90 % 360)])
    )


def _write_row(ax: Axes, world: World, maze: Geometry, a: int, s: int) -> None:
    """Write the probability of each outcome of a row beside its arrow, or beside the first of several joined arrows.

    Each direction uses the next corner of the room counterclockwise, so that no two outcomes share a corner.
    """
    x, y = _centres(s, maze.side)
    for directions, p in _outcomes(world, maze, a, s):
        first, _ = _span(directions, maze.passages[s])
        alone = len(directions) == 1 and maze.passages[s, directions[0]]
        radius, angle = (0.66, first + 12.0) if alone else (0.35, first + 45.0)
        position = x + radius * np.cos(np.radians(angle)), y - radius * np.sin(np.radians(angle))
        text = f"{p:.2f}" if p >= 0.005 else "<.005"
        ax.text(*position, text, ha="center", va="center", fontsize=6, zorder=8, gid="probability")


def _shade(p: float) -> str:
    return to_hex(PROBABILITY(p))


def _draw_arrow(ax: Axes, centre: FloatArray, step: FloatArray, kind: str, p: float) -> None:
    """Draw one arrow, black for p = 1 and light grey for p = 0; darker arrows lie on top."""
    tip, across = centre + LENGTHS[kind] * step, 0.085 * step[::-1]
    shade, zorder = _shade(p), 5.0 + p
    if kind == "wall":
        neck, head = tip, Polygon([tip - across, tip + across], closed=False, color=shade, lw=1.8, zorder=zorder)
    else:
        neck = tip - 0.14 * step
        head = Polygon([tip, neck - across, neck + across], color=shade, lw=0, zorder=zorder)
    dash = (0, (2.2, 1.0)) if kind == "transporter" else "-"
    ax.add_line(Line2D(*zip(centre, neck, strict=True), color=shade, lw=1.8, ls=dash, zorder=zorder, gid=kind))
    ax.add_patch(head)


def example_rows(world: World) -> list[tuple[int, int]]:
    """Return two rows (a, s) that show as much as possible.

    They have directions of every kind and an entropy of about one bit, and they are far apart.
    """
    maze, theta = _geometry(world), world.rows
    kinds = np.stack([maze.passages, maze.transporters, ~maze.passages & ~maze.transporters])
    entropy = by_action(theta.row_sums(-theta.data * np.log2(theta.data)), world.n_actions)
    score = kinds.any(axis=2).sum(axis=0) + 1.0 - np.abs(entropy - 1.0) / 2.0
    at_base = (maze.passages & (maze.destination == maze.base)).any(axis=1)
    at_base[maze.base] = True
    score[:, at_base] = -1.0  # arrows would lie on the target
    line, column = np.divmod(np.arange(world.n_states), maze.side)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < 2 and score.max() >= 0:
        a, s = (int(i) for i in np.unravel_index(np.argmax(score), score.shape))
        chosen.append((a, s))
        near = np.abs(line - line[s]) + np.abs(column - column[s]) < maze.side / 2
        score[:, near] = -1.0
    return chosen
