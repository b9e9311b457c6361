"""Reward acquisition for twelve reward structures at a time, by backward induction.

Paper: Sec. 3.7; reading R20. The policy that is best for a model depends on the steps left. It is worked out
backwards in time, and its value in the world along with it. Far from the end every step adds the same in all states;
once it does so it does for good, and what the steps left add is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.successor_graph import Graph
from berlyne.engine.tasks.lanes import LANES, Chain, expected_values, line_maximum, set_line, value_of_best
from berlyne.validation import FloatArray

CHECK = 8
"""Steps from one look at what they add to the next."""
ALIKE = 1e-12
"""What a step adds is the same in all states if it differs by no more."""


class Ledger(NamedTuple):
    """Scratch: what twelve reward structures promise, and pay.

    believed : [s, lane], what the model expects in the steps left.
    hoped, entered : [s, lane], reward on entering s and thereafter, believed and real.
    q, real : [a, lane], the same for the actions of one state.
    """

    believed: FloatArray
    hoped: FloatArray
    entered: FloatArray
    q: FloatArray
    real: FloatArray


def new_ledger(n_states: int, n_actions: int) -> Ledger:
    """Room for a world of this size."""
    return Ledger(*(np.empty(n * LANES) for n in (n_states, n_states, n_states, n_actions, n_actions)))


@jit_nrt_off
def step_back(model: Chain, truth: Chain, ledger: Ledger, reward: FloatArray, lowest: bool, total: FloatArray) -> None:
    """One step more to go: from what is believed and what is real in `total[s, lane]`, to the same one step earlier."""
    believed, hoped, entered, q, real = ledger
    n_actions = truth.graph.n_actions
    for i in range(len(reward)):
        hoped[i] = reward[i] + believed[i]
        entered[i] = reward[i] + total[i]
    for s in range(len(truth.graph.start)):
        expected_values(q, model, hoped, s)
        expected_values(real, truth, entered, s)
        best = line_maximum(q, n_actions)
        set_line(believed, s, best)
        set_line(total, s, value_of_best(best, q, real, n_actions, lowest))


@jit_inline
def differ(after: FloatArray, entered: FloatArray, reward: FloatArray, lane: int) -> bool:
    """Whether the last step has added more in one state than in another; `entered` is from before it."""
    low, high = np.inf, -np.inf
    for i in range(lane, len(reward), LANES):
        added = after[i] - (entered[i] - reward[i])
        low, high = min(low, added), max(high, added)
    return high - low > ALIKE


@jit_nrt_off
def is_steady(ledger: Ledger, reward: FloatArray, total: FloatArray) -> bool:
    """Whether the last step has added the same in all states, to what is believed and to what is real.

    Then so will every step before it: each q[a] grows by one number, so the same actions are best.
    """
    for lane in range(LANES):
        if differ(ledger.believed, ledger.hoped, reward, lane) or differ(total, ledger.entered, reward, lane):
            return False
    return True


@jit_nrt_off
def collect(
    graph: Graph,
    weights: FloatArray,
    truth: Chain,
    ledger: Ledger,
    rewards: FloatArray,
    horizon: int,
    lowest: bool,
    out: FloatArray,
) -> None:
    """Expected total reward, in the true world, of the policies that are best for each model.

    graph, weights : of the models, weights (K, slots stride).
    rewards : (B, N 12), for entering a state; block b holds reward structures 12 b, ..., 12 b + 11.
    lowest : whether the lowest of tied actions is taken, rather than any with equal chance.
    out : (K, B, N 12).
    """
    for m in range(len(weights)):
        model = Chain(graph, weights[m])
        for b in range(len(rewards)):
            reward, total = rewards[b], out[m, b]
            for i in range(len(total)):
                ledger.believed[i] = total[i] = 0.0
            for n in range(1, horizon + 1):
                step_back(model, truth, ledger, reward, lowest, total)
                if n % CHECK == 0 and is_steady(ledger, reward, total):
                    for i in range(len(total)):
                        total[i] += (horizon - n) * (total[i] - (ledger.entered[i] - reward[i]))
                    break
