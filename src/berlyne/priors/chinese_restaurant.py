"""Prior for worlds with unknown states: the Chinese restaurant process, and the Pitman-Yor process.

A row was observed n times, with T different outcomes, n_i times each. It predicts an outcome that it has seen with
probability (n_i - d) / (n + c), and a new outcome with (c + d T) / (n + c). A new outcome of a row is a state that was
discovered in other rows, or an undiscovered state; these cells share the probability evenly.

The effect of one more outcome is computed on the current cells, as for a Dirichlet distribution. Its pseudo-counts are
n_i - d for outcomes that the row has seen, and (c + d T) / (number of unseen cells) for each other cell. So every
utility keeps its closed form. This is exact for outcomes that the row has seen, and on the partition into these and all
others. After a new outcome the other unseen cells would share c + d (T + 1) instead, which utilities ignore.
The cells are all states discovered in any row, and "elsewhere", the last cell. With the outcomes of the row alone as
cells, an untried row would have utility zero, and no strategy would try it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from berlyne.priors.closed_forms import table_over_counts
from berlyne.priors.elsewhere import LastCellElsewhere
from berlyne.priors.fitting import maximize_likelihood
from berlyne.priors.predictive import Observations
from berlyne.priors.protocols import Description, as_counts
from berlyne.priors.pseudo_counts import PseudoCounts
from berlyne.priors.refit import MOST_LIKELY, ON_DOUBLING, Refit, check_bounds
from berlyne.sparse import Counts, Rows, Support
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_number

MIN_C, MAX_C = 1e-140, 1e12
"""Smallest and largest concentration. Up to 2**31 cells share c: with a smaller c, squares of pseudo-counts underflow.
With a larger c, one observation is lost in the rounding of a pseudo-count."""
MAX_DISCOUNT = 0.999999
"""Largest discount. With a discount of 1, an outcome that was seen once would have probability zero."""


@dataclass(init=False, repr=False, eq=False)
class ChineseRestaurant(LastCellElsewhere):
    """Chinese-restaurant prior with concentration `c`; with a discount `d`, the Pitman-Yor prior.

    Parameters
    ----------
    c : float or "ml"
        Concentration, from 1e-140 to 1e12. The larger it is, the more likely are new outcomes of a row. With "ml", an
        explorer that discovers its states uses the most likely c. It calls `fit_c` whenever a step discovers a state
        and whenever its number of observations has doubled. Until a row was observed twice, c is 1. The attribute
        `learned` is the concentration in force. Pitman and Yor allow c down to -d. Here the cells of an untried row
        share c as their pseudo-counts, so it must be positive.
    d : float
        Discount, at least 0 and below 1. The larger it is, the more the probability of a new outcome grows with the
        number of different outcomes seen.
    n_actions : int, optional
        M; by default taken from the world or the explorer.
    n_states : int, optional
        Number of cells, which is one more than the number of discovered states. Leave it out for explorers, which
        discover states during exploration.

    Examples
    --------
    >>> prior = ChineseRestaurant(1.0, n_actions=1, n_states=4)
    >>> prior.estimate(np.array([[[2, 0, 0, 0]] + [[0] * 4] * 3]))[0, 0].round(3)
    array([0.667, 0.111, 0.111, 0.111])
    """

    c: float | Literal["ml"]
    d: float
    n_actions: int | None
    n_states: int | None
    support: Support | None = field(init=False)
    _c: float = field(init=False)

    def __init__(
        self,
        c: float | Literal["ml"] = 1.0,
        d: float = 0.0,
        *,
        n_actions: int | None = None,
        n_states: int | None = None,
    ) -> None:
        if isinstance(c, str) and c != MOST_LIKELY:
            raise ValueError(f"c is {c!r}; it must be a number, or {MOST_LIKELY!r} if states are discovered")
        if isinstance(c, str) and n_states is not None:
            raise ValueError(f"c is {c!r}; it must be a number if n_states is set, such as fit_c(counts)")
        vars(self).update(d=check_number("d", d, 0.0, MAX_DISCOUNT))
        vars(self).update(c=c if isinstance(c, str) else check_number("c", c, MIN_C, MAX_C))
        n_actions = None if n_actions is None else check_count("n_actions", n_actions, 1)
        n_states = None if n_states is None else check_count("n_states", n_states, 1)
        support = None if n_actions is None or n_states is None else Support(n_actions, n_states)
        vars(self).update(n_actions=n_actions, n_states=n_states, support=support)
        vars(self).update(_c=1.0 if isinstance(self.c, str) else self.c)

    def __repr__(self) -> str:
        discount = f", d={self.d:g}" if self.d else ""
        cells = "" if self.n_states is None else f", {self.n_states} cells"
        concentration = repr(self.c) if isinstance(self.c, str) else f"{self.c:g}"
        return f"ChineseRestaurant(c={concentration}{discount}{cells})"

    @property
    def schedule(self) -> Refit | None:
        """When explorers learn c: at discoveries and whenever the observations have doubled; None if c is fixed."""
        return ON_DOUBLING if isinstance(self.c, str) else None

    @property
    def learned(self) -> float:
        """The concentration in force."""
        return self._c

    def with_learned(self, c: float) -> ChineseRestaurant:
        """Return the prior with another concentration in force."""
        clone = copy.copy(self)
        vars(clone)["_c"] = float(c)
        return clone

    def refit(self, counts: Counts) -> ChineseRestaurant:
        """Return the prior with the most likely c, given counts."""
        return self.with_learned(fit_c(counts, self.d, start=self._c))

    @property
    def grows(self) -> bool:
        """Whether states are discovered during exploration."""
        return self.n_states is None

    def sized(self, n_states: int, n_actions: int) -> ChineseRestaurant:
        """Return the prior for `n_states` cells."""
        return type(self)(self._c, self.d, n_actions=n_actions, n_states=n_states)

    def sample(self, seed: Seed, counts: Counts | IntArray | None = None) -> Rows:
        """Draw every row from Dir(c), where c are the pseudo-counts of the current cells given `counts`.

        The mean of these draws is the estimate. A draw is not a world of the restaurant itself, whose rows would also
        divide elsewhere into states. A prior without a number of cells raises a `ValueError`.
        """
        if self.grows:
            raise ValueError(
                "a Chinese-restaurant prior without a number of cells cannot draw worlds, because it is for worlds "
                "with unknown states; set n_states"
            )
        return super().sample(seed, counts)

    def unseen(self, n_seen: Any) -> Any:
        """Pseudo-count of each unseen cell of a row, after T different outcomes."""
        return (self._c + self.d * n_seen) / (self._possible.n_states - n_seen)

    @property
    def _before(self) -> float:
        return float(self.unseen(0))

    def _pseudo_count(self, row: Any, s_next: Any, n: Any, n_seen: Any) -> Any:
        return np.where(n > 0, n - self.d, self.unseen(n_seen))

    def _kappa_before(self, row: Any) -> Any:
        return self._c

    def _others_before(self, row: Any, last: Any, n: Any, total: Any, n_seen: Any) -> Any:
        n_seen_before, n_cells = n_seen - 1, self._possible.n_states
        # add up the others instead of subtracting from the total, in which a small c would be lost
        if_new = (total - 1 - self.d * n_seen_before) + (n_cells - n_seen_before - 1) * self.unseen(n_seen_before)
        return np.where(n > 1, self._c + self.d + (total - n), if_new)

    def untried_utility(self, name: str) -> float:
        """Utility of a row without observations: PIG, PMC, PLC or parameter_gain."""
        return _untried_utility(name, self._c, self._possible.n_states)

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of the sequence of new and repeated outcomes of each row, in nats.

        It does not include the probability of the particular new state, about which this prior has no parameter.
        """
        return partition_likelihood(self._c, self.d, as_counts(counts))

    def _predicted_count(self, seen: Observations) -> Any:
        """Pseudo-count of a repeated outcome, or of all new outcomes together.

        As in `log_marginal_likelihood`, the probability of the particular new state is not included.
        """
        return np.where(seen.n > 0, seen.n - self.d, self._c + self.d * seen.n_seen)

    def _sum_over_unseen(self, seen: Observations, term: Callable[[Any], FloatArray]) -> FloatArray:
        return term(self._c + self.d * seen.n_seen)

    def check_rows(self, rows: Rows) -> None:
        """Accept any world, because every world is possible."""

    def _kernel_data(self, utility: str | None) -> tuple[FloatArray, FloatArray]:
        """Return c and d, and a table whose line n contains the values for an outcome that was seen n times."""
        once = table_over_counts(1.0 - self.d, utility)
        return np.array([self._c, self.d]), np.concatenate([np.zeros((1, 2)), once[:-1]])  # line 0 is never used

    def describe(self) -> Description:
        """Return the concentration and the discount."""
        return Description("ChineseRestaurant", {"c": self.c, "d": self.d}, {})

    @classmethod
    def from_description(cls, n_states: int | None, n_actions: int, description: Description) -> ChineseRestaurant:
        """Create the prior from a description; it discovers states if `n_states` is None."""
        return cls(**description.parameters, n_states=n_states, n_actions=n_actions)

    @property
    def _possible(self) -> Support:
        """The support, all cells; a `ValueError` if their number is not set."""
        if self.support is None:
            missing = "cells; set n_states" if self.n_states is None else "actions; set n_actions"
            raise ValueError(f"{self!r} has no number of {missing}")
        return self.support


