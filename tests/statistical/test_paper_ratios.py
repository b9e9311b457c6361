"""Areas under the learning curve relative to Unembodied, 40 worlds of each class, against quoted figures.

The figures come from 40 other worlds and are rounded, so a difference may be as large as three standard
errors of the difference of two such means, plus half a unit of the last digit.
"""

from functools import cache

import numpy as np
import pytest

from berlyne import dense_world, explore, maze, one_two_three_world

pytestmark = pytest.mark.slow
N_WORLDS = 40
CLASSES = {"maze": (maze, 3000), "1-2-3": (one_two_three_world, 1000), "dense": (dense_world, 1000)}

QUOTED = {
    ("maze", "Random"): "4.1",
    ("maze", "CB"): "3.5",
    ("maze", "PMC(VI)"): "2.8",
    ("maze", "PLC(VI)"): "2.4",
    ("maze", "PIG(VI)"): "2.3",
    ("maze", "PIG(VI+)"): "1.8",
    ("1-2-3", "Random"): "3.8",
    ("1-2-3", "LTA"): "3.2",
    ("1-2-3", "PIG(greedy)"): "2.2",
    ("1-2-3", "PLC(VI)"): "1.65",
    ("1-2-3", "PIG(VI)"): "1.6",
    ("1-2-3", "PIG(VI+)"): "1.5",
    ("dense", "CB"): "1.14",
}


@cache
def worlds(kind):
    return [CLASSES[kind][0](seed) for seed in range(N_WORLDS)]


@cache
def areas(kind, name):
    return np.array([explore(w, name, CLASSES[kind][1], seed=i).area for i, w in enumerate(worlds(kind))])


def relative(kind, name):
    """One ratio for each world."""
    return areas(kind, name) / areas(kind, "Unembodied")


def agrees(ratios, quoted):
    standard_error = ratios.std(ddof=1) / np.sqrt(len(ratios))
    rounding = 0.5 * 10.0 ** -len(quoted.partition(".")[2])
    return abs(ratios.mean() - float(quoted)) <= 3.0 * np.sqrt(2.0) * standard_error + rounding


@pytest.mark.parametrize(("kind", "name"), QUOTED)
def test_relative_areas_come_out_as_quoted(kind, name):
    ratios = relative(kind, name)
    assert agrees(ratios, QUOTED[kind, name]), (ratios.mean(), QUOTED[kind, name])


@pytest.mark.parametrize("name", ["PIG(greedy)", "PIG(VI)", "PIG(VI+)"])
def test_in_dense_worlds_embodiment_costs_at_most_three_percent(name):
    assert abs(relative("dense", name).mean() - 1.0) <= 0.03


def test_the_check_can_fail():
    """Figures of another strategy, and curves a third too high, are refused."""
    assert not agrees(relative("maze", "PIG(VI)"), QUOTED["maze", "PMC(VI)"])
    assert not agrees(relative("1-2-3", "PIG(greedy)"), QUOTED["1-2-3", "PIG(VI)"])
    for kind, name in QUOTED:
        assert not agrees(relative(kind, name) * 4 / 3, QUOTED[kind, name]), (kind, name)
