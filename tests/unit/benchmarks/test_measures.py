"""Measures of a path, each against a plain enumeration with the definitions of the paper."""

import math
from collections import Counter

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, OneTwoThree, World, dense_world, explore, maze, one_two_three_world
from berlyne.benchmarks.measures import MEASURES, Evaluator
from berlyne.information import kl_divergence, missing_information
from berlyne.tasks import Tasks, draw_rewards, reward_loss
from messages import raises

RNG = np.random.default_rng(0)


def with_an_end():
    """Return a world in which state 3 is terminal, state 4 cannot be reached, and one action is forbidden."""
    theta = np.array([[[0, 0.5, 0.5, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [1, 0, 0, 0, 0]]] * 2)
    theta[1, 1] = [0, 0, 0.3, 0.7, 0]
    possible = np.ones((2, 5), dtype=bool)
    possible[1, 0] = False
    return World(theta, Dirichlet(0.3, n_states=5, n_actions=2), start=0, terminal=[3], possible=possible)


UNEQUAL = Dirichlet(0.2 + RNG.random((2, 4, 4)), n_states=4, n_actions=2)
WORLDS = {
    "dense": lambda: dense_world(1, n_states=5, n_actions=2),
    "maze": lambda: maze(0, side=3, n_transporters=2),
    "unequal alpha": lambda: dense_world(2, n_states=4, n_actions=2).with_prior(UNEQUAL),
    "end": with_an_end,
    "1-2-3": lambda: one_two_three_world(0, n_states=6),
}


def enumerate_path(world, prior, run):
    """Return missing information and L1 distance after every step, from counts and dense arrays."""
    counts, counted = np.zeros(world.theta.shape, dtype=np.int64), world.possible & world.reachable
    missing, l1 = [], []
    for t in range(run.n_steps + 1):
        if t:
            counts[run.actions[t - 1], run.states[t - 1], run.next_states[t - 1]] += 1
        theta_hat = prior.estimate(counts)
        missing.append(missing_information(world.theta[counted], theta_hat[counted]))
        l1.append(np.abs(world.theta - theta_hat)[counted].sum())
    return np.array(missing), np.array(l1), counts, theta_hat, counted


@pytest.mark.parametrize("name", WORLDS)
def test_measures_equal_those_of_dense_arrays(name):
    world = WORLDS[name]()
    run = explore(world, "Random", n_steps=60, seed=3)
    measures = Evaluator(world).measure(run.states, run.actions, run.next_states, seconds=0.003)
    missing, l1, counts, theta_hat, counted = enumerate_path(world, world.prior, run)
    assert measures.missing_information == pytest.approx(missing, abs=1e-12)
    assert measures.l1_distance == pytest.approx(l1, abs=1e-12)
    rows = np.abs(world.theta - theta_hat).sum(axis=-1)[counted]
    assert (measures.mean_l1, measures.largest_l1) == pytest.approx((rows.mean(), rows.max()))
    tried = (counts.sum(axis=-1) > 0)[counted]
    assert measures.share_tried == tried.mean()
    shares = np.array(list(Counter(zip(run.states[:-1].tolist(), run.actions.tolist(), strict=True)).values())) / 60
    assert measures.pair_entropy == pytest.approx(-sum(p * math.log2(p) for p in shares))
    assert measures.microseconds == pytest.approx(50.0)
    assert measures.numbers()["missing_information"] == measures.missing_information[-1]
    assert measures.area == pytest.approx(missing.sum())
    assert list(measures.numbers()) == list(MEASURES)


def test_the_prior_of_the_world_does_not_matter_if_another_one_is_common():
    world = dense_world(1, n_states=4, n_actions=2)
    run = explore(world, "PIG(VI)", n_steps=40, seed=0)
    common = Dirichlet(0.05, n_states=4, n_actions=2)
    measures = Evaluator(world, common).measure(run.states, run.actions, run.next_states)
    assert measures.missing_information == pytest.approx(enumerate_path(world, common, run)[0])


def test_steps_until_a_tenth_is_missing():
    """A row that always leads to one of three states: after n looks log2 (n + 3) / (n + 1) bits are missing."""
    theta = np.zeros((1, 3, 3))
    theta[..., 1] = 1.0
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1), start=1)
    assert world.measured_rows.tolist() == [False, True, False]
    n = np.arange(40)
    expected = np.log2((n + 3) / (n + 1))
    path = np.ones(40, dtype=int), np.zeros(39, dtype=int), np.ones(39, dtype=int)
    measures = Evaluator(world).measure(*path)
    assert measures.missing_information == pytest.approx(expected)
    assert measures.steps_to_tenth == np.flatnonzero(expected <= 0.1 * np.log2(3))[0] == 17
    early = Evaluator(world).measure(*(numbers[:16] for numbers in path))
    assert early.steps_to_tenth == math.inf


