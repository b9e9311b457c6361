"""Worlds as Gymnasium environments."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from berlyne import World, dense_world, four_rooms, maze, one_two_three_world
from berlyne.worlds import places
from messages import raises

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from berlyne.envs.world_env import ENVIRONMENTS, WorldEnv, state_image  # noqa: E402
from berlyne.worlds.maze_text import geometry_from_text  # noqa: E402
from waiting import LIMIT  # noqa: E402

every_id = pytest.mark.parametrize("name", list(ENVIRONMENTS))


@every_id
def test_gymnasium_accepts_the_environments(name):
    check_env(gymnasium.make(name).unwrapped)


@every_id
def test_pictures_and_text_show_where_the_agent_is(name):
    seen = {}
    for mode in ("rgb_array", "ansi"):
        env = gymnasium.make(name, render_mode=mode)
        for start in (0, 1):
            env.reset(options={"start": start})
            seen[mode, start] = env.render()
    assert seen["ansi", 0] != seen["ansi", 1] and seen["ansi", 0].count("@") == 1
    images = seen["rgb_array", 0], seen["rgb_array", 1]
    assert images[0].dtype == np.uint8 and images[0].shape[2] == 3 and not np.array_equal(*images)
    assert gymnasium.make(name).unwrapped.render() is None


def test_a_seed_draws_the_world_and_parameters_shape_it():
    one, other, same = (gymnasium.make("berlyne/Maze-v0", world_seed=i, side=4, n_transporters=3) for i in (1, 2, 1))
    assert one.observation_space.n == 16 and one.action_space.n == 4
    np.testing.assert_array_equal(one.unwrapped.world.theta, maze(1, 4, 3).theta)
    np.testing.assert_array_equal(one.unwrapped.world.theta, same.unwrapped.world.theta)
    assert not np.array_equal(one.unwrapped.world.theta, other.unwrapped.world.theta)


def test_steps_follow_the_world():
    world = dense_world(0, n_states=4, n_actions=2, alpha=0.5)
    env = WorldEnv(world)
    rng, counts = np.random.default_rng(0), np.zeros((2, 4, 4))
    s, info = env.reset(seed=7)
    assert info == {"state": s} and env.observation_space.contains(s)
    for a in rng.integers(2, size=20_000):
        s_next, reward, terminated, truncated, _ = env.step(a)
        assert (reward, terminated, truncated) == (0.0, False, False)
        counts[a, s, s_next] += 1
        s = s_next
    n = counts.sum(axis=-1, keepdims=True)
    deviation = (counts - n * world.theta) / np.sqrt(n * world.theta * (1 - world.theta) + 1e-9)
    assert np.all(np.abs(deviation[world.theta > 1e-6]) < 5)


def test_episodes_begin_and_end_as_in_the_world():
    theta = np.tile(np.eye(3)[[1, 2, 2]], (1, 1, 1))
    where = {"a": (0, 0), "b": (1, 0), "c": (0, 1)}
    world = World(theta, start={"a": 0.5, "b": 0.5}, terminal=["c"], states=["a", "b", "c"], positions=where)
    env = WorldEnv(world, render_mode="ansi")
    starts = {int(env.reset(seed=i)[0]) for i in range(20)}
    assert starts == {0, 1}
    s, info = env.reset(options={"start": "a"})
    assert (s, info) == (0, {"state": "a"}) and env.render() == "@..  'a'"
    assert env.step(0)[:3] == (1, 0.0, False) and env.step(0)[:3] == (2, 0.0, True)
    picture = WorldEnv(world, render_mode="rgb_array")
    picture.reset(options={"start": "b"})
    assert picture.render()[12, 12].tolist() == [255, 255, 255] and picture.render()[12, 36].tolist() == [200, 60, 40]
    assert picture.render()[36, 12].tolist() == [215, 215, 215]


@pytest.mark.parametrize("make", [lambda: dense_world(0), four_rooms, lambda: one_two_three_world(1)])
def test_states_are_painted_where_they_lie_and_none_over_another(make):
    world = make()
    image = state_image(world, None)
    white = np.all(image == 255, axis=2)
    pixels = []
    for s in range(world.n_states):
        other = np.any(state_image(world, s) != image, axis=2)
        assert white[other].all()
        pixels.append(np.argwhere(other).mean(axis=0)[::-1])
        white[other] = False  # so that no pixel belongs to two
    assert not white.any()
    pixels, where = np.array(pixels), places(world)
    scale = np.ptp(pixels, axis=0) / np.ptp(where, axis=0)
    np.testing.assert_allclose(pixels - pixels.min(axis=0), (where - where.min(axis=0)) * scale, atol=1.0)
    assert scale[0] == pytest.approx(scale[1], rel=0.03)
    assert len(state_image(World(np.ones((1, 1, 1))), 0)) == 24


def test_a_maze_is_painted_as_it_is():
    drawn = "+---+---+\n| B    >|\n+---+   +\n|<      |\n+---+---+"
    world = World(np.full((4, 4, 4), 0.25), positions=geometry_from_text(drawn))
    env = WorldEnv(world, render_mode="rgb_array")
    env.reset(options={"start": 3})
    image = env.render()
    black, white, blue, red = [0, 0, 0], [255, 255, 255], [31, 95, 191], [200, 60, 40]
    assert image.shape == (48, 48, 3)
    assert image[0, 12].tolist() == black and image[12, 24].tolist() == white  # outer wall; a passage to the right
    assert image[12, 12].tolist() == blue and image[36, 36].tolist() == red  # base and agent
    assert image[12, 44].tolist() == blue and image[12, 47].tolist() == black  # a transporter on the right wall
    assert image[36, 3].tolist() == blue and image[36, 20].tolist() == white
    assert image[0, 36].tolist() == image[47, 36].tolist() == black  # above and below the open rooms on the right
    assert image[23, 36].tolist() == image[24, 36].tolist() == white  # and nothing between them
    assert image[23, 12].tolist() == image[24, 12].tolist() == black
    env.reset(options={"start": 0})
    assert env.render()[12, 12].tolist() == red and env.render()[8, 12].tolist() == blue  # the agent is on the base


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WorldEnv(four_rooms(), "human"), ("render_mode", "'human'", "'rgb_array'", "'ansi'", "None")),
        (lambda: WorldEnv(four_rooms()).step(0), ("reset()", "step()")),
        (
            lambda: WorldEnv(four_rooms()).reset(options={"state": 1}),
            ("options", "'state'"),
        ),
        (lambda: WorldEnv(four_rooms()).reset(options={"start": (0, 0)}), ("start", "(0, 0)")),
    ],
)
def test_mistakes_are_reported(call, message):
    with raises(ValueError, *message):
        call()


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import gymnasium", "berlyne.envs:berlyne/Dense-v0"),
        ("import berlyne, gymnasium", "berlyne.envs:berlyne/Dense-v0"),
        ("import gymnasium, berlyne.envs", "berlyne/Dense-v0"),
    ],
)
def test_our_environments_are_registered_by_importing_their_package_or_naming_it(imports, name):
    script = f"{imports}; print(gymnasium.make('{name}').observation_space)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout.startswith("Discrete(10)")


def test_importing_berlyne_does_not_import_gymnasium_and_does_not_need_it():
    script = (
        "import sys, berlyne; print('gymnasium' in sys.modules);"
        "print([f for f in sys.meta_path if type(f).__module__.startswith('berlyne')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout.split("\n")[:2] == ["False", "[]"]
    without = (
        "import sys; from importlib.machinery import PathFinder; find = PathFinder.find_spec;"
        "PathFinder.find_spec = lambda name, *more: None if name == 'gymnasium' else find(name, *more);"
        "import berlyne\ntry:\n    berlyne.from_gymnasium('X-v1')\nexcept ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout == "Gymnasium is not installed; in a clone of berlyne: pip install '.[gym]'\n"


@pytest.mark.parametrize("wrong", [1.7, "1", None, 2, -1, np.array([0, 1]), True], ids=repr)
def test_an_action_that_is_no_number_of_an_action_is_refused(wrong):
    env = WorldEnv(dense_world(0, n_states=4, n_actions=2))
    env.reset(seed=0)
    before = env.state
    with raises(ValueError, "action", "0", "1"):
        env.step(wrong)
    assert env.state == before
    for right in (1, np.int64(1), np.array(1), np.array([1])):
        assert env.step(right)[1] == 0.0
