"""Ranks, Friedman's test, its post-hoc comparisons, and effect sizes.

Paper: Secs. 3.2 to 3.7; readings R14 to R17. Strategies are ranked within each world, because worlds differ more than
strategies do. The mean ranks of all pairs are then compared by the studentised range (Nemenyi, as in Hochberg &
Tamhane). Smaller is better: rank 1 is the smallest area or loss. Arrays `(n, k)` contain n worlds and k strategies.

Ties are treated as in MATLAB's `friedman` and `multcompare`. Tied values share their mean rank. The variance of a rank
is that of the actual ranks: k (k + 1) / 12 without ties, and less with ties.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray, check_count, check_number


class Friedman(NamedTuple):
    """Result of Friedman's test.

    Attributes
    ----------
    statistic : float
        Friedman's statistic, corrected for ties.
    df : int
        Degrees of freedom, k - 1.
    p : float
        p-value of the hypothesis that strategies do not differ.
    """

    statistic: float
    df: int
    p: float


class Estimate(NamedTuple):
    """A number and its confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Limits of the confidence interval.
    """

    value: float
    low: float
    high: float


def embodiment_index(area_greedy: ArrayLike, area_unembodied: ArrayLike) -> FloatArray:
    """Embodiment index of each world, (A_greedy - A_unembodied) / A_unembodied.

    Paper: Sec. 3.3; reading R14.

    Parameters
    ----------
    area_greedy, area_unembodied : array_like
        Areas under the learning curves of both strategies, of the same shape.

    Returns
    -------
    ndarray
        The index, of the same shape.
    """
    greedy, unembodied = np.asarray(area_greedy, dtype=float), np.asarray(area_unembodied, dtype=float)
    return np.asarray((greedy - unembodied) / unembodied)


def ranks(values: ArrayLike) -> FloatArray:
    """Ranks within each world; tied values share their mean rank.

    Parameters
    ----------
    values : array_like of shape (n, k)
        Values of k strategies in n worlds.

    Returns
    -------
    ndarray of shape (n, k)
        The ranks; 1 is the smallest value.
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(_checked(values), axis=1), dtype=float)


def rank_variance(ranked: ArrayLike) -> float:
    """Variance of a rank within a world, averaged over worlds; k (k + 1) / 12 without ties.

    This is the square of `stats.sigma` in MATLAB's `friedman`.

    Parameters
    ----------
    ranked : array_like of shape (n, k)
        Ranks of k strategies in n worlds.

    Returns
    -------
    float
        The variance, at least 0.
    """
    ranked_ = np.asarray(ranked, dtype=float)
    n, k = ranked_.shape
    return float(np.sum((ranked_ - (k + 1) / 2) ** 2) / (n * (k - 1)))


def friedman(values: ArrayLike) -> Friedman:
    """Friedman's test for differences between k strategies in n worlds.

    The statistic is corrected for ties. The p-value is that of the chi-squared distribution with k - 1 degrees of
    freedom.

    Parameters
    ----------
    values : array_like of shape (n, k)
        Values of k strategies in n worlds.

    Returns
    -------
    Friedman
        Statistic, degrees of freedom and p-value.
    """
    return friedman_of_ranks(ranks(values))


