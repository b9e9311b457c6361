"""Choices while other trials are out: their outcomes are imagined, and then taken back.

Someone who asks twice without an answer in between would be told to do the same trial twice. So the outcomes of the
trials that are out are drawn from the explorer's own predictions, a copy of the agent learns them, and the next choice
is the copy's. The values of several such copies are averaged, because a single imagined outcome is noisy. Every trial
that is out has its own random numbers, so the answer does not change until the book does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from berlyne.agents.base import Agent
from berlyne.exploration.book_lines import PendingTrial
from berlyne.exploration.explorer import Explorer
from berlyne.exploration.streams import method_seed
from berlyne.validation import FloatArray

N_IMAGINED = 8
"""Number of copies whose values are averaged."""


def choose_besides(
    explorer: Explorer, pending: Sequence[PendingTrial], number: int, s: Any = None, among: Iterable[Any] | None = None
) -> tuple[Any, Any]:
    """Return the state and the action of the next trial, given the trials that are out.

    Parameters
    ----------
    explorer : Explorer
        The explorer; it does not change.
    pending : sequence of PendingTrial
        Trials that are out.
    number : int
        Number of the next trial, on which random numbers depend.
    s : object, optional
        The current state; not used by a strategy that may go to any state.
    among : iterable, optional
        Actions that are possible now.
    """
    relocates = explorer.strategy.relocates
    if not pending:
        return explorer.choose_pair() if relocates else (s, explorer.act(s, among))
    with explorer._lock:
        if relocates:
            explorer._check_state_available()
            here, possible = None, None
        else:
            here = explorer._number("s", s, explorer.state_labels)
            possible = explorer._possible_actions(among, here, s)
        u = _uniforms(explorer, number, 0, 2)
        if explorer.strategy.ties == "first":
            u[0] = 0.0
        copies = [imagine_outcomes(explorer, pending, i) for i in range(N_IMAGINED)]
        if here is not None:
            for agent in copies:
                if here in agent.terminal:
                    agent.unmark_terminal(here)
        s_number, a = _choose(explorer, copies, here, possible, u)
    return (explorer.state_labels[s_number] if relocates else s), explorer.action_labels[a]


def _choose(
    explorer: Explorer, copies: list[Agent], here: int | None, possible: list[int] | None, u: FloatArray
) -> tuple[int, int]:
    """Choose by the mean of the values of the copies; a method without values chooses with the first copy."""
    rule, n_actions = explorer.strategy.rule, explorer.n_actions
    if here is None:
        n_states = explorer.n_states  # a copy may have discovered more
        values = np.mean([agent.pair_values()[:n_states] for agent in copies], axis=0)
        if np.any(np.isnan(values)):
            return copies[0].choose_pair(u)
        s, a = divmod(rule.choose(values.ravel(), u), n_actions)
        return copies[0].discovered[s], a
    values = np.mean([agent.action_values(here) for agent in copies], axis=0)
    if np.any(np.isnan(values)) or explorer._agent.chooses_without_values:
        if possible is not None:
            explorer._values_among(here, possible)  # raises
        return here, copies[0].act(here, u)
    numbers = list(range(n_actions)) if possible is None else possible
    return here, numbers[rule.choose(values[numbers], u)]


def imagine_outcomes(explorer: Explorer, pending: Sequence[PendingTrial], i: int) -> Agent:
    """Return a copy of the agent that has learned an imagined outcome of each trial that is out.

    Parameters
    ----------
    explorer : Explorer
        The explorer; it does not change.
    pending : sequence of PendingTrial
        Trials that are out.
    i : int
        Number of the copy, on which the outcomes depend.
    """
    agent = explorer._agent.copy()
    agent.begin_imagining(_uniforms(explorer, 0, i + 1, 2).reshape(1, 2))
    for trial in pending:
        s = explorer._number("s", trial.s, explorer.state_labels)
        a = explorer._number("a", trial.a, explorer.action_labels)
        agent.discover(s)
        if s in agent.terminal:  # an action is taken in s, so s is not terminal
            agent.unmark_terminal(s)
        s_next = agent._imagined_outcome(s, a, float(_uniforms(explorer, trial.number, i + 1, 1)[0]))
        agent.observe(s, a, s_next)
    return agent


def _uniforms(explorer: Explorer, number: int, i: int, n: int) -> FloatArray:
    """Return uniform numbers of trial `number` and copy `i`; choices have copy 0, and no other draw uses them."""
    seed = method_seed(explorer._rng)
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1 << 20, number, i))
    return np.random.default_rng(child).random(n)
