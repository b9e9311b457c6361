"""The target sets of a 1-2-3 row that are consistent with what was seen: how likely they are, how much they differ.

Eq. 9 (`eq:sne`): action a has k = a + 1 targets; state 0 is one of them with probability 1 - p_escape ** k.
"""

from __future__ import annotations

from math import comb
from typing import Literal, NamedTuple

import numpy as np

from berlyne.validation import FloatArray, IntArray

Formula = Literal["exact", "printed"]
"""How state 0 is estimated: by the posterior under Eq. 9, or as the paper prints it (reading R3)."""


def log_consistent(
    n_states: int, p_escape: float, n_targets: IntArray, n_seen: IntArray, first: IntArray
) -> FloatArray:
    """Log prior probability of all target sets that contain the T seen ones; `first`: whether state 0 is in."""
    from scipy.special import comb as combinations

    n, k, t = n_states, n_targets, n_seen
    q = p_escape**k
    with_first = (1.0 - q) / combinations(n - 1, k - 1)
    without = q / combinations(n - 1, k)
    if_seen = with_first * combinations(n - t, k - t)
    # combinations(m, negative) is zero: with all targets known and none of them state 0, it is out
    if_unseen = with_first * combinations(n - 1 - t, k - 1 - t) + without * combinations(n - 1 - t, k - t)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.where(first == 1, if_seen, if_unseen)))


def first_unseen(n_actions: int, p_escape: float, formula: Formula) -> FloatArray:
    """`[a, T]`: estimate of state 0 while it is unseen."""
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
    """`[a, T, first_seen]`: estimate of each unseen state other than 0."""
    n_actions = len(p_first)
    table = np.zeros((n_actions, n_actions + 1, 2))
    for a in range(n_actions):
        for t in range(a + 1):
            left = (a + 1 - t) / (a + 1)  # 1 - t / (a + 1) would not be exactly 1/3 for t = a = 2
            table[a, t, 0] = max(left - p_first[a, t], 0.0) / (n_states - t - 1)
            table[a, t, 1] = left / (n_states - t)
    return table


class Missing(NamedTuple):
    """D(theta || theta_hat) of a row by what is known of it, in bits, arrays `[a, T, first_seen]`.

    Targets count alike, so D has two values: `more` or `less` as state 0 is, or is not, among the unseen targets, and
    it is with a certain `chance`. Once it was seen there is one value only, and both are the same.
    """

    less: FloatArray
    more: FloatArray
    chance: FloatArray

    @property
    def variance(self) -> FloatArray:
        """In bits squared."""
        return np.asarray(self.chance * (1.0 - self.chance) * (self.more - self.less) ** 2)

    def draws(self, known: tuple[IntArray, IntArray, IntArray], n: int) -> FloatArray:
        """Draws of the sum over rows of which so much is known, `(n,)`; always the same for the same rows."""
        rng, total = np.random.default_rng(0), np.zeros(n)
        kinds, n_rows = np.unique(np.stack(known), axis=1, return_counts=True)
        for a, t, first, rows in zip(*kinds, n_rows, strict=True):
            less, more, chance = (values[a, t, first] for values in self)
            total += rows * less + rng.binomial(rows, chance, n) * (more - less)
        return np.asarray(total)


def missing(p_first: FloatArray, p_other: FloatArray, exact_first: FloatArray) -> Missing:
    """What is missing of a row by what is known of it.

    p_first, p_other : estimates of state 0 while unseen `[a, T]`, and of other unseen states `[a, T, first_seen]`.
    exact_first : the posterior probability of seeing state 0 next, `[a, T]`; k times that it is a target.
    """
    n_actions = len(p_first)
    less, more, chance = np.zeros((3, n_actions, n_actions + 1, 2))
    for a in range(n_actions):
        k = a + 1
        for t in range(k):
            is_target = min(k * exact_first[a, t], 1.0)
            others = [-np.log2(k * p) if p > 0.0 else 0.0 for p in p_other[a, t]]
            less[a, t] = more[a, t] = (k - t) * np.array(others) / k
            if is_target > 0.0:
                more[a, t, 0] = (-np.log2(k * p_first[a, t]) + (k - t - 1) * others[0]) / k
            chance[a, t, 0] = is_target
    return Missing(less, more, chance)
