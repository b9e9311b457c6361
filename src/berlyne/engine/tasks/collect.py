"""Reward acquisition, and navigation within a horizon, for twelve problems at a time, by backward induction.

Paper: Sec. 3.7; reading R20. The policy that is best for a model depends on the number of remaining steps. It is
computed backwards in time, together with its value in the true world. Far from the end, every step adds the same reward
in all states. Once a step does so, all earlier steps add the same reward too, times gamma for every step, and the total
is known. A terminal state has no transitions, so nothing is earned after it.

Navigation within a horizon is the same problem: every step costs one, until the target is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.engine.successor_graph import round_up
from berlyne.engine.tasks.lanes import (
    LANES,
    Chain,
    ChainBatch,
    expected_values,
    forbid,
    line_maximum,
    set_line,
    value_of_best,
)
from berlyne.engine.tasks.walk import geometric
from berlyne.validation import BoolArray, FloatArray, IntArray

CHECK = 8
"""Number of steps between checks whether all states gain the same."""
SAME_GAIN = 1e-12
"""Largest difference between gains of a step that count as the same."""


class Ledger(NamedTuple):
    """Scratch: rewards of twelve reward structures, expected by the model and real.

    Attributes
    ----------
    expected : ndarray
        Reward that the model expects in the remaining steps, `[s, lane]`.
    expected_on_entry, real_on_entry : ndarray
        Reward on entering s and in the steps after it, `[s, lane]`.
    q, real : ndarray
        Expected and real reward of the actions of one state, `[a, lane]`.
    """

    expected: FloatArray
    expected_on_entry: FloatArray
    real_on_entry: FloatArray
    q: FloatArray
    real: FloatArray


class Rewards(NamedTuple):
    """Reward structures, and what they yield.

    Attributes
    ----------
    rewards : ndarray of shape (B, N 12)
        Reward for entering a state; block b holds reward structures 12 b, ..., 12 b + 11.
    totals : ndarray of shape (K, B, N 12)
        Expected total reward for each model, which is written.
    targets : ndarray of int
        State at which each problem ends, for navigation; empty for rewards.
    terminal : ndarray of int
        Terminal states. With targets, problems go on in them and never leave them.
    allowed : ndarray of bool, shape (N M,)
        Whether the action of each row s M + a is allowed; empty if all are.
    """

    rewards: FloatArray
    totals: FloatArray
    targets: IntArray
    terminal: IntArray
    allowed: BoolArray


def new_ledger(n_states: int, n_actions: int) -> Ledger:
    """Allocate scratch for a world of this size."""
    padded = round_up(n_actions)
    return Ledger(*(np.empty(n * LANES) for n in (n_states, n_states, n_states, padded, padded)))


@inline
def step_back(
    model: Chain, truth: Chain, ledger: Ledger, payoff: Rewards, b: int, gamma: float, lowest: bool, total: FloatArray
) -> None:
    """Go one step of block b back in time: update the expected reward, and the real reward in `total[s, lane]`."""
    reward = payoff.rewards[b]
    expected, q, real = ledger.expected, ledger.q, ledger.real
    expected_on_entry, real_on_entry = ledger.expected_on_entry, ledger.real_on_entry
    n_actions = truth.graph.n_actions
    for i in range(len(reward)):
        expected_on_entry[i] = reward[i] + gamma * expected[i]
        real_on_entry[i] = reward[i] + gamma * total[i]
    for s in range(len(truth.graph.start)):
        expected_values(q, model, expected_on_entry, s)
        forbid(q, payoff.allowed, s, n_actions, -np.inf)
        expected_values(real, truth, real_on_entry, s)
        best = line_maximum(q, n_actions)
        set_line(expected, s, best)
        set_line(total, s, value_of_best(best, q, real, n_actions, lowest))


@inline
def differ(after: FloatArray, on_entry: FloatArray, reward: FloatArray, gamma: float, lane: int) -> bool:
    """Return whether the last step added more in one state than in another; `on_entry` is from before that step."""
    low, high = np.inf, -np.inf
    for i in range(lane, len(reward), LANES):
        added = after[i] - (on_entry[i] - reward[i]) / gamma
        low, high = min(low, added), max(high, added)
    return high - low > SAME_GAIN


@inline
def is_steady(ledger: Ledger, reward: FloatArray, gamma: float, total: FloatArray) -> bool:
    """Return whether the last step added the same in all states, to the expected and to the real reward.

    Then every earlier step does so too: all q[a] grow by the same number, so the same actions are best.
    """
    for lane in range(LANES):
        if differ(ledger.expected, ledger.expected_on_entry, reward, gamma, lane):
            return False
        if differ(total, ledger.real_on_entry, reward, gamma, lane):
            return False
    return True


@inline
def stop_at_targets(ledger: Ledger, payoff: Rewards, b: int, total: FloatArray) -> None:
    """Correct the last step of block b: terminal states are never left, and all is over at the targets."""
    for s in payoff.terminal:
        for i in range(s * LANES, (s + 1) * LANES):
            ledger.expected[i], total[i] = ledger.expected_on_entry[i], ledger.real_on_entry[i]
    for lane in range(min(LANES, len(payoff.targets) - b * LANES)):
        i = payoff.targets[b * LANES + lane] * LANES + lane
        ledger.expected[i] = total[i] = 0.0


@kernel
def collect(
    models: ChainBatch, truth: Chain, ledger: Ledger, payoff: Rewards, horizon: int, gamma: float, lowest: bool
) -> None:
    """Compute the expected total reward in the true world of the policies that are best for each model.

    Parameters
    ----------
    models : ChainBatch
        The models.
    truth : Chain
        The true world.
    ledger : Ledger
        Scratch.
    payoff : Rewards
        The rewards, and the totals that are written.
    horizon : int
        Number of steps.
    gamma : float
        Discount: the reward of step t counts gamma^(t - 1).
    lowest : bool
        Whether the lowest of tied actions is taken; otherwise all with equal probability.
    """
    for m in range(len(models.weights)):
        model = Chain(models.graph, models.weights[m])
        for b in range(len(payoff.rewards)):
            reward, total = payoff.rewards[b], payoff.totals[m, b]
            for i in range(len(total)):
                ledger.expected[i] = total[i] = 0.0
            for n in range(1, horizon + 1):
                step_back(model, truth, ledger, payoff, b, gamma, lowest, total)
                if len(payoff.targets):
                    stop_at_targets(ledger, payoff, b, total)
                if n % CHECK == 0 and is_steady(ledger, reward, gamma, total):
                    factor = geometric(1.0 - gamma, horizon - n)
                    for i in range(len(total)):
                        total[i] += factor * (total[i] - (ledger.real_on_entry[i] - reward[i]) / gamma)
                    break
