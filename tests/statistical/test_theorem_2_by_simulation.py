"""Theorem 2 by simulation: realised gains average to PIG, and not to the printed expression (R2)."""

import numpy as np
import pytest

from berlyne import Dirichlet, InternalModel, dense_world, maze, one_two_three_world, pig
from berlyne.strategies.utilities import pig_as_printed_of_row
from oracles import dirichlet_row
from statistical.deviations import MANY, z_of_mean


def simulated_gains(c, n_draws, seed):
    """Truths from the posterior Dir(c), an outcome of each, and the gain of Eq. 10."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(c, size=n_draws)
    outcome = (rng.random(n_draws)[:, None] > np.cumsum(theta, axis=1)).sum(axis=1).clip(max=len(c) - 1)
    ratio = np.log2(dirichlet_row.after_each(c) / dirichlet_row.mean(c))
    return np.einsum("ij,ij->i", theta, ratio[outcome])


@pytest.mark.parametrize(
    ("alpha", "n"), [(1.0, [0] * 10), (0.25, [0, 0, 0, 0]), (0.25, [3, 0, 1, 0]), (1.0, [2, 0, 5]), (0.5, [1, 1])]
)
def test_gains_of_dirichlet_rows_average_to_pig_and_not_to_the_printed_form(alpha, n):
    model = InternalModel(Dirichlet(alpha, n_states=len(n), n_actions=1))
    model.observe_many([(0, 0, s_next) for s_next, times in enumerate(n) for _ in range(times)])
    gains = simulated_gains(alpha + np.array(n), 400_000, seed=1)
    printed = pig_as_printed_of_row(model.theta_hat_row(0, 0), model.theta_hat_after(0, 0))
    assert abs(z_of_mean(gains, pig(model)[0, 0])) < MANY
    assert abs(z_of_mean(gains, printed)) > MANY


@pytest.mark.parametrize(
    ("draw", "n_worlds"),
    [(dense_world, 60), (maze, 30), (lambda seed: one_two_three_world(seed, ergodic=False), 60)],
    ids=["dense", "maze", "1-2-3"],
)
def test_gains_in_generated_worlds_average_to_pig_after_any_number_of_observations(draw, n_worlds):
    """Every row observed in turn, as in Fig. 2. The reordered rows of mazes make no difference: gains are symmetric."""
    surplus = []
    for seed in range(n_worlds):
        world, rng = draw(seed), np.random.default_rng(10_000 + seed)
        theta, model = world.theta, InternalModel(world.prior)
        for _ in range(6):
            predicted, before = pig(model), model.theta_hat
            pairs = np.ndindex(world.n_actions, world.n_states)
            model.observe_many([(s, a, world.sample(a, s, rng.random())) for a, s in pairs])
            after = model.theta_hat
            ratio = np.log2(np.where(theta > 0, after, 1.0)) - np.log2(np.where(theta > 0, before, 1.0))
            surplus.append(np.sum(theta * ratio, axis=-1) - predicted)
    by_time = np.array(surplus).reshape(n_worlds, 6, -1)
    for n_obs in range(6):
        rows = by_time[:, n_obs].ravel()
        if np.abs(rows).max() > 1e-9:  # an outcome that changes nothing has nothing to average
            assert abs(z_of_mean(rows, 0.0)) < MANY
