"""Base class of priors with pseudo-counts: the Dirichlet prior and the Chinese restaurant.

Every possible outcome of a row has a pseudo-count c, which depends on the observations of the row. With their total
kappa, the estimate is c / kappa, and one more outcome adds 1 to its pseudo-count. So a row is estimated, valued and
drawn as under a Dirichlet distribution with parameters c. All sums that the closed forms need are computed here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from berlyne.frozen import Frozen
from berlyne.priors.closed_forms import FORMS, Sums, dirichlet_variance, lead
from berlyne.priors.protocols import CompiledSpec, as_counts
from berlyne.sparse import Counts, Rows, Support, by_action
from berlyne.validation import FloatArray, IntArray, Seed, generator


class PseudoCounts(NamedTuple):
    """Pseudo-counts of rows. Outcomes of a row with the same pseudo-count may share one entry.

    Attributes
    ----------
    row : ndarray of int, shape (n,)
        Position of the row of each entry in `kappa`.
    c : ndarray of shape (n,)
        Pseudo-count of each entry.
    times : ndarray of int, shape (n,)
        Number of outcomes that each entry stands for.
    kappa : ndarray of shape (n_rows,)
        Total pseudo-count of each row.
    """

    row: IntArray
    c: FloatArray
    times: IntArray
    kappa: FloatArray

    def sum(self, values: FloatArray) -> FloatArray:
        """Sum of a value per entry over the outcomes of each row, `(n_rows,)`."""
        return np.asarray(np.bincount(self.row, self.times * values, len(self.kappa)))

    def utility(self, name: str, n_states: int) -> FloatArray:
        """PIG, PMC, PLC or parameter_gain of each row, in closed form, `(n_rows,)`; `n_states` is N."""
        form, largest = FORMS[name], np.zeros(len(self.kappa))
        np.maximum.at(largest, self.row, np.where(self.times > 0, self.c, 0.0))
        runners_up: Any = np.nan
        if form.uses_largest:
            at_most = largest[self.row]
            ties = self.c == at_most
            runners_up = largest * (self.sum(ties) - 1.0) + self.sum(np.where(ties, 0.0, lead(self.c, at_most)))
        total = self.sum(form.term(self.c))
        return np.asarray(form.value(Sums(self.kappa, total, largest, runners_up, np.nan, np.nan, n_states)))

    def variance(self) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row, in bits squared, `(n_rows,)`."""
        return dirichlet_variance(self.c, self.row, self.times, self.kappa)


