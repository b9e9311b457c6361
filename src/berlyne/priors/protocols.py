"""What a prior must offer, and what it may offer to be fast.

The paper assumes that every transition distribution is drawn independently (Sec. 2.3), so a
prior is a rule that turns the counts of a row into the estimate of that row. That rule alone,
`estimate(counts)`, makes an object a `Prior`: PIG, PEIG, PMC and PLC are then evaluated from
their definitions. Such a prior may also carry `n_actions` and `n_states`; without them, say
the sizes to `InternalModel` or use it in a `World`, which knows its own.

The priors of the paper offer more, for speed and for large worlds: see `ExactPrior`.
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
"""How far from one the sum of an estimated row may be."""


@runtime_checkable
class Prior(Protocol):
    """Anything that estimates a world from counts."""

    def estimate(self, counts: IntArray, /) -> FloatArray:
        """The Bayesian estimate theta_hat of Eq. 4 (`eq:be2`).

        Parameters
        ----------
        counts : (M, N, N), observations of each transition `[a, s, s_next]`.

        Returns
        -------
        (M, N, N), rows sum to one. Row (a, s) may depend on `counts[a, s]` only.
        """
        ...


def checked_estimate(prior: Prior, counts: IntArray) -> FloatArray:
    """What a prior of anybody's estimates, (M, N, N), or a `ValueError` that names a row which is no distribution."""
    theta_hat = np.asarray(prior.estimate(counts), dtype=float)
    if theta_hat.shape != counts.shape:
        raise ValueError(f"the prior's estimate has shape {theta_hat.shape}; it must be {counts.shape}")
    sums, least = theta_hat.sum(axis=-1), theta_hat.min(axis=-1, initial=np.inf)
    bad = np.argwhere(~(np.abs(sums - 1.0) <= SUM_TOLERANCE) | ~(least >= 0.0))
    if len(bad):
        a, s = bad[0]
        raise TransitionError(
            "{prior}.estimate gives row (a={a}, s={s}) numbers from {least:g} on that sum to {total:g}; "
            f"they must be probabilities, which sum to 1{OWN_PRIOR}",
            {"s": s},
            {"a": a},
            {"prior": type(prior).__name__, "least": least[a, s], "total": sums[a, s]},
        )
    return theta_hat


class CompiledSpec(NamedTuple):
    """How a prior and a utility are compiled: all that kernels need to know of them, as numbers.

    The family that the prior belongs to, in `berlyne.engine.row_beliefs`, says what `numbers` and `table` mean.

    form : number of the utility among the closed forms of the family; -1 for none.
    numbers : (P,), parameters of the prior.
    table : (lines, columns), whatever is worth looking up.
    unseen : (M N,), the estimate of every possible outcome of a row before any data,
    singled_out, singled : but for these states: which, and (M N, states) their estimates.
    most_outcomes : how many different outcomes a state can have, where that is few; else None.
    """

    form: int
    numbers: FloatArray
    table: FloatArray
    unseen: FloatArray
    special_states: tuple[int, ...]
    special_estimates: FloatArray
    max_outcomes: int | None


class Description(NamedTuple):
    """What tells a prior from any other of its size: for saving, for fingerprints, for keeping what follows from it.

    kind : the name of its class.
    parameters : plain values, as its constructor takes them.
    arrays : what does not fit into plain values.
    """

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, Any]


