"""Any world, or what a model knows of one, as a map: rooms, squares, nodes, or a matrix if there are too many.

A maze has rooms; a world whose states lie in lines and columns, with transitions between neighbours, has squares; any
other world is a graph. Beyond 60 states a graph cannot be read, and its transitions are a matrix.
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
from berlyne.worlds.layout import MAX_LAYOUT_STATES

MOST_NODES = MAX_LAYOUT_STATES
"""Most states that are drawn as a graph."""
MOST_EACH = 10
"""If states of a graph have more transitions than this on average, only the likeliest of each are drawn."""
FEW_ARROWS = 160
"""How many are drawn then, about; at least two of each state."""
LOCAL = 0.85
"""Squares are drawn if at least so many of all transitions lead to the square beside, above or below."""
Kind = Literal["maze", "grid", "graph", "matrix"]
MAX_LABEL_LENGTH = 12
"""Most characters of a label in a picture."""


@dataclass(frozen=True, eq=False)
class Map:
    """All that is needed to draw states and what leads from one to another.

    kind : "maze", "grid", "graph" or "matrix".
    places : (N, 2), where states lie; x to the right, y down.
    states, actions : their labels.
    begin, end, p : (E,), transitions and how probable they are by the action that makes them most likely.
    starts, ends : where episodes begin, if that is at most half (rounded up) of the states where none end, and where
        they end.
    geometry : of a maze.
    joined : pairs (s, s_next) of all transitions by any action, those between squares that have no wall between them.
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
        """N."""
        return len(self.places)

    @cached_property
    def radius(self) -> float:
        """Half the side of a square, or the radius of a node, so that no two touch."""
        if self.kind in ("maze", "grid"):
            return 0.5
        if self.n_states == 1:
            return 0.25
        nearest = np.sort(np.linalg.norm(self.places[:, None] - self.places[None], axis=2), axis=1)[:, 1]
        share = 0.33 if self.n_states <= 12 else 0.28
        return float(min(share * np.median(nearest), 0.42 * nearest.min()))

    @cached_property
    def frame(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom of what is drawn, in the units of `places`."""
        room = 0.05 + self.radius if self.kind in ("maze", "grid") else 1.6 * self.radius
        corners = [self.places.min(axis=0) - room, self.places.max(axis=0) + room]
        if self.kind == "graph":
            pairs = zip(
                self.begin[self.drawn_transitions].tolist(), self.end[self.drawn_transitions].tolist(), strict=True
            )
            points = [self.arrow(s, z, 1.0).extent() for s, z in pairs]
            corners += [point + sign * 0.2 * room for point in np.reshape(points, (-1, 2)) for sign in (-1, 1)]
        (left, top), (right, bottom) = np.min(corners, axis=0), np.max(corners, axis=0)
        return float(left), float(right), float(top), float(bottom)

    @cached_property
    def arrows_per_state(self) -> int | None:
        """How many transitions of each state are drawn, the most probable; None for all."""
        few = max(2, FEW_ARROWS // self.n_states)
        many = len(self.p) > MOST_EACH * self.n_states and np.bincount(self.begin).max() > few
        return few if self.kind == "graph" and many else None

    @cached_property
    def drawn_transitions(self) -> IntArray:
        """Numbers of the transitions that are drawn, the most probable last: all, or as many as one can follow."""
        order = np.argsort(self.p, kind="stable")
        if self.arrows_per_state is None:
            return order
        by_state = order[np.argsort(self.begin[order], kind="stable")]
        size = np.bincount(self.begin, minlength=self.n_states)
        left = np.repeat(np.cumsum(size), size) - np.arange(len(by_state))  # 1 for the most probable of its state
        kept = np.isin(order, by_state[left <= self.arrows_per_state])
        return order[kept]

    def arrow(self, s: int, z: int, p: float, head: float | None = None) -> Arrow:
        """The arrow from one node to another, or out of one and back."""
        if s == z:
            return loop_arrow(self.places[s], self.radius, p, self._side(s), 0.55, head)
        begin, end = self.places[s], self.places[z]
        if (s, z) not in self._bends:
            self._bends[s, z] = float(choose_bends(self.places, np.array([s]), np.array([z]), self.radius)[0])
        return curved_arrow(begin, end, self.radius, p, self._bends[s, z], head)

    @cached_property
    def _bends(self) -> dict[tuple[int, int], float]:
        """Of all arrows, found together, and of those asked for since."""
        moves = self.drawn_transitions[self.begin[self.drawn_transitions] != self.end[self.drawn_transitions]]
        begin, end = self.begin[moves], self.end[moves]
        bends = choose_bends(self.places, begin, end, self.radius)
        return dict(zip(zip(begin.tolist(), end.tolist(), strict=True), bends.tolist(), strict=True))

    def _side(self, s: int) -> FloatArray:
        connected = np.zeros(self.n_states, dtype=bool)
        connected[self.end[self.begin == s]] = connected[self.begin[self.end == s]] = True
        return least_crowded_direction(self.places[s], np.delete(self.places, s, axis=0), np.delete(connected, s))

    def neighbours(self, one: Any, other: Any) -> Any:
        """Whether states lie side by side, or are the same, elementwise: a walk, not a jump."""
        apart = np.abs(self.places[one] - self.places[other]).sum(axis=-1)
        return apart < 1.01


def map_of(world: World, action: Any = None) -> Map:
    """The map of a world; `action` names the one whose transitions are drawn, None for all of them together."""
    a = None if action is None else world.action_labels.number(action, "action")
    begin, end, p = _merged(world, a)
    n, starts = world.n_states, np.flatnonzero(world.episodes.distribution).tolist()
    if n == 1 or 2 * len(starts) > n - len(world.terminal) + 1:
        starts = []
    labels = world.state_labels, world.action_labels
    where, (s, z, _) = places(world), (begin, end, p) if a is None else _merged(world, None)
    kind = _kind(world, where, s, z)
    connected = set(zip(s.tolist(), z.tolist(), strict=True)) if kind == "grid" else set()
    return Map(kind, where, *labels, begin, end, p, starts, world.terminal.tolist(), world.geometry, connected)


def map_of_model(model: InternalModel) -> Map:
    """The map of what a model has observed.

    States lie where they would in a world that is as the model expected before it had seen anything, so that they do
    not move while it learns. `p` is the share of the observations of a row.
    """
    n, counts = model.n_states, model.sparse_counts
    shares = counts.n / counts.totals[counts.row]
    begin, end, p = _largest(counts.row // counts.n_actions * n + counts.s_next, shares, n)
    labels = model.state_labels, model.action_labels
    where = places(_expected(model)) if n <= MOST_NODES else np.arange(2.0 * n).reshape(n, 2)
    return Map("graph" if n <= MOST_NODES else "matrix", where, *labels, begin, end, p)


_EXPECTED: dict[int, World] = {}
"""By the identity of a prior that is still there."""


def _expected(model: InternalModel) -> World:
    """A world as a model that has seen nothing expects it, kept as long as the prior is, and so are its places."""
    kept = _EXPECTED.get(id(model.prior))
    if kept is None or kept.n_states != model.n_states:
        blank = InternalModel(model.prior, n_states=model.n_states, n_actions=model.n_actions)
        kept = World(np.asarray(blank.theta_hat))
        try:
            finalize(model.prior, _EXPECTED.pop, id(model.prior), None)
        except TypeError:  # a prior of a user's own that has slots; it is laid out again each time
            return kept
        _EXPECTED[id(model.prior)] = kept
    return kept


def _merged(world: World, a: int | None) -> tuple[IntArray, IntArray, FloatArray]:
    """Transitions between different pairs of states, each with its largest probability under the actions drawn."""
    rows = world.rows
    s, by = np.divmod(rows.row_numbers(), rows.n_actions)
    drawn = slice(None) if a is None else by == a
    keys = s * world.n_states + rows.indices.astype(np.int64)
    return _largest(keys[drawn], rows.data[drawn], world.n_states)


def _largest(keys: IntArray, p: FloatArray, n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The largest p of every key s N + s_next: s, s_next and p, (E,) each."""
    distinct, which = np.unique(keys, return_inverse=True)
    largest = np.zeros(len(distinct))
    np.maximum.at(largest, which, p)
    return (*np.divmod(distinct, n), largest)


def _kind(world: World, where: FloatArray, begin: IntArray, end: IntArray) -> Kind:
    if world.geometry is not None:
        return "maze"
    if world.positions is not None and _is_lattice(where):
        moves = begin != end
        local = np.abs(where[begin[moves]] - where[end[moves]]).sum(axis=1) < 1.01
        if len(local) and local.mean() >= LOCAL:
            return "grid"
    return "graph" if world.n_states <= MOST_NODES else "matrix"


def _is_lattice(where: FloatArray) -> bool:
    """Whether states lie in whole lines and columns, several of both."""
    steps = where - where.min(axis=0)
    return bool(np.all(np.abs(steps - np.round(steps)) < 1e-6) and np.all(np.ptp(where, axis=0) > 0.5))


def prepare_axes(ax: Axes | None, drawn: Map, bar: bool = False) -> Axes:
    """Axes for a map, those of a new figure if none are given; `bar` leaves room for a colour bar."""
    check_axes(ax)
    left, right, top, bottom = drawn.frame
    wide, high = (7.0, 7.0) if drawn.kind == "matrix" else (right - left, bottom - top)
    if ax is None:
        inch = min(0.62 if drawn.kind != "graph" else 1.25, 6.4 / wide, 5.4 / high)
        below = bar and is_wide(drawn)
        size = (
            max(inch * wide, 1.6) + 0.8 * (bar and not below),
            max(inch * high, 1.9 if bar and not below else 0.6) + 0.6 * below,
        )
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    if drawn.kind != "matrix":
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.set_axis_off()
    return ax


def is_wide(drawn: Map) -> bool:
    """Whether a map is so much wider than high that a colour bar belongs below it."""
    left, right, top, bottom = drawn.frame
    return drawn.kind != "matrix" and right - left > 2.2 * (bottom - top)


def points_per_unit(ax: Axes, drawn: Map) -> float:
    """How many points of print one unit of `places` has."""
    left, right, top, bottom = drawn.frame
    box, figure = ax.get_position(original=True), ax.get_figure(root=True)
    assert figure is not None
    wide, high = figure.get_size_inches()
    return float(72 * min(box.width * wide / (right - left), box.height * high / (bottom - top)))


def short_label(labels: Labels, number: int, longest: int = MAX_LABEL_LENGTH) -> str:
    """What a state or an action is called in a picture, shortened if need be; numbers count from 0."""
    name = " ".join(str(labels[number]).split())
    return name if len(name) <= longest else f"{name[: max(longest - 1, 1)]}…"
