"""Closed forms of the utilities under a Dirichlet prior.

With pseudo-counts c and their total kappa, every utility of a row is a function of few sums. The forms are plain
functions of numbers or arrays: NumPy uses them on all rows at once, kernels are compiled from them.
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
"""Counts below this are looked up by kernels."""
NOISE = 8 * float(np.finfo(np.float64).eps)
"""Differences that are a smaller share of what they are differences of are rounding errors of zero."""
TINY = 1e-145
"""Of a row with a smaller total the pseudo-counts are all the same: nothing was seen."""
SERIES_FROM, SERIES_COEFFICIENTS = 16.0, tuple(1.0 / (k * (k + 1)) for k in range(1, 14))
"""From where on `excess` is a series, and its coefficients."""


class Sums(NamedTuple):
    """What the closed forms depend on; numbers for one row, arrays for many.

    kappa : total pseudo-count.
    total : the form's `term(c)`, summed over the support.
    most, n_most : the largest pseudo-count, and how many states have it.
    last, others : the pseudo-count of the last outcome, and those of all others together, before it occurred.
    n_states : N.
    """

    kappa: Any
    total: Any
    most: Any
    n_largest: Any
    last: Any
    others: Any
    n_states: int


class Form(NamedTuple):
    """The closed form of a utility: what each outcome adds to a sum, and what the sums amount to.

    by_most : whether it depends on the largest pseudo-count, which kernels look for only then.
    """

    term: Callable[[Any], Any]
    value: Callable[[Sums], Any]
    uses_largest: bool = False


def digamma(x: Any) -> Any:
    """Logarithmic derivative of the gamma function: SciPy's, which kernels replace by one of their own."""
    from scipy.special import digamma as of_scipy

    return of_scipy(x)


def excess(x: Any) -> Any:
    """(x + 1) log(1 + 1 / x) - 1 for x > 0, to full precision also where it is near 1 / (2 x).

    Kernels replace it by the same for numbers.
    """
    y = 1.0 / np.maximum(x, SERIES_FROM)
    tail = np.zeros_like(y)
    for coefficient in SERIES_COEFFICIENTS[::-1]:
        tail = coefficient - y * tail
    return np.where(x < SERIES_FROM, (x + 1.0) * np.log1p(1.0 / x) - 1.0, y * tail)


def clip_rounding_noise(difference: Any, of: Any) -> Any:
    """A difference that cannot be negative, and is zero if it may be but rounding errors `of` a larger number."""
    return np.maximum(difference, 0.0) * (difference > NOISE * of)


def select(condition: Any, if_true: Callable[[Sums], Any], if_false: Callable[[Sums], Any], row: Sums) -> Any:
    """`if_true(row)` where it is the `condition`, elsewhere `if_false(row)`; kernels, which have one row, do not work out both."""
    return np.where(condition, if_true(row), if_false(row))


def _no_term(c: Any) -> Any:
    return 0.0 * c


def _pig_term(c: Any) -> Any:
    return c * excess(c)


def _pig(row: Sums) -> Any:
    """log2(kappa / (kappa + 1)) + sum c (c + 1) log2((c + 1) / c) / (kappa (kappa + 1)).

    As (sum c e(c) - kappa e(kappa)) / (kappa (kappa + 1)) with e the `excess`: for many observations the printed sum
    is a small difference of large numbers, this one is not.
    """
    gain = clip_rounding_noise(row.total - row.kappa * excess(row.kappa), row.total)
    return gain / (row.kappa * (row.kappa + 1.0)) / LN2


def _peig(row: Sums) -> Any:
    """D(now || before the last outcome) = log2(kappa / (kappa + 1)) + (c + 1) / (kappa + 1) log2((c + 1) / c).

    Here c is the pseudo-count of that outcome, d that of the others, and kappa = c + d, all before it. With e the
    `excess` it is (e(c) - e(kappa)) / (kappa + 1), but for small d that is a difference of almost equal numbers, and
    ((c + 1) log(1 + d / (c (kappa + 1))) - d log(1 + 1 / kappa)) / (kappa + 1) is not.
    """
    kappa = row.last + row.others
    return select(row.others < 1.0, peig_with_few_others, peig_with_many_others, row) / (kappa + 1.0) / LN2


