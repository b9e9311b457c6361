"""Where states lie: the one place that knows, for figures, for the page and for Gymnasium.

A maze has rooms, and a user may give positions. Any other world is laid out once, from its transitions alone: distances
in the picture follow the lengths of the shortest paths (Gansner, Koren & North 2004, Graph drawing by stress
majorization). x points to the right and y down, as lines of rooms are numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.frozen import FrozenArrays
from berlyne.labels import Labels
from berlyne.validation import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from berlyne.worlds.world import World

MAX_LAYOUT_STATES = 60
"""Worlds of more states are no graph to look at; their states lie in lines, in the order of their numbers."""
CROWDED = 0.4
"""If more of all pairs of states are joined than this, their distances say nothing, and a circle shows as much."""
MIN_DISTANCE = 0.6
"""No two states that are laid out lie closer; states one likely transition apart are about 1 apart."""
N_ROUNDS = 300


@dataclass(frozen=True, eq=False)
class Geometry(FrozenArrays):
    """Where things are in a maze. Room s lies in line `s // side`, column `s % side`.

    passages : (N, 4) bool, whether one can walk up, down, left, right out of a room.
    transporters : (N, 4) bool, whether the wall on that side carries a transporter.
    base : the room all transporters lead to.
    destination : (N, 4), the room that a push in each direction leads to.
    """

    side: int
    passages: BoolArray
    transporters: BoolArray
    base: int
    destination: IndexArray


_PLACES: WeakKeyDictionary[World, FloatArray] = WeakKeyDictionary()


def places(world: World) -> FloatArray:
    """Where the states of any world lie, (N, 2): x to the right, y down; worked out once per world, read-only.

    The positions given to the world; the centres of the rooms of a maze; otherwise a layout of its transitions, in
    which neighbours are about 1 apart and no two states closer than 0.6; of more than 60 states, lines in the order of
    their numbers.
    """
    if world.positions is not None:
        return world.positions
    if world not in _PLACES:
        found = _laid_out(world)
        found.flags.writeable = False
        _PLACES[world] = found
    return _PLACES[world]


def parse_positions(labels: Labels, given: Any) -> FloatArray | None:
    """Positions in any form that a user may give them, (N, 2), read-only; None for none.

    given : a mapping from states to (x, y), an array (N, 2), a `Geometry` or None.
    """
    if given is None:
        return None
    if isinstance(given, Geometry):
        if given.side**2 != labels.size:
            raise ValueError(f"the maze has {given.side**2} rooms and the world {labels.size} states; they must agree")
        line, column = np.divmod(np.arange(labels.size), given.side)
        positions = np.stack([column + 0.5, line + 0.5], axis=1)
    else:
        positions = _as_array(labels, given)
    positions.flags.writeable = False
    return positions


def _as_array(labels: Labels, given: Any) -> FloatArray:
    rows = _of_mapping(labels, given) if isinstance(given, Mapping) else given
    try:
        positions = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        positions = np.empty(0)
    if positions.shape != (labels.size, 2):
        said = f"have shape {positions.shape}" if positions.size else "are no pairs (x, y)"
        raise ValueError(
            f"positions {said}; they must be ({labels.size}, 2), one pair (x, y) for every state, "
            "or a mapping from states to pairs"
        )
    wrong = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if len(wrong):
        s = int(wrong[0])
        raise ValueError(f"the position of state {labels[s]!r} is {tuple(positions[s].tolist())}; it must be finite")
    _, first, which = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[which.ravel()] != np.arange(labels.size))
    if len(again):
        s = int(again[0])
        raise ValueError(
            f"the states {labels[int(first[which.ravel()[s]])]!r} and {labels[s]!r} both lie at "
            f"{tuple(positions[s].tolist())}; every state needs a place of its own"
        )
    return positions


def _of_mapping(labels: Labels, given: Mapping[Any, Any]) -> list[Any]:
    """The pairs of a mapping from states, in the order of the states."""
    rows: list[Any] = [None] * labels.size
    for state, pair in given.items():
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(pair := list(pair)) != 2:
            raise ValueError(f"the position of state {state!r} is {given[state]!r}; it must be a pair (x, y)")
        rows[labels.number(state, "a state of positions")] = pair
    lacking = [s for s, pair in enumerate(rows) if pair is None]
    if lacking:
        raise ValueError(f"positions say nothing of state {labels[lacking[0]]!r}; every state needs a pair (x, y)")
    return rows


def _laid_out(world: World) -> FloatArray:
    n = world.n_states
    if n > MAX_LAYOUT_STATES:
        line, column = np.divmod(np.arange(n), int(np.ceil(np.sqrt(n))))
        return np.stack([column, line], axis=1).astype(np.float64)
    near = _nearness(world)
    joined = np.count_nonzero(near) / max(n * (n - 1), 1)
    if n < 3 or joined > CROWDED or not np.any(near):
        return _circle(n)
    found = _stretched(_lengths(near))
    found /= np.median(_apart(found)[near > 0])
    return _push_apart(_turned(found))


def _nearness(world: World) -> FloatArray:
    """(N, N), symmetric: the largest probability of a transition between two states, either way, by any action."""
    rows, n = world.rows, world.n_states
    near = np.zeros((n, n))
    np.maximum.at(near, (rows.row_numbers() // rows.n_actions, rows.indices), rows.data)
    np.fill_diagonal(near, 0.0)
    return np.maximum(near, near.T)


def _lengths(near: FloatArray) -> FloatArray:
    """(N, N), lengths of shortest paths; an edge is 1 long if it is sure, and longer the less probable it is.

    What no path joins is further apart than all that is joined.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    edges = np.where(near > 0, 1.0 - 0.5 * np.log10(np.where(near > 0, near, 1.0)), 0.0)
    lengths = np.asarray(shortest_path(csr_array(edges), directed=False))
    apart = np.isinf(lengths)
    lengths[apart] = 1.0 + lengths[~apart].max()
    return lengths


