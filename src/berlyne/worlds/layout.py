"""Positions of states, for figures, for the web page and for Gymnasium.

The states of a maze lie in the centres of its rooms, and a user may set positions. Any other world is laid out once,
from its transitions alone: distances in the picture follow the lengths of the shortest paths (Gansner, Koren & North
2004, Graph drawing by stress majorization). x points to the right and y points down.
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
"""Largest number of states that are laid out as a graph. More states lie in lines, in the order of their numbers."""
MAX_DENSITY = 0.4
"""If a larger share of all pairs of states is connected, distances mean little, and states lie on a circle."""
MIN_DISTANCE = 0.6
"""Smallest distance of two states in a layout. States connected by a likely transition are about 1 apart."""
N_ROUNDS = 300
"""Largest number of iterations."""


MIN_LOCAL_SHARE = 0.85
"""A world on a lattice is a grid if at least this share of its transitions leads to a neighbouring square."""
MAX_MARK_LENGTH = 3
"""Largest number of characters of a mark."""
DIRECTIONS = {"up": (0, -1), "north": (0, -1), "right": (1, 0), "east": (1, 0)}
DIRECTIONS |= {"down": (0, 1), "south": (0, 1), "left": (-1, 0), "west": (-1, 0)}
"""Step to the right and down of the action labels that name a direction."""
SIDES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Steps up, down, left and right, in the order of `Geometry.passages`."""


@dataclass(frozen=True, eq=False)
class Geometry(FrozenArrays):
    """Rooms, walls and transporters of a maze. Room s lies in line `s // side`, column `s % side`.

    Parameters
    ----------
    side : int
        Number of rooms along each edge.
    passages : ndarray of bool, shape (N, 4)
        Whether there is a passage up, down, left and right out of each room.
    transporters : ndarray of bool, shape (N, 4)
        Whether the wall on that side of the room has a transporter.
    base : int
        Room that all transporters lead to.
    destination : ndarray of int, shape (N, 4)
        Room that a push in each direction leads to.
    """

    side: int
    passages: BoolArray
    transporters: BoolArray
    base: int
    destination: IndexArray


_POSITIONS: WeakKeyDictionary[World, FloatArray] = WeakKeyDictionary()


def places(world: World) -> FloatArray:
    """Return the positions of the states of any world; they are computed once per world.

    The positions are those set by the user, or the centres of the rooms of a maze. Other worlds are laid out by their
    transitions: neighbours are about 1 apart, and no two states are closer than 0.6. More than 60 states lie in lines,
    in the order of their numbers.

    Parameters
    ----------
    world : World
        Any world.

    Returns
    -------
    ndarray of shape (N, 2)
        x, to the right, and y, down, of each state; read-only.
    """
    if world.positions is not None:
        return world.positions
    if world not in _POSITIONS:
        positions = _layout(world)
        positions.flags.writeable = False
        _POSITIONS[world] = positions
    return _POSITIONS[world]


