"""Replays with terminal states that are known or learned, in every format of a history."""

import gymnasium
import numpy as np
import pandas
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, OneTwoThree, World
from messages import raises

pytestmark = pytest.mark.filterwarnings("ignore:The prior does not agree")  # histories are made up

ARRAYS = ("action_values", "probabilities", "utilities", "expected_missing_information")


@pytest.fixture(scope="module")
def lake():
    return berlyne.explore_env("FrozenLake-v1", "PIG(VI)", n_steps=300, seed=0)


def frame(run, **more):
    columns = {"s": run.states[:-1], "a": run.actions, "s_next": run.next_states}
    return pandas.DataFrame({**columns, **more})


def test_choices_in_an_environment_are_those_of_its_explorer(lake):
    """An explorer that is asked and told again, step by step, is the oracle."""
    assert lake.n_episodes > 5
    explorer = Explorer(lake.explorer.prior, "PIG(VI)")
    chances = []
    for s, a, s_next, ended in zip(lake.states[:-1], lake.actions, lake.next_states, lake.terminated, strict=True):
        chances.append(explorer.probabilities(int(s))[a])
        explorer.observe(int(s), int(a), int(s_next), ended=bool(ended))
    replayed = berlyne.replay(lake.explorer.prior, lake, "PIG(VI)")
    assert np.allclose(np.exp(replayed.log_likelihood), chances, rtol=1e-12)
    assert np.all(np.isin(np.round(np.exp(replayed.log_likelihood), 9), np.round([1, 1 / 2, 1 / 3, 1 / 4], 9)))


def discover(explorer, states):
    if isinstance(explorer.prior, ChineseRestaurant):
        explorer.discover(states)


def ask_and_tell(explorer, steps, ended):
    """Return the values of an explorer before each line of a history, observed line by line: the oracle of replays."""
    collected = {name: [] for name in (*ARRAYS, "expected_missing_information_after")}
    begins = [s for s, _, _ in steps]
    discover(explorer, begins[:1])
    missing = explorer.expected_missing_information().bits
    for t, ((s, a, s_next), over) in enumerate(zip(steps, ended, strict=True)):
        number = explorer.state_labels.number(s)
        collected["expected_missing_information"].append(missing)
        with explorer._as_nonterminal(number):  # a line that begins in an end shows that it is none
            collected["utilities"].append(explorer.utility()[:, number])
            goes = explorer.strategy.relocates
            collected["action_values"].append(explorer.action_values()[number] if goes else explorer.action_values(s))
            collected["probabilities"].append(explorer.probabilities()[number] if goes else explorer.probabilities(s))
        explorer.observe(s, a, s_next, ended=bool(over))
        discover(explorer, begins[t + 1 : t + 2])
        missing = explorer.expected_missing_information().bits
        collected["expected_missing_information_after"].append(missing)
    return collected


PRIORS = {
    "Dirichlet": Dirichlet(0.7, n_states=9, n_actions=2),
    "wide": Dirichlet(0.7, n_states=60, n_actions=2),  # more slots are needed on the way
    "1-2-3": OneTwoThree(n_states=9, n_actions=2),
    "restaurant": ChineseRestaurant(0.7),
}
SOME = {"Dirichlet": 8, "wide": 40, "1-2-3": 3, "restaurant": 25}
"""How many states come up in a history."""


@pytest.mark.pairwise
@pytest.mark.filterwarnings("ignore:the rows of the history seem to be in no order")
@pytest.mark.parametrize("engine", ["auto", "numpy"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "PEIG(greedy)", "LTA", "CB", "Unembodied", "PMC(VI)"])
@pytest.mark.parametrize("kind", PRIORS)
def test_terminal_states_are_learned_and_unlearned_during_replay(kind, strategy, engine):
    """A history that begins again elsewhere, ends where it has been, and goes on from what seemed to be an end."""
    prior, rng = PRIORS[kind], np.random.default_rng(3)
    n_states = getattr(prior, "n_states", None) or 60
    few = rng.permutation(n_states)[: SOME[kind]]
    steps = np.stack([rng.choice(few, 120), rng.integers(2, size=120), rng.choice(few, 120)], axis=1)
    ended = rng.random(120) < 0.3
    ended[-1], steps[-1, 2] = True, np.setdiff1d(np.arange(n_states), few)[0]  # an end is learned last of all
    if kind == "1-2-3":
        steps[:, 2] = few[(steps[:, 0] + steps[:, 1]) % 3]  # an outcome for each row
    table = pandas.DataFrame({"s": steps[:, 0], "a": steps[:, 1], "s_next": steps[:, 2], "ended": ended})
    replayed = berlyne.replay(prior, table, strategy, n_actions=2, engine=engine)
    for name, expected in ask_and_tell(Explorer(prior, strategy, n_actions=2), steps.tolist(), ended).items():
        np.testing.assert_allclose(replayed[name], expected, rtol=1e-9, atol=1e-10, err_msg=name)


def test_a_frame_may_mark_ends_of_episodes(lake):
    replayed = berlyne.replay(lake.explorer.prior, frame(lake, ended=lake.terminated), "PIG(VI)")
    untold = berlyne.replay(lake.explorer.prior, frame(lake), "PIG(VI)")
    same = berlyne.replay(lake.explorer.prior, lake, "PIG(VI)")
    for name in ARRAYS:
        assert np.array_equal(replayed[name], same[name]), name
    assert not np.array_equal(untold.action_values, same.action_values)


