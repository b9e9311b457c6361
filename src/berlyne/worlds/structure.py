"""Structural properties of a world (paper, Secs. 2.4 and 3.4).

They are reachability, the bias towards some states, and the number of steps over which an action has an effect. All are
properties of the world alone. For the last two, the agent acts at random.
"""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from berlyne.information import entropy
from berlyne.validation import OWN_WORLDS, BoolArray, FloatArray, IntArray, check_count
from berlyne.worlds.world import World, check_world

MAX_DENSE_STATES = 300
"""Largest number of states for which linear equations are solved densely."""


def is_ergodic(world: World) -> bool:
    """Whether every state can be reached from every other under some choice of actions.

    Paper: Sec. 2.4. The graph of possible transitions is then strongly connected. The test takes time linear in the
    number of transitions.

    Parameters
    ----------
    world : World
        Any world.
    """
    from scipy.sparse.csgraph import connected_components

    n_components, _ = connected_components(_graph(check_world(world)), directed=True, connection="strong")
    return bool(n_components == 1)


def reachable(world: World, starts: IntArray) -> BoolArray:
    """Whether each state can be reached from a state in `starts` under some choice of actions, (N,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    rows, n = world.rows, world.n_states
    size = np.diff(rows.indptr[:: rows.n_actions])  # the actions of one state are adjacent
    continues = world.possible_rows[rows.row_numbers()]  # a terminal state leads nowhere
    # an additional state n leads to all states in `starts`
    row = np.concatenate([np.repeat(np.arange(n), size)[continues], np.full(len(starts), n)])
    column = np.concatenate([rows.indices[continues], starts])
    graph = csr_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(n + 1, n + 1))
    is_reachable = np.zeros(n + 1, dtype=bool)
    is_reachable[breadth_first_order(graph, n, directed=True, return_predecessors=False)] = True
    return is_reachable[:n]


def some_state_reaches_all(world: World) -> bool:
    """Whether there is a state from which all states can be reached."""
    from scipy.sparse.csgraph import connected_components

    graph = _graph(world)
    n_components, component = connected_components(graph, directed=True, connection="strong")
    if n_components == 1:
        return True
    row, column = graph.nonzero()
    entered = np.zeros(n_components, dtype=bool)
    entered[component[column[component[row] != component[column]]]] = True
    return bool(np.count_nonzero(~entered) == 1)  # all other components are entered from it


_CHECKED: WeakKeyDictionary[World, set[int | None]] = WeakKeyDictionary()
"""Start states that were checked in each world; None for the world's own start."""
_NO_WARNING: WeakSet[World] = WeakSet()
"""Worlds for which the warning was shown, or suppressed."""


def suppress_reachability_warning(world: World) -> World:
    """Return the world itself, after suppressing the warning about unreachable states."""
    _NO_WARNING.add(world)
    return world


def warn_if_unreachable(world: World, first: int, requested: bool) -> None:
    """Warn once per world if an exploration cannot reach all states.

    If neither the caller nor the world defines a start, it is random which states are unreachable. A warning is then
    given only if no state reaches all others.

    Parameters
    ----------
    world : World
        World to explore.
    first : int
        State in which the exploration begins.
    requested : bool
        Whether the caller asked for this state.
    """
    checked, start = _CHECKED.setdefault(world, set()), first if requested else None
    if world in _NO_WARNING or start in checked:
        return
    checked.add(start)
    starts = world.episodes.starts[0] if len(world.terminal) or not requested else np.empty(0, dtype=np.int64)
    if requested:
        starts = np.append(starts, first)
    elif world.start is None and not len(world.terminal):
        if some_state_reaches_all(world):
            return
        starts = np.array([first])
    n_unreachable = int(np.count_nonzero(~reachable(world, starts) & ~world.episodes.is_terminal))
    if n_unreachable:
        _NO_WARNING.add(world)
        warnings.warn(
            f"{n_unreachable:,} of the {world.n_states:,} states of {world.name!r} cannot be reached from its start, "
            f"so the information about them stays missing{OWN_WORLDS}",
            UserWarning,
            stacklevel=3,
        )


def _graph(world: World) -> Any:
    """Return the graph of possible transitions by any action, as a sparse (N, N) matrix."""
    from scipy.sparse import csr_array

    rows = world.rows
    # the actions of one state are adjacent, so that their rows can be joined without copying the indices
    indptr = rows.indptr[:: rows.n_actions].astype(np.int64)
    return csr_array((np.ones(len(rows.indices), dtype=np.int8), rows.indices, indptr), shape=(rows.n_states,) * 2)


