"""Entropy and divergence against SciPy."""

import numpy as np
import pytest
from scipy import stats

import berlyne


@pytest.fixture
def kernels():
    rng = np.random.default_rng(0)
    theta, theta_hat, after = (rng.dirichlet(np.full(6, 0.3), size=(3, 6)) for _ in range(3))
    theta[0, 0] = [1, 0, 0, 0, 0, 0]
    theta[1, 2] = [0, 0.5, 0, 0.5, 0, 0]
    return theta, theta_hat, after


def test_entropy_and_divergence_equal_scipys(kernels):
    theta, theta_hat, _ = kernels
    assert berlyne.entropy(theta) == pytest.approx(stats.entropy(theta, base=2, axis=-1), abs=1e-13)
    expected = stats.entropy(theta, theta_hat, base=2, axis=-1)
    assert berlyne.kl_divergence(theta, theta_hat) == pytest.approx(expected, rel=1e-12)
    assert berlyne.missing_information(theta, theta_hat) == pytest.approx(expected.sum(), rel=1e-12)


def test_information_gain_is_the_decrease_of_missing_information(kernels):
    theta, before, after = kernels
    decrease = berlyne.missing_information(theta, before) - berlyne.missing_information(theta, after)
    assert berlyne.information_gain(theta, before, after) == pytest.approx(decrease, rel=1e-10)


def test_l1_distance_is_twice_the_total_variation(kernels):
    theta, theta_hat, _ = kernels
    assert berlyne.l1_distance(theta, theta_hat) == pytest.approx(np.abs(theta - theta_hat).sum(), rel=1e-13)
    assert berlyne.l1_distance(np.eye(3), np.eye(3)[::-1]) == 4.0
