"""Missing information as the explorer itself can estimate it.

Missing information is a known number only if the world is known. For an explorer it is a random variable: rows are
drawn from its posterior, and D(theta || theta_hat) of each row has a mean and a variance. Rows are independent, so both
add up over rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from berlyne.validation import FloatArray, check_number


@dataclass(frozen=True)
class MissingInformationEstimate:
    """Missing information that the explorer expects, with an interval.

    Quantiles are those of `draws` if there are any. Otherwise they are those of the gamma distribution of the same mean
    and variance. Missing information is never negative, and that of a row with many observations is gamma distributed
    in the limit (half a chi-square, divided by the number of observations).

    Parameters
    ----------
    bits : float
        Mean of the missing information, E[sum of D(theta || theta_hat) over rows], in bits.
    variance : float
        Variance of the sum, in bits squared. NaN if the prior does not define it.
    rows : ndarray of shape (M, N)
        Mean of each row `[a, s]`, in bits.
    level : float
        Probability that the interval from `low` to `high` contains the missing information.
    draws : ndarray or None
        Draws of the sum, in bits, if the prior provides them.

    Attributes
    ----------
    low, high : float
        Ends of the interval, in bits; NaN if the variance is NaN and there are no draws.
    """

    bits: float
    variance: float
    rows: FloatArray = field(repr=False)
    level: float = 0.95
    draws: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_number("level", self.level, 0.0, 1.0)

    @property
    def low(self) -> float:
        """Lower end of the interval, in bits."""
        return self.quantile(0.5 * (1.0 - self.level))

    @property
    def high(self) -> float:
        """Upper end of the interval, in bits."""
        return self.quantile(0.5 * (1.0 + self.level))

    def quantile(self, p: float) -> float:
        """Return the p-quantile: at most this many bits are missing with probability `p`."""
        from scipy.special import (
            gammaincinv,
        )  # scipy.stats.gamma.ppf calls this function; scipy.stats is slow to import

        check_number("p", p, 0.0, 1.0)
        if self.draws is not None:
            return float(np.quantile(self.draws, p, method="inverted_cdf"))
        if math.isnan(self.variance):
            return math.nan
        if self.variance <= 0.0 or self.bits <= 0.0:
            return self.bits
        scale = self.variance / self.bits
        return float(gammaincinv(self.bits / scale, p) * scale)
