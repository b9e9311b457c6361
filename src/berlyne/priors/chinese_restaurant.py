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

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from berlyne.frozen import Frozen
from berlyne.priors.closed_forms import FORMS, Sums, clip_rounding_noise, dirichlet_variance, table_over_counts
from berlyne.priors.fitting import check_bounds, maximize_likelihood
from berlyne.priors.protocols import CompiledSpec, Description, as_counts
from berlyne.sparse import Counts, Rows, Support, by_action
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_number

MOST_LIKELY = "ml"
"""Value of `c` for the most likely concentration, which is estimated during exploration."""
MIN_C, MAX_C = 1e-140, 1e12
"""Smallest and largest concentration. Up to 2**31 cells share c: with a smaller c, squares of pseudo-counts underflow.
With a larger c, one observation is lost in the rounding of a pseudo-count."""
MAX_DISCOUNT = 0.999999
"""Largest discount. With a discount of 1, an outcome that was seen once would have probability zero."""


@dataclass(init=False, repr=False, eq=False)
class ChineseRestaurant(Frozen):
    """Chinese-restaurant prior with concentration `c`; with a discount `d`, the Pitman-Yor prior.

    Parameters
    ----------
    c : float or "ml"
        Concentration, from 1e-140 to 1e12. The larger it is, the more likely are new outcomes of a row. With "ml", an
        explorer that discovers its states uses the most likely c. It calls `fit_c` whenever a step discovers a state
        and whenever its number of observations has doubled. Until a row was observed twice, c is 1. Pitman and Yor
        allow c down to -d. Here the cells of an untried row share c as their pseudo-counts, so it must be positive.
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

    def __repr__(self) -> str:
        discount = f", d={self.d:g}" if self.d else ""
        cells = "" if self.n_states is None else f", {self.n_states} cells"
        concentration = repr(self.c) if isinstance(self.c, str) else f"{self.c:g}"
        return f"ChineseRestaurant(c={concentration}{discount}{cells})"

    @property
    def is_adaptive(self) -> bool:
        """Whether c is estimated during exploration, by `fitted`."""
        return isinstance(self.c, str)

    @property
    def _c(self) -> float:
        """The concentration; 1 until it is estimated."""
        return 1.0 if isinstance(self.c, str) else self.c

    @property
    def grows(self) -> bool:
        """Whether states are discovered during exploration."""
        return self.n_states is None

    def sized(self, n_states: int, n_actions: int) -> ChineseRestaurant:
        """Return the prior for `n_states` cells."""
        return type(self)(self._c, self.d, n_actions=n_actions, n_states=n_states)

    def fitted(self, counts: Counts) -> ChineseRestaurant:
        """Return the prior with the most likely c given `counts`, or this prior if its c is fixed."""
        if not self.is_adaptive:
            return self
        return type(self)(fit_c(counts, self.d), self.d, n_actions=self.n_actions)

    def sample(self, seed: Seed) -> Rows:
        """Raise a `ValueError`, because the prior has no fixed number of states."""
        raise ValueError("a Chinese-restaurant prior cannot draw worlds; it is for worlds with unknown states")

    def unseen(self, n_seen: Any) -> Any:
        """Pseudo-count of each unseen cell of a row, after T different outcomes."""
        return (self._c + self.d * n_seen) / (self._cells - n_seen)

    def estimate(self, counts: IntArray) -> FloatArray:
        """Estimate theta_hat[a, s, s_next] over all cells, shape (M, N, N)."""
        sparse = self._checked(counts)
        n_rows, n = sparse.n_rows, self._cells
        row, cell = np.repeat(np.arange(n_rows), n), np.tile(np.arange(n), n_rows)
        by_state = self.estimate_at(sparse, row, cell).reshape(n, -1, n)
        return np.ascontiguousarray(by_state.transpose(1, 0, 2))

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray) -> FloatArray:
        """Estimated probability of each transition (row, s_next), elementwise."""
        n = counts.at(row, s_next)
        c = np.where(n > 0, n - self.d, self.unseen(counts.n_seen)[row])
        return np.asarray(c / (self._c + counts.totals[row]))

    def row_estimate(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimate of row (a, s) from its own counts (N,), shape (N,)."""
        c = self._pseudo_counts(counts)
        return np.asarray(c / c.sum())

    def estimate_after(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimates of row (a, s) on the current cells after one more outcome, `(N, N)`: [s_star, s_next]."""
        after = np.tile(self._pseudo_counts(np.asarray(counts)[a, s]), (self._cells, 1))
        after[np.diag_indices(self._cells)] += 1.0
        return np.asarray(after / after.sum(axis=1, keepdims=True))

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int) -> float:
        """Utility of row (a, s) from its own counts (N,); `last` is the most recent outcome."""
        row_counts = Counts(1, 1, np.zeros(np.count_nonzero(counts), dtype=np.int64), *_nonzero_counts(counts))
        if name != "PEIG":
            return float(self._utility(name, row_counts)[0])
        return float(self._peig(row_counts, np.zeros(1, dtype=np.int64), np.array([counts[last]]))[0])

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of the sequence of new and repeated outcomes of each row, in nats.

        It does not include the probability of the particular new state, about which this prior has no parameter.
        """
        return partition_likelihood(self._c, self.d, as_counts(counts))

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Novelty: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`, on the current cells.

        It is zero for "elsewhere", because undiscovered states are not known to exist.
        """
        per_row: FloatArray = by_action(self.utility("novelty", self._checked(counts)), self._n_actions)
        per_row[:, -1] = 0.0
        return per_row

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`, on the current cells."""
        sparse, n = self._checked(counts), self._cells
        row = np.repeat(np.arange(sparse.n_rows), n)
        c = self.estimate_at(sparse, row, np.tile(np.arange(n), sparse.n_rows)) * (self._c + sparse.totals[row])
        per_row: FloatArray = by_action(dirichlet_variance(c, row, sparse.n_rows), self._n_actions)
        per_row[:, -1] = 0.0
        return per_row

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int) -> bool:
        """Return True, because every outcome is possible."""
        return True

    def check_rows(self, rows: Rows) -> None:
        """Accept any world, because every world is possible."""

    def utility(self, name: str, counts: Counts) -> FloatArray:
        """PIG, PMC, PLC or novelty of each row, in closed form."""
        return self._utility(name, counts)

    def _utility(self, name: str, counts: Counts) -> FloatArray:
        kappa, unseen = self._c + counts.totals, self.unseen(counts.n_seen)
        if name == "PMC":
            return self._pmc(counts, kappa, unseen)
        form = FORMS[name]
        total = self._sum(counts, form.term, unseen)
        return np.asarray(form.value(Sums(kappa, total, np.nan, np.nan, np.nan, np.nan, self._cells)))

    def total_pseudo_count(self, n: int, a: int, s: int) -> float:
        """Sum of the pseudo-counts of row (a, s) after n observations."""
        return float(self._c + n)

    def _pmc(self, counts: Counts, kappa: Any, unseen: Any) -> FloatArray:
        """E[largest estimate after] - largest estimate now.

        The closed form of `FORMS` does not apply, because here pseudo-counts do not differ by whole numbers.
        """
        largest = unseen.copy()
        np.maximum.at(largest, counts.row, counts.n - self.d)
        seen = counts.n - self.d
        total = counts.sum(seen * np.maximum(largest[counts.row], seen + 1.0))
        total += (self._cells - counts.n_seen) * unseen * np.maximum(largest, unseen + 1.0)
        return np.asarray(clip_rounding_noise(total / (kappa * (kappa + 1.0)) - largest / kappa, largest / kappa))

    def peig(self, counts: Counts, last: IntArray) -> FloatArray:
        """D(now || before the last outcome) of each row, in bits, on the current cells; NaN if `last` is -1."""
        tried = np.flatnonzero(last >= 0)
        gain = np.full(counts.n_rows, np.nan)
        gain[tried] = self._peig(counts, tried, counts.at(tried, last[tried]))
        return gain

    def _peig(self, counts: Counts, row: IntArray, n: IntArray) -> FloatArray:
        total, n_seen = counts.totals[row], counts.n_seen[row] - 1
        unseen = self.unseen(n_seen)
        before = np.where(n > 1, n - 1 - self.d, unseen)
        # add up the others instead of subtracting `before` from the total, in which a small c would be lost
        others_new = (total - 1 - self.d * n_seen) + (self._cells - n_seen - 1) * unseen
        others = np.where(n > 1, self._c + self.d + (total - n), others_new)
        return np.asarray(FORMS["PEIG"].value(Sums(np.nan, np.nan, np.nan, np.nan, before, others, self._cells)))

    def compiled_spec(self, utility: str | None) -> CompiledSpec:
        """Return the prior and a utility as numbers for kernels.

        `numbers` contains c and d. Line n of the table contains the values for an outcome that was seen n times. PMC
        raises a `KeyError`, because its closed form needs pseudo-counts that differ by whole numbers.
        """
        forms = {name: i for i, name in enumerate(FORMS) if name != "PMC"}
        once = table_over_counts(1.0 - self.d, utility)
        table = np.concatenate([np.zeros((1, 2)), once[:-1]])  # line 0 is never used
        n_rows = self._cells * self._n_actions
        even = np.full(n_rows, 1.0 / self._cells)
        form = -1 if utility is None else forms[utility]
        return CompiledSpec(form, np.array([self._c, self.d]), table, even, (), np.empty((n_rows, 0)), None)

    def describe(self) -> Description:
        """Return the concentration and the discount."""
        return Description("ChineseRestaurant", {"c": self.c, "d": self.d}, {})

    @classmethod
    def from_description(cls, n_states: int | None, n_actions: int, description: Description) -> ChineseRestaurant:
        """Create the prior from a description; it discovers states if `n_states` is None."""
        return cls(**description.parameters, n_states=n_states, n_actions=n_actions)

    @property
    def _cells(self) -> int:
        """The number of cells; a `ValueError` if it is not set."""
        if self.n_states is None:
            raise ValueError(f"{self!r} has no number of cells; set n_states")
        return self.n_states

    @property
    def _n_actions(self) -> int:
        """The number of actions; a `ValueError` if it is not set."""
        if self.n_actions is None:
            raise ValueError(f"{self!r} has no number of actions; set n_actions")
        return self.n_actions

    def _pseudo_counts(self, counts: IntArray) -> FloatArray:
        return np.where(counts > 0, counts - self.d, self.unseen(np.count_nonzero(counts)))

    def _sum(self, counts: Counts, term: Callable[[Any], Any], unseen: FloatArray) -> FloatArray:
        """Sum of term(c) over the cells of each row."""
        return np.asarray(counts.sum(term(counts.n - self.d)) + (self._cells - counts.n_seen) * term(unseen))

    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size, or raise a `ValueError`."""
        sparse = as_counts(counts)
        if (sparse.n_actions, sparse.n_states) != (self._n_actions, self._cells):
            raise ValueError(
                f"counts are for {sparse.n_actions} actions and {sparse.n_states} states; "
                f"this prior has {self.n_actions} actions and {self.n_states} cells"
            )
        if np.any(sparse.s_next == self._cells - 1):
            raise ValueError(
                f"counts of the last cell, {self._cells - 1}, must be 0; it stands for undiscovered states, "
                "and a state that was seen has its own cell"
            )
        return sparse


def _nonzero_counts(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cells that were seen, and their counts."""
    cell = np.flatnonzero(counts)
    return cell, np.asarray(counts)[cell]


def partition_likelihood(c: float, d: float, counts: Counts) -> float:
    """Log probability of the partitions of all rows, in nats (the exchangeable partition probability function).

    The probability of a row is (c + d) (c + 2 d) ... (c + (T - 1) d), times (1 - d) (2 - d) ... (n_i - 1 - d) for each
    outcome, divided by (c + 1) (c + 2) ... (c + n - 1).
    """
    from scipy.special import gammaln

    tried = counts.totals > 0
    n, n_seen = counts.totals[tried], counts.n_seen[tried]
    if len(n) == 0:
        return 0.0
    with np.errstate(divide="ignore"):  # the probability of a new outcome may be zero
        new = np.concatenate([[0.0], np.cumsum(np.log(c + d * np.arange(1, int(n_seen.max()))))])[n_seen - 1]
    repeated = np.sum(gammaln(counts.n - d) - gammaln(1.0 - d))
    return float(np.sum(new - gammaln(c + n) + gammaln(c + 1.0)) + repeated)


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
    return maximize_likelihood(lambda c: partition_likelihood(c, d, sparse), bounds)
