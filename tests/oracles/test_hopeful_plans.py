"""Hopeful value iteration against a plain recursion over all futures, and against value iteration.

The recursion follows every outcome of every action forward in time with plain Python numbers. It counts possible
outcomes and observations itself, from the histories.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berlyne import Dirichlet, InternalModel, OneTwoThree, World, dense_world, explore, maze, one_two_three_world
from berlyne.agents.make import make_agent
from berlyne.strategies.planning import HopefulIteration
from berlyne.strategies.registry import get_strategy
from messages import raises
from parity.random_worlds import estimate_123

ENGINES = ("compiled", "numpy")


def best_future(problem, s, n_later, gamma, value):
    """Value of each action in state s if `n_later` steps follow, and `value[a, s]` is the utility of a row."""
    estimate, weight, possible, terminal, starts = problem
    n_actions, n_states = len(estimate), len(estimate[0])

    def from_state(z, left):
        if terminal[z]:
            total = sum(p for y, p in enumerate(starts) if not terminal[y])
            if total == 0:
                return 0.0
            return sum(p * from_state(y, left) for y, p in enumerate(starts) if p > 0 and not terminal[y]) / total
        return max(from_row(a, z, left) for a in range(n_actions) if possible[a][z])

    def from_row(a, z, left):
        if left == 0:
            return value[a][z]
        outcomes = [y for y in range(n_states) if estimate[a][z][y] > 0]
        after = [from_state(y, left - 1) for y in outcomes]
        mean = sum(estimate[a][z][y] * v for y, v in zip(outcomes, after, strict=True))
        w = weight[a][z]
        return value[a][z] + gamma * ((1 - w) * mean + w * max(after))

    return [from_row(a, s, n_later) if possible[a][s] else -np.inf for a in range(n_actions)]


def hope(n, d, h=2.0):
    return h / (n + d + h)


def learned(prior, name, steps, engine, **told):
    """An agent that has observed some steps, (s, a, s_next)."""
    agent = make_agent(InternalModel(prior), get_strategy(name), None, engine)
    if "horizon" in told:
        agent.set_horizon(told["horizon"])
    if "starts" in told:
        agent.tell_starts(np.array(told["starts"], dtype=float))
    if "terminal" in told:
        agent.mark_terminal(np.array(told["terminal"]))
    for s, a in told.get("forbidden", []):
        agent.allow(s, np.arange(prior.n_actions) != a)
    for s, a, s_next in steps:
        agent.observe(s, a, s_next)
    return agent


def count(prior, steps):
    n = np.zeros((prior.n_actions, prior.n_states, prior.n_states))
    for s, a, s_next in steps:
        n[a, s, s_next] += 1
    return n


def dirichlet_problem(prior, mask, steps):
    """Estimates and weights under one alpha on a support, by hand."""
    n = count(prior, steps)
    c = (n + prior.alpha) * mask
    d = mask.sum(axis=2)
    return c / c.sum(axis=2, keepdims=True), np.where(d == 1, 0.0, hope(n.sum(axis=2), d))


MASK = np.array([[[1, 1, 0], [0, 1, 1], [1, 1, 1]], [[0, 1, 0], [1, 0, 1], [1, 0, 0]]], dtype=bool)
STEPS = [(0, 0, 1), (1, 0, 2), (2, 1, 0), (0, 0, 0), (0, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gamma", [1.0, 0.7])
def test_values_are_those_of_all_futures_on_a_support(engine, gamma):
    prior = Dirichlet(0.5, MASK)
    agent = learned(prior, f"PIG(hopeful VI, steps_back=4, gamma={gamma})", STEPS, engine)
    estimate, weight = dirichlet_problem(prior, MASK, STEPS)
    assert weight[1, 0] == 0.0 and weight[0, 0] == 2 / (2 + 2 + 2)
    problem = estimate.tolist(), weight.tolist(), np.ones((2, 3)), [False] * 3, [0, 0, 0]
    for s in range(3):
        expected = best_future(problem, s, 4, gamma, agent.utility().tolist())
        assert agent.action_values(s) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_states", [4, 6])
def test_values_are_those_of_all_futures_in_1_2_3_worlds(engine, n_states):
    prior = OneTwoThree(n_states, 2, 0.6)
    steps = [(0, 0, 2), (2, 1, 1), (1, 1, 0), (0, 1, 3), (3, 1, 0), (0, 1, 1)]
    agent = learned(prior, "PIG(hopeful VI, steps_back=3)", steps, engine)
    n = count(prior, steps)
    estimate = np.array([[estimate_123(0.6, a + 1, n[a, s]) for s in range(n_states)] for a in range(2)])
    weight = np.empty((2, n_states))
    for a, s in np.ndindex(2, n_states):
        n_known = (n[a, s] > 0).sum()
        weight[a, s] = 0.0 if n_known == a + 1 else hope(n[a, s].sum(), n_states)  # every state may be the next target
    assert weight[0, 0] == 0.0 == weight[1, 0] and weight[1, 3] == 2 / (1 + n_states + 2)
    problem = estimate.tolist(), weight.tolist(), np.ones((2, n_states)), [False] * n_states, [0] * n_states
    for s in range(n_states):
        expected = best_future(problem, s, 3, 1.0, agent.utility().tolist())
        assert agent.action_values(s) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_is_certain_if_its_targets_are_known_without_being_seen(engine):
    """With two states beside state 0, and none of the targets 0, both are targets of the second action."""
    prior = OneTwoThree(3, 2, 1.0)
    hopeful = learned(prior, "PIG(hopeful VI, steps_back=3)", [], engine)
    estimate = [[[0, 0.5, 0.5]] * 3] * 2
    weight = [[2 / (0 + 2 + 2)] * 3, [0.0] * 3]
    problem = estimate, weight, np.ones((2, 3)), [False] * 3, [0] * 3
    expected = best_future(problem, 1, 3, 1.0, hopeful.utility().tolist())
    assert hopeful.action_values(1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after_end", ["restart", "stop"])
def test_values_with_ends_masks_and_a_horizon(engine, after_end):
    prior, starts = Dirichlet(0.5, MASK), [0.25, 0.75, 0.0]
    told = {"terminal": [2], "starts": starts, "forbidden": [(0, 1)]}
    steps = [(0, 0, 1), (1, 0, 2), (0, 0, 0), (0, 0, 1)]
    name = f"PIG(hopeful VI, steps_back=4, after_end={after_end})"
    agent = learned(prior, name, steps, engine, **told)
    estimate, weight = dirichlet_problem(prior, MASK, steps)
    possible = np.ones((2, 3))
    possible[1, 0] = 0
    begin = starts if after_end == "restart" else [0, 0, 0]
    problem = estimate.tolist(), weight.tolist(), possible, [False, False, True], begin
    utility = agent.utility().tolist()
    for s in (0, 1):
        assert agent.action_values(s) == pytest.approx(best_future(problem, s, 4, 1.0, utility), rel=1e-12)
    cut = learned(prior, name, [(0, 0, 1)], engine, **told, horizon=3)
    estimate, weight = dirichlet_problem(prior, MASK, [(0, 0, 1)])
    problem = estimate.tolist(), weight.tolist(), *problem[2:]
    expected = best_future(problem, 1, 1, 1.0, cut.utility().tolist())  # the second of three steps: one follows
    assert cut.action_values(1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [maze, dense_world, one_two_three_world])
def test_without_hope_it_is_value_iteration(make):
    for engine in ENGINES:
        runs = [
            explore(make(3), name, n_steps=250, seed=1, engine=engine)
            for name in ("PIG(hopeful VI, hope=0, steps_back=10)", "PIG(VI)", "PIG(hopeful VI, steps_back=10)")
        ]
        assert np.array_equal(runs[0].actions, runs[1].actions)
        assert not np.array_equal(runs[0].actions, runs[2].actions)


def test_without_hope_the_numpy_values_are_equal_in_every_bit():
    world = maze(1, side=4)
    views = [make_agent(InternalModel(world.prior), get_strategy(name), world, "numpy") for name in
             ("PIG(hopeful VI, hope=0, steps_back=7)", "PIG(VI, steps_back=7)")]  # fmt: skip
    for agent in views:
        agent.observe(0, 1, int(np.flatnonzero(world.theta[1, 0])[0]))
    assert np.array_equal(*(agent.action_values(0) for agent in views))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_kernels_and_numpy_agree_in_random_worlds(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    n_states, n_actions = int(rng.choice([2, 3, 5, 9, 34])), int(rng.integers(1, 6))
    kind = data.draw(st.sampled_from(["full", "support", "unequal", "1-2-3"]))
    n_states = max(n_states, n_actions + 1) if kind == "1-2-3" else n_states
    mask = rng.random((n_actions, n_states, n_states)) < 0.4
    mask[..., rng.integers(n_states)] = True
    alpha = float(10.0 ** rng.uniform(-2, 1))
    prior = {
        "full": lambda: Dirichlet(alpha, n_states=n_states, n_actions=n_actions),
        "support": lambda: Dirichlet(alpha, mask),
        "unequal": lambda: Dirichlet(10.0 ** rng.uniform(-2, 1, mask.shape), mask),
        "1-2-3": lambda: OneTwoThree(n_states, n_actions, float(rng.choice([0.0, 0.4, 1.0]))),
    }[kind]()
    depth, h = data.draw(st.sampled_from([0, 1, 2, 20])), data.draw(st.sampled_from([0.0, 0.5, 2.0, 30.0]))
    method = f"(hopeful VI, steps_back={depth}, hope={h}, gamma={data.draw(st.sampled_from([1.0, 0.8]))})"
    strategy = get_strategy(data.draw(st.sampled_from(["PIG", "PEIG", "parameter_gain", "BEB"])) + method)
    agents = [make_agent(InternalModel(prior), strategy, None, engine) for engine in ENGINES]
    s = 0
    for _ in range(25):
        a = int(rng.integers(n_actions))
        row = agents[1].view.theta_hat[a, s]
        s_next = int(rng.choice(np.flatnonzero(row > 0)))
        for agent in agents:
            agent.observe(s, a, s_next)
        s = s_next
        one, other = (agent.action_values(s) for agent in agents)
        assert one == pytest.approx(other, rel=1e-9, abs=1e-10)


def test_slots_that_are_added_later_are_hoped_for_too():
    """More different outcomes than there is room for at first."""
    prior = Dirichlet(0.1, n_states=40, n_actions=2)
    agents = [learned(prior, "PIG(hopeful VI)", [], engine) for engine in ENGINES]
    for s_next in [*range(1, 40), 3, 5]:
        for agent in agents:
            agent.observe(0, 0, s_next)
            agent.observe(s_next, 1, 0)
        assert agents[0].action_values(0) == pytest.approx(agents[1].action_values(0), rel=1e-9)


def test_hope_prefers_the_row_that_may_lead_to_the_better_state():
    """Rows of state 0 with the same estimate, of which the second is less known, may lead to the untried state 1."""
    prior = Dirichlet(1.0, np.array([[[1, 1], [1, 1]], [[1, 1], [1, 1]]], dtype=bool))
    steps = [(0, 0, 0), (0, 0, 1)] * 4 + [(0, 1, 0), (0, 1, 1)]
    agent = learned(prior, "PIG(hopeful VI, steps_back=5)", steps, "compiled")
    plain = learned(prior, "PIG(VI, steps_back=5)", steps, "compiled")
    lead, lead_without = (np.subtract(*x.action_values(0)[::-1]) for x in (agent, plain))
    assert lead > lead_without > 0.0


def test_names_and_messages():
    method = get_strategy("pig(Hopeful VI, hope=1)").coordinate
    assert method == HopefulIteration(hope=1.0) and method.steps_back == 20
    assert eval(repr(method)) == method
    assert get_strategy("PIG(hopeful VI)").coordinate == HopefulIteration()
    assert get_strategy("PMC(hopeful VI)").utility == "PMC"
    with raises(ValueError, "replan", "'episode'", "'step'"):
        get_strategy("PIG(hopeful VI, replan=episode)")
    with raises(ValueError, "hope", -1.0):
        HopefulIteration(hope=-1.0)


def test_a_custom_prior_is_certain_only_of_single_outcomes():
    class Mine:
        n_actions, n_states = 1, 2

        def estimate(self, counts):
            theta = (counts + 1.0) * [[[1, 1], [0, 1]]]
            return theta / theta.sum(axis=2, keepdims=True)

    world = World(np.array([[[0.5, 0.5], [0.0, 1.0]]]), Mine(), start=0)
    agent = make_agent(InternalModel(world.prior), get_strategy("PIG(hopeful VI)"), None, "numpy")
    assert HopefulIteration().weights(agent.view) == pytest.approx(np.array([[0.5, 0.0]]))
