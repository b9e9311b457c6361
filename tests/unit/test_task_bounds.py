"""Thresholds of policies for tasks: the tolerance of ties, and the probability of giving up."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import World
from berlyne.tasks import CAP_PER_STATE, HORIZON, N_REWARDS, Tasks, draw_rewards, reward_loss
from oracles import tasks_by_iteration


@pytest.mark.parametrize(("better_by", "steps"), [(1e-12, 2.0), (4e-12, 1.0)])
def test_actions_tie_in_navigation_within_a_millionth_of_a_millionth_of_the_steps(
    better_by: float, steps: float
) -> None:
    """The model expects two steps from either action; one really stays where it is, the other arrives."""
    p = 0.5 * (1 + better_by)
    believed = np.array([[[0.5, 0.5], [0, 1]], [[1 - p, p], [0, 1]]])
    theta = np.array([[[1, 0], [1, 0]], [[0, 1], [1, 0]]], dtype=float)
    assert Tasks(World(theta), cap=60).navigation_times([believed])[0, 0, 1] == pytest.approx(steps, abs=1e-6)


@pytest.mark.parametrize(("reward", "better_by", "total"), [(1, 0.5e-12, -2), (1, 2e-12, 1), (64, 0.3e-10, 29.5)])
def test_actions_tie_in_reward_within_a_millionth_of_a_millionth(reward: float, better_by: float, total: float) -> None:
    """The model thinks that either action is rewarded; one really costs 5."""
    to = np.eye(4)
    believed = np.array([to[[1, 1, 2, 3]], to[[2, 1, 2, 3]]])
    theta = np.array([to[[3, 1, 2, 3]], to[[2, 1, 2, 3]]])
    rewards = np.array([[0.0, reward, reward + better_by, -5.0]])
    assert Tasks(World(theta), rewards, horizon=1).reward_totals([believed])[0, 0, 0] == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(("slow", "sure"), [(2e-30, True), (0.5e-30, False)])
def test_a_sure_way_of_a_million_trillion_trillion_steps_is_no_better_than_a_gamble(slow: float, sure: bool) -> None:
    """Action 0 is thought to arrive at 1 for sure, with a chance of `slow` per step; action 1 at once, or never."""
    believed = np.array([[[1 - slow, slow, 0], [0, 1, 0], [0, 0, 1]], [[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]])
    theta = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 0, 1], [0, 0, 1], [1, 0, 0]]], dtype=float)
    assert bool(Tasks(World(theta), cap=40).navigation_times([believed])[0, 0, 1] == 1.0) is sure


def test_defaults_of_a_task() -> None:
    theta = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.9, 0.1]]])
    assert (N_REWARDS, HORIZON, CAP_PER_STATE) == (10, 100, 20)
    assert draw_rewards(7, seed=0).shape == (10, 7)
    assert Tasks(World(theta)).cap == 40
    lost = reward_loss(World(theta), theta[::-1], np.array([[0.0, 1.0]]))
    assert lost == pytest.approx(100 * (0.5 - 0.1))


@pytest.mark.parametrize("cap", [1, 15, 16, 17, 200, 3000])
@pytest.mark.parametrize("trap", [0.0, 1e-9, 1e-3, 0.3])
def test_steps_of_policies_that_may_never_arrive(trap: float, cap: int) -> None:
    """A corridor of twelve states, and a trap that one may fall into at every step: added up step by step."""
    n, rng = 13, np.random.default_rng(0)
    theta = np.zeros((2, n, n))
    for s in range(n - 1):
        for a, step in enumerate((-1, 1)):
            theta[a, s, min(max(s + step, 0), n - 2)] += 0.7
            theta[a, s, s] += 0.3 - trap
            theta[a, s, n - 1] += trap
    theta[:, n - 1, n - 1] = 1.0
    tasks = Tasks(World(theta), cap=cap)
    for estimate in rng.dirichlet(np.ones(n), size=(3, 2, n)):
        times = tasks.navigation_times([estimate])[0]  # [start, target]
        for target in range(n):
            taken = tasks_by_iteration.best_actions(estimate, target)
            expected = tasks_by_iteration.capped_steps(np.einsum("sa,ast->st", taken, theta), target, cap)
            assert times[:, target] == pytest.approx(expected, abs=2e-6, rel=2e-9)
