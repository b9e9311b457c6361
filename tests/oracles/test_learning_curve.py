"""Learning curves of an exploration against the definition, computed from its history."""

from fractions import Fraction

import numpy as np
import pytest

from berlyne import dense_world, explore, maze, one_two_three_world
from oracles.learning_curve import enumerated, histogram, learning_curves
from parity.cases import sparse_truth, uneven


def rule_of(world):
    if world.name == "1-2-3 World":
        return enumerated(world.n_states, Fraction(3, 4))
    everywhere = world.name in ("Dense World", "sparse truth")
    support = np.ones(world.theta.shape) if everywhere else world.theta > 0
    if world.name == "uneven":
        support = np.zeros(world.theta.shape)
        for a, s in np.ndindex(support.shape[:2]):
            support[a, s, world.prior.support.row(a, s)] = 1
    return histogram(world.prior.alpha, support)


WORLDS = [
    dense_world(2),
    dense_world(2, n_states=40, n_actions=2),
    maze(2),
    one_two_three_world(2, n_states=10),
    uneven(2),
    sparse_truth(2, n_states=36),
]


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("name", ["PIG(VI)", "Random", "Unembodied"])
@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_learning_curves_follow_from_the_history(world, name, engine):
    run = explore(world, name, n_steps=300, seed=4, engine=engine)
    history = zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)
    missing, distance = learning_curves(world.theta, rule_of(world), history)
    assert len(run.missing_information) == len(run.l1_distance) == 301
    assert run.missing_information == pytest.approx(missing, abs=1e-9)
    assert run.l1_distance == pytest.approx(distance, abs=1e-9)
    assert run.area == pytest.approx(missing.sum(), abs=1e-6)