def test_a_run_brings_the_ends_of_its_world():
    """The compiled replay of the world is the oracle."""
    world = berlyne.from_gymnasium("FrozenLake-v1")
    run = berlyne.explore(world, "PIG(VI)", n_steps=200, seed=1)
    of_world, of_prior = berlyne.replay(world, run, "PIG(VI)"), berlyne.replay(world.prior, run, "PIG(VI)")
    for name in ARRAYS:
        assert np.allclose(of_world[name], of_prior[name], rtol=1e-9, atol=1e-11), name


def test_a_run_brings_its_ends_where_states_are_discovered():
    """The replay that is told the world is the oracle."""
    world = berlyne.from_gymnasium("FrozenLake-v1").with_prior(ChineseRestaurant(1.0))
    run = berlyne.explore(world, "PIG(VI)", n_steps=150, seed=1)
    of_world = berlyne.replay(world, run, "PIG(VI)")
    of_prior = berlyne.replay(world.prior, run, "PIG(VI)", n_actions=4)
    for name in ARRAYS:
        assert np.allclose(of_world[name], of_prior[name], rtol=1e-9, atol=1e-11), name


class Anywhere(gymnasium.Env):
    """Five states in a ring, the last of which ends episodes; they begin anywhere else."""

    observation_space, action_space = gymnasium.spaces.MultiDiscrete([5]), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(self.np_random.integers(4))
        return np.array([self.s]), {}

    def step(self, action):
        self.s = (self.s + (1 if action else -1) * int(self.np_random.integers(1, 3))) % 5
        return np.array([self.s]), 0.0, self.s == 4, False, {}


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "CB"])
def test_states_may_be_discovered_as_well(strategy):
    """An explorer that is asked and told, and discovers where an episode begins when it does, is the oracle."""
    run = berlyne.explore_env(Anywhere(), strategy, n_steps=150, seed=0, prior=ChineseRestaurant(1.0))
    assert run.n_episodes > 5 and run.explorer.n_states == 5
    explorer, chances, left = Explorer(ChineseRestaurant(1.0), strategy, n_actions=2), [], []
    for (s, a, s_next), ended in zip(run.history, run.terminated, strict=True):
        explorer.discover([s])
        chances.append(explorer.probabilities(s)[a])
        left.append(explorer.expected_missing_information().bits)
        explorer.observe(s, a, s_next, ended=bool(ended))
    replayed = berlyne.replay(ChineseRestaurant(1.0), run, strategy, n_actions=2)
    np.testing.assert_allclose(np.exp(replayed.log_likelihood), chances, rtol=1e-12)
    np.testing.assert_allclose(replayed.expected_missing_information, left, rtol=1e-9, atol=1e-10)
    if strategy == "PIG(VI)":
        assert set(np.round(chances, 12)) <= {0.5, 1.0}


def test_impossible_transitions_are_reported_by_line():
    world = berlyne.maze(0, side=3, n_transporters=2)
    table = pandas.DataFrame({"s": [0, 0], "a": [0, 0], "s_next": [0, 8], "ended": [True, False]})
    with raises(ValueError, "line 1", "action 0", "state 0"):
        berlyne.replay(world.prior, table, "PIG(VI)")


@pytest.mark.parametrize("bad", [2, "yes", None, float("nan")])
def test_other_than_true_or_false_is_refused(bad):
    table = pandas.DataFrame({"s": [0, 0], "a": [0, 0], "s_next": [0, 0], "ended": [True, bad]})
    with raises(ValueError, "ended", "line 1"):
        berlyne.replay(Dirichlet(1.0, n_states=2, n_actions=1), table, "PIG(VI)")


@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=16, n_actions=4), ChineseRestaurant(1.0)])
def test_terminal_states_of_a_world_are_used_instead_of_those_of_a_history(lake, prior):
    world = berlyne.from_gymnasium("FrozenLake-v1", prior)
    assert len(world.terminal)
    for terminal in (world.terminal, ()):  # as it is, and as if episodes never ended
        of = World(world.theta, prior, terminal=terminal)
        replayed = berlyne.replay(of, frame(lake, ended=lake.terminated), "PIG(VI)")
        untold = berlyne.replay(of, frame(lake), "PIG(VI)")
        for name in ARRAYS:
            assert np.array_equal(replayed[name], untold[name]), name


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_impossible_transitions_are_named_before_later_terminal_states(engine):
    prior = OneTwoThree(n_states=9, n_actions=2)
    lines = [(0, 0, outcome) for outcome in (1, 2, 3, 4, 5)]
    table = pandas.DataFrame(lines, columns=["s", "a", "s_next"]).assign(ended=[False] * 3 + [True] * 2)
    with raises(ValueError, "line 1", "action 0", "state 0", "state 2", "probability zero"):
        berlyne.replay(prior, table, "PIG(VI)", engine=engine)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_a_line_that_begins_in_a_terminal_state_makes_it_non_terminal(engine):
    """By hand: parameter_gain of an untried row of three is 0.38272 bits, after one observation 0.2977."""
    world = World(np.full((2, 3, 3), 1 / 3), Dirichlet(1.0, n_states=3, n_actions=2), terminal=[2], start=0)
    lines = [(2, 0, 1), (1, 1, 2), (2, 1, 0)]
    led = berlyne.replay(world, lines, "PIG(VI)", engine=engine)
    assert led.expected_missing_information.values[0] == pytest.approx(4 * 0.38272, abs=1e-4)
    assert led.expected_missing_information_after.values[0] == pytest.approx(5 * 0.38272 + 0.2977, abs=1e-4)
    explorer = Explorer(world.prior, "PIG(VI)")
    explorer.ends_in([2])
    for t, (s, a, s_next) in enumerate(lines):
        np.testing.assert_allclose(led.action_values.values[t], explorer.action_values(s))
        explorer.observe(s, a, s_next)
        left = explorer.expected_missing_information().bits
        assert led.expected_missing_information_after.values[t] == pytest.approx(left)
