"""Navigation and reward in worlds that are too large for enumerating policies; shares no code with berlyne."""

from __future__ import annotations

import numpy as np


def best_actions(theta: np.ndarray, target: int) -> np.ndarray:
    """How often each action [s, a] is taken by the policies of fewest expected steps, tied actions equally often."""
    n_actions, n_states, _ = theta.shape
    inner = np.flatnonzero(np.arange(n_states) != target)
    policy, every = np.full((n_states, n_actions), 1.0 / n_actions), np.arange(n_states)
    for _ in range(100):
        chain = np.einsum("sa,ast->st", policy, theta)
        steps = np.zeros(n_states)
        steps[inner] = np.linalg.solve(np.eye(len(inner)) - chain[np.ix_(inner, inner)], np.ones(len(inner)))
        q = (theta @ steps).T
        tied = q <= q.min(axis=1, keepdims=True) + 1e-9 * (1 + q.min(axis=1, keepdims=True))
        better = tied / tied.sum(axis=1, keepdims=True)
        if np.array_equal(better, policy):
            return better
        policy = better
    raise AssertionError(f"no best policy to {target} in a hundred tries from {every}")


def capped_steps(chain: np.ndarray, target: int, cap: int) -> np.ndarray:
    """E[min(T, cap)] as the sum of P(T > t) over t < cap."""
    alive = np.ones(len(chain))
    alive[target] = 0.0
    steps = np.zeros(len(chain))
    for _ in range(cap):
        steps += alive
        alive = chain @ alive
        alive[target] = 0.0
    return steps


def navigation_loss(theta: np.ndarray, theta_hat: np.ndarray, cap: int) -> float:
    """Steps lost, averaged over starts and targets."""
    lost = []
    for target in range(theta.shape[1]):
        mine, best = (
            capped_steps(np.einsum("sa,ast->st", best_actions(believed, target), theta), target, cap)
            for believed in (theta_hat, theta)
        )
        lost.append(mine - best)
    return float(np.mean(lost))


def reward_loss(theta: np.ndarray, theta_hat: np.ndarray, rewards: np.ndarray, horizon: int) -> float:
    """Reward lost, averaged over structures and starts; backwards in time."""
    lost = []
    for reward in rewards:
        totals = []
        for believed in (theta, theta_hat):
            hope, real = np.zeros(len(reward)), np.zeros(len(reward))
            for _ in range(horizon):
                q, paid = (believed @ (reward + hope)).T, (theta @ (reward + real)).T  # [s, a]
                hope = q.max(axis=1)
                tied = q >= hope[:, None] - 1e-11 * np.maximum(1.0, np.abs(hope[:, None]))
                real = np.sum(tied * paid, axis=1) / tied.sum(axis=1)
            totals.append(real)
        lost.append(totals[0] - totals[1])
    return float(np.mean(lost))
