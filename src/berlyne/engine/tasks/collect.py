"""Reward acquisition for twelve reward structures at a time, by backward induction.

Paper: Sec. 3.7; reading R20. The policy that is best for a model depends on the steps left. It is worked out
backwards in time, and its value in the world along with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.engine.compile import bare_kernel
from berlyne.engine.graph import Graph
from berlyne.engine.tasks.lanes import LANES, Chain, best_of, put, value_of_best, weighted


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


def first_ledger(n_states: int, n_actions: int) -> Ledger:
    """Room for a world of this size."""
    return Ledger(*(np.empty(n * LANES) for n in (n_states, n_states, n_states, n_actions, n_actions)))


@bare_kernel
def step_back(model: Chain, truth: Chain, ledger: Ledger, reward: FloatArray, lowest: bool, total: FloatArray) -> None:
    """One step more to go: from what is believed and what is real in `total[s, lane]`, to the same one step earlier."""
    believed, hoped, entered, q, real = ledger
    n_actions = truth.graph.n_actions
    for i in range(len(reward)):
        hoped[i] = reward[i] + believed[i]
        entered[i] = reward[i] + total[i]
    for s in range(len(truth.graph.start)):
        weighted(q, model, hoped, s)
        weighted(real, truth, entered, s)
        best = best_of(q, n_actions)
        put(believed, s, best)
        put(total, s, value_of_best(best, q, real, n_actions, lowest))


@bare_kernel
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
            for _ in range(horizon):
                step_back(model, truth, ledger, reward, lowest, total)
