"""Runs are equal to the pinned trajectories; see README.md in this folder."""

import json

import pytest

from berlyne.strategies.registry import PAPER_STRATEGIES
from golden.make import FILE, WORLDS, trajectory

PINNED = json.loads(FILE.read_text())


def test_every_strategy_is_pinned_in_every_class():
    assert list(PINNED) == [f"{kind}/{name}" for kind in WORLDS for name in PAPER_STRATEGIES]


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("key", PINNED)
def test_trajectory_is_the_pinned_one(key, engine):
    kind, name = key.split("/")
    computed, pinned = trajectory(kind, name, engine), PINNED[key]
    assert computed["actions"] == pinned["actions"]
    assert computed["states"] == pinned["states"]
    assert computed["missing_information"] == pytest.approx(pinned["missing_information"], abs=2e-9)
    assert computed["l1_distance"] == pytest.approx(pinned["l1_distance"], abs=2e-9)
