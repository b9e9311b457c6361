"""A MiniGrid level as a world: all places and directions of the agent, found by acting in the level.

MiniGrid shows a part of the level only. Here the state is the column, the line and the direction of the agent, so the
world is fully observed. Only the actions "left", "right" and "forward" are used, and the level must contain nothing
that they change. MiniGrid is imported when a level is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.priors import Dirichlet
from berlyne.sparse import Rows
from berlyne.worlds.world import World

ACTIONS = ("left", "right", "forward")
State = tuple[int, int, int]
"""Column, line and direction."""


def minigrid_world(env: str, level: int = 0) -> World:
    """Return the world of a MiniGrid level without objects that move or open.

    Parameters
    ----------
    env : str
        Id of the environment, such as "MiniGrid-Empty-8x8-v0".
    level : int
        Seed of the level.

    Returns
    -------
    World
        Its states are (column, line, direction); those in which an episode ends are terminal.

    Raises
    ------
    ValueError
        If MiniGrid is not installed.
    """
    try:
        import minigrid  # noqa: F401  # registers its environments
        from gymnasium import make
    except ImportError:
        raise ValueError("MiniGrid is not installed; pip install minigrid") from None
    inner: Any = make(env).unwrapped
    inner.reset(seed=level)
    start, states, terminal = _place(inner), [_place(inner)], set[State]()
    number, outcomes = {start: 0}, list[tuple[int, int]]()
    for state in states:  # grows while it is read
        for a in range(len(ACTIONS)):
            after, ended = _step(inner, state, a) if state not in terminal else (state, False)
            if after not in number:
                number[after] = len(states)
                states.append(after)
            if ended:
                terminal.add(after)
            outcomes.append((number[state] * len(ACTIONS) + a, number[after]))
    row, s_next = (np.array(column) for column in zip(*outcomes, strict=True))
    rows = Rows.from_entries(len(ACTIONS), len(states), row, s_next, np.ones(len(row)))
    prior = Dirichlet(1.0 / len(states), n_states=len(states), n_actions=len(ACTIONS))
    names: dict[str, Any] = {"states": states, "actions": list(ACTIONS)}
    return World(rows, prior, name=env, start=start, terminal=sorted(terminal), **names)


def _place(inner: Any) -> State:
    column, line = inner.agent_pos
    return int(column), int(line), int(inner.agent_dir)


def _step(inner: Any, state: State, a: int) -> tuple[State, bool]:
    """Act in a state; return the next state, and whether the episode ended."""
    inner.agent_pos, inner.agent_dir, inner.step_count = np.array(state[:2]), state[2], 0
    _, _, terminated, _, _ = inner.step(a)
    return _place(inner), bool(terminated)
