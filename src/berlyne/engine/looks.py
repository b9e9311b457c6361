"""Expected loss of a row after looks at it: a number of looks fixed in advance, or chosen while looking.

A look at a row shows one of its outcomes. The estimate of outcome i after n looks is (alpha_i + n_i) / (kappa + n). The
loss of a row is a sum over outcomes: |theta_i - p_i| for the L1 distance, or a generalized divergence
theta_i log2(theta_i / p_i) - (theta_i - p_i) / ln 2, which is never negative. If the theta_i and the p_i both sum to
one, the latter sum to the Kullback-Leibler divergence.
"""

from __future__ import annotations

import math

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.validation import FloatArray, IntArray

TRACKED = 3
"""Number of outcomes whose counts `stopping_value` tracks, besides all other outcomes together."""
NATS = 1.0 / math.log(2.0)
WIDTH = 10.0
"""Binomial probabilities further than this many standard deviations from the mean are left out."""


@inline
def outcome_loss(theta: float, p: float, absolute: bool) -> float:
    """Loss of an outcome of probability theta whose estimate is p."""
    return abs(theta - p) if absolute else theta * math.log2(theta / p) - (theta - p) * NATS


@kernel
def expected_losses(theta: float, alpha: float, kappa: float, looks: IntArray, absolute: bool) -> FloatArray:
    """Expected loss of one outcome after each number of looks, shape of `looks`.

    Parameters
    ----------
    theta : float
        Probability of the outcome.
    alpha, kappa : float
        Concentration of the outcome, and that of all outcomes of the row.
    looks : ndarray of int
        Numbers of looks.
    absolute : bool
        Whether the loss is the absolute error, or else the generalized divergence in bits.
    """
    expected = np.empty(len(looks))
    for m in range(len(looks)):
        n = looks[m]
        if theta >= 1.0 or n == 0:
            expected[m] = outcome_loss(theta, (alpha + (n if theta >= 1.0 else 0)) / (kappa + n), absolute)
            continue
        odds, spread = theta / (1.0 - theta), WIDTH * math.sqrt(n * theta * (1.0 - theta)) + WIDTH
        mode = int(n * theta)
        log_p = math.lgamma(n + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(n - mode + 1.0)
        at_mode = math.exp(log_p + mode * math.log(theta) + (n - mode) * math.log1p(-theta))
        total, p = 0.0, at_mode
        for j in range(mode, min(n, int(mode + spread)) + 1):
            total += p * outcome_loss(theta, (alpha + j) / (kappa + n), absolute)
            p *= (n - j) / (j + 1.0) * odds
        p = at_mode
        for j in range(mode, max(0, int(mode - spread)), -1):
            p *= j / ((n - j + 1.0) * odds)
            total += p * outcome_loss(theta, (alpha + j - 1) / (kappa + n), absolute)
        expected[m] = total
    return expected


@kernel
def stopping_value(
    theta: FloatArray,
    alpha: FloatArray,
    kappa: float,
    price: float,
    extra: FloatArray,
    counts_rest: bool,
    absolute: bool,
) -> float:
    """Smallest expectation of loss + price * looks over all rules of when to stop looking at a row.

    Backward induction over counts, which shrink by one look at a time. Looking on after the last level is assumed to
    cost one more look and to leave no loss, so the value is a lower bound of that without a limit.

    Parameters
    ----------
    theta : ndarray of shape (4,)
        Probabilities of three tracked outcomes, of which some may be 0, and of the rest.
    alpha : ndarray of shape (4,)
        Concentration of each of them.
    kappa : float
        Concentration of all outcomes of the row.
    price : float
        Cost of a look, positive.
    extra : ndarray of shape (n_levels,)
        Loss that depends on the number of looks alone: 0, 1, ..., n_levels - 1.
    counts_rest : bool
        Whether the loss contains that of the rest, which is then one outcome.
    absolute : bool
        As in `expected_losses`.
    """
    last = len(extra) - 1
    size = [last if theta[i] > 0.0 else 0 for i in range(TRACKED)]
    value = np.empty((size[0] + 2, size[1] + 2, size[2] + 2))
    loss = np.zeros((TRACKED + 1, last + 1))
    for n in range(last, -1, -1):
        for i in range(TRACKED + 1):
            if theta[i] > 0.0 and (i < TRACKED or counts_rest):
                for j in range(n + 1):
                    loss[i, j] = outcome_loss(theta[i], (alpha[i] + j) / (kappa + n), absolute)
        for i in range(min(n, size[0]) + 1):
            for j in range(min(n - i, size[1]) + 1):
                for k in range(min(n - i - j, size[2]) + 1):
                    stop = extra[n] + loss[0, i] + loss[1, j] + loss[2, k] + loss[3, n - i - j - k]
                    look = price
                    if n < last:
                        look += theta[3] * value[i, j, k]
                        if theta[0] > 0.0:
                            look += theta[0] * value[i + 1, j, k]
                        if theta[1] > 0.0:
                            look += theta[1] * value[i, j + 1, k]
                        if theta[2] > 0.0:
                            look += theta[2] * value[i, j, k + 1]
                    value[i, j, k] = min(stop, look)
    return float(value[0, 0, 0])
