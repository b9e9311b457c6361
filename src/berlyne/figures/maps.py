"""Draw maps of worlds, and maps of worlds and models coloured by a quantity of their states or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.ticker import MaxNLocator

from berlyne.figures.map_edges import draw_background
from berlyne.figures.map_layout import (
    MAX_LABEL_LENGTH,
    Map,
    is_wide,
    map_of,
    map_of_model,
    points_per_unit,
    prepare_axes,
    short_label,
)
from berlyne.figures.state_quantities import Quantity, explorer_quantity, model_quantity
from berlyne.figures.style import AGENT, BLUE, RC, SHADES
from berlyne.labels import DiscoveredLabels
from berlyne.models.internal_model import InternalModel, match_actions, match_states
from berlyne.validation import FloatArray, check_flag
from berlyne.worlds.layout import DIRECTIONS
from berlyne.worlds.world import World, check_world

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

MAX_SLICES = 8
"""Nodes are divided into slices, one for each action, if there are at most this many actions."""
MIN_LABELLED_SIZE = 17.0
"""Diameter in points below which the label of a divided node is written outside."""
MAX_COLUMNS = 2000
"""Largest number of columns of an image of values by action and state."""
HALO: list[AbstractPathEffect] = [withStroke(linewidth=1.6, foreground="white")]


def draw_world(
    world: World, ax: Axes | None = None, *, action: Any = None, labels: bool | None = None, bar: bool = True
) -> Axes:
    """Draw any world: a maze with its walls, a grid of squares, a graph, or a matrix if it has more than 60 states.

    Start states have a blue outline, terminal states a double outline. More probable transitions have darker arrows.

    Parameters
    ----------
    world : World
        The world.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    action : label or int, optional
        Draw the transitions of this action only. By default a graph shows those of all actions, each with its
        probability under the action that makes it most likely; mazes and grids show none.
    labels : bool, optional
        Whether to write the labels of states; by default in graphs, and in grids if the labels are strings.
    bar : bool
        Whether to draw a colour bar.

    Returns
    -------
    Axes
        The axes of the map.
    """
    return draw_plain(map_of(world, action), ax, labels, bar, action is not None)


def draw_plain(
    world_map: Map,
    ax: Axes | None = None,
    labels: bool | None = None,
    bar: bool = True,
    action: bool = False,
    faded: bool = False,
) -> Axes:
    """Draw a map whose states are not coloured.

    Parameters
    ----------
    world_map : Map
        The map.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    labels, bar : bool
        See `draw_world`.
    action : bool
        Whether the transitions belong to one action.
    faded : bool
        Whether to draw arrows faintly, because a trail is drawn over them.

    Returns
    -------
    Axes
        The axes of the map.
    """
    check_flag("bar", bar, optional=False)
    with mpl.rc_context(RC):
        ax = prepare_axes(ax, world_map, bar and (world_map.kind in ("graph", "matrix") or action))
        scale = draw_background(ax, world_map, action, faded and world_map.kind == "graph")
        if world_map.kind != "matrix":
            draw_states(ax, world_map)
            _draw_marks(ax, world_map)
            _write(ax, world_map, labels)
        if bar and scale is not None:
            draw_colour_bar(ax, world_map, scale, "probability of the transition")
    return ax


def draw_model(
    model: InternalModel,
    what: Any = "expected missing information",
    ax: Axes | None = None,
    *,
    world: World | None = None,
    rows: bool | None = None,
    labels: bool | None = None,
    bar: bool = True,
) -> Axes:
    """Draw states coloured by a quantity of a model.

    Parameters
    ----------
    model : InternalModel
        The model.
    what : str or array_like
        Name of the quantity ("missing information", "expected missing information", "visits", "utility" or the name of
        a utility), or values of shape (N,) or (M, N).
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    world : World, optional
        World whose map is drawn. Without it, the layout is that of the world which the prior expects, and arrows are
        the observed transitions.
    rows : bool, optional
        Whether each action has its own part of a state. In a room this is the side that the action pushes to, in a
        square the side that the action is named after, in a node a slice, clockwise from the top in the order of
        actions. By default utilities and arrays of shape (M, N) are divided, other quantities are summed over actions.
    labels : bool, optional
        Whether to write the labels of states; see `draw_world`.
    bar : bool
        Whether to draw a colour bar.

    Returns
    -------
    Axes
        The axes of the map.
    """
    return draw_shaded(
        _map(model, world), align_to_world(world, model, model_quantity(model, what, world, rows)), ax, labels, bar
    )[0]


def draw_explorer(
    explorer: Explorer,
    what: Any = "utility",
    ax: Axes | None = None,
    *,
    world: World | None = None,
    rows: bool | None = None,
    labels: bool | None = None,
    bar: bool = True,
) -> Axes:
    """Draw states coloured by a quantity of an explorer, and mark the state that it is in.

    Parameters
    ----------
    explorer : Explorer
        The explorer.
    what : str or array_like
        See `draw_model`; "utility" is the utility of the explorer's strategy.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    world : World, optional
        World whose map is drawn; see `draw_model`.
    rows : bool, optional
        Whether each action has its own part of a state; see `draw_model`.
    labels : bool, optional
        Whether to write the labels of states; see `draw_world`.
    bar : bool
        Whether to draw a colour bar.

    Returns
    -------
    Axes
        The axes of the map.
    """
    model = explorer.model
    world_map = _map(model, world)
    quantity = align_to_world(world, model, explorer_quantity(explorer, what, world, rows))
    ax, _ = draw_shaded(world_map, quantity, ax, labels, bar)
    if explorer.here is not None:
        cell = model.state_labels.number(explorer.here)
        s = cell if world is None else int(np.argmax(match_states(world, model) == cell))
        draw_agent(ax, world_map, s, columns=True)
    return ax


def draw_shaded(
    world_map: Map, quantity: Quantity, ax: Axes | None = None, labels: bool | None = None, bar: bool = True
) -> tuple[Axes, ScalarMappable]:
    """Draw a map coloured by a quantity, and return the axes and the coloured artist."""
    check_flag("bar", bar, optional=False)
    if quantity.values.ndim == 2 and world_map.kind != "matrix" and _parts(world_map, len(quantity.values)) is None:
        quantity = quantity.by_state()
    with mpl.rc_context(RC):
        ax = prepare_axes(ax, world_map, bar)
        draw_background(ax, world_map, shaded=True)
        coloured: ScalarMappable
        if world_map.kind == "matrix":
            coloured = _draw_columns(ax, world_map, quantity.values)
        else:
            coloured = draw_states(ax, world_map, quantity.values)
            _draw_marks(ax, world_map)
            _write(ax, world_map, labels, divided=world_map.kind == "graph" and quantity.values.ndim == 2)
        if bar:
            draw_colour_bar(ax, world_map, coloured, quantity.label)
    return ax, coloured


def draw_states(ax: Axes, world_map: Map, values: FloatArray | None = None) -> PolyCollection:
    """Draw squares or nodes, white or coloured; values of shape (M, N) divide each state among the actions."""
    states = range(world_map.n_states)
    outlines = [_outline(world_map, s) for s in states]
    parts = None if values is None or values.ndim == 1 else _parts(world_map, len(values))
    polygons = outlines if parts is None else [world_map.places[s] + part for s in states for part in parts]
    node = world_map.kind == "graph"
    style: Any = {"edgecolors": "none", "zorder": 3 if node else 1, "gid": "states"}
    if parts is not None:
        style |= {"edgecolors": "white", "linewidths": 0.5}
    coloured = PolyCollection(polygons, facecolors="white", cmap=SHADES, **style)
    if values is not None:
        coloured.set_array(values.T.ravel())
        coloured.set_clim(*colour_limits(values))
    ax.add_collection(coloured)
    if node:
        rims = PolyCollection(outlines, facecolors="none", edgecolors="black", linewidths=0.7, zorder=3.5, gid="rims")
        ax.add_collection(rims)
    return coloured


def colour_limits(values: FloatArray) -> tuple[float, float]:
    """Return the limits of a colour scale: the range of zero and all finite values, or (0, 1) if all are zero."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    return low, high if high > low else 1.0


