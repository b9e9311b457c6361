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
from typing import Protocol, cast, runtime_checkable

import numpy as np

from berlyne.arrays import FloatArray, IntArray, Seed
from berlyne.rows import Counts, Rows


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

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, /) -> float:
        """PIG, PMC, PLC or novelty of one row from its own counts (N,)."""
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

    def pig(self, counts: Counts, /) -> FloatArray:
        """Predicted information gain per row, in bits (Eq. 11)."""
        ...

    def peig(self, counts: Counts, last: IntArray, /) -> FloatArray:
        """Realised posterior gain of the last outcome of each row, in bits (Eq. 18); NaN if untried."""
        ...

    def pmc(self, counts: Counts, /) -> FloatArray:
        """Predicted mode change per row (Eq. 19)."""
        ...

    def plc(self, counts: Counts, /) -> FloatArray:
        """Predicted L1 change per row (Eq. 20)."""
        ...


def as_exact(prior: Prior) -> ExactPrior | None:
    """The prior itself if it offers all of `ExactPrior`, else None."""
    return cast(ExactPrior, prior) if _is_exact(type(prior)) else None


@lru_cache(maxsize=256)
def _is_exact(kind: type) -> bool:
    methods = [name for name in vars(ExactPrior) if not name.startswith("_")]
    return all(callable(getattr(kind, name, None)) for name in methods)


def as_counts(counts: Counts | IntArray) -> Counts:
    """Sparse counts, from sparse or dense ones."""
    return counts if isinstance(counts, Counts) else Counts.from_dense(np.asarray(counts))


def one_more(counts: IntArray, a: int, s: int) -> IntArray:
    """`(N, M, N, N)`: the counts after each imagined outcome s_star of row (a, s)."""
    n_states = counts.shape[-1]
    after = np.repeat(counts[None], n_states, axis=0)
    after[np.arange(n_states), a, s, np.arange(n_states)] += 1
    return after


def row_name(row: int, n_actions: int) -> str:
    """How messages name a row."""
    s, a = divmod(int(row), n_actions)
    return f"row (a={a}, s={s})"
