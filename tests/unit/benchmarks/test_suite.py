"""The suite of worlds: versions, splits, and worlds that need other packages."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from berlyne import World
from berlyne.benchmarks import suite
from berlyne.benchmarks.minigrid_table import minigrid_world
from berlyne.benchmarks.suite import SPLITS, digest
from berlyne.experiments.worlds import stream, world_id
from messages import raises

DIGESTS = {
    "dense": "bd8f79af7f6d47d5 cef1fadbda81be8b",
    "maze": "09d43dace87e3db1 ea48b3b4b21e0812",
    "1-2-3": "d09c414a345ded33 2ed4bdbc2b3948ea",
    "river-swim": "2f7f635d9868fcc9",
    "river-swim-20": "87e9f31b6fe60fdb",
    "forked-river-swim": "6fe1fa901faf1dcf",
    "chain-kaufmann": "b6f81c8b06af756a",
    "chain-kaufmann-20": "ee2947c808ef2bdd",
    "chain-russo": "99aec965c0e4e5f2",
    "n-arms": "3a0f4b803ce7dae2",
    "deep-sea": "d02bb2cb7b401850",
    "four-rooms": "14e4a01dbecb8c28",
    "four-rooms-50": "5c0578896d96c184",
    "n-room": "b9936be5d1a8198b",
    "grid": "1205fecc03cdf4f7",
    "grid-20": "46b3dab242e03d46",
    "noisy-tv": "9c15e26db4b92c9a",
    "garnet": "d6bb7543cda81f3e 26c746e7d5889ae9",
    "garnet-20": "db7364a5551d2327 c117c32c9049970f",
    "taxi": "8ac3bd2f9139df41",
    "frozen-lake": "9dff27541f74ccff",
    "cliff-walking": "6444b59637aa6dd1",
    "minigrid": "3bf2c71ec640415e",
    "storck": "6f8ed18f3f4d31e0",
}
"""Digest of world 0 of the tuning and of the test split; one if the world is always the same. If one of these changes,
make a new version of the suite."""
SUITE = suite("tabular-v1")


@pytest.mark.parametrize("name", DIGESTS)
def test_worlds_are_those_of_version_1(name):
    task = SUITE[name]
    if not task.is_available:
        pytest.skip(f"{task.needs} is not installed")
    drawn = [digest(task.world(stream(SPLITS[split], world_id(name, 0)))) for split in ("tuning", "test")]
    assert " ".join(dict.fromkeys(drawn)) == DIGESTS[name]


def test_every_task_is_pinned_and_some_are_episodic():
    assert [task.name for task in SUITE] == list(DIGESTS)
    horizons = {task.name: task.horizon for task in SUITE}
    assert horizons["river-swim"] is None and horizons["river-swim-20"] == 20


def test_every_world_has_a_fixed_prior_and_can_be_reached():
    for task in SUITE.select():
        world = task.world(np.random.SeedSequence(1))
        assert world.horizon == task.horizon and isinstance(getattr(world.prior, "alpha", 1.0), float)


def test_a_digest_depends_on_every_part_of_a_world():
    world = SUITE["river-swim"].world(0)
    theta = world.theta.copy()
    theta[1, 3, 2:5] = 0.1, 0.61, 0.29
    changed = [
        world.with_horizon(7),
        World(world.theta, world.prior, start=0),
        World(theta, world.prior, start=world.start),
    ]
    assert len({digest(each) for each in (world, *changed)}) == 4


def test_an_unknown_suite_or_task_is_named():
    with raises(ValueError, "suite", "'tabular-v9'", "tabular-v1"):
        suite("tabular-v9")
    with raises(ValueError, "task", "'sea'", "deep-sea"):
        SUITE.select(["sea"])


def test_without_minigrid_its_task_is_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid", None)
    assert SUITE.left_out == ["minigrid"] and len(SUITE.select()) == len(SUITE) - 1
    with raises(ValueError, "task", "'minigrid'", "minigrid"):
        SUITE.select(["minigrid"])
    with raises(ValueError, "MiniGrid"):
        minigrid_world("MiniGrid-Empty-5x5-v0")


def test_a_minigrid_level_has_places_and_directions():
    pytest.importorskip("minigrid")
    world = minigrid_world("MiniGrid-Empty-5x5-v0")
    assert world.states[world.start] == (1, 1, 0) and world.n_states == 3 * 3 * 4 - 2  # the goal is entered in two ways
    ends = {world.states[s] for s in world.terminal.tolist()}
    assert ends == {(3, 3, 0), (3, 3, 1)}

    def after(state, action):
        (s_next,) = world.rows.row(world.action_labels.number(action), world.state_labels.number(state))[0].tolist()
        return world.states[s_next]

    assert after((1, 1, 0), "forward") == (2, 1, 0) and after((1, 1, 0), "right") == (1, 1, 1)
    assert after((1, 1, 2), "forward") == (1, 1, 2)  # a wall
