"""The stationary distribution against an eigenvector, and controllability against a sum over all paths."""

from itertools import product

import numpy as np
import pytest

import berlyne
from berlyne import World
from berlyne.worlds import structure
from berlyne.worlds.structure import controllability, stationary_distribution, structure_index

MAKERS = [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world]


def eigenvector(theta):
    values, vectors = np.linalg.eig(theta.mean(axis=0).T)
    psi = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    return psi / psi.sum()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_equilibrium_is_the_eigenvector_of_eigenvalue_one(make, seed):
    world = make(seed)
    psi = stationary_distribution(world)
    assert psi == pytest.approx(eigenvector(world.theta), abs=1e-10)
    bits = -sum(p * np.log2(p) for p in psi if p > 0)
    assert structure_index(world) == pytest.approx(1 - bits / np.log2(world.n_states), abs=1e-10)


@pytest.mark.parametrize("make", MAKERS)
def test_many_states_are_solved_sparsely_with_the_same_result(make, monkeypatch):
    world = make(4)
    densely = stationary_distribution(world)
    monkeypatch.setattr(structure, "MAX_DENSE_STATES", 0)
    assert stationary_distribution(world) == pytest.approx(densely, abs=1e-12)


def information_by_paths(theta, t):
    """MI[A_0; S_t | s_0] averaged over s_0, from the probability of every sequence of actions and states."""
    n_actions, n_states, _ = theta.shape
    joint = np.zeros((n_states, n_actions, n_states))
    for s_0 in range(n_states):
        for actions in product(range(n_actions), repeat=t):
            for states in product(range(n_states), repeat=t):
                p, s = n_actions**-t, s_0
                for a, s_next in zip(actions, states, strict=True):
                    p, s = p * theta[a, s, s_next], s_next
                joint[s_0, actions[0], s] += p
    total = 0.0
    for by_action in joint:
        for a, s in np.ndindex(n_actions, n_states):
            p = by_action[a, s]
            if p > 0:
                total += p * np.log2(p / (by_action[a].sum() * by_action[:, s].sum()))
    return total / n_states


@pytest.mark.parametrize("seed", range(3))
def test_controllability_is_the_information_in_all_paths(seed):
    rng = np.random.default_rng(seed)
    n_actions, n_states = [(2, 3), (3, 2), (2, 2)][seed]
    theta = rng.dirichlet(np.full(n_states, 0.4), size=(n_actions, n_states))
    theta[0, 0] = np.eye(n_states)[-1]
    expected = [information_by_paths(theta, t) for t in (1, 2, 3)]
    assert controllability(World(theta), 3) == pytest.approx(expected, abs=1e-12)
