"""Agents for unknown states: compiled and NumPy agents take the same actions, also with custom components."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Explorer, SharedRestaurant, Strategy, World, explore
from berlyne.agents.make import make_open_state_agent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.strategies.coordination import Greedy, ValueIteration
from berlyne.strategies.registry import get_strategy
from messages import raises

TESTED_STRATEGIES = ["PIG(VI)", "PIG(greedy)", "PIG(Q)", "PEIG(VI)", "PEIG(Q)", "CB", "LTA", "PLC(VI, lapse=0.1)"]
TESTED_STRATEGIES += ["PIG(hopeful VI)"]


PRIORS = {
    "c": lambda: ChineseRestaurant(0.9, 0.2),
    "c learned": lambda: ChineseRestaurant("ml", 0.2),
    "shared": lambda: SharedRestaurant([lambda s, a, z: (a, s == z), lambda s, a, z: z % 2 or None], 0.3),
}


@pytest.mark.parametrize("strategy", [*TESTED_STRATEGIES, "Unembodied"])
@pytest.mark.parametrize("prior", PRIORS)
def test_plain_and_compiled_agents_take_the_same_actions(strategy, prior):
    theta = np.random.default_rng(1).dirichlet(np.full(6, 0.4), (2, 6))
    world = World(theta, PRIORS[prior](), start=0, terminal=[4])
    compiled, plain = (explore(world, strategy, n_steps=70, seed=3, engine=engine) for engine in ("compiled", "numpy"))
    for name in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(compiled, name), getattr(plain, name))
    assert compiled.missing_information == pytest.approx(plain.missing_information, abs=1e-9)
    assert len(set(compiled.states.tolist())) > 3


@pytest.mark.parametrize("strategy", TESTED_STRATEGIES)
@pytest.mark.parametrize("prior", ["c", "shared"])
def test_plain_and_compiled_agents_have_the_same_values(strategy, prior):
    rng, s = np.random.default_rng(4), 9
    agents = [
        make_open_state_agent(PRIORS[prior](), 3, get_strategy(strategy), engine) for engine in ("compiled", "numpy")
    ]
    for t in range(60):
        a, s_next = int(rng.integers(3)), int(rng.integers(9 - min(t // 6, 8), 10))
        for agent in agents:
            agent.observe(s, a, s_next)
            if t in (20, 45):
                agent.mark_terminal(np.array([77, 3]))
        s = 9 if s_next == 3 else s_next  # nothing is tried where episodes may end
        one, other = agents
        assert one.discovered == other.discovered and one.current_state == other.current_state
        assert one.utility() == pytest.approx(other.utility(), abs=1e-12)
        for z in (s, 3, 1000):
            assert one.action_values(z) == pytest.approx(other.action_values(z), abs=1e-11)
    assert isinstance(agents[1]._inner, NumpyAgent) and len(agents[0].discovered) >= 8
    for agent in agents:
        agent.unmark_terminal(3)
    assert agents[0].utility() == pytest.approx(agents[1].utility(), abs=1e-12)


def test_a_custom_method_that_plans_like_a_built_in_one_acts_like_it():
    class Mine:
        """Value iteration, written down again; and what it was told."""

        def __init__(self):
            self.started = 0

        def start(self, view):
            self.started += 1

        def values(self, view, s):
            return ValueIteration(10, 1.0).values(view, s)

    mine, world = Mine(), berlyne.maze(1, side=3, n_transporters=4).with_prior(ChineseRestaurant(1.0))
    run = explore(world, Strategy("mine", mine, utility="PIG"), n_steps=60, seed=3)
    ours = explore(world, "PIG(VI)", n_steps=60, seed=3)
    assert np.array_equal(run.actions, ours.actions)
    assert mine.started == 1 + len(set(run.states.tolist()))  # and again whenever a state is discovered


def test_a_custom_utility_is_called_on_the_current_cells():
    def bonus(theta_hat, theta_hat_after, counts):
        return 1.0 / np.sqrt(1.0 + counts.sum()) + 0.01 * len(theta_hat)

    strategy = Strategy("bonus", Greedy(), utility=bonus)
    explorer = Explorer(ChineseRestaurant(1.0), strategy, n_actions=2)
    explorer.observe("a", 0, "b")
    explorer.observe("b", 1, "c")
    expected = np.ones((2, 4))
    expected[0, 0] = expected[1, 1] = 1.0 / np.sqrt(2.0)
    assert explorer.utility() == pytest.approx(expected + 0.04)
    assert explorer.act("a") == 1 and explorer.act("b") == 0
    with raises(ValueError, "custom component", "saved"):
        explorer.save("nowhere.npz")


def test_pmc_is_that_of_its_definition():
    explorer = Explorer(ChineseRestaurant(0.7, 0.3), "PMC(VI)", seed=2, n_actions=2)
    history = [("a", 0, "b"), ("b", 1, "c"), ("a", 0, "a"), ("c", 0, "a"), ("a", 0, "b")]
    explorer.observe_many(history)
    counts = np.array([1, 2, 0, 0])
    pseudo = np.where(counts > 0, counts - 0.3, (0.7 + 0.3 * 2) / 2)
    now, worth = pseudo / pseudo.sum(), 0.0
    for outcome, p in enumerate(now):
        worth += p * ((pseudo + np.eye(4)[outcome]) / (pseudo.sum() + 1)).max()
    assert explorer.utility()[0, 0] == pytest.approx(worth - now.max(), abs=1e-12)


def test_a_method_with_choose_cannot_choose_among_given_actions():
    explorer = Explorer(ChineseRestaurant(1.0), Strategy("first", lambda view, s, u: 0), n_actions=2)
    assert explorer.act("a") == 0
    with raises(ValueError, "action", "values", "among="):
        explorer.act("a", among=[1])


def wandering(n_states, n_lines, seed):
    """Return lines of a person who discovers states one after the other, and goes back to earlier ones."""
    rng, lines, s, n_found = np.random.default_rng(seed), [], 0, 1
    while len(lines) < n_lines:
        new = n_found < n_states and rng.random() < 1.5 * n_states / n_lines
        s_next = n_found if new else int(rng.integers(max(0, n_found - 9), n_found))
        n_found += new
        lines.append((s, int(rng.integers(2)), s_next))
        s = s_next if rng.random() < 0.9 else int(rng.integers(n_found))
        if n_found < n_states and rng.random() < 0.02:  # an episode begins in an unknown state
            s, n_found = n_found, n_found + 1
    assert n_found == n_states
    return lines


OTHERS = ["Unembodied", "Unembodied(temperature=0.2)", "PMC(VI)", "parameter_gain(VI)", "PIG(mine)", "rare(VI)"]


@pytest.fixture
def registered():
    """Register a method and an index, which kernels run."""

    @berlyne.method("mine", initial=0.5)
    def mine(view, s):
        following = view.expected(view.utility[0] + view.visits) + view.terminal
        return view.utility[:, s] + following[:, s] + view.n[:, s] / view.n_states + view.memory[:, s]

    @berlyne.index("rare")
    def rare(row):
        return 1.0 / (1.0 + row.n) + 0.1 * row.n_outcomes / (1.0 + row.t)


@pytest.mark.parametrize("strategy", [*TESTED_STRATEGIES, *OTHERS])
@pytest.mark.parametrize("c", [0.8, "ml"])
def test_a_replay_of_many_discoveries_is_that_of_the_plain_agent(strategy, c, registered):
    lines = wandering(75, 160, 2)  # through the layouts for up to 32, 64 and 128 cells
    compiled, plain = (
        berlyne.replay(ChineseRestaurant(c, 0.1), lines, strategy, n_actions=2, engine=engine)
        for engine in ("compiled", "numpy")
    )
    for name in ("action_values", "utilities", "probabilities"):
        assert compiled[name].values == pytest.approx(plain[name].values, abs=1e-9), name
    for name in ("expected_missing_information", "expected_missing_information_after"):
        assert compiled[name].values == pytest.approx(plain[name].values, rel=1e-9), name


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "Unembodied"])
def test_ends_are_replayed_among_discoveries_as_by_the_plain_agent(strategy):
    lines = [(*line, bool(line[2] % 7 == 3)) for line in wandering(70, 150, 5) if line[0] % 7 != 3 or line[0] == 10]
    compiled, plain = (
        berlyne.replay(ChineseRestaurant(0.8), lines, strategy, n_actions=2, engine=engine)
        for engine in ("compiled", "numpy")
    )
    for name in ("action_values", "utilities", "probabilities", "expected_missing_information_after"):
        assert compiled[name].values == pytest.approx(plain[name].values, abs=1e-9), name


def test_a_discovery_does_not_rebuild_the_agent(monkeypatch):
    from berlyne.agents.compiled_agent import CompiledAgent

    n_moves = []
    move = CompiledAgent._move
    monkeypatch.setattr(CompiledAgent, "_move", lambda self, model: n_moves.append(model.n_states) or move(self, model))
    agent = make_open_state_agent(ChineseRestaurant(1.0), 2, get_strategy("PIG(VI)"))
    for s in range(300):
        agent.observe(s, 0, s + 1)
    assert n_moves == [64, 128, 256, 512]
