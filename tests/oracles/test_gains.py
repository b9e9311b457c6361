"""Predicted and realised gains against their definitions, observation by observation, and against Theorem 2."""

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, InternalModel, OneTwoThree, World, missing_information, pig
from berlyne.exploration.predicted_gain import pig_against_gain
from messages import raises

WORLDS = {
    "dense": lambda: berlyne.dense_world(0, n_states=4, n_actions=2, alpha=0.7),
    "maze": lambda: berlyne.maze(1, side=2, n_transporters=2),
    "1-2-3": lambda: berlyne.one_two_three_world(2, n_states=5),
    "1-2-3 as printed": lambda: berlyne.one_two_three_world(2, n_states=5, formula="printed"),
    "smaller than its prior": lambda: World(
        np.array([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]]), Dirichlet(0.4, n_states=3, n_actions=1)
    ),
}


def by_definition(world, n_obs, n_trials, seed):
    """PIG from the model and the gain from missing information, all rows starting over in every trial."""
    u = np.random.default_rng(seed).random((world.n_states * world.n_actions, n_trials, n_obs))
    predicted, gained = np.zeros((2, *u.shape))
    for r, trial in np.ndindex(u.shape[:2]):
        s, a = divmod(r, world.n_actions)
        model = InternalModel(world.prior)
        missing = missing_information(world.theta[a, s], model.theta_hat[a, s])
        for k in range(n_obs):
            predicted[r, trial, k] = pig(model)[a, s]
            model.observe(s, a, world.sample(a, s, u[r, trial, k]))
            after = missing_information(world.theta[a, s], model.theta_hat[a, s])
            gained[r, trial, k], missing = missing - after, after
    return predicted.reshape(-1, n_obs), gained.reshape(-1, n_obs)


@pytest.mark.parametrize("name", WORLDS)
def test_averages_are_those_of_the_definitions(name):
    world = WORLDS[name]()
    predicted, gained = by_definition(world, n_obs=6, n_trials=3, seed=5)
    averages = pig_against_gain(world, n_obs=6, n_trials=3, seed=5)
    assert averages.n_samples == len(predicted)
    assert averages.pig == pytest.approx(predicted.mean(axis=0), abs=1e-12)
    assert averages.gain == pytest.approx(gained.mean(axis=0), abs=1e-12)
    assert averages.pig_sq == pytest.approx((predicted**2).mean(axis=0), abs=1e-12)
    assert averages.gain_sq == pytest.approx((gained**2).mean(axis=0), abs=1e-12)


@pytest.mark.parametrize("prior", [Dirichlet(0.5, n_states=5, n_actions=3), OneTwoThree(8)], ids=["Dirichlet", "1-2-3"])
def test_prediction_is_right_on_average_over_worlds(prior):
    """Theorem 2: for worlds drawn from the prior, the mean difference is zero within four standard errors."""
    worlds = [World(prior.sample(seed), prior) for seed in range(300)]
    averages = [pig_against_gain(world, n_obs=8, n_trials=10, seed=seed) for seed, world in enumerate(worlds)]
    difference = np.array([each.gain - each.pig for each in averages])
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(worlds))
    assert np.all(np.abs(difference.mean(axis=0)) < 4 * error + 1e-12)
    predicted = np.mean([each.pig for each in averages], axis=0)
    assert np.all(np.diff(predicted) < 0)
    assert np.all(error[:3] < 0.05 * predicted[:3])


def test_only_priors_of_the_paper_are_known():
    class Mine:
        def estimate(self, counts):
            return np.full(counts.shape, 0.5)

    with raises(ValueError, "Dirichlet", "OneTwoThree"):
        pig_against_gain(World(np.full((1, 2, 2), 0.5), Mine()))


@pytest.mark.parametrize("p_escape", [0.0, 1.0])
def test_a_prior_that_is_certain_of_state_0(p_escape):
    world = berlyne.one_two_three_world(0, n_states=6, p_escape=p_escape, ergodic=False)
    averages = pig_against_gain(world, n_obs=5, n_trials=4)
    assert np.all(np.isfinite([averages.pig, averages.gain]))
