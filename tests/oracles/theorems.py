"""Theorems 1 and 2 as checks that return how much an estimate violates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


def theorem_1_violation(
    expected_missing: Callable[[Sequence[float]], float],
    estimate: Sequence[float],
    rng: np.random.Generator,
    n_trials: int = 60,
) -> float:
    """By how many bits random perturbations of `estimate` lower the expected missing information.

    Perturbations keep the support, sum to one and range from tiny to total. Not above rounding if
    the estimate is the best one.
    """
    theta_hat = np.asarray(estimate, dtype=float)
    at_estimate, lowest = expected_missing(theta_hat.tolist()), np.inf
    for size in np.geomspace(1e-3, 2.0, n_trials):
        phi = theta_hat * np.exp(size * rng.standard_normal(len(theta_hat)))
        lowest = min(lowest, expected_missing((phi / phi.sum()).tolist()))
    return at_estimate - lowest


def theorem_2_violation(predicted: float, expected_gain: float) -> float:
    """Distance in bits between a prediction and the expected information gain; infinite if it is."""
    return abs(predicted - expected_gain)
