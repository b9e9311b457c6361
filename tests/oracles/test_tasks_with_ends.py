"""Tasks with terminal states, discount and horizon: against enumeration of policies, QuantEcon and plain NumPy."""

import math

import numpy as np
import pytest
from quantecon.markov import DiscreteDP, backward_induction

import berlyne
import berlyne.engine.tasks.hub
from berlyne import World
from berlyne.tasks import Tasks, navigation_loss, reward_loss
from messages import raises
from oracles import tasks_by_iteration
from oracles import tasks_with_ends as oracle

CASES = [(seed, ends, gamma) for seed, ends in enumerate([(), (0,), (2,), (1, 3)]) for gamma in (1.0, 0.8)]


def draw(seed, n_states=4, n_actions=2):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_states, 0.7), size=(2, n_actions, n_states))


@pytest.mark.parametrize("cap", [1, 5, 80])
@pytest.mark.parametrize(("seed", "ends", "gamma"), CASES)
def test_navigation_that_can_end_elsewhere(seed, ends, gamma, cap):
    theta, theta_hat = draw(seed)
    tasks = Tasks(World(theta, terminal=ends), cap=cap, gamma=gamma)
    missed = sum(gamma**t for t in range(cap))
    times, lost = tasks.navigation_times([theta_hat])[0], []
    for target in range(4):
        mine, best = (
            oracle.steps_of(theta, [oracle.best_stationary(p, target, ends, gamma, missed)] * cap, target, ends, gamma)
            for p in (theta_hat, theta)
        )
        assert times[:, target] == pytest.approx(mine, abs=2e-6)
        assert tasks.best_times[:, target] == pytest.approx(best, abs=2e-6)
        lost.append((mine - best)[[s for s in range(4) if s not in ends]])
    assert tasks.navigation_loss([theta_hat])[0] == pytest.approx(np.mean(lost), abs=4e-6)
    assert navigation_loss(World(theta, terminal=ends), theta_hat, cap, gamma=gamma) == pytest.approx(
        np.mean(lost), abs=4e-6
    )


def best_walk(theta, horizon, target, ends, gamma):
    return oracle.best_in_time(theta, horizon, lambda policy: -oracle.steps_of(theta, policy, target, ends, gamma))


def best_earner(theta, horizon, reward, ends, gamma):
    return oracle.best_in_time(theta, horizon, lambda policy: oracle.earnings_of(theta, policy, reward, ends, gamma))


@pytest.mark.parametrize("horizon", [0, 1, 3])
@pytest.mark.parametrize(("seed", "ends", "gamma"), [(s, [e for e in ends if e < 3], g) for s, ends, g in CASES])
def test_navigation_within_a_horizon_is_that_of_the_best_policy_in_time(seed, ends, gamma, horizon):
    theta, theta_hat = draw(seed, n_states=3)
    world, lost = World(theta, terminal=ends), []
    times = Tasks(world, gamma=gamma).navigation_times([theta_hat], horizon)[0]
    for target in range(3):
        steps = [
            oracle.steps_of(theta, best_walk(p, horizon, target, ends, gamma), target, ends, gamma)
            for p in (theta_hat, theta)
        ]
        assert times[:, target] == pytest.approx(steps[0], abs=1e-12)
        lost.append((steps[0] - steps[1])[[s for s in range(3) if s not in ends]])
    assert navigation_loss(world, theta_hat, horizon=horizon, gamma=gamma) == pytest.approx(np.mean(lost), abs=1e-12)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize(("seed", "ends", "gamma"), [(s, [e for e in ends if e < 3], g) for s, ends, g in CASES])
def test_reward_is_earned_up_to_an_end_and_discounted(seed, ends, gamma, horizon):
    theta, theta_hat = draw(seed, n_states=3)
    rewards = np.random.default_rng(seed).standard_normal((3, 3))
    world, lost = World(theta, terminal=ends), []
    tasks = Tasks(world, rewards, horizon=horizon, gamma=gamma)
    totals = tasks.reward_totals([theta_hat])[0]
    for r, reward in enumerate(rewards):
        mine, best = (
            oracle.earnings_of(theta, best_earner(p, horizon, reward, ends, gamma), reward, ends, gamma)
            for p in (theta_hat, theta)
        )
        assert totals[r] == pytest.approx(mine, abs=1e-12)
        assert tasks.best_totals[r] == pytest.approx(best, abs=1e-12)
        lost.append((best - mine)[[s for s in range(3) if s not in ends]].mean())
    arguments = world, theta_hat, rewards, horizon
    assert reward_loss(*arguments, gamma=gamma) == pytest.approx(np.mean(lost), abs=1e-12)
    assert reward_loss(*arguments, gamma=gamma, over="worst") == pytest.approx(np.max(lost), abs=1e-12)


