import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, InternalModel, World
from berlyne.engine.tasks.lanes import pack_lanes, unpack_lanes
from berlyne.sparse import Rows
from berlyne.tasks import Tasks, draw_rewards, navigation_loss
from messages import raises

MAKERS = [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world]


def ring(n_states, p=1.0):
    """Action 0 steps on with probability p, action 1 steps back."""
    forth = p * np.roll(np.eye(n_states), 1, axis=1) + (1 - p) * np.eye(n_states)
    return np.array([forth, forth.T])


def test_steps_around_a_ring_by_hand():
    times = Tasks(World(ring(5))).best_times
    assert times[0].tolist() == [0, 1, 2, 2, 1]
    assert times.T.tolist() == times.tolist()


def test_a_slow_step_takes_a_geometric_time():
    theta = np.array([[[0.9, 0.1], [0.5, 0.5]]])
    for cap in (1, 7, 1000):
        expected = (1 - 0.9**cap) / 0.1
        assert Tasks(World(theta), cap=cap).best_times[0, 1] == pytest.approx(expected, abs=1e-6)


def test_reward_is_paid_on_entering_a_state():
    stay_or_go = np.array([np.eye(2), np.eye(2)[::-1]])
    tasks = Tasks(World(stay_or_go), np.array([[0.0, 1.0]]), horizon=3)
    assert tasks.best_totals.tolist() == [[3.0, 3.0]]  # from 0 enter 1 and stay; from 1 stay
    assert Tasks(World(stay_or_go), np.array([[5.0, 1.0]]), horizon=1).best_totals.tolist() == [[5.0, 5.0]]


def test_the_reward_policy_looks_at_the_steps_left():
    """A toll on the way to a larger reward is worth paying only if there is time."""
    theta = np.zeros((2, 4, 4))
    theta[0] = np.eye(4)[[0, 0, 3, 3]]  # 0 stays at the small reward
    theta[1] = np.eye(4)[[1, 2, 3, 3]]  # 1 crosses the toll to 3
    rewards = np.array([[1.0, -4.0, 0.0, 3.0]])
    short, long = (Tasks(World(theta), rewards, horizon=h).best_totals[0, 0] for h in (3, 10))
    assert short == 3.0
    assert long == pytest.approx(-4.0 + 0.0 + 3.0 * 8)


def test_untried_actions_are_taken_with_equal_chance_or_the_lowest_only():
    theta = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])  # only action 1 leads on
    world = World(theta, Dirichlet(1.0, n_states=2, n_actions=2))
    knows_nothing = InternalModel(world.prior)
    assert Tasks(world, cap=50).navigation_times([knows_nothing])[0, 0, 1] == pytest.approx(2.0, abs=1e-6)
    assert Tasks(world, cap=50, ties="lowest").navigation_times([knows_nothing])[0, 0, 1] == pytest.approx(50.0)


def test_a_target_out_of_reach_for_the_model_has_a_policy_all_the_same():
    theta = ring(3)
    believed = theta.copy()
    believed[:, :, 2] = 0.0  # nothing is thought to lead to 2
    believed[:, 1] = [[1, 0, 0], [1, 0, 0]]
    believed[:, 2] = [[1, 0, 0], [0, 1, 0]]
    believed[:, 0] = [[0, 1, 0], [0, 1, 0]]
    times = Tasks(World(theta), cap=30).navigation_times([believed])[0]
    assert np.all(np.isfinite(times)) and np.all(times <= 30)
    assert times[2, 2] == 0.0


def test_the_most_probable_path_is_taken_if_none_is_certain():
    """The model thinks that action 0 arrives with chance 0.9 and action 1 with 0.5; otherwise one is stuck in 2."""
    believed = np.array([[[0, 0.9, 0.1], [0, 1, 0], [0, 0, 1]], [[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]])
    theta = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 0, 1], [0, 0, 1], [1, 0, 0]]], dtype=float)
    assert Tasks(World(theta), cap=40).navigation_times([believed])[0, 0, 1] == 1.0


