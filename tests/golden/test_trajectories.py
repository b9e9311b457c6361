"""Runs are still what they were; see README.md in this folder."""

import json

import pytest

from berlyne import STRATEGIES
from golden.make import FILE, WORLDS, trajectory

PINNED = json.loads(FILE.read_text())


def test_every_strategy_is_pinned_in_every_class():
    assert list(PINNED) == [f"{kind}/{name}" for kind in WORLDS for name in STRATEGIES]


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("key", PINNED)
def test_trajectory_is_the_pinned_one(key, engine):
    kind, name = key.split("/")
    found, pinned = trajectory(kind, name, engine), PINNED[key]
    assert found["actions"] == pinned["actions"]
    assert found["states"] == pinned["states"]
    assert found["missing_information"] == pytest.approx(pinned["missing_information"], abs=2e-9)
    assert found["l1_distance"] == pytest.approx(pinned["l1_distance"], abs=2e-9)