def draw_agent(ax: Axes, world_map: Map, s: int, columns: bool = False) -> Line2D:
    """Mark the agent by a dot in a room, a ring around a node, or a line across a matrix.

    Parameters
    ----------
    ax : Axes
        Axes of the map.
    world_map : Map
        The map.
    s : int
        State of the agent.
    columns : bool
        Whether the columns of a matrix are states; else its rows are.

    Returns
    -------
    Line2D
        The mark, which can be moved.
    """
    x, y = world_map.places[s].tolist()
    if world_map.kind == "matrix":
        return (ax.axvline if columns else ax.axhline)(s, color=AGENT, linewidth=0.8, gid="agent")
    if world_map.kind == "graph":
        size = 2 * 1.28 * world_map.radius * points_per_unit(ax, world_map)
        style: Any = {"markerfacecolor": "none", "markeredgecolor": AGENT, "markeredgewidth": 1.8}
        return ax.plot([x], [y], "o", markersize=size, zorder=6, gid="agent", **style)[0]
    size = min(9.0, 0.42 * points_per_unit(ax, world_map))
    style = {"markerfacecolor": AGENT, "markeredgecolor": "white", "markeredgewidth": 0.9}
    return ax.plot([x], [y], "o", markersize=size, zorder=8, gid="agent", **style)[0]


