"""Draws from the posterior of every prior against exact moments and enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree
from oracles.enumerate_123 import Row

N_DRAWS = amount(800, 4000)
MASK = np.array([[[1, 1, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [1, 0, 1]]]) > 0
HISTORY = [(0, 0, 1), (0, 0, 1), (2, 0, 0), (2, 0, 1), (1, 1, 2), (2, 1, 0), (2, 1, 0), (2, 1, 2)]


def draws(model):
    """Transition probabilities of N_DRAWS worlds, all from one generator."""
    rng = np.random.default_rng(7)
    return np.stack([model.sample(rng).theta for _ in range(N_DRAWS)])


def assert_moments(theta, c):
    """Mean c / kappa, and covariance of a Dirichlet distribution, within five standard errors; `c` is (M, N, N)."""
    kappa = c.sum(axis=-1, keepdims=True)
    mean = c / kappa
    variance = mean * (1.0 - mean) / (kappa + 1.0)
    assert np.all(np.abs(theta.mean(axis=0) - mean) <= 5.0 * np.sqrt(variance / N_DRAWS) + 1e-12)
    for a, s in np.ndindex(*c.shape[:2]):
        expected = (np.diag(mean[a, s]) - np.outer(mean[a, s], mean[a, s])) / (kappa[a, s] + 1.0)
        centred = theta[:, a, s] - mean[a, s]
        products = centred[:, :, None] * centred[:, None, :]
        assert np.all(np.abs(products.mean(axis=0) - expected) <= 5.0 * products.std(axis=0) / N_DRAWS**0.5 + 1e-12)


@pytest.mark.parametrize("alpha", [0.05, 1.0, "unequal"])
@pytest.mark.parametrize("history", [[], HISTORY])
def test_dirichlet_rows(alpha, history):
    unequal = 10.0 ** np.random.default_rng(0).uniform(-1.5, 1.0, size=MASK.shape)
    alpha = unequal if alpha == "unequal" else np.full(MASK.shape, alpha)
    model = InternalModel(Dirichlet(alpha, MASK))
    model.observe_many(history)
    c = alpha * MASK
    np.add.at(c, tuple(np.array(history, dtype=int).reshape(-1, 3).T[[1, 0, 2]]), 1.0)
    theta = draws(model)
    assert np.array_equal(theta.min(axis=0) > 0, MASK)
    assert theta.sum(axis=-1) == pytest.approx(np.ones(theta.shape[:3]))
    assert_moments(theta, c)
    assert c / c.sum(axis=-1, keepdims=True) == pytest.approx(model.theta_hat)


@pytest.mark.parametrize("d", [0.0, 0.4])
def test_rows_of_a_restaurant_are_drawn_on_the_current_cells(d):
    model = InternalModel(ChineseRestaurant(0.7, d, n_actions=1, n_states=4))
    model.observe_many([(0, 0, 0)] * 3 + [(0, 0, 2), (1, 0, 1)])
    c = np.full((1, 4, 4), 0.7 / 4)
    c[0, 0] = [3 - d, (0.7 + 2 * d) / 2, 1 - d, (0.7 + 2 * d) / 2]
    c[0, 1] = [(0.7 + d) / 3, 1 - d, (0.7 + d) / 3, (0.7 + d) / 3]
    assert_moments(draws(model), c)


@pytest.mark.parametrize("formula", ["exact", "printed"])
@pytest.mark.parametrize("p_escape", [Fraction(3, 4), Fraction(1, 5), Fraction(0), Fraction(1)])
def test_target_sets_of_a_1_2_3_row_have_their_posterior_probability(p_escape, formula):
    seen = {(0, 1): [3], (1, 1): [2], (1, 2): [0], (2, 0): [4], (2, 1): [1, 4], (2, 2): [0, 3, 3], (2, 3): [1, 2, 4]}
    model = InternalModel(OneTwoThree(5, 3, float(p_escape), formula))
    for (a, s), outcomes in seen.items():
        if (p_escape == 1 and 0 in outcomes) or (p_escape == 0 and 0 not in outcomes and len(outcomes) > a):
            continue  # it is impossible
        model.observe_many([(s, a, s_next) for s_next in outcomes])
    theta = draws(model)
    for a, s in np.ndindex(3, 5):
        outcomes = [z for z in range(5) for _ in range(model.counts[a, s, z])]
        posterior = dict(Row.unseen(5, a + 1, p_escape).seeing(*outcomes).posterior())
        drawn = [frozenset(np.flatnonzero(row).tolist()) for row in theta[:, a, s]]
        assert set(drawn) <= set(posterior)
        for targets, p in posterior.items():
            error = np.sqrt(float(p * (1 - p)) / N_DRAWS)
            assert abs(drawn.count(targets) / N_DRAWS - float(p)) <= 5.0 * error
    assert np.all((theta == 0) | np.isclose(theta * np.arange(1, 4)[:, None, None], 1.0))


@pytest.mark.parametrize("world", [berlyne.dense_world(0), berlyne.maze(0), berlyne.one_two_three_world(0)], ids=str)
def test_without_data_a_draw_is_one_of_the_prior(world):
    prior = world.prior
    zeros = np.zeros((world.n_actions, world.n_states, world.n_states), dtype=int)
    for seed in range(20):
        assert np.array_equal(prior.sample(seed).data, prior.sample(seed, zeros).data)
        assert np.array_equal(prior.sample(seed).indices, prior.sample(seed, zeros).indices)


def test_missing_information_of_draws_is_what_the_model_expects():
    """Posterior draws stand in for the unknown world: their mean distance is the expected missing information."""
    run = berlyne.explore(berlyne.maze(0, side=3, n_transporters=3), "PIG(VI)", n_steps=60, seed=0)
    rng = np.random.default_rng(1)
    missing = [run.model.missing_information(run.model.sample(rng)) for _ in range(1500)]
    expected = run.model.expected_missing_information()
    assert np.mean(missing) == pytest.approx(expected.bits, abs=5 * np.std(missing) / np.sqrt(1500))
    assert np.var(missing) == pytest.approx(expected.variance, rel=0.25)
