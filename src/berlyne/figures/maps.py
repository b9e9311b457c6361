"""Maps drawn: worlds as they are, and worlds and models coloured by a quantity of their states or rows."""

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
from berlyne.worlds.world import World, check_world

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

DIRECTIONS = {"up": (0, -1), "north": (0, -1), "right": (1, 0), "east": (1, 0)}
DIRECTIONS |= {"down": (0, 1), "south": (0, 1), "left": (-1, 0), "west": (-1, 0)}
"""Names of actions that are directions: their part of a square lies on that side."""
MOST_PARTS = 8
"""Most actions that a node is divided among."""
SMALL = 17.0
"""Points of a divided node below which its name cannot be read on it."""
FINEST = 2000
"""Most columns of a picture of numbers by action and state."""
HALO: list[AbstractPathEffect] = [withStroke(linewidth=1.6, foreground="white")]


def draw_world(
    world: World, ax: Axes | None = None, *, action: Any = None, labels: bool | None = None, bar: bool = True
) -> Axes:
    """Draw any world: a maze with its walls, a grid of squares, a graph, or beyond 60 states a matrix.

    Where episodes begin is outlined in blue, where they end twice. Arrows are the darker the more probable.

    Parameters
    ----------
    world : the world.
    ax : where to draw; a new figure if left out.
    action : draw the transitions of this action alone; by default a graph has those of all actions, each as probable as
        the action that makes it most likely makes it, and rooms and squares have none.
    labels : whether to write the names of states; by default in graphs, and in squares if they were given.
    bar : whether to draw a colour bar.
    """
    return draw_plain(map_of(world, action), ax, labels, bar, action is not None)


def draw_plain(
    drawn: Map,
    ax: Axes | None = None,
    labels: bool | None = None,
    bar: bool = True,
    action: bool = False,
    faded: bool = False,
) -> Axes:
    """A map without colours; `action` if it has the transitions of one, `faded` if something goes over its arrows."""
    check_flag("bar", bar, optional=False)
    with mpl.rc_context(RC):
        ax = prepare_axes(ax, drawn, bar and (drawn.kind in ("graph", "matrix") or action))
        scale = draw_background(ax, drawn, action, faded and drawn.kind == "graph")
        if drawn.kind != "matrix":
            draw_states(ax, drawn)
            _draw_marks(ax, drawn)
            _write(ax, drawn, labels)
        if bar and scale is not None:
            draw_colour_bar(ax, drawn, scale, "probability of the transition")
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
    """Draw states coloured by a quantity of a model (`berlyne.figures.state_quantities`).

    world : where the states lie; without it they lie where the prior expects them, with the transitions observed.
    rows : whether each action has a part of its own: in a room the side that it pushes to, in a square the side that it
        is named after, in a node a slice, clockwise from the top, action 0 first.
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
    """The same of an explorer, with the state that it was last led to."""
    model = explorer.model
    drawn = _map(model, world)
    found = align_to_world(world, model, explorer_quantity(explorer, what, world, rows))
    ax, _ = draw_shaded(drawn, found, ax, labels, bar)
    if explorer.here is not None:
        here = model.state_labels.number(explorer.here)
        s = here if world is None else int(np.argmax(match_states(world, model) == here))
        draw_agent(ax, drawn, s, columns=True)
    return ax


def draw_shaded(
    drawn: Map, found: Quantity, ax: Axes | None = None, labels: bool | None = None, bar: bool = True
) -> tuple[Axes, ScalarMappable]:
    """A map coloured by a quantity; returns the axes and the coloured parts."""
    check_flag("bar", bar, optional=False)
    if found.values.ndim == 2 and drawn.kind != "matrix" and _parts(drawn, len(found.values)) is None:
        found = found.by_state()
    with mpl.rc_context(RC):
        ax = prepare_axes(ax, drawn, bar)
        draw_background(ax, drawn, shaded=True)
        coloured: ScalarMappable
        if drawn.kind == "matrix":
            coloured = _draw_columns(ax, drawn, found.values)
        else:
            coloured = draw_states(ax, drawn, found.values)
            _draw_marks(ax, drawn)
            _write(ax, drawn, labels, divided=drawn.kind == "graph" and found.values.ndim == 2)
        if bar:
            draw_colour_bar(ax, drawn, coloured, found.label)
    return ax, coloured


def draw_states(ax: Axes, drawn: Map, values: FloatArray | None = None) -> PolyCollection:
    """Squares or nodes, white or coloured; divided among actions if values are (M, N)."""
    outlines = [_outline(drawn, s) for s in range(drawn.n_states)]
    parts = None if values is None or values.ndim == 1 else _parts(drawn, len(values))
    polygons = outlines if parts is None else [drawn.places[s] + part for s in range(drawn.n_states) for part in parts]
    node = drawn.kind == "graph"
    style: Any = {"edgecolors": "none", "zorder": 3 if node else 1, "gid": "states"}
    if parts is not None:
        style |= {"edgecolors": "white", "linewidths": 0.5}
    found = PolyCollection(polygons, facecolors="white", cmap=SHADES, **style)
    if values is not None:
        found.set_array(values.T.ravel())
        found.set_clim(*colour_limits(values))
    ax.add_collection(found)
    if node:
        rims = PolyCollection(outlines, facecolors="none", edgecolors="black", linewidths=0.7, zorder=3.5, gid="rims")
        ax.add_collection(rims)
    return found


def colour_limits(values: FloatArray) -> tuple[float, float]:
    """The ends of a colour scale: zero and all numbers that are finite; 0 and 1 if there is none but zero."""
    there = values[np.isfinite(values)]
    low, high = float(there.min(initial=0.0)), float(there.max(initial=0.0))
    return low, high if high > low else 1.0


def draw_agent(ax: Axes, drawn: Map, s: int, columns: bool = False) -> Line2D:
    """Where the agent is: a dot in a room, a ring around a node, a line across a matrix, whose columns may be states.

    Returns what can be moved.
    """
    x, y = drawn.places[s].tolist()
    if drawn.kind == "matrix":
        return (ax.axvline if columns else ax.axhline)(s, color=AGENT, linewidth=0.8, gid="agent")
    if drawn.kind == "graph":
        size = 2 * 1.28 * drawn.radius * points_per_unit(ax, drawn)
        style: Any = {"markerfacecolor": "none", "markeredgecolor": AGENT, "markeredgewidth": 1.8}
        return ax.plot([x], [y], "o", markersize=size, zorder=6, gid="agent", **style)[0]
    size = min(9.0, 0.42 * points_per_unit(ax, drawn))
    style = {"markerfacecolor": AGENT, "markeredgecolor": "white", "markeredgewidth": 0.9}
    return ax.plot([x], [y], "o", markersize=size, zorder=8, gid="agent", **style)[0]


def _map(model: InternalModel, world: World | None) -> Map:
    """The map that a model is drawn on; refuses a world that has not the model's states and actions."""
    if world is not None:
        check_world(world)
    if world is None:
        return map_of_model(model)
    match_states(world, model), match_actions(world, model)
    return map_of(world)


