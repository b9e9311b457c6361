"""Ties are broken uniformly: over many seeds the first action is any of the best, equally often."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from amounts import amount
from berlyne import STRATEGIES, dense_world, explore, maze, one_two_three_world
from berlyne.models.internal_model import InternalModel
from berlyne.strategies.registry import get_strategy
from berlyne.strategies.utilities import pig

N_SEEDS = amount(200, 400)
SMALLEST = 1e-4
"""p-values below this are not accepted; seeds are fixed."""

EMBODIED = [name for name, strategy in STRATEGIES.items() if not strategy.relocates]
TIED = {
    "dense": (dense_world(0), EMBODIED),  # before any data all actions of a state are alike
    "maze": (maze(0), EMBODIED),
    "1-2-3": (one_two_three_world(0), ["Random", "LTA", "PIG(Q)", "PEIG(Q)"]),  # actions differ, heuristics do not care
}
CASES = [(kind, name) for kind, (_, names) in TIED.items() for name in names]


def first_actions(world, strategy):
    return [explore(world, strategy, n_steps=1, seed=seed).actions[0] for seed in range(N_SEEDS)]


def p_value(drawn, n):
    return stats.chisquare(np.bincount(drawn, minlength=n)).pvalue


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_first_actions_are_uniform(kind, name):
    world = TIED[kind][0]
    assert p_value(first_actions(world, name), world.n_actions) > SMALLEST


@pytest.mark.parametrize("kind", TIED)
def test_first_pairs_of_unembodied_are_uniform_over_the_best(kind):
    world = TIED[kind][0]
    worth = pig(InternalModel(world.prior)).T.ravel()
    best = np.flatnonzero(worth > worth.max() - 1e-12).tolist()
    runs = [explore(world, "Unembodied", n_steps=1, seed=seed) for seed in range(2 * N_SEEDS)]
    drawn = [best.index(run.states[0] * world.n_actions + run.actions[0]) for run in runs]
    assert len(best) > 1 and p_value(drawn, len(best)) > SMALLEST


def test_start_states_are_uniform():
    world = dense_world(0)
    drawn = [explore(world, "Random", n_steps=0, seed=seed).states[0] for seed in range(4 * N_SEEDS)]
    assert p_value(drawn, 10) > SMALLEST


def test_the_check_sees_ties_that_are_not_broken():
    assert p_value(first_actions(maze(0), get_strategy("PIG(VI)", ties="first")), 4) < SMALLEST


def test_successive_ties_are_broken_independently():
    """In a world of one state LTA takes its four actions in any order, all equally often."""
    world = maze(0, side=1, n_transporters=0)
    orders = list(permutations(range(4)))
    runs = (explore(world, "LTA", n_steps=4, seed=seed) for seed in range(3 * N_SEEDS))
    assert p_value([orders.index(tuple(run.actions.tolist())) for run in runs], len(orders)) > SMALLEST
