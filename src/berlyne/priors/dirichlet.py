"""Dirichlet prior on a known support: Dense Worlds and Mazes.

Paper: Sec. 2.4, Eqs. 6, 7 (`eq:sh`) and 8 (`eq:shm`). A row whose support has S states starts with a pseudo-count of
alpha for each of them. With n_i observations of state i, the pseudo-counts are c_i = alpha + n_i, their total is
kappa = alpha S + K, and the estimate is c_i / kappa. Dense Worlds (alpha 1, all states) and Mazes (alpha 0.25, rooms
one step away) differ only in alpha and the support. Every utility has a closed form in c and kappa
(`berlyne.priors.closed_forms`), so no code here loops over outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.frozen import Frozen
from berlyne.priors.closed_forms import FORMS, Sums, dirichlet_variance, table_over_counts
from berlyne.priors.protocols import CompiledSpec, Description, as_counts
from berlyne.sparse import Counts, Rows, Support, by_action, checked_rows, checked_support, row_error, row_name
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_number, generator

MIN_ALPHA = 1e-300
"""Smallest concentration; division by a smaller one would overflow."""
MAX_ALPHA = 1e12
"""Largest concentration; one observation would be lost in the rounding of a larger pseudo-count."""


@dataclass(init=False, repr=False, eq=False)
class Dirichlet(Frozen):
    """Symmetric Dirichlet prior with concentration `alpha` on the states that each row can reach.

    Paper: Eqs. 6 to 8. The estimate is a Laplace-smoothed histogram.

    Parameters
    ----------
    alpha : float
        Concentration, from 1e-300 to 1e12. 1 is uniform over the simplex; smaller values are closer to deterministic.
    support : array of shape (M, N, N), Rows, Support or list of M sparse (N, N) matrices, optional
        Possible transitions, as a boolean array `[a, s, s_next]` or another form. Without it all transitions are
        possible, and `n_states` and `n_actions` are required.
    n_states : int, optional
        N; not needed with a support.
    n_actions : int, optional
        M; not needed with a support.

    Examples
    --------
    >>> prior = Dirichlet(1.0, n_states=3, n_actions=1)
    >>> prior.estimate(np.array([[[2, 0, 0], [0, 0, 0], [0, 0, 0]]]))[0, 0]
    array([0.6, 0.2, 0.2])
    """

    alpha: float
    support: Support
    n_states: int
    n_actions: int

    def __init__(
        self,
        alpha: float,
        support: Any = None,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
    ) -> None:
        vars(self).update(alpha=check_number("alpha", alpha, MIN_ALPHA, MAX_ALPHA))
        possible = as_support(support, n_states, n_actions)
        vars(self).update(support=possible, n_states=possible.n_states, n_actions=possible.n_actions)
        empty = np.flatnonzero(possible.sizes == 0)
        if len(empty):
            raise ValueError(
                f"the support of {row_name(empty[0], self.n_actions)} is empty; every row must reach some state"
            )

    def __repr__(self) -> str:
        support = "all states" if self.support.is_full else f"support of {int(self.support.sizes.sum())} transitions"
        return f"Dirichlet(alpha={self.alpha:g}, n_actions={self.n_actions}, n_states={self.n_states}, {support})"

    def sample(self, seed: Seed) -> Rows:
        """Draw every row from Dir(alpha) on its support (Eq. 6)."""
        rng = generator(seed)
        indptr, indices = self.support.entries()
        data = draw_simplex(self.alpha, indptr, rng)
        return Rows(self.n_actions, self.n_states, indptr, indices, data)

    def estimate(self, counts: IntArray) -> FloatArray:
        """Estimate theta_hat[a, s, s_next] = c / kappa, shape (M, N, N); zero outside the support (Eqs. 7, 8)."""
        sparse = self._checked(counts)
        indptr, indices = self.support.entries()
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        data = self.estimate_at(sparse, row, indices.astype(np.int64))
        return Rows(self.n_actions, self.n_states, indptr, indices, data).dense()

    def estimate_after(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimates of row (a, s) after one more outcome, `(N, N)`: [s_star, s_next].

        For an impossible outcome s_star this is the current estimate.
        """
        possible = self.support.row(a, s)
        c = np.zeros(self.n_states)
        c[possible] = self.alpha + np.asarray(counts)[a, s, possible]
        after = np.tile(c, (self.n_states, 1))
        after[possible, possible] += 1.0
        return np.asarray(after / after.sum(axis=1, keepdims=True))

    def row_estimate(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimate of row (a, s) from its own counts (N,), shape (N,)."""
        possible = self.support.row(a, s)
        theta_hat = np.zeros(self.n_states)
        c = self.alpha + counts[possible]
        theta_hat[possible] = c / c.sum()
        return theta_hat

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int) -> float:
        """Utility of row (a, s) from its own counts (N,); `last` is the most recent outcome."""
        c: FloatArray = np.asarray(self.alpha + counts[self.support.row(a, s)], dtype=np.float64)
        form, largest, c_last = FORMS[name], c.max(), self.alpha + (counts[last] - 1)
        total, n_largest = form.term(c).sum(), np.count_nonzero(c == largest)
        others = self.alpha * (len(c) - 1) + (counts.sum() - counts[last])
        return float(form.value(Sums(c.sum(), total, largest, n_largest, c_last, others, self.n_states)))

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of the observed outcomes in their order, in nats; -inf if they are impossible."""
        return log_likelihood(self.alpha, sufficient_statistics(self._check_size(counts), self.support))

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Novelty: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`.

        This is the entropy of the estimate minus the expected entropy of the row. PIG is its expected decrease over one
        observation.
        """
        return np.asarray(by_action(self.utility("novelty", self._checked(counts)), self.n_actions))

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`."""
        sparse = self._checked(counts)
        indptr, indices = self.support.entries()
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        c: FloatArray = np.asarray(self.alpha + sparse.at(row, indices.astype(np.int64)), dtype=np.float64)
        return np.asarray(by_action(dirichlet_variance(c, row.astype(np.int64), len(indptr) - 1), self.n_actions))

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray) -> FloatArray:
        """Estimated probability of each transition (row, s_next), elementwise."""
        c = self.alpha + counts.at(row, s_next)
        return np.where(self.support.contains(row, s_next), c / self._kappa(counts)[row], 0.0)

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int) -> bool:
        """Return whether `s_next` is a possible outcome of row (a, s), that is in its support."""
        return self.support.is_full or bool(np.isin(s_next, self.support.row(a, s)))

    def check_rows(self, rows: Rows) -> None:
        """Raise a `ValueError` if a world has a transition outside the support."""
        if self.support.same_entries(rows.support):
            return
        row = rows.row_numbers()
        outside = np.flatnonzero(~self.support.contains(row, rows.indices.astype(np.int64)))
        if len(outside):
            first = outside[0]
            raise row_error(
                row[first],
                self.n_actions,
                "{row} can reach state {s_next}, which the support of the prior excludes",
                rows.indices[first],
            )

    def utility(self, name: str, counts: Counts) -> FloatArray:
        """PIG, PMC, PLC or novelty of each row, in closed form."""
        form = FORMS[name]
        max_count = np.zeros(counts.n_rows, dtype=np.int64)
        np.maximum.at(max_count, counts.row, counts.n)
        n_largest = np.where(max_count == 0, self.support.sizes, counts.sum(counts.n == max_count[counts.row]))
        total = self._sum(counts, form.term)
        return np.asarray(
            form.value(
                Sums(self._kappa(counts), total, self.alpha + max_count, n_largest, np.nan, np.nan, self.n_states)
            )
        )

    def peig(self, counts: Counts, last: IntArray) -> FloatArray:
        """D(now || before the last outcome) of each row, in bits; NaN if `last` is -1."""
        tried = np.flatnonzero(last >= 0)
        n = counts.at(tried, last[tried])
        c, others = self.alpha + (n - 1), self.alpha * (self.support.sizes[tried] - 1) + (counts.totals[tried] - n)
        gain = np.full(counts.n_rows, np.nan)
        gain[tried] = FORMS["PEIG"].value(Sums(np.nan, np.nan, np.nan, np.nan, c, others, self.n_states))
        return gain

    def compiled_spec(self, utility: str | None) -> CompiledSpec:
        """Return the prior and a utility as numbers for kernels.

        `numbers` contains alpha. Line n of the table contains log(1 + 1 / c) and the term of the utility at
        c = alpha + n.
        """
        return CompiledSpec(
            -1 if utility is None else {name: i for i, name in enumerate(FORMS)}[utility],
            np.array([self.alpha]),
            table_over_counts(self.alpha, utility),
            1.0 / self.support.sizes,
            (),
            np.empty((len(self.support.sizes), 0)),
            None,
        )

    def describe(self) -> Description:
        """Return the concentration, and the support unless all transitions are possible."""
        if self.support.indptr is None:
            return Description("Dirichlet", {"alpha": self.alpha}, {})
        indptr, indices = self.support.entries()
        return Description("Dirichlet", {"alpha": self.alpha}, {"support_indptr": indptr, "support_indices": indices})

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, description: Description) -> Dirichlet:
        """Create the prior from a description, or raise a `ValueError` if its support is invalid."""
        if not description.arrays:
            return cls(**description.parameters, n_states=n_states, n_actions=n_actions)
        indptr, indices = description.arrays["support_indptr"], description.arrays["support_indices"]
        return cls(**description.parameters, support=Support(n_actions, n_states, indptr, indices))

    def total_pseudo_count(self, n: int, a: int, s: int) -> float:
        """Sum of the pseudo-counts of row (a, s) after n observations."""
        return float(self.alpha * self.support.sizes[s * self.n_actions + a] + n)

    def _kappa(self, counts: Counts) -> FloatArray:
        """Total pseudo-count of each row."""
        return np.asarray(self.alpha * self.support.sizes + counts.totals)

    def _sum(self, counts: Counts, term: Callable[[Any], Any]) -> FloatArray:
        """Sum of term(c) over the support of each row; every unseen state contributes term(alpha)."""
        unseen = term(self.alpha)
        return np.asarray(self.support.sizes * unseen + counts.sum(term(self.alpha + counts.n) - unseen))

    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size and within the support, or raise a `ValueError`."""
        sparse = self._check_size(counts)
        check_in_support(sparse, self.support)
        return sparse

    def _check_size(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size, or raise a `ValueError`."""
        sparse = as_counts(counts)
        if (sparse.n_actions, sparse.n_states) != (self.n_actions, self.n_states):
            raise ValueError(
                f"counts are for {sparse.n_actions} actions and {sparse.n_states} states; "
                f"this prior has {self.n_actions} actions and {self.n_states} states"
            )
        return sparse


def draw_simplex(alpha: float, indptr: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw every row `indptr[r]:indptr[r + 1]` from Dir(alpha); rows must not be empty, and all draws are positive."""
    size, n = np.diff(indptr), int(indptr[-1])
    if alpha >= 0.1:
        gamma = rng.standard_gamma(alpha, size=n)
    else:  # a gamma variate may underflow: draw its logarithm and scale the largest of a row to 1
        log_gamma = np.log(rng.standard_gamma(alpha + 1.0, size=n)) - rng.standard_exponential(n) / alpha
        gamma = np.exp(log_gamma - np.repeat(np.maximum.reduceat(log_gamma, indptr[:-1]), size))
    gamma = np.maximum(gamma, np.finfo(np.float64).tiny)  # a zero would shrink the support
    row = np.repeat(np.arange(len(size)), size)
    return np.asarray(gamma / np.bincount(row, gamma)[row])


_Statistics = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]


def sufficient_statistics(counts: Counts, support: Support) -> _Statistics:
    """Sufficient statistics of counts for the concentration.

    Returns
    -------
    size, total, n_rows : ndarray
        Distinct pairs of support size and number of observations K, with the number of rows that have them.
    n, n_entries : ndarray
        Distinct counts of transitions, with the number of transitions that have them. All arrays are -1 if a
        transition outside the support was observed.
    """
    if not np.all(support.contains(counts.row, counts.s_next)):
        impossible = np.full(1, -1)
        return impossible, impossible, impossible, impossible, impossible
    seen = counts.totals > 0
    pairs, n_rows = np.unique(np.stack([support.sizes[seen], counts.totals[seen]]), axis=1, return_counts=True)
    n, n_entries = np.unique(counts.n, return_counts=True)
    return pairs[0], pairs[1], n_rows, n, n_entries


def log_likelihood(alpha: float, statistics: _Statistics) -> float:
    """Dirichlet-categorical log likelihood, in nats; -inf if the observations are impossible."""
    from scipy.special import gammaln

    size, total, n_rows, n, n_entries = statistics
    if np.any(n < 0):
        return -np.inf
    per_row = gammaln(size * alpha) - gammaln(size * alpha + total)
    per_entry = gammaln(alpha + n) - gammaln(alpha)
    return float(np.dot(n_rows, per_row) + np.dot(n_entries, per_entry))


def check_in_support(counts: Counts, support: Support) -> None:
    """Raise a `ValueError` about the first observation outside the support."""
    outside = np.flatnonzero(~support.contains(counts.row, counts.s_next))
    if len(outside):
        row, s_next = counts.row[outside[0]], counts.s_next[outside[0]]
        raise row_error(
            row,
            counts.n_actions,
            "{row} was observed to reach state {s_next}, which the support of the prior excludes",
            s_next,
        )


def as_support(support: Any, n_states: int | None, n_actions: int | None) -> Support:
    """Return the support from any form that `Dirichlet` accepts, or raise a `ValueError`."""
    if support is None:
        if n_states is None or n_actions is None:
            raise ValueError("a Dirichlet prior needs a support, or both n_states and n_actions")
        return Support(check_count("n_actions", n_actions, 1), check_count("n_states", n_states, 1))
    possible = _convert_support(support)
    for name, size in (("n_states", n_states), ("n_actions", n_actions)):
        if size is not None and size != getattr(possible, name):
            raise ValueError(f"{name} is {size} but the support has {name}={getattr(possible, name)}")
    return possible


def _convert_support(support: Any) -> Support:
    """Return a `Support` from a support, rows, sparse matrices or a dense array."""
    if isinstance(support, Support):
        return checked_support(support)
    if isinstance(support, Rows):
        return checked_rows(support).support
    if isinstance(support, list | tuple) and len(support) and hasattr(support[0], "tocsr"):
        return Rows.from_sparse(support).support
    return Support.from_mask(np.asarray(support) != 0)
