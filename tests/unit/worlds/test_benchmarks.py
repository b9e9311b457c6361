"""Benchmark worlds, row by row as in their sources."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import (
    deep_sea,
    double_chain_kaufmann,
    double_chain_russo,
    entropy,
    explore,
    forked_river_swim,
    four_rooms,
    garnet,
    grid_world,
    is_ergodic,
    n_arms,
    n_room,
    noisy_tv,
    river_swim,
    storck,
)
from berlyne.worlds import BENCHMARKS, PAPER_WORLDS, WORLDS
from messages import raises


def row(world, s, a):
    """Return the possible next states, by label."""
    states, p = world.rows.row(world.action_labels.number(a), world.state_labels.number(s))
    return {world.states[z]: pytest.approx(x) for z, x in zip(states.tolist(), p.tolist(), strict=True)}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_world_can_be_explored_and_is_no_class_of_the_paper(name):
    world = BENCHMARKS[name]()
    assert is_ergodic(world) and name not in PAPER_WORLDS and name not in WORLDS
    run = explore(world, "PIG(VI)", n_steps=200, seed=0)
    assert run.missing_information[-1] < run.missing_information[0]
    assert BENCHMARKS[name](alpha=0.5).prior.alpha == 0.5
    assert world.prior.support.is_full


def test_river_swim():
    world = river_swim()
    assert row(world, 0, "right") == {0: 0.7, 1: 0.3} and row(world, 0, "left") == {0: 1.0}
    for s in range(1, 5):
        assert row(world, s, "right") == {s - 1: 0.1, s: 0.6, s + 1: 0.3}
        assert row(world, s, "left") == {s - 1: 1.0}
    assert row(world, 5, "right") == {5: 0.3, 4: 0.7} and row(world, 5, "left") == {4: 1.0}
    assert world.n_states == 6 and world.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_double_chain_of_kaufmann():
    world = double_chain_kaufmann()
    assert world.n_states == 31 and world.start == 15
    assert row(world, 15, "left") == {14: 0.95, 16: 0.05} and row(world, 15, "right") == {14: 0.05, 16: 0.95}
    assert row(world, 0, "left") == {0: 0.95, 1: 0.05} and row(world, 30, "left") == {29: 0.95, 30: 0.05}
    assert row(world, 0, "right") == {0: 0.05, 1: 0.95} and row(world, 30, "right") == {30: 0.95, 29: 0.05}


def test_double_chain_of_russo():
    world = double_chain_russo()
    assert world.n_states == 11 and world.start == 0 and world.actions == ("right", "left")
    assert row(world, 0, "left") == {1: 1.0} and row(world, 0, "right") == {6: 1.0}
    assert row(world, 1, "right") == {2: 0.7, 0: 0.3} and row(world, 6, "right") == {7: 0.7, 0: 0.3}
    assert row(world, 5, "right") == {5: 0.7, 4: 0.3} and row(world, 10, "right") == {10: 0.7, 9: 0.3}
    assert row(world, 6, "left") == {0: 1.0} and row(world, 9, "left") == {8: 1.0}


def test_the_world_of_storck():
    world = storck()
    assert (world.n_states, world.n_actions) == (10, 10)
    for s in range(9):
        assert row(world, s, 0) == {s: 1.0} and row(world, s, 8) == {s: 1.0} and row(world, s, 9) == {s + 1: 1.0}
    assert row(world, 9, 3) == dict.fromkeys(range(10), pytest.approx(0.1))
    assert entropy(storck(100).theta).sum() * np.log(2) == pytest.approx(460.517019, abs=1e-6)  # as the source says


def test_a_grid():
    world = grid_world()
    assert world.n_states == 441 and world.states[world.start] == (10, 10)
    third = 0.05 / 3
    assert row(world, (3, 4), "up") == {(2, 4): 0.95, (4, 4): third, (3, 3): third, (3, 5): third}
    assert row(world, (0, 5), "left") == {(0, 4): 0.95, (0, 6): 0.025, (1, 5): 0.025}  # no slip into a wall
    assert row(world, (0, 0), "right") == {(0, 1): 0.95, (1, 0): 0.05}
    assert row(world, (0, 5), "up") == {(0, 5): 1.0}  # and none away from one
    assert row(world, (20, 20), "down") == {(20, 20): 1.0}
    assert row(grid_world(1), (0, 0), "left") == {(0, 0): 1.0}


def test_four_rooms():
    world = four_rooms()
    assert world.n_states == 104 and world.start is None
    assert row(world, (1, 1), "right") == {(1, 2): 2 / 3, (2, 1): 1 / 9, (1, 1): 2 / 9}
    doors = [(3, 6), (6, 2), (7, 9), (10, 6)]
    assert all(door in world.states for door in doors) and (6, 6) not in world.states
    assert row(world, (3, 6), "left") == {(3, 5): 2 / 3, (3, 7): 1 / 9, (3, 6): 2 / 9}
    inside = [s for s in world.states if s not in doors]
    rooms = [sum(i < 6 and j < 6 for i, j in inside), sum(i > 6 and j < 6 for i, j in inside)]
    rooms += [sum(i < 7 and j > 6 for i, j in inside), sum(i > 7 and j > 6 for i, j in inside)]
    assert rooms == [25, 25, 30, 20]


def test_noisy_tv():
    world = noisy_tv(length=3, n_channels=4)
    assert world.states == (0, 1, 2, *(("tv", i) for i in range(4)))
    assert row(world, 0, "left") == {("tv", 0): 1.0} and row(world, 1, "left") == {0: 1.0}
    assert row(world, 2, "right") == {2: 1.0} and row(world, 1, "zap") == {1: 1.0}
    assert row(world, ("tv", 2), "zap") == {("tv", i): 0.25 for i in range(4)}
    assert row(world, ("tv", 2), "left") == {("tv", 2): 1.0} and row(world, ("tv", 2), "right") == {0: 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: river_swim(2), ("n_states", "2", "3")),
        (lambda: double_chain_kaufmann(30), ("n_states", "30", "odd")),
        (lambda: double_chain_kaufmann(p_fail=2), ("p_fail", "2", "[0, 1]")),
        (lambda: grid_world(0), ("side", "0")),
        (lambda: four_rooms(p_slip=-1), ("p_slip", "-1", "[0, 1]")),
        (lambda: noisy_tv(0), ("length", "0", "1")),
    ],
)
def test_bad_parameters_are_refused(call, message):
    with raises(ValueError, *message):
        call()


def test_large_worlds_are_never_dense():
    world = grid_world(301)
    assert world.n_states == 301**2 and world.states[world.start] == (150, 150)
    assert len(world.rows.data) == 16 * 299**2 + (1 + 3 * 3) * 4 * 299 + (2 * 1 + 2 * 2) * 4  # inside, edges, corners
    third = 0.05 / 3
    assert row(world, (200, 7), "up") == {(199, 7): 0.95, (201, 7): third, (200, 6): third, (200, 8): third}
    assert row(world, (300, 5), "down") == {(300, 5): 1.0}
    assert len(river_swim(50_001).rows.data) == 50_001 + 2 + 3 * 49_999 + 2
    assert row(double_chain_kaufmann(50_001), 7, "left") == {6: 0.95, 8: 0.05}
    assert row(double_chain_russo(25_000), 25_000, "right") == {25_000: 0.7, 24_999: 0.3}
    assert row(noisy_tv(50_000, 2), 49_999, "left") == {49_998: 1.0}


@pytest.mark.parametrize("side", [1, 2, 4, 20])
def test_a_grid_has_any_side_and_begins_in_the_middle(side):
    world = grid_world(side)
    assert world.n_states == side**2 and world.states[world.episodes.start] == (side // 2, side // 2)
    assert np.allclose(world.theta.sum(axis=2), 1.0)
    assert world.reachable.all()


def test_forked_river_swim():
    world = forked_river_swim()
    assert world.n_states == 9 and world.start == 0
    assert row(world, 0, "right") == {0: 0.7, 1: 0.3} and row(world, 0, "switch") == row(world, 0, "left") == {0: 1.0}
    assert row(world, 2, "right") == {1: 0.1, 2: 0.6, 3: 0.3} and row(world, 2, "switch") == {6: 1.0}
    assert row(world, 5, "right") == {0: 0.1, 5: 0.6, 6: 0.3} and row(world, 5, "left") == {0: 1.0}
    assert row(world, 6, "switch") == {2: 1.0} and row(world, 6, "left") == {5: 1.0}
    for end in (4, 8):
        assert row(world, end, "right") == {end: 0.3, end - 1: 0.7} and row(world, end, "switch") == {end: 1.0}


def test_n_arms():
    world = n_arms(4, p=0.8)
    assert row(world, 0, 0) == {1: 1.0} and row(world, 0, 3) == {4: 0.2, 0: 0.8}
    assert row(world, 3, 2) == {3: 1.0} and row(world, 3, 0) == row(world, 3, 3) == {0: 1.0}


def test_deep_sea():
    world = deep_sea(4, p_slip=0.25)
    assert row(world, (0, 0), "left") == {(1, 0): 1.0} and row(world, (0, 0), "right") == {(1, 1): 0.75, (1, 0): 0.25}
    assert row(world, (2, 2), "left") == {(3, 1): 1.0} and row(world, (3, 3), "right") == {(0, 0): 1.0}
    assert world.n_states == 10  # all cells up to the diagonal


def test_n_room():
    world = n_room(3, side=3, p_slip=0.06)
    assert world.n_states == 3 * 9 + 2 and world.states[world.start] == (1, 5)
    assert row(world, (1, 3), "right") == {(1, 4): 0.94, (1, 2): 0.06}  # a door has two neighbours
    assert row(world, (0, 2), "right") == {(0, 2): 1.0}  # a wall
    assert row(world, (1, 1), "up") == {(0, 1): 0.94, (2, 1): 0.02, (1, 0): 0.02, (1, 2): 0.02}


def test_garnets_differ_and_have_as_many_next_states_as_asked_for():
    world = garnet(12, 3, branching=4, seed=1)
    assert np.all(np.diff(world.rows.indptr) == 4) and np.all(world.rows.data > 0)
    assert np.array_equal(world.rows.data, garnet(12, 3, branching=4, seed=1).rows.data)
    assert not np.array_equal(world.rows.data, garnet(12, 3, branching=4, seed=2).rows.data)
    with raises(ValueError, "branching", 13):
        garnet(12, 3, branching=13)
    with raises(ValueError, "branching", 1):
        garnet(30, 1, branching=1)
