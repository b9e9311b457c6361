"""The maximum-likelihood concentration against a fine grid search of SciPy's likelihood."""

import numpy as np
import pytest
from scipy.special import gammaln

from berlyne import fit_alpha


def log_likelihood(alpha, counts, mask):
    """Dirichlet-categorical, row by row over the support."""
    total = 0.0
    for n, reach in zip(counts.reshape(-1, counts.shape[-1]), mask.reshape(-1, counts.shape[-1]), strict=True):
        n = n[reach]
        total += gammaln(alpha * len(n)) - gammaln(alpha * len(n) + n.sum())
        total += np.sum(gammaln(alpha + n)) - len(n) * gammaln(alpha)
    return total


def grid_search(counts, mask, low, high):
    """Best alpha of a grid refined three times; its relative error is below 1e-6."""
    for _ in range(4):
        grid = np.geomspace(low, high, 200)
        best = int(np.argmax([log_likelihood(alpha, counts, mask) for alpha in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return grid[best]


@pytest.mark.parametrize("seed", range(6))
def test_fit_equals_a_fine_grid_search(seed):
    rng = np.random.default_rng(seed)
    true_alpha = [0.1, 0.25, 1.0, 4.0, 0.5, 2.0][seed]
    mask = rng.random((2, 6, 6)) < 0.7
    mask[:, :, 0] = True
    counts = np.zeros((2, 6, 6), dtype=int)
    for a, s in np.ndindex(2, 6):
        reach = np.flatnonzero(mask[a, s])
        counts[a, s, reach] = rng.multinomial(12, rng.dirichlet(np.full(len(reach), true_alpha)))
    assert fit_alpha(counts, mask) == pytest.approx(grid_search(counts, mask, 1e-3, 1e3), rel=1e-5)


def test_one_row_seen_twice_with_different_outcomes_wants_equal_probabilities():
    """P = alpha / (2 (2 alpha + 1)) rises with alpha: the upper bound is best."""
    counts = np.array([[[1, 1], [0, 0]]])
    assert fit_alpha(counts) == 1e3
    assert fit_alpha(counts, bounds=(0.01, 50.0)) == 50.0


def test_one_row_seen_twice_with_the_same_outcome_wants_determinism():
    assert fit_alpha(np.array([[[2, 0], [0, 0]]])) == 1e-3


def test_a_maximum_found_by_hand():
    """One row (1, 1) and two rows (2, 0): P ~ a (a + 1)^2 / (2 a + 1)^3, stationary at a = 1."""
    counts = np.array([[[1, 1], [2, 0]], [[0, 2], [0, 0]]])
    assert fit_alpha(counts) == pytest.approx(1.0, rel=1e-6)
