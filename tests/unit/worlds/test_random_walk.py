import numpy as np
import pytest

from berlyne import World
from berlyne.worlds.structure import controllability, random_walk, stationary_distribution, structure_index
from messages import raises


def test_a_random_walk_joins_the_actions():
    theta = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.5, 0.5]]])
    assert random_walk(World(theta)).toarray().tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert stationary_distribution(World(theta)) == pytest.approx([1 / 3, 2 / 3])


def test_an_even_world_has_no_structure():
    ring = np.roll(np.eye(6), 1, axis=1)  # periodic: its equilibrium is uniform all the same
    assert stationary_distribution(World(ring[None])) == pytest.approx(np.full(6, 1 / 6))
    assert structure_index(World(ring[None])) == pytest.approx(0.0, abs=1e-12)


def test_a_world_that_ends_in_one_state_is_all_structure():
    theta = np.array([[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]])
    assert stationary_distribution(World(theta)).tolist() == [0.0, 0.0, 1.0]
    assert structure_index(World(theta)) == 1.0
    assert structure_index(World(np.ones((2, 1, 1)))) == 0.0


def test_a_world_with_two_ends_has_no_equilibrium():
    theta = np.array([[[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    with raises(ValueError, "2 sets"):
        stationary_distribution(World(theta))


def test_an_action_that_decides_everything_is_worth_one_bit_at_once_and_nothing_later():
    stay_or_go = np.array([np.eye(2), np.eye(2)[::-1]])
    assert controllability(World(stay_or_go), 3).tolist() == [1.0, 0.0, 0.0]
    doors = np.array([np.eye(3)[[1, 1, 2]], np.eye(3)[[2, 1, 2]]])  # from 0 to one of two rooms without exit
    assert controllability(World(doors), 2) == pytest.approx([1 / 3, 1 / 3])


def test_no_horizon_no_information():
    assert controllability(World(np.ones((1, 1, 1))), 0).shape == (0,)
    with raises(ValueError, "horizon"):
        controllability(World(np.ones((1, 1, 1))), -1)
