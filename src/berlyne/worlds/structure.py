"""Structural properties of a world (paper, Secs. 2.4 and 3.4).

What can be reached in it; how biased it is towards some of its states, and how far into the future one action can be
felt. All are properties of the world alone; for the last two the agent acts at random.
"""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from berlyne.information import entropy
from berlyne.validation import OWN_WORLDS, BoolArray, FloatArray, IntArray, check_count
from berlyne.worlds.world import World, check_world

SMALL = 300
"""Up to this many states linear equations are solved densely."""


def is_ergodic(world: World) -> bool:
    """Whether every state can be reached from every other under some choice of actions.

    Paper: Sec. 2.4. That is strong connectedness of the graph of possible transitions,
    found in time linear in their number.
    """
    from scipy.sparse.csgraph import connected_components

    n_components, _ = connected_components(_graph(check_world(world)), directed=True, connection="strong")
    return bool(n_components == 1)


def reachable(world: World, begins: IntArray) -> BoolArray:
    """(N,), whether each state can be reached from one of those in `begins` under some choice of actions."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    rows, n = world.rows, world.n_states
    size = np.diff(rows.indptr[:: rows.n_actions])  # the actions of one state lie together
    going_on = np.repeat(~world.episodes.is_terminal, size)  # nothing follows a terminal state
    row = np.concatenate([np.repeat(np.arange(n), size)[going_on], np.full(len(begins), n)])  # and a state before all
    column = np.concatenate([rows.indices[going_on], begins])
    graph = csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(n + 1, n + 1))
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(graph, n, directed=True, return_predecessors=False)] = True
    return found[:n]


def reaches_all_from_somewhere(world: World) -> bool:
    """Whether there is a state from which every state can be reached."""
    from scipy.sparse.csgraph import connected_components

    graph = _graph(world)
    n_parts, part = connected_components(graph, directed=True, connection="strong")
    if n_parts == 1:
        return True
    row, column = graph.nonzero()
    entered = np.zeros(n_parts, dtype=bool)
    entered[part[column[part[row] != part[column]]]] = True
    return bool(np.count_nonzero(~entered) == 1)  # the others are entered from it


_LOOKED_AT: WeakKeyDictionary[World, set[int | None]] = WeakKeyDictionary()
"""First states that were asked for in a world, None for where it begins by itself, and looked at."""
_TOLD: WeakSet[World] = WeakSet()
"""Worlds of which it was said that states are out of reach, or need not be."""


def suppress_reachability_warning(world: World) -> World:
    """The world itself, of which somebody asked that it may have states out of reach: nobody is warned of them."""
    _TOLD.add(world)
    return world


def warn_if_unreachable(world: World, first: int, asked: bool) -> None:
    """Say once per world how many of its states an exploration cannot reach, if there are any.

    first : the state that it begins in; asked : whether it was asked to. If neither the caller nor the world says where
    to begin, which states are out of reach is a matter of chance: it counts only if some are, wherever one begins.
    """
    looked, where = _LOOKED_AT.setdefault(world, set()), first if asked else None
    if world in _TOLD or where in looked:
        return
    looked.add(where)
    begins = world.episodes.starts[0] if len(world.terminal) or not asked else np.empty(0, dtype=np.int64)
    if asked:
        begins = np.append(begins, first)
    elif world.start is None and not len(world.terminal):
        if reaches_all_from_somewhere(world):
            return
        begins = np.array([first])
    lost = int(np.count_nonzero(~reachable(world, begins) & ~world.episodes.is_terminal))
    if lost:
        _TOLD.add(world)
        warnings.warn(
            f"{lost:,} of the {world.n_states:,} states of {world.name!r} cannot be reached from its start, "
            f"so what is missing about them stays missing{OWN_WORLDS}",
            UserWarning,
            stacklevel=3,
        )


def _graph(world: World) -> Any:
    """Which state can follow which, whatever the action, as a sparse (N, N) matrix."""
    from scipy.sparse import csr_array

    rows = world.rows
    # the actions of one state lie together: joining their rows needs no copy of the indices
    indptr = rows.indptr[:: rows.n_actions].astype(np.int64)
    return csr_array((np.ones(len(rows.indices), dtype=np.int8), rows.indices, indptr), shape=(rows.n_states,) * 2)


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