def _map(model: InternalModel, world: World | None) -> Map:
    """Return the map for a model; raise a `ValueError` if the world has other states or actions than the model."""
    if world is not None:
        check_world(world)
    if world is None:
        return map_of_model(model)
    match_states(world, model), match_actions(world, model)  # raise if labels differ
    return map_of(world)


def align_to_world(world: World | None, model: InternalModel, quantity: Quantity) -> Quantity:
    """Return a quantity in the order of a world's states.

    It is NaN in undiscovered states, and in terminal states unless it consists of custom values.
    """
    if world is None:
        return quantity
    values = quantity.values.copy()
    if not quantity.in_world_order:
        cells = match_states(world, model)
        values = values[..., cells] if values.ndim == 1 else values[np.ix_(match_actions(world, model), cells)]
        if isinstance(model.state_labels, DiscoveredLabels):
            values[..., cells == model.n_states - 1] = np.nan
    if len(world.terminal) and quantity.label:
        values[..., world.terminal] = np.nan
    return Quantity(values, quantity.label, in_world_order=True)


def _outline(world_map: Map, s: int, radius: float | None = None) -> FloatArray:
    """Return the corners of a square, or of a polygon that looks like a circle, (n, 2)."""
    radius = world_map.radius if radius is None else radius
    if world_map.kind == "graph":
        angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        return np.asarray(world_map.places[s] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return np.asarray(world_map.places[s] + radius * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]))


def _parts(world_map: Map, n_actions: int) -> list[FloatArray] | None:
    """Return the part of a state that belongs to each action, relative to its centre; None if it cannot be divided.

    Squares have triangles on the sides that actions are named after; nodes have slices, clockwise from the top.
    """
    if world_map.kind == "maze" and n_actions == 4:
        steps: list[Any] = [DIRECTIONS[name] for name in ("up", "down", "left", "right")]
    elif world_map.kind == "grid":
        steps = [DIRECTIONS.get(str(name).lower()) for name in world_map.actions.all]
    else:
        steps = [None]
    if None not in steps and len(set(steps)) == len(steps) == n_actions:
        corners = [np.array([[0, 0], [x + y, y + x], [x - y, y - x]]) * world_map.radius for x, y in steps]
        return [np.asarray(corner, dtype=float) for corner in corners]
    if world_map.kind != "graph" or n_actions > MAX_SLICES:
        return None
    slices = []
    for a in range(n_actions):
        angle = 2 * np.pi * (a + np.linspace(0, 1, 16)) / n_actions - np.pi / 2
        rim = world_map.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        slices.append(np.vstack([np.zeros((1, 2)), rim]) if n_actions > 1 else rim)
    return slices


