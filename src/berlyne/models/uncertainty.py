"""How much is still missing, as far as the explorer itself can tell.

Missing information is a number only to somebody who knows the world. To an explorer it is a random
quantity: rows are drawn from its posterior, D(theta || theta_hat) of each has a mean and a variance, and rows are
independent, so both add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from berlyne.validation import FloatArray, check_number


@dataclass(frozen=True)
class MissingInformationEstimate:
    """Missing information as the explorer expects it.

    bits : its mean, E[sum of D(theta || theta_hat) over rows].
    low, high : the interval that holds it with probability `level`; NaN if the prior does not say its variance.
    rows : the mean of each row, `[a, s]`, in bits.
    variance : of the sum, in bits squared.

    draws : of the sum, if the prior makes some; quantiles are theirs.

    Otherwise quantiles are those of the gamma distribution of the same mean and variance: what is missing is never
    negative, and of a row seen often it is gamma distributed in the limit (half a chi-square, divided by its
    observations).
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
        """So many bits or fewer are missing with probability `p`."""
        from scipy.special import gammaincinv  # what scipy.stats.gamma.ppf calls, and much quicker to import

        check_number("p", p, 0.0, 1.0)
        if self.draws is not None:
            return float(np.quantile(self.draws, p, method="inverted_cdf"))
        if math.isnan(self.variance):
            return math.nan
        if self.variance <= 0.0 or self.bits <= 0.0:
            return self.bits
        scale = self.variance / self.bits
        return float(gammaincinv(self.bits / scale, p) * scale)
