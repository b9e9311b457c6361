"""Ranks, Friedman's test, its post-hoc comparisons, and how large the differences are.

Paper: Secs. 3.2 to 3.7; readings R14 to R17. Strategies are ranked within each world, because worlds differ more than
strategies do; mean ranks are then compared all with all by the studentised range (Nemenyi, as in Hochberg &
Tamhane). Less is better throughout: rank 1 is the smallest area or loss. Arrays `(n, k)` hold n worlds and
k strategies.

Ties are treated as in MATLAB's `friedman` and `multcompare`: tied values share their mean rank, and the
variance of a rank is what the ranks really have, k (k + 1) / 12 less what ties take away.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray, check_count, check_number


class Friedman(NamedTuple):
    """Friedman's statistic, its degrees of freedom, and the p-value of no difference at all."""

    statistic: float
    df: int
    p: float


class Estimate(NamedTuple):
    """A number and its confidence interval."""

    value: float
    low: float
    high: float


def embodiment_index(area_greedy: ArrayLike, area_unembodied: ArrayLike) -> FloatArray:
    """(A_greedy - A_unembodied) / A_unembodied of each world; arrays of one shape (Sec. 3.3; reading R14)."""
    greedy, free = np.asarray(area_greedy, dtype=float), np.asarray(area_unembodied, dtype=float)
    return np.asarray((greedy - free) / free)


def ranks(values: ArrayLike) -> FloatArray:
    """Ranks within each world, `(n, k)` like `values`, 1 for the smallest; ties share their mean rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(_checked(values), axis=1), dtype=float)


def rank_variance(ranked: ArrayLike) -> float:
    """Variance of a rank within a world, averaged over worlds: k (k + 1) / 12 if there are no ties.

    `ranked` is `(n, k)`. This is `stats.sigma` squared of MATLAB's `friedman`.
    """
    ranked_ = np.asarray(ranked, dtype=float)
    n, k = ranked_.shape
    return float(np.sum((ranked_ - (k + 1) / 2) ** 2) / (n * (k - 1)))


def friedman(values: ArrayLike) -> Friedman:
    """Friedman's test of no difference between k strategies in n worlds; `values` is `(n, k)`.

    Corrected for ties; p from the chi-squared distribution with k - 1 degrees of freedom.
    """
    return friedman_of_ranks(ranks(values))


def friedman_of_ranks(ranked: ArrayLike) -> Friedman:
    """Friedman's test of ranks `(n, k)`, or of ranks in several orders of the same worlds, averaged (reading R19).

    If strategies do not differ, those of one world may change places; the variance of what stands there, whatever
    it is, is all that the test needs to know.
    """
    from scipy.stats import chi2

    ranked_ = _checked(ranked)
    n, k = ranked_.shape
    variance = rank_variance(ranked_)
    if variance == 0.0:
        return Friedman(0.0, k - 1, 1.0)
    statistic = float(n * np.sum((ranked_.mean(axis=0) - (k + 1) / 2) ** 2) / variance)
    return Friedman(statistic, k - 1, float(chi2.sf(statistic, k - 1)))


def mean_rank_p_values(values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """p-values of all pairs of k strategies, `(k, k)`, and their mean ranks, `(k,)`; `values` is `(n, k)`.

    Reading R15: a difference of mean ranks is compared with the range of k normal variates of the
    variance of a mean rank.
    """
    return p_values_of_ranks(ranks(values))


def p_values_of_ranks(ranked: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The same of ranks `(n, k)`, which may be averages as in `friedman_of_ranks`."""
    ranked_ = _checked(ranked)
    n, k = ranked_.shape
    mean, variance = ranked_.mean(axis=0), rank_variance(ranked_)
    p = np.ones((k, k))
    if variance > 0.0:
        i, j = np.triu_indices(k, 1)
        p[i, j] = p[j, i] = studentized_range_sf(np.abs(mean[i] - mean[j]) / np.sqrt(variance / n), k)
    return p, mean


