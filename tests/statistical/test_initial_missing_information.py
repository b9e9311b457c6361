"""Missing information before the first step: values of the paper, and exact expectations."""

import math

import numpy as np
import pytest
from scipy import stats

from berlyne import InternalModel, dense_world, maze, missing_information, one_two_three_world
from oracles import dirichlet_row
from statistical.deviations import MANY, z_of_mean

PUBLISHED = {dense_world: (21.7, 0.05), maze: (138.0, 0.5), one_two_three_world: (192.0, 0.5)}
"""Bits at step 0 of the learning curves, and how finely they can be read."""


def initial(world):
    return InternalModel(world.prior).missing_information(world)


@pytest.mark.parametrize("family", PUBLISHED, ids=lambda family: family.__name__)
def test_two_hundred_worlds_begin_where_the_papers_curves_do(family):
    bits = np.array([initial(family(seed)) for seed in range(200)])
    published, resolution = PUBLISHED[family]
    assert abs(bits.mean() - published) < MANY * bits.std(ddof=1) / math.sqrt(200) + resolution


def per_dirichlet_row(size, alpha):
    """log2 S - E[H] bits: the estimate is uniform."""
    return math.log2(size) - dirichlet_row.expected_entropy([alpha] * size) if size > 1 else 0.0


def test_dense_worlds_have_the_expected_missing_information():
    """40 rows of log2 10 - (psi(11) - psi(2)) / ln 2 bits, here by quadrature."""
    expected = 40 * per_dirichlet_row(10, 1.0)
    assert expected == pytest.approx(21.56, abs=0.01)
    assert abs(z_of_mean([initial(dense_world(seed)) for seed in range(200)], expected)) < MANY


def test_mazes_have_the_expected_missing_information_given_their_rooms():
    """Which outcome gets the largest probability does not matter to the divergence from a uniform estimate."""
    by_size = {size: per_dirichlet_row(size, 0.25) for size in (1, 2, 3, 4)}
    surplus = []
    for seed in range(200):
        world = maze(seed)
        sizes = (world.theta > 0).sum(axis=-1).ravel()
        surplus.append(initial(world) - sum(by_size[int(size)] for size in sizes))
    assert abs(z_of_mean(surplus, 0.0)) < MANY


def test_1_2_3_worlds_have_the_expected_missing_information_before_any_is_discarded():
    """E[D(theta || theta_hat)] = H(theta_hat) - log2 k per row: all rows of an action have entropy log2 k."""
    expected = 0.0
    for k in (1, 2, 3):
        first = (1 - 0.75**k) / k
        theta_hat = [first] + [(1 - first) / 19] * 19
        expected += 20 * (stats.entropy(theta_hat, base=2) - math.log2(k))
    bits = [initial(one_two_three_world(seed, ergodic=False)) for seed in range(200)]
    assert expected == pytest.approx(192.5, abs=0.05)
    assert abs(z_of_mean(bits, expected)) < MANY


@pytest.mark.parametrize("family", PUBLISHED, ids=lambda family: family.__name__)
def test_the_sparse_sum_is_the_definition(family):
    world = family(7)
    theta_hat = InternalModel(world.prior).theta_hat
    assert initial(world) == pytest.approx(missing_information(world.theta, theta_hat), rel=1e-12)
