"""Learning curves from a history alone, on dense arrays; shares no code with berlyne.

A rule gives the estimate of one row from the outcomes it has shown. After every step the whole world
is compared with the whole estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from oracles.enumerate_123 import Row

CompiledSpec = Callable[[int, int, list[int]], np.ndarray]
"""The estimate (N,) of row (a, s) from its outcomes in their order."""


def histogram(alpha: float, support: np.ndarray) -> CompiledSpec:
    """Eqs. 7 and 8: a smoothed histogram over the possible outcomes."""

    def estimate(a: int, s: int, outcomes: list[int]) -> np.ndarray:
        c = alpha * support[a, s].astype(float)
        for s_next in outcomes:
            c[s_next] += 1.0
        return c / c.sum()

    return estimate


def enumerated(n_states: int, p_escape: Fraction) -> CompiledSpec:
    """Eq. 9: the mean over all target sets that explain the outcomes."""
    known: dict[tuple[int, frozenset[int]], np.ndarray] = {}

    def estimate(a: int, s: int, outcomes: list[int]) -> np.ndarray:
        key = a, frozenset(outcomes)
        if key not in known:
            row = Row.unseen(n_states, a + 1, p_escape).seeing(*key[1])
            known[key] = np.array([float(p) for p in row.estimate()])
        return known[key]

    return estimate


def learning_curves(
    theta: np.ndarray, rule: CompiledSpec, history: Iterable[tuple[int, int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Missing information in bits and L1 distance, before the first and after every step."""
    n_actions, n_states, _ = theta.shape
    outcomes: dict[tuple[int, int], list[int]] = {(a, s): [] for a, s in np.ndindex(n_actions, n_states)}
    theta_hat = np.array([[rule(a, s, []) for s in range(n_states)] for a in range(n_actions)])
    possible = theta > 0
    missing, distance = [], []

    def measure() -> None:
        missing.append(np.sum(theta[possible] * np.log2(theta[possible] / theta_hat[possible])))
        distance.append(np.abs(theta - theta_hat).sum())

    measure()
    for s, a, s_next in history:
        outcomes[a, s].append(s_next)
        theta_hat[a, s] = rule(a, s, outcomes[a, s])
        measure()
    return np.array(missing), np.array(distance)