def is_grid(world: World) -> bool:
    """Return whether the states of a world are squares in rows and columns, and most transitions join neighbours.

    Its positions must be set.
    """
    if world.geometry is not None or world.positions is None or not _is_lattice(world.positions):
        return False
    rows, places = world.rows, world.positions
    pairs = np.unique(rows.row_numbers() // rows.n_actions * world.n_states + rows.indices.astype(np.int64))
    begin, end = np.divmod(pairs, world.n_states)
    moves = begin != end
    local = np.abs(places[begin[moves]] - places[end[moves]]).sum(axis=1) < 1.01
    return bool(len(local) and local.mean() >= MIN_LOCAL_SHARE)


def _is_lattice(positions: FloatArray) -> bool:
    """Return whether states lie in rows and columns at distance 1, with at least two of both."""
    steps = positions - positions.min(axis=0)
    return bool(np.all(np.abs(steps - np.round(steps)) < 1e-6) and np.all(np.ptp(positions, axis=0) > 0.5))


def grid_passages(world: World) -> BoolArray:
    """Return whether there is no wall above, below, to the left and to the right of each square of a grid, (N, 4).

    There is a wall if no transition leads across in either direction. Between two terminal states there is none,
    because no action is taken in either.
    """
    assert world.positions is not None
    cell = np.round(world.positions - world.positions.min(axis=0)).astype(np.int64)
    number = {(x, y): s for s, (x, y) in enumerate(cell.tolist())}
    rows, n = world.rows, world.n_states
    pairs = set(np.unique(rows.row_numbers() // rows.n_actions * n + rows.indices.astype(np.int64)).tolist())
    passages, terminal = np.zeros((n, 4), dtype=bool), set(world.terminal.tolist())
    for (x, y), s in number.items():
        for d, (dx, dy) in enumerate(SIDES):
            beside = number.get((x + dx, y + dy))
            if beside is not None:
                crossed = s * n + beside in pairs or beside * n + s in pairs
                passages[s, d] = crossed or (s in terminal and beside in terminal)
    return passages


def action_directions(world: World) -> list[tuple[int, int] | None]:
    """Return the step (x, y) of each action that is named after a direction, or that pushes in a maze; else None."""
    if world.geometry is not None and world.action_labels.custom is None and world.n_actions == 4:
        return list(SIDES)
    return [DIRECTIONS.get(label.lower()) if isinstance(label, str) else None for label in world.actions]


def parse_marks(labels: Labels, marks: Any) -> dict[int, str]:
    """Validate a mapping from states to short texts, and return it with numbers of states, ascending."""
    if marks is None:
        return {}
    if not isinstance(marks, Mapping):
        raise ValueError(f"marks is {marks!r:.60}; it must be a mapping from states to short texts")
    for state, mark in marks.items():
        if not isinstance(mark, str) or not 0 < len(mark) <= MAX_MARK_LENGTH:
            raise ValueError(
                f"the mark of state {state!r} is {mark!r:.60}; it must be a text of 1 to {MAX_MARK_LENGTH} characters"
            )
    numbered = {labels.number(state, "a state of marks"): mark for state, mark in marks.items()}
    return dict(sorted(numbered.items()))


def parse_positions(labels: Labels, positions: Any) -> FloatArray | None:
    """Validate positions in any supported form.

    Parameters
    ----------
    labels : Labels
        Labels of the states.
    positions : mapping, array of shape (N, 2), Geometry or None
        Pairs (x, y) by state or in the order of the states, or the geometry of a maze.

    Returns
    -------
    ndarray of shape (N, 2) or None
        Positions, read-only; None if there are none.
    """
    if positions is None:
        return None
    if isinstance(positions, Geometry):
        side = positions.side
        if side**2 != labels.size:
            raise ValueError(f"the maze has {side**2} rooms and the world {labels.size} states; they must agree")
        line, column = np.divmod(np.arange(labels.size), side)
        array = np.stack([column + 0.5, line + 0.5], axis=1)
    else:
        array = _as_array(labels, positions)
    array.flags.writeable = False
    return array


def _as_array(labels: Labels, pairs: Any) -> FloatArray:
    """Validate pairs (x, y): finite, one for every state, and no two equal."""
    rows = _pairs_in_order(labels, pairs) if isinstance(pairs, Mapping) else pairs
    try:
        positions = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        positions = np.empty(0)
    if positions.shape != (labels.size, 2):
        problem = f"have shape {positions.shape}" if positions.size else "are not pairs (x, y)"
        raise ValueError(
            f"positions {problem}; they must be ({labels.size}, 2), one pair (x, y) for every state, "
            "or a mapping from states to pairs"
        )
    wrong = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if len(wrong):
        s = int(wrong[0])
        raise ValueError(f"the position of state {labels[s]!r} is {tuple(positions[s].tolist())}; it must be finite")
    _, first, inverse = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse.ravel()] != np.arange(labels.size))
    if len(repeated):
        s = int(repeated[0])
        raise ValueError(
            f"the states {labels[int(first[inverse.ravel()[s]])]!r} and {labels[s]!r} both lie at "
            f"{tuple(positions[s].tolist())}; every state needs a different position"
        )
    return positions


def _pairs_in_order(labels: Labels, pairs: Mapping[Any, Any]) -> list[Any]:
    """Return the pairs of a mapping from states, in the order of the states."""
    rows: list[Any] = [None] * labels.size
    for state, pair in pairs.items():
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(pair := list(pair)) != 2:
            raise ValueError(f"the position of state {state!r} is {pairs[state]!r}; it must be a pair (x, y)")
        rows[labels.number(state, "a state of positions")] = pair
    missing = [s for s, pair in enumerate(rows) if pair is None]
    if missing:
        raise ValueError(f"positions do not contain state {labels[missing[0]]!r}; every state needs a pair (x, y)")
    return rows


def _layout(world: World) -> FloatArray:
    """Lay out the states by their transitions, (N, 2)."""
    n = world.n_states
    if n > MAX_LAYOUT_STATES:
        line, column = np.divmod(np.arange(n), int(np.ceil(np.sqrt(n))))
        return np.stack([column, line], axis=1).astype(np.float64)
    closeness = _closeness(world)
    density = np.count_nonzero(closeness) / max(n * (n - 1), 1)
    if n < 3 or density > MAX_DENSITY or not np.any(closeness):
        return _circle(n)
    positions = _minimize_stress(_path_lengths(closeness))
    positions /= np.median(_distances(positions)[closeness > 0])
    return _push_apart(_rotate(positions))


def _closeness(world: World) -> FloatArray:
    """Return the largest probability of a transition between two states in either direction, by any action, (N, N)."""
    rows, n = world.rows, world.n_states
    closeness = np.zeros((n, n))
    np.maximum.at(closeness, (rows.row_numbers() // rows.n_actions, rows.indices), rows.data)
    np.fill_diagonal(closeness, 0.0)
    return np.maximum(closeness, closeness.T)


def _path_lengths(closeness: FloatArray) -> FloatArray:
    """Compute the lengths of the shortest paths, (N, N).

    An edge of probability 1 has length 1; less probable edges are longer. The distance of states without a path is 1
    more than the longest path.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    edges = np.where(closeness > 0, 1.0 - 0.5 * np.log10(np.where(closeness > 0, closeness, 1.0)), 0.0)
    lengths = np.asarray(shortest_path(csr_array(edges), directed=False))
    unconnected = np.isinf(lengths)
    lengths[unconnected] = 1.0 + lengths[~unconnected].max()
    return lengths


def _circle(n: int) -> FloatArray:
    """Place states on a circle, clockwise from the top, neighbours 1 apart."""
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    angle, radius = 2 * np.pi * np.arange(n) / n, 0.5 / np.sin(np.pi / n)
    return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)


def _distances(positions: FloatArray) -> FloatArray:
    """Compute the Euclidean distances, (N, N)."""
    return np.asarray(np.linalg.norm(positions[:, None] - positions[None], axis=2))


def _minimize_stress(lengths: FloatArray) -> FloatArray:
    """Find positions whose distances approximate `lengths`, by stress majorization.

    It runs twice, from classical scaling and from a circle. The result with less stress is returned.
    """
    n = len(lengths)
    initial = (_classical_scaling(lengths) + 0.005 * _nudge(n), _circle(n) * lengths.max() / n + 0.005 * _nudge(n))
    layouts = [_majorize(lengths, positions) for positions in initial]
    return min(layouts, key=lambda positions: _stress(lengths, positions))


def _nudge(n: int) -> FloatArray:
    """Return a small step for each state, in different directions, to separate states that symmetry puts together."""
    angle = 2.4 * np.arange(n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _classical_scaling(lengths: FloatArray) -> FloatArray:
    """Compute classical scaling: the two leading axes of the centred squared distances."""
    centre = np.eye(len(lengths)) - 1.0 / len(lengths)
    values, vectors = np.linalg.eigh(-0.5 * centre @ lengths**2 @ centre)
    return np.asarray(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))


def _weights(lengths: FloatArray) -> FloatArray:
    """Compute the weight of each pair in the stress, d^-2: near states matter most."""
    weights = (lengths + np.eye(len(lengths))) ** -2.0
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)


def _stress(lengths: FloatArray, positions: FloatArray) -> float:
    """Compute the squared errors of the distances, relative to the lengths, summed over ordered pairs."""
    return float(np.sum(_weights(lengths) * (_distances(positions) - lengths) ** 2))


def _majorize(lengths: FloatArray, positions: FloatArray) -> FloatArray:
    """Iterate the Guttman transform; no iteration increases the stress."""
    weights = _weights(lengths)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    target = weights * lengths
    for _ in range(N_ROUNDS):
        distance = _distances(positions)
        pull = -np.divide(target, distance, out=np.zeros_like(target), where=distance > 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ (pull @ positions)
        converged = np.abs(moved - positions).max() < 1e-4
        positions = moved
        if converged:
            break
    return np.asarray(positions - positions.mean(axis=0))


def _rotate(positions: FloatArray) -> FloatArray:
    """Rotate and mirror a layout: widest from left to right, first state to the left of and above the centre."""
    centred = positions - positions.mean(axis=0)
    rotated = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    return np.asarray(rotated * np.where(rotated[0] > 0, -1.0, 1.0))


def _push_apart(positions: FloatArray) -> FloatArray:
    """Move states apart until no two are closer than `MIN_DISTANCE`; if that fails, scale the whole layout."""
    positions = positions + 1e-6 * _nudge(len(positions))
    for _ in range(N_ROUNDS):
        distance = _distances(positions) + 9.0 * np.eye(len(positions))
        close = distance < MIN_DISTANCE * (1 - 1e-9)
        if not close.any():
            return positions
        away = (positions[:, None] - positions[None]) / np.maximum(distance, 1e-9)[..., None]
        step = np.where(close, 0.51 * (MIN_DISTANCE - distance), 0.0)
        positions = positions + np.sum(0.5 * step[..., None] * away, axis=1)
    return np.asarray(positions * (MIN_DISTANCE / distance.min()))