def peig_with_few_others(row: Sums) -> Any:
    """The part of `_peig` that needs care, for others of which less than one was seen."""
    kappa = row.last + row.others
    lost = row.others * np.log1p(1.0 / kappa)
    return clip_rounding_noise((row.last + 1.0) * np.log1p(row.others / (row.last * (kappa + 1.0))) - lost, lost)


def peig_with_many_others(row: Sums) -> Any:
    """The same part, for others of which there are enough."""
    kappa = row.last + row.others
    return clip_rounding_noise(excess(row.last) - excess(kappa), excess(kappa))


def _pmc(row: Sums) -> Any:
    """M (k - 1) / (kappa (kappa + 1)): m the largest pseudo-count, k how many states share it."""
    return row.most * (row.n_largest - 1) / (row.kappa * (row.kappa + 1.0))


def _plc_term(c: Any) -> Any:
    return c * c


def _plc(row: Sums) -> Any:
    """2 (kappa - sum c^2 / kappa) / (N kappa (kappa + 1))."""
    spread = clip_rounding_noise(row.kappa - select(row.kappa < TINY, mean_of_equals, mean_of_all, row), row.kappa)
    return 2.0 * spread / (row.n_states * row.kappa * (row.kappa + 1.0))


def mean_of_equals(row: Sums) -> Any:
    """The mean of c, weighted by c, of a row in which nothing was seen: their squares are too small for a double."""
    return row.most


def mean_of_all(row: Sums) -> Any:
    """The mean of c, weighted by c: sum c^2 / kappa."""
    return row.total / row.kappa


def _novelty_term(c: Any) -> Any:
    return c * (digamma(c + 1.0) - np.log(c))


def _novelty(row: Sums) -> Any:
    """Entropy of the estimate minus expected entropy of the row: E[D(theta || theta_hat)], in bits.

    (sum c d(c) - kappa d(kappa)) / kappa with d(c) = digamma(c + 1) - log c.
    """
    inside = row.total - row.kappa * (digamma(row.kappa + 1.0) - np.log(row.kappa))
    return clip_rounding_noise(inside, row.total) / row.kappa / LN2


FORMS: dict[str, Form] = {
    "PIG": Form(_pig_term, _pig),
    "PEIG": Form(_no_term, _peig),
    "PMC": Form(_no_term, _pmc, uses_largest=True),
    "PLC": Form(_plc_term, _plc),
    "novelty": Form(_novelty_term, _novelty),
}
"""The closed form of every utility."""


@lru_cache(64)
def table_over_counts(alpha: float, utility: str | None) -> FloatArray:
    """`(TABLE_SIZE, 2)`: log(1 + 1 / c) and what an outcome adds to the sum of a form, at c = alpha + n."""
    c = alpha + np.arange(TABLE_SIZE)
    term = _no_term if utility is None else FORMS[utility].term
    return read_only(np.stack([np.log1p(1.0 / c), term(c)], axis=1))


def dirichlet_variance(c: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Variance of D(theta || theta_hat) for theta from Dir(c), theta_hat = c / kappa, in bits squared, `(n_groups,)`.

    With L_i = ln(theta_i / theta_hat_i), D = sum of theta_i L_i. A factor theta_i raises c_i by one, so moments of
    theta_i L_i are moments of ln theta_i at other counts: E ln theta_i = psi(c_i) - psi(kappa), with covariances
    psi'(c_i) [i = j] - psi'(kappa).

    Parameters
    ----------
    c : (n,), pseudo-counts of all entries.
    group : (n,), whole numbers: the row that each entry belongs to.
    """
    from scipy.special import digamma, polygamma

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(group, values, n_groups).astype(np.float64)

    kappa = total(c)
    k = kappa[group]
    log_mean = np.log(c / k)
    once = digamma(c + 1.0) - digamma(k + 2.0) - log_mean  # E ln at counts raised by one here and one elsewhere
    twice = digamma(c + 2.0) - digamma(k + 2.0) - log_mean
    same = c * (c + 1.0) * (twice**2 + polygamma(1, c + 2.0) - polygamma(1, k + 2.0))
    crossed = total(c * once) ** 2 - total((c * once) ** 2) - polygamma(1, kappa + 2.0) * (kappa**2 - total(c**2))
    square = (total(same) + crossed) / (kappa * (kappa + 1.0))
    mean = total(c / k * (digamma(c + 1.0) - digamma(k + 1.0) - log_mean))
    return np.asarray(np.maximum(square - mean**2, 0.0) / math.log(2.0) ** 2)
