"""Rows of Dirichlet priors have Beta marginals."""

import numpy as np
import pytest
from scipy import stats

from berlyne import Dirichlet, dense_world

MASK = np.ones((1, 6, 6), dtype=bool)
MASK[0, ::2, 3:] = False  # every other row reaches three states


def rows_of(alpha, support, s, n=1500, seed=0):
    rng = np.random.default_rng(seed)
    prior = Dirichlet(alpha, support)
    return np.array([prior.sample(rng).row(0, s)[1] for _ in range(n)])


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("s", "size"), [(0, 3), (1, 6)])
def test_single_probabilities_and_their_sums_are_beta(alpha, s, size):
    """theta_i ~ Beta(alpha, (S - 1) alpha) and theta_i + theta_j ~ Beta(2 alpha, (S - 2) alpha)."""
    rows = rows_of(alpha, MASK, s, seed=size)
    assert rows.shape[1] == size
    single, pair = stats.beta(alpha, (size - 1) * alpha), stats.beta(2 * alpha, (size - 2) * alpha)
    for j in range(size):
        assert stats.kstest(rows[:, j], single.cdf).pvalue > 1e-3
    assert stats.kstest(rows[:, 0] + rows[:, 2], pair.cdf).pvalue > 1e-3


@pytest.mark.parametrize("alpha", [0.001, 0.02, 0.0999])
def test_small_concentrations_have_the_right_share_at_every_order_of_magnitude(alpha):
    """Probabilities down to 1e-300; those within rounding of one share the last interval."""
    edges = np.array([0.0, 1e-250, 1e-100, 1e-30, 1e-9, 1e-3, 0.1, 0.9, 0.999, 1.0])
    rows = rows_of(alpha, MASK, s=0, n=4000)
    observed = np.histogram(rows[:, 1], edges)[0]
    law = stats.beta(alpha, 2 * alpha)
    expected = np.append(np.diff(law.cdf(edges[:-1])), law.sf(edges[-2])) * len(rows)
    enough = expected > 5
    observed, expected = ([*x[enough], x[~enough].sum()] for x in (observed, expected))
    bins = slice(None) if expected[-1] > 0 else slice(-1)
    assert stats.chisquare(observed[bins], expected[bins]).pvalue > 1e-3


def test_dense_worlds_are_uniform_over_the_simplex():
    p = np.concatenate([dense_world(seed).theta.reshape(-1, 10)[:, 3] for seed in range(60)])
    assert stats.kstest(p, stats.beta(1, 9).cdf).pvalue > 1e-3


def test_rows_of_one_world_are_independent():
    draws = np.array([dense_world(seed, n_states=3, n_actions=2).theta for seed in range(800)])
    for one, other in (((0, 0), (1, 0)), ((0, 1), (0, 2)), ((1, 2), (0, 0))):
        assert stats.spearmanr(draws[:, *one, 0], draws[:, *other, 0]).pvalue > 1e-3
