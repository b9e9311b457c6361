"""A prior for worlds of which nobody knows the states: the Chinese restaurant, and that of Pitman and Yor.

A row that was seen n times, with T different outcomes, n_i times each, predicts an outcome it has seen with
(n_i - d) / (n + c), and something new with (c + d T) / (n + c). What is new to the row may be any state that was
discovered elsewhere, or one that nobody has seen: these cells share it evenly.

What one more outcome would teach is worked out on the cells there are, as for a Dirichlet distribution with
pseudo-counts n_i - d for what the row has seen, and (c + d T) / (cells that it has not) for each other cell. So every
utility keeps its closed form. Of outcomes that the row has seen, and on the partition into these and all else, that is
what happens; after one that is new to the row the others share out c + d (T + 1) afresh, which utilities leave out.
The cells are the states discovered anywhere, and "elsewhere", the last: on the outcomes of the row alone an untried row
would be worth nothing, and nobody would try it.
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
"""In place of a concentration: the most likely one, found on the way."""
MIN_C, MAX_C = 1e-140, 1e12
"""Up to 2**31 cells share c: if it is smaller, squares of pseudo-counts are too small for a double. If it is larger,
one observation is lost in the rounding of a pseudo-count."""
MAX_DISCOUNT = 0.999999
"""At 1 an outcome that was seen once would not be expected again."""


@dataclass(init=False, repr=False, eq=False)
class ChineseRestaurant(Frozen):
    """Chinese-restaurant prior with concentration `c`; with a discount `d`, that of Pitman and Yor.

    Parameters
    ----------
    c : concentration, from 1e-140 to 1e12: how soon a row is expected to lead somewhere new. "ml" has an explorer that
        discovers its states take the most likely one, found again by `fit_c` whenever a step discovers a state and
        whenever its observations have doubled; until a row was seen twice it is 1. Pitman and Yor allow c down to -d;
        the cells of a row that was never tried share c as their pseudo-counts, which must be positive to be worth
        anything.
    d : discount, at least 0 and below 1: how much more so the more outcomes it has had.
    n_actions : M; left out, the world or the explorer says it.
    n_states : the number of cells, one more than states are discovered; left out, as explorers want it, they are
        discovered on the way.

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
            raise ValueError(f"c is {c!r}; it must be a number, or {MOST_LIKELY!r} where states are discovered")
        if isinstance(c, str) and n_states is not None:
            raise ValueError(f"c is {c!r}; it must be a number where n_states is given, such as fit_c(counts)")
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
        """Whether an explorer takes the most likely c, found on the way: it makes other priors by `fitted`."""
        return isinstance(self.c, str)

    @property
    def _c(self) -> float:
        """The concentration; 1 until one was found."""
        return 1.0 if isinstance(self.c, str) else self.c

    @property
    def grows(self) -> bool:
        """Whether states are discovered on the way."""
        return self.n_states is None

    def sized(self, n_states: int, n_actions: int) -> ChineseRestaurant:
        """The same prior for so many cells."""
        return type(self)(self._c, self.d, n_actions=n_actions, n_states=n_states)

    def fitted(self, counts: Counts) -> ChineseRestaurant:
        """The prior with the c that is most likely now that `counts` were seen; the same one if its c is fixed."""
        if not self.is_adaptive:
            return self
        return type(self)(fit_c(counts, self.d), self.d, n_actions=self.n_actions)

    def sample(self, seed: Seed) -> Rows:
        """Refused: it is a prior of what is discovered, not of worlds with so many states."""
        raise ValueError("a Chinese-restaurant prior draws no worlds; it is for worlds whose states nobody knows")

    def unseen(self, n_seen: Any) -> Any:
        """Pseudo-count of each cell that a row has not seen, after T different outcomes."""
        return (self._c + self.d * n_seen) / (self._cells - n_seen)

    def estimate(self, counts: IntArray) -> FloatArray:
        """theta_hat[a, s, s_next] over all cells, (M, N, N)."""
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
        """The estimate of row (a, s) from its own counts (N,); shape (N,)."""
        c = self._pseudo(counts)
        return np.asarray(c / c.sum())

    def estimate_after(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """The estimate of row (a, s) on today's cells after one more outcome s_star; shape (N, N), line s_star."""
        after = np.tile(self._pseudo(np.asarray(counts)[a, s]), (self._cells, 1))
        after[np.diag_indices(self._cells)] += 1.0
        return np.asarray(after / after.sum(axis=1, keepdims=True))

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int) -> float:
        """A utility of row (a, s) from its own counts (N,); `last` is the outcome that was counted last."""
        alone = Counts(1, 1, np.zeros(np.count_nonzero(counts), dtype=np.int64), *_seen(counts))
        if name != "PEIG":
            return float(self._utility(name, alone)[0])
        return float(self._peig(alone, np.zeros(1, dtype=np.int64), np.array([counts[last]]))[0])

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of when each row led somewhere new and when to what it had seen, in nats.

        Which new state it was is not part of it: that is told by no number of this prior.
        """
        return partition_likelihood(self._c, self.d, as_counts(counts))

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Novelty: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`, on today's cells.

        Zero for "elsewhere": what is to be learned in states that nobody has seen is not known to be there.
        """
        per_row: FloatArray = by_action(self.utility("novelty", self._checked(counts)), self._n_actions)
        per_row[:, -1] = 0.0
        return per_row

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`, on today's cells."""
        sparse, n = self._checked(counts), self._cells
        row = np.repeat(np.arange(sparse.n_rows), n)
        c = self.estimate_at(sparse, row, np.tile(np.arange(n), sparse.n_rows)) * (self._c + sparse.totals[row])
        per_row: FloatArray = by_action(dirichlet_variance(c, row, sparse.n_rows), self._n_actions)
        per_row[:, -1] = 0.0
        return per_row

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int) -> bool:
        """Anything can follow."""
        return True

    def check_rows(self, rows: Rows) -> None:
        """Any world is possible."""

    def utility(self, name: str, counts: Counts) -> FloatArray:
        """PIG, PMC, PLC or novelty per row, in closed form."""
        return self._utility(name, counts)

    def _utility(self, name: str, counts: Counts) -> FloatArray:
        kappa, unseen = self._c + counts.totals, self.unseen(counts.n_seen)
        if name == "PMC":
            return self._pmc(counts, kappa, unseen)
        form = FORMS[name]
        total = self._sum(counts, form.term, unseen)
        return np.asarray(form.value(Sums(kappa, total, np.nan, np.nan, np.nan, np.nan, self._cells)))

    def _pmc(self, counts: Counts, kappa: Any, unseen: Any) -> FloatArray:
        """E[largest estimate after] - largest estimate now: pseudo-counts do not differ by whole numbers here."""
        most = unseen.copy()
        np.maximum.at(most, counts.row, counts.n - self.d)
        seen = counts.n - self.d
        total = counts.sum(seen * np.maximum(most[counts.row], seen + 1.0))
        total += (self._cells - counts.n_seen) * unseen * np.maximum(most, unseen + 1.0)
        return np.asarray(clip_rounding_noise(total / (kappa * (kappa + 1.0)) - most / kappa, most / kappa))

    def peig(self, counts: Counts, last: IntArray) -> FloatArray:
        """D(now || before the last outcome) per row, in bits, on the cells of now; NaN where `last` is -1."""
        tried = np.flatnonzero(last >= 0)
        gain = np.full(counts.n_rows, np.nan)
        gain[tried] = self._peig(counts, tried, counts.at(tried, last[tried]))
        return gain

    def _peig(self, counts: Counts, row: IntArray, n: IntArray) -> FloatArray:
        total, n_seen = counts.totals[row], counts.n_seen[row] - 1
        unseen = self.unseen(n_seen)
        before = np.where(n > 1, n - 1 - self.d, unseen)
        # a sum of the others, not all less `before`: a small c would be lost in the total
        others_new = (total - 1 - self.d * n_seen) + (self._cells - n_seen - 1) * unseen
        others = np.where(n > 1, self._c + self.d + (total - n), others_new)
        return np.asarray(FORMS["PEIG"].value(Sums(np.nan, np.nan, np.nan, np.nan, before, others, self._cells)))

    def compiled_spec(self, utility: str | None) -> CompiledSpec:
        """How it is compiled: numbers hold c and d, line n of the table what an outcome seen n times adds to a sum.

        A `KeyError` for PMC, whose closed form needs pseudo-counts that differ by whole numbers.
        """
        forms = {name: i for i, name in enumerate(FORMS) if name != "PMC"}
        once = table_over_counts(1.0 - self.d, utility)
        table = np.concatenate([np.zeros((1, 2)), once[:-1]])  # what was not seen is not looked up
        n_rows = self._cells * self._n_actions
        even = np.full(n_rows, 1.0 / self._cells)
        form = -1 if utility is None else forms[utility]
        return CompiledSpec(form, np.array([self._c, self.d]), table, even, (), np.empty((n_rows, 0)), None)

    def describe(self) -> Description:
        """Concentration and discount."""
        return Description("ChineseRestaurant", {"c": self.c, "d": self.d}, {})

    @classmethod
    def from_description(cls, n_states: int | None, n_actions: int, said: Description) -> ChineseRestaurant:
        """The inverse of `describe`; without `n_states` one that discovers states."""
        return cls(**said.parameters, n_states=n_states, n_actions=n_actions)

    @property
    def _cells(self) -> int:
        if self.n_states is None:
            raise ValueError(f"{self!r} does not know how many cells there are; say n_states")
        return self.n_states

    @property
    def _n_actions(self) -> int:
        if self.n_actions is None:
            raise ValueError(f"{self!r} does not know how many actions there are; say n_actions")
        return self.n_actions

    def _pseudo(self, counts: IntArray) -> FloatArray:
        return np.where(counts > 0, counts - self.d, self.unseen(np.count_nonzero(counts)))

    def _sum(self, counts: Counts, term: Callable[[Any], Any], unseen: FloatArray) -> FloatArray:
        """Sum of term(c) over the cells of each row."""
        return np.asarray(counts.sum(term(counts.n - self.d)) + (self._cells - counts.n_seen) * term(unseen))

    def _checked(self, counts: Counts | IntArray) -> Counts:
        sparse = as_counts(counts)
        if (sparse.n_actions, sparse.n_states) != (self._n_actions, self._cells):
            raise ValueError(
                f"counts are for {sparse.n_actions} actions and {sparse.n_states} states; "
                f"this prior has {self.n_actions} actions and {self.n_states} cells"
            )
        if np.any(sparse.s_next == self._cells - 1):
            raise ValueError(f"the last cell, {self._cells - 1}, is elsewhere; what was seen is not there any more")
        return sparse


def _seen(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Cells that were seen, and how often."""
    cell = np.flatnonzero(counts)
    return cell, np.asarray(counts)[cell]


def partition_likelihood(c: float, d: float, counts: Counts) -> float:
    """Log probability of the partitions of all rows, in nats (the exchangeable partition probability function).

    Of a row: (c + d) (c + 2 d) ... (c + (T - 1) d), times (1 - d) (2 - d) ... (n_i - 1 - d) for each outcome, divided
    by (c + 1) (c + 2) ... (c + n - 1).
    """
    from scipy.special import gammaln

    tried = counts.totals > 0
    n, n_seen = counts.totals[tried], counts.n_seen[tried]
    if len(n) == 0:
        return 0.0
    with np.errstate(divide="ignore"):  # something new may have no chance at all
        new = np.concatenate([[0.0], np.cumsum(np.log(c + d * np.arange(1, int(n_seen.max()))))])[n_seen - 1]
    again = np.sum(gammaln(counts.n - d) - gammaln(1.0 - d))
    return float(np.sum(new - gammaln(c + n) + gammaln(c + 1.0)) + again)


def fit_c(
    counts: Counts | IntArray, d: float = 0.0, *, start: float = 1.0, bounds: tuple[float, float] = (1e-3, 1e3)
) -> float:
    """Maximum-likelihood concentration of a Chinese-restaurant prior with discount `d`, given counts.

    It is the most likely one inside `bounds`, which are positive, as `ChineseRestaurant` needs it: with a large
    discount the likelihood may be largest at the lower one. `start` is returned while no row was seen twice, when
    every c explains the data equally well.
    """
    check_bounds(bounds, MIN_C, MAX_C)
    check_number("d", d, 0.0, MAX_DISCOUNT)
    sparse = as_counts(counts)
    if not np.any(sparse.totals > 1):
        return float(start)
    return maximize_likelihood(lambda c: partition_likelihood(c, d, sparse), bounds)
