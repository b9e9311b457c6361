"""Structural properties of a world (paper, Secs. 2.4 and 3.4).

How biased a world is towards some of its states, and how far into the future one action can be felt. Both are
properties of the world alone; the agent acts at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.arrays import FloatArray, IntArray, check_count
from berlyne.information import entropy
from berlyne.worlds.world import World, check_world

SMALL = 300
"""Up to this many states linear equations are solved densely."""


def is_ergodic(world: World) -> bool:
    """Whether every state can be reached from every other under some choice of actions.

    Paper: Sec. 2.4. That is strong connectedness of the graph of possible transitions,
    found in time linear in their number.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = check_world(world).rows
    # the actions of one state lie together: joining their rows needs no copy of the indices
    indptr = rows.indptr[:: rows.n_actions]
    graph = csr_array(
        (np.ones(len(rows.indices), dtype=np.int8), rows.indices, indptr.astype(np.int64)),
        shape=(rows.n_states, rows.n_states),
    )
    n_components, _ = connected_components(graph, directed=True, connection="strong")
    return bool(n_components == 1)


def stationary_distribution(world: World) -> FloatArray:
    """Equilibrium Psi over states of an agent that acts at random, `(N,)`, sums to one.

    Paper: Sec. 3.4, State bias; reading R22: the stationary distribution of the chain in which every action is equally
    likely. States that such an agent leaves for good have probability zero.

    Raises
    ------
    ValueError if the world has several parts that are never left: where one ends up depends on the start.
    """
    chain = random_walk(world)
    inside = _never_left(chain)
    solve = _solve_densely if len(inside) <= SMALL else _solve_sparsely
    psi = np.zeros(world.n_states)
    psi[inside] = np.maximum(solve(chain[inside][:, inside]), 0.0)
    return np.asarray(psi / psi.sum())


def structure_index(world: World) -> float:
    r"""How far the equilibrium is from uniform, between 0 and 1.

    $$\mathrm{SI}(\Psi) = \frac{H(U) - H(\Psi)}{H(U)}$$

    Paper: Sec. 3.4, SI(Psi); reading R22. Zero for a world of one state.
    """
    if check_world(world).n_states == 1:
        return 0.0
    uniform = np.log2(world.n_states)
    return float(max(uniform - entropy(stationary_distribution(world)), 0.0) / uniform)


def controllability(world: World, horizon: int = 10) -> FloatArray:
    r"""Mutual information of an action and the state t steps later, in bits, for t = 1..horizon.

    $$\mathrm{MI}[A_0; S_t \mid s_0] = H(S_t \mid s_0) - H(S_t \mid A_0, s_0)$$

    Paper: Sec. 3.4, Fig. 5b; reading R23: A_0 and all later actions are uniform, and the result is averaged over
    all start states. Shape `(horizon,)`; entries lie between 0 and log2 M and never rise.
    """
    check_count("horizon", horizon, 0)
    after = check_world(world).theta  # (M, N, N), p(s_t | a_0, s_0)
    onwards = after.mean(axis=0)  # (N, N), one step of the random agent
    information = np.empty(horizon)
    for t in range(horizon):
        if t:
            after = after @ onwards
        information[t] = np.mean(entropy(after.mean(axis=0)) - entropy(after).mean(axis=0))
    return np.maximum(information, 0.0)


def random_walk(world: World) -> Any:
    """The chain of an agent that acts at random, as a SciPy sparse `(N, N)` matrix."""
    from scipy.sparse import csr_array

    rows = check_world(world).rows
    indptr = rows.indptr[:: rows.n_actions].astype(np.int64)
    shape = (rows.n_states, rows.n_states)
    chain = csr_array((rows.data / rows.n_actions, rows.indices, indptr), shape=shape)
    chain.sum_duplicates()
    return chain


def _never_left(chain: Any) -> IntArray:
    """The states of the one part of a chain that is never left."""
    from scipy.sparse.csgraph import connected_components

    n_parts, part = connected_components(chain, directed=True, connection="strong")
    row, column = chain.nonzero()
    left = np.zeros(n_parts, dtype=bool)
    left[part[row[part[row] != part[column]]]] = True
    if np.count_nonzero(~left) != 1:
        raise ValueError(
            f"the world has {np.count_nonzero(~left)} parts that are never left, "
            "so its equilibrium depends on where one starts"
        )
    return np.flatnonzero(~left[part])


def _solve_densely(chain: Any) -> FloatArray:
    """Psi of an irreducible chain from (I - P)^T Psi = 0, the last equation replaced by sum(Psi) = 1."""
    n_states = chain.shape[0]
    equations = np.eye(n_states) - chain.toarray().T
    equations[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, np.eye(n_states)[-1]))


def _solve_sparsely(chain: Any) -> FloatArray:
    """The same up to a factor, for many states: Psi is 1 at the first of them, and the rest follows."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    transposed = chain.T.tocsc()
    equations = eye_array(chain.shape[0] - 1, format="csc") - transposed[1:, 1:]
    rest = spsolve(equations.tocsc(), transposed[1:, [0]].toarray().ravel())
    return np.concatenate([[1.0], rest])