def align_to_world(world: World | None, model: InternalModel, found: Quantity) -> Quantity:
    """A quantity in the order of a world's states; those not discovered have none, nor those where episodes end."""
    if world is None:
        return found
    values = found.values.copy()
    if not found.in_world_order:
        cells = match_states(world, model)
        values = values[..., cells] if values.ndim == 1 else values[np.ix_(match_actions(world, model), cells)]
        if isinstance(model.state_labels, DiscoveredLabels):
            values[..., cells == model.n_states - 1] = np.nan
    if len(world.terminal) and found.label:
        values[..., world.terminal] = np.nan
    return Quantity(values, found.label, in_world_order=True)


def _outline(drawn: Map, s: int, radius: float | None = None) -> FloatArray:
    """The corners of a square, or enough of them for a round node, (n, 2)."""
    radius = drawn.radius if radius is None else radius
    if drawn.kind == "graph":
        angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        return np.asarray(drawn.places[s] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return np.asarray(drawn.places[s] + radius * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]))


def _parts(drawn: Map, n_actions: int) -> list[FloatArray] | None:
    """The part of a state that belongs to each action, around its centre; None if it cannot be divided.

    Squares have triangles on the sides that actions are named after; nodes have slices, clockwise from the top.
    """
    if drawn.kind == "maze" and n_actions == 4:
        steps: list[Any] = [DIRECTIONS[name] for name in ("up", "down", "left", "right")]
    elif drawn.kind == "grid":
        steps = [DIRECTIONS.get(str(name).lower()) for name in drawn.actions.all]
    else:
        steps = [None]
    if None not in steps and len(set(steps)) == len(steps) == n_actions:
        corners = [np.array([[0, 0], [x + y, y + x], [x - y, y - x]]) * drawn.radius for x, y in steps]
        return [np.asarray(corner, dtype=float) for corner in corners]
    if drawn.kind != "graph" or n_actions > MOST_PARTS:
        return None
    slices = []
    for a in range(n_actions):
        angle = 2 * np.pi * (a + np.linspace(0, 1, 16)) / n_actions - np.pi / 2
        rim = drawn.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        slices.append(np.vstack([np.zeros((1, 2)), rim]) if n_actions > 1 else rim)
    return slices


