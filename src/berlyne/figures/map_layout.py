"""Lay out a world, or the observations of a model, as a map: rooms, squares, nodes, or a matrix.

A maze has rooms. A world whose states lie in rows and columns, with transitions mostly between neighbours, has squares.
Any other world is a graph. A graph of more than 60 states is unreadable, so its transitions are drawn as a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from weakref import finalize

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from berlyne.figures.arrows import Arrow, choose_bends, curved_arrow, least_crowded_direction, loop_arrow
from berlyne.figures.style import check_axes
from berlyne.labels import Labels
from berlyne.models.internal_model import InternalModel
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds import Geometry, World, places
from berlyne.worlds.layout import MAX_LAYOUT_STATES, is_grid

MAX_NODES = MAX_LAYOUT_STATES
"""Largest number of states that are drawn as a graph."""
MAX_MEAN_ARROWS = 10
"""If the states of a graph have more transitions than this on average, only the likeliest of each state are drawn."""
FEW_ARROWS = 160
"""Approximate number of arrows that are drawn in that case; each state has at least two."""
Kind = Literal["maze", "grid", "graph", "matrix"]
MAX_LABEL_LENGTH = 12
"""Largest number of characters of a label in a picture."""


@dataclass(frozen=True, eq=False)
class Map:
    """Positions of states and the transitions between them, ready to draw.

    Attributes
    ----------
    kind : {"maze", "grid", "graph", "matrix"}
        How the map is drawn.
    places : ndarray of shape (N, 2)
        Positions of the states; x points right, y points down.
    states, actions : Labels
        Labels of states and actions.
    begin, end : ndarray of int, shape (E,)
        State and next state of each transition.
    p : ndarray of shape (E,)
        Probability of each transition under the action that makes it most likely.
    starts : list of int
        Start states. Empty if episodes can begin in more than half (rounded up) of the states that are not terminal.
    ends : list of int
        Terminal states.
    geometry : Geometry or None
        Walls and transporters, if the world is a maze.
    connected : set of tuple of int
        Pairs (s, s_next) of all transitions under any action; there is no wall between these squares. Only for grids.
    """

    kind: Kind
    places: FloatArray
    states: Labels
    actions: Labels
    begin: IntArray
    end: IntArray
    p: FloatArray
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    geometry: Geometry | None = None
    connected: set[tuple[int, int]] = field(default_factory=set)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.places)

    @cached_property
    def radius(self) -> float:
        """Half the side of a square, or the radius of a node, chosen so that no two nodes touch."""
        if self.kind in ("maze", "grid"):
            return 0.5
        if self.n_states == 1:
            return 0.25
        nearest = np.sort(np.linalg.norm(self.places[:, None] - self.places[None], axis=2), axis=1)[:, 1]
        share = 0.33 if self.n_states <= 12 else 0.28
        return float(min(share * np.median(nearest), 0.42 * nearest.min()))

    @cached_property
    def frame(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom of the map, in the units of `places`."""
        margin = 0.05 + self.radius if self.kind in ("maze", "grid") else 1.6 * self.radius
        corners = [self.places.min(axis=0) - margin, self.places.max(axis=0) + margin]
        if self.kind == "graph":
            shown = self.drawn_transitions
            pairs = zip(self.begin[shown].tolist(), self.end[shown].tolist(), strict=True)
            points = [self.arrow(s, s_next, 1.0).extent() for s, s_next in pairs]
            corners += [point + sign * 0.2 * margin for point in np.reshape(points, (-1, 2)) for sign in (-1, 1)]
        (left, top), (right, bottom) = np.min(corners, axis=0), np.max(corners, axis=0)
        return float(left), float(right), float(top), float(bottom)

    @cached_property
    def arrows_per_state(self) -> int | None:
        """Number of transitions that are drawn from each state, the most probable ones; None for all."""
        few = max(2, FEW_ARROWS // self.n_states)
        many = len(self.p) > MAX_MEAN_ARROWS * self.n_states and np.bincount(self.begin).max() > few
        return few if self.kind == "graph" and many else None

    @cached_property
    def drawn_transitions(self) -> IntArray:
        """Indices of the transitions that are drawn, the most probable last; see `arrows_per_state`."""
        order = np.argsort(self.p, kind="stable")
        if self.arrows_per_state is None:
            return order
        by_state = order[np.argsort(self.begin[order], kind="stable")]
        size = np.bincount(self.begin, minlength=self.n_states)
        rank = np.repeat(np.cumsum(size), size) - np.arange(len(by_state))  # 1 for the most probable of its state
        return order[np.isin(order, by_state[rank <= self.arrows_per_state])]

    def arrow(self, s: int, s_next: int, p: float, head_size: float | None = None) -> Arrow:
        """Return the arrow from one node to another, or from a node to itself."""
        if s == s_next:
            return loop_arrow(self.places[s], self.radius, p, self._loop_direction(s), 0.55, head_size)
        begin, end = self.places[s], self.places[s_next]
        if (s, s_next) not in self._bends:
            self._bends[s, s_next] = float(choose_bends(self.places, np.array([s]), np.array([s_next]), self.radius)[0])
        return curved_arrow(begin, end, self.radius, p, self._bends[s, s_next], head_size)

    @cached_property
    def _bends(self) -> dict[tuple[int, int], float]:
        """Bends by (s, s_next): those of all drawn arrows, computed together, and later those of other arrows."""
        moves = self.drawn_transitions[self.begin[self.drawn_transitions] != self.end[self.drawn_transitions]]
        begin, end = self.begin[moves], self.end[moves]
        bends = choose_bends(self.places, begin, end, self.radius)
        return dict(zip(zip(begin.tolist(), end.tolist(), strict=True), bends.tolist(), strict=True))

    def _loop_direction(self, s: int) -> FloatArray:
        connected = np.zeros(self.n_states, dtype=bool)
        connected[self.end[self.begin == s]] = connected[self.begin[self.end == s]] = True
        return least_crowded_direction(self.places[s], np.delete(self.places, s, axis=0), np.delete(connected, s))

    def neighbours(self, s: Any, s_next: Any) -> Any:
        """Return elementwise whether states are the same or neighbouring squares, so that a step is not a jump."""
        return np.abs(self.places[s] - self.places[s_next]).sum(axis=-1) < 1.01


def map_of(world: World, action: Any = None) -> Map:
    """Return the map of a world, with the transitions of one action, or of all actions if `action` is None."""
    a = None if action is None else world.action_labels.number(action, "action")
    begin, end, p = _merged(world, a)
    n, starts = world.n_states, np.flatnonzero(world.episodes.distribution).tolist()
    if n == 1 or 2 * len(starts) > n - len(world.terminal) + 1:
        starts = []
    labels = world.state_labels, world.action_labels
    positions, (s, s_next, _) = places(world), (begin, end, p) if a is None else _merged(world, None)
    kind = _kind(world)
    connected = set(zip(s.tolist(), s_next.tolist(), strict=True)) if kind == "grid" else set()
    return Map(kind, positions, *labels, begin, end, p, starts, world.terminal.tolist(), world.geometry, connected)


def map_of_model(model: InternalModel) -> Map:
    """Return the map of the transitions that a model has observed.

    The layout is that of the world which the prior expects, so that states do not move while the model learns. `p` is
    the share of a transition in the observations of its row.
    """
    n, counts = model.n_states, model.sparse_counts
    shares = counts.n / counts.totals[counts.row]
    begin, end, p = _largest(counts.row // counts.n_actions * n + counts.s_next, shares, n)
    labels = model.state_labels, model.action_labels
    positions = places(_expected_world(model)) if n <= MAX_NODES else np.arange(2.0 * n).reshape(n, 2)
    return Map("graph" if n <= MAX_NODES else "matrix", positions, *labels, begin, end, p)


_EXPECTED_WORLDS: dict[int, World] = {}
"""Expected worlds by the `id` of their prior; an entry is removed when the prior is garbage-collected."""


def _expected_world(model: InternalModel) -> World:
    """Return the world that a model without data expects; it is cached with its layout while the prior exists."""
    world = _EXPECTED_WORLDS.get(id(model.prior))
    if world is None or world.n_states != model.n_states:
        blank = InternalModel(model.prior, n_states=model.n_states, n_actions=model.n_actions)
        world = World(np.asarray(blank.theta_hat))
        try:
            finalize(model.prior, _EXPECTED_WORLDS.pop, id(model.prior), None)
        except TypeError:  # a custom prior with __slots__ has no weak references; it is laid out each time
            return world
        _EXPECTED_WORLDS[id(model.prior)] = world
    return world


def _merged(world: World, a: int | None) -> tuple[IntArray, IntArray, FloatArray]:
    """Return s, s_next and p of all transitions, with the largest p under any action, or p under action `a`."""
    rows = world.rows
    s, action = np.divmod(rows.row_numbers(), rows.n_actions)
    selected = slice(None) if a is None else action == a
    keys = s * world.n_states + rows.indices.astype(np.int64)
    return _largest(keys[selected], rows.data[selected], world.n_states)


def _largest(keys: IntArray, p: FloatArray, n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return s, s_next and the largest p of every key s N + s_next, each of shape (E,)."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    largest = np.zeros(len(distinct))
    np.maximum.at(largest, inverse, p)
    return (*np.divmod(distinct, n), largest)


def _kind(world: World) -> Kind:
    if world.geometry is not None:
        return "maze"
    if is_grid(world):
        return "grid"
    return "graph" if world.n_states <= MAX_NODES else "matrix"


def prepare_axes(ax: Axes | None, world_map: Map, bar: bool = False) -> Axes:
    """Return axes for a map, of a new figure if `ax` is None; `bar` leaves room for a colour bar."""
    check_axes(ax)
    left, right, top, bottom = world_map.frame
    width, height = (7.0, 7.0) if world_map.kind == "matrix" else (right - left, bottom - top)
    if ax is None:
        inch = min(0.62 if world_map.kind != "graph" else 1.25, 6.4 / width, 5.4 / height)
        below = bar and is_wide(world_map)
        size = (
            max(inch * width, 1.6) + 0.8 * (bar and not below),
            max(inch * height, 1.9 if bar and not below else 0.6) + 0.6 * below,
        )
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    if world_map.kind != "matrix":
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set_axis_off()
    return ax


def is_wide(world_map: Map) -> bool:
    """Return whether a map is so wide that its colour bar belongs below it."""
    left, right, top, bottom = world_map.frame
    return world_map.kind != "matrix" and right - left > 2.2 * (bottom - top)


def points_per_unit(ax: Axes, world_map: Map) -> float:
    """Return the size of one unit of `places`, in typographic points."""
    left, right, top, bottom = world_map.frame
    box, figure = ax.get_position(original=True), ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    return float(72 * min(box.width * width / (right - left), box.height * height / (bottom - top)))


def short_label(labels: Labels, index: int, max_length: int = MAX_LABEL_LENGTH) -> str:
    """Return the label of a state or an action, shortened to `max_length`; without labels, the index."""
    name = " ".join(str(labels[index]).split())
    return name if len(name) <= max_length else f"{name[: max(max_length - 1, 1)]}…"
