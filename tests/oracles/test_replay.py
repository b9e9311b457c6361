"""Replay against an independent NumPy version: estimates, PIG by enumeration, planning, softmax, digamma."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import digamma

from berlyne import Dirichlet, explore, maze, one_two_three_world, replay
from berlyne.strategies.registry import get_strategy
from oracles.enumerate_123 import Row

N_STATES, N_ACTIONS, ALPHA = 5, 3, 0.7


def pig_of(c):
    """sum_s* c_s*/kappa D(after || now), outcome by outcome."""
    now, gain = c / c.sum(), 0.0
    for s_star in np.flatnonzero(c):
        after = c.copy()
        after[s_star] += 1
        after /= after.sum()
        inside = c > 0
        gain += now[s_star] * np.sum(after[inside] * np.log2(after[inside] / now[inside]))
    return gain


def expected_missing(c):
    """E[sum theta log2 theta] - sum theta_hat log2 theta_hat of a Dirichlet row."""
    c = c[c > 0]
    mean = c / c.sum()
    return np.sum(mean * (digamma(c + 1) - digamma(c.sum() + 1)) / np.log(2)) - np.sum(mean * np.log2(mean))


def by_hand(c, lines, temperature, lapse, steps_back, gamma):
    """Values, log-likelihoods and expected missing information along a history; `c` are pseudo-counts."""
    c = c.copy()
    values, logs, left = [], [], []
    for s, a, s_next in lines:
        theta_hat = c / c.sum(axis=-1, keepdims=True)
        utility = np.apply_along_axis(pig_of, -1, c)
        q = utility
        for _ in range(steps_back):
            q = utility + gamma * np.einsum("asz,z->as", theta_hat, q.max(axis=0))
        q = q[:, s]
        if temperature:
            chance = np.exp((q - q.max()) / temperature)
        else:
            chance = (q > q.max() - 1e-11).astype(float)
        chance = (1 - lapse) * chance / chance.sum() + lapse / len(q)
        values.append(q)
        with np.errstate(divide="ignore"):
            logs.append(np.log(chance[a]))
        left.append(np.apply_along_axis(expected_missing, -1, c).sum())
        c[a, s, s_next] += 1
    return np.array(values), np.array(logs), np.array(left)


@pytest.mark.parametrize(("temperature", "lapse"), [(0.0, 0.0), (0.0, 0.1), (0.15, 0.0), (0.4, 0.05)])
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("kind", ["dense", "maze"])
def test_planning_in_a_dirichlet_world(kind, engine, temperature, lapse):
    rng = np.random.default_rng(8)
    if kind == "dense":
        prior = Dirichlet(ALPHA, n_states=N_STATES, n_actions=N_ACTIONS)
        pseudo = np.full((N_ACTIONS, N_STATES, N_STATES), ALPHA)
        lines = np.stack([rng.integers(n, size=60) for n in (N_STATES, N_ACTIONS, N_STATES)], axis=1)
    else:
        world = maze(3, side=3, n_transporters=4)
        prior, pseudo = world.prior, world.prior.alpha * (world.prior.estimate(np.zeros((4, 9, 9), dtype=int)) > 0)
        run = explore(world, "Random", n_steps=60, seed=1)
        lines = np.stack([run.states[:-1], run.actions, run.next_states], 1)
    strategy = get_strategy("PIG(VI)", steps_back=4, gamma=0.9, temperature=temperature, lapse=lapse)
    seen = replay(prior, lines, strategy, engine=engine)
    values, logs, left = by_hand(pseudo, lines.tolist(), temperature, lapse, 4, 0.9)
    assert seen.action_values.values == pytest.approx(values, abs=1e-10)
    assert seen.log_likelihood.values == pytest.approx(logs, abs=1e-8)
    assert seen.expected_missing_information.values == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_expected_missing_information_in_a_1_2_3_world_by_enumeration_of_target_sets(engine):
    world = one_two_three_world(4, n_states=6)
    run = explore(world, "PIG(VI)", n_steps=80, seed=5)
    seen = replay(world, run, "PIG(VI)", engine=engine)
    escape = Fraction(world.prior.p_escape).limit_denominator(1000)
    rows = {(s, a): Row.unseen(6, a + 1, escape) for s in range(6) for a in range(3)}
    missing = {key: left_in(row) for key, row in rows.items()}
    lines = np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
    for t, (s, a, s_next) in enumerate(lines.tolist()):
        assert float(seen.expected_missing_information[t]) == pytest.approx(sum(missing.values()), abs=1e-9)
        rows[s, a] = rows[s, a].seeing(s_next)
        missing[s, a] = left_in(rows[s, a])
        assert float(seen.expected_missing_information_after[t]) == pytest.approx(sum(missing.values()), abs=1e-9)


def left_in(row):
    return row.expected_missing(row.estimate())