def _draw_marks(ax: Axes, drawn: Map) -> None:
    """Where episodes begin and end."""
    for numbers, colour, gid in ((drawn.starts, BLUE, "starts"), (drawn.ends, "black", "ends")):
        inside = [_outline(drawn, s, 0.8 * drawn.radius) for s in numbers]
        style: Any = {"facecolors": "none", "edgecolors": colour, "zorder": 3.6, "gid": gid}
        ax.add_collection(PolyCollection(inside, linewidths=1.1 if gid == "starts" else 0.7, **style))


def _write(ax: Axes, drawn: Map, labels: bool | None, divided: bool = False) -> None:
    """Names of states: inside if they fit, else below, and shortened; of small nodes that are divided, further out."""
    check_flag("labels", labels)
    given = drawn.states.custom
    usual = drawn.kind == "graph" or (drawn.kind == "grid" and given is not None and isinstance(given[0], str))
    if not (usual if labels is None else labels):
        return
    unit = points_per_unit(ax, drawn)
    names = [short_label(drawn.states, s) for s in range(drawn.n_states)]
    inside = 2 * drawn.radius * unit
    size = min(7.5, 0.62 * inside, 0.88 * inside / (0.58 * max(map(len, names))))
    below = size < 4.2
    if below:
        across = unit * (1.0 if drawn.kind != "graph" else 3.4 * drawn.radius)
        size = float(np.clip(across / (0.58 * max(map(len, names))), 4.2, 6.5))
        fits = int(np.clip(1.3 * across / (0.58 * size), 3, MAX_LABEL_LENGTH))
        names = [short_label(drawn.states, s, fits) for s in range(drawn.n_states)]
    outside = divided and not below and inside < SMALL
    if outside:
        size = 6.0
        away = drawn.places - drawn.places.mean(axis=0)
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        where = drawn.places + away * (1.3 * drawn.radius + 0.4 * size * max(map(len, names)) / unit)
    for (x, y), name in zip((where if outside else drawn.places).tolist(), names, strict=True):
        y, va = (y + 1.15 * drawn.radius, "top") if below else (y, "center_baseline")
        text = ax.text(x, y, name, ha="center", va=va, fontsize=size, zorder=7, gid="labels", parse_math=False)
        if below or outside:
            text.set_path_effects(HALO)


def _draw_columns(ax: Axes, drawn: Map, values: FloatArray) -> ScalarMappable:
    """Numbers by action and state as an image; of very many states, means of neighbours."""
    table = np.atleast_2d(values)
    m, n = table.shape
    cells = min(n, FINEST)
    if cells < n:
        which = np.arange(n) * cells // n
        table = np.stack([np.bincount(which, line, cells) / np.bincount(which, minlength=cells) for line in table])
    image = ax.imshow(table, cmap=SHADES, aspect="auto", interpolation="nearest", extent=(-0.5, n - 0.5, m - 0.5, -0.5))
    image.set_gid("matrix")
    image.set_clim(*colour_limits(table))
    ax.set_xlabel("state")
    if values.ndim == 2 and m <= 12:
        ax.set_yticks(range(m), [short_label(drawn.actions, a) for a in range(m)], parse_math=False)
        ax.set_ylabel("action")
    else:
        ax.set_yticks([])
    return image


def draw_colour_bar(ax: Axes, drawn: Map, coloured: ScalarMappable, label: str, pad: float = 0.03) -> None:
    """A slim colour bar with its unit, at the side, or below a flat map."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    place: Any = {"location": "bottom", "shrink": 0.4} if is_wide(drawn) else {"shrink": 0.75}
    bar = figure.colorbar(coloured, ax=ax, aspect=20, pad=pad, **place)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2)
    bar.locator = MaxNLocator(4)
    bar.update_ticks()
    bar.set_label(label, parse_math=False)
