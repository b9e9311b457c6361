"""Utilities of rows that are small enough to check by hand, and of priors that have only estimates."""

from fractions import Fraction

import numpy as np
import pytest

from berlyne import UTILITIES, Dirichlet, InternalModel, OneTwoThree, parameter_gain, peig, pig, plc, pmc
from berlyne.strategies.utilities import pig_as_printed_of_row, pig_of_row, plc_of_row, pmc_of_row
from oracles import enumerate_123

EVEN = np.array([0.5, 0.5])
AFTER = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])  # two states, alpha = 1, after one more outcome

OF_ESTIMATES = {name: utility for name, utility in UTILITIES.items() if utility.index is None}
"""All but the indices, such as rarity, which need not be zero where there is nothing to learn."""


def coin(*outcomes):
    model = InternalModel(Dirichlet(1.0, n_states=2, n_actions=1))
    model.observe_many([(0, 0, s_next) for s_next in outcomes])
    return model


def test_pig_of_a_fair_guess_about_a_coin():
    """Both outcomes move (1/2, 1/2) to (2/3, 1/3): D = 2/3 log2 4/3 + 1/3 log2 2/3 = 5/3 - log2 3."""
    expected = 5 / 3 - np.log2(3)
    assert pig(coin())[0, 0] == pytest.approx(expected)
    assert pig_of_row(EVEN, AFTER) == pytest.approx(expected)


def test_pig_as_printed_is_another_number():
    """D((1/2, 1/2) || (2/3, 1/3)) = 1/2 log2 3/4 + 1/2 log2 3/2 = log2 3 - 3/2."""
    assert pig_as_printed_of_row(EVEN, AFTER) == pytest.approx(np.log2(3) - 1.5)


def test_pmc_and_plc_of_a_coin():
    """The mode rises by 1/6 for sure; each probability changes by 1/6."""
    assert pmc(coin())[0, 0] == pytest.approx(1 / 6) == pmc_of_row(EVEN, AFTER)
    assert plc(coin())[0, 0] == pytest.approx(1 / 6) == plc_of_row(EVEN, AFTER)


def test_pmc_is_zero_once_one_outcome_leads():
    """From (2/3, 1/3): up to 3/4 with probability 2/3, down to 1/2 with probability 1/3."""
    assert pmc(coin(0))[0, 0] == pytest.approx(2 / 3 * (3 / 4 - 2 / 3) + 1 / 3 * (1 / 2 - 2 / 3), abs=1e-15)
    assert pmc(coin(0))[0, 0] == 0.0


def test_peig_is_the_gain_of_the_last_outcome():
    """(1/2, 1/2) became (2/3, 1/3)."""
    assert peig(coin(0))[0, 0] == pytest.approx(5 / 3 - np.log2(3))
    assert peig(coin(0, 1))[0, 0] == pytest.approx(0.5 * np.log2(3 / 4) + 0.5 * np.log2(3 / 2))


def test_peig_of_a_pair_never_tried_is_its_pig_or_a_constant():
    assert peig(coin(0))[0, 1] == pig(coin(0))[0, 1] > 0
    assert peig(coin(0), untried=0.0)[0, 1] == 0.0


def test_parameter_gain_of_a_coin():
    """E[H] of a uniform coin is 1 / (2 ln 2) bits."""
    assert parameter_gain(coin())[0, 0] == pytest.approx(1 - 1 / (2 * np.log(2)))


def test_a_deterministic_action_of_a_1_2_3_world():
    """Four states: (1/4, 1/4, 1/4, 1/4) becomes certain, two bits; then nothing is left to learn."""
    model = InternalModel(OneTwoThree(4))
    assert model.theta_hat[0, 0] == pytest.approx([0.25] * 4)
    assert pig(model)[0, 0] == pytest.approx(2.0) == parameter_gain(model)[0, 0]
    assert pmc(model)[0, 0] == pytest.approx(0.75)
    assert plc(model)[0, 0] == pytest.approx((0.75 + 3 * 0.25) / 4)
    model.observe(0, 0, 2)
    assert peig(model)[0, 0] == pytest.approx(2.0)
    for utility in (pig, pmc, plc, parameter_gain):
        assert utility(model)[0, 0] == 0.0
    model.observe(0, 0, 2)
    assert peig(model)[0, 0] == 0.0