def critical_difference(k: int, n: int, alpha: float) -> float:
    """The difference of mean ranks of k strategies in n worlds that has a p-value of `alpha`, without ties (R16)."""
    return studentized_range_isf(alpha, k) * float(np.sqrt(k * (k + 1) / 12.0 / check_count("n", n, 1)))


def reach_of_ranks(ranked: ArrayLike, alpha: float) -> float:
    """The difference of mean ranks `(n, k)`, averages or not, that has a p-value of `alpha` (Fig. 8)."""
    ranked_ = _checked(ranked)
    n, k = ranked_.shape
    return studentized_range_isf(alpha, k) * float(np.sqrt(rank_variance(ranked_) / n))


def studentized_range_sf(q: ArrayLike, k: int) -> FloatArray:
    """Probability that the range of k standard normal variates exceeds q, accurate far into the tail; shape of `q`.

    The largest of them, z, has density k phi(z) Phi(z)^(k-1); given it, at least one other lies below z - q with
    probability 1 - (1 - Phi(z - q) / Phi(z))^(k-1). The sum over a grid of an integrand this smooth is exact
    to rounding.
    """
    from scipy.special import log_ndtr

    check_count("k", k, 2)
    q_ = np.atleast_1d(np.asarray(q, dtype=float))
    step = 0.125
    z = np.arange(-10.0, 10.0, step) + q_[..., None] / 2.0
    below_z = log_ndtr(z)
    log_density = np.log(k) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi) + (k - 1) * below_z
    below = np.minimum(np.exp(log_ndtr(z - q_[..., None]) - below_z), 1.0)
    with np.errstate(divide="ignore"):
        some = -np.expm1((k - 1) * np.log1p(-below))
    p = np.minimum(np.sum(np.exp(log_density) * some, axis=-1) * step, 1.0)
    return np.asarray(np.where(q_ <= 0.0, 1.0, p).reshape(np.shape(q)))


@lru_cache(maxsize=1024)
def studentized_range_isf(alpha: float, k: int) -> float:
    """The range that k standard normal variates exceed with probability `alpha`."""
    from scipy.optimize import brentq

    check_number("alpha", alpha, 0.0, 1.0, open_low=True)
    if alpha == 1.0:
        return 0.0
    log_alpha = np.log(alpha)

    def excess(q: float) -> float:
        return float(np.log(studentized_range_sf(q, k)) - log_alpha)

    return float(brentq(excess, 1e-9, 50.0, xtol=1e-13))


def relative_difference(values: ArrayLike, reference: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean over worlds of `values / reference - 1`, and its confidence interval (Student's t).

    Both are `(n,)`. Worlds in which the reference is zero say nothing and are left out.
    """
    x, y = _pair(values, reference)
    kept = y != 0.0
    return _student(x[kept] / y[kept] - 1.0, level)


def share_larger(values: ArrayLike, reference: ArrayLike) -> float:
    """Share of worlds in which `values` exceed `reference`, both `(n,)`; ties count half."""
    x, y = _pair(values, reference)
    return float(np.mean((x > y) + 0.5 * (x == y)))


def _student(sample: FloatArray, level: float) -> Estimate:
    """Mean of a sample and its confidence interval; NaN where there is too little data."""
    from scipy.special import stdtrit

    if len(sample) < 2:
        return Estimate(float(sample[0]) if len(sample) else float("nan"), float("nan"), float("nan"))
    mean = float(sample.mean())
    reach = float(stdtrit(len(sample) - 1, 0.5 + level / 2) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return Estimate(mean, mean - reach, mean + reach)


def _pair(values: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(values, dtype=float), np.asarray(reference, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"values have shape {x.shape} and the reference {y.shape}; both must be (n_worlds,)")
    return x, y


def _checked(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 2 or np.any(np.isnan(array)):
        raise ValueError(
            f"values have shape {array.shape}; they must be numbers (n_worlds, n_strategies of at least 2)"
        )
    return array
