"""How well a prior predicts outcomes before they are observed.

Before each observation the prior predicts the outcome with the probabilities p of its estimate. The log score of the
outcome is x = log p(s_next). Its mean and its variance under the prediction are m = sum p log p and
v = sum p (log p)^2 - m^2. If the world is drawn from the prior, the sums of x - m are a martingale: given all earlier
observations, the next term has mean 0 and variance v. So

    z = sum (x - m) / sqrt(sum v)

has mean 0 and variance about 1. A large positive z means that outcomes repeat more often than the prior expects, as if
its concentration were too large. A large negative z means that it expected more repetitions than there were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from berlyne.priors.protocols import Prior, as_exact, checked_estimate
from berlyne.sparse import Counts
from berlyne.validation import FloatArray, IntArray, Seed, generator

ROUNDING = 1e-12
"""A variance below this share of the second moment is a rounding error."""


class Observations(NamedTuple):
    """Observations sorted by row and, within a row, by time; every array has the shape (K,).

    Attributes
    ----------
    row, s_next : ndarray of int
        Row r = s M + a, and its outcome.
    time : ndarray of int
        Position of the observation in the history.
    total : ndarray of int
        Number of earlier observations of the row.
    n : ndarray of int
        Number of earlier observations of this outcome of the row.
    n_seen : ndarray of int
        Number of different earlier outcomes of the row.
    """

    row: IntArray
    s_next: IntArray
    time: IntArray
    total: IntArray
    n: IntArray
    n_seen: IntArray

    def sum_before(self, values: FloatArray) -> FloatArray:
        """Sum a value per observation over the earlier observations of the row."""
        until = np.cumsum(values) - values
        return np.asarray(until - until[np.arange(len(values)) - self.total])


class Scores(NamedTuple):
    """Log scores of observations in nats, with their mean and variance under the predictions, each (K,)."""

    x: FloatArray
    mean: FloatArray
    variance: FloatArray


def observations_of(row: IntArray, s_next: IntArray) -> Observations:
    """Return observations from the rows and outcomes of a history, in its order."""
    time = np.argsort(row, kind="stable")
    row, s_next = row[time], s_next[time]
    n = _n_earlier(row * (int(s_next.max(initial=0)) + 1) + s_next)
    seen = Observations(row, s_next, time, _n_earlier(row), n, n)
    return seen._replace(n_seen=seen.sum_before((n == 0).astype(float)).astype(np.int64))


def random_order(counts: Counts, seed: Seed = 0) -> Observations:
    """Return the observations of `counts` in a random order.

    Under a prior, all orders of the same outcomes of a row are equally likely, if their number does not depend on them.
    So a random order is distributed as the unknown one.
    """
    row, s_next = (np.repeat(values, counts.n) for values in (counts.row, counts.s_next))
    order = generator(seed).permutation(len(row))
    return observations_of(row[order], s_next[order])


def log_scores(prior: Prior, seen: Observations, sizes: tuple[int, int], independent: bool) -> Scores:
    """Compute the log score of each observation, predicted from the earlier ones.

    Parameters
    ----------
    prior : Prior
        Any prior. If it has a method `log_scores(observations)`, this is used. Otherwise estimates are.
    seen : Observations
        The observations.
    sizes : tuple of int
        Numbers of actions and states.
    independent : bool
        Whether an outcome of one row does not change the estimates of other rows.

    Returns
    -------
    Scores
        Log scores, and their mean and variance.
    """
    own: Callable[[Observations], Scores] | None = getattr(prior, "log_scores", None)
    if own is not None and as_exact(prior) is not None:
        return own(seen)
    (n_actions, n_states), n_obs = sizes, len(seen.row)
    counts = np.zeros((n_actions, n_states, n_states), dtype=np.int64)
    scores = Scores(*np.zeros((3, n_obs)))
    # independent rows are observed together: first the first observation of each row, then the second, ...
    turn = seen.total if independent else seen.time
    order, ends = np.argsort(turn, kind="stable"), np.cumsum(np.bincount(turn))
    for at in np.split(order, ends[:-1]) if n_obs else []:
        s, a = np.divmod(seen.row[at], n_actions)
        p, s_next = checked_estimate(prior, counts)[a, s], seen.s_next[at]
        with np.errstate(divide="ignore"):
            log_p = np.where(p > 0.0, np.log(p), 0.0)
        mean, square = np.sum(p * log_p, axis=1), np.sum(p * log_p**2, axis=1)
        scores.x[at], scores.mean[at] = log_p[np.arange(len(at)), s_next], mean
        scores.variance[at] = positive_variance(square, mean)
        counts[a, s, s_next] += 1
    return scores


def positive_variance(square: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the variance, given the second moment and the mean; 0 if it is a rounding error."""
    variance = square - mean**2
    return np.where(variance > ROUNDING * square, variance, 0.0)


def z_score(scores: Scores) -> float:
    """Return the sum of x - mean, divided by the square root of the sum of variances; 0 if the variance is 0."""
    variance = float(np.sum(scores.variance))
    return float(np.sum(scores.x - scores.mean)) / variance**0.5 if variance > 0.0 else 0.0


def _n_earlier(keys: Any) -> IntArray:
    """Return how many earlier entries are equal to each entry."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.diff(ordered, prepend=-1) != 0
    positions = np.arange(len(keys))
    first = np.maximum.accumulate(np.where(is_first, positions, 0))
    n_earlier = np.empty(len(keys), dtype=np.int64)
    n_earlier[order] = positions - first
    return n_earlier