class ExactPrior(Prior, Protocol):
    """A prior with closed forms that work on sparse counts. Per-row results are `(M N,)`."""

    n_actions: int
    n_states: int

    def sample(self, seed: Seed, /) -> Rows:
        """Draw the rows of a world."""
        ...

    def estimate_after(self, counts: IntArray, a: int, s: int, /) -> FloatArray:
        """`(N, N)`: line s_star is the estimate of row (a, s) after one more outcome s_star."""
        ...

    def row_estimate(self, counts: IntArray, a: int, s: int, /) -> FloatArray:
        """The estimate of one row from its own counts (N,); shape (N,)."""
        ...

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int, /) -> float:
        """A utility of one row from its own counts (N,); `last` is the outcome that was counted last."""
        ...

    def log_marginal_likelihood(self, counts: Counts | IntArray, /) -> float:
        """Natural logarithm of the probability of the observed outcomes, in their order."""
        ...

    def expected_missing_information(self, counts: Counts | IntArray, /) -> FloatArray:
        """`(M, N)`: E[D(theta || theta_hat)] of each row given the data, in bits."""
        ...

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray, /) -> FloatArray:
        """Estimated probabilities of single transitions, elementwise."""
        ...

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int, /) -> bool:
        """Whether `s_next` can follow in row (a, s) after the outcomes in `seen`."""
        ...

    def check_rows(self, rows: Rows, /) -> None:
        """Raise a `ValueError` naming the first row that this prior cannot have drawn."""
        ...

    def utility(self, name: str, counts: Counts, /) -> FloatArray:
        """PIG, PMC, PLC or novelty per row (Eqs. 11, 19, 20)."""
        ...

    def peig(self, counts: Counts, last: IntArray, /) -> FloatArray:
        """Realised posterior gain of the last outcome of each row, in bits (Eq. 18); NaN if untried."""
        ...


class CompiledPrior(ExactPrior, Protocol):
    """An exact prior that kernels know, too."""

    support: Support

    def compiled_spec(self, utility: str | None, /) -> CompiledSpec:
        """How it is compiled together with a utility; a `KeyError` if it has no closed form of that."""
        ...

    def describe(self) -> Description:
        """What tells it from any other prior of its size."""
        ...

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, said: Description, /) -> CompiledPrior:
        """The inverse of `describe`."""
        ...


def discovers_states(prior: Any) -> bool:
    """Whether states are discovered on the way under a prior, as under `ChineseRestaurant`.

    One that grows says so by `grows`, and has `sized(n_states, n_actions)`, the prior for so many cells, the last of
    which is elsewhere; `is_adaptive`, and if that is true `fitted(counts)`, the prior with what is most likely by
    then, whose `describe()` tells whether it changed.
    """
    return bool(getattr(prior, "grows", False))


def check_prior(prior: Any) -> None:
    """Refuse what is no prior."""
    if isinstance(prior, type):
        raise ValueError(f"prior is the class {prior.__name__}; it must be an object of it: {prior.__name__}(...)")
    if discovers_states(prior):
        if not callable(getattr(prior, "sized", None)):
            raise ValueError(f"{short_repr(prior)} grows; it must have a method sized(n_states, n_actions){OWN_PRIOR}")
        return
    if callable(getattr(prior, "estimate", None)):  # isinstance of a Protocol takes as long as a hundred steps
        return
    if hasattr(prior, "with_prior"):
        raise ValueError(f"prior is {prior!r}, which is a world; give its prior: world.prior")
    raise ValueError(f"prior is {short_repr(prior)}; it must have a method estimate(counts){OWN_PRIOR}")


def as_exact(prior: Prior) -> ExactPrior | None:
    """The prior itself if it offers all of `ExactPrior`, else None."""
    return cast(ExactPrior, prior) if _is_exact(type(prior)) else None


@lru_cache(maxsize=256)
def _is_exact(kind: type) -> bool:
    methods = [name for name in vars(ExactPrior) if not name.startswith("_")]
    if not all(callable(getattr(kind, name, None)) for name in methods):
        return False
    # an estimate that was written for a class below the one whose closed forms it inherits is not theirs
    return kind.__mro__.index(_home(kind, "estimate")) >= kind.__mro__.index(_home(kind, "row_estimate"))


def _home(kind: type, method: str) -> type:
    """The class that a method comes from."""
    return next(one for one in kind.__mro__ if method in vars(one))


def as_counts(counts: Counts | IntArray) -> Counts:
    """Sparse counts, from sparse or dense ones."""
    return counts if isinstance(counts, Counts) else Counts.from_dense(np.asarray(counts))


def counts_after_each_outcome(counts: IntArray, a: int, s: int) -> IntArray:
    """`(N, M, N, N)`: the counts after each imagined outcome s_star of row (a, s)."""
    n_states = counts.shape[-1]
    after = np.repeat(counts[None], n_states, axis=0)
    after[np.arange(n_states), a, s, np.arange(n_states)] += 1
    return after
