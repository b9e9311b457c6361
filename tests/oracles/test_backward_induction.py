"""Value iteration against QuantEcon's backward induction on the estimated model."""

import warnings

import numpy as np
import pytest
from quantecon.markov import DiscreteDP, backward_induction

from berlyne import UTILITIES, InternalModel, explore
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.strategies.coordination import TrueModel, ValueIteration, View
from berlyne.strategies.registry import Strategy
from parity.cases import CLASSES, sparse_truth, uneven

WORLDS = {**CLASSES, "uneven": uneven, "sparse truth": sparse_truth}


def solve(utility, theta_hat, n_terms, gamma):
    """Q and V of the first of `n_terms` decisions, `[a, s]` and `[s]`, and an optimal action for each s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that without discount no infinite horizon can be solved
        problem = DiscreteDP(utility.T, theta_hat.transpose(1, 0, 2), gamma)
    values, policies = backward_induction(problem, n_terms)
    q = utility + gamma * np.einsum("ast,t->as", theta_hat, values[1])
    return q, values[0], policies[0]


def compiled_values(agent, n_states):
    """Q(., s) of the compiled explorer in every state."""
    q = np.empty((agent.n_actions, n_states))
    for s in range(n_states):
        agent.act(s, np.zeros(2))
        q[:, s] = agent.choice_state.values
    return q


@pytest.mark.pairwise
@pytest.mark.parametrize("n_steps", [0, 40, 600])
@pytest.mark.parametrize("utility", ["PIG", "PMC", "PLC", "parameter_gain"])
@pytest.mark.parametrize("kind", WORLDS)
def test_value_iteration_is_backward_induction_of_eleven_terms(kind, utility, n_steps):
    world = WORLDS[kind](9)
    run = explore(world, "Random", n_steps=n_steps, seed=1)
    worth, theta_hat = UTILITIES[utility].of(run.model), run.model.theta_hat
    q, v, policy = solve(worth, theta_hat, 11, 1.0)
    view = View(worth, theta_hat, run.model.counts, np.zeros(world.n_states, dtype=int))
    plain = ValueIteration().action_values(view)
    assert plain == pytest.approx(q, abs=1e-10)
    assert plain.max(axis=0) == pytest.approx(v, abs=1e-10)
    assert plain[policy, np.arange(world.n_states)] == pytest.approx(v, abs=1e-10)
    agent = CompiledAgent(InternalModel(world.prior), Strategy("any", ValueIteration(), utility), world)
    for s, a, s_next in zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False):
        agent.observe(s, a, s_next)
    assert compiled_values(agent, world.n_states) == pytest.approx(q, abs=1e-10)


@pytest.mark.parametrize(("steps_back", "gamma"), [(0, 1.0), (1, 1.0), (10, 0.0), (10, 0.95), (30, 0.9)])
@pytest.mark.parametrize("kind", WORLDS)
def test_other_horizons_and_discounts(kind, steps_back, gamma):
    world = WORLDS[kind](4)
    model = InternalModel(world.prior)
    worth, method = UTILITIES["PIG"].of(model), ValueIteration(steps_back, gamma)
    q, _, _ = solve(worth, model.theta_hat, steps_back + 1, gamma)
    agent = CompiledAgent(model, Strategy("any", method, "PIG"), world)
    assert compiled_values(agent, world.n_states) == pytest.approx(q, abs=1e-10)


@pytest.mark.parametrize("kind", WORLDS)
def test_planning_with_the_true_world(kind):
    world = WORLDS[kind](3)
    worth = UTILITIES["PIG"].of(InternalModel(world.prior))
    q, _, _ = solve(worth, world.theta, 11, 1.0)
    agent = CompiledAgent(InternalModel(world.prior), Strategy("any", TrueModel(), "PIG"), world)
    assert compiled_values(agent, world.n_states) == pytest.approx(q, abs=1e-10)
