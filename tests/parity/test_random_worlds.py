"""Compiled and NumPy agents agree in sixty random worlds; see random_worlds.py."""

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, OneTwoThree
from parity.random_worlds import MEASURES, differences, direct, estimate_123, random_case

SOME = 60


@pytest.mark.parametrize("begin", range(0, SOME, 10))
def test_agents_agree_with_each_other_and_with_their_counts(begin):
    for seed in range(begin, begin + 10):
        deviations = differences(seed)
        assert all(deviations[name] < 1e-9 for name in MEASURES), (seed, deviations)


def test_the_worlds_are_of_all_kinds():
    cases = [random_case(seed) for seed in range(SOME)]
    kinds = [type(world.prior) for world, _ in cases]
    assert min(kinds.count(kind) for kind in (Dirichlet, OneTwoThree, ChineseRestaurant)) >= 10
    for has_kind in (
        [np.ndim(getattr(world.prior, "alpha", 0.0)) > 0 for world, _ in cases],
        [bool(len(world.terminal)) for world, _ in cases],
        [world.state_labels.custom is None for world, _ in cases],
        [strategy.temperature > 0.0 for _, strategy in cases],
        [strategy.lapse > 0.0 for _, strategy in cases],
        [strategy.relocates for _, strategy in cases],
        [isinstance(world.start, np.ndarray) for world, _ in cases],
    ):
        assert min(has_kind.count(True), has_kind.count(False)) >= 4


def test_the_formula_for_1_2_3_rows_is_that_of_three_states_by_hand():
    """Two targets among states 0, 1, 2, escape 1/2: {1, 2} has 1/4, {0, 1} and {0, 2} have 3/8 each."""
    assert estimate_123(0.5, 2, np.zeros(3)) == pytest.approx([3 / 8, 5 / 16, 5 / 16])
    assert estimate_123(0.5, 2, np.array([0, 4, 0])) == pytest.approx([3 / 10, 1 / 2, 1 / 5])
    assert estimate_123(0.5, 2, np.array([2, 4, 0])) == pytest.approx([1 / 2, 1 / 2, 0])


def test_the_direct_computation_notices_a_count_that_is_missing():
    from dataclasses import replace

    from berlyne import dense_world, explore

    run = explore(dense_world(0), "PIG(VI)", n_steps=50)
    shorter = replace(run, states=run.states[1:], actions=run.actions[1:], next_states=run.next_states[1:])
    assert abs(direct(run) - run.missing_information[-1]) < 1e-9 < abs(direct(shorter) - direct(run))
