"""The most likely concentration of a symmetric Dirichlet prior (Sec. 4.1, Fig. S5; reading R24).

The likelihood of all observations depends on alpha through two histograms. With E_j the number of transitions
seen more than j times, and R_{S,j} the number of rows with S possible outcomes seen more than j times,

    d log L / d alpha = sum_j E_j / (alpha + j) - sum_S sum_j R_{S,j} / (alpha + j / S),

so an observation adds one to one entry of each histogram. The engine compiles these functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.sparse import Counts
from berlyne.validation import FloatArray, IntArray

PRECISION = 1e-10
"""Relative precision of the maximum-likelihood alpha."""


class Histograms(NamedTuple):
    """Histograms of counts, on which the likelihood depends.

    A size class contains the rows with the same number of possible outcomes.

    Attributes
    ----------
    entries : ndarray
        Number of transitions seen more than j times, `[j]`.
    rows : ndarray
        Number of rows seen more than j times, `[size class, j]`.
    used : ndarray of int
        Used length of `entries` in `[0]`, and of `rows` in `[1 + size class]`.
    sizes : ndarray of shape (classes,)
        Number of possible outcomes of the rows of each class.
    size_class : ndarray of int
        Class of each row.
    """

    entries: FloatArray
    rows: FloatArray
    used: IntArray
    sizes: FloatArray
    size_class: IntArray


def empty_histograms(row_sizes: IntArray, length: int) -> Histograms:
    """Return histograms of zeros for rows with these numbers of possible outcomes; counts must be below `length`."""
    sizes, size_class = np.unique(row_sizes, return_inverse=True)  # 0 for a row that does not exist
    return Histograms(
        np.zeros(length),
        np.zeros((len(sizes), length)),
        np.zeros(1 + len(sizes), dtype=np.int64),
        np.maximum(sizes, 1).astype(np.float64),
        size_class.astype(np.int64),
    )


def histograms_of(counts: Counts, row_sizes: IntArray) -> Histograms:
    """Return the histograms of counts."""
    histograms = empty_histograms(row_sizes, int(counts.totals.max(initial=0)) + 1)
    n_seen_more = np.cumsum(np.bincount(counts.n)[::-1])[::-1][1:] if len(counts.n) else np.empty(0)
    histograms.entries[: len(n_seen_more)], histograms.used[0] = n_seen_more, len(n_seen_more)
    for c in range(len(histograms.sizes)):
        totals = counts.totals[histograms.size_class == c]
        n_seen_more = np.cumsum(np.bincount(totals)[::-1])[::-1][1:]
        histograms.rows[c, : len(n_seen_more)], histograms.used[1 + c] = n_seen_more, len(n_seen_more)
    return histograms


def likelihood_derivatives(histograms: Histograms, alpha: float) -> tuple[float, float]:
    """First and second derivative of the log likelihood with respect to alpha, in nats."""
    first, second = 0.0, 0.0
    for j in range(histograms.used[0]):
        x = 1.0 / (alpha + j)
        first += histograms.entries[j] * x
        second -= histograms.entries[j] * x * x
    for c in range(len(histograms.sizes)):
        part = 1.0 / histograms.sizes[c]
        for j in range(histograms.used[1 + c]):
            x = 1.0 / (alpha + j * part)
            first -= histograms.rows[c, j] * x
            second += histograms.rows[c, j] * x * x
    return first, second


def is_uninformative(histograms: Histograms) -> bool:
    """Return whether all alphas have the same likelihood: no row with several possible outcomes was seen twice."""
    longest = 0
    for c in range(len(histograms.sizes)):
        if histograms.sizes[c] > 1.0:
            longest = max(longest, histograms.used[1 + c])
    return longest < 2


def maximum_likelihood_alpha(histograms: Histograms, alpha: float, low: float, high: float) -> float:
    """Return the alpha of largest likelihood in [low, high], by Newton's method on log(alpha) in a bracket."""
    below, above, alpha = low, high, min(max(alpha, low), high)
    for _ in range(200):
        first, second = likelihood_derivatives(histograms, alpha)
        if first > 0.0:
            below = alpha
        else:
            above = alpha
        curvature = first + alpha * second
        step = -first / curvature if curvature < 0.0 else (1.0 if first > 0.0 else -1.0)
        alpha_next = alpha * math.exp(min(max(step, -3.0), 3.0))
        if alpha_next >= high and above == high:
            if likelihood_derivatives(histograms, high)[0] >= 0.0:
                return high
            alpha_next = high
        elif alpha_next <= low and below == low:
            if likelihood_derivatives(histograms, low)[0] <= 0.0:
                return low
            alpha_next = low
        if not below < alpha_next < above:
            alpha_next = math.sqrt(below * above)
        if abs(alpha_next - alpha) <= PRECISION * alpha:
            return alpha_next
        alpha = alpha_next
    return alpha
