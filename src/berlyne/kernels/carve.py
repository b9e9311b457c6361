"""Carving a perfect maze by randomised depth-first search (reading R9)."""

from __future__ import annotations

import numpy as np

from berlyne.arrays import BoolArray, FloatArray, IndexArray
from berlyne.kernels.compile import kernel


@kernel
def carve(neighbour: IndexArray, first: int, u: FloatArray) -> BoolArray:
    """Passages of a random spanning tree of the rooms, `(N, 4)`.

    From the current room step to an unvisited neighbour chosen uniformly, or back if there is none.
    `neighbour` is `(N, 4)` with -1 for none; directions 0, 1 and 2, 3 are opposite;
    `u` holds one uniform number per room carved.
    """
    n_rooms = neighbour.shape[0]
    passages = np.zeros((n_rooms, 4), dtype=np.bool_)
    visited = np.zeros(n_rooms, dtype=np.bool_)
    path = np.empty(n_rooms, dtype=np.int32)
    options = np.empty(4, dtype=np.int32)
    path[0], depth, carved = first, 0, 0
    visited[first] = True
    while depth >= 0:
        room = path[depth]
        n_options = 0
        for direction in range(4):
            other = neighbour[room, direction]
            if other >= 0 and not visited[other]:
                options[n_options] = direction
                n_options += 1
        if n_options == 0:
            depth -= 1
            continue
        direction = options[int(u[carved] * n_options)]
        other = neighbour[room, direction]
        passages[room, direction] = True
        passages[other, direction ^ 1] = True
        visited[other] = True
        carved += 1
        depth += 1
        path[depth] = other
    return passages
