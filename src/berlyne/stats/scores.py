"""Scores of a benchmark: several runs in each of several worlds, with stratified bootstrap intervals.

After Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical precipice, whose package
`rliable` made these statistics standard. Arrays of scores are `(..., n_worlds, n_runs)`; larger is better. Worlds are
strata: a resample draws runs within each world. Run i of all agents in a world has the same seed, so by default a
resample draws the same runs of all agents (paired).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray, Seed, check_count, check_number, generator

Statistic = Callable[..., Any]
"""A function of one or several arrays (..., n_worlds, n_runs) that returns a number or an array."""

N_RESAMPLES = 2000
"""Default number of bootstrap resamples."""
TRIMMED = 0.25
"""Share of the scores that an interquartile mean leaves out at each end."""


class Interval(NamedTuple):
    """A statistic and its bootstrap interval.

    Attributes
    ----------
    value : ndarray
        The statistic of the data.
    low, high : ndarray of the same shape
        Limits of the interval (percentiles of the resamples).
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray


def normalized_scores(values: ArrayLike, random: ArrayLike, bound: ArrayLike) -> FloatArray:
    """Scores between those of a random explorer (0) and of the bound (1).

    Parameters
    ----------
    values : array_like of shape (..., n_worlds, n_runs)
        A measure, such as the missing information at the end.
    random, bound : array_like of shape (n_worlds,)
        Mean of the random explorer, and the bound, in each world.

    Returns
    -------
    ndarray of shape (..., n_worlds, n_runs)
        (values - random) / (bound - random). Negative if an explorer does worse than the random one.
    """
    values_ = _checked("values", values)
    zero, one = (np.asarray(x, dtype=float)[..., None] for x in (random, bound))
    if zero.shape != (values_.shape[-2], 1) or one.shape != zero.shape:
        raise ValueError(
            f"random has shape {zero.shape[:-1]} and bound {one.shape[:-1]}; both must be one number for each of the "
            f"{values_.shape[-2]} worlds"
        )
    same = np.flatnonzero(zero == one)
    if len(same):
        raise ValueError(f"random and bound are both {zero[same[0], 0]:g} in world {same[0]}; they must differ")
    return np.asarray((values_ - zero) / (one - zero))


def interquartile_mean(scores: ArrayLike) -> FloatArray:
    """Mean of the middle half of all runs of all worlds.

    A quarter of the scores, rounded down, is left out at each end, as in `scipy.stats.trim_mean`.

    Parameters
    ----------
    scores : array_like of shape (..., n_worlds, n_runs)
        Scores.

    Returns
    -------
    ndarray of shape (...)
        Interquartile means.
    """
    pooled = _pooled(scores)
    n_out = int(TRIMMED * pooled.shape[-1])
    middle = np.sort(pooled, axis=-1)[..., n_out : pooled.shape[-1] - n_out]
    return np.asarray(middle.mean(axis=-1))


def optimality_gap(scores: ArrayLike, target: float = 1.0) -> FloatArray:
    """Mean shortfall from a target; scores above it count as the target.

    Parameters
    ----------
    scores : array_like of shape (..., n_worlds, n_runs)
        Scores.
    target : float
        Score at which nothing is missing; 1 is the bound.

    Returns
    -------
    ndarray of shape (...)
        Mean of max(target - score, 0); smaller is better.
    """
    return np.asarray(np.maximum(target - _pooled(scores), 0.0).mean(axis=-1))


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> FloatArray:
    """Share of runs whose score exceeds each threshold, averaged over worlds.

    Parameters
    ----------
    scores : array_like of shape (..., n_worlds, n_runs)
        Scores.
    thresholds : array_like of shape (n_thresholds,)
        Thresholds.

    Returns
    -------
    ndarray of shape (..., n_thresholds)
        Shares, which fall with the threshold.
    """
    pooled, levels = np.sort(_pooled(scores), axis=-1), np.asarray(thresholds, dtype=float)
    n = pooled.shape[-1]
    below = [np.searchsorted(line, levels, side="right") for line in pooled.reshape(-1, n)]
    return np.asarray(1.0 - np.reshape(below, (*pooled.shape[:-1], len(levels))) / n)


