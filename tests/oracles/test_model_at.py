"""The state of a run at any time against a replay from the start."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, InternalModel, World, explore, maze
from messages import raises

N_STEPS = 120


@pytest.fixture(scope="module", params=["maze", "episodes"])
def run(request):
    if request.param == "maze":
        return explore(maze(0, side=3, n_transporters=5), "PIG(VI)", n_steps=N_STEPS, seed=1)
    theta = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 4))
    prior = Dirichlet(1.0, n_states=4, n_actions=2)
    world = World(theta, prior, states=list("abcd"))
    return explore(world, "Random", n_steps=N_STEPS, seed=2)


@pytest.mark.parametrize("t", [0, 1, 2, 17, 60, N_STEPS - 1, N_STEPS])
def test_counts_and_last_outcomes_are_those_of_the_steps_made(run, t):
    made = Counter(zip(run.states[:t].tolist(), run.actions[:t].tolist(), run.next_states[:t].tolist(), strict=True))
    counts = run.path_counts.counts(t).dense()
    assert {(s, a, z): n for (a, s, z), n in np.ndenumerate(counts) if n} == made
    last = {(s, a): z for s, a, z in list(zip(run.states, run.actions, run.next_states, strict=False))[:t]}
    m = run.world.n_actions
    assert {divmod(r, m): z for r, z in run.path_counts.last(t).items()} == {k: int(z) for k, z in last.items()}


@pytest.mark.parametrize("t", [0, 3, 50, N_STEPS])
def test_missing_information_of_the_model_agrees_with_the_curve_row_by_row(run, t):
    model, expected_model = run.model_at(t), InternalModel(run.world.prior, states=run.world.state_labels.custom)
    expected_model.observe_many(run.history[:t])
    np.testing.assert_array_equal(model.theta_hat, expected_model.theta_hat)
    theta, theta_hat = run.world.theta, expected_model.theta_hat
    possible = theta > 0
    expected = np.zeros(theta.shape)
    expected[possible] = theta[possible] * np.log2(theta[possible] / theta_hat[possible])
    np.testing.assert_allclose(model.missing_information_by_row(run.world), expected.sum(axis=-1), atol=1e-12)
    assert model.missing_information_by_row(run.world).sum() == pytest.approx(run.missing_information[t], abs=1e-9)


def test_rows_of_terminal_states_have_no_missing_information():
    theta = np.array([[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3], [0.1, 0.1, 0.8]]])
    world = World(theta, Dirichlet(0.5, n_states=3, n_actions=1), terminal=[2])
    run = explore(world, "Random", n_steps=10)
    missing = run.model_at(4).missing_information_by_row(world)
    assert missing[0, 2] == 0.0 and missing.sum() == pytest.approx(run.missing_information[4])


def test_discovered_states_are_those_visited_so_far():
    world = maze(0, side=3, n_transporters=5).with_prior(ChineseRestaurant())
    run = explore(world, "Random", n_steps=40, seed=0)
    assert list(run.model_at(0).states)[:-1] == [run.states[0]]
    assert set(run.model_at(5).states[:-1]) == set(run.states[:6].tolist())


def test_times_after_the_end_are_refused(run):
    with raises(ValueError, "t", "121", "0", "120"):
        run.model_at(N_STEPS + 1)
