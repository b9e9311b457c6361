"""The learned concentration against a fit to the same counts, and the exploration against the model."""

import numpy as np
import pytest

import berlyne
from berlyne import UTILITIES, Dirichlet, InternalModel, Refit, World, explore, fit_alpha
from berlyne.exploration.streams import streams
from berlyne.sparse import Counts
from berlyne.strategies.coordination import View
from berlyne.strategies.registry import get_strategy
from messages import raises

WORLDS = {
    "dense": lambda: berlyne.dense_world(3),
    "maze": lambda: berlyne.maze(3),
    "many states": lambda: berlyne.dense_world(1, n_states=40, n_actions=2, alpha=0.3),
    "maze of four rooms": lambda: berlyne.maze(0, side=2, n_transporters=0),
}


def learning(world, start=1.0, **options):
    """The world for an explorer that learns the concentration, as in Fig. S5."""
    options = {"bounds": (1e-3, 1e3), "schedule": Refit(200, 0.0, 1e-3), **options}
    return world.with_prior(Dirichlet("ml", world.prior.support, start=start, **options))


def counts_after(run, t):
    counts = np.zeros((run.world.n_actions, run.world.n_states, run.world.n_states), dtype=int)
    np.add.at(counts, (run.actions[:t], run.states[:t], run.next_states[:t]), 1)
    return counts


@pytest.mark.parametrize("strategy", ["PIG(VI)", "Unembodied", "PLC(greedy)", "PIG(Q)"])
@pytest.mark.parametrize("name", WORLDS)
def test_concentration_and_measures_are_those_of_the_counts(name, strategy):
    world = WORLDS[name]()
    run = explore(learning(world, schedule=Refit(200, 0.0)), strategy, n_steps=250, seed=2)
    for t in (0, 1, 2, 3, 5, 9, 20, 60, 250):
        counts = counts_after(run, t)
        assert run.learned[t] == pytest.approx(fit_alpha(counts, world.prior.support), rel=1e-5)
        prior = Dirichlet(run.learned[t], world.prior.support)
        model = InternalModel.from_counts(prior, Counts.from_dense(counts), {})
        assert run.missing_information[t] == pytest.approx(model.missing_information(world), rel=1e-9)
        assert run.l1_distance[t] == pytest.approx(model.l1_distance(world), rel=1e-9)
    assert np.array_equal(run.counts.dense(), counts_after(run, 250))
    assert run.model.missing_information(world) == pytest.approx(run.missing_information[-1])


@pytest.mark.parametrize("name", ["dense", "maze"])
def test_the_one_in_use_is_never_far_from_the_fitted(name):
    world = WORLDS[name]()
    run = explore(learning(world), "PIG(VI)", n_steps=1200, seed=0)
    for t in (50, 150, 200, 300, 777, 1200):
        assert run.learned[t] == pytest.approx(fit_alpha(counts_after(run, t), world.prior.support), rel=1.01e-3)
    assert len(np.unique(run.learned[200:])) < 900  # not at every step


@pytest.mark.parametrize("strategy", ["PIG(VI)", "Random", "Unembodied", "CB"])
@pytest.mark.parametrize("name", WORLDS)
def test_without_refits_the_exploration_is_that_with_the_true_concentration(name, strategy):
    """With a tolerance that nothing exceeds the learning loop runs, and changes nothing."""
    world = WORLDS[name]()
    plain = explore(world, strategy, n_steps=300, seed=7)
    idle = learning(world, world.prior.alpha, schedule=Refit(always=0, growth=0.0, tolerance=1e6))
    informed = explore(idle, strategy, n_steps=300, seed=7)
    for name in ("missing_information", "l1_distance", "states", "actions", "next_states"):
        assert np.array_equal(getattr(informed, name), getattr(plain, name)), name
    assert plain.learned is None and np.all(informed.learned == world.prior.alpha)


@pytest.mark.parametrize("name_of_strategy", ["PIG(VI)", "PIG(VI+)", "Unembodied", "PLC(greedy)", "CB"])
@pytest.mark.parametrize("name", ["dense", "maze"])
def test_every_action_is_the_best_under_the_concentration_in_use(name, name_of_strategy):
    """Each decision again in plain NumPy, from the counts so far and the concentration of that time."""
    world, strategy, n_steps = WORLDS[name](), get_strategy(name_of_strategy), 180
    run = explore(learning(world), strategy, n_steps, seed=1)
    u = streams(1)[1].random((n_steps, 2))
    for t in range(n_steps):
        prior = Dirichlet(run.learned[t], world.prior.support)
        model = InternalModel.from_counts(prior, Counts.from_dense(counts_after(run, t)), {})
        utility = (
            UTILITIES[strategy.utility].of(model) if strategy.utility else np.zeros((world.n_actions, world.n_states))
        )
        theta_hat = world.theta if strategy.sees_world else model.theta_hat
        visits = np.bincount(run.states[: t + 1], minlength=world.n_states)
        view = View(utility, theta_hat, model.counts, visits)
        if strategy.relocates:
            assert strategy.coordinate.choose_pair(view, u[t]) == (run.states[t], run.actions[t])
        else:
            assert strategy.coordinate.choose(view, int(run.states[t]), u[t]) == run.actions[t]
    assert len(np.unique(run.learned)) > 5


def test_bounds_are_respected():
    run = explore(learning(WORLDS["maze"](), bounds=(0.5, 2.0)), "PIG(VI)", n_steps=100, seed=0)
    assert run.learned.min() >= 0.5 and run.learned.max() <= 2.0
    assert np.any(run.learned == 0.5)


def test_invalid_arguments_for_a_learned_concentration_are_refused():
    sizes = {"n_states": 4, "n_actions": 2}
    with raises(ValueError, "bounds"):
        Dirichlet("ml", **sizes, bounds=(2.0, 1.0))
    with raises(ValueError, "start", "0.0"):
        Dirichlet("ml", **sizes, start=0.0)
    with raises(ValueError, "start", "0.5", "alpha", "1.0", "alpha=", "'ml'"):
        Dirichlet(1.0, **sizes, start=0.5)
    with raises(ValueError, "alpha", "'most'"):
        Dirichlet("most", **sizes)
    for wrong in ({"always": -1}, {"growth": -0.1}, {"tolerance": np.nan}):
        with raises(ValueError, next(iter(wrong))):
            Refit(**wrong)


def test_no_steps_and_a_fixed_start():
    world = World(WORLDS["dense"]().theta, Dirichlet("ml", n_states=10, n_actions=4), start=4)
    assert explore(world, "PIG(VI)", n_steps=0).learned.tolist() == [0.1]
    assert explore(world, "PIG(VI)", n_steps=3).states[0] == 4
