"""Probabilities of the target sets of a 1-2-3 row that are consistent with the observations, and missing information.

Eq. 9 (`eq:sne`): action a has k = a + 1 targets; state 0 is one of them with probability 1 - p_escape ** k.
"""

from __future__ import annotations

from math import comb
from typing import Literal, NamedTuple

import numpy as np

from berlyne.validation import FloatArray, IntArray

Formula = Literal["exact", "printed"]
"""Estimate of state 0: the posterior under Eq. 9, or the expression that the paper prints (reading R3)."""


def log_consistent(
    n_states: int, p_escape: float, n_targets: IntArray, n_seen: IntArray, first: IntArray
) -> FloatArray:
    """Log prior probability of the target sets that contain the T seen targets; `first` is 1 if state 0 was seen."""
    from scipy.special import comb as combinations

    n, k, t = n_states, n_targets, n_seen
    q = p_escape**k
    with_first = (1.0 - q) / combinations(n - 1, k - 1)
    without = q / combinations(n - 1, k)
    if_seen = with_first * combinations(n - t, k - t)
    # combinations(m, negative) is zero: if all targets are known and state 0 is not one of them, it is excluded
    if_unseen = with_first * combinations(n - 1 - t, k - 1 - t) + without * combinations(n - 1 - t, k - t)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.where(first == 1, if_seen, if_unseen)))


def first_unseen(n_actions: int, p_escape: float, formula: Formula) -> FloatArray:
    """Estimate of state 0 while it is unseen, `[a, T]`."""
    table = np.zeros((n_actions, n_actions + 1))
    for a in range(n_actions):
        k, q = a + 1, p_escape ** (a + 1)
        t = np.arange(k)
        if formula == "exact":
            weight = 1.0 - q + q * k / (k - t)
        else:
            weight = np.array([1.0 + (comb(k - 1, i) - 1.0) * q for i in range(k)])
        table[a, :k] = (1.0 - q) / (k * weight)
    return table


def other_unseen(n_states: int, p_first: FloatArray) -> FloatArray:
    """Estimate of each unseen state other than 0, `[a, T, first_seen]`."""
    n_actions = len(p_first)
    table = np.zeros((n_actions, n_actions + 1, 2))
    for a in range(n_actions):
        for t in range(a + 1):
            p_unseen = (a + 1 - t) / (a + 1)  # 1 - t / (a + 1) would not be exactly 1/3 for t = a = 2
            table[a, t, 0] = max(p_unseen - p_first[a, t], 0.0) / (n_states - t - 1)
            table[a, t, 1] = p_unseen / (n_states - t)
    return table


class Missing(NamedTuple):
    """D(theta || theta_hat) of a row by the knowledge about it, in bits; arrays `[a, T, first_seen]`.

    All targets have the same probability, so D has only two values. They depend on whether state 0 is one of the unseen
    targets. Once state 0 was seen, both values are equal.

    Attributes
    ----------
    without_first : ndarray
        D if state 0 is not one of the unseen targets.
    with_first : ndarray
        D if state 0 is one of the unseen targets.
    p_first : ndarray
        Probability that state 0 is one of the unseen targets.
    """

    without_first: FloatArray
    with_first: FloatArray
    p_first: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Variance of D, in bits squared."""
        return np.asarray(self.p_first * (1.0 - self.p_first) * (self.with_first - self.without_first) ** 2)

    def draws(self, knowledge: tuple[IntArray, IntArray, IntArray], n: int) -> FloatArray:
        """Draw the sum of D over rows, `(n,)`; the draws are the same for the same rows.

        Parameters
        ----------
        knowledge : tuple of three ndarrays
            a, T and first_seen of each row.
        n : int
            Number of draws.

        Returns
        -------
        ndarray of shape (n,)
            The sums, in bits.
        """
        rng, total = np.random.default_rng(0), np.zeros(n)
        kinds, n_rows = np.unique(np.stack(knowledge), axis=1, return_counts=True)
        for a, t, first, rows in zip(*kinds, n_rows, strict=True):
            without_first, with_first, p_first = (values[a, t, first] for values in self)
            total += rows * without_first + rng.binomial(rows, p_first, n) * (with_first - without_first)
        return np.asarray(total)


def missing(p_first: FloatArray, p_other: FloatArray, exact_first: FloatArray) -> Missing:
    """Missing information of a row by the knowledge about it.

    Parameters
    ----------
    p_first : ndarray `[a, T]`
        Estimate of state 0 while it is unseen.
    p_other : ndarray `[a, T, first_seen]`
        Estimate of each other unseen state.
    exact_first : ndarray `[a, T]`
        Posterior probability that the next outcome is state 0; k times this is the probability that it is a target.

    Returns
    -------
    Missing
        The two values of D and the probability of the second.
    """
    n_actions = len(p_first)
    without_first, with_first, p_target = np.zeros((3, n_actions, n_actions + 1, 2))
    for a in range(n_actions):
        k = a + 1
        for t in range(k):
            is_target = min(k * exact_first[a, t], 1.0)
            others = [-np.log2(k * p) if p > 0.0 else 0.0 for p in p_other[a, t]]
            without_first[a, t] = with_first[a, t] = (k - t) * np.array(others) / k
            if is_target > 0.0:
                with_first[a, t, 0] = (-np.log2(k * p_first[a, t]) + (k - t - 1) * others[0]) / k
            p_target[a, t, 0] = is_target
    return Missing(without_first, with_first, p_target)