class PseudoCountPrior(Frozen):
    """Prior whose rows have pseudo-counts.

    A subclass defines the pseudo-counts (`_before`, `_pseudo_count`, `_kappa_before`, `_others_before`), which counts
    are valid (`_checked`), and its data for kernels (`_kernel_data`).

    Attributes
    ----------
    support : Support
        Possible transitions; None until the sizes are known.
    """

    support: Any

    @property
    @abstractmethod
    def _before(self) -> float | FloatArray:
        """Pseudo-count before any data: one number, or one for each transition in the order of `support.entries()`."""

    @abstractmethod
    def _pseudo_count(self, row: Any, s_next: Any, n: Any, n_seen: Any) -> Any:
        """Pseudo-count of each transition (row, s_next), seen n times, in a row with T = `n_seen` different outcomes.

        If `_before` is one number, all unseen outcomes of a row must have the same pseudo-count.
        """

    @abstractmethod
    def _kappa_before(self, row: Any) -> Any:
        """Total pseudo-count of each row before any data."""

    @abstractmethod
    def _others_before(self, row: Any, last: Any, n: Any, total: Any, n_seen: Any) -> Any:
        """Sum of the pseudo-counts of all outcomes except the last one, before it occurred.

        The last outcome was seen n times in a row with `total` observations and `n_seen` different outcomes, all
        including it.
        """

    @abstractmethod
    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts if they are possible, or raise a `ValueError`."""

    @abstractmethod
    def _kernel_data(self, utility: str | None) -> tuple[FloatArray, FloatArray]:
        """Return `numbers` and `table` of `CompiledSpec`; a `KeyError` if the utility has no closed form."""

    @property
    def family(self) -> str:
        """Name of the functions that kernels use for this prior, in `berlyne.engine.row_beliefs.FAMILIES`."""
        return type(self).__name__

    @property
    def _possible(self) -> Support:
        """The support; a `ValueError` if the sizes are not known."""
        support: Support = self.support
        return support

    def sample(self, seed: Seed, counts: Counts | IntArray | None = None) -> Rows:
        """Draw every row from its posterior given `counts`, a Dirichlet distribution; from the prior without them."""
        rng = generator(seed)
        indptr, indices = self._possible.entries()
        c = self._before if counts is None else self._at_support(self._checked(counts))
        return Rows(self._possible.n_actions, self._possible.n_states, indptr, indices, draw_simplex(c, indptr, rng))

    def estimate(self, counts: IntArray) -> FloatArray:
        """Estimate theta_hat[a, s, s_next] = c / kappa, shape (M, N, N); zero outside the support (Eqs. 7, 8)."""
        sparse, support = self._checked(counts), self._possible
        indptr, indices = support.entries()
        data = self.estimate_at(sparse, support.row_numbers(), indices.astype(np.int64))
        return Rows(support.n_actions, support.n_states, indptr, indices, data).dense()

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray) -> FloatArray:
        """Estimated probability of each transition (row, s_next), elementwise."""
        c = self._pseudo_count(row, s_next, counts.at(row, s_next), counts.n_seen[row])
        return np.where(self._possible.contains(row, s_next), c / self._kappa(counts)[row], 0.0)

    def estimate_after(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimates of row (a, s) after one more outcome, `(N, N)`: [s_star, s_next].

        For an impossible outcome s_star this is the current estimate.
        """
        possible, n_states = self._possible.row(a, s), self._possible.n_states
        c = np.zeros(n_states)
        c[possible] = self._row(np.asarray(counts)[a, s], a, s)
        after = np.tile(c, (n_states, 1))
        after[possible, possible] += 1.0
        return np.asarray(after / after.sum(axis=1, keepdims=True))

    def row_estimate(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimate of row (a, s) from its own counts (N,), shape (N,)."""
        theta_hat = np.zeros(self._possible.n_states)
        c = self._row(counts, a, s)
        theta_hat[self._possible.row(a, s)] = c / c.sum()
        return theta_hat

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int) -> float:
        """Utility of row (a, s) from its own counts (N,); `last` is the most recent outcome."""
        if name == "PEIG":
            r = s * self._possible.n_actions + a
            gain = self._gain(np.array([r]), np.array([last]), counts[last], counts.sum(), np.count_nonzero(counts))
            return float(gain[0])
        c = self._row(counts, a, s)
        row = PseudoCounts(np.zeros(len(c), dtype=np.int64), c, np.ones(len(c), dtype=np.int64), c.sum(keepdims=True))
        return float(row.utility(name, self._possible.n_states)[0])

    def utility(self, name: str, counts: Counts) -> FloatArray:
        """PIG, PMC, PLC or parameter_gain of each row, in closed form."""
        return self._pseudo_counts(counts).utility(name, self._possible.n_states)

    def peig(self, counts: Counts, last: IntArray) -> FloatArray:
        """D(now || before the last outcome) of each row, in bits; NaN if `last` is -1."""
        tried = np.flatnonzero(last >= 0)
        n = counts.at(tried, last[tried])
        gain = np.full(counts.n_rows, np.nan)
        gain[tried] = self._gain(tried, last[tried], n, counts.totals[tried], counts.n_seen[tried])
        return gain

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Novelty: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`.

        This is the entropy of the estimate minus the expected entropy of the row. PIG is its expected decrease over one
        observation.
        """
        return np.asarray(by_action(self.utility("parameter_gain", self._checked(counts)), self._possible.n_actions))

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`."""
        variance = self._pseudo_counts(self._checked(counts)).variance()
        return np.asarray(by_action(variance, self._possible.n_actions))

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int) -> bool:
        """Return whether `s_next` is a possible outcome of row (a, s), that is in its support."""
        return self._possible.is_full or bool(np.isin(s_next, self._possible.row(a, s)))

    def total_pseudo_count(self, n: int, a: int, s: int) -> float:
        """Sum of the pseudo-counts of row (a, s) after n observations."""
        return float(self._kappa_before(s * self._possible.n_actions + a) + n)

    def compiled_spec(self, utility: str | None) -> CompiledSpec:
        """Return the prior and a utility as numbers for kernels; a `KeyError` if it has no closed form."""
        numbers, table = self._kernel_data(utility)
        support, before = self._possible, self._before
        per_transition = isinstance(before, np.ndarray)
        unseen = before / self._kappa_before(support.row_numbers()) if per_transition else 1.0 / support.sizes
        none = np.empty((len(support.sizes), 0))
        return CompiledSpec(numbers, table, np.asarray(unseen), (), none, None, per_transition)

    def _check_size(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size, or raise a `ValueError`."""
        sparse, support = as_counts(counts), self._possible
        if (sparse.n_actions, sparse.n_states) != (support.n_actions, support.n_states):
            raise ValueError(
                f"counts are for {sparse.n_actions} actions and {sparse.n_states} states; "
                f"this prior has {support.n_actions} actions and {support.n_states} states"
            )
        return sparse

    def _kappa(self, counts: Counts) -> FloatArray:
        """Total pseudo-count of each row."""
        return np.asarray(self._kappa_before(slice(None)) + counts.totals)

    def _row(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Pseudo-counts of the possible outcomes of row (a, s) from its own counts (N,)."""
        support = self._possible
        possible, r = support.row(a, s), s * support.n_actions + a
        return np.asarray(self._pseudo_count(r, possible, counts[possible], np.count_nonzero(counts)), dtype=float)

    def _at_support(self, counts: Counts) -> FloatArray:
        """Pseudo-count of each possible transition, in the order of `support.entries()`."""
        row, s_next = self._possible.row_numbers(), self._possible.entries()[1].astype(np.int64)
        c = self._pseudo_count(row, s_next, counts.at(row, s_next), counts.n_seen[row])
        return np.asarray(c, dtype=np.float64)

    def _pseudo_counts(self, counts: Counts) -> PseudoCounts:
        """Pseudo-counts of all rows; if unseen outcomes of a row are equal, they share one entry."""
        kappa, support, n_rows = self._kappa(counts), self._possible, counts.n_rows
        if isinstance(self._before, np.ndarray):
            row = support.row_numbers()
            return PseudoCounts(row, self._at_support(counts), np.ones(len(row), dtype=np.int64), kappa)
        rows = np.arange(n_rows)
        seen = self._pseudo_count(counts.row, counts.s_next, counts.n, counts.n_seen[counts.row])
        unseen = np.broadcast_to(self._pseudo_count(rows, 0, 0, counts.n_seen), n_rows)
        times = np.concatenate([np.ones(len(seen), dtype=np.int64), support.sizes - counts.n_seen])
        return PseudoCounts(np.concatenate([counts.row, rows]), np.concatenate([seen, unseen]), times, kappa)

    def _gain(self, row: Any, last: Any, n: Any, total: Any, n_seen: Any) -> FloatArray:
        """Information gained by the last outcome of each row, in bits; arguments as for `_others_before`."""
        before = self._pseudo_count(row, last, n - 1, n_seen - (n == 1))
        others = self._others_before(row, last, n, total, n_seen)
        sums = Sums(np.nan, np.nan, np.nan, np.nan, before, others, self._possible.n_states)
        return np.broadcast_to(FORMS["PEIG"].value(sums), len(row))


def draw_simplex(c: float | FloatArray, indptr: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw every row `indptr[r]:indptr[r + 1]` from Dir(c); rows must not be empty, and all draws are positive.

    `c` is one number, or one for each entry.
    """
    size, n = np.diff(indptr), int(indptr[-1])
    if np.min(c) >= 0.1:
        gamma = rng.standard_gamma(c, size=n)
    else:  # a gamma variate may underflow: draw its logarithm and scale the largest of a row to 1
        log_gamma = np.log(rng.standard_gamma(c + 1.0, size=n)) - rng.standard_exponential(n) / c
        gamma = np.exp(log_gamma - np.repeat(np.maximum.reduceat(log_gamma, indptr[:-1]), size))
    gamma = np.maximum(gamma, np.finfo(np.float64).tiny)  # a zero would shrink the support
    row = np.repeat(np.arange(len(size)), size)
    return np.asarray(gamma / np.bincount(row, gamma)[row])
