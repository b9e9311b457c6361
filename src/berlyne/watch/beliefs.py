"""The beliefs of an explorer at every time of a run, stored as changes of rows.

With the priors of the paper, a step changes one row. If rows depend on each other, states are discovered, or the prior
learns its parameters, a step can change several. The first `M N` events, at time 0, are the beliefs before any data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import make_open_state_agent, tell_world
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.exploration.run import Run
from berlyne.information import kl_divergence
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import UniformChoice
from berlyne.strategies.registry import Strategy
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

DEFAULT_UTILITY = "PIG"
"""The utility that is shown for a strategy without one."""
MAX_ENTRIES = 30_000_000
"""Largest number of estimated probabilities of a run on a page."""

ChangedRows = tuple[IntArray, FloatArray, FloatArray]
"""Rows r = s M + a, (n,), their estimates, (n, N), and their utilities, (n,)."""


class Events(NamedTuple):
    """Changes of rows, in the order of time.

    Attributes
    ----------
    time : ndarray of int, shape (E,)
        Number of steps after which the row changed.
    row : ndarray of int, shape (E,)
        The row, r = s M + a.
    estimates : ndarray of shape (E, N)
        theta_hat of the row from then on.
    utility : ndarray of shape (E,)
        Utility of the row from then on.
    missing : ndarray of shape (E,)
        D(theta || theta_hat) of the row in bits; 0 if the world does not count the row.
    """

    time: IntArray
    row: IntArray
    estimates: FloatArray
    utility: FloatArray
    missing: FloatArray


def displayed_utility(strategy: Strategy) -> Any:
    """Return the utility that is shown: that of the strategy, or PIG if it has none."""
    return DEFAULT_UTILITY if strategy.utility is None else strategy.utility


def known_world(run: Run) -> World:
    """Return the world of a run that a page shows; `berlyne.watch` refuses runs without one."""
    assert run.world is not None
    return run.world


def prepare_agent(run: Run, agent: Agent) -> None:
    """Let an agent without data know what the explorer of a run knew of ends, forbidden actions and starts.

    What an environment forbids is known from the start.
    """
    world = known_world(run)
    agent.change_terminal(run.terminal_changes.get(0, ()))
    if run.explorer is None:
        tell_world(agent, world)
        return
    for s in np.flatnonzero(~world.allowed.all(axis=0)).tolist():
        agent.allow(s, world.allowed[:, s])


def belief_events(run: Run) -> Events:
    """Return all changes of an explorer's beliefs during a run, computed from its path."""
    world = known_world(run)
    n_rows = world.n_states * world.n_actions
    time, rows, estimates, utilities, entries = [], [], [], [], 0
    for t, (row, estimate, utility) in enumerate(_changes(run)):
        entries += estimate.size
        if entries > MAX_ENTRIES:
            raise ValueError(
                f"the beliefs of {run.strategy} in {world.n_states:,} states are too large for a page after "
                f"{t:,} of {run.n_steps:,} steps; watch fewer steps or a smaller world"
            )
        time.append(np.full(len(row), t))
        rows.append(row)
        estimates.append(estimate)
        utilities.append(utility)
    row, estimate = np.concatenate(rows), np.concatenate(estimates)
    theta = world.theta.transpose(1, 0, 2).reshape(n_rows, world.n_states)
    missing = np.maximum(kl_divergence(theta[row], estimate), 0.0)
    missing[~world.measured_rows[row]] = 0.0
    return Events(np.concatenate(time), row, estimate, np.concatenate(utilities), missing)


def _changes(run: Run) -> Iterator[ChangedRows]:
    """Yield the rows that changed at each time: at time 0 all rows, then those of every step."""
    observer = Strategy("shown", UniformChoice(), displayed_utility(run.strategy), run.strategy.untried)
    prior, world = run.prior, known_world(run)
    if discovers_states(prior):
        yield from _changes_while_discovering(
            run, make_open_state_agent(prior, world.n_actions, observer, labels=run.labels)
        )
        return
    agent = NumpyAgent(InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions), observer)
    prepare_agent(run, agent)
    before = _by_row(agent.view.theta_hat), _by_row(agent.utility())
    yield np.arange(len(before[0])), *before
    for t, (s, a, s_next) in enumerate(_steps(run), start=1):
        agent.observe(s, a, s_next)
        changes = run.terminal_changes.get(t, ())
        agent.change_terminal(changes)
        if not agent.dependent and agent.schedule is None:
            rows = [s * world.n_actions + a]
            rows += [change.s * world.n_actions + b for change in changes for b in range(world.n_actions)]
            in_state, action = np.divmod(np.unique(rows), world.n_actions)
            yield np.unique(rows), agent.view.theta_hat[action, in_state], agent.utility()[action, in_state]
            continue
        now = _by_row(agent.view.theta_hat), _by_row(agent.utility())
        yield _changed_rows(before, now)
        before = now


def _changes_while_discovering(run: Run, agent: OpenStateAgent) -> Iterator[ChangedRows]:
    """Yield the rows that changed at each time, for an explorer that discovers its states.

    The probability of undiscovered states is divided equally among them. After the last state is discovered, the
    explorer still expects undiscovered states, so rows sum to less than one.
    """
    prepare_agent(run, agent)
    agent.discover(int(run.states[0]))
    before = _in_world_states(run, agent)
    yield np.arange(len(before[0])), *before
    for t, (s, a, s_next) in enumerate(_steps(run)):
        agent.observe(s, a, s_next)
        agent.discover(int(run.states[t + 1]))
        now = _in_world_states(run, agent)
        yield _changed_rows(before, now)
        before = now


def _in_world_states(run: Run, agent: OpenStateAgent) -> tuple[FloatArray, FloatArray]:
    """Return estimates (M N, N) and utilities (M N,) for the states of the world, from those of the agent's cells."""
    n, discovered = known_world(run).n_states, agent.discovered
    cell = np.full(n, len(discovered))
    cell[discovered] = np.arange(len(discovered))
    theta_hat = agent.model().theta_hat[:, cell][:, :, cell]
    theta_hat[:, :, cell == len(discovered)] /= max(n - len(discovered), 1)
    return _by_row(theta_hat), _by_row(agent.utility()[:, cell])


def _changed_rows(before: tuple[FloatArray, FloatArray], now: tuple[FloatArray, FloatArray]) -> ChangedRows:
    """Return the rows whose estimate or utility changed."""
    changed = np.flatnonzero(np.any(before[0] != now[0], axis=1) | (before[1] != now[1]))
    return changed, now[0][changed], now[1][changed]


def _by_row(values: FloatArray) -> FloatArray:
    """Return a copy of an array `[a, s, ...]` with rows r = s M + a along the first axis."""
    by_state = np.swapaxes(values, 0, 1)
    return np.array(by_state.reshape(-1, *by_state.shape[2:]))


def _steps(run: Run) -> Iterator[tuple[int, int, int]]:
    yield from zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)
