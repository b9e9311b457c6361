"""Results do not depend on threads, also if they share a world."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from berlyne import STRATEGIES, explore
from parity.cases import AWKWARD, CLASSES

PRIORS = {**CLASSES, "5 actions": AWKWARD["5 actions"], "33 states": AWKWARD["33 states"]}


def outcome(task):
    world, name, seed = task
    run = explore(world, name, n_steps=400, seed=seed, snapshots=[100])
    return run.states, run.actions, run.missing_information, run.l1_distance, run.snapshots[100].n


def tasks(world):
    return [(world, name, seed) for name in STRATEGIES for seed in (0, 1)]


@pytest.mark.parametrize("kind", PRIORS)
def test_explorations_of_one_shared_world(kind):
    expected = [outcome(task) for task in tasks(PRIORS[kind](7))]
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(outcome, tasks(PRIORS[kind](7)))
        )  # a new world, prepared by the first thread that uses it
    for result, wanted in zip(results, expected, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(result, wanted, strict=True))


def test_explorations_of_worlds_made_in_the_threads():
    def make_and_explore(seed):
        return [outcome((make(seed), "PIG(VI)", seed)) for make in CLASSES.values()]

    expected = [make_and_explore(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(make_and_explore, range(8)))
    for result, wanted in zip(results, expected, strict=True):
        for x, y in zip(result, wanted, strict=True):
            assert all(np.array_equal(one, other) for one, other in zip(x, y, strict=True))