def _circle(n: int) -> FloatArray:
    """States clockwise from the top, neighbours 1 apart."""
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    angle, radius = 2 * np.pi * np.arange(n) / n, 0.5 / np.sin(np.pi / n)
    return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)


def _apart(places: FloatArray) -> FloatArray:
    """(N, N), Euclidean distances."""
    return np.asarray(np.linalg.norm(places[:, None] - places[None], axis=2))


def _stretched(lengths: FloatArray) -> FloatArray:
    """Places whose distances are as near to `lengths` as two rounds of majorisation bring them.

    One begins with classical scaling, one with a circle; the one with less stress is taken.
    """
    n = len(lengths)
    begins = (_scaled(lengths) + 0.005 * _nudge(n), _circle(n) * lengths.max() / n + 0.005 * _nudge(n))
    found = [_majorize(lengths, begin) for begin in begins]
    return min(found, key=lambda places: _stress(lengths, places))


def _nudge(n: int) -> FloatArray:
    """A small step for each state, in different directions: it parts what symmetry would leave in one place."""
    angle = 2.4 * np.arange(n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _scaled(lengths: FloatArray) -> FloatArray:
    """Classical scaling: the two leading axes of the centred squared distances."""
    centre = np.eye(len(lengths)) - 1.0 / len(lengths)
    values, vectors = np.linalg.eigh(-0.5 * centre @ lengths**2 @ centre)
    return np.asarray(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))


def _weights(lengths: FloatArray) -> FloatArray:
    """Of each pair in the stress, d^-2: near states matter most."""
    weights = (lengths + np.eye(len(lengths))) ** -2.0
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)


def _stress(lengths: FloatArray, places: FloatArray) -> float:
    """Squared errors of the distances, relative to the lengths, summed over ordered pairs."""
    return float(np.sum(_weights(lengths) * (_apart(places) - lengths) ** 2))


def _majorize(lengths: FloatArray, places: FloatArray) -> FloatArray:
    """Places after rounds of the Guttman transform, none of which raises the stress."""
    weights = _weights(lengths)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    wanted = weights * lengths
    for _ in range(N_ROUNDS):
        distance = _apart(places)
        pull = -np.divide(wanted, distance, out=np.zeros_like(wanted), where=distance > 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ (pull @ places)
        still = np.abs(moved - places).max() < 1e-4
        places = moved
        if still:
            break
    return np.asarray(places - places.mean(axis=0))


def _turned(places: FloatArray) -> FloatArray:
    """The same, widest from left to right, and the first state to the left and above the middle."""
    centred = places - places.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    return np.asarray(turned * np.where(turned[0] > 0, -1.0, 1.0))


def _push_apart(places: FloatArray) -> FloatArray:
    """The same, no two closer than `MIN_DISTANCE`: those that are part, or if they cannot, all move away from each other."""
    places = places + 1e-6 * _nudge(len(places))
    for _ in range(N_ROUNDS):
        distance = _apart(places) + 9.0 * np.eye(len(places))
        close = distance < MIN_DISTANCE * (1 - 1e-9)
        if not close.any():
            return places
        away = (places[:, None] - places[None]) / np.maximum(distance, 1e-9)[..., None]
        step = np.where(close, 0.51 * (MIN_DISTANCE - distance), 0.0)
        places = places + np.sum(0.5 * step[..., None] * away, axis=1)
    return np.asarray(places * (MIN_DISTANCE / distance.min()))
