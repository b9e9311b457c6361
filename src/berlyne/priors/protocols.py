"""Interfaces of priors: the required method, and optional methods for speed.

The paper assumes that every transition distribution is drawn independently (Sec. 2.3). So a prior is a rule that
computes the estimate of a row from the counts of that row. An object with this rule as its method `estimate(counts)` is
a `Prior`. PIG, PEIG, PMC and PLC are then computed from their definitions. A prior may also have the attributes
`n_actions` and `n_states`. Without them, pass the sizes to `InternalModel`, or use the prior in a `World`, which has
sizes.

The priors of the paper have more methods, for speed and for large worlds: see `ExactPrior`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from berlyne.labels import TransitionError
from berlyne.sparse import Counts, Rows, Support
from berlyne.validation import OWN_PRIOR, FloatArray, IntArray, Seed, short_repr

SUM_TOLERANCE = 1e-6
"""Tolerance for the sum of an estimated row."""


@runtime_checkable
class Prior(Protocol):
    """An object that estimates a world from counts."""

    def estimate(self, counts: IntArray, /) -> FloatArray:
        """Compute the Bayesian estimate theta_hat of Eq. 4 (`eq:be2`).

        Parameters
        ----------
        counts : ndarray of shape (M, N, N)
            Number of observations of each transition `[a, s, s_next]`.

        Returns
        -------
        ndarray of shape (M, N, N)
            The estimate; rows sum to one. Row (a, s) may depend on `counts[a, s]` only.
        """
        ...


def checked_estimate(prior: Prior, counts: IntArray) -> FloatArray:
    """Return the estimate of any prior, shape (M, N, N), or raise a `ValueError` about the first invalid row."""
    theta_hat = np.asarray(prior.estimate(counts), dtype=float)
    if theta_hat.shape != counts.shape:
        raise ValueError(f"the prior's estimate has shape {theta_hat.shape}; it must be {counts.shape}")
    sums, least = theta_hat.sum(axis=-1), theta_hat.min(axis=-1, initial=np.inf)
    bad = np.argwhere(~(np.abs(sums - 1.0) <= SUM_TOLERANCE) | ~(least >= 0.0))
    if len(bad):
        a, s = bad[0]
        raise TransitionError(
            "row (a={a}, s={s}) of {prior}.estimate sums to {total:g}, and its smallest number is {least:g}; "
            f"it must contain probabilities, which sum to 1{OWN_PRIOR}",
            {"s": s},
            {"a": a},
            {"prior": type(prior).__name__, "least": least[a, s], "total": sums[a, s]},
        )
    return theta_hat


class CompiledSpec(NamedTuple):
    """A prior and a utility as numbers, for kernels.

    The meaning of `numbers` and `table` depends on the family of the prior, in `berlyne.engine.row_beliefs`.

    Attributes
    ----------
    numbers : ndarray of shape (P,)
        Parameters of the prior.
    table : ndarray of shape (n_lines, n_columns)
        Precomputed values; if `per_transition`, a line for each possible transition.
    unseen : ndarray of shape (M N,)
        Estimate of every possible outcome of a row before any data, except for the special states. If
        `per_transition`, the estimate of each possible transition.
    special_states : tuple of int
        States with an estimate of their own before any data.
    special_estimates : ndarray of shape (M N, n_special_states)
        Estimates of the special states before any data.
    max_outcomes : int or None
        Largest number of different outcomes of a state, if that is small; otherwise None.
    per_transition : bool
        Whether outcomes of a row differ before any data. `unseen` and `table` are then in the order of
        `support.entries()`.
    """

    numbers: FloatArray
    table: FloatArray
    unseen: FloatArray
    special_states: tuple[int, ...]
    special_estimates: FloatArray
    max_outcomes: int | None
    per_transition: bool = False


class Description(NamedTuple):
    """Complete description of a prior apart from its sizes, for files, fingerprints and cache keys.

    Attributes
    ----------
    kind : str
        Name of the class.
    parameters : dict
        Arguments of the constructor as JSON values.
    arrays : dict of str to ndarray
        Arguments that are arrays.
    """

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, Any]


class ExactPrior(Prior, Protocol):
    """A prior with closed forms that work on sparse counts. Per-row results are `(M N,)`."""

    n_actions: int
    n_states: int

    def sample(self, seed: Seed, counts: Counts | IntArray | None = None, /) -> Rows:
        """Draw the rows of a world from the posterior given `counts`; from the prior without them."""
        ...

    def estimate_after(self, counts: IntArray, a: int, s: int, /) -> FloatArray:
        """Estimates of row (a, s) after one more outcome, `(N, N)`: [s_star, s_next]."""
        ...

    def row_estimate(self, counts: IntArray, a: int, s: int, /) -> FloatArray:
        """Estimate of row (a, s) from its own counts (N,), shape (N,)."""
        ...

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int, /) -> float:
        """Utility of row (a, s) from its own counts (N,); `last` is the most recent outcome.

        It raises a `KeyError` as `utility` does.
        """
        ...

    def log_marginal_likelihood(self, counts: Counts | IntArray, /) -> float:
        """Log probability of the observed outcomes in their order, in nats."""
        ...

    def expected_missing_information(self, counts: Counts | IntArray, /) -> FloatArray:
        """E[D(theta || theta_hat)] of each row given the data, in bits, `(M, N)`: [a, s]."""
        ...

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray, /) -> FloatArray:
        """Estimated probability of each transition (row, s_next), elementwise."""
        ...

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int, /) -> bool:
        """Return whether `s_next` is a possible outcome of row (a, s) after the outcomes `seen`."""
        ...

    def check_rows(self, rows: Rows, /) -> None:
        """Raise a `ValueError` that names the first row which cannot be drawn from this prior."""
        ...

    def utility(self, name: str, counts: Counts, /) -> FloatArray:
        """PIG, PMC, PLC or parameter_gain of each row (Eqs. 11, 19, 20); a `KeyError` if it has no closed form."""
        ...

    def peig(self, counts: Counts, last: IntArray, /) -> FloatArray:
        """Posterior expected information gain of the last outcome of each row, in bits (Eq. 18); NaN if untried."""
        ...


class CompiledPrior(ExactPrior, Protocol):
    """An exact prior that is also available in compiled kernels."""

    support: Support

    @property
    def family(self) -> str:
        """Name of the functions that kernels use for this prior, in `berlyne.engine.row_beliefs.FAMILIES`."""
        ...

    def compiled_spec(self, utility: str | None, /) -> CompiledSpec:
        """Return the prior and a utility as numbers for kernels; a `KeyError` if the utility has no closed form."""
        ...

    def describe(self) -> Description:
        """Return the description of the prior apart from its sizes."""
        ...

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, description: Description, /) -> CompiledPrior:
        """Create the prior from a description; the inverse of `describe`."""
        ...


def discovers_states(prior: Any) -> bool:
    """Return whether states are discovered during exploration under a prior, as under `ChineseRestaurant`.

    Such a prior has these attributes and methods:

    - `grows` is True.
    - `sized(n_states, n_actions)` returns the prior for `n_states` cells, the last of which is "elsewhere".

    If its parameters are learned, it also has the method `refit(counts)` (see `berlyne.priors.refit`). If it depends on
    which states were discovered, as `SharedRestaurant` does, its attribute `reads_states` is True, and it has the
    methods `with_state(state, actions, origin)` and `with_unknown_state(n_actions)`, which return the prior
    after a discovery.
    """
    return bool(getattr(prior, "grows", False))


def check_prior(prior: Any) -> None:
    """Raise a `ValueError` if an object is not a prior."""
    if isinstance(prior, type):
        raise ValueError(f"prior is the class {prior.__name__}; it must be an instance: {prior.__name__}(...)")
    if discovers_states(prior):
        if not callable(getattr(prior, "sized", None)):
            raise ValueError(
                f"{short_repr(prior)} has the attribute grows, so it must have a method sized(n_states, n_actions)"
                f"{OWN_PRIOR}"
            )
        return
    if callable(getattr(prior, "estimate", None)):  # isinstance with a Protocol takes as long as 100 steps
        return
    if hasattr(prior, "with_prior"):
        raise ValueError(f"prior is {prior!r}, which is a world; pass its prior: world.prior")
    raise ValueError(f"prior is {short_repr(prior)}; it must have a method estimate(counts){OWN_PRIOR}")


def as_exact(prior: Prior) -> ExactPrior | None:
    """Return the prior if it has all methods of `ExactPrior`, otherwise None."""
    return cast(ExactPrior, prior) if _is_exact(type(prior)) else None


@lru_cache(maxsize=256)
def _is_exact(kind: type) -> bool:
    """Return whether a class has all methods of `ExactPrior`, and they belong to its `estimate`."""
    methods = [name for name in vars(ExactPrior) if not name.startswith("_")]
    if not all(callable(getattr(kind, name, None)) for name in methods):
        return False
    # a subclass that overrides `estimate` alone inherits closed forms that do not match it
    return kind.__mro__.index(_defining_class(kind, "estimate")) >= kind.__mro__.index(
        _defining_class(kind, "row_estimate")
    )


def _defining_class(kind: type, method: str) -> type:
    """Return the class that defines a method."""
    return next(base for base in kind.__mro__ if method in vars(base))


def as_counts(counts: Counts | IntArray) -> Counts:
    """Return sparse counts from sparse or dense counts."""
    return counts if isinstance(counts, Counts) else Counts.from_dense(np.asarray(counts))


def counts_after_each_outcome(counts: IntArray, a: int, s: int) -> IntArray:
    """Return the counts after each imagined outcome s_star of row (a, s), `(N, M, N, N)`."""
    n_states = counts.shape[-1]
    after = np.repeat(counts[None], n_states, axis=0)
    after[np.arange(n_states), a, s, np.arange(n_states)] += 1
    return after