FORBIDDEN = [[(0, 0)], [(0, 1), (1, 2)], [(1, 0), (0, 1), (1, 2)]]


def forbid(pairs, n_actions, n_states):
    """The mask [a, s] without some pairs (a, s)."""
    allowed = np.ones((n_actions, n_states), dtype=bool)
    allowed[tuple(np.transpose(pairs))] = False
    return allowed


@pytest.mark.parametrize("ties", ["uniform", "lowest"])
@pytest.mark.parametrize("ends", [(), (3,)])
@pytest.mark.parametrize("pairs", FORBIDDEN)
def test_policies_take_no_action_that_is_not_possible(pairs, ends, ties):
    theta, theta_hat = draw(len(pairs), n_states=4)
    allowed, cap, lost = forbid(pairs, 2, 4), 40, []
    tasks = Tasks(World(theta, terminal=ends, possible=allowed), cap=cap, ties=ties)
    assert not np.allclose(tasks.best_times, Tasks(World(theta, terminal=ends), cap=cap).best_times)
    times = tasks.navigation_times([theta_hat])[0]
    for target in range(4):
        mine, best = (
            oracle.steps_of(
                theta, [oracle.best_stationary(p, target, ends, 1.0, cap, allowed)] * cap, target, ends, 1.0
            )
            for p in (theta_hat, theta)
        )
        assert times[:, target] == pytest.approx(mine, abs=2e-6)
        assert tasks.best_times[:, target] == pytest.approx(best, abs=2e-6)
        lost.append((mine - best)[[s for s in range(4) if s not in ends]])
    assert tasks.navigation_loss([theta_hat])[0] == pytest.approx(np.mean(lost), abs=4e-6)


@pytest.mark.parametrize("ends", [(), (2,)])
@pytest.mark.parametrize("pairs", FORBIDDEN)
def test_policies_in_time_take_no_action_that_is_not_possible(pairs, ends):
    theta, theta_hat = draw(len(pairs), n_states=3)
    allowed, rewards = forbid(pairs, 2, 3), np.random.default_rng(5).standard_normal((4, 3))
    tasks = Tasks(World(theta, terminal=ends, possible=allowed), rewards, horizon=3)
    times, totals = tasks.navigation_times([theta_hat], 3)[0], tasks.reward_totals([theta_hat])[0]
    for target in range(3):
        walk = oracle.best_in_time(
            theta_hat, 3, lambda policy, z=target: -oracle.steps_of(theta_hat, policy, z, ends, 1.0), allowed
        )
        assert times[:, target] == pytest.approx(oracle.steps_of(theta, walk, target, ends, 1.0), abs=1e-12)
    for r, reward in enumerate(rewards):
        mine, best = (
            oracle.earnings_of(theta, oracle.best_in_time(p, 3, earned_in(p, reward, ends), allowed), reward, ends, 1.0)
            for p in (theta_hat, theta)
        )
        assert totals[r] == pytest.approx(mine, abs=1e-12)
        assert tasks.best_totals[r] == pytest.approx(best, abs=1e-12)


def earned_in(theta, reward, ends):
    return lambda policy: oracle.earnings_of(theta, policy, reward, ends, 1.0)


def test_tied_actions_share_their_chance_with_possible_ones_only():
    """All actions are equal to a model without data; one of three is forbidden, so a walk halves its chances."""
    theta = np.stack([np.eye(4)[[1, 2, 3, 0]], np.eye(4)[[3, 0, 1, 2]], np.eye(4)])
    prior = berlyne.Dirichlet(1.0, n_states=4, n_actions=3)
    world = World(theta, prior, possible=forbid([(2, s) for s in range(4)], 3, 4))
    times = Tasks(world).navigation_times([berlyne.InternalModel(prior)])[0]
    assert times[0, 1:] == pytest.approx([3.0, 4.0, 3.0], abs=1e-4)  # of a random walk on a ring of four