@pytest.mark.parametrize("make", MAKERS)
def test_a_model_that_is_true_loses_nothing(make):
    world = make(3)
    tasks = Tasks(world, draw_rewards(world.n_states, 0), horizon=20)
    assert tasks.losses([world.theta]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("make", MAKERS)
def test_every_form_of_a_model_is_the_same_model(make):
    world = make(1)
    run = berlyne.explore(world, "PIG(VI)", n_steps=150, seed=0, snapshots=[30])
    tasks = Tasks(world, draw_rewards(world.n_states, 0), horizon=10)
    theta_hat = run.model.theta_hat
    losses = tasks.losses([run.counts, run.model, theta_hat, Rows.from_dense(theta_hat), run.snapshots[30], run.counts])
    assert losses[1:4] == pytest.approx(np.repeat(losses[:1], 3, axis=0), abs=1e-9)
    assert losses[5].tolist() == losses[0].tolist()
    assert losses[4, 0] != losses[0, 0]
    dense = np.stack([run.counts.dense(), run.snapshots[30].dense()])
    assert tasks.losses(dense).tolist() == losses[[0, 4]].tolist()
    assert navigation_loss(world, run.counts) == losses[0, 0]
    assert tasks.navigation_loss([run.counts]).tolist() == [losses[0, 0]]
    assert tasks.reward_loss([run.counts]).tolist() == [losses[0, 1]]


def test_a_custom_prior_is_read_through_its_estimate():
    theta = ring(5, 0.5)
    believed = 0.9 * theta[::-1] + 0.1 * theta  # takes forth for back

    class Mistaken:
        n_actions, n_states = 2, 5

        def estimate(self, counts):
            return believed + 0.0 * counts

    world = World(theta, Mistaken())
    counts = InternalModel(Dirichlet(1.0, n_states=5, n_actions=2)).sparse_counts
    assert navigation_loss(world, counts) == navigation_loss(world, believed) > 1.0


@pytest.mark.parametrize("n_columns", [1, 11, 12, 13, 40])
def test_blocks_hold_the_columns_in_order(n_columns):
    columns = np.random.default_rng(0).random((n_columns, 5))
    blocks = pack_lanes(columns)
    assert blocks.shape == (-(-n_columns // 12), 60)
    assert np.array_equal(unpack_lanes(blocks, n_columns), columns)


def test_rewards_are_standard_normal_and_seeded():
    rewards = draw_rewards(200, seed=1, n_structures=50)
    assert rewards.shape == (50, 200)
    assert np.array_equal(rewards, draw_rewards(200, seed=1, n_structures=50))
    assert abs(rewards.mean()) < 0.04 and abs(rewards.std() - 1) < 0.03


def test_invalid_models_are_refused():
    world = World(ring(3))
    with raises(ValueError, "ties", "'first'", "'uniform'", "'lowest'"):
        Tasks(world, ties="first")
    with raises(ValueError, "rewards", "(2, 4)", "(n_structures, 3)"):
        Tasks(world, np.zeros((2, 4)))
    with raises(ValueError, "no rewards", "Tasks(world, rewards)"):
        Tasks(world).reward_loss([ring(3)])
    with raises(ValueError, "3 actions", "3 states"):
        Tasks(world).navigation_loss([np.full((3, 3, 3), 1 / 3)])
    with raises(ValueError, "counts", "prior"):
        Tasks(world).navigation_loss(np.zeros((1, 2, 3, 3), dtype=int))
    with raises(ValueError, "counts", "(2, 3, 3)", "(n_models, n_actions, n_states, n_states)"):
        Tasks(world).navigation_loss(np.zeros((2, 3, 3), dtype=int))
    with raises(ValueError, "no models"):
        Tasks(world).navigation_loss([])


@pytest.mark.parametrize("make", MAKERS)
def test_impossible_counts_are_refused(make):
    world = make(0)
    counts = np.zeros((1, world.n_actions, world.n_states, world.n_states), dtype=int)
    counts[0, 0, 5] = 1  # all outcomes of one row: fine only where all can follow
    if make is berlyne.dense_world:
        assert np.isfinite(Tasks(world).navigation_loss(counts)[0])
    else:
        with raises(ValueError, "(a=0, s=5)"):
            Tasks(world).navigation_loss(counts)
