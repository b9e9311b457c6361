"""Value iteration with ends, resets and forbidden actions against the enumeration of all plans."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import Dirichlet, InternalModel, OneTwoThree, World
from berlyne.agents.make import make_agent
from berlyne.strategies.registry import get_strategy
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
