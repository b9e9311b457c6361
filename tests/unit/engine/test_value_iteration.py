"""Which values a step can change, against the definition; the plans themselves are tested in parity and oracles."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from berlyne import dense_world, maze
from berlyne.engine import value_iteration
from berlyne.engine.successor_graph import build_graph
from berlyne.engine.value_iteration import NO_REPAIRS, list_repairs
from parity.cases import AWKWARD


def repairs_by_definition(world, depth):
    """For every step x -> y the sorted states to repair at levels 1, ..., depth - 1."""
    reach = csr_array((world.theta.max(axis=0) > 0).astype(float))
    distance = shortest_path(reach, unweighted=True)
    repairs = {}
    for x, y in zip(*reach.nonzero(), strict=True):
        repairs[int(x), int(y)] = [
            [
                z
                for z in range(world.n_states)
                if distance[y, z] <= depth - j and (distance[z, x] <= j or distance[x, z] > depth - j)
            ]
            for j in range(1, depth)
        ]
    return repairs


@pytest.mark.parametrize("at_once", [1, 1 << 22])
@pytest.mark.parametrize("depth", [2, 3, 10])
@pytest.mark.parametrize(
    "make", [maze, lambda seed: maze(seed, side=8), AWKWARD["5 actions"]], ids=["6", "8", "uneven"]
)
def test_the_lists_hold_what_a_step_can_change(make, depth, at_once, monkeypatch):
    monkeypatch.setattr(value_iteration, "BATCH_ENTRIES", at_once)
    world = make(2)
    graph = build_graph(world.rows.support)
    repairs, expected = list_repairs(graph, depth), repairs_by_definition(world, depth)
    seen = set()
    for x in range(world.n_states):
        for k in range(graph.start[x], graph.start[x] + graph.length[x]):
            y = int(graph.succ[k])
            if (x, y) in seen:
                continue  # it fills up
            seen.add((x, y))
            at = repairs.edge[k]
            ends = repairs.states[at : at + depth - 1]
            begins = [at + depth - 1, *ends[:-1]]
            lists = [repairs.states[b:e].tolist() for b, e in zip(begins, ends, strict=True)]
            assert lists == expected[x, y], (x, y)
    assert seen == set(expected)


def test_lists_are_empty_if_they_are_too_long_or_save_nothing(monkeypatch):
    small = build_graph(maze(0).rows.support)
    assert list_repairs(small, 10) is not NO_REPAIRS
    assert list_repairs(small, 1) is NO_REPAIRS  # V_0 is always up to date
    assert list_repairs(build_graph(dense_world(0).rows.support), 10) is NO_REPAIRS
    total = len(list_repairs(small, 10).states)
    monkeypatch.setattr(value_iteration, "BATCH_ENTRIES", 1)
    monkeypatch.setattr(value_iteration, "MAX_LISTED", total)
    assert len(list_repairs(small, 10).states) == total
    monkeypatch.setattr(value_iteration, "MAX_LISTED", total - 1)
    assert list_repairs(small, 10) is NO_REPAIRS


def test_states_beyond_the_depth_are_farther_than_it():
    world = maze(1, side=7)
    graph = build_graph(world.rows.support)
    exact = shortest_path(csr_array((world.theta.max(axis=0) > 0).astype(float)), unweighted=True)
    assert np.array_equal(value_iteration._distances(graph, 4), np.minimum(exact, 5))