@pytest.mark.parametrize("n_steps", [60, 600])
def test_a_hub_forbids_the_same_actions(n_steps, monkeypatch):
    grid = berlyne.grid_world(9, alpha=0.1)
    world = grid.replace(possible=forbid([(s % 4, s) for s in range(0, 81, 3)], 4, 81))
    tasks, counts = Tasks(world), berlyne.explore(world, "Random", n_steps=n_steps, seed=0).counts
    with_hub = tasks.navigation_times([counts])[0]
    assert not np.allclose(with_hub, Tasks(grid).navigation_times([counts])[0])
    monkeypatch.setattr(berlyne.engine.tasks.hub, "SMALLEST", 82)
    assert with_hub == pytest.approx(tasks.navigation_times([counts])[0], abs=1e-5)


def as_decision_problem(theta, reward, ends, gamma):
    """For QuantEcon: whoever is at an end goes on to one more state, for ever and without pay."""
    n_actions, n, _ = theta.shape
    q, r = np.zeros((n + 1, n_actions, n + 1)), np.zeros((n + 1, n_actions))
    q[:n, :, :n] = theta.transpose(1, 0, 2)
    r[:n] = (theta @ reward).T
    for s in [*ends, n]:
        q[s], r[s] = np.eye(n + 1)[n], 0.0
    return DiscreteDP(r, q, gamma)


@pytest.mark.parametrize("ends", [(), (3, 7)])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.995])
def test_discounted_rewards_are_those_of_quantecon(gamma, ends):
    theta, _ = draw(7, n_states=12, n_actions=3)
    rewards = np.random.default_rng(1).standard_normal((14, 12))
    world = World(theta, terminal=ends)
    endless = Tasks(world, rewards, horizon=math.inf, gamma=gamma).best_totals
    finite = Tasks(world, rewards, horizon=37, gamma=gamma).best_totals
    for r, reward in enumerate(rewards):
        problem = as_decision_problem(theta, reward, ends, gamma)
        solved = problem.solve(method="policy_iteration")
        assert endless[r] == pytest.approx(solved.v[:-1], abs=1e-9)
        values, _ = backward_induction(problem, 37)
        assert finite[r] == pytest.approx(values[0, :-1], abs=1e-10)


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_expected_steps_are_those_of_value_iteration_in_a_larger_world(gamma):
    """FrozenLake with slippery ice, four by four: plain value iteration until nothing changes."""
    world = frozen_lake()
    cap, ends = 320, world.terminal.tolist()
    missed = cap if gamma == 1.0 else (1 - gamma**cap) / (1 - gamma)
    times = Tasks(world, cap=cap, gamma=gamma).best_times
    values = np.zeros((16, 16))  # [s, target]
    for _ in range(20_000):
        values = 1.0 + gamma * (world.theta @ values).min(axis=0)
        values[ends] = missed
        np.fill_diagonal(values, 0.0)
    for target, q in enumerate((world.theta @ values).T):
        tied = q <= q.min(axis=1, keepdims=True) + 1e-9
        policy = [tied / tied.sum(axis=1, keepdims=True)] * cap
        assert times[:, target] == pytest.approx(oracle.steps_of(world.theta, policy, target, ends, gamma), abs=1e-5)


def frozen_lake():
    """The lake of Gymnasium: steps go in the wanted direction or to either side of it, each with chance 1/3."""
    lake, theta = "SFFFFHFHFFFHHFFG", np.zeros((4, 16, 16))
    for a in range(4):
        for s in range(16):
            for b in ((a - 1) % 4, a, (a + 1) % 4):
                i, j = s // 4, s % 4
                i, j = [(i, max(j - 1, 0)), (min(i + 1, 3), j), (i, min(j + 1, 3)), (max(i - 1, 0), j)][b]
                theta[a, s, 4 * i + j] += 1 / 3
    return World(theta, terminal=[s for s in range(16) if lake[s] in "HG"])


