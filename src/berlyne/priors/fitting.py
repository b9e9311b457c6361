"""Maximum-likelihood concentration of a prior (paper, Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.priors.dirichlet import (
    MAX_ALPHA,
    MIN_ALPHA,
    as_support,
    check_in_support,
    log_likelihood,
    sufficient_statistics,
)
from berlyne.priors.protocols import as_counts
from berlyne.priors.refit import check_bounds
from berlyne.sparse import Counts
from berlyne.validation import IntArray


def fit_alpha(
    counts: Counts | IntArray,
    support: Any = None,
    *,
    start: float = 1.0,
    bounds: tuple[float, float] = (1e-3, 1e3),
) -> float:
    """Maximum-likelihood concentration of a Dirichlet prior, given counts.

    Paper: Sec. 4.1 (Fig. S5); reading R24. Maximises the probability of all observed outcomes over alpha, on a
    logarithmic scale.

    Parameters
    ----------
    counts : Counts or ndarray of shape (M, N, N)
        Number of observations of each transition.
    support : array, Rows, Support or list of sparse matrices, optional
        Possible transitions, as for `Dirichlet`; by default all.
    start : float
        The result if no row was observed twice, because then every alpha explains the data equally well.
    bounds : tuple of two floats
        Smallest and largest alpha, both positive.

    Returns
    -------
    float
        The most likely alpha within `bounds`.

    Raises
    ------
    ValueError
        If a transition outside the support was observed, which no alpha explains.
    """
    check_bounds(bounds, MIN_ALPHA, MAX_ALPHA)
    sparse = as_counts(counts)
    possible = as_support(support, sparse.n_states, sparse.n_actions)
    check_in_support(sparse, possible)
    statistics = sufficient_statistics(sparse, possible)
    if not np.any((statistics[0] > 1) & (statistics[1] > 1)):
        return float(start)
    return maximize_likelihood(lambda alpha: log_likelihood(alpha, statistics), bounds)


def maximize_likelihood(likelihood: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """Return the argument within `bounds` that maximises a log likelihood.

    The search takes the best point of a logarithmic grid, and then refines it between its neighbours.
    """
    from scipy.optimize import minimize_scalar

    low, high = bounds
    grid = np.linspace(np.log(low), np.log(high), 41)
    best = int(np.argmax([likelihood(float(np.exp(x))) for x in grid]))
    neighbours = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    optimum = minimize_scalar(
        lambda x: -likelihood(float(np.exp(x))), bounds=neighbours, method="bounded", options={"xatol": 1e-10}
    )
    return max([float(np.exp(optimum.x)), low, high], key=likelihood)
