"""The concentration of a Dirichlet prior, by maximum likelihood (paper, Sec. 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.arrays import IntArray
from berlyne.priors.dirichlet import LEAST_ALPHA, MOST_ALPHA, as_support, check_inside, log_likelihood, sufficient
from berlyne.priors.most_likely import check_bounds, most_likely
from berlyne.priors.prior import as_counts
from berlyne.rows import Counts


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
    check_bounds(bounds, LEAST_ALPHA, MOST_ALPHA)
    sparse = as_counts(counts)
    reach = as_support(support, sparse.n_states, sparse.n_actions)
    check_inside(sparse, reach)
    statistics = sufficient(sparse, reach)
    if not np.any((statistics[0] > 1) & (statistics[1] > 1)):
        return float(start)
    return most_likely(lambda alpha: log_likelihood(alpha, statistics), bounds)
