"""Navigation and reward losses against enumeration of all policies in small worlds."""

import numpy as np
import pytest

from berlyne import World
from berlyne.tasks import Tasks, navigation_loss, reward_loss
from oracles import tasks_by_enumeration as oracle


def random_theta(rng, n_actions, n_states, alpha=1.0):
    return rng.dirichlet(np.full(n_states, alpha), size=(n_actions, n_states))


def sparse_theta(rng, n_actions, n_states):
    """Rows of one or two equally likely outcomes, with many ties and dead ends."""
    theta = np.zeros((n_actions, n_states, n_states))
    for a, s in np.ndindex(n_actions, n_states):
        targets = rng.choice(n_states, size=rng.integers(1, 3), replace=False)
        theta[a, s, targets] = 1.0 / len(targets)
    return theta


@pytest.mark.parametrize("seed", range(6))
def test_the_objective_policy_needs_the_fewest_steps_of_all(seed):
    rng = np.random.default_rng(seed)
    theta = random_theta(rng, 1 + seed % 3, 2 + seed % 3, alpha=[0.3, 1.0][seed % 2])
    tasks = Tasks(World(theta), cap=10**7)
    for target in range(theta.shape[1]):
        least, _ = oracle.best_navigation(theta, target)
        assert tasks.best_times[:, target] == pytest.approx(least, abs=2e-6, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("draw", [random_theta, sparse_theta])
def test_a_models_policy_is_evaluated_in_the_true_world(seed, draw):
    rng = np.random.default_rng(seed)
    n_states = 2 + seed % 3
    theta, theta_hat = draw(rng, 2, n_states), draw(rng, 2, n_states)
    cap = [1, 3, 17, 80][seed % 4]
    times = Tasks(World(theta), cap=cap).navigation_times([theta_hat])[0]
    lowest = Tasks(World(theta), cap=cap, ties="lowest").navigation_times([theta_hat])[0]
    for target in range(n_states):
        least, actions = oracle.best_navigation(theta_hat, target)
        if np.any(np.isinf(least)):
            continue  # see the tests of targets that a model thinks out of reach
        expected = oracle.capped_steps(oracle.mixed_chain(theta, actions), target, cap)
        assert times[:, target] == pytest.approx(expected, abs=2e-6)
        first = oracle.capped_steps(oracle.mixed_chain(theta, [{min(c)} for c in actions]), target, cap)
        assert lowest[:, target] == pytest.approx(first, abs=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_navigation_loss_is_the_difference_averaged_over_starts_and_targets(seed):
    rng = np.random.default_rng(seed)
    theta, theta_hat, cap = random_theta(rng, 2, 3), random_theta(rng, 2, 3), 60
    lost = []
    for target in range(3):
        chains = [oracle.mixed_chain(theta, oracle.best_navigation(t, target)[1]) for t in (theta_hat, theta)]
        mine, best = (oracle.capped_steps(chain, target, cap) for chain in chains)
        lost.append(mine - best)
    assert navigation_loss(World(theta), theta_hat) == pytest.approx(np.mean(lost), abs=4e-6)


@pytest.mark.parametrize("seed", range(4))
def test_reward_is_that_of_the_best_of_all_policies_in_time(seed):
    rng = np.random.default_rng(seed)
    n_states, horizon = [(2, 4), (3, 3), (2, 3), (3, 2)][seed]
    theta, theta_hat = random_theta(rng, 2, n_states), random_theta(rng, 2, n_states)
    rewards = rng.standard_normal((13, n_states))  # more than one block of twelve
    tasks = Tasks(World(theta), rewards, horizon=horizon)
    for r, reward in enumerate(rewards[[0, 5, 12]]):
        best = oracle.best_reward_policy(theta, reward, horizon)
        mine = oracle.best_reward_policy(theta_hat, reward, horizon)
        column = [0, 5, 12][r]
        assert tasks.best_totals[column] == pytest.approx(oracle.reward_of(theta, reward, best), abs=1e-12)
        expected = oracle.reward_of(theta, reward, mine)
        assert tasks.reward_totals([theta_hat])[0, column] == pytest.approx(expected, abs=1e-12)
    lost = tasks.best_totals - tasks.reward_totals([theta_hat])[0]
    assert reward_loss(World(theta), theta_hat, rewards, horizon) == pytest.approx(lost.mean(), abs=1e-12)


def test_oracle_knows_a_geometric_time():
    chain = np.array([[0.75, 0.25], [0.0, 1.0]])
    assert oracle.expected_steps(chain, 1) == pytest.approx([4.0, 0.0])
    assert oracle.capped_steps(chain, 1, 3) == pytest.approx([1 + 0.75 + 0.75**2, 0.0])
    assert oracle.expected_steps(np.eye(2), 1)[0] == np.inf
