"""Dirichlet prior on a known support: Dense Worlds and Mazes.

Paper: Sec. 2.4, Eqs. 6, 7 (`eq:sh`) and 8 (`eq:shm`). A row whose support has S states starts with a pseudo-count of
alpha for each of them. With n_i observations of state i, the pseudo-counts are c_i = alpha + n_i, their total is
kappa = alpha S + K, and the estimate is c_i / kappa. Dense Worlds (alpha 1, all states) and Mazes (alpha 0.25, rooms
one step away) differ only in alpha and the support. Transitions may also have different alphas, c_i = alpha_i + n_i.
Every utility has a closed form in c and kappa (`berlyne.priors.closed_forms`), so no code here loops over outcomes.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from berlyne.frozen import read_only
from berlyne.priors.closed_forms import FORMS, table_over_counts
from berlyne.priors.concentration import histograms_of, is_uninformative, maximum_likelihood_alpha
from berlyne.priors.protocols import Description, Prior
from berlyne.priors.pseudo_counts import PseudoCountPrior
from berlyne.priors.refit import DEFAULT_SCHEDULE, MOST_LIKELY, Refit, check_bounds, check_schedule
from berlyne.sparse import Counts, Rows, Support, checked_rows, checked_support, row_error, row_name
from berlyne.validation import FloatArray, IntArray, check_count, check_number

Alpha = float | Literal["ml"]
"""Concentration of a prior; "ml" if explorers learn it."""
MIN_ALPHA = 1e-300
"""Smallest concentration; division by a smaller one would overflow."""
MIN_UNEQUAL_ALPHA = 1e-140
"""Smallest concentration if transitions have different ones; squares of smaller pseudo-counts underflow."""
MAX_ALPHA = 1e12
"""Largest concentration; one observation would be lost in the rounding of a larger pseudo-count."""
LOW, HIGH = 1e-3, 1.0
"""Range in which a concentration is learned by default, if there are few states; see `default_bounds`."""
MIN_KAPPA = 0.1
"""Largest total pseudo-count of a row at the lower bound, if all states can follow."""


@dataclass(init=False, repr=False, eq=False)
class Dirichlet(PseudoCountPrior):
    """Dirichlet prior with concentration `alpha` on the states that each row can reach.

    Paper: Eqs. 6 to 8, where the prior is symmetric. The estimate is a Laplace-smoothed histogram.

    Parameters
    ----------
    alpha : float, "ml" or ndarray
        Concentration, from 1e-300 to 1e12. 1 is uniform over the simplex; smaller values are closer to deterministic.
        With "ml", explorers learn it: they use the most likely concentration, given their observations (Fig. S5,
        reading R24). The attribute `alpha` is then the concentration in force. An array of shape (M, N) contains the
        concentration of each row `[a, s]`. An array of shape (M, N, N) contains that of each transition
        `[a, s, s_next]`; its values outside the support are ignored. An array of one dimension contains that of each
        possible transition, in the order of `support.entries()`. Values of arrays are at least 1e-140.
    support : array of shape (M, N, N), Rows, Support or list of M sparse (N, N) matrices, optional
        Possible transitions, as a boolean array `[a, s, s_next]` or another form. Without it all transitions are
        possible, and `n_states` and `n_actions` are required.
    n_states : int, optional
        N; not needed with a support.
    n_actions : int, optional
        M; not needed with a support.
    start : float, optional
        With "ml", the concentration until a row with several possible outcomes has been observed twice; by default 1/N.
    bounds : tuple of two floats, optional
        With "ml", smallest and largest concentration that is learned; by default those of `default_bounds`.
    schedule : Refit, optional
        When the concentration is learned; None if it is fixed. With "ml", by default after each of the first 10
        observations, and then whenever the number of observations has grown by a tenth (`Refit()`).

    Attributes
    ----------
    alpha : float or ndarray of shape (n_transitions,)
        Concentration. It is one number if all transitions have the same. Otherwise it contains that of each possible
        transition, in the order of `support.entries()`.
    support : Support
        Possible transitions.

    Examples
    --------
    >>> prior = Dirichlet(1.0, n_states=3, n_actions=1)
    >>> prior.estimate(np.array([[[2, 0, 0], [0, 0, 0], [0, 0, 0]]]))[0, 0]
    array([0.6, 0.2, 0.2])
    >>> sticky = Dirichlet(0.5 + np.eye(3)[None], n_states=3, n_actions=1)  # states tend to last
    >>> sticky.estimate(np.zeros((1, 3, 3), dtype=int))[0, 1]
    array([0.2, 0.6, 0.2])
    """

    alpha: float | FloatArray
    support: Support
    n_states: int
    n_actions: int
    bounds: tuple[float, float]
    schedule: Refit | None

    def __init__(
        self,
        alpha: Any,
        support: Any = None,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        start: float | None = None,
        bounds: tuple[float, float] | None = None,
        schedule: Refit | None = None,
    ) -> None:
        vars(self).update(schedule=check_schedule(schedule))
        learns = isinstance(alpha, str) and alpha == MOST_LIKELY
        if start is not None and not learns:
            raise ValueError(f"start is {start!r}, but alpha is {alpha!r}; start needs alpha={MOST_LIKELY!r}")
        if _is_array(alpha) and schedule is not None:
            raise ValueError("alpha is an array, but schedule is set; only one alpha for all rows can be learned")
        if not learns and not _is_array(alpha):
            alpha = check_number("alpha", alpha, MIN_ALPHA, MAX_ALPHA)
        possible = as_support(support, n_states, n_actions)
        vars(self).update(support=possible, n_states=possible.n_states, n_actions=possible.n_actions)
        low, high = default_bounds(self.n_states) if bounds is None else bounds
        check_bounds((low, high), MIN_ALPHA, MAX_ALPHA)
        vars(self).update(bounds=(float(low), float(high)))
        if learns:
            alpha = check_number("start", 1.0 / self.n_states if start is None else start, MIN_ALPHA, MAX_ALPHA)
            vars(self).update(schedule=DEFAULT_SCHEDULE if schedule is None else schedule)
        check_rows_not_empty(possible)
        vars(self).update(alpha=alpha if isinstance(alpha, float) else _alpha_by_transition(alpha, possible))

    def __repr__(self) -> str:
        support = "all states" if self.support.is_full else f"support of {int(self.support.sizes.sum())} transitions"
        alpha = self.alpha
        shown = f"{alpha:g}" if isinstance(alpha, float) else f"array of {alpha.min():g} to {alpha.max():g}"
        if self.schedule is not None:
            shown = f"{MOST_LIKELY!r}, now {shown}"
        return f"Dirichlet(alpha={shown}, n_actions={self.n_actions}, n_states={self.n_states}, {support})"

    @property
    def learned(self) -> float | FloatArray:
        """The concentration in force, if all transitions have the same."""
        if not isinstance(self.alpha, float):
            raise ValueError("alpha is an array; only one alpha for all rows can be learned")
        return self.alpha

    def with_learned(self, alpha: float) -> Dirichlet:
        """Return the prior with another concentration in force."""
        clone = copy.copy(self)
        vars(clone)["alpha"] = float(alpha)
        return clone

    def refit(self, counts: Counts | IntArray) -> Dirichlet:
        """Return the prior with the most likely concentration within `bounds`, given counts.

        It is this prior if no row with several possible outcomes was observed twice, because then every concentration
        explains the data equally well.
        """
        histograms = histograms_of(self._checked(counts), self.support.sizes)
        if is_uninformative(histograms):
            return self
        return self.with_learned(maximum_likelihood_alpha(histograms, float(self.learned), *self.bounds))

    def with_support(self, support: Support) -> Dirichlet:
        """Return the prior on a larger support.

        If transitions have different concentrations, a new one gets the mean concentration of its row.
        """
        alpha = self.alpha
        if not isinstance(alpha, float):
            row = support.row_numbers()
            known = self.support.positions(row, support.entries()[1])
            mean = np.bincount(self.support.row_numbers(), alpha) / self.support.sizes
            alpha = np.where(known >= 0, alpha[known], mean[row])
        return replace(self, alpha=alpha, support=support)

    @property
    def family(self) -> str:
        """Name of the functions that kernels use for this prior, in `berlyne.engine.row_beliefs.FAMILIES`."""
        return "Dirichlet" if isinstance(self.alpha, float) else "Dirichlet with unequal alpha"

    @property
    def _before(self) -> float | FloatArray:
        return self.alpha

    def _pseudo_count(self, row: Any, s_next: Any, n: Any, n_seen: Any) -> Any:
        return self._alpha_at(row, s_next) + n

    def _alpha_at(self, row: Any, s_next: Any) -> Any:
        """The alpha of each transition (row, s_next), elementwise; any number if it is impossible."""
        alpha = self._before
        return alpha if isinstance(alpha, float) else alpha[self.support.positions(row, s_next)]

    def _kappa_before(self, row: Any) -> Any:
        alpha = self._before
        return alpha * self.support.sizes[row] if isinstance(alpha, float) else self._row_totals[row]

    @cached_property
    def _row_totals(self) -> FloatArray:
        """Sum of the alphas of each row, if they are unequal, `(M N,)`."""
        return read_only(np.add.reduceat(self._before, self.support.entries()[0][:-1]))

    def _others_before(self, row: Any, last: Any, n: Any, total: Any, n_seen: Any) -> Any:
        alpha = self._before
        if isinstance(alpha, float):
            return alpha * (self.support.sizes[row] - 1) + (total - n)
        # add up the others instead of subtracting from the total, in which a small alpha would be lost
        size, begin = self.support.sizes[row], self.support.entries()[0][row]
        group = np.repeat(np.arange(len(row)), size)
        position = np.arange(len(group)) + (begin - np.cumsum(size) + size)[group]
        others = np.where(position == self.support.positions(row, last)[group], 0.0, alpha[position])
        return np.bincount(group, others, len(row)) + (total - n)

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of the observed outcomes in their order, in nats; -inf if they are impossible."""
        from scipy.special import gammaln

        sparse = self._check_size(counts)
        if not np.all(self.support.contains(sparse.row, sparse.s_next)):
            return -np.inf
        alpha, kappa = self._alpha_at(sparse.row, sparse.s_next), self._kappa_before(slice(None))
        per_entry = gammaln(alpha + sparse.n) - gammaln(alpha)
        return float(np.sum(per_entry) + np.sum(gammaln(kappa) - gammaln(kappa + sparse.totals)))

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

    def concentrations(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Return the alpha of each entry of `rows`, and the sum of the alphas of each row, `(n_entries,)` and `(M N,)`.

        Parameters
        ----------
        rows : Rows
            The world. All its transitions must be in the support.
        """
        alpha = self._alpha_at(rows.row_numbers(), rows.indices.astype(np.int64))
        totals = np.asarray(self._kappa_before(slice(None)), dtype=float)
        return np.broadcast_to(np.asarray(alpha, dtype=float), rows.indices.shape), totals

    def _kernel_data(self, utility: str | None) -> tuple[FloatArray, FloatArray]:
        """Return data for kernels.

        With one alpha, `numbers` contains it, and line n of the table contains log(1 + 1 / c) and the term of the
        utility at c = alpha + n. With unequal alphas, `numbers` contains their sum for each row, and the table contains
        each alpha and its term.
        """
        alpha = self._before
        if isinstance(alpha, float):
            return np.array([alpha]), table_over_counts(alpha, utility)
        term = np.zeros(len(alpha)) if utility is None else FORMS[utility].term(alpha)
        return self._row_totals, np.stack([alpha, term], axis=1)

    def describe(self) -> Description:
        """Return the concentration, how it is learned, and the support unless all transitions are possible."""
        alpha, arrays = self.alpha, {}
        parameters: dict[str, Any] = {}
        if self.support.indptr is not None:
            arrays = dict(zip(("support_indptr", "support_indices"), self.support.entries(), strict=True))
        if not isinstance(alpha, float):
            arrays = {**arrays, "prior_alpha": alpha}
        elif self.schedule is None:
            parameters = {"alpha": alpha}
        else:
            low, high = self.bounds
            parameters = {"alpha": MOST_LIKELY, "start": alpha, "low": low, "high": high, **asdict(self.schedule)}
        return Description("Dirichlet", parameters, arrays)

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, description: Description) -> Dirichlet:
        """Create the prior from a description, or raise a `ValueError` if its support is invalid."""
        arrays, parameters = description.arrays, dict(description.parameters)
        if "prior_alpha" in arrays:
            parameters["alpha"] = arrays["prior_alpha"]
        elif parameters["alpha"] == MOST_LIKELY:
            bounds = parameters.pop("low"), parameters.pop("high")
            schedule = Refit(**{field.name: parameters.pop(field.name) for field in fields(Refit)})
            parameters |= {"bounds": bounds, "schedule": schedule}
        if "support_indptr" not in arrays:
            return cls(**parameters, n_states=n_states, n_actions=n_actions)
        support = Support(n_actions, n_states, arrays["support_indptr"], arrays["support_indices"])
        return cls(**parameters, support=support)

    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size and within the support, or raise a `ValueError`."""
        sparse = self._check_size(counts)
        check_in_support(sparse, self.support)
        return sparse


def prior_or_default(prior: Prior | None, alpha: Alpha | None, n_states: int, n_actions: int) -> Prior:
    """Return `prior` or, without it, the prior of a world without a description.

    Parameters
    ----------
    prior : Prior or None
        Prior that the user passed.
    alpha : float, "ml" or None
        Concentration that the user passed. None for "ml".
    n_states, n_actions : int
        Number of states and actions.

    Returns
    -------
    Prior
        The prior; by default a Dirichlet distribution over all states.

    Raises
    ------
    ValueError
        If both a prior and a concentration are set.
    """
    check_one_of(prior, alpha)
    if prior is not None:
        return prior
    return Dirichlet(MOST_LIKELY if alpha is None else alpha, n_states=n_states, n_actions=n_actions)


def check_one_of(prior: Any, alpha: Any) -> None:
    """Raise a `ValueError` if both a prior and the concentration of the default prior are set."""
    if prior is not None and alpha is not None:
        raise ValueError(f"alpha is {alpha!r}, but prior is set too; alpha sets the default prior, so leave one out")


def default_bounds(n_states: int) -> tuple[float, float]:
    """Return the range in which a concentration is learned in a world of `n_states` states.

    After two different outcomes of one row, and none that was repeated, the likelihood rises without end with alpha.
    The upper bound of 1 keeps such an explorer from expecting that nothing is left to learn. If no row had two
    different outcomes, the likelihood rises as alpha falls. At the lower bound the total pseudo-count of a row is then
    at most 0.1, so one observation decides, however many states there are.
    """
    return min(LOW, MIN_KAPPA / n_states), HIGH


def _alpha_by_transition(alpha: Any, support: Support) -> float | FloatArray:
    """Return the alpha of each possible transition, or one number if all are equal.

    Raises
    ------
    ValueError
        If the array has another shape than `Dirichlet` accepts, or if a value is invalid.
    """
    n_actions, n_states, row = support.n_actions, support.n_states, support.row_numbers()
    s_next = support.entries()[1]
    s, a = np.divmod(row, n_actions)
    try:
        values: FloatArray = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("alpha is a list that is not an array of numbers; its rows must have equal lengths") from None
    if values.shape == (n_actions, n_states):
        values = values[a, s]
    elif values.shape == (n_actions, n_states, n_states):
        values = values[a, s, s_next]
    elif values.shape != row.shape:
        raise ValueError(
            f"alpha has shape {values.shape}; it must be a number, or an array of shape {(n_actions, n_states)}, "
            f"{(n_actions, n_states, n_states)} or {row.shape}: one for each row, transition or possible transition"
        )
    invalid = np.flatnonzero(~((values >= MIN_UNEQUAL_ALPHA) & (values <= MAX_ALPHA)))
    if len(invalid):
        first = invalid[0]
        raise row_error(
            row[first],
            n_actions,
            "alpha of {row} is {alpha:g} for state {s_next}; it must be a number in [{low:g}, {high:g}]",
            s_next[first],
            alpha=values[first],
            low=MIN_UNEQUAL_ALPHA,
            high=MAX_ALPHA,
        )
    return float(values[0]) if np.all(values == values[0]) else read_only(np.array(values))


def _is_array(alpha: Any) -> bool:
    """Whether alpha has dimensions, also if it is a list of lists that have different lengths."""
    return isinstance(alpha, list | tuple) or np.ndim(alpha) > 0


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


def check_rows_not_empty(support: Support) -> None:
    """Raise a `ValueError` about the first row that can reach no state."""
    empty = np.flatnonzero(support.sizes == 0)
    if len(empty):
        raise ValueError(
            f"the support of {row_name(empty[0], support.n_actions)} is empty; every row must reach some state"
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
