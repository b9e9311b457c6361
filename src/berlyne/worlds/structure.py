"""Structural properties of a world (paper, Secs. 2.4 and 3.4)."""

from __future__ import annotations

import numpy as np

from berlyne.worlds.world import World


def is_ergodic(world: World) -> bool:
    """Whether every state can be reached from every other under some choice of actions.

    Paper: Sec. 2.4. That is strong connectedness of the graph of possible transitions,
    found in time linear in their number.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = world.rows
    # the actions of one state lie together: joining their rows needs no copy of the indices
    indptr = rows.indptr[:: rows.n_actions]
    graph = csr_array(
        (np.ones(len(rows.indices), dtype=np.int8), rows.indices, indptr.astype(np.int64)),
        shape=(rows.n_states, rows.n_states),
    )
    n_components, _ = connected_components(graph, directed=True, connection="strong")
    return bool(n_components == 1)
