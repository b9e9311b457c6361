"""Properties of every belief that the theory states, and no more (reading R21)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berlyne import UTILITIES, Dirichlet, InternalModel, OneTwoThree, parameter_gain, peig, pig, plc, pmc
from properties.strategies import ALPHAS, dirichlet_histories, learn, one_two_three_histories

BELIEFS = dirichlet_histories() | one_two_three_histories()
ROUNDING = 1e-12


@given(BELIEFS)
def test_estimates_are_distributions(belief):
    model = learn(*belief)
    assert np.all(model.theta_hat >= 0)
    assert model.theta_hat.sum(axis=-1) == pytest.approx(np.ones((model.n_actions, model.n_states)))
    after = model.theta_hat_after(0, 0)
    assert np.all(after >= 0) and after.sum(axis=-1) == pytest.approx(np.ones(model.n_states))


@given(BELIEFS)
def test_observed_outcomes_have_positive_probability(belief):
    model = learn(*belief)
    assert np.all(model.theta_hat[model.counts > 0] > 0)
    assert model.prior.log_marginal_likelihood(model.counts) > -np.inf


@given(BELIEFS)
def test_no_utility_is_negative(belief):
    """PIG, PEIG and parameter_gain are mean divergences, PLC a mean distance, PMC is Jensen's inequality."""
    model = learn(*belief)
    for utility in (utility for utility in UTILITIES.values() if utility.index is None):
        assert np.all(utility.of(model) >= -ROUNDING), utility.name


@given(BELIEFS)
def test_pig_exceeds_neither_what_is_missing_nor_the_uncertainty_of_the_next_outcome(belief):
    """It is the mutual information of the next two outcomes."""
    model = learn(*belief)
    assert np.all(pig(model) <= parameter_gain(model) + ROUNDING)
    assert np.all(pig(model) <= model.entropy() + ROUNDING)


@given(BELIEFS)
def test_parameter_gain_falls_by_pig_on_average(belief):
    prior, history = belief
    model = learn(prior, history)
    now, a, s = parameter_gain(model), 0, 0
    later = 0.0
    for s_star, p in enumerate(model.theta_hat_row(a, s)):
        if p > 0:
            later += p * parameter_gain(learn(prior, [*history, (s, a, s_star)]))[a, s]
    assert now[a, s] - later == pytest.approx(pig(model)[a, s], abs=1e-10)


@given(ALPHAS, st.lists(st.integers(0, 12), min_size=2, max_size=6))
def test_pig_of_a_dirichlet_row_falls_on_average(alpha, n):
    """No more than that holds: see the two tests below."""
    counts = np.zeros((1, len(n), len(n)), dtype=int)
    counts[0, 0] = n
    prior = Dirichlet(alpha, n_states=len(n), n_actions=1)

    def pig_of(n):
        return prior.row_utility("PIG", n, 0, 0, 0)

    later = [pig_of(counts[0, 0] + one) for one in np.eye(len(n), dtype=int)]
    assert np.dot(prior.estimate(counts)[0, 0], later) <= pig_of(counts[0, 0]) + ROUNDING


def test_a_surprise_may_raise_pig():
    """alpha = 0.25: ten times the same outcome, then another one."""
    prior = Dirichlet(0.25, n_states=4, n_actions=1)
    used_to_it = learn(prior, [(0, 0, 1)] * 10)
    surprised = learn(prior, [(0, 0, 1)] * 10 + [(0, 0, 2)])
    assert pig(surprised)[0, 0] > pig(used_to_it)[0, 0]


def test_pig_of_a_small_1_2_3_world_may_rise_even_on_average():
    """Two targets among four states: the first outcome teaches little, the second everything that is left."""
    prior = OneTwoThree(4)
    fresh = InternalModel(prior)
    later = [pig(learn(prior, [(0, 1, s_star)]))[1, 0] for s_star in range(4)]
    assert np.dot(fresh.theta_hat_row(1, 0), later) > pig(fresh)[1, 0] + 0.1


@given(dirichlet_histories(), st.randoms(use_true_random=False))
def test_relabelling_states_permutes_answers_about_dirichlet_worlds(belief, random):
    prior, history = belief
    new = list(range(prior.n_states))
    random.shuffle(new)
    mask = prior.estimate(np.zeros((prior.n_actions, prior.n_states, prior.n_states), dtype=int)) > 0
    relabelled = np.zeros_like(mask)
    relabelled[np.ix_(range(prior.n_actions), new, new)] = mask
    assert_relabelled(learn(prior, history), Dirichlet(prior.alpha, relabelled), history, new)


@given(one_two_three_histories(), st.randoms(use_true_random=False))
def test_relabelling_states_other_than_0_permutes_answers_about_1_2_3_worlds(belief, random):
    prior, history = belief
    others = list(range(1, prior.n_states))
    random.shuffle(others)
    assert_relabelled(learn(prior, history), prior, history, [0, *others])


def assert_relabelled(model, prior, history, new):
    """State s of `model` is called new[s] by a model with `prior`."""
    renamed = learn(prior, [(new[s], a, new[s_next]) for s, a, s_next in history])
    rows = np.ix_(range(model.n_actions), new, new)
    assert renamed.theta_hat[rows] == pytest.approx(model.theta_hat, abs=1e-14)
    for utility in (pig, peig, pmc, plc, parameter_gain):
        assert utility(renamed)[:, new] == pytest.approx(utility(model), rel=1e-9, abs=1e-12)
    likelihoods = [m.prior.log_marginal_likelihood(m.counts) for m in (renamed, model)]
    assert likelihoods[0] == pytest.approx(likelihoods[1])
