"""Tasks with terminal states, discounts and horizons, by enumerating policies; shares no code with berlyne."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np


def chain_of(theta: np.ndarray, chances: np.ndarray, stay: Sequence[int]) -> np.ndarray:
    """One step of a policy `chances[s, a]`; the states `stay` are never left."""
    chain = np.einsum("sa,ast->st", chances, theta)
    chain[list(stay)] = np.eye(len(chain))[list(stay)]
    return chain


def steps_of(theta, policy, target, ends, gamma) -> np.ndarray:
    """Expected steps, with discount, of a policy [t, s, a] from every start, forwards in time.

    Every step before the target counts, and so does every step that is left after the episode ended elsewhere.
    """
    n = theta.shape[1]
    steps, at = np.zeros(n), np.eye(n)
    for t, chances in enumerate(policy):
        steps += gamma**t * (1.0 - at[:, target])
        at = at @ chain_of(theta, chances, {target, *ends})
    return steps


def earnings_of(theta, policy, rewards, ends, gamma) -> np.ndarray:
    """Expected reward, with discount, of a policy [t, s, a]: paid on entering, nothing after an end."""
    n = theta.shape[1]
    total, at = np.zeros(n), np.eye(n)
    goes_on = ~np.isin(np.arange(n), list(ends))
    for t, chances in enumerate(policy):
        at = (at * goes_on) @ np.einsum("sa,ast->st", chances, theta)  # who is at an end is no longer anywhere
        total += gamma**t * (at @ rewards)
    return total


def pure_policies(theta: np.ndarray, allowed: np.ndarray | None = None) -> list[np.ndarray]:
    """All policies [s, a] without chance, of actions that are allowed `[a, s]`."""
    n_actions, n_states, _ = theta.shape
    allowed = np.ones((n_actions, n_states), dtype=bool) if allowed is None else allowed
    choices = [np.flatnonzero(allowed[:, s]) for s in range(n_states)]
    return [np.eye(n_actions)[list(actions)] for actions in product(*choices)]


def best_in_time(theta, horizon, value, allowed=None) -> list[np.ndarray]:
    """The policy [t, s, a] of largest value, summed over starts, out of all there are."""
    return max(product(pure_policies(theta, allowed), repeat=horizon), key=lambda policy: value(policy).sum())


def best_stationary(theta, target, ends, gamma, missed, allowed=None) -> np.ndarray:
    """The policy [s, a] of fewest expected steps without a limit, where ending elsewhere costs `missed` steps."""
    n_states = theta.shape[1]
    costs = np.where(np.isin(np.arange(n_states), list(ends)), missed, 1.0)
    costs[target] = 0.0

    def value(chances):
        chain = chain_of(theta, chances, ())
        chain[[target, *ends]] = 0.0
        return np.linalg.solve(np.eye(n_states) - gamma * chain, costs)

    return min(pure_policies(theta, allowed), key=lambda chances: value(chances).sum())
