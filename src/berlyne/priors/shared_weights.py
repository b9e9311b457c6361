r"""Variational inference of weights that rows share (`berlyne.SharedDirichlet`).

Every class c of transitions has a weight w_c > 0, which is drawn from Gamma(a, rate a / mu), whose mean is mu. The
pseudo-count of transition i of row r is alpha_ri, the sum of the weights of its labels. With n_ri observations, and
n_r = sum_i n_ri, A_r = sum_i alpha_ri, the probability of all observed outcomes in their order is

    prod_r Gamma(A_r) / Gamma(A_r + n_r) prod_i Gamma(alpha_ri + n_ri) / Gamma(alpha_ri).

The posterior of w has no closed form. Two bounds make it a product of gamma distributions:

- log Gamma(A) - log Gamma(A + n) = -sum_j log(A + j) is convex in A, so it lies above its tangent at any A_0. The slope
  there is -[psi(A_0 + n) - psi(A_0)]. Its expectation is largest if A_0 is the arithmetic mean E[A].
- log Gamma(x + n) - log Gamma(x) = sum_j log(x + j) is convex in log x, so it lies above its tangent in log x at any
  l. The slope there is l [psi(l + n) - psi(l)]. For a sum of weights, Jensen's inequality gives
  E[log sum_f w_f] >= log sum_f exp(E[log w_f]), so the best l is the sum of the geometric weights exp(E[log w_c]).

What is left is linear in w_c and log w_c. So the best factor q(w_c) is Gamma(a + S_c, rate a / mu + T_c), with

    T_c = sum_r (number of labels c in row r) [psi(A_r + n_r) - psi(A_r)],
    S_c = sum_ri l_c [psi(l_ri + n_ri) - psi(l_ri)], once for each label c of transition (r, i).

A sweep computes A and l from q, and then the next q. Both steps raise `lower_bound`, or leave it as it is, for fixed mu
and a. A row with one possible outcome has probability one under all weights, so it is left out. The bound would
otherwise be loose for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.sparse import Counts, Support
from berlyne.validation import BoolArray, FloatArray, IntArray

MIN_SHAPE, MAX_SHAPE = 1e-2, 1e6
"""Smallest and largest shape of the distribution of all weights."""
FIT_PRECISION, REFIT_PRECISION = 1e-8, 1e-3
"""Sweeps end if no weight changes by more than this share: in `SharedDirichlet.fit`, and while an agent explores."""
SAME = 1e-9
"""Weights that differ by a smaller share are the same; else a rounding error would decide whether a refit is used."""
MAX_SWEEPS = 10_000
"""Largest number of sweeps of `SharedDirichlet.fit`."""
MAX_REFIT_SWEEPS = 20
"""Largest number of sweeps of a refit, which begins where the last one ended."""


class WeightBelief(NamedTuple):
    """The distributions of the weights.

    Attributes
    ----------
    shape, rate : ndarray of shape (C,)
        The weight of each class has the distribution Gamma(shape, rate).
    mean, common_shape : float
        mu and a, mean and shape of the distribution from which all weights are drawn.
    """

    shape: FloatArray
    rate: FloatArray
    mean: float
    common_shape: float

    @classmethod
    def before_data(cls, n_classes: int, mean: float, common_shape: float) -> WeightBelief:
        """Return the belief before any data."""
        shape, rate = (np.full(n_classes, value) for value in (common_shape, common_shape / mean))
        return cls(shape, rate, mean, common_shape)

    @property
    def weights(self) -> FloatArray:
        """Mean of each weight, (C,)."""
        return self.shape / self.rate


class Labelling(NamedTuple):
    """The classes of all possible transitions.

    Attributes
    ----------
    labels : ndarray of int, shape (F, n_transitions)
        Position of the class of each possible transition among all classes, for each feature; -1 for none.
    fixed : ndarray of shape (n_transitions,)
        Pseudo-count of each possible transition that has no label; 0 for all others.
    indptr : ndarray of int, shape (M N + 1,)
        The classes of row r are `classes[indptr[r]:indptr[r + 1]]`.
    classes, times : ndarray
        Classes of each row, ascending, and the number of labels of each.
    row_fixed : ndarray of shape (M N,)
        Sum of `fixed` of each row.
    """

    labels: IntArray
    fixed: FloatArray
    indptr: IntArray
    classes: IntArray
    times: FloatArray
    row_fixed: FloatArray

    def sums(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the weights of each possible transition, and its fixed pseudo-count, (n_transitions,)."""
        with_none = np.append(weights, 0.0)  # the label -1 selects the last
        return np.asarray(self.fixed + with_none[self.labels].sum(axis=0))