@pytest.mark.parametrize("utility", OF_ESTIMATES.values(), ids=OF_ESTIMATES)
def test_every_utility_is_indexed_by_action_then_state(utility):
    model = InternalModel(Dirichlet(1.0, n_states=3, n_actions=2))
    fresh = utility.of(model)
    model.observe_many([(2, 1, 0), (2, 1, 0)])
    changed = utility.of(model) != fresh
    assert fresh.shape == (2, 3)
    assert np.argwhere(changed).tolist() == [[1, 2]]


@pytest.mark.parametrize("utility", OF_ESTIMATES.values(), ids=OF_ESTIMATES)
def test_every_utility_is_zero_where_there_is_nothing_to_learn(utility):
    """A row with one possible outcome."""
    model = InternalModel(Dirichlet(0.25, np.eye(3)[None]))
    assert utility.of(model) == pytest.approx(np.zeros((1, 3)), abs=1e-15)
    model.observe(1, 0, 1)
    assert utility.of(model) == pytest.approx(np.zeros((1, 3)), abs=1e-15)


class Smoothed:
    """A Dirichlet prior known by its estimates alone; says its own sizes."""

    n_actions, n_states = 2, 4

    def __init__(self, alpha, support):
        self.alpha, self.support = alpha, support

    def estimate(self, counts):
        c = (self.alpha + counts) * self.support
        return (c / c.sum(axis=-1, keepdims=True)).tolist()  # anything that becomes an array will do


class Enumerated:
    """The 1-2-3 prior by enumeration, known by its estimates alone."""

    def estimate(self, counts):
        estimate = np.zeros(counts.shape)
        for a, s in np.ndindex(*counts.shape[:2]):
            row = enumerate_123.Row.unseen(counts.shape[-1], a + 1, Fraction(3, 4))
            estimate[a, s] = row.seeing(*np.flatnonzero(counts[a, s])).estimate()
        return estimate


HISTORY = [(0, 1, 2), (0, 1, 0), (2, 0, 3), (2, 0, 3), (0, 1, 2), (3, 1, 1)]
SUPPORT = np.array([[[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]]] * 2) > 0
PAIRS = {
    "Dirichlet": (Smoothed(0.25, SUPPORT), Dirichlet(0.25, SUPPORT)),
    "1-2-3": (Enumerated(), OneTwoThree(4, n_actions=2)),
}


@pytest.mark.parametrize("steps", [0, 1, 3, 6])
@pytest.mark.parametrize("pair", PAIRS)
def test_estimates_alone_are_enough_for_all_utilities_but_parameter_gain(pair, steps):
    models = [InternalModel(prior, n_states=4, n_actions=2) for prior in PAIRS[pair]]
    for model in models:
        model.observe_many(HISTORY[:steps])
    slow, quick = models
    assert slow.exact is None and quick.exact is not None
    for utility in (pig, peig, pmc, plc):
        assert utility(slow) == pytest.approx(utility(quick), rel=1e-10, abs=1e-13)
    with pytest.raises(ValueError, match=r"add a method expected_missing_information\(counts\)"):
        parameter_gain(slow)


def test_a_prior_may_bring_its_own_parameter_gain():
    class Novel(Smoothed):
        def expected_missing_information(self, counts):
            return counts.sum(axis=-1)

    model = InternalModel(Novel(1.0, SUPPORT))
    model.observe_many(HISTORY)
    assert parameter_gain(model).tolist() == model.counts.sum(axis=-1).tolist()
