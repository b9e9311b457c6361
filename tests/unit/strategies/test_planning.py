"""Planners of other literatures: schedules, bonuses, draws from the posterior, and the limits in which they agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from amounts import amount
from berlyne import Dirichlet, Strategy, World, explore, maze, replay, strategy
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.models.internal_model import InternalModel
from berlyne.priors.dirichlet_draws import begin_stream, draw_log_gamma, draw_row, seeds_of
from berlyne.strategies.coordination import TrueModel, ValueIteration
from berlyne.strategies.planning import PosteriorSampling, RewardFree, RMax
from berlyne.strategies.utilities import UTILITIES
from messages import raises

CUT = maze(1, side=4).with_horizon(15)


def ring(n_states=7):
    """A ring of known steps: "on" goes on, "stay" stays."""
    s = np.arange(n_states)
    theta = np.zeros((2, n_states, n_states))
    theta[0, s, (s + 1) % n_states] = theta[1, s, s] = 1.0
    return World(theta, Dirichlet(1.0, theta > 0), start=0)


def same_path(world, one, other, n_steps=200, **options):
    runs = [explore(world, each, n_steps=n_steps, seed=5, **options) for each in (one, other)]
    return np.array_equal(runs[0].actions, runs[1].actions) and np.array_equal(runs[0].states, runs[1].states)


def plans_made(world, replan, n_steps, steps_back=4):
    """Times at which an agent in plain NumPy makes a new plan."""
    method = ValueIteration(steps_back=steps_back, replan=replan)
    run = explore(world, "Random", n_steps=n_steps, seed=1)
    agent = NumpyAgent(InternalModel(world.prior), Strategy("test", method, "PIG"))
    if world.horizon:
        agent.set_horizon(world.horizon)
    times, plan = [], agent.view.memory
    for t in range(n_steps):
        agent.observe(int(run.states[t]), int(run.actions[t]), int(run.next_states[t]))
        if agent.view.memory is not plan:
            times.append(t + 1)
            plan = agent.view.memory
    return times, run


def test_schedules_make_plans_when_they_say():
    world = maze(0, side=3, n_transporters=5)
    assert plans_made(world, 4, 13)[0] == [4, 8, 12]
    assert plans_made(world, "cubic", 30)[0] == [1, 8, 27]
    assert plans_made(world, "episode", 13)[0] == [5, 10]  # no episodes: when the plan of 5 steps is over
    assert plans_made(CUT, "episode", 31)[0] == [15, 30]
    times, run = plans_made(world, "doubling", 60)
    expected, n, planned = [], np.zeros((4, 9)), np.zeros((4, 9))
    for t in range(60):
        a, s = run.actions[t], run.states[t]
        n[a, s] += 1
        if n[a, s] - planned[a, s] >= max(1, planned[a, s]):
            expected.append(t + 1)
            planned = n.copy()
    assert times == expected and 1 < len(times) < 60


@pytest.mark.parametrize("world", [maze(1, side=4), CUT], ids=["continuing", "cut"])
def test_a_plan_that_is_made_every_step_is_value_iteration(world):
    assert same_path(world, "PIG(VI)", "PIG(VI, replan=1)")
    assert not same_path(world, "PIG(VI)", "PIG(VI, replan=7)")


@pytest.mark.parametrize("replan", ["step", "episode", "doubling", "cubic", 7])
@pytest.mark.parametrize("name", ["PIG(VI)", "log_visits(VI)", "RF-UCRL", "MaxEnt", "R-max(VI)", "PSRL(PIG)"])
def test_kernels_and_numpy_keep_the_same_plans(name, replan):
    for world in (maze(2, side=4), CUT):
        one = strategy(name, replan=replan)
        runs = [explore(world, one, n_steps=amount(75, 150), seed=2, engine=engine) for engine in ("compiled", "numpy")]
        assert np.array_equal(runs[0].actions, runs[1].actions)


@pytest.mark.parametrize(
    "parameters",
    [
        {"gamma": 0.9}, {"cap": 2.0}, {"bonus": "express", "cap": 1.0}, {"bonus": "entropy", "cap": 0.5},
        {"bonus": "entropy", "scale": 0.01, "gamma": 0.9}, {"bonus": "state_entropy", "scale": 0.02},
        {"bonus": "state_entropy", "cap": 0.5, "scale": 0.05},
    ],
)  # fmt: skip
def test_kernels_and_numpy_agree_on_the_parameters_of_reward_free_plans(parameters):
    one = Strategy("test", RewardFree(steps_back=9, **parameters))
    other = Strategy("test", RewardFree(steps_back=9, **{**parameters, "gamma": 0.2}))
    runs = [explore(CUT, one, n_steps=300, seed=2, engine=engine) for engine in ("compiled", "numpy")]
    assert np.array_equal(runs[0].actions, runs[1].actions)
    assert "cap" in parameters or not same_path(CUT, one, other)


@pytest.mark.parametrize("parameters", [{}, {"gamma": 0.9, "m": 1}, {"m": 3, "steps_back": 2}])
def test_kernels_and_numpy_agree_on_the_parameters_of_r_max(parameters):
    one = Strategy("test", RMax(**parameters))
    for world in (maze(2, side=4), CUT):
        runs = [explore(world, one, n_steps=300, seed=2, engine=engine) for engine in ("compiled", "numpy")]
        assert np.array_equal(runs[0].actions, runs[1].actions)


def test_names_contain_the_parameters_and_are_parsed():
    assert strategy("R-max(VI, m=5)") == strategy("R-max(VI)", m=5)
    assert strategy("r-max(vi, m=2)").coordinate == RMax(m=2) and strategy("R-max(VI)").utility is None
    assert strategy("R-max(greedy, m=2)").utility == "R-max[m=2]" and strategy("R-max(Q)").utility == "R-max"
    assert strategy("MaxEnt(states, scale=0.1)").coordinate == RewardFree(bonus="state_entropy", scale=0.1)
    assert strategy("PIG(VI, replan=12)").coordinate.replan == 12
    assert strategy("PIG(VI, replan=episode)").coordinate.replan == "episode"
    assert strategy("BEB(VI, beta=0.5, gamma=0.9)").coordinate.gamma == 0.9
    assert strategy("RF-UCRL(steps_back=9, delta=0.05)").coordinate == RewardFree(steps_back=9, delta=0.05)
    assert strategy("PSRL(PIG, replan=doubling)").coordinate.replan == "doubling"
    assert "R-max[m=2]" not in list(UTILITIES) and "R-max[m=2]" in UTILITIES and "R-max[n=2]" not in UTILITIES


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("R-max(VI, m=0)", ("m", 0)), ("R-max(VI, m=1.5)", ("m", 1.5)), ("BEB(VI, beta=-1)", ("beta", -1.0)),
        ("PIG(VI, replan=never)", ("replan", "'never'", "doubling")), ("PIG(VI, replan=0)", ("replan", 0)),
        ("RF-UCRL(delta=0)", ("delta", 0.0)), ("RF-UCRL(bonus=big)", ("bonus", "'big'", "'express'")),
        ("RF-UCRL(cap=-1)", ("cap", -1.0)), ("PIG(VI, m=3)", ("'m'",)), ("MaxEnt(scale=-1)", ("scale", -1.0)),
        ("R-max(greedy, m=0)", ("m", 0)),
    ],
)  # fmt: skip
def test_invalid_parameters_are_named(name, words):
    with raises(ValueError, *words):
        strategy(name)


def test_the_true_world_is_planned_with_at_every_step():
    with raises(ValueError, "replan", "'episode'"):
        TrueModel(ValueIteration(replan="episode"))


def test_beb_without_a_bonus_acts_at_random():
    assert same_path(maze(1, side=4), "BEB(VI, beta=0)", "Random")
    assert not same_path(maze(1, side=4), "BEB(VI)", "Random")


def test_beb_uses_pseudo_counts_if_there_are_any():
    agent = NumpyAgent(InternalModel(Dirichlet(0.5, n_states=4, n_actions=1)), strategy("BEB(VI, beta=3)"))
    agent.observe(0, 0, 1)
    assert agent.utility()[0] == pytest.approx([3 / 4, 1, 1, 1])


def test_r_max_tries_every_row_m_times_before_any_row_more_often():
    world = ring()
    for m in (1, 3):
        run = explore(world, f"R-max(VI, m={m})", n_steps=300, seed=0)
        n, first = np.zeros((2, 7), dtype=int), None
        for t in range(300):
            n[run.actions[t], run.states[t]] += 1
            if first is None and n.min() >= m:
                first = t + 1
        assert first is not None and first <= m * 14 + 14  # at most two rounds are needed to walk to the last ones


def steps_to_untried(n, next_state, s):
    """Return the number of steps from state s to a row that was never tried, by breadth-first search."""
    distance, queue = {s: 0}, [s]
    for state in queue:
        if np.any(n[:, state] == 0):
            return distance[state]
        for a in range(len(n)):
            z = int(next_state[a, state])
            if z not in distance:
                distance[z] = distance[state] + 1
                queue.append(z)
    return None


def test_r_max_with_m_1_goes_to_the_nearest_row_that_was_never_tried():
    """In a world of certain outcomes; its prior admits all states, so the explorer does not know that."""
    next_state = np.random.default_rng(3).integers(12, size=(3, 12))
    world = World(np.eye(12)[next_state], Dirichlet(0.5, n_states=12, n_actions=3), start=0)
    run = explore(world, "R-max(VI, m=1, steps_back=11)", n_steps=120, seed=1)
    n, checked = np.zeros((3, 12), dtype=int), 0
    for t in range(120):
        s, a = int(run.states[t]), int(run.actions[t])
        before = steps_to_untried(n, next_state, s)
        if before == 0:
            assert n[a, s] == 0
        elif before is not None:
            checked += 1
            assert steps_to_untried(n, next_state, int(next_state[a, s])) == before - 1
        n[a, s] += 1
    assert checked >= 5 and np.all(n[:, np.unique(run.states)] > 0)


def test_unknown_rows_of_r_max_are_worth_the_highest_reward_for_ever():
    """Two of three observations of row (0, 1) lead to state 3; all other rows are unknown, or known to stay."""
    agent = NumpyAgent(InternalModel(Dirichlet(1.0, n_states=4, n_actions=2)), strategy("R-max(VI, m=3, gamma=0.5)"))
    for s, a, s_next in [(1, 0, 3), (1, 0, 3), (1, 0, 2)] + [(1, 1, 1)] * 3 + [(2, a, 2) for a in (0, 1)] * 3:
        agent.observe(s, a, s_next)
    q = agent.view.memory.q
    assert q[:3, 0, 0] == pytest.approx([1, 1.5, 1.75])  # unknown
    assert q[:3, 0, 2] == pytest.approx([0, 0, 0])  # known, and leads nowhere
    assert q[:3, 0, 1] == pytest.approx([0, 0.5 * 2 / 3, 0.5 * 2 / 3 * 1.5])
    assert q[2, 1, 1] == pytest.approx(0.5 * q[1, 0, 1])


def test_posterior_sampling_with_a_certain_posterior_is_value_iteration():
    for schedule in ("episode", "doubling", 3):
        one = Strategy("sampled", PosteriorSampling(replan=schedule), "count_bonus")
        other = Strategy("planned", ValueIteration(replan=schedule), "count_bonus")
        assert same_path(ring(), one, other)
    uncertain = maze(1, side=4)
    assert not same_path(uncertain, one, other)


def test_posterior_sampling_differs_with_the_seed_and_not_otherwise():
    world = World(maze(1, side=4).theta, Dirichlet(0.3, n_states=16, n_actions=4))
    seeds = [np.random.SeedSequence(i) for i in (0, 0, 1)]
    agents = [NumpyAgent(InternalModel(world.prior), strategy("PSRL(PIG, replan=1)"), seed=seed) for seed in seeds]
    for agent in agents:
        for a in range(4):
            agent.observe(0, a, 1)
    plans = [agent.view.memory.q for agent in agents]
    assert np.array_equal(plans[0], plans[1]) and not np.allclose(plans[0], plans[2])


def test_reward_free_bonuses_are_those_of_the_sources():
    model = InternalModel(Dirichlet(1.0, n_states=5, n_actions=2))
    agent = NumpyAgent(model, Strategy("ucrl", RewardFree(steps_back=2, gamma=0.9)))
    agent.observe(0, 1, 3)
    agent.observe(0, 1, 4)
    agent.coordinate.start(agent.view)
    q, horizon = agent.view.memory.q, 3
    beta = math.log(2 * 5 * 2 * horizon / 0.1) + 4 * math.log(math.e * (1 + 2 / 4))
    beta_0 = math.log(2 * 5 * 2 * horizon / 0.1) + 4
    bonus, bonus_0 = 0.9 * math.sqrt(beta / 2), 0.9 * math.sqrt(beta_0)
    assert q[0, 1, 0] == pytest.approx(bonus) and q[0, 0, 0] == pytest.approx(bonus_0)
    assert q[1, 1, 0] == pytest.approx(1.9 * bonus + 0.9 * bonus_0)  # relative frequencies: states 3 and 4
    express = NumpyAgent(model, Strategy("express", RewardFree(steps_back=2, bonus="express")))
    beta_0 = math.log(3 * 5 * 2 * horizon / 0.1) + 5 * math.log(8 * math.e)
    assert express.view.memory.q[1, 0, 0] == pytest.approx(beta_0 * (2 + 1 / 3))
    capped = NumpyAgent(model, Strategy("capped", RewardFree(steps_back=2, cap=1.0)))
    assert capped.view.memory.q[2, 0, 0] == pytest.approx(3 * math.sqrt(math.log(600) + 4) + 2.0, abs=0.3)


def test_rewards_of_entropy_are_those_of_the_source():
    model = InternalModel(Dirichlet(1.0, n_states=5, n_actions=2))
    for bonus, scale in (("entropy", 1.0), ("entropy", 0.0), ("state_entropy", 0.5)):
        agent = NumpyAgent(model, Strategy("test", RewardFree(steps_back=2, gamma=0.9, bonus=bonus, scale=scale)))
        for a, s_next in ((1, 3), (1, 4), (0, 3)):
            agent.observe(0, a, s_next)
        agent.coordinate.start(agent.view)
        q, pairs = agent.view.memory.q, bonus == "entropy"
        largest = math.log(3 + (10 if pairs else 5))
        beta = math.log(4 * 5 * 2 * 3 / 0.1) + 4 * math.log(math.e * (1 + 2 / 4))
        beta_0 = math.log(4 * 5 * 2 * 3 / 0.1) + 4
        reward, optimism = largest - math.log(3 if pairs else 4), scale * largest * math.sqrt(beta / 2)
        assert q[0, 1, 0] == pytest.approx(reward + optimism)
        assert q[0, 1, 2] == pytest.approx(largest + scale * largest * math.sqrt(beta_0))
        assert q[1, 1, 0] == pytest.approx(reward + 1.9 * optimism + 0.9 * q[0, 1, 2])  # relative frequencies


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("replan", ["episode", "doubling"])
def test_a_replay_with_the_seed_of_the_run_draws_the_same_worlds(replan, engine):
    world = World(CUT.theta, Dirichlet(0.1, n_states=16, n_actions=4), start=0, horizon=15)
    name = f"PSRL(PIG, replan={replan})"
    run = explore(world, name, n_steps=150, seed=3)
    same, other = (np.exp(replay(world, run, name, seed=seed, engine=engine).log_likelihood) for seed in (3, 4))
    assert float(same.min()) >= 0.25 and float(same[75:].min()) > 0.4  # ties at first
    assert float(other.min()) == 0.0


@pytest.mark.parametrize("shape", [0.02, 0.7, 1.0, 30.0])
def test_gamma_variates_follow_their_law(shape):
    state, u = seeds_of(np.random.SeedSequence(1)), np.empty(4)
    logs = np.array([draw_log_gamma(shape, state, u) for _ in range(4000)])
    assert stats.kstest(logs, lambda x: stats.loggamma.cdf(x, shape)).pvalue > 0.01


def test_rows_have_the_moments_of_a_dirichlet_and_no_impossible_outcome():
    mean, state = np.array([0.5, 0.0, 0.3, 0.2]), seeds_of(None)
    rows = np.array([draw_row(mean, 4.0, state) for _ in range(4000)])
    assert np.all(rows[:, 1] == 0.0) and rows.sum(axis=1) == pytest.approx(1.0)
    error = np.sqrt(mean * (1 - mean) / 5 / 4000)
    assert np.all(np.abs(rows.mean(axis=0) - mean) <= 4 * error)
    assert rows.var(axis=0) == pytest.approx(mean * (1 - mean) / 5, rel=0.1)


def test_streams_of_different_times_are_parts_of_one_sequence():
    seeds, direct, jumped = seeds_of(None), np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    begin_stream(direct, seeds, 0)
    assert np.array_equal(direct, seeds)
    begin_stream(jumped, seeds, 5)
    numbers = zip(seeds.tolist(), (40014, 40692), (2147483563, 2147483399), strict=True)
    assert jumped.tolist() == [s * pow(a, 5 * 2**24, m) % m for s, a, m in numbers]


def test_generative_samples_all_rows_evenly():
    world = maze(0, side=3, n_transporters=5)
    run = explore(world, "Generative", n_steps=3 * 36 + 5, seed=0)
    n = np.zeros((4, 9), dtype=int)
    np.add.at(n, (run.actions, run.states[:-1]), 1)
    assert n.min() == 3 and n.max() == 4