def labelling_of(labels: IntArray, fixed: FloatArray, support: Support, n_classes: int) -> Labelling:
    """Return the classes of transitions and rows; arguments as in `Labelling`."""
    row, n_rows = support.row_numbers(), len(support.sizes)
    feature, position = np.nonzero(labels >= 0)
    keys = row[position] * n_classes + labels[feature, position]
    pairs, times = np.unique(keys, return_counts=True)
    in_row, classes = np.divmod(pairs, max(n_classes, 1))
    indptr = np.append(0, np.cumsum(np.bincount(in_row, minlength=n_rows)))
    row_fixed = np.bincount(row, fixed, n_rows).astype(np.float64)
    return Labelling(labels, fixed, indptr, classes, times.astype(np.float64), row_fixed)


class Evidence(NamedTuple):
    """Observations in rows with several possible outcomes.

    Attributes
    ----------
    n_row, row_fixed : ndarray of shape (R,)
        Number of observations of each observed row, and the sum of its fixed pseudo-counts.
    row, classes, times : ndarray
        The classes of observed rows: position of the row, class, and number of labels.
    n, fixed : ndarray of shape (K,)
        Number of observations of each observed transition, and its fixed pseudo-count.
    labels : ndarray of int, shape (F, K)
        Classes of the observed transitions, -1 for none.
    is_exposed : ndarray of bool, shape (C,)
        Whether each class occurs in an observed row.
    """

    n_row: IntArray
    row_fixed: FloatArray
    row: IntArray
    classes: IntArray
    times: FloatArray
    n: IntArray
    fixed: FloatArray
    labels: IntArray
    is_exposed: BoolArray


def evidence_of(counts: Counts, support: Support, labelling: Labelling, n_classes: int) -> Evidence:
    """Return the observations that tell about the weights."""
    rows = np.flatnonzero((counts.totals > 0) & (support.sizes > 1))
    begin, size = labelling.indptr[rows], np.diff(labelling.indptr)[rows]
    row = np.repeat(np.arange(len(rows)), size)
    entry = np.arange(len(row)) + (begin - np.cumsum(size) + size)[row]
    seen = support.sizes[counts.row] > 1
    position = support.positions(counts.row[seen], counts.s_next[seen])
    classes = labelling.classes[entry]
    return Evidence(
        counts.totals[rows],
        labelling.row_fixed[rows],
        row,
        classes,
        labelling.times[entry],
        counts.n[seen],
        labelling.fixed[position],
        labelling.labels[:, position],
        np.bincount(classes, minlength=n_classes) > 0,
    )


def common_moments(
    n_exposed: int, total: float, squares: float, alpha: float, shape: float, strength: float
) -> tuple[float, float]:
    """Return mean and shape of the distribution of all weights, mu and a, by the method of moments.

    The moments are those of the exposed classes, and of `strength` imagined classes that are distributed as
    Gamma(shape, mean alpha). If these were exactly at alpha, the shape would grow without end while all classes are
    alike. The engine compiles this function.

    Parameters
    ----------
    n_exposed : int
        Number of exposed classes.
    total, squares : float
        Sums of E[w] and E[w^2] over the exposed classes.
    alpha, shape, strength : float
        Mean and shape of the imagined classes, and their number.
    """
    n = n_exposed + strength
    mean = (total + strength * alpha) / n
    variance = (squares + strength * alpha * alpha * (1.0 + 1.0 / shape)) / n - mean * mean
    if variance * MAX_SHAPE <= mean * mean:
        return mean, MAX_SHAPE
    return mean, max(mean * mean / variance, MIN_SHAPE)