def test_an_empty_path_has_the_measures_of_the_prior():
    world = dense_world(0, n_states=3, n_actions=1)
    measures = Evaluator(world).measure(np.array([0]), np.array([], dtype=int), np.array([], dtype=int))
    assert measures.missing_information == pytest.approx([kl_divergence(world.theta, np.full(3, 1 / 3)).sum()])
    assert (measures.share_tried, measures.pair_entropy, measures.steps_to_tenth) == (0.0, 0.0, math.inf)
    assert math.isnan(measures.microseconds) and math.isnan(measures.reward_loss)


@pytest.mark.parametrize(("options", "horizon", "gamma"), [({}, 100, 1.0), ({"gamma": 0.9}, math.inf, 0.9)])
def test_reward_losses_are_those_of_the_tasks(options, horizon, gamma):
    world = maze(1, side=3, n_transporters=2)
    run, rewards = explore(world, "Random", n_steps=30, seed=1), draw_rewards(world.n_states, seed=2)
    measures = Evaluator(world, rewards=rewards, **options).measure(run.states, run.actions, run.next_states)
    for over, loss in (("mean", measures.reward_loss), ("worst", measures.worst_reward_loss)):
        assert loss == pytest.approx(reward_loss(world, run.model, rewards, horizon, gamma=gamma, over=over))
    assert 0.0 < measures.reward_loss < measures.worst_reward_loss


def test_reward_is_collected_within_the_horizon_of_the_world_by_states_that_count():
    world = with_an_end().with_horizon(4)
    run, rewards = explore(world, "Random", n_steps=2, seed=1), draw_rewards(5, seed=4)
    evaluator = Evaluator(world, rewards=rewards)
    measures = evaluator.measure(run.states, run.actions, run.next_states)
    tasks = Tasks(world, rewards, horizon=4)
    every = tasks.best_totals - tasks.reward_totals([run.model])[0]
    lost = every[:, [0, 1, 2]]
    assert lost.mean() > 0.0 and lost.mean() != pytest.approx(every.mean())
    assert evaluator.horizon == 4
    assert measures.reward_loss == pytest.approx(lost.mean())
    assert measures.worst_reward_loss == pytest.approx(lost.mean(axis=1).max())


def test_what_does_not_count_teaches_nothing():
    """A relocating explorer may try a row that cannot be reached."""
    world = with_an_end()
    measures = Evaluator(world).measure(np.array([4, 0]), np.array([0, 0]), np.array([0, 1]))
    assert measures.missing_information[0] == measures.missing_information[1] > measures.missing_information[2]
    assert measures.share_tried == 1 / 5


def test_invalid_paths_and_priors_are_refused():
    world = maze(0, side=3, n_transporters=2)
    evaluator, s = Evaluator(world), np.array([0, 0])
    with raises(ValueError, "actions", "array", "from 0 to 3"):
        evaluator.measure(s, np.array([0, 4]), s)
    with raises(ValueError, "states", "from 0 to 8"):
        evaluator.measure(s[:1], s, s)
    elsewhere = int(np.flatnonzero(world.theta[0, 0] == 0)[-1])
    with raises(ValueError, "step 1", elsewhere, "possible"):
        evaluator.measure(s, s, np.array([np.flatnonzero(world.theta[0, 0])[0], elsewhere]))
    with raises(ValueError, "prior", "fixed"):
        Evaluator(berlyne.river_swim())
    with raises(ValueError, "no prior"):
        Evaluator(world.with_prior(None))
    assert isinstance(Evaluator(one_two_three_world(0)).prior, OneTwoThree)
