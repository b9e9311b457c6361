"""Gymnasium environments: create them from their ids, and read those with a transition table as a `World`."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.priors import Prior
from berlyne.priors.dirichlet import Alpha, prior_or_default
from berlyne.sparse import Rows
from berlyne.validation import OWN_WORLDS, BoolArray, IntArray, short_repr
from berlyne.worlds.edge_table import rows_from_entries
from berlyne.worlds.world import World

ACTIONS: dict[str, tuple[str, ...]] = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
}
"""Names of the actions of Gymnasium's toy-text environments, in their order."""
REGISTERED_BY = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid", "MiniWorld-": "miniworld", "ALE/": "ale_py"}
"""Modules that register environments when they are imported, by the start of the id."""
NO_GYMNASIUM = "Gymnasium is not installed; in a clone of berlyne: pip install '.[gym]'"


class NoTableError(ValueError):
    """Error for an environment without a usable transition table; it can be explored only by acting in it."""


def from_gymnasium(env: Any, prior: Prior | None = None, *, alpha: Alpha | None = None) -> World:
    """Return the world of an environment that has a transition table, such as Gymnasium's toy-text environments.

    States in which episodes end are terminal. The start distribution is that of the environment. The number of a state
    is the observation. Actions have names if they are known. Rewards are left out.

    Parameters
    ----------
    env : str or gymnasium.Env
        Environment with `env.unwrapped.P[s][a]`, a list of (probability, next state, reward, terminated), and
        `env.unwrapped.initial_state_distrib`; or the id of one, such as "FrozenLake-v1"; or an environment of berlyne.
    prior : Prior or None
        Prior of an explorer. None for a Dirichlet distribution over all states with the concentration `alpha`.
    alpha : float, "ml" or None
        Concentration of the prior, if `prior` is None. None for "ml", or for the prior of an environment of berlyne;
        with "ml" explorers learn the concentration, starting at 1/N.

    Returns
    -------
    World
        World with the transitions of the environment.

    Raises
    ------
    ValueError
        If there is no table, or if a state ends an episode after some transitions but not after others.
    """
    env = as_env(env)
    inner = getattr(env, "unwrapped", env)
    if isinstance(getattr(inner, "world", None), World):
        return _with_prior(inner.world, prior, alpha)
    name = getattr(getattr(env, "spec", None), "id", None) or type(inner).__name__
    table, start = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
    if table is None or start is None:
        raise NoTableError(f"{name} has no transition table; explore it with berlyne.explore_env{OWN_WORLDS}")
    rows, terminal = _read_table(table, np.flatnonzero(start), str(name))
    prior = prior_or_default(prior, alpha, rows.n_states, rows.n_actions)
    names, (cells, marks) = ACTIONS.get(type(inner).__name__), _drawing(inner, rows.n_states)
    parts: dict[str, Any] = {"start": np.asarray(start), "actions": names, "terminal": terminal, "positions": cells}
    parts["marks"] = marks
    return World(rows, prior, name=str(name), **parts)


def _with_prior(world: World, prior: Prior | None, alpha: Alpha | None) -> World:
    """Return the world with another prior, if `prior` or `alpha` is set."""
    if prior is None and alpha is None:
        return world
    return world.with_prior(prior_or_default(prior, alpha, world.n_states, world.n_actions))


def _drawing(inner: Any, n_states: int) -> tuple[IntArray | None, dict[int, str]]:
    """Return the column and line of every state, (N, 2), if the states are cells of grids, else None, and marks.

    FrozenLake has a drawing `desc`; CliffWalking has the number of lines and columns as `shape`, and its cliff as
    `_cliff`. States count the cells line by line. Taxi has one map of its streets for each place of the passenger and
    each destination.
    """
    drawing = np.asarray(getattr(inner, "desc", ()))
    if n_states == 500 and hasattr(inner, "locs") and hasattr(inner, "decode"):
        return _taxi_maps(inner)
    shape = getattr(inner, "shape", None) or drawing.shape
    if len(shape) != 2 or shape[0] * shape[1] != n_states:
        return None, {}
    line, column = np.divmod(np.arange(n_states), shape[1])
    marks = {}
    if drawing.shape == tuple(shape):
        letters = [cell.decode() if isinstance(cell, bytes) else str(cell) for cell in drawing.ravel()]
        marks = {s: letter for s, letter in enumerate(letters) if letter.strip() and letter != "F"}
    cliff = np.asarray(getattr(inner, "_cliff", ()))
    if cliff.shape == tuple(shape):
        marks = {int(s): "C" for s in np.flatnonzero(cliff)}
        marks |= {int(getattr(inner, "start_state_index", 0)): "S", n_states - 1: "G"}
    return np.stack([column, line], axis=1), marks