def updated_moments(
    belief: WeightBelief, evidence: Evidence, alpha: float, shape: float, strength: float
) -> WeightBelief:
    """Return the belief with the mean and shape of all weights that follow from the exposed classes."""
    weights = belief.weights[evidence.is_exposed]
    squares = weights**2 * (1.0 + 1.0 / belief.shape[evidence.is_exposed])
    sums = len(weights), float(weights.sum()), float(squares.sum())
    mean, common_shape = common_moments(*sums, alpha, shape, strength)
    return belief._replace(mean=mean, common_shape=common_shape)


def sweep(belief: WeightBelief, evidence: Evidence) -> WeightBelief:
    """Return the belief with the next distribution of every weight, for the mean and shape in `belief`."""
    from scipy.special import digamma

    n_classes = len(belief.shape)
    weights, geometric = belief.weights, np.exp(digamma(belief.shape)) / belief.rate
    n_rows = len(evidence.n_row)
    totals = evidence.row_fixed + np.bincount(evidence.row, evidence.times * weights[evidence.classes], n_rows)
    slope = digamma(totals + evidence.n_row) - digamma(totals)
    rate = np.bincount(evidence.classes, evidence.times * slope[evidence.row], n_classes)
    sums = evidence.fixed + np.append(geometric, 0.0)[evidence.labels].sum(axis=0)
    slope = digamma(sums + evidence.n) - digamma(sums)
    shape = np.zeros(n_classes)
    for labels in evidence.labels:
        has_label = labels >= 0
        shape += np.bincount(labels[has_label], slope[has_label], n_classes)
    a, mean = belief.common_shape, belief.mean
    return belief._replace(shape=a + geometric * shape, rate=np.asarray(a / mean + rate, dtype=np.float64))


def converge(
    belief: WeightBelief,
    evidence: Evidence,
    imagined: tuple[float, float, float],
    precision: float,
    max_sweeps: int,
) -> WeightBelief:
    """Return the belief after sweeps until no weight changes by more than the share `precision`.

    `imagined` contains alpha, shape and strength of `updated_moments`.
    """
    for _ in range(max_sweeps):
        before = belief.weights
        belief = sweep(updated_moments(belief, evidence, *imagined), evidence)
        if np.all(np.abs(belief.weights - before) <= precision * before):
            break
    return belief


def lower_bound(belief: WeightBelief, evidence: Evidence) -> float:
    """Lower bound of the log probability of the observed outcomes in their order, in nats, with all weights unknown.

    It holds for the mean and shape in `belief`.
    """
    from scipy.special import digamma, gammaln

    geometric = np.exp(digamma(belief.shape)) / belief.rate
    n_rows = len(evidence.n_row)
    per_class = evidence.times * belief.weights[evidence.classes]
    totals = evidence.row_fixed + np.bincount(evidence.row, per_class, n_rows)
    sums = evidence.fixed + np.append(geometric, 0.0)[evidence.labels].sum(axis=0)
    of_rows = np.sum(gammaln(totals) - gammaln(totals + evidence.n_row))
    of_outcomes = np.sum(gammaln(sums + evidence.n) - gammaln(sums))
    shape, rate, a = belief.shape, belief.rate, belief.common_shape
    divergence = (
        (shape - a) * digamma(shape)
        - gammaln(shape)
        + gammaln(a)
        + a * np.log(rate * belief.mean / a)
        + shape * (a / belief.mean / rate - 1.0)
    )
    return float(of_rows + of_outcomes - divergence.sum())
