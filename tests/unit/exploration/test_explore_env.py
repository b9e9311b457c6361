"""Gymnasium environments: reading transition tables, and exploring by acting."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

import berlyne
from berlyne import (
    ChineseRestaurant,
    Dirichlet,
    Experiment,
    Explorer,
    InternalModel,
    World,
    dense_world,
    explore,
    explore_env,
    from_gymnasium,
    replay,
)
from berlyne.experiments.spec import SettingsError
from berlyne.exploration.explore_env import _as_plain

gymnasium = pytest.importorskip("gymnasium")
from berlyne.envs.world_env import WorldEnv  # noqa: E402  # needs Gymnasium

TABLES = ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"]


@pytest.mark.parametrize("name", TABLES)
def test_a_world_is_the_table_of_its_environment(name):
    env = gymnasium.make(name)
    world, table = from_gymnasium(env), env.unwrapped.P
    theta = np.zeros((world.n_actions, world.n_states, world.n_states))
    ends = set()
    for s, a in itertools.product(table, table[0]):
        for p, s_next, _, terminated in table[s][a]:
            theta[a, s, s_next] += p
            ends |= {int(s_next)} if terminated else set()
    np.testing.assert_allclose(world.theta, theta, atol=1e-15)
    assert world.terminal.tolist() == sorted(ends) and world.name == name
    np.testing.assert_allclose(world.episodes.distribution, env.unwrapped.initial_state_distrib)
    assert world.prior.alpha == 1.0 and world.prior.support.is_full and world.states == range(len(table))


@pytest.mark.parametrize(
    ("name", "s", "steps"),
    [
        ("FrozenLake-v1", 9, {"left": 8, "down": 13, "right": 10, "up": 5}),
        ("CliffWalking-v1", 14, {"left": 13, "down": 26, "right": 15, "up": 2}),
        ("Taxi-v4", 268, {"north": 168, "south": 368, "east": 288, "west": 248}),  # row 2, column 3
    ],
)
def test_actions_have_names(name, s, steps):
    world = from_gymnasium(gymnasium.make(name, **({"is_slippery": False} if name == "FrozenLake-v1" else {})))
    for action, s_next in steps.items():
        assert world.theta[world.action_labels.number(action), s, s_next] == 1.0


@pytest.mark.parametrize(("name", "lost"), [("FrozenLake-v1", 0), ("CliffWalking-v1", 10), ("Taxi-v4", 96)])
def test_a_table_can_be_explored_as_a_world(name, lost):
    world = from_gymnasium(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = explore(world, "PIG(greedy)", n_steps=300, seed=1)
    messages = [str(warning.message) for warning in caught]
    assert messages == (
        [] if not lost else [m for m in messages if m.startswith(f"{lost} of the {world.n_states} states")]
    )
    assert len(messages) == (lost > 0) and not np.isin(run.states, world.terminal).any()


def test_expected_missing_information_excludes_terminal_states():
    """Nothing was seen: each row of Dir(1) over N states is expected to miss the same; rows of ends do not count."""
    lake = from_gymnasium("FrozenLake-v1")
    model = InternalModel(lake.prior)
    all_of_it, rest = model.expected_missing_information(), model.expected_missing_information(without=lake.terminal)
    assert np.all(rest.rows[:, lake.terminal] == 0)
    np.testing.assert_allclose(rest.bits, all_of_it.bits * 11 / 16)


def test_a_prior_may_be_given_and_our_own_environments_give_their_world():
    prior = Dirichlet(0.3, n_states=16, n_actions=4)
    assert from_gymnasium("FrozenLake-v1", prior).prior is prior
    world = dense_world(3)
    assert from_gymnasium(WorldEnv(world)) is world
    other = Dirichlet(2.0, n_states=10, n_actions=4)
    assert from_gymnasium(WorldEnv(world), other).prior is other


class Tabled:
    """The least that `from_gymnasium` and `explore_env` ask for."""

    spec = None
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(1)
    P = ({0: [(0.5, 1, 0.0, True), (0.5, 1, 0.0, False)]}, {0: [(1.0, 0, 0.0, False)]})
    initial_state_distrib = np.array([1.0, 0.0])

    @property
    def unwrapped(self):
        return self

    def reset(self, seed=None):
        raise NotImplementedError

    step = reset


def test_invalid_tables_are_refused():
    with pytest.raises(ValueError, match=r"^Blackjack-v1 has no transition table; explore it with berlyne.explore_"):
        from_gymnasium("Blackjack-v1")
    with pytest.raises(ValueError, match=r"^in Tabled an episode ends in state 1 after some transitions but not after"):
        from_gymnasium(Tabled())
    with pytest.raises(ValueError, match=r"^env is 3; it must be a Gymnasium environment, or the id of one$"):
        from_gymnasium(3)


@pytest.mark.parametrize("name", ["PIG(VI)", "Random", "LTA", "PEIG(Q)"])
def test_an_environment_is_explored_by_acting(name):
    env = gymnasium.make("FrozenLake-v1")
    run = explore_env(env, name, n_steps=400, seed=3)
    table = env.unwrapped.P
    for s, a, s_next, reward, ended in zip(
        run.states[:-1], run.actions, run.next_states, run.rewards, run.terminated, strict=True
    ):
        assert (s_next, reward, ended) in {(z, r, d) for _, z, r, d in table[int(s)][int(a)]}
    assert run.n_steps == run.explorer.n_obs == 400
    begins = np.flatnonzero(np.diff(run.episode, prepend=-1))
    assert run.n_episodes == len(begins) == run.episode[-1] + 1 and np.all(run.states[begins] == 0)
    going_on = np.diff(run.episode) == 0
    np.testing.assert_array_equal(run.states[1:-1][going_on], run.next_states[:-1][going_on])
    assert run.states[-1] == (0 if run.terminated[-1] else run.next_states[-1])
    assert run.terminated[:-1][~going_on].all()  # none of these episodes is cut short
    counts = np.zeros((4, 16, 16))
    np.add.at(counts, (run.actions, run.states[:-1], run.next_states), 1)
    np.testing.assert_array_equal(run.explorer.model.counts, counts)
    ends = np.unique(run.next_states[run.terminated])
    assert np.all(run.explorer.utility()[:, ends] == 0.0)


def test_the_same_seed_explores_the_same():
    runs = [explore_env("CliffWalking-v1", "PIG(VI)", n_steps=200, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].history == runs[1].history != runs[2].history
    assert runs[0].history[0] == (36, runs[0].actions[0], runs[0].next_states[0])


def test_an_environment_of_ours_teaches_what_the_world_does():
    """The explorer behind `explore_env` is that of `explore`, given the same states."""
    world = World(dense_world(2).rows, dense_world(2).prior, terminal=[4], start=1)
    run = explore_env(WorldEnv(world), "PIG(VI)", n_steps=150, seed=5, prior=world.prior)
    explorer = Explorer(world.prior, "PIG(VI)", 5)
    for (s, a, s_next), ended in zip(run.history, run.terminated, strict=True):
        assert explorer.act(s) == a and ended == (s_next == 4)
        explorer.observe(s, a, s_next, ended=bool(ended))
    assert run.explorer.model.missing_information(world) < explore(world, "Random", n_steps=0).missing_information[0]


def test_an_episode_that_is_cut_short_ends_nothing():
    env = gymnasium.make("berlyne.envs:berlyne/Dense-v0", max_episode_steps=7)
    run = explore_env(env, "PIG(VI)", n_steps=50)
    assert run.episode.tolist() == [t // 7 for t in range(50)]
    assert not run.terminated.any() and np.all(run.explorer.utility() > 0.0)


def test_tuple_observations_can_be_listed_in_advance():
    """Blackjack ends where one could also go on: standing leaves the observation as it was."""
    hands = list(itertools.product(range(32), range(11), range(2)))
    run = explore_env("Blackjack-v1", "PIG(greedy)", n_steps=600, seed=1, states=hands)
    assert run.explorer.states == tuple(hands) and isinstance(run.history[0][0], tuple)
    assert run.n_episodes > 100
    played = np.unique(run.states[:-1])
    assert np.all(run.explorer.utility()[:, played].max(axis=0) > 0.0)  # not closed, though many were ends
    bust = [s for s in np.unique(run.next_states[run.terminated]) if hands[s][0] > 21]
    assert bust and np.all(run.explorer.utility()[:, bust] == 0.0)
    wrong = r"step \d+, action [01]|before step \d+"
    with pytest.raises(ValueError, match=rf"^({wrong}): the observation is \(.*\); (it must be a state|unknown state)"):
        explore_env("Blackjack-v1", n_steps=600, states=hands[:40])


def test_actions_and_observations_may_begin_at_another_number():
    class Shifted(Tabled):
        observation_space = gymnasium.spaces.Discrete(3, start=-1)
        action_space = gymnasium.spaces.Discrete(2, start=5)
        taken = ()

        def reset(self, seed=None):
            return np.int64(-1), {}

        def step(self, action):
            self.taken = (*self.taken, action)
            return np.int64(1 if action == 6 else 0), 1.0, False, False, {}

    env = Shifted()
    run = explore_env(env, "LTA", n_steps=20)
    assert set(env.taken) == {5, 6} and run.explorer.states == (-1, 0, 1) and run.rewards.sum() == 20.0
    np.testing.assert_array_equal(np.array(env.taken) - 5, run.actions)
    np.testing.assert_array_equal(np.array(env.taken) - 4, run.next_states)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explore_env("CartPole-v1"), r"observations are Box.*, which rarely repeat; pass observe=, .*"),
        (lambda: explore_env("Pendulum-v1", states=[1]), r"actions are Box.*; they must be Discrete"),
        (
            lambda: explore_env("FrozenLake-v1", "Unembodied"),
            "Unembodied chooses the state as well as the action, which an .*",
        ),
        (lambda: explore_env("FrozenLake-v1", "PIG(VI+)"), "PIG.VI.. plans with the true world, which is unknown.*"),
        (lambda: explore_env("FrozenLake-v1", n_steps=-1), "n_steps is -1; it must be a whole number of at least 0"),
    ],
)
def test_invalid_environments_are_refused(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of MiniGrid's own
def test_a_level_of_minigrid_is_explored_without_a_table():
    pytest.importorskip("minigrid")
    env = gymnasium.make("MiniGrid-Empty-5x5-v0")
    poses = list(itertools.product(range(1, 4), range(1, 4), range(4)))

    def pose(_):
        inner = env.unwrapped
        return (*map(int, inner.agent_pos), int(inner.agent_dir))

    prior = Dirichlet(0.1, n_states=36, n_actions=7)
    run = explore_env(env, "PIG(VI)", n_steps=1500, seed=0, prior=prior, states=poses, observe=pose)
    goal = [s for s in range(36) if poses[s][:2] == (3, 3)]
    assert set(run.next_states[run.terminated]) <= set(goal) and run.terminated.any()
    assert set(range(36)) - set(goal) <= set(run.states[:-1])  # every pose but at the goal was acted in
    model = run.explorer.model
    for s, (x, y, direction) in enumerate(poses):  # the level's rules: turn left, turn right, forward
        if s in goal:
            continue
        left, right = poses.index((x, y, (direction - 1) % 4)), poses.index((x, y, (direction + 1) % 4))
        assert np.argmax(model.theta_hat[0, s]) == left and np.argmax(model.theta_hat[1, s]) == right


def test_unknown_states_are_discovered():
    """A lake whose squares are only met on the way: each observation is a state, named by its square."""
    run = explore_env("FrozenLake-v1", n_steps=800, seed=1, prior=ChineseRestaurant(), observe=lambda s: f"square {s}")
    assert set(run.explorer.states) == {f"square {s}" for s in range(16)}
    assert run.explorer.states[0] == "square 0" and run.explorer.model.states[-1] == "elsewhere"
    table = from_gymnasium(gymnasium.make("FrozenLake-v1"))
    for s, a, s_next in run.history:
        here, next_place = int(s.split()[1]), int(s_next.split()[1])
        assert table.theta[a, here, next_place] > 0


class Switches(gymnasium.Env):
    """Three switches; action a turns switch a over."""

    observation_space = gymnasium.spaces.MultiBinary(3)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.on = np.zeros(3, dtype=np.int8)
        return self.on.copy(), {}

    def step(self, a):
        self.on[a] ^= 1
        return self.on.copy(), 0.0, False, False, {}


def test_bits_are_no_list_of_states_or_actions():
    """`MultiBinary(3).n` is 3, but there are eight states."""
    run = explore_env(Switches(), n_steps=100, seed=0)
    assert set(run.explorer.states) == set(itertools.product((0, 1), repeat=3))
    env = Switches()
    env.action_space = gymnasium.spaces.MultiBinary(3)
    with pytest.raises(ValueError, match=r"^actions are MultiBinary\(3\); they must be Discrete$"):
        explore_env(env)


def test_a_level_of_minigrid_is_discovered():
    minigrid = pytest.importorskip("minigrid")
    assert minigrid
    env = gymnasium.make("MiniGrid-Empty-5x5-v0")

    def see(_):
        return (*map(int, env.unwrapped.agent_pos), int(env.unwrapped.agent_dir))

    run = explore_env(env, n_steps=400, seed=0, observe=see)
    assert len(run.explorer.states) == 8 * 4 + 2  # the goal, the ninth square, is entered from two sides and ends it


def test_an_environment_goes_into_a_study(tmp_path):
    lake = gymnasium.make("FrozenLake-v1")
    study = Experiment(worlds={"lake": lake}, strategies=["PIG(VI)"], n_runs=2, n_steps=60, seed=5)
    results = study.run(tmp_path / "lake.zarr")
    world = from_gymnasium(lake)
    missing = results.dataset["missing_information"]
    assert missing.sizes["world"] == 2 and float(missing.isel(time=0).min()) > 0
    assert results.world("lake/000").actions == world.actions
    assert np.array_equal(results.world("lake/000").theta, world.theta)
    with pytest.raises(
        SettingsError, match=r"^worlds.pole: observations are Box.*, which rarely repeat; wrap the environment"
    ):
        Experiment(worlds={"pole": gymnasium.make("CartPole-v1")}, strategies=["Random"])


class Wrapped(gymnasium.Wrapper):
    """A wrapper of a user, which might change any transition, so that the table of the environment is not the truth."""


@pytest.mark.parametrize("prior", [None, ChineseRestaurant(1.0)], ids=["known", "discovered"])
def test_the_learning_curve_is_what_its_explorer_expected_on_the_way(prior):
    run = explore_env(Wrapped(gymnasium.make("FrozenLake-v1")), "PIG(VI)", n_steps=200, seed=1, prior=prior)
    assert run.world is None
    explorer, curve = Explorer(run.explorer.prior, "LTA", n_actions=4), run.expected_missing_information
    begun, lines = run.states.tolist(), zip(run.history, run.terminated, strict=True)
    for t, (line, ended) in enumerate(lines):
        if prior is not None:
            explorer.discover([run.explorer.states[begun[t]]])
        assert curve[t] == pytest.approx(explorer.expected_missing_information().bits, rel=1e-9)
        explorer.observe(*line, ended=bool(ended))
    assert curve[-1] == pytest.approx(run.explorer.expected_missing_information().bits, rel=1e-9)
    assert len(curve) == 201 and curve[-1] != curve[0]
    ax = run.plot(Figure().subplots(), color="red")
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), curve)
    assert line.get_color() == "red" and ax.get_ylabel() == "expected missing information (bits)"
    assert repr(run) == f"Run(PIG(VI): 200 steps in {run.n_episodes} episodes, {run.explorer.n_states} states)"


def test_no_step_is_a_curve_of_one_point():
    run = explore_env("FrozenLake-v1", n_steps=0)
    assert run.expected_missing_information == pytest.approx([run.explorer.expected_missing_information().bits])
    assert repr(run) == "Run(PIG(VI) in FrozenLake-v1: 0 steps in 0 episodes, 16 states)"


def test_a_prior_without_expected_missing_information_has_no_curve():
    class Counting:
        def estimate(self, counts):
            return (counts + 1.0) / (counts + 1.0).sum(axis=-1, keepdims=True)

    run = explore_env(Wrapped(gymnasium.make("FrozenLake-v1")), "LTA", n_steps=5, prior=Counting())
    assert np.all(np.isnan(run.expected_missing_information)) and len(run.expected_missing_information) == 6
    with pytest.raises(ValueError, match=r"^Counting does not define expected missing information; give it a m"):
        run.plot()


class Little(gymnasium.Env):
    """Three states in a ring and actions 1 to 3, which lead as many states on; what it says can be chosen."""

    action_space = gymnasium.spaces.Discrete(3, start=1)

    def __init__(self, space, say):
        self.observation_space, self.say = space, say

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        return self.say(self.s), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.s = (self.s + action) % 3
        return self.say(self.s), 0.0, False, False, {}


RING = gymnasium.spaces.Discrete(3, start=7)


def test_actions_have_the_numbers_of_the_environment():
    env = Little(RING, lambda s: s + 7)
    run = explore_env(env, "PIG(VI)", n_steps=30, seed=0)
    assert list(run.explorer.actions) == [1, 2, 3] and list(run.explorer.states) == [7, 8, 9]
    assert set(run.actions.tolist()) == {0, 1, 2}
    assert all((s - 7 + a) % 3 + 7 == s_next for s, a, s_next in run.history)
    seen, _, _, _, _ = env.step(run.explorer.act(run.explorer.here))  # it goes on
    assert seen in (7, 8, 9)
    own = replay(run.explorer.prior, run, "PIG(VI)")
    assert set(np.round(np.exp(own.log_likelihood.values), 9)) <= {1.0, 0.5, round(1 / 3, 9)}


def test_parts_of_parts_of_observations_are_states():
    space = gymnasium.spaces.MultiDiscrete([[2, 2], [2, 2]])
    run = explore_env(Little(space, lambda s: np.array([[s // 2, s % 2], [1, 0]])), n_steps=20, seed=0)
    assert set(run.explorer.states) == {((0, 0), (1, 0)), ((0, 1), (1, 0)), ((1, 0), (1, 0))}


def test_real_numbers_within_observations_are_detected():
    parts = gymnasium.spaces.Discrete(3), gymnasium.spaces.Box(0, 1, (1,))
    for space in (gymnasium.spaces.Tuple(parts), gymnasium.spaces.Dict(a=parts[0], b=parts[1])):
        with pytest.raises(ValueError, match=r"which rarely repeat; pass observe=, a function that converts an"):
            explore_env(Little(space, lambda s: (s, np.array([0.5]))), n_steps=5)


@pytest.mark.parametrize(("name", "answer"), [("reset", 0), ("step", (0, 0.0, False, {}))])
def test_environments_of_the_old_gym_are_recognised_by_their_results(name, answer, monkeypatch):
    env = Little(RING, lambda s: s + 7)
    monkeypatch.setattr(env, name, lambda *args, **options: answer)
    where = "before step 0" if name == "reset" else r"step 0, action [123]"
    with pytest.raises(
        ValueError, match=rf"^{where}: {name}\(\) returned .*; it must return \(obs.*\), as in Gymnasium$"
    ):
        explore_env(env, n_steps=5)


def test_a_run_with_discovered_states_is_replayed_by_its_labels():
    """Numbers of a run are no labels: its own choices are as likely with or without states that are told."""
    space = gymnasium.spaces.MultiDiscrete([3])
    run = explore_env(Little(space, lambda s: np.array([s])), "PIG(VI)", n_steps=40, seed=0)
    assert set(run.explorer.states) == {(0,), (1,), (2,)}
    for options in ({}, {"states": run.explorer.states[:1]}):
        replayed = replay(ChineseRestaurant(1.0), run, "PIG(VI)", actions=[1, 2, 3], **options)
        assert [tuple(s) for s in replayed.s.values] == [s for s, _, _ in run.history]
        assert replayed.a.values.tolist() == [a for _, a, _ in run.history]
        assert np.exp(replayed.log_likelihood.values).min() > 0.3
        last = replayed.expected_missing_information_after.values[-1]
        assert last == pytest.approx(run.explorer.expected_missing_information().bits, rel=1e-9)


def test_states_listed_in_advance_count_from_the_first_step():
    """They may come from a generator, and the learning curve knows them, too."""
    env = Little(RING, lambda s: s + 7)
    run = explore_env(env, "PIG(VI)", n_steps=20, seed=0, prior=ChineseRestaurant(1.0), states=(s for s in (9, 8, 70)))
    assert list(run.explorer.states) == [9, 8, 70, 7]
    explorer = Explorer(ChineseRestaurant(1.0), "LTA", n_actions=3, states=[9, 8, 70, 7], actions=[1, 2, 3])
    for t, line in enumerate(run.history):
        left = explorer.expected_missing_information().bits
        assert run.expected_missing_information[t] == pytest.approx(left, rel=1e-9)
        explorer.observe(*line)


class Counting(Tabled):
    """Leads from 0 to 1 to 2 and so on to 5, and is cut short at every fourth step; says how it was seeded."""

    observation_space = gymnasium.spaces.Discrete(6)

    def __init__(self):
        self.seeds, self.s, self.t = [], 0, 0

    def reset(self, seed=None):
        self.seeds.append(seed)
        self.s = 0
        return 0, {}

    def step(self, action):
        self.s, self.t = min(self.s + 1, 5), self.t + 1
        return self.s, 0.0, False, self.t % 4 == 0, {}


def test_truncated_episodes_have_no_terminal_state():
    run = explore_env(Counting(), "PIG(greedy)", n_steps=8)
    assert run.next_states.tolist() == [1, 2, 3, 4, 1, 2, 3, 4] and not run.terminated.any()
    assert np.all(run.explorer.utility()[:, 4] > 0.0)  # nothing was tried there, and it is worth trying


def test_an_environment_is_seeded_once_and_apart_from_the_agent():
    """The first number of the world's stream of the exploration; the agent's draws are none of its business."""
    env = Counting()
    explore_env(env, "Random", n_steps=8, seed=11)
    root = np.random.SeedSequence(11)
    for_world = np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=(2,)))
    assert env.seeds == [int(for_world.integers(2**31)), None, None]


def test_explore_explores_an_environment():
    env = gymnasium.make("FrozenLake-v1")
    one, other = berlyne.explore(env, "LTA", 50, 3), explore_env(gymnasium.make("FrozenLake-v1"), "LTA", 50, 3)
    assert one.history == other.history and one.n_steps == 50
    for options in ({"start": 0}, {"snapshots": [3]}, {"engine": "numpy"}):
        with pytest.raises(ValueError, match="start, snapshots and engine are not available in an environment"):
            berlyne.explore(env, "LTA", 50, **options)


class Told(Little):
    """An environment that shows nothing, and tells its state in `info`."""

    def reset(self, **options):
        _, info = super().reset(**options)
        return 7, {**info, "place": self.s}

    def step(self, action):
        _, *rest, info = super().step(action)
        return 7, *rest, {**info, "place": self.s}


@pytest.mark.parametrize(
    "observe",
    [
        lambda obs, info: info["place"],
        lambda obs, info, env: env.unwrapped.s,
        lambda obs, info, env, scale=1: env.unwrapped.s * scale,
    ],
)
def test_states_from_info_and_from_the_environment(observe):
    run = explore_env(Told(RING, lambda s: s + 7), "LTA", 30, observe=observe, states=[0, 1, 2])
    assert all((s + a) % 3 == s_next for s, a, s_next in run.history) and len(set(run.states)) == 3


def test_a_function_of_too_many_arguments_is_refused():
    with pytest.raises(ValueError, match=r"observe takes 4 arguments; .*info and env"):
        explore_env(Told(RING, lambda s: s + 7), observe=lambda obs, info, env, more: 0)


def test_observations_of_discrete_parts_are_states():
    """A dict by its items in the order of its keys, a large array by type, shape and bytes."""
    spaces = gymnasium.spaces
    picture = spaces.Box(0, 9, (9, 8), dtype=np.uint8)
    space = spaces.Dict(facing=spaces.Discrete(3), image=picture, words=spaces.Text(5))

    def show(s):
        image = np.zeros((9, 8), dtype=np.uint8)
        image[s, s] = 5
        parts = {"image": image, "facing": np.int64(s), "words": "go"}
        return parts if s % 2 else dict(reversed(parts.items()))

    run = explore_env(Little(space, show), n_steps=30, seed=0)
    facing = {dict(state)["facing"] for state in run.explorer.states}
    assert run.explorer.n_states == 3 and facing == {0, 1, 2}
    kind, shape, data = dict(run.explorer.states[0])["image"]
    assert (kind, shape) == ("uint8", (9, 8)) and bytes.fromhex(data).count(5) == 1
    plain = [[0, [1, np.int8(2)]], np.array([3, 4])]
    assert _as_plain(plain) == ((0, (1, 2)), (3, 4))
    grey, wide = np.zeros(80, dtype=np.uint8), np.zeros(80, dtype=np.int8)
    assert len({_as_plain(a) for a in (grey, wide, grey.reshape(8, 10), grey + 1, grey.copy())}) == 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of MiniGrid's own
def test_all_that_is_to_be_seen_in_a_level_of_minigrid_is_a_state(tmp_path):
    wrappers = pytest.importorskip("minigrid.wrappers")
    env = wrappers.FullyObsWrapper(gymnasium.make("MiniGrid-Empty-5x5-v0"))
    run = explore_env(env, "PIG(VI)", n_steps=400, seed=0)
    assert run.explorer.n_states > 20  # 9 squares and 4 directions
    run.explorer.save(tmp_path / "explorer.npz")
    assert Explorer.load(tmp_path / "explorer.npz").states == run.explorer.states


def test_an_id_that_a_package_registers_names_its_import():
    code = "import berlyne; berlyne.explore_env('MiniGrid-Empty-5x5-v0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "import minigrid" in done.stderr and "'minigrid:MiniGrid-Empty-5x5-v0'" in done.stderr
