"""Mazes: rooms, walls, transporters and noisy steps (paper, Sec. 2.4, Fig. 1).

The walls of a maze are a random spanning tree carved by depth-first search (reading R9).
Transporters sit on single faces of walls (R10). Actions push towards one of four directions.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from berlyne.priors import Dirichlet
from berlyne.priors.dirichlet import MIN_ALPHA, draw_simplex
from berlyne.sparse import Rows, Support
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray, Seed, check_count, check_number, generator
from berlyne.worlds.layout import Geometry
from berlyne.worlds.world import World

DIRECTIONS = ("up", "down", "left", "right")
Law = Literal["outcomes", "directions"]


def maze(
    seed: Seed,
    side: int = 6,
    n_transporters: int = 30,
    alpha: float = 0.25,
    *,
    law: Law = "outcomes",
) -> World:
    """A maze of `side * side` rooms with four actions, noisy pushes up, down, left and right.

    Paper: Sec. 2.4, Eq. 8 (`eq:shm`); the defaults are the paper's; readings R9 to R11. The walls are
    those of a perfect maze. Walking into a wall leaves the agent where it is, walking into
    a transporter takes it to the base room. Action a is biased towards direction a; explorers know
    which rooms are one step away but not which action is which direction.

    Parameters
    ----------
    seed : int, `SeedSequence` or `Generator`.
    side : rooms along each edge.
    n_transporters : how many of the `2 side^2 + 2` wall faces are transporters.
    alpha : concentration of the Dirichlet distribution of each row.
    law : "outcomes" draws a probability for each distinct next room and gives the largest to the
        action's own direction; "directions" draws one for each of the four directions, the largest
        for the action's own, and adds up those that lead to the same room (reading R11).
    """
    rng = generator(seed)
    side = check_count("side", side, 1)
    alpha = check_number("alpha", alpha, MIN_ALPHA, 1e12)
    _check_law(law)
    return world_from_geometry(_build(side, n_transporters, rng), alpha, law, rng)


def _check_law(law: Law) -> None:
    if law not in ("outcomes", "directions"):
        raise ValueError(f"law is {law!r}; it must be 'outcomes' or 'directions'")


def world_from_geometry(geometry: Geometry, alpha: float, law: Law, rng: np.random.Generator) -> World:
    """A world with these walls, the probabilities of its noisy pushes drawn by `rng`."""
    _check_law(law)
    support, own = _distinct(geometry.destination)
    draw = _draw_outcomes if law == "outcomes" else _draw_directions
    assert support.indptr is not None and support.indices is not None
    data = draw(support, own, geometry.destination, alpha, rng)
    rows = Rows(4, support.n_states, support.indptr, support.indices, data)
    return World(rows, Dirichlet(alpha, support), name="Maze", positions=geometry)


def _build(side: int, n_transporters: int, rng: np.random.Generator) -> Geometry:
    """Carve the passages, then place the transporters and the base."""
    from berlyne.worlds.maze_generator import carve  # here, so that `import berlyne` need not import Numba

    n_rooms = side * side
    neighbour = _neighbours(side)
    passages = carve(neighbour, int(rng.integers(n_rooms)), rng.random(n_rooms))
    walls = np.flatnonzero(~passages.ravel())
    if check_count("n_transporters", n_transporters, 0) > len(walls):
        raise ValueError(f"n_transporters is {n_transporters}; a maze of side {side} has only {len(walls)} wall faces")
    transporters = np.zeros((n_rooms, 4), dtype=bool)
    transporters.flat[rng.choice(walls, size=n_transporters, replace=False, shuffle=False)] = True
    base = int(rng.integers(n_rooms))
    return Geometry(side, passages, transporters, base, destinations(side, passages, transporters, base))


def destinations(side: int, passages: BoolArray, transporters: BoolArray, base: int) -> IndexArray:
    """`(N, 4)`: where a push in each direction leads. A passage must not lead out of the maze."""
    neighbour = _neighbours(side)
    if np.any(passages & (neighbour < 0)) or np.any(passages & transporters):
        raise ValueError("a passage leads out of the maze, or through a transporter")
    here = np.arange(side * side, dtype=np.int32)[:, None]
    return np.where(passages, neighbour, np.where(transporters, np.int32(base), here)).astype(np.int32)


def _neighbours(side: int) -> IndexArray:
    """`(N, 4)`: the room above, below, left and right; -1 beyond the outer wall."""
    room = np.arange(side * side, dtype=np.int32).reshape(side, side)
    around = np.full((side, side, 4), -1, dtype=np.int32)
    around[1:, :, 0] = room[:-1]
    around[:-1, :, 1] = room[1:]
    around[:, 1:, 2] = room[:, :-1]
    around[:, :-1, 3] = room[:, 1:]
    return around.reshape(-1, 4)


def _distinct(destination: IndexArray) -> tuple[Support, IndexArray]:
    """Support of every row, and the place of each action's own outcome within it, `(N, 4)`."""
    n_rooms = len(destination)
    ordered = np.sort(destination, axis=1)
    new = np.ones_like(ordered, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.cumsum(new, axis=1) - 1
    size = place[:, -1] + 1
    own = np.zeros_like(destination)
    for direction in range(4):
        below = new & (ordered < destination[:, direction, None])
        own[:, direction] = below.sum(axis=1)
    indices = np.repeat(ordered[:, None, :], 4, axis=1)[np.repeat(new[:, None, :], 4, axis=1)]
    indptr = np.concatenate([[0], np.cumsum(np.repeat(size, 4))]).astype(np.int64)
    return Support(4, n_rooms, indptr, indices), own


def _draw_outcomes(
    support: Support, own: IndexArray, destination: IndexArray, alpha: float, rng: np.random.Generator
) -> FloatArray:
    """Dir(alpha) over the distinct outcomes, the largest for the action's own direction.

    The others keep the order they were drawn in, which is random.
    """
    rows = Dirichlet(alpha, support).sample(rng)
    start, size, place = rows.indptr[:-1], np.diff(rows.indptr), own.ravel()
    largest = start.copy()
    for j in range(1, 4):
        inside = np.flatnonzero(size > j)
        better = inside[rows.data[start[inside] + j] > rows.data[largest[inside]]]
        largest[better] = start[better] + j
    mine, data = start + place, rows.data.copy()
    data[mine], data[largest] = rows.data[largest], rows.data[mine]
    return data


def _draw_directions(
    support: Support, own: IndexArray, destination: IndexArray, alpha: float, rng: np.random.Generator
) -> FloatArray:
    """Dir(alpha) over the four directions, the largest for the action's own; equal outcomes add up."""
    n_rows = destination.size
    drawn = draw_simplex(alpha, np.arange(n_rows + 1) * 4, rng).reshape(n_rows, 4)
    action = np.tile(np.arange(4), len(destination))
    largest = np.argmax(drawn, axis=1)
    row: IntArray = np.arange(n_rows)
    drawn[row, largest], drawn[row, action] = drawn[row, action], drawn[row, largest].copy()
    entry = np.asarray(support.indptr)[:-1, None] + np.repeat(own, 4, axis=0)
    return np.asarray(np.bincount(entry.ravel(), drawn.ravel(), int(support.sizes.sum())), dtype=np.float64)
