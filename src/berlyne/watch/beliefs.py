"""What an explorer believed at every time of a run, as changes: the rows that moved, and what they moved to.

Rows of a prior of the paper move one at a time. Where rows depend on each other, or states are discovered, one step
moves several. The first `M N` events, at time 0, hold what was believed before any data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from berlyne.agents.base import make_open_state_agent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.exploration.run import Run
from berlyne.information import kl_divergence
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import UniformChoice
from berlyne.strategies.registry import Strategy
from berlyne.validation import FloatArray, IntArray

INSTEAD = "PIG"
"""The utility that is shown of a strategy that has none."""
MAX_ENTRIES = 30_000_000
"""Most estimated probabilities that a page is made of."""

Moved = tuple[IntArray, FloatArray, FloatArray]
"""Rows r = s M + a (n,), their estimates (n, N), their utilities (n,)."""


class Events(NamedTuple):
    """Changes of rows in the order of time.

    time, row : (E,), after how many steps which row r = s M + a came to be so.
    estimates : (E, N), theta_hat of the row from then on.
    utility : (E,), its utility; missing : (E,), D(theta || theta_hat) in bits, 0 in terminal states.
    """

    time: IntArray
    row: IntArray
    estimates: FloatArray
    utility: FloatArray
    missing: FloatArray


def displayed_utility(strategy: Strategy) -> Any:
    """The utility that is shown: the strategy's own, or PIG if it has none."""
    return INSTEAD if strategy.utility is None else strategy.utility


def belief_events(run: Run) -> Events:
    """All that an explorer came to believe along a run, from its path alone."""
    world, n_rows = run.world, run.world.n_states * run.world.n_actions
    time, rows, estimates, utilities, entries = [], [], [], [], 0
    for t, (row, estimate, utility) in enumerate(_believed(run)):
        entries += estimate.size
        if entries > MAX_ENTRIES:
            raise ValueError(
                f"the beliefs of {run.strategy} in {world.n_states:,} states are more than a page can hold after "
                f"{t:,} of {run.n_steps:,} steps; watch fewer steps or a smaller world"
            )
        time.append(np.full(len(row), t))
        rows.append(row)
        estimates.append(estimate)
        utilities.append(utility)
    row, estimate = np.concatenate(rows), np.concatenate(estimates)
    theta = world.theta.transpose(1, 0, 2).reshape(n_rows, world.n_states)
    missing = np.maximum(kl_divergence(theta[row], estimate), 0.0)
    missing[world.episodes.is_terminal[row // world.n_actions]] = 0.0
    return Events(np.concatenate(time), row, estimate, np.concatenate(utilities), missing)


def _believed(run: Run) -> Iterator[Moved]:
    """What moved at each time: all rows at first, then those of every step."""
    shown = Strategy("shown", UniformChoice(), displayed_utility(run.strategy), run.strategy.untried)
    prior: Any = run.world.prior
    if discovers_states(prior):
        yield from _discovering(run, make_open_state_agent(prior, run.world.n_actions, shown))
        return
    world = run.world
    agent = NumpyAgent(InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions), shown)
    if len(world.terminal):
        agent.mark_terminal(world.terminal)
    before = _by_row(agent.view.theta_hat), _by_row(agent.view.utility)
    yield np.arange(len(before[0])), *before
    for s, a, s_next in _steps(run):
        agent.observe(s, a, s_next)
        if not agent.dependent:
            yield _row(s * world.n_actions + a), agent.view.theta_hat[a, s][None].copy(), agent.view.utility[a, s][None]
            continue
        now = _by_row(agent.view.theta_hat), _by_row(agent.view.utility)
        yield _difference(before, now)
        before = now


def _discovering(run: Run, agent: OpenStateAgent) -> Iterator[Moved]:
    """The same of an explorer that discovers its states; what it expects elsewhere is spread over all the others.

    When all are discovered there are no others, though it does not know: then rows sum to less than one.
    """
    if len(run.world.terminal):
        agent.mark_terminal(run.world.terminal)
    agent.discover(int(run.states[0]))
    before = _spread(run, agent)
    yield np.arange(len(before[0])), *before
    for t, (s, a, s_next) in enumerate(_steps(run)):
        agent.observe(s, a, s_next)
        agent.discover(int(run.states[t + 1]))
        now = _spread(run, agent)
        yield _difference(before, now)
        before = now


def _spread(run: Run, agent: OpenStateAgent) -> tuple[FloatArray, FloatArray]:
    """Estimates (M N, N) and utilities (M N,) in the states of the world, from those of a mind that has cells."""
    n, found = run.world.n_states, agent.discovered
    cell = np.full(n, len(found))
    cell[found] = np.arange(len(found))
    theta_hat = agent.model().theta_hat[:, cell][:, :, cell]
    theta_hat[:, :, cell == len(found)] /= max(n - len(found), 1)
    return _by_row(theta_hat), _by_row(agent.utility()[:, cell])


def _difference(before: tuple[FloatArray, FloatArray], now: tuple[FloatArray, FloatArray]) -> Moved:
    """The rows that are not as they were."""
    moved = np.flatnonzero(np.any(before[0] != now[0], axis=1) | (before[1] != now[1]))
    return moved, now[0][moved], now[1][moved]


def _by_row(values: FloatArray) -> FloatArray:
    """A copy of an array `[a, s, ...]` by rows r = s M + a."""
    by_state = np.swapaxes(values, 0, 1)
    return np.array(by_state.reshape(-1, *by_state.shape[2:]))


def _row(number: int) -> IntArray:
    return np.array([number], dtype=np.int64)


def _steps(run: Run) -> Iterator[tuple[int, int, int]]:
    yield from zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)
