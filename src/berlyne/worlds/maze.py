"""Mazes: rooms, walls, transporters and noisy steps (paper, Sec. 2.4, Fig. 1).

The walls of a maze are a random spanning tree carved by depth-first search (reading R9).
Transporters sit on single faces of walls (R10). Actions push towards one of four directions.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from berlyne.priors import Dirichlet
from berlyne.priors.dirichlet import MIN_ALPHA
from berlyne.priors.pseudo_counts import draw_simplex
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
    """Draw a maze of `side * side` rooms with four actions: noisy pushes up, down, left and right.

    Paper: Sec. 2.4, Eq. 8 (`eq:shm`); readings R9 to R11. The defaults are the paper's. The walls are those of a
    perfect maze. An agent that walks into a wall stays, and one that walks into a transporter goes to the base room.
    Action a is biased towards direction a. Explorers know which rooms are one step away, but not the direction of each
    action.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Source of the random numbers.
    side : int
        Number of rooms along each edge.
    n_transporters : int
        Number of transporters among the `2 side^2 + 2` wall faces.
    alpha : float
        Concentration of the Dirichlet distribution of each row.
    law : {"outcomes", "directions"}
        "outcomes" draws a probability for each distinct next room; the room in the action's own direction gets the
        largest. "directions" draws a probability for each of the four directions; the action's own direction gets the
        largest, and probabilities of the same room are added (reading R11).

    Returns
    -------
    World
        The maze, with a Dirichlet prior over the rooms that are one step away.
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
    """Create a world with these walls; `rng` draws the probabilities of its noisy pushes."""
    _check_law(law)
    support, own = _distinct_outcomes(geometry.destination)
    draw = _draw_outcomes if law == "outcomes" else _draw_directions
    assert support.indptr is not None and support.indices is not None
    data = draw(support, own, geometry.destination, alpha, rng)
    rows = Rows(4, support.n_states, support.indptr, support.indices, data)
    return World(rows, Dirichlet(alpha, support), name="Maze", positions=geometry)


def _build(side: int, n_transporters: int, rng: np.random.Generator) -> Geometry:
    """Carve the passages, then place the transporters and the base."""
    from berlyne.worlds.maze_generator import carve  # imported here, so that `import berlyne` does not import Numba

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
    """Return the room that a push in each direction leads to, `(N, 4)`.

    Raises
    ------
    ValueError
        If a passage leads out of the maze or through a transporter.
    """
    neighbour = _neighbours(side)
    if np.any(passages & (neighbour < 0)) or np.any(passages & transporters):
        raise ValueError("a passage leads out of the maze, or through a transporter")
    room = np.arange(side * side, dtype=np.int32)[:, None]
    return np.where(passages, neighbour, np.where(transporters, np.int32(base), room)).astype(np.int32)


def _neighbours(side: int) -> IndexArray:
    """Return the room above, below, left and right of each room, `(N, 4)`; -1 beyond the outer wall."""
    room = np.arange(side * side, dtype=np.int32).reshape(side, side)
    around = np.full((side, side, 4), -1, dtype=np.int32)
    around[1:, :, 0] = room[:-1]
    around[:-1, :, 1] = room[1:]
    around[:, 1:, 2] = room[:, :-1]
    around[:, :-1, 3] = room[:, 1:]
    return around.reshape(-1, 4)


def _distinct_outcomes(destination: IndexArray) -> tuple[Support, IndexArray]:
    """Return the support of every row, and the index of each action's own outcome in it, `(N, 4)`."""
    n_rooms = len(destination)
    ordered = np.sort(destination, axis=1)
    new = np.ones_like(ordered, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    index = np.cumsum(new, axis=1) - 1
    size = index[:, -1] + 1
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
    """Draw Dir(alpha) over the distinct outcomes, with the largest for the action's own direction.

    The others stay in the order in which they were drawn, which is random.
    """
    rows = Dirichlet(alpha, support).sample(rng)
    start, size = rows.indptr[:-1], np.diff(rows.indptr)
    largest = start.copy()
    for j in range(1, 4):
        candidates = np.flatnonzero(size > j)
        larger = candidates[rows.data[start[candidates] + j] > rows.data[largest[candidates]]]
        largest[larger] = start[larger] + j
    own_entry, data = start + own.ravel(), rows.data.copy()
    data[own_entry], data[largest] = rows.data[largest], rows.data[own_entry]
    return data


def _draw_directions(
    support: Support, own: IndexArray, destination: IndexArray, alpha: float, rng: np.random.Generator
) -> FloatArray:
    """Draw Dir(alpha) over the four directions, with the largest for the action's own; add those of equal outcomes."""
    n_rows = destination.size
    drawn = draw_simplex(alpha, np.arange(n_rows + 1) * 4, rng).reshape(n_rows, 4)
    action = np.tile(np.arange(4), len(destination))
    largest = np.argmax(drawn, axis=1)
    row: IntArray = np.arange(n_rows)
    drawn[row, largest], drawn[row, action] = drawn[row, action], drawn[row, largest].copy()
    entry = np.asarray(support.indptr)[:-1, None] + np.repeat(own, 4, axis=0)
    return np.asarray(np.bincount(entry.ravel(), drawn.ravel(), int(support.sizes.sum())), dtype=np.float64)
