"""Value iteration with ends, resets and forbidden actions against the enumeration of all plans."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree, World
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.strategies.registry import get_strategy
from berlyne.strategies.utilities import pig_of_row
from oracles.plans_by_enumeration import best_plans, value_of_plan

N, M = 5, 2
TERMINAL = np.array([False, False, True, False, True])
POSSIBLE = np.array([[True, True, True, False, True], [True, False, True, True, True]])
STARTS = np.array([0.25, 0.0, 0.0, 0.75, 0.0])


def ring():
    """Each action leads to one of three neighbours, so that a state does not reach all others."""
    support = np.zeros((M, N, N), dtype=bool)
    for a, s in np.ndindex(M, N):
        support[a, s, [s, (s + 1) % N, (s + 2 + a) % N]] = True
    return support


PRIORS = {
    "complete": Dirichlet(0.6, n_states=N, n_actions=M),
    "by reach": Dirichlet(0.6, ring()),
    "shared": OneTwoThree(N, M),
    "learned": Dirichlet("ml", n_states=N, n_actions=M),
}


def experience(prior, n_obs):
    """Steps that the prior allows, in states that are not terminal and with possible actions."""
    rng, model, steps = np.random.default_rng(8), InternalModel(prior), []
    while len(steps) < n_obs:
        s, a = rng.choice([0, 1, 3]), int(rng.integers(M))
        if POSSIBLE[a, s]:
            s_next = int(rng.choice(N, p=model.theta_hat[a, s]))
            model.observe(s, a, s_next)
            steps.append((int(s), a, s_next))
    return steps


def restricted_agent(prior, strategy, engine):
    agent = make_agent(InternalModel(prior), strategy, None, engine)
    agent.mark_terminal(np.flatnonzero(TERMINAL))
    for s in range(N):
        agent.allow(s, POSSIBLE[:, s])
    agent.tell_starts(STARTS)
    return agent


def problem_after(prior, steps, restarts):
    """Estimates and utilities after some steps, from an agent that knows of no ends and no forbidden actions."""
    free = make_agent(InternalModel(prior), get_strategy("PIG(greedy)"), None, "numpy")
    for step in steps:
        free.observe(*step)
    return free.model().theta_hat, free.utility(), POSSIBLE, TERMINAL, STARTS if restarts else None


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("after_end", ["restart", "stop"])
@pytest.mark.parametrize("n_later", [0, 1, 2])
@pytest.mark.parametrize("kind", PRIORS)
def test_plans_of_up_to_three_steps(kind, n_later, after_end, engine):
    strategy = get_strategy("PIG(VI)", steps_back=n_later, gamma=0.9, after_end=after_end)
    prior, states = PRIORS[kind], (0, 1, 3, 0)
    agent, steps = restricted_agent(prior, strategy, engine), experience(prior, 18)
    for step in steps[:14]:
        agent.observe(*step)
    for i, s in enumerate(states, start=14):  # plans are updated from one question to the next
        expected = best_plans(problem_after(prior, steps[:i], after_end == "restart"), s, n_later, 0.9)
        np.testing.assert_allclose(agent.action_values(s), expected, rtol=1e-9, atol=1e-12)
        agent.observe(*steps[i])


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("kind", PRIORS)
def test_plans_see_no_more_steps_than_are_left(kind, horizon, engine):
    """With two steps back, the plan has at most three steps, and at most those before the cut."""
    prior, left = PRIORS[kind], horizon
    agent, steps = restricted_agent(prior, get_strategy("PIG(VI)", steps_back=2), engine), experience(prior, 10)
    agent.set_horizon(horizon)
    state = None
    for i, (s, a, s_next) in enumerate(steps):
        left = horizon if s != state or left == 0 else left  # an episode begins
        if i > 4:
            expected = best_plans(problem_after(prior, steps[:i], True), s, min(2, left - 1))
            np.testing.assert_allclose(agent.action_values(s), expected, rtol=1e-9, atol=1e-12)
        agent.observe(s, a, s_next)
        state, left = s_next, left - 1


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("after_end", ["restart", "stop"])
def test_plans_if_states_are_discovered(after_end, engine):
    """Cells are the states in the order of discovery, then elsewhere; episodes begin where they began so far."""
    steps = [
        (7, 0, 3),
        (3, 1, 9),
        (7, 1, 7),
        (7, 0, 5),
        (5, 0, 9),
        (3, 0, 7),
        (7, 0, 3),
        (3, 1, 5),
        (5, 0, 9),
        (7, 0, 3),
    ]
    strategy = get_strategy("PIG(VI)", steps_back=2, gamma=0.9, after_end=after_end)
    agents = [make_open_state_agent(ChineseRestaurant(0.8, 0.1), M, s, engine) for s in (strategy, get_strategy("CB"))]
    agents[0].mark_terminal(np.array([9]))
    agents[0].allow(5, np.array([True, False]))
    starts, here = np.zeros(5), None
    for s, a, s_next in steps:
        for agent in agents:
            agent.observe(s, a, s_next)
        starts[agents[0].discovered.index(s)] += s != here
        here = s_next
    assert agents[0].discovered == [7, 3, 9, 5] and starts.tolist() == [3, 1, 0, 0, 0]
    free = agents[1].model()
    terminal, possible = np.arange(5) == 2, np.ones((M, 5), dtype=bool)
    possible[1, 3] = False
    utility = np.zeros((M, 5))
    for a, cell in np.ndindex(M, 5):
        utility[a, cell] = pig_of_row(free.theta_hat[a, cell], free.theta_hat_after(a, cell))
    for s, cell in ((7, 0), (3, 1), (5, 3), (1000, 4)):
        begun = starts + (np.arange(5) == cell) * (s != here)  # to act elsewhere, an episode must begin there
        known = begun / begun.sum() if after_end == "restart" else None
        expected = best_plans((free.theta_hat, utility, possible, terminal, known), cell, 2, 0.9)
        np.testing.assert_allclose(agents[0].action_values(s), expected, rtol=1e-9)


@pytest.mark.parametrize("after_end", ["restart", "stop"])
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_plans_with_the_true_world(engine, after_end):
    """VI+ plans with the true probabilities and knows the starts of the world."""
    prior = PRIORS["by reach"]
    theta = ring() * np.random.default_rng(2).gamma(1.0, size=(M, N, N))
    theta /= theta.sum(axis=-1, keepdims=True)
    world = World(theta, prior, start=STARTS, terminal=np.flatnonzero(TERMINAL).tolist(), possible=POSSIBLE)
    strategy = get_strategy("PIG(VI+)", steps_back=2, after_end=after_end)
    agent = make_agent(InternalModel(prior), strategy, world, engine)
    utility = make_agent(InternalModel(prior), get_strategy("PIG(greedy)"), None, "numpy").utility()
    problem = (theta, utility, POSSIBLE, TERMINAL, STARTS if after_end == "restart" else None)
    for s in (0, 1, 3):
        np.testing.assert_allclose(agent.action_values(s), best_plans(problem, s, 2), rtol=1e-9)


def test_the_enumeration_by_hand():
    """State 0 leads to the end 1 for sure; episodes begin in 0 and 2 alike; each step in 0 is worth 1, in 2 worth 4."""
    theta = np.zeros((1, 3, 3))
    theta[0, 0, 1] = theta[0, 1, 1] = theta[0, 2, 2] = 1.0
    utility, possible = np.array([[1.0, 9.0, 4.0]]), np.array([[True, False, True]])
    terminal, starts = np.array([False, True, False]), np.array([0.5, 0.0, 0.5])
    problem = theta, utility, possible, terminal, starts
    assert best_plans(problem, 0, 1)[0] == pytest.approx(1 + 2.5)
    assert best_plans(problem, 0, 2)[0] == pytest.approx(1 + 0.5 * (1 + 2.5) + 0.5 * (4 + 4))
    stopping = theta, utility, possible, terminal, None
    assert best_plans(stopping, 0, 2)[0] == pytest.approx(1)
    assert value_of_plan(stopping, 2, 0, [(0, 0, 0)], 0.5) == pytest.approx(4 + 2)