def friedman_of_ranks(ranked: ArrayLike) -> Friedman:
    """Friedman's test for ranks, or for ranks that are averages of several rankings of the same worlds (reading R19).

    If strategies do not differ, their ranks within a world can be exchanged. So the test needs only the variance of the
    ranks, and the ranks may be averages.

    Parameters
    ----------
    ranked : array_like of shape (n, k)
        Ranks of k strategies in n worlds.

    Returns
    -------
    Friedman
        Statistic, degrees of freedom and p-value.
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
    """p-values of the differences between the mean ranks of all pairs of k strategies.

    Reading R15: a difference is compared with the range of k normal variates that have the variance of a mean rank.

    Parameters
    ----------
    values : array_like of shape (n, k)
        Values of k strategies in n worlds.

    Returns
    -------
    p : ndarray of shape (k, k)
        The p-values; 1 on the diagonal.
    mean_ranks : ndarray of shape (k,)
        The mean rank of each strategy.
    """
    return p_values_of_ranks(ranks(values))


def p_values_of_ranks(ranked: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """p-values of all pairs of k strategies, from ranks, which may be averages as in `friedman_of_ranks`.

    Parameters
    ----------
    ranked : array_like of shape (n, k)
        Ranks of k strategies in n worlds.

    Returns
    -------
    p : ndarray of shape (k, k)
        The p-values; 1 on the diagonal.
    mean_ranks : ndarray of shape (k,)
        The mean rank of each strategy.
    """
    ranked_ = _checked(ranked)
    n, k = ranked_.shape
    mean, variance = ranked_.mean(axis=0), rank_variance(ranked_)
    p = np.ones((k, k))
    if variance > 0.0:
        i, j = np.triu_indices(k, 1)
        p[i, j] = p[j, i] = studentized_range_sf(np.abs(mean[i] - mean[j]) / np.sqrt(variance / n), k)
    return p, mean


def critical_difference(k: int, n: int, alpha: float) -> float:
    """Difference of mean ranks that has the p-value `alpha`, if there are no ties (reading R16).

    Parameters
    ----------
    k : int
        Number of strategies, at least 2.
    n : int
        Number of worlds.
    alpha : float
        The p-value, in (0, 1].

    Returns
    -------
    float
        The critical difference, in ranks.
    """
    return studentized_range_isf(alpha, k) * float(np.sqrt(k * (k + 1) / 12.0 / check_count("n", n, 1)))


def reach_of_ranks(ranked: ArrayLike, alpha: float) -> float:
    """Difference of mean ranks that has the p-value `alpha`, with the variance of the ranks (Fig. 8).

    Parameters
    ----------
    ranked : array_like of shape (n, k)
        Ranks of k strategies in n worlds, which may be averages.
    alpha : float
        The p-value, in (0, 1].

    Returns
    -------
    float
        The critical difference, in ranks.
    """
    ranked_ = _checked(ranked)
    n, k = ranked_.shape
    return studentized_range_isf(alpha, k) * float(np.sqrt(rank_variance(ranked_) / n))


def studentized_range_sf(q: ArrayLike, k: int) -> FloatArray:
    """Probability that the range of k standard normal variates exceeds q; accurate far into the tail.

    The largest variate z has the density k phi(z) Phi(z)^(k-1). Given z, at least one other variate is below z - q with
    probability 1 - (1 - Phi(z - q) / Phi(z))^(k-1). The integrand is so smooth that its sum over a grid is exact up to
    rounding.

    Parameters
    ----------
    q : array_like
        Ranges.
    k : int
        Number of variates, at least 2.

    Returns
    -------
    ndarray
        Probabilities, in the shape of `q`.
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
        any_below = -np.expm1((k - 1) * np.log1p(-below))
    p = np.minimum(np.sum(np.exp(log_density) * any_below, axis=-1) * step, 1.0)
    return np.asarray(np.where(q_ <= 0.0, 1.0, p).reshape(np.shape(q)))


@lru_cache(maxsize=1024)
def studentized_range_isf(alpha: float, k: int) -> float:
    """Range that k standard normal variates exceed with probability `alpha`.

    Parameters
    ----------
    alpha : float
        The probability, in (0, 1].
    k : int
        Number of variates, at least 2.

    Returns
    -------
    float
        The range, at least 0.
    """
    from scipy.optimize import brentq

    check_number("alpha", alpha, 0.0, 1.0, open_low=True)
    if alpha == 1.0:
        return 0.0
    log_alpha = np.log(alpha)

    def excess(q: float) -> float:
        return float(np.log(studentized_range_sf(q, k)) - log_alpha)

    return float(brentq(excess, 1e-9, 50.0, xtol=1e-13))


def relative_difference(values: ArrayLike, reference: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean over worlds of `values / reference - 1`, with its confidence interval (Student's t).

    Worlds in which the reference is zero are left out.

    Parameters
    ----------
    values, reference : array_like of shape (n,)
        Values of two strategies in n worlds.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        The mean and its confidence interval; NaN if there are too few worlds.
    """
    x, y = _pair(values, reference)
    nonzero = y != 0.0
    return _student(x[nonzero] / y[nonzero] - 1.0, level)


def share_larger(values: ArrayLike, reference: ArrayLike) -> float:
    """Share of worlds in which `values` exceed `reference`; a tie counts as one half.

    Parameters
    ----------
    values, reference : array_like of shape (n,)
        Values of two strategies in n worlds.

    Returns
    -------
    float
        Between 0 and 1.
    """
    x, y = _pair(values, reference)
    return float(np.mean((x > y) + 0.5 * (x == y)))


def _student(sample: FloatArray, level: float) -> Estimate:
    """Return the mean of a sample and its confidence interval; NaN if there are too few data."""
    from scipy.special import stdtrit

    if len(sample) < 2:
        return Estimate(float(sample[0]) if len(sample) else float("nan"), float("nan"), float("nan"))
    mean = float(sample.mean())
    half_width = float(stdtrit(len(sample) - 1, 0.5 + level / 2) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return Estimate(mean, mean - half_width, mean + half_width)


def _pair(values: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(values, dtype=float), np.asarray(reference, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"values have shape {x.shape} and the reference {y.shape}; both must be (n_worlds,)")
    return x, y


def _checked(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 2 or np.any(np.isnan(array)):
        raise ValueError(
            f"values have shape {array.shape}; they must be numbers of shape (n_worlds, n_strategies), with at least 2 "
            "strategies"
        )
    return array