@pytest.mark.parametrize(("ends", "gamma"), [((), 1.0), ((), 0.97), ((0, 40, 61), 1.0), ((0, 40, 61), 0.97)])
@pytest.mark.parametrize("n_steps", [0, 60, 600])
def test_a_hub_gives_the_same_times_as_all_transitions(n_steps, ends, gamma, monkeypatch):
    grid = berlyne.grid_world(9, alpha=0.1)
    world = grid.replace(terminal=[grid.states[s] for s in ends], start=grid.states[10])
    counts = berlyne.explore(world, "Random", n_steps=n_steps, seed=0).counts
    tasks, layouts = Tasks(world, gamma=gamma), []
    monkeypatch.setattr(Tasks, "_navigate", seen(Tasks._navigate, layouts))
    with_hub = tasks.navigation_times([counts])[0]
    monkeypatch.setattr(berlyne.engine.tasks.hub, "SMALLEST", 82)
    without = tasks.navigation_times([counts])[0]
    assert [len(layout.graph.start) for layout in layouts] == [81, 82, 81]  # the optimum, with and without
    assert with_hub == pytest.approx(without, abs=1e-5)


def seen(function, layouts):
    """The function, noting its layouts."""

    def noted(self, layout, *arguments):
        layouts.append(layout)
        return function(self, layout, *arguments)

    return noted


def test_a_dense_estimate_without_equal_outcomes_has_no_hub():
    theta = np.random.default_rng(0).dirichlet(np.ones(70), size=(1, 70))
    believed = np.random.default_rng(1).dirichlet(np.ones(70), size=(1, 70))
    expected = tasks_by_iteration.navigation_loss(theta, believed, 1400)
    assert navigation_loss(World(theta), believed) == pytest.approx(expected, abs=1e-5)


def test_the_loss_can_rise_while_the_model_improves():
    """An action never tried may lead to the target, thinks the model; a policy that counts on it walks in circles."""
    world = berlyne.grid_world(7, alpha=1 / 49)
    run = berlyne.explore(world, "PIG(VI)", n_steps=3000, seed=0, snapshots=[0, 49, 98, 3000])
    tasks, theta = Tasks(world), world.theta
    losses = tasks.navigation_loss(list(run.snapshots.values()))
    for loss, counts in zip(losses, run.snapshots.values(), strict=True):
        estimate = world.prior.estimate(counts.dense())
        assert loss == pytest.approx(tasks_by_iteration.navigation_loss(theta, estimate, tasks.cap), abs=1e-4)
    empty, early, rising, late = losses
    assert rising > 1.5 * empty > early > late
    assert late == pytest.approx(0.0, abs=1.0)
    missing = [run.missing_information[t] for t in run.snapshots]
    assert missing == sorted(missing, reverse=True)  # the model improves all the while


def test_an_action_never_tried_is_a_trap_for_a_policy_by_hand():
    """Three rooms in a row. In room 0 only forth was tried; back is thought to lead anywhere, and leads nowhere."""
    theta = np.zeros((2, 3, 3))
    theta[0] = np.eye(3)[[1, 2, 2]]  # forth
    theta[1] = np.eye(3)[[0, 0, 1]]  # back, and in room 0 against the wall
    world = World(theta, berlyne.Dirichlet(0.1, n_states=3, n_actions=2))
    counts = np.zeros((2, 2, 3, 3), dtype=int)
    counts[1, 0, 0, 1] = 9
    empty, learned = Tasks(world, cap=60).navigation_times(counts)
    assert empty[0, 2] == pytest.approx(6.0, abs=1e-3)  # a walk of coin throws
    assert learned[0, 2] == 60.0
    assert learned[1, 2] == pytest.approx((1 + 60) / 2)  # both are untried in room 1: one arrives, one leads to room 0


def test_invalid_discounts_and_horizons_are_refused():
    world, rewards = frozen_lake(), np.zeros((1, 16))
    with raises(ValueError, "gamma", "0", "(0, 1]"):
        Tasks(world, gamma=0)
    with raises(ValueError, "gamma", "1.5"):
        navigation_loss(world, world.theta, gamma=1.5)
    with raises(ValueError, "horizon", "gamma", "1"):
        Tasks(world, rewards, horizon=math.inf)
    with raises(ValueError, "horizon", "2.5"):
        Tasks(world, rewards, horizon=2.5)
    with raises(ValueError, "horizon", "-1"):
        navigation_loss(world, world.theta, horizon=-1)
    with raises(ValueError, "over", "'max'", "'mean'", "'worst'"):
        reward_loss(world, world.theta, rewards, over="max")