@lru_cache(maxsize=1 << 12)
def _untried_utility(name: str, c: float, n_cells: int) -> float:
    """Utility of a row without observations; explorers need it whenever they discover a state."""
    row = PseudoCounts(np.zeros(1, dtype=np.int64), np.array([c / n_cells]), np.array([n_cells]), np.array([c]))
    return float(row.utility(name, n_cells)[0])


def partition_likelihood(c: float, d: float, counts: Counts) -> float:
    """Log probability of the partitions of all rows, in nats (the exchangeable partition probability function).

    The probability of a row is (c + d) (c + 2 d) ... (c + (T - 1) d), times (1 - d) (2 - d) ... (n_i - 1 - d) for each
    outcome, divided by (c + 1) (c + 2) ... (c + n - 1).
    """
    from scipy.special import gammaln

    repeated = np.sum(gammaln(counts.n - d) - gammaln(1.0 - d))
    return float(repeated) + _likelihood_of_c(c, d, _partition_statistics(counts))


def _partition_statistics(counts: Counts) -> tuple[IntArray, IntArray, IntArray]:
    """Return what the likelihood of c depends on: numbers of rows, few of which differ.

    The first array contains, for k = 1, 2, ..., the number of rows with more than k outcomes. The others contain the
    different numbers n of observations of a row, and the number of rows that were observed n times.
    """
    tried = counts.totals > 0
    n_more = len(tried) - np.cumsum(np.bincount(counts.n_seen))[1:-1]
    return n_more, *np.unique(counts.totals[tried], return_counts=True)


