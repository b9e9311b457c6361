"""The public bounds: numbers of the worlds of the issue, shapes, and errors."""

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, World, explore, maze, one_two_three_world, river_swim
from berlyne.bounds import fluid
from berlyne.bounds.learning import FixedLooks, StoppedSets
from messages import raises


@pytest.fixture(scope="module")
def small():
    return fluid(maze(0, side=3, n_transporters=2), 300)


def test_the_bound_of_the_maze_lies_between_the_unembodied_and_the_best_explorer():
    """With fixed looks, a trial gave 24.2 bits; Unembodied left 9.6, PIG(VI+) 27.9."""
    world = maze(9)
    assert fluid(world, 2500, policies="fixed").value == pytest.approx(24.2, abs=0.1)
    assert fluid(world, 2500).value == pytest.approx(16.1, abs=0.2)


def test_the_bound_of_river_swim():
    """With fixed looks, a trial gave 0.23 bits."""
    assert fluid(river_swim(alpha=1 / 6), 1500, policies="fixed").value == pytest.approx(0.23, abs=0.005)


def test_pig_stays_below_the_program_of_fixed_looks_in_a_123_world():
    """Explorers stop looking at a row when all its targets are known."""
    world = one_two_three_world(1)
    left = [explore(world, "PIG(VI)", 300, seed).missing_information[-1] for seed in range(10)]
    assert fluid(world, 300).value < np.mean(left) - np.std(left) < np.mean(left) + np.std(left)
    assert np.mean(left) + np.std(left) < fluid(world, 300, policies="fixed").value


def test_visits_sum_to_the_steps_and_the_curve_falls_to_the_value(small):
    assert small.visits.shape == (4, 9) and small.visits.sum() == pytest.approx(300)
    assert len(small.curve) == 301 and small.curve[0] == small.initial
    assert small.curve[-1] == pytest.approx(small.value, rel=1e-3)
    assert np.all(np.diff(small.curve) <= 1e-9) and np.all(np.diff(small.curve, 2)[1:] >= -1e-9)
    assert small.area == small.curve.sum()
    assert repr(small).startswith("FluidBound(Maze: ") and "at least" in repr(small) and "300 steps" in repr(small)


def test_the_curve_is_nearly_that_of_shorter_explorations(small):
    for n_steps in (10, 60, 150):
        value = fluid(small.world, n_steps).value
        assert 0.93 * value < small.curve[n_steps] <= value * (1 + 1e-3)


def test_sets_of_targets_by_hand():
    """Two targets: the first look shows one of them, and the other one takes two more looks on average."""
    curve = FixedLooks(np.array([0]), np.array([1.0]))
    part = StoppedSets(curve, np.array([1.0, 0.5, 0.5, 0.0]))
    assert part.value(0.1) == pytest.approx(0.1 + 2 * 0.1)
    assert part.value(0.3) == pytest.approx(0.3 + 0.5)  # the second target is not worth two looks
    assert part.value(0.6) == 1.0 and part.value(0.0) == 0.0


def test_more_steps_and_adaptive_looks_lower_the_bound(small):
    assert fluid(small.world, 600).value < small.value < fluid(small.world, 300, policies="fixed").value


def test_no_step_and_a_world_without_choice():
    world = World(np.array([[[0.5, 0.5], [1.0, 0.0]]]), Dirichlet(1.0, n_states=2, n_actions=1), start=0)
    nothing = fluid(world, 0)
    assert nothing.value == nothing.initial == pytest.approx(np.log2(2)) and nothing.curve.tolist() == [nothing.value]
    bound = fluid(world, 3000)
    assert bound.visits == pytest.approx(np.array([[2000.0, 1000.0]]), abs=1.0)


def test_rows_that_cannot_be_reached_do_not_count():
    theta = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    prior = Dirichlet(1.0, n_states=3, n_actions=1)
    world = World(theta, prior, start=0)
    assert fluid(world, 10).initial == pytest.approx(2 * np.log2(3))
    assert fluid(world.with_measured("all"), 10).initial == pytest.approx(3 * np.log2(3))
    assert fluid(world.with_measured("all"), 10).value > np.log2(3)
    assert fluid(world, 10).visits[0, 2] == 0.0


def test_the_prior_can_be_another_one():
    world, prior = maze(0, side=3, n_transporters=2), Dirichlet(0.1, n_states=9, n_actions=4)
    assert fluid(world, 50, prior=prior).value == fluid(world.with_prior(prior), 50).value != fluid(world, 50).value


def test_invalid_arguments_are_refused(small):
    with raises(ValueError, "loss", "'kl'", "'missing information'", "'l1'"):
        fluid(small.world, 10, "kl")
    with raises(ValueError, "policies", "'open'", "'fixed'", "'adaptive'"):
        fluid(small.world, 10, policies="open")
    with raises(ValueError, "n_steps", -1):
        fluid(small.world, -1)
    with raises(ValueError, "prior", "learns", "prior="):
        fluid(river_swim(), 10)
    with raises(ValueError, "prior", "Dirichlet"):
        fluid(small.world.with_prior(berlyne.ChineseRestaurant(2.0)), 10)
    with raises(ValueError, "no prior"):
        fluid(small.world.with_prior(None), 10)
    with raises(AttributeError, "value", "FluidBound"):
        small.value = 0.0
