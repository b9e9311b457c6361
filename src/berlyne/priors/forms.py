"""Closed forms of the utilities under a Dirichlet prior.

With pseudo-counts c and their total kappa, every utility of a row is a function of few sums. The forms are plain
functions of numbers or arrays: NumPy uses them on all rows at once, kernels are compiled from them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from berlyne.arrays import FloatArray

LN2 = float(np.log(2.0))
TABLE = 1 << 12
"""Counts below this are looked up by kernels."""


class Sums(NamedTuple):
    """What the closed forms depend on; numbers for one row, arrays for many.

    kappa : total pseudo-count.
    total : the form's `term(c)`, summed over the support.
    most, n_most : the largest pseudo-count, and how many states have it.
    last : the pseudo-count of the last outcome before it occurred.
    n_states : N.
    """

    kappa: Any
    total: Any
    most: Any
    n_most: Any
    last: Any
    n_states: int


class Form(NamedTuple):
    """The closed form of a utility: what each outcome adds to a sum, and what the sums amount to."""

    term: Callable[[Any], Any]
    value: Callable[[Sums], Any]


def digamma(x: Any) -> Any:
    """Logarithmic derivative of the gamma function: SciPy's, which kernels replace by one of their own."""
    from scipy.special import digamma as of_scipy

    return of_scipy(x)


def _no_term(c: Any) -> Any:
    return 0.0 * c


def _pig_term(c: Any) -> Any:
    return c * (c + 1.0) * np.log1p(1.0 / c)


def _pig(row: Sums) -> Any:
    """log2(kappa / (kappa + 1)) + sum c (c + 1) log2((c + 1) / c) / (kappa (kappa + 1))."""
    gain = np.log1p(-1.0 / (row.kappa + 1.0)) + row.total / (row.kappa * (row.kappa + 1.0))
    return np.maximum(gain / LN2, 0.0)


def _peig(row: Sums) -> Any:
    """D(now || before the last outcome) = log2((kappa - 1) / kappa) + (c + 1) / kappa log2((c + 1) / c).

    Here c is the pseudo-count of that outcome before it, and kappa the total after it.
    """
    gain = np.log1p(-1.0 / row.kappa) + (row.last + 1.0) / row.kappa * np.log1p(1.0 / row.last)
    return np.maximum(gain / LN2, 0.0)


def _pmc(row: Sums) -> Any:
    """M (k - 1) / (kappa (kappa + 1)): m the largest pseudo-count, k how many states share it."""
    return row.most * (row.n_most - 1) / (row.kappa * (row.kappa + 1.0))


def _plc_term(c: Any) -> Any:
    return c * c


def _plc(row: Sums) -> Any:
    """2 (kappa - sum c^2 / kappa) / (N kappa (kappa + 1))."""
    spread = np.maximum(row.kappa - row.total / row.kappa, 0.0)
    return 2.0 * spread / (row.n_states * row.kappa * (row.kappa + 1.0))


def _novelty_term(c: Any) -> Any:
    return c * (digamma(c + 1.0) - np.log(c))


def _novelty(row: Sums) -> Any:
    """Entropy of the estimate minus expected entropy of the row: E[D(theta || theta_hat)], in bits."""
    inside = row.total / row.kappa + np.log(row.kappa) - digamma(row.kappa + 1.0)
    return np.maximum(inside / LN2, 0.0)


FORMS: dict[str, Form] = {
    "PIG": Form(_pig_term, _pig),
    "PEIG": Form(_no_term, _peig),
    "PMC": Form(_no_term, _pmc),
    "PLC": Form(_plc_term, _plc),
    "novelty": Form(_novelty_term, _novelty),
}
"""The closed form of every utility."""


@lru_cache(64)
def over_counts(alpha: float, utility: str | None) -> FloatArray:
    """`(TABLE, 2)`: log(1 + 1 / c) and what an outcome adds to the sum of a form, at c = alpha + n."""
    c = alpha + np.arange(TABLE)
    term = _no_term if utility is None else FORMS[utility].term
    return np.stack([np.log1p(1.0 / c), term(c)], axis=1)