def _likelihood_of_c(c: float, d: float, statistics: tuple[IntArray, IntArray, IntArray]) -> float:
    """Return the part of `partition_likelihood` that depends on c, in nats."""
    from scipy.special import gammaln

    n_more, n, n_rows = statistics
    with np.errstate(divide="ignore"):  # the probability of a new outcome may be zero
        new = n_more @ np.log(c + d * np.arange(1, len(n_more) + 1))
    return float(new - n_rows @ (gammaln(c + n) - gammaln(c + 1.0)))


def fit_c(
    counts: Counts | IntArray, d: float = 0.0, *, start: float = 1.0, bounds: tuple[float, float] = (1e-3, 1e3)
) -> float:
    """Maximum-likelihood concentration of a Chinese-restaurant prior, given counts.

    Parameters
    ----------
    counts : Counts or ndarray of shape (M, N, N)
        Number of observations of each transition.
    d : float
        Discount, at least 0 and below 1.
    start : float
        The result if no row was observed twice, because then every c explains the data equally well.
    bounds : tuple of two floats
        Smallest and largest c, both positive, as `ChineseRestaurant` requires.

    Returns
    -------
    float
        The most likely c within `bounds`; with a large discount this may be the lower bound.
    """
    check_bounds(bounds, MIN_C, MAX_C)
    check_number("d", d, 0.0, MAX_DISCOUNT)
    sparse = as_counts(counts)
    if not np.any(sparse.totals > 1):
        return float(start)
    statistics = _partition_statistics(sparse)
    return maximize_likelihood(lambda c: _likelihood_of_c(c, d, statistics), bounds)