def _taxi_maps(inner: Any) -> tuple[IntArray, dict[int, str]]:
    """Return the cells of Taxi: a map of 5 x 5 cells for each passenger place (column) and destination (line).

    The passenger waits at P or, in the last column of maps, is in the taxi. D is the destination.
    """
    cells, marks = np.empty((500, 2), dtype=np.int64), {}
    for s in range(500):
        line, column, passenger, destination = inner.decode(s)
        cells[s] = column + 6 * passenger, line + 6 * destination
        place = (line, column)
        if place == tuple(inner.locs[destination]):
            marks[s] = "D"
        elif passenger < len(inner.locs) and place == tuple(inner.locs[passenger]):
            marks[s] = "P"
    return cells, marks


def _read_table(table: Any, starts: IntArray, name: str) -> tuple[Rows, list[int]]:
    """Read the rows and terminal states of a table `P[s][a]`, for episodes that begin in `starts`."""
    n_states, n_actions = len(table), len(table[0])
    entries = [
        (s * n_actions + a, int(to), float(p), bool(terminated))
        for s in range(n_states)
        for a in range(n_actions)
        for p, to, _, terminated in table[s][a]
    ]
    row, s_next, p, ended = (np.array(column) for column in zip(*entries, strict=True))
    rows = rows_from_entries(row, s_next, p, n_states, n_actions)
    occurs = _visited(row // n_actions, s_next, ended, starts, n_states)[row // n_actions]
    both = np.intersect1d(s_next[ended & occurs], s_next[~ended & occurs])
    if len(both):
        raise NoTableError(
            f"in {name} an episode ends in state {both[0]} after some transitions but not after others; "
            "explore it with berlyne.explore_env"
        )
    # terminal states: those that end an episode that can occur, and those that only ending transitions lead to
    return rows, np.union1d(s_next[ended & occurs], np.setdiff1d(s_next[ended], s_next[~ended])).tolist()


def _visited(s: IntArray, s_next: IntArray, ended: BoolArray, starts: IntArray, n_states: int) -> BoolArray:
    """Whether each state can occur within an episode, (N,), given transitions and whether they end the episode."""
    visited = np.zeros(n_states, dtype=bool)
    visited[starts] = True
    while True:
        new = s_next[visited[s] & ~ended]
        if np.all(visited[new]):
            return visited
        visited[new] = True


ENVIRONMENT = "reset", "step", "action_space", "observation_space"
"""Attributes that an environment must have."""


def is_environment(value: Any) -> bool:
    """Whether an object has the methods and attributes of a Gymnasium environment."""
    return all(hasattr(value, name) for name in ENVIRONMENT)


def as_env(env: Any) -> Any:
    """Return the environment itself, or create the one with that id."""
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError:
            raise ValueError(NO_GYMNASIUM) from None
        # Gymnasium imports the module before the colon, which registers the environments of berlyne
        try:
            return gymnasium.make(f"berlyne.envs:{env}" if env.startswith("berlyne/") else env)
        except gymnasium.error.UnregisteredEnv as error:
            modules = [module for prefix, module in REGISTERED_BY.items() if env.startswith(prefix)]
            if not modules:
                raise
            hint = f"import {modules[0]} first, or write '{modules[0]}:{env}'"
            raise type(error)(f"{str(error).rstrip('.')}; {hint}") from None
    if not is_environment(env):
        missing = " and ".join(f"no {name}" for name in ENVIRONMENT if not hasattr(env, name))
        raise ValueError(
            f"env is {short_repr(env)}, which has {missing}; it must be a Gymnasium environment, or the id of one"
        )
    return env
