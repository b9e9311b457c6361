"""Generate a perfect maze by randomized depth-first search (reading R9)."""

from __future__ import annotations

import numpy as np

from berlyne.engine.jit import kernel
from berlyne.validation import BoolArray, FloatArray, IndexArray


def carve(neighbour: IndexArray, first: int, u: FloatArray) -> BoolArray:
    """Carve the passages of a random spanning tree of the rooms.

    From the current room, step to an unvisited neighbour chosen uniformly, or back if there is none.

    Parameters
    ----------
    neighbour : ndarray of shape (N, 4)
        Room in each direction, -1 for none. Directions 0 and 1 are opposite, and so are 2 and 3.
    first : int
        Room to begin in.
    u : ndarray of shape (N,)
        One uniform number for each step to a new room.

    Returns
    -------
    ndarray of bool, shape (N, 4)
        Whether there is a passage in each direction.
    """
    n_rooms = len(neighbour)
    passages, visited = np.zeros((n_rooms, 4), dtype=bool), np.zeros(n_rooms, dtype=bool)
    _carve(neighbour, u, passages, visited, np.full(n_rooms, first, dtype=np.int32))
    return passages


@kernel
def _carve(neighbour: IndexArray, u: FloatArray, passages: BoolArray, visited: BoolArray, path: IndexArray) -> None:
    """Fill `passages`; `path` begins with the first room."""
    depth, carved = 0, 0
    visited[path[0]] = True
    while depth >= 0:
        room, n_options = path[depth], 0
        for direction in range(4):
            other = neighbour[room, direction]
            n_options += other >= 0 and not visited[other]
        if n_options == 0:
            depth -= 1
            continue
        wanted = int(u[carved] * n_options)
        for direction in range(4):
            other = neighbour[room, direction]
            if other >= 0 and not visited[other]:
                if wanted == 0:
                    passages[room, direction] = True
                    passages[other, direction ^ 1] = True
                    path[depth + 1] = other
                wanted -= 1
        carved += 1
        depth += 1
        visited[path[depth]] = True
