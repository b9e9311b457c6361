import numpy as np
import pytest

from berlyne import World, dense_world, is_ergodic, maze


def test_a_ring_is_ergodic_and_an_open_chain_is_not():
    ring = np.roll(np.eye(4), 1, axis=1)
    assert is_ergodic(World(ring[None]))
    chain = ring.copy()
    chain[3] = [0, 0, 0, 1]  # absorbing
    assert not is_ergodic(World(chain[None]))


def test_different_actions_may_lead_there_and_back():
    forth, back = np.array([[0, 1], [0, 1]]), np.array([[1, 0], [1, 0]])
    assert is_ergodic(World(np.array([forth, back], dtype=float)))
    assert not is_ergodic(World(np.array([forth, forth], dtype=float)))


def test_a_state_that_nothing_reaches_makes_a_world_not_ergodic():
    theta = np.array([[[0, 0.5, 0.5], [0, 0, 1], [0, 1, 0]]])
    assert not is_ergodic(World(theta))


def test_a_single_state_is_ergodic():
    assert is_ergodic(World(np.ones((2, 1, 1))))


@pytest.mark.parametrize("seed", range(5))
def test_dense_worlds_and_mazes_are_ergodic(seed):
    assert is_ergodic(dense_world(seed))
    assert is_ergodic(maze(seed))
