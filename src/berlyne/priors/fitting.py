"""The concentration of a prior by maximum likelihood (paper, Sec. 4.1)."""

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

    Paper: Sec. 4.1 (Fig. S5); reading R24. Maximises the probability of all observed outcomes
    over alpha inside `bounds`, on a logarithmic scale.

    Parameters
    ----------
    counts : observed transitions, (M, N, N) or sparse.
    support : as for `Dirichlet`; left out, all states.
    start : returned while no row was observed twice, when every alpha explains the data equally well.

    Raises
    ------
    ValueError if a transition outside the support was observed: no alpha explains it.
    """
    check_bounds(bounds, MIN_ALPHA, MAX_ALPHA)
    sparse = as_counts(counts)
    reach = as_support(support, sparse.n_states, sparse.n_actions)
    check_in_support(sparse, reach)
    statistics = sufficient_statistics(sparse, reach)
    if not np.any((statistics[0] > 1) & (statistics[1] > 1)):
        return float(start)
    return maximize_likelihood(lambda alpha: log_likelihood(alpha, statistics), bounds)


def check_bounds(bounds: tuple[float, float], least: float, most: float) -> None:
    """Refuse what does not bound a concentration, which a prior allows from `least` to `most`."""
    low, high = bounds
    if not least <= low < high <= most:
        allowed = f"two numbers in [{least:g}, {most:g}], the lower one first"
        raise ValueError(f"bounds are {bounds!r}; they must be {allowed}")


def maximize_likelihood(likelihood: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """Where a log likelihood is largest inside `bounds`: on a grid of logarithms first, then between its points."""
    from scipy.optimize import minimize_scalar

    low, high = bounds
    grid = np.linspace(np.log(low), np.log(high), 41)
    best = int(np.argmax([likelihood(float(np.exp(x))) for x in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda x: -likelihood(float(np.exp(x))), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    return max([float(np.exp(found.x)), low, high], key=likelihood)
