"""Properties of losses and structure in any world."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from berlyne import World
from berlyne.tasks import Tasks
from berlyne.worlds.structure import controllability, stationary_distribution, structure_index


@st.composite
def worlds(draw, max_states=5, max_actions=3):
    """A world and a model of it, both with every transition possible."""
    n_states, n_actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alpha = draw(st.sampled_from([0.3, 1.0, 5.0]))
    return tuple(rng.dirichlet(np.full(n_states, alpha), size=(n_actions, n_states)) + 0.0 for _ in range(2))


@given(worlds(), st.integers(0, 2**32))
def test_names_of_states_and_actions_do_not_matter(pair, seed):
    theta, theta_hat = pair
    rng = np.random.default_rng(seed)
    states, actions = rng.permutation(theta.shape[1]), rng.permutation(theta.shape[0])
    rewards = rng.standard_normal((2, theta.shape[1]))

    def renamed(x):
        return x[actions][:, states][:, :, states]

    losses = Tasks(World(theta), rewards, horizon=15).losses([theta_hat])
    renamed_losses = Tasks(World(renamed(theta)), rewards[:, states], horizon=15).losses([renamed(theta_hat)])
    assert np.allclose(losses, renamed_losses, atol=5e-6)
    assert np.isclose(structure_index(World(theta)), structure_index(World(renamed(theta))))
    assert np.allclose(controllability(World(theta), 3), controllability(World(renamed(theta)), 3))


@given(worlds(), st.integers(0, 2**32))
def test_no_policy_beats_the_objective_policies(pair, seed):
    theta, theta_hat = pair
    rewards = np.random.default_rng(seed).standard_normal((2, theta.shape[1]))
    tasks = Tasks(World(theta), rewards, cap=10**6, horizon=15)
    assert np.all(tasks.navigation_times([theta_hat])[0] >= tasks.best_times - 4e-6)
    assert np.all(tasks.reward_totals([theta_hat])[0] <= tasks.best_totals + 1e-9)


@given(worlds(), st.integers(1, 40))
def test_a_larger_cap_never_takes_fewer_steps(pair, cap):
    theta, theta_hat = pair
    less, more = (Tasks(World(theta), cap=c).navigation_times([theta_hat])[0] for c in (cap, cap + 1))
    assert np.all(less <= more + 4e-6)
    assert np.all(more <= less + 1 + 4e-6)


@given(worlds())
def test_the_equilibrium_is_a_distribution_that_a_random_step_leaves_alone(pair):
    psi = stationary_distribution(World(pair[0]))
    assert np.isclose(psi.sum(), 1.0) and np.all(psi >= 0.0)
    assert np.allclose(psi @ pair[0].mean(axis=0), psi)


@given(worlds())
def test_the_influence_of_an_action_decreases(pair):
    theta = pair[0]
    information = controllability(World(theta), 6)
    assert np.all(np.diff(information) <= 1e-12)
    assert np.all((information >= 0.0) & (information <= np.log2(len(theta)) + 1e-12))
    assert 0.0 <= structure_index(World(theta)) <= 1.0
