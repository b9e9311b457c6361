"""Reward acquisition for twelve reward structures at a time, by backward induction.

Paper: Sec. 3.7; reading R20. The policy that is best for a model depends on the steps left. It is worked out
backwards in time, and its value in the world along with it.
"""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.kernels.choose import TIE
from berlyne.kernels.compile import kernel
from berlyne.kernels.dozen import LANES, value_of_best, weighted
from berlyne.kernels.navigate import Chain


@kernel
def collect(
    model: Chain, weights: FloatArray, truth: Chain, rewards: FloatArray, horizon: int, lowest: bool, out: FloatArray
) -> None:
    """Expected total reward, in the true world, of the policies that are best for each model.

    model : slots of all the models; weights : (K, slots M), their probabilities.
    rewards : (B, N 12), for entering a state; block b holds reward structures 12 b, ..., 12 b + 11.
    lowest : whether the lowest of tied actions is taken, rather than any with equal chance.
    out : (K, B, N 12).
    """
    n_states, n_actions = len(truth.start), truth.n_actions
    believed, hoped, entered = np.empty(n_states * LANES), np.empty(n_states * LANES), np.empty(n_states * LANES)
    q, real = np.empty(n_actions * LANES), np.empty(n_actions * LANES)
    for m in range(len(weights)):
        weight = weights[m]
        for b in range(len(rewards)):
            reward, total = rewards[b], out[m, b]
            believed[:] = 0.0
            total[:] = 0.0
            for _ in range(horizon):
                for i in range(n_states * LANES):
                    hoped[i] = reward[i] + believed[i]
                    entered[i] = reward[i] + total[i]
                for s in range(n_states):
                    m_first, t_first = model.start[s], truth.start[s]
                    weighted(q, model.succ, weight, hoped, m_first, m_first + model.length[s], n_actions)
                    weighted(real, truth.succ, truth.weight, entered, t_first, t_first + truth.length[s], n_actions)
                    value_of_best(q, real, n_actions, lowest, TIE, s, believed, total)
