"""The best explorer that knows its world, by exhaustive search over all policies that adapt to what they see.

Plain recursion over the state, the step of the episode and all counts. It shares no code with `berlyne.bounds`.
"""

from functools import cache

import numpy as np


def row_loss(theta, theta_hat, loss):
    """Return the loss of one row, in bits or as an L1 distance."""
    possible = theta > 0
    if loss == "l1":
        return float(np.abs(theta - theta_hat).sum())
    return float(np.sum(theta[possible] * np.log2(theta[possible] / theta_hat[possible])))


def smallest_loss(world, n_steps, loss="missing information", area=False):
    """Return the smallest expected loss after `n_steps` steps, or the smallest expected area under the loss."""
    theta, (n_actions, n_states, _) = world.theta, world.theta.shape
    terminal, horizon, start = set(world.terminal.tolist()), world.horizon, world.episodes.distribution
    counted = world.possible & world.reachable

    @cache
    def loss_of(a, s, seen):
        counts = np.zeros(theta.shape, dtype=np.int64)
        counts[a, s] = seen
        return row_loss(theta[a, s], world.prior.estimate(counts)[a, s], loss)

    def total(counts):
        return sum(loss_of(a, s, counts[a][s]) for a in range(n_actions) for s in range(n_states) if counted[a, s])

    @cache
    def best(s, phase, left, counts):
        now = total(counts) if area or left == 0 else 0.0
        if left == 0:
            return now
        return now + min(after(s, a, phase, left, counts) for a in range(n_actions) if world.possible[a, s])

    def after(s, a, phase, left, counts):
        value = 0.0
        for s_next in np.flatnonzero(theta[a, s]).tolist():
            row = list(counts[a][s])
            row[s_next] += 1
            by_state = (*counts[a][:s], tuple(row), *counts[a][s + 1 :])
            learned = (*counts[:a], by_state, *counts[a + 1 :])
            value += theta[a, s, s_next] * begin(s_next, phase + 1, left - 1, learned)
        return value

    def begin(s, phase, left, counts):
        if s not in terminal and phase != horizon:
            return best(s, phase if horizon else 0, left, counts)
        return sum(start[z] * best(z, 0, left, counts) for z in np.flatnonzero(start).tolist())

    nothing = tuple(tuple((0,) * n_states for _ in range(n_states)) for _ in range(n_actions))
    return sum(start[z] * best(z, 0, n_steps, nothing) for z in np.flatnonzero(start).tolist())