def stationary_distribution(world: World) -> FloatArray:
    """Compute the equilibrium distribution Psi over states of an agent that acts at random, `(N,)`; sums to one.

    Paper: Sec. 3.4, State bias; reading R22: the stationary distribution of the chain in which every action is equally
    likely. States to which such an agent does not return in the long run have probability zero.

    Parameters
    ----------
    world : World
        Any world.

    Raises
    ------
    ValueError
        If the world has several parts that are never left. The distribution then depends on the start.
    """
    chain = random_walk(world)
    inside = _recurrent_states(chain)
    solve = _solve_densely if len(inside) <= MAX_DENSE_STATES else _solve_sparsely
    psi = np.zeros(world.n_states)
    psi[inside] = np.maximum(solve(chain[inside][:, inside]), 0.0)
    return np.asarray(psi / psi.sum())


def structure_index(world: World) -> float:
    r"""Compute the structure index, the distance of the equilibrium from uniform, between 0 and 1.

    $$\mathrm{SI}(\Psi) = \frac{H(U) - H(\Psi)}{H(U)}$$

    Paper: Sec. 3.4, SI(Psi); reading R22. Zero for a world of one state.

    Parameters
    ----------
    world : World
        Any world.
    """
    if check_world(world).n_states == 1:
        return 0.0
    uniform = np.log2(world.n_states)
    return float(max(uniform - entropy(stationary_distribution(world)), 0.0) / uniform)


def controllability(world: World, horizon: int = 10) -> FloatArray:
    r"""Compute the mutual information of an action and the state t steps later, in bits, for t = 1..horizon.

    $$\mathrm{MI}[A_0; S_t \mid s_0] = H(S_t \mid s_0) - H(S_t \mid A_0, s_0)$$

    Paper: Sec. 3.4, Fig. 5b; reading R23: A_0 and all later actions are uniform, and the result is averaged over
    all start states.

    Parameters
    ----------
    world : World
        Any world.
    horizon : int
        Largest number of steps.

    Returns
    -------
    ndarray of shape (horizon,)
        Mutual information, between 0 and log2 M, never increasing with t.
    """
    check_count("horizon", horizon, 0)
    after = check_world(world).theta  # (M, N, N), p(s_t | a_0, s_0)
    random_step = after.mean(axis=0)  # (N, N), one step of the random agent
    information = np.empty(horizon)
    for t in range(horizon):
        if t:
            after = after @ random_step
        information[t] = np.mean(entropy(after.mean(axis=0)) - entropy(after).mean(axis=0))
    return np.maximum(information, 0.0)


def random_walk(world: World) -> Any:
    """Return the chain of an agent that acts at random, as a SciPy sparse `(N, N)` matrix."""
    from scipy.sparse import csr_array

    rows = check_world(world).rows
    indptr = rows.indptr[:: rows.n_actions].astype(np.int64)
    shape = (rows.n_states, rows.n_states)
    chain = csr_array((rows.data / rows.n_actions, rows.indices, indptr), shape=shape)
    chain.sum_duplicates()
    return chain


def _recurrent_states(chain: Any) -> IntArray:
    """Return the states of the only part of a chain that is never left."""
    from scipy.sparse.csgraph import connected_components

    n_components, component = connected_components(chain, directed=True, connection="strong")
    row, column = chain.nonzero()
    is_left = np.zeros(n_components, dtype=bool)
    is_left[component[row[component[row] != component[column]]]] = True
    if np.count_nonzero(~is_left) != 1:
        raise ValueError(
            f"the world has {np.count_nonzero(~is_left)} sets of states that an agent never leaves, "
            "so the stationary distribution depends on the start state"
        )
    return np.flatnonzero(~is_left[component])


def _solve_densely(chain: Any) -> FloatArray:
    """Compute Psi of an irreducible chain from (I - P)^T Psi = 0, the last equation replaced by sum(Psi) = 1."""
    n_states = chain.shape[0]
    equations = np.eye(n_states) - chain.toarray().T
    equations[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, np.eye(n_states)[-1]))


def _solve_sparsely(chain: Any) -> FloatArray:
    """Compute Psi of an irreducible chain up to a factor, for many states; Psi of the first state is set to 1."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    transposed = chain.T.tocsc()
    equations = eye_array(chain.shape[0] - 1, format="csc") - transposed[1:, 1:]
    psi = spsolve(equations.tocsc(), transposed[1:, [0]].toarray().ravel())
    return np.concatenate([[1.0], psi])
