"""Rewards of many steps: later steps are added at once, and only when the added reward is constant."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from berlyne.tasks import Tasks, draw_rewards

HORIZON = 300


def step_by_step(theta, theta_hat, rewards, horizon, lowest=False):
    """Total rewards `[structure, start]` by backward induction, every step of it; ties as in `berlyne.tasks`."""
    totals = []
    for reward in rewards:
        believed = real = np.zeros(len(reward))
        for _ in range(horizon):
            q, paid = theta_hat @ (reward + believed), theta @ (reward + real)  # [a, s]
            best = q.max(axis=0)
            tied = q >= best - 1e-12 * np.abs(best)
            if lowest:
                tied = tied & (np.cumsum(tied, axis=0) == 1)
            believed, real = best, (tied * paid).sum(axis=0) / tied.sum(axis=0)
        totals.append(real)
    return np.array(totals)


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_totals_are_those_of_every_step(make):
    for seed in range(3):
        world = make(seed)
        rewards = draw_rewards(world.n_states, seed, 14)
        for n_steps in (20, 600):
            run = berlyne.explore(world, "PIG(VI)", n_steps=n_steps, seed=seed)
            totals = Tasks(world, rewards, horizon=HORIZON).reward_totals([run.model])[0]
            plain = step_by_step(world.theta, run.model.theta_hat, rewards, HORIZON)
            np.testing.assert_allclose(totals, plain, rtol=0, atol=1e-9)


def test_a_world_slower_than_its_model_is_waited_for():
    """The model thinks that states are left at once, so what it believes settles first."""
    theta, theta_hat = np.array([[[0.97, 0.03], [0.03, 0.97]]]), np.full((1, 2, 2), 0.5)
    rewards = np.array([[0.0, 1.0]])
    totals = Tasks(berlyne.World(theta), rewards, horizon=HORIZON).reward_totals([theta_hat])[0]
    np.testing.assert_allclose(totals, step_by_step(theta, theta_hat, rewards, HORIZON), rtol=0, atol=1e-9)


def test_a_model_slower_than_its_world_is_waited_for():
    """The reward per step is constant first. Then the model finds a path that pays only in the long run."""
    n = 24
    theta, theta_hat = np.zeros((2, n, n)), np.zeros((2, n, n))
    theta[0, :, 0] = theta[1, :, 1] = 1.0
    theta_hat[0, 0, 0] = theta_hat[1, 0, 1] = 1.0
    for s in range(1, n):
        theta_hat[:, s, min(s + 1, n - 1)] = 1.0
    rewards = np.zeros((1, n))
    rewards[0, 0], rewards[0, -1] = 1.0, 10.0
    judge = Tasks(berlyne.World(theta), rewards, horizon=HORIZON, ties="lowest")
    plain = step_by_step(theta, theta_hat, rewards, HORIZON, lowest=True)
    assert plain[0, 0] < 200.0  # 300 if it always stayed where it is paid
    np.testing.assert_allclose(judge.reward_totals([theta_hat])[0], plain, rtol=0, atol=1e-9)