def probability_of_improvement(scores: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Probability that a run has a larger score than a run of the reference in the same world, averaged over worlds.

    In each world this is the Mann-Whitney statistic U / (n m). A tie counts as one half.

    Parameters
    ----------
    scores : array_like of shape (..., n_worlds, n_runs)
        Scores.
    reference : array_like of shape (..., n_worlds, m_runs)
        Scores of the reference; leading axes are broadcast.

    Returns
    -------
    ndarray of shape (...)
        Between 0 and 1; 0.5 if neither is better.
    """
    x, y = _checked("scores", scores)[..., :, None], _checked("reference", reference)[..., None, :]
    return np.asarray(((x > y) + 0.5 * (x == y)).mean(axis=(-3, -2, -1)))


def stratified_bootstrap(
    statistic: Statistic,
    *scores: ArrayLike,
    seed: Seed,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.95,
    paired: bool = True,
) -> Interval:
    """Bootstrap interval of a statistic; runs are resampled within each world.

    Parameters
    ----------
    statistic : callable
        Function of as many arrays as there are `scores`, such as `interquartile_mean`.
    *scores : array_like of shape (..., n_worlds, n_runs)
        Scores. Leading axes, such as agents, are resampled together.
    seed : int, SeedSequence or Generator
        Seed of the resamples.
    n_resamples : int
        Number of resamples.
    level : float
        Confidence level, in (0, 1).
    paired : bool
        Whether run i has the same seed in all arrays, so that a resample contains the same runs of all of them.
        Otherwise each array is resampled independently.

    Returns
    -------
    Interval
        The statistic, and percentiles of its resamples.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(0.7, 0.1, size=(5, 20))  # 5 worlds, 20 runs
    >>> value, low, high = stratified_bootstrap(interquartile_mean, scores, seed=1)
    >>> bool(low < value < high)
    True
    """
    arrays, rng = [_checked("scores", x) for x in scores], generator(seed)
    check_count("n_resamples", n_resamples, 1)
    tail = (1.0 - check_number("level", level, 0.0, 1.0)) / 2.0
    shapes = [x.shape[-2:] for x in arrays]
    if paired and len(set(shapes)) > 1:
        raise ValueError(
            f"scores have {shapes} worlds and runs; paired runs must have the same shape, or set paired=False"
        )
    resampled = []
    for _ in range(n_resamples):
        drawn = [rng.integers(shapes[0][1], size=shapes[0])] * len(arrays)
        if not paired:
            drawn = [rng.integers(shape[1], size=shape) for shape in shapes]
        sample = [_take(x, runs) for x, runs in zip(arrays, drawn, strict=True)]
        resampled.append(np.asarray(statistic(*sample), dtype=float))
    low, high = np.quantile(resampled, [tail, 1.0 - tail], axis=0)
    return Interval(np.asarray(statistic(*arrays), dtype=float), np.asarray(low), np.asarray(high))


def _take(scores: FloatArray, runs: Any) -> FloatArray:
    """Return some runs of each world; `runs` is (n_worlds, n)."""
    return np.asarray(scores[..., np.arange(len(runs))[:, None], runs])


def _pooled(scores: ArrayLike) -> FloatArray:
    """Return all runs of all worlds in one axis, (..., n_worlds * n_runs)."""
    checked = _checked("scores", scores)
    return checked.reshape(*checked.shape[:-2], -1)


def _checked(name: str, scores: ArrayLike) -> FloatArray:
    """Return an array (..., n_worlds, n_runs) without NaN, or raise a `ValueError`."""
    array = np.asarray(scores, dtype=float)
    if array.ndim < 2 or 0 in array.shape or np.any(np.isnan(array)):
        raise ValueError(f"{name} have shape {array.shape}; they must be numbers of shape (..., n_worlds, n_runs)")
    return array
