"""Bounds against the best explorer, found by exhaustive search in small worlds."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from berlyne import Dirichlet, OneTwoThree, World
from berlyne.bounds import fluid
from berlyne.bounds.flow import flow_equations
from berlyne.engine.looks import expected_losses, stopping_value
from oracles.best_explorer import row_loss, smallest_loss

LOSSES = ("missing information", "l1")


def random_world(seed, n_states=2, n_actions=2, **options):
    """Return a world whose rows and prior are drawn at random, so that the prior is wrong about it."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_states, 0.7), size=(n_actions, n_states))
    theta[theta < 0.05] = 0.0
    theta /= theta.sum(axis=-1, keepdims=True)
    alpha = rng.choice([0.1, 0.5, 1.0, 2.0], size=theta.shape)
    return World(theta, Dirichlet(alpha, n_states=n_states, n_actions=n_actions), **options)


WORLDS = {
    "two states": lambda: (random_world(0, start=0), 6),
    "two states, uniform start": lambda: (random_world(1), 5),
    "three states": lambda: (random_world(2, 3, start=0), 4),
    "three states, one terminal": lambda: (random_world(3, 3, start=0, terminal=[2]), 5),
    "three states, cut after two steps": lambda: (random_world(4, 3, start=1, horizon=2), 5),
    "terminal and cut": lambda: (random_world(6, 3, start={0: 0.5, 1: 0.5}, terminal=[2], horizon=3), 5),
    "an action is forbidden": lambda: (
        random_world(7, 3, start=0, possible=np.array([[True] * 3, [False, True, True]])),
        5,
    ),
    "four outcomes of one action": lambda: (random_world(8, 4, 1, start=0), 7),
    "five outcomes of one action": lambda: (random_world(9, 5, 1, start=0), 5),
    "1-2-3": lambda: (
        World(OneTwoThree(3, n_actions=2).sample(3), OneTwoThree(3, n_actions=2), start=1),
        6,
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", WORLDS)
def test_no_explorer_that_adapts_stays_below_the_bound(name, loss):
    world, n_steps = WORLDS[name]()
    bound = fluid(world, n_steps, loss, policies="adaptive")
    best = [smallest_loss(world, t, loss) for t in range(n_steps + 1)]
    assert bound.value <= best[-1] + 1e-6
    assert np.all(bound.curve <= np.array(best) + 1e-6)
    assert bound.initial == pytest.approx(best[0]) and bound.curve[0] == pytest.approx(best[0])
    assert bound.value > 0.2 * best[-1]  # it is not empty


def test_an_explorer_that_adapts_can_stay_below_the_program_of_fixed_looks():
    """The counter-example of docs/explanation/bounds.md: after a look that was right, look elsewhere."""
    world, n_steps = WORLDS["two states"]()
    best = smallest_loss(world, n_steps)
    assert (
        fluid(world, n_steps, policies="adaptive").value < best < 0.75 * fluid(world, n_steps, policies="fixed").value
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_if_every_action_has_one_outcome_both_bounds_agree_and_hold(loss):
    theta = np.eye(3)[[[1, 2, 0], [0, 0, 1]]]
    world = World(theta, Dirichlet(0.5, n_states=3, n_actions=2), start=0)
    fixed, adaptive = (fluid(world, 6, loss, policies=policies) for policies in ("fixed", "adaptive"))
    best = smallest_loss(world, 6, loss)
    assert fixed.value == pytest.approx(adaptive.value) and 0.9 * best < fixed.value <= best + 1e-9


@pytest.mark.parametrize("name", ["two states", "terminal and cut", "1-2-3"])
def test_the_area_is_at_least_that_of_the_bound(name):
    world, best = WORLDS[name]()[0], smallest_loss(WORLDS[name]()[0], 5, area=True)
    assert 0.5 * best < fluid(world, 5).area <= best + 1e-6


def expected_visits(world, policy, n_steps):
    """Return expected visits [phase, a, s] and the last distribution [phase, s] of a Markov policy [phase, a, s]."""
    n_phases, p0 = len(policy), world.episodes.distribution
    now = np.zeros((n_phases, world.n_states))
    now[0], visits, ended = p0, np.zeros(policy.shape), 0.0
    for _ in range(n_steps):
        looks = policy * now[:, None]
        visits += looks
        arrive = np.einsum("has,asz->hz", looks, world.theta)
        arrive[:, world.terminal] = 0.0
        now = np.zeros_like(now)
        if n_phases > 1:
            now[1:] = arrive[:-1]
        elif world.horizon is None:
            now += arrive
        ended += 1.0 - now.sum()
        now[0] += p0 * (1.0 - now.sum())
    return visits, now, ended


@pytest.mark.parametrize(
    "name", ["three states, one terminal", "three states, cut after two steps", "terminal and cut"]
)
def test_every_policy_satisfies_the_flow_equations(name):
    world, _ = WORLDS[name]()
    n_steps, n_phases = 11, world.horizon or 1
    policy = np.random.default_rng(1).dirichlet(np.ones(2), size=(n_phases, world.n_states)).transpose(0, 2, 1)
    visits, last, ended = expected_visits(world, policy, n_steps)
    flow = flow_equations(world, n_steps)
    rows = flow.row.reshape(n_phases, -1)[0]
    of_rows = visits.transpose(0, 2, 1).reshape(n_phases, -1)[:, rows]
    solution = np.concatenate([of_rows.ravel(), last.ravel(), [ended]])
    assert flow.matrix @ solution == pytest.approx(flow.at_start + n_steps * flow.per_step)


def test_without_phases_cuts_are_allowed_anywhere_and_the_bound_is_lower(monkeypatch):
    world, n_steps = WORLDS["terminal and cut"]()
    exact = fluid(world, n_steps).value
    for limit in ("MAX_VISITS", "MAX_LEVELS"):
        monkeypatch.setattr(f"berlyne.bounds.flow.{limit}", 0)
    relaxed = fluid(world, n_steps)
    assert relaxed._program.flow.matrix.shape[0] < flow_equations(world.with_horizon(None), 5).matrix.shape[0] + 2
    assert relaxed._program.flow.per_step[-2:].tolist() == [1 / 3, 1.0]  # one cut in three steps at most
    assert 0.8 * exact < relaxed.value <= exact + 1e-9


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("theta", [0.003, 0.3, 0.95, 1.0])
def test_expected_losses_are_binomial_expectations(theta, absolute):
    looks = np.array([0, 1, 2, 17, 500])
    for n, expected in zip(looks, expected_losses(theta, 0.25, 1.5, looks, absolute), strict=True):
        k = np.arange(n + 1)
        p = (0.25 + k) / (1.5 + n)
        loss = np.abs(theta - p) if absolute else theta * np.log2(theta / p) - (theta - p) / np.log(2)
        assert expected == pytest.approx(binom.pmf(k, n, theta) @ loss, rel=1e-9, abs=1e-15)


def stop(theta, alpha, price, loss, n_looks):
    """Return the smallest expectation of loss + price * looks of a row, by recursion; at most `n_looks` looks."""

    @cache
    def best(counts, left):
        now = row_loss(theta, (alpha + counts) / (alpha.sum() + sum(counts)), loss)
        if left == 0:
            return now
        after = [best(tuple(np.add(counts, step)), left - 1) for step in np.eye(len(theta), dtype=int).tolist()]
        return min(now, price + float(theta @ after))

    return best((0,) * len(theta), n_looks)


@pytest.mark.parametrize("loss", LOSSES)
def test_stopping_values_are_lower_bounds_that_grow_to_those_of_recursion(loss):
    """The recursion must stop after 20 looks. At this price it stops earlier, so that its value is nearly exact."""
    theta, alpha, price = np.array([0.15, 0.25, 0.6]), np.array([0.5, 1.0, 0.3]), 0.12
    exact = stop(theta, alpha, price, loss, 20)
    padded = [np.insert(x, 2, 0.0) for x in (theta, alpha)]
    values = [
        stopping_value(*padded, alpha.sum(), price, np.zeros(depth + 1), True, loss == "l1") for depth in range(21)
    ]
    assert np.all(np.diff(values) >= -1e-12)
    assert values[0] == pytest.approx(price) and values[-1] == pytest.approx(exact, rel=1e-3)
    assert values[-1] <= exact + 1e-12


def test_two_tracked_outcomes_of_a_larger_row():
    """Their loss alone, without that of the rest: by recursion over a row of four outcomes."""
    theta, alpha = np.array([0.2, 0.3, 0.1, 0.4]), np.array([0.5, 1.0, 0.25, 0.25])

    def share(counts, left):
        p = (alpha + counts) / (alpha.sum() + counts.sum())
        now = np.abs(theta - p)[:2].sum()
        if left == 0:
            return min(now, 0.05)
        return min(now, 0.05 + theta @ [share(counts + step, left - 1) for step in np.eye(4)])

    tracked = np.array([*theta[:2], 0.0, 0.5]), np.array([*alpha[:2], 0.0, 0.0])
    value = stopping_value(*tracked, alpha.sum(), 0.05, np.zeros(6), False, True)
    assert value == pytest.approx(share(np.zeros(4), 5))
