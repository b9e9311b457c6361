"""Navigation and reward by enumerating all policies, for a few states only; shares no code with berlyne."""

from __future__ import annotations

from itertools import product

import numpy as np


def chain_of(theta: np.ndarray, policy) -> np.ndarray:
    return np.array([theta[a, s] for s, a in enumerate(policy)])


def expected_steps(chain: np.ndarray, target: int) -> np.ndarray:
    """Expected steps to the target from every state; inf where it may never be reached."""
    n = len(chain)
    arrives = np.zeros(n, dtype=bool)
    arrives[target] = True
    for _ in range(n):
        arrives |= (chain > 0) @ arrives
    doomed = ~arrives
    for _ in range(n):
        moves = chain > 0
        moves[target] = False
        doomed |= moves @ doomed
    steps = np.full(n, np.inf)
    steps[target] = 0.0
    inner = [s for s in range(n) if s != target and not doomed[s]]
    if inner:
        steps[inner] = np.linalg.solve(np.eye(len(inner)) - chain[np.ix_(inner, inner)], np.ones(len(inner)))
    return steps


def best_navigation(theta: np.ndarray, target: int) -> tuple[np.ndarray, list[set[int]]]:
    """Least expected steps from every state, and the actions that some best policy takes there."""
    n_actions, n_states, _ = theta.shape
    times = {p: expected_steps(chain_of(theta, p), target) for p in product(range(n_actions), repeat=n_states)}
    least = np.min(list(times.values()), axis=0)
    best = [p for p, steps in times.items() if np.allclose(steps, least, rtol=1e-10, atol=0)]
    return least, [{p[s] for p in best} for s in range(n_states)]


def mixed_chain(theta: np.ndarray, actions: list[set[int]]) -> np.ndarray:
    """One step of a policy that takes any of these actions with equal chance."""
    return np.array([np.mean([theta[a, s] for a in choice], axis=0) for s, choice in enumerate(actions)])


def capped_steps(chain: np.ndarray, target: int, cap: int) -> np.ndarray:
    """E[min(T, cap)] from the distribution of T, step by step."""
    n = len(chain)
    steps = np.zeros(n)
    for s in range(n):
        at, arrived = np.eye(n)[s], float(s == target)
        at[target] = 0.0
        for t in range(1, cap + 1):
            at = at @ chain
            steps[s] += t * at[target]
            arrived += at[target]
            at[target] = 0.0
        steps[s] += cap * (1.0 - arrived)
    return steps


def best_reward_policy(theta: np.ndarray, rewards: np.ndarray, horizon: int) -> tuple:
    """The policy [steps made, s] that collects most from every start, out of all there are."""
    n_actions, n_states, _ = theta.shape
    stages = list(product(range(n_actions), repeat=n_states))
    return max(product(stages, repeat=horizon), key=lambda policy: reward_of(theta, rewards, policy).sum())


def reward_of(theta: np.ndarray, rewards: np.ndarray, policy) -> np.ndarray:
    """Expected total reward of a time-dependent policy from every start, forwards in time."""
    n_states = theta.shape[1]
    total, at = np.zeros(n_states), np.eye(n_states)
    for stage in policy:
        at = at @ chain_of(theta, stage)
        total += at @ rewards
    return total