def _draw_marks(ax: Axes, world_map: Map) -> None:
    """Mark start states and terminal states."""
    for numbers, colour, gid in ((world_map.starts, BLUE, "starts"), (world_map.ends, "black", "ends")):
        inside = [_outline(world_map, s, 0.8 * world_map.radius) for s in numbers]
        style: Any = {"facecolors": "none", "edgecolors": colour, "zorder": 3.6, "gid": gid}
        ax.add_collection(PolyCollection(inside, linewidths=1.1 if gid == "starts" else 0.7, **style))


def _write(ax: Axes, world_map: Map, labels: bool | None, divided: bool = False) -> None:
    """Write the labels of states: inside if they fit, else below and shortened; outside of small divided nodes."""
    check_flag("labels", labels)
    custom = world_map.states.custom
    named = world_map.kind == "grid" and custom is not None and isinstance(custom[0], str)
    if not (world_map.kind == "graph" or named if labels is None else labels):
        return
    unit = points_per_unit(ax, world_map)
    names = [short_label(world_map.states, s) for s in range(world_map.n_states)]
    inside = 2 * world_map.radius * unit  # points
    size = min(7.5, 0.62 * inside, 0.88 * inside / (0.58 * max(map(len, names))))
    below = size < 4.2
    if below:
        across = unit * (1.0 if world_map.kind != "graph" else 3.4 * world_map.radius)
        size = float(np.clip(across / (0.58 * max(map(len, names))), 4.2, 6.5))
        fits = int(np.clip(1.3 * across / (0.58 * size), 3, MAX_LABEL_LENGTH))
        names = [short_label(world_map.states, s, fits) for s in range(world_map.n_states)]
    outside = divided and not below and inside < MIN_LABELLED_SIZE
    if outside:
        size = 6.0
        away = world_map.places - world_map.places.mean(axis=0)
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        positions = world_map.places + away * (1.3 * world_map.radius + 0.4 * size * max(map(len, names)) / unit)
    for (x, y), name in zip((positions if outside else world_map.places).tolist(), names, strict=True):
        y, va = (y + 1.15 * world_map.radius, "top") if below else (y, "center_baseline")
        text = ax.text(x, y, name, ha="center", va=va, fontsize=size, zorder=7, gid="labels", parse_math=False)
        if below or outside:
            text.set_path_effects(HALO)


def _draw_columns(ax: Axes, world_map: Map, values: FloatArray) -> ScalarMappable:
    """Draw values by action and state as an image; if there are too many states, means of neighbouring states."""
    table = np.atleast_2d(values)
    m, n = table.shape
    cells = min(n, MAX_COLUMNS)
    if cells < n:
        cell = np.arange(n) * cells // n
        table = np.stack([np.bincount(cell, row, cells) / np.bincount(cell, minlength=cells) for row in table])
    image = ax.imshow(table, cmap=SHADES, aspect="auto", interpolation="nearest", extent=(-0.5, n - 0.5, m - 0.5, -0.5))
    image.set_gid("matrix")
    image.set_clim(*colour_limits(table))
    ax.set_xlabel("state")
    if values.ndim == 2 and m <= 12:
        ax.set_yticks(range(m), [short_label(world_map.actions, a) for a in range(m)], parse_math=False)
        ax.set_ylabel("action")
    else:
        ax.set_yticks([])
    return image


def draw_colour_bar(ax: Axes, world_map: Map, coloured: ScalarMappable, label: str, pad: float = 0.03) -> None:
    """Draw a slim colour bar with a label, beside the map, or below a wide one."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    place: Any = {"location": "bottom", "shrink": 0.4} if is_wide(world_map) else {"shrink": 0.75}
    bar = figure.colorbar(coloured, ax=ax, aspect=20, pad=pad, **place)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2)
    bar.locator = MaxNLocator(4)
    bar.update_ticks()
    bar.set_label(label, parse_math=False)
