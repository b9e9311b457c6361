"""1-2-3 Worlds are drawn from Eq. 9."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from berlyne import OneTwoThree, one_two_three_world
from oracles import enumerate_123
from statistical.deviations import MANY, z_of_frequency


def sampled_targets(prior, n_samples, seed):
    """(n_samples, M, N, N) booleans: whether a state is a target."""
    rng = np.random.default_rng(seed)
    return np.array([prior.sample(rng).dense() > 0 for _ in range(n_samples)])


@pytest.fixture(scope="module")
def targets():
    return sampled_targets(OneTwoThree(20), 400, seed=1)


@pytest.mark.parametrize("a", range(3))
def test_state_0_is_a_target_as_often_as_in_the_paper(targets, a):
    """With probability 1 - 0.75^k for k targets."""
    hits = targets[:, a, :, 0].sum()
    assert abs(z_of_frequency(hits, 400 * 20, 1 - 0.75 ** (a + 1))) < MANY


@pytest.mark.parametrize("a", range(3))
def test_all_other_states_are_targets_equally_often(targets, a):
    p = (a + 1 - (1 - 0.75 ** (a + 1))) / 19
    hits = targets[:, a, :, 1:].sum(axis=(0, 1))
    assert np.all(np.abs(z_of_frequency(hits, 400 * 20, p)) < MANY)


def test_rows_are_independent_of_their_state(targets):
    """State 0 is a target equally often wherever one stands."""
    for a in range(3):
        hits = targets[:, a, :, 0].sum(axis=0)
        assert np.all(np.abs(z_of_frequency(hits, 400, 1 - 0.75 ** (a + 1))) < MANY)


@pytest.mark.parametrize(("one", "other"), [((0, 3), (1, 3)), ((2, 3), (2, 4)), ((1, 7), (2, 12))])
def test_rows_are_independent_of_each_other(targets, one, other):
    """Neither state 0 nor state 5 is shared more often than chance would have it."""
    for state in (0, 5):
        x, y = targets[:, *one, state], targets[:, *other, state]
        table = [[np.sum(x & y), np.sum(x & ~y)], [np.sum(~x & y), np.sum(~x & ~y)]]
        assert stats.fisher_exact(table).pvalue > 1e-3


@pytest.mark.parametrize("p_escape", [Fraction(3, 4), Fraction(1, 3)])
@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_every_target_set_is_as_frequent_as_enumeration_says(n_targets, p_escape):
    """The whole joint law for five states: all C(5, k) sets."""
    law = enumerate_123.Row.unseen(5, n_targets, p_escape).joint
    drawn = sampled_targets(OneTwoThree(5, 3, float(p_escape)), 1500, seed=2)[:, n_targets - 1].reshape(-1, 5)
    seen = {
        frozenset(np.flatnonzero(row).tolist()): n
        for row, n in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True)
    }
    observed = [seen.get(targets, 0) for targets in law]
    expected = [float(p) * len(drawn) for p in law.values()]
    assert set(seen) <= set(law)
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_the_paper_keeps_ergodic_worlds_only_and_most_are():
    """A lower bound: a world in which some state is no target of any row cannot be ergodic."""
    worlds = [one_two_three_world(seed, ergodic=False).theta for seed in range(200)]
    unreachable = np.mean([np.any((theta > 0).sum(axis=(0, 1)) == 0) for theta in worlds])
    accepted = [one_two_three_world(seed).theta for seed in range(200)]
    assert 0 < unreachable < 0.5
    assert all(np.all((theta > 0).sum(axis=(0, 1)) > 0) for theta in accepted)
