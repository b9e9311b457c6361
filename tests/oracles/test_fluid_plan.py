"""The receding fluid plan against enumeration: expected losses, and the best plan in worlds of two states."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import digamma

from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, OneTwoThree, World, explore, maze
from berlyne.agents.make import make_agent
from berlyne.strategies.coordination import View
from berlyne.strategies.fluid_plan import FluidPlan, expected_losses, hull, numbers_of_looks, solve
from berlyne.strategies.registry import STRATEGIES, get_strategy
from berlyne.strategies.utilities import compute_utility
from messages import raises


def parameter_gain(c):
    """E[D(theta || theta_hat)] of a row with pseudo-counts c, in bits, from the entropy of its mean."""
    kappa = sum(c)
    entropy_of_mean = -sum(x / kappa * math.log(x / kappa) for x in c)
    mean_entropy = digamma(kappa + 1) - sum(x / kappa * digamma(x + 1) for x in c)
    return (entropy_of_mean - mean_entropy) / math.log(2)


def after_looks(c, k):
    """The expected gain left after k looks, over all sequences of outcomes."""
    total = 0.0
    for sequence in itertools.product(range(len(c)), repeat=k):
        now, p = list(c), 1.0
        for i in sequence:
            p *= now[i] / sum(now)
            now[i] += 1
        total += p * parameter_gain(now)
    return total


def test_expected_losses_of_a_dirichlet_row():
    prior = Dirichlet(0.4, np.array([[[1, 1, 1], [1, 1, 0], [1, 0, 0]]], dtype=bool))
    counts = np.zeros((1, 3, 3), dtype=np.int64)
    counts[0, 0] = 2, 0, 1
    losses = expected_losses(prior, counts, np.arange(5))
    for s, c in enumerate([(2.4, 0.4, 1.4), (0.4, 0.4)]):
        assert losses[0, s] == pytest.approx([after_looks(c, k) for k in range(5)], rel=1e-9)
    assert losses[0, 2] == pytest.approx(np.zeros(5), abs=1e-12)


def test_expected_losses_of_a_1_2_3_row():
    prior, counts = OneTwoThree(5, 2, 0.6), np.zeros((2, 5, 5), dtype=np.int64)
    counts[1, 0, 3] = 2

    def left(now, a, s, k):
        if k == 0:
            return prior.expected_missing_information(now)[a, s]
        row, total = prior.row_estimate(now[a, s], a, s), 0.0
        for s_next in np.flatnonzero(row > 0):
            after = now.copy()
            after[a, s, s_next] += 1
            total += row[s_next] * left(after, a, s, k - 1)
        return total

    losses = expected_losses(prior, counts, np.arange(4))
    for a, s in ((0, 1), (1, 1), (1, 0)):
        assert losses[a, s] == pytest.approx([left(counts, a, s, k) for k in range(4)], abs=1e-12)


def test_the_first_look_gains_pig():
    world = maze(0, side=3, n_transporters=3)
    model = InternalModel(world.prior)
    losses = expected_losses(world.prior, np.zeros(world.theta.shape, dtype=np.int64), np.arange(2))
    assert losses[..., 0] - losses[..., 1] == pytest.approx(compute_utility(model, "PIG", None), abs=1e-10)


def best_by_search(theta, s, losses, n_steps, gamma, possible):
    """Smallest sum of losses over all sequences of actions, in a world whose steps are certain."""
    best = math.inf
    for plan in itertools.product(range(len(theta)), repeat=n_steps):
        looks, z = np.zeros(theta.shape[:2]), s
        for j, a in enumerate(plan):
            if not possible[a, z]:
                break
            looks[a, z] += gamma**j
            z = int(np.argmax(theta[a, z]))
        else:
            at = np.arange(losses.shape[2])
            total = sum(np.interp(looks[a, z], at, losses[a, z]) for a, z in np.argwhere(possible))
            best = min(best, total)
    return best


@pytest.mark.parametrize("gamma", [1.0, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_in_two_states_the_plan_is_as_good_as_the_best_of_all_sequences(seed, gamma):
    """Steps are certain here. The plan may mix sequences, so it can be better, but never worse.

    Its first step must be that of a best sequence, if it takes one sequence for certain.
    """
    rng = np.random.default_rng(seed)
    theta = np.zeros((3, 2, 2))
    for a, s in np.ndindex(3, 2):
        theta[a, s, rng.integers(2)] = 1.0
    theta[0] = [[0, 1], [1, 0]]  # every state can be left
    gains = np.sort(rng.random((3, 2, 5)), axis=2)[..., ::-1]
    losses = gains.sum(axis=2, keepdims=True) - np.concatenate([np.zeros((3, 2, 1)), gains.cumsum(axis=2)], axis=2)
    view = View(np.zeros((3, 2)), theta, np.zeros((3, 2, 2), dtype=int), np.zeros(2, dtype=int))
    possible = np.ones((3, 2), dtype=bool)
    if seed % 2:
        possible[2, 0] = False
        view.possible = possible
    plan = solve(view, 0, 5, np.arange(6), losses, gamma)
    best = best_by_search(theta, 0, losses, 5, gamma, possible)
    assert plan.loss <= best + 1e-9
    assert plan.x[0, :, 0].sum() == pytest.approx(1.0) and np.all(plan.x[:, ~possible] == 0.0)
    assert plan.x.sum(axis=(1, 2)) == pytest.approx(np.ones(5))
    if np.all(np.abs(plan.x - plan.x.round()) < 1e-9):  # one sequence: it must be a best one
        assert plan.loss == pytest.approx(best, abs=1e-9)
    # what the plan says that it leaves is what its visits leave
    looks = np.einsum("j,jas->as", gamma ** np.arange(5), plan.x)
    left = sum(np.interp(looks[a, s], np.arange(6), losses[a, s]) for a, s in np.argwhere(possible))
    assert plan.loss == pytest.approx(left, abs=1e-9)


def test_visits_obey_the_flow_of_the_estimate_with_ends():
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.ones(3), (2, 3))
    terminal, starts = np.array([False, False, True]), np.array([1.0, 3.0, 0.0])
    possible = np.array([[True, True, False]] * 2)
    losses = np.sort(rng.random((2, 3, 7)), axis=2)[..., ::-1] ** 2
    view = View(np.zeros((2, 3)), theta, np.zeros((2, 3, 3), dtype=int), np.zeros(3, dtype=int))
    view.terminal, view.starts, view.possible = terminal, starts, possible
    x = solve(view, 1, 6, np.arange(7), losses).x
    at = np.array([0.0, 1.0, 0.0])
    for j in range(6):
        assert x[j].sum(axis=0) == pytest.approx(at, abs=1e-9)
        arrives = np.einsum("as,asz->z", x[j], theta)
        at = np.array([arrives[0] + arrives[2] / 4, arrives[1] + 3 * arrives[2] / 4, 0.0])


def test_the_hull_is_convex_and_below_the_curve():
    looks, losses = np.array([0, 1, 2, 4, 8]), np.array([5.0, 4.9, 3.0, 2.9, 0.1])
    at = hull(looks, losses)
    slopes = np.diff(losses[at]) / np.diff(looks[at])
    assert at[0] == 0 and at[-1] == 4 and np.all(np.diff(slopes) > 0)
    assert np.all(np.interp(looks, looks[at], losses[at]) <= losses + 1e-12)
    assert numbers_of_looks(1).tolist() == [0, 1] and numbers_of_looks(30)[-1] == 30


def test_by_name_it_explores_better_than_chance():
    world = maze(1, side=2, n_transporters=1)
    left = {name: explore(world, name, 30, seed=0).area for name in ("PIG(fluid, window=6, replan=3)", "Random")}
    assert left["PIG(fluid, window=6, replan=3)"] < left["Random"]
    method = get_strategy("pig(Fluid, window=6)").coordinate
    assert method == FluidPlan(window=6) and "PIG(fluid)" not in STRATEGIES


def test_a_kept_plan_is_followed_step_by_step_until_the_next_one():
    world = maze(1, side=2, n_transporters=1)
    run = explore(world, "Random", 9, seed=3)
    agent = make_agent(InternalModel(world.prior), get_strategy("PIG(fluid, window=6, replan=4)"), None, "numpy")
    made, differ = [], 0
    for s, a, s_next in zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False):
        agent.observe(s, a, s_next)
        plan = agent.view.memory
        made.append(plan.t)
        x = plan.x[agent.view.t - plan.t, :, s_next]
        assert agent.action_values(s_next) == pytest.approx(x / x.sum(), abs=1e-12)
        differ += agent.view.t > plan.t and not np.allclose(x / x.sum(), plan.x[0, :, s_next])
    assert differ > 0 and made[0] == 1
    assert all(t - plan_t < 4 for t, plan_t in zip(range(1, 10), made, strict=True))


def test_a_horizon_shortens_the_plan():
    explorer = Explorer(maze(1, side=2, n_transporters=1).prior, "PIG(fluid, window=8)")
    agent = explorer._agent
    agent.set_horizon(3)
    plans = []
    method = agent.coordinate
    object.__setattr__(
        method, "plan", lambda view, s, left, own=FluidPlan.plan: plans.append(own(method, view, s, left)) or plans[-1]
    )
    explorer.act(0)
    assert len(plans[-1].x) == 3


def test_messages():
    with raises(ValueError, "replan", 9, "window", 8):
        FluidPlan(window=8, replan=9)
    with raises(ValueError, "window", 3000, "rows"):
        explore(maze(0, side=2, n_transporters=1), "PIG(fluid, window=3000)", 2)
    with raises(ValueError, "prior", "Dirichlet", "OneTwoThree"):
        explore(World(np.full((1, 2, 2), 0.5), ChineseRestaurant(1.0)), "PIG(fluid)", 2)
