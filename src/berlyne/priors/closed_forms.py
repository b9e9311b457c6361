"""Closed forms of the utilities under a Dirichlet prior.

With pseudo-counts c and their total kappa, every utility of a row is a function of a few sums. The forms are plain
functions of numbers or arrays: NumPy applies them to all rows at once, and kernels are compiled from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from berlyne.frozen import read_only
from berlyne.validation import FloatArray, IntArray

LN2 = float(np.log(2.0))
TABLE_SIZE = 1 << 12
"""Kernels look up values for counts below this number."""
NOISE = 8 * float(np.finfo(np.float64).eps)
"""A difference is treated as zero if it is smaller than this share of its terms, because it may be a rounding error."""
TINY = 1e-145
"""If the total pseudo-count of a row is smaller, nothing was observed, and all its pseudo-counts are equal."""
SERIES_FROM, SERIES_COEFFICIENTS = 16.0, tuple(1.0 / (k * (k + 1)) for k in range(1, 14))
"""`excess` is computed by a series from this argument on; the coefficients of the series."""


class Sums(NamedTuple):
    """Arguments of the closed forms; numbers for one row, arrays for many rows.

    Attributes
    ----------
    kappa : float or ndarray
        Total pseudo-count.
    total : float or ndarray
        Sum of the form's `term(c)` over the support.
    largest : float or ndarray
        The largest pseudo-count.
    runners_up : float or ndarray
        Sum of `lead(c, largest)` over the support, without one outcome of the largest pseudo-count.
    last : float or ndarray
        Pseudo-count of the last outcome before it occurred.
    others : float or ndarray
        Sum of the pseudo-counts of all other outcomes before it occurred.
    n_states : int
        N.
    """

    kappa: Any
    total: Any
    largest: Any
    runners_up: Any
    last: Any
    others: Any
    n_states: int


class Form(NamedTuple):
    """The closed form of a utility.

    Attributes
    ----------
    term : callable
        `term(c)` is the summand of an outcome with pseudo-count c.
    value : callable
        `value(sums)` is the utility of a row.
    uses_largest : bool
        Whether the utility depends on the largest pseudo-count. Kernels search for it only then.
    """

    term: Callable[[Any], Any]
    value: Callable[[Sums], Any]
    uses_largest: bool = False


def digamma(x: Any) -> Any:
    """Logarithmic derivative of the gamma function, from SciPy; kernels have their own implementation."""
    from scipy.special import digamma as scipy_digamma

    return scipy_digamma(x)


def excess(x: Any) -> Any:
    """(x + 1) log(1 + 1 / x) - 1 for x > 0, to full precision also for large x, where it is close to 1 / (2 x).

    Kernels have their own implementation, for numbers.
    """
    y = 1.0 / np.maximum(x, SERIES_FROM)
    tail = np.zeros_like(y)
    for coefficient in SERIES_COEFFICIENTS[::-1]:
        tail = coefficient - y * tail
    return np.where(x < SERIES_FROM, (x + 1.0) * np.log1p(1.0 / x) - 1.0, y * tail)


def clip_rounding_noise(difference: Any, scale: Any) -> Any:
    """Return a difference, or 0 if it is negative or may be a rounding error of numbers as large as `scale`."""
    return np.maximum(difference, 0.0) * (difference > NOISE * scale)


def select(condition: Any, if_true: Callable[[Sums], Any], if_false: Callable[[Sums], Any], row: Sums) -> Any:
    """Return `if_true(row)` if the condition holds, otherwise `if_false(row)`, elementwise.

    Kernels have their own implementation for one row, which computes only one of them.
    """
    return np.where(condition, if_true(row), if_false(row))


def _no_term(c: Any) -> Any:
    return 0.0 * c


def _pig_term(c: Any) -> Any:
    return c * excess(c)


def _pig(row: Sums) -> Any:
    """log2(kappa / (kappa + 1)) + sum c (c + 1) log2((c + 1) / c) / (kappa (kappa + 1)).

    It is computed as (sum c e(c) - kappa e(kappa)) / (kappa (kappa + 1)), where e is `excess`. For many observations
    the expression above is a small difference of large numbers, and this one is not.
    """
    gain = clip_rounding_noise(row.total - row.kappa * excess(row.kappa), row.total)
    return gain / (row.kappa * (row.kappa + 1.0)) / LN2


def _peig(row: Sums) -> Any:
    """D(now || before the last outcome) = log2(kappa / (kappa + 1)) + (c + 1) / (kappa + 1) log2((c + 1) / c).

    Here c is the pseudo-count of that outcome, d the sum of the others, and kappa = c + d, all before the outcome. This
    equals (e(c) - e(kappa)) / (kappa + 1), where e is `excess`. For small d that is a difference of almost equal
    numbers, so ((c + 1) log(1 + d / (c (kappa + 1))) - d log(1 + 1 / kappa)) / (kappa + 1) is used.
    """
    kappa = row.last + row.others
    return select(row.others < 1.0, peig_with_few_others, peig_with_many_others, row) / (kappa + 1.0) / LN2


def peig_with_few_others(row: Sums) -> Any:
    """PEIG times (kappa + 1), in nats, if the pseudo-counts of the other outcomes sum to less than 1."""
    kappa = row.last + row.others
    lost = row.others * np.log1p(1.0 / kappa)
    return clip_rounding_noise((row.last + 1.0) * np.log1p(row.others / (row.last * (kappa + 1.0))) - lost, lost)


def peig_with_many_others(row: Sums) -> Any:
    """PEIG times (kappa + 1), in nats, if the pseudo-counts of the other outcomes sum to at least 1."""
    kappa = row.last + row.others
    return clip_rounding_noise(excess(row.last) - excess(kappa), excess(kappa))


def lead(c: Any, largest: Any) -> Any:
    """Return c max(0, c + 1 - m): an outcome of pseudo-count c would exceed the largest, m, by c + 1 - m."""
    return c * clip_rounding_noise(c + 1.0 - largest, largest)


def _pmc(row: Sums) -> Any:
    """(sum c max(0, c + 1 - m) - m) / (kappa (kappa + 1)), where m is the largest pseudo-count.

    An outcome whose pseudo-count is m contributes m to the sum. Leaving out one of them replaces the subtraction.
    """
    return row.runners_up / (row.kappa * (row.kappa + 1.0))


def _plc_term(c: Any) -> Any:
    return c * c


def _plc(row: Sums) -> Any:
    """2 (kappa - sum c^2 / kappa) / (N kappa (kappa + 1))."""
    spread = clip_rounding_noise(row.kappa - select(row.kappa < TINY, mean_of_equals, mean_of_all, row), row.kappa)
    return 2.0 * spread / (row.n_states * row.kappa * (row.kappa + 1.0))


def mean_of_equals(row: Sums) -> Any:
    """Mean of c, weighted by c, of a row without observations; the squares of c would underflow."""
    return row.largest


def mean_of_all(row: Sums) -> Any:
    """Mean of c, weighted by c: sum c^2 / kappa."""
    return row.total / row.kappa


def _parameter_gain_term(c: Any) -> Any:
    return c * (digamma(c + 1.0) - np.log(c))


def _parameter_gain(row: Sums) -> Any:
    """Entropy of the estimate minus expected entropy of the row: E[D(theta || theta_hat)], in bits.

    It is computed as (sum c d(c) - kappa d(kappa)) / kappa with d(c) = digamma(c + 1) - log c.
    """
    difference = row.total - row.kappa * (digamma(row.kappa + 1.0) - np.log(row.kappa))
    return clip_rounding_noise(difference, row.total) / row.kappa / LN2


FORMS: dict[str, Form] = {
    "PIG": Form(_pig_term, _pig),
    "PEIG": Form(_no_term, _peig),
    "PMC": Form(_no_term, _pmc, uses_largest=True),
    "PLC": Form(_plc_term, _plc),
    "parameter_gain": Form(_parameter_gain_term, _parameter_gain),
}
"""Closed form of every utility, by name; only for priors with pseudo-counts, such as `Dirichlet`."""


@lru_cache(64)
def table_over_counts(alpha: float, utility: str | None) -> FloatArray:
    """Return log(1 + 1 / c) and the utility's `term(c)` at c = alpha + n, for n from 0, `(TABLE_SIZE, 2)`."""
    c = alpha + np.arange(TABLE_SIZE)
    term = _no_term if utility is None else FORMS[utility].term
    return read_only(np.stack([np.log1p(1.0 / c), term(c)], axis=1))


