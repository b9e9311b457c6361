"""Outcome slots of the successor graph against sets of states."""

import numpy as np
import pytest

from berlyne import dense_world, maze, one_two_three_world
from berlyne.engine import successor_graph
from berlyne.engine.successor_graph import (
    build_graph,
    growing_graph,
    is_complete,
    round_up,
    slot_positions,
    slot_weights,
)
from parity.cases import AWKWARD
from unit.engine.kernels import as_kernel

slot_of = as_kernel(successor_graph.slot_of)

WORLDS = {"dense": dense_world, "maze": maze, "1-2-3": one_two_three_world, **AWKWARD}


@pytest.mark.parametrize("multiple", [1, 4])
@pytest.mark.parametrize("kind", WORLDS)
def test_the_slots_of_a_state_are_what_its_actions_can_reach(kind, multiple):
    world = WORLDS[kind](3)
    graph = build_graph(world.rows.support, multiple)
    reach = world.theta.max(axis=0) > 0
    for s in range(world.n_states):
        first, length = graph.start[s], graph.length[s]
        expected = np.flatnonzero(reach[s]).tolist()
        slots = graph.succ[first : first + length].tolist()
        assert slots[: len(expected)] == expected
        assert length == round_up(len(expected), multiple)
        assert set(slots[len(expected) :]) <= {expected[-1]}
    assert graph.start.tolist() == (np.cumsum(graph.length) - graph.length).tolist()
    assert len(graph.succ) == graph.length.sum()
    assert (graph.n_actions, graph.stride, graph.capacity) == (world.n_actions, round_up(world.n_actions), 0)


@pytest.mark.parametrize("kind", WORLDS)
def test_probabilities_are_spread_over_slots(kind):
    world = WORLDS[kind](3)
    graph = build_graph(world.rows.support)
    inside = slot_weights(graph, world.rows).reshape(-1, graph.stride)
    theta = np.zeros_like(world.theta)
    for s in range(world.n_states):
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            theta[:, s, graph.succ[k]] += inside[k, : world.n_actions]  # those that fill up have none
    assert np.array_equal(theta, world.theta)
    assert np.all(inside[:, world.n_actions :] == 0.0)
    slots = slot_positions(graph, world.rows.support)
    assert np.array_equal(inside.ravel()[slots], world.rows.data)


def test_a_graph_is_complete_if_every_state_can_follow_every_other():
    assert is_complete(build_graph(dense_world(0).rows.support))
    assert not is_complete(build_graph(maze(0).rows.support))
    theta = dense_world(0, n_states=4).theta
    theta[:, 2, 1] = 0.0  # three outcomes fill up to four slots, but they are not all states
    from berlyne import World

    assert not is_complete(build_graph(World(theta / theta.sum(axis=-1, keepdims=True)).rows.support))


def test_a_growing_graph_starts_with_what_is_known():
    graph = growing_graph(3, 2, 8, (0,))
    assert graph.succ.reshape(3, 8)[:, 0].tolist() == [0, 0, 0] and graph.length.tolist() == [1, 1, 1]
    assert graph.start.tolist() == [0, 8, 16] and graph.capacity == 8
    assert slot_of(graph, 1, 0) == 8 and slot_of(graph, 1, 2) == -1
