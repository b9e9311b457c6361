"""Kernels explore worlds with discovered states as the loop in Python does: ends, horizons, masks, refits, rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import berlyne
from berlyne import ChineseRestaurant, World, explore
from berlyne.agents.base import Agent
from berlyne.agents.make import make_open_state_agent, tell_world
from berlyne.engine.records import RunRecord
from berlyne.priors.refit import learned_values
from berlyne.strategies.registry import get_strategy

STRATEGIES = (
    "PIG(VI)", "PIG(VI, after_end=stop)", "PEIG(VI, steps_back=3)", "PIG(Q)", "PEIG(greedy)", "PMC(VI)", "LTA", "CB",
    "Random", "Unembodied", "parameter_gain(VI, temperature=0.5, lapse=0.1)", "PIG(greedy, lapse=0.3)",
    "rarity(greedy)", "surprise(VI)",
)  # fmt: skip
FIELDS = ("states", "actions", "next_states", "terminated", "truncated")


def random_world(seed, n_states, c, *, ends, horizon, masked, sparse, start=0):
    """Return a random world with some of its features."""
    rng, n_actions = np.random.default_rng(seed), 3
    theta = rng.dirichlet(np.full(n_states, 0.3 if sparse else 3.0), (n_actions, n_states))
    if sparse:
        theta = np.where(theta < 0.05, 0.0, theta) + 0.3 * np.eye(n_states)[(np.arange(n_states) + 1) % n_states]
        theta /= theta.sum(axis=2, keepdims=True)
    possible = None
    if masked:
        possible = rng.random((n_actions, n_states)) < 0.6
        possible[0] |= ~possible.any(axis=0)
    terminal = rng.choice(np.arange(1, n_states), ends, replace=False)
    return World(
        theta, ChineseRestaurant(c, 0.2), start=start, terminal=terminal.tolist(), possible=possible, horizon=horizon
    )


def assert_same(one, other):
    for name in FIELDS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("missing_information", "l1_distance"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name)
    if one.learned is not None:
        np.testing.assert_allclose(one.learned, other.learned, rtol=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_kernels_explore_as_plain_numpy_does(strategy, data):
    draw = data.draw
    world = random_world(
        draw(st.integers(0, 999)),
        draw(st.integers(2, 9)),
        draw(st.sampled_from([0.7, "ml"])),
        ends=draw(st.integers(0, 1)),
        horizon=draw(st.sampled_from([None, 1, 4])),
        masked=draw(st.booleans()),
        sparse=draw(st.booleans()),
        start=draw(st.sampled_from([0, None])),
    )
    seed, rows = draw(st.integers(0, 99)), draw(st.sampled_from(["all", "reachable"]))
    runs = [
        explore(world, strategy, n_steps=45, seed=seed, engine=engine, rows=rows) for engine in ("compiled", "numpy")
    ]
    assert_same(*runs)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "Unembodied", "CB"])
@pytest.mark.parametrize("c", [0.7, "ml"])
def test_many_discoveries_are_those_of_plain_numpy(strategy, c):
    world = random_world(3, 80, c, ends=4, horizon=9, masked=True, sparse=True, start=None)  # up to 128 cells
    one, other = (explore(world, strategy, n_steps=150, seed=1, engine=engine) for engine in ("compiled", "numpy"))
    assert len(set(one.states.tolist())) > 40
    assert_same(one, other)


def run_generic(agent, world, record, *draws):
    """Let an agent explore in the loop of the base class."""
    return Agent.run(agent, world, record, *draws)


def new_agent(world, strategy):
    agent = make_open_state_agent(world.prior, world.n_actions, get_strategy(strategy))
    agent.discover(0)
    tell_world(agent, world)
    return agent


@pytest.mark.parametrize("c", [0.7, "ml"])
def test_a_run_in_pieces_among_observations_is_that_of_the_loop_in_python(c):
    """The record and the agent after it are the same: its model, last outcomes, visits, starts."""
    world = random_world(5, 40, c, ends=2, horizon=7, masked=True, sparse=True)
    rng = np.random.default_rng(2)
    u = rng.random((120, 2)), rng.random(120), rng.random(120)
    agents, records = [], []
    for run in (lambda agent, *rest: agent.run(*rest), run_generic):
        agent = new_agent(world, "PEIG(VI)")
        record = RunRecord.allocate(120, 0, *agent.measures(world), learned_values(agent.prior))
        for begin, end in ((0, 1), (1, 50), (50, 120)):
            piece = record.between(begin, end)
            assert run(agent, world, piece, *(x[begin:end] for x in u)) == end - begin
        agent.observe(int(record.states[-1]), int(np.flatnonzero(world.possible[:, record.states[-1]])[0]), 1)
        agents.append(agent)
        records.append(record)
    one, other = agents
    for name in RunRecord._fields:
        np.testing.assert_allclose(getattr(records[0], name), getattr(records[1], name), rtol=1e-9, err_msg=name)
    assert one.discovered == other.discovered and one.n_obs == other.n_obs == 121
    assert one._last == other._last
    np.testing.assert_array_equal(one.counts().dense(), other.counts().dense())
    np.testing.assert_allclose(one.utility(), other.utility(), rtol=1e-12)
    assert one.measures(world) == pytest.approx(other.measures(world), rel=1e-12)
    for s in one.discovered:
        np.testing.assert_allclose(one.action_values(s), other.action_values(s), rtol=1e-9)
    for x, y in zip(one._inner.state_dict().values(), other._inner.state_dict().values(), strict=True):
        np.testing.assert_allclose(x, y)


def test_a_registered_method_and_index_explore_as_in_python():
    @berlyne.method("walker", initial=0.5)
    def walker(view, s):
        return view.utility[:, s] + view.expected(1.0 / (1.0 + view.visits))[:, s] + view.memory[:, s]

    @berlyne.index("scarce")
    def scarce(row):
        return 1.0 / (1.0 + row.n) + 0.1 * row.n_outcomes / (1.0 + row.t)

    world = random_world(8, 40, 0.7, ends=2, horizon=8, masked=True, sparse=True)
    for strategy in ("PIG(walker)", "scarce(VI)"):
        assert_same(*(explore(world, strategy, n_steps=90, seed=4, engine=engine) for engine in ("compiled", "numpy")))


def test_explorations_stop_and_count_as_in_python():
    world = random_world(4, 12, 0.7, ends=2, horizon=6, masked=False, sparse=True)
    for settings_ in ({"n_episodes": 5}, {"until": 7}, {"snapshots": [3, 40]}):
        one, other = (explore(world, "PIG(VI)", 90, 2, engine=engine, **settings_) for engine in ("compiled", "numpy"))
        assert_same(one, other)
        assert one.snapshots.keys() == other.snapshots.keys()
        for t in one.snapshots:
            np.testing.assert_array_equal(one.snapshots[t].dense(), other.snapshots[t].dense())


def test_exploration_returns_to_python_only_at_discoveries_and_refits(monkeypatch):
    from berlyne.agents.compiled_agent import ExploredWorld

    pieces = []
    follow = ExploredWorld.follow
    monkeypatch.setattr(ExploredWorld, "follow", lambda self, *at: pieces.append(at) or follow(self, *at))
    run = explore(berlyne.maze(0).with_prior(ChineseRestaurant(1.0)), "PIG(VI)", n_steps=2000, seed=0)
    n_states = len(set(run.states.tolist()))
    assert len(pieces) == 1 + 2 * (n_states - 1)  # to a discovery, and the half-step that learns it
