"""Environments of others: made from their names, and read as a world where they show their transition table."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.priors import Dirichlet, Prior
from berlyne.sparse import Rows
from berlyne.validation import OWN_WORLDS, BoolArray, IntArray
from berlyne.worlds.edge_table import rows_from_entries
from berlyne.worlds.world import World

ACTIONS: dict[str, tuple[str, ...]] = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
}
"""What the actions of Gymnasium's toy-text environments are called, in their order."""
NO_GYMNASIUM = "Gymnasium is not here; in a clone of berlyne: pip install '.[gym]'"


class NoTableError(ValueError):
    """An environment that can be explored, but only by acting in it."""


def from_gymnasium(env: Any, prior: Prior | None = None) -> World:
    """The world of an environment that shows its transition table, as Gymnasium's toy-text environments do.

    States where episodes end are terminal; the start distribution is the environment's. An observation is a state's
    number; actions have names where they are known. Rewards are left out.

    Parameters
    ----------
    env : an environment with `env.unwrapped.P[s][a]`, a list of (probability, next state, reward, terminated), and
        `env.unwrapped.initial_state_distrib`; or its name, such as "FrozenLake-v1"; or one of berlyne's own.
    prior : what an explorer assumes; by default Dir(1) over all states.

    Raises
    ------
    ValueError if there is no table, or if a state ends an episode after some transitions but not after others.
    """
    env = as_env(env)
    inner = getattr(env, "unwrapped", env)
    if isinstance(getattr(inner, "world", None), World):
        return inner.world if prior is None else inner.world.with_prior(prior)  # type: ignore[no-any-return]  # checked
    name = getattr(getattr(env, "spec", None), "id", None) or type(inner).__name__
    table, start = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
    if table is None or start is None:
        raise NoTableError(f"{name} shows no transition table; explore it by berlyne.explore_env{OWN_WORLDS}")
    rows, terminal = _read(table, np.flatnonzero(start), str(name))
    if prior is None:
        prior = Dirichlet(1.0, n_states=rows.n_states, n_actions=rows.n_actions)
    names, where = ACTIONS.get(type(inner).__name__), _cells(inner, rows.n_states)
    told: dict[str, Any] = {"start": np.asarray(start), "actions": names, "terminal": terminal, "positions": where}
    return World(rows, prior, name=str(name), **told)


def _cells(inner: Any, n_states: int) -> IntArray | None:
    """Column and line of every state, (N, 2), of an environment whose states are the cells of a grid; else None.

    FrozenLake shows its drawing as `desc`, CliffWalking the number of lines and columns as `shape`; states count the
    cells line by line. A drawing of fewer cells than there are states, as that of Taxi, says nothing.
    """
    shape = getattr(inner, "shape", None) or np.shape(getattr(inner, "desc", ()))
    if len(shape) != 2 or shape[0] * shape[1] != n_states:
        return None
    line, column = np.divmod(np.arange(n_states), shape[1])
    return np.stack([column, line], axis=1)


def _read(table: Any, starts: IntArray, name: str) -> tuple[Rows, list[int]]:
    """Rows and terminal states of a table `P[s][a]`, for episodes that begin in `starts`."""
    n_states, n_actions = len(table), len(table[0])
    entries = [
        (s * n_actions + a, int(s_next), float(p), bool(terminated))
        for s in range(n_states)
        for a in range(n_actions)
        for p, s_next, _, terminated in table[s][a]
    ]
    row, to, p, over = (np.array(column) for column in zip(*entries, strict=True))
    rows = rows_from_entries(row, to, p, n_states, n_actions)
    happens = _visited(row // n_actions, to, over, starts, n_states)[row // n_actions]
    both = np.intersect1d(to[over & happens], to[~over & happens])
    if len(both):
        raise NoTableError(
            f"in {name} an episode ends in state {both[0]} after some transitions but not after others; "
            "explore it by berlyne.explore_env"
        )
    # an end is where episodes end, and where nothing ever leads that would not end them
    return rows, np.union1d(to[over & happens], np.setdiff1d(to[over], to[~over])).tolist()


def _visited(s: IntArray, to: IntArray, over: BoolArray, starts: IntArray, n_states: int) -> BoolArray:
    """Whether each state can come up within an episode, (N,); s, to, over : from, to and whether it ends there."""
    visited = np.zeros(n_states, dtype=bool)
    visited[starts] = True
    while True:
        new = to[visited[s] & ~over]
        if np.all(visited[new]):
            return visited
        visited[new] = True


def is_environment(what: Any) -> bool:
    """Whether an object looks like an environment of Gymnasium."""
    return all(hasattr(what, name) for name in ("reset", "step", "action_space", "observation_space"))


def as_env(env: Any) -> Any:
    """The environment itself, or the one of that name."""
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError:
            raise ValueError(NO_GYMNASIUM) from None
        # Gymnasium imports the module before the colon, which registers our environments
        return gymnasium.make(f"berlyne.envs:{env}" if env.startswith("berlyne/") else env)
    if not is_environment(env):
        raise ValueError(f"env is {env!r}; it must be an environment of Gymnasium, or the name of one")
    return env