def dirichlet_variance(c: FloatArray, row: IntArray, times: IntArray, kappa: FloatArray) -> FloatArray:
    """Variance of D(theta || theta_hat) for theta from Dir(c) and theta_hat = c / kappa, in bits squared.

    With L_i = ln(theta_i / theta_hat_i), D is the sum of theta_i L_i. A factor theta_i raises c_i by one. So moments of
    theta_i L_i are moments of ln theta_i at other counts: E ln theta_i = psi(c_i) - psi(kappa), with covariances
    psi'(c_i) [i = j] - psi'(kappa).

    Parameters
    ----------
    c, row, times, kappa : ndarray
        Pseudo-counts of several rows, as in `berlyne.priors.pseudo_counts.PseudoCounts`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The variance of each row, at least 0.
    """
    from scipy.special import digamma, zeta

    def trigamma(values: FloatArray) -> FloatArray:
        return np.asarray(zeta(2.0, values))  # polygamma(1, values) also computes digamma

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(row, times * values, len(kappa)).astype(np.float64)

    k = kappa[row]
    log_mean = np.log(c / k)
    once = digamma(c + 1.0) - digamma(k + 2.0) - log_mean  # E ln at counts raised by one here and one elsewhere
    twice = digamma(c + 2.0) - digamma(k + 2.0) - log_mean
    same = c * (c + 1.0) * (twice**2 + trigamma(c + 2.0) - trigamma(k + 2.0))
    crossed = total(c * once) ** 2 - total((c * once) ** 2) - trigamma(kappa + 2.0) * (kappa**2 - total(c**2))
    square = (total(same) + crossed) / (kappa * (kappa + 1.0))
    mean = total(c / k * (digamma(c + 1.0) - digamma(k + 1.0) - log_mean))
    return np.asarray(np.maximum(square - mean**2, 0.0) / math.log(2.0) ** 2)
