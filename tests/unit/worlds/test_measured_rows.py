"""Rows of states that cannot be reached do not count as missing information, unless rows="all"."""

import itertools

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, InternalModel, OneTwoThree, World, explore

N_STATES = 7


def world_with_hidden_states(prior=None, start=0, terminal=(4,)):
    """States 0 to 3 reach each other and the end 4; 5 and 6 lead there, but are never reached."""
    rng = np.random.default_rng(0)
    theta = np.zeros((2, N_STATES, N_STATES))
    theta[:, :4, :5] = rng.dirichlet(np.ones(5), (2, 4))
    theta[:, 4:] = rng.dirichlet(np.ones(N_STATES), (2, 3))
    prior = Dirichlet(0.4, n_states=N_STATES, n_actions=2) if prior is None else prior
    return World(theta, prior, start=start, terminal=terminal)


def reachable_by_hand(world, starts):
    """Follow all transitions of nonterminal states until nothing is new."""
    met = set(starts)
    while True:
        leads_to = {int(z) for s in met - set(world.terminal) for z in np.flatnonzero(world.theta[:, s].any(axis=0))}
        if leads_to <= met:
            return met
        met |= leads_to


def missing_by_hand(run, counted):
    """Missing information and L1 distance before the first and after every step, from counts and concentration."""
    theta, curves = run.world.theta, []
    counts = np.zeros(theta.shape)
    rows = list(itertools.product(range(len(theta)), sorted(counted)))
    for t in range(run.n_steps + 1):
        c = counts + (run.world.prior.alpha if run.learned is None else run.learned[t])
        theta_hat = c / c.sum(axis=-1, keepdims=True)
        missing = 0.0
        for row in rows:
            p, q = theta[row][theta[row] > 0], theta_hat[row][theta[row] > 0]
            missing += float(np.sum(p * np.log2(p / q)))
        curves.append([missing, sum(np.abs(theta[row] - theta_hat[row]).sum() for row in rows)])
        if t < run.n_steps:
            counts[run.actions[t], run.states[t], run.next_states[t]] += 1
    return np.transpose(curves)


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("alpha", [0.4, "ml"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "Random", "Unembodied"])
@pytest.mark.parametrize("rows", ["reachable", "all"])
def test_curves_count_the_rows_that_can_be_reached(rows, strategy, alpha, engine):
    world = world_with_hidden_states(Dirichlet(alpha, n_states=N_STATES, n_actions=2))
    run = explore(world, strategy, 120, seed=1, engine=engine, rows=rows)
    counted = {0, 1, 2, 3} if rows == "reachable" else {0, 1, 2, 3, 5, 6}
    assert run.rows == rows
    missing, l1 = missing_by_hand(run, counted)
    assert run.missing_information == pytest.approx(missing, rel=1e-9)
    assert run.l1_distance == pytest.approx(l1, rel=1e-9)
    assert run.model.missing_information(run.world) == pytest.approx(missing[-1], rel=1e-9)
    expected = run.model.expected_missing_information(without=sorted(set(range(N_STATES)) - counted)).bits
    assert run.expected_missing_information[-1] == pytest.approx(expected, rel=1e-9)
    assert set(np.unique(run.states[:-1])) == (counted if strategy == "Unembodied" else {0, 1, 2, 3})


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
def test_a_prior_that_discovers_states_counts_the_same_rows():
    world = world_with_hidden_states(berlyne.ChineseRestaurant(1.0))
    some, everything = (explore(world, "PIG(VI)", 80, seed=1, rows=rows) for rows in ("reachable", "all"))
    for t in (0, 80):
        model, counted = some.model_at(t), some.world.is_measured
        assert some.missing_information[t] == pytest.approx(
            model.missing_information_by_row(some.world).sum(), rel=1e-9
        )
        by_row = everything.model_at(t).missing_information_by_row(everything.world)
        assert everything.missing_information[t] == pytest.approx(by_row.sum(), rel=1e-9)
        assert some.missing_information[t] == pytest.approx(by_row[:, counted].sum(), rel=1e-9)
        assert by_row[:, ~counted].sum() > 1.0


@pytest.mark.parametrize("terminal", [(), (4,), (1,), (4, 6)])
@pytest.mark.parametrize("start", [None, 0, 5, {2: 0.5, 6: 0.5}])
def test_states_are_reached_from_the_start_distribution(start, terminal):
    world = world_with_hidden_states(
        start=None if start == {2: 0.5, 6: 0.5} and 6 in terminal else start, terminal=terminal
    )
    if world.start is None:
        starts = set(range(N_STATES)) - set(terminal)
    else:
        starts = {world.start} if isinstance(world.start, int) else set(np.flatnonzero(world.start).tolist())
    assert set(np.flatnonzero(world.reachable)) == reachable_by_hand(world, starts)
    np.testing.assert_array_equal(world.is_measured, world.reachable & ~world.episodes.is_terminal)
    assert np.all(world.with_measured("all").is_measured == ~world.episodes.is_terminal)


@pytest.mark.parametrize("start", [0, 5, 4, {1: 1.0}])
def test_the_start_of_an_exploration_decides(start):
    world = world_with_hidden_states(terminal=(), start=None)
    run = explore(world, "Random", 20, start=start)
    starts = list(start) if isinstance(start, dict) else [start]
    assert set(np.flatnonzero(run.world.is_measured)) == reachable_by_hand(world, starts)


def test_later_episodes_begin_where_they_did():
    theta = world_with_hidden_states().theta
    theta[:, 5] = np.eye(N_STATES)[4]  # from 5 the episode ends at once, and the next one begins in 0
    world = World(theta, Dirichlet(0.4, n_states=N_STATES, n_actions=2), start=0, terminal=[4])
    run = explore(world, "Random", 200, start=5)
    assert run.world.reachable.tolist() == [True] * 6 + [False] and run.n_episodes > 3
    counted = np.flatnonzero(run.world.is_measured)
    assert run.missing_information == pytest.approx(missing_by_hand(run, counted)[0], rel=1e-9)


def test_nothing_changes_in_worlds_whose_states_can_all_be_reached():
    for world in (berlyne.dense_world(0), berlyne.maze(0), berlyne.one_two_three_world(0)):
        assert np.all(world.reachable) and np.all(world.is_measured)
        assert explore(world, "Random", 3, start=2).world is world
        model = InternalModel(world.prior)
        assert model.missing_information(world) == model.missing_information(world, rows="all")
    assert isinstance(world.prior, OneTwoThree)


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
def test_taxi_has_96_states_out_of_reach():
    world = berlyne.from_gymnasium("Taxi-v4", alpha=1 / 500)
    assert np.count_nonzero(~world.reachable) == 96
    model = InternalModel(world.prior)
    some, everything = model.missing_information(world), model.missing_information(world, rows="all")
    unmeasured = np.setdiff1d(np.flatnonzero(~world.is_measured), world.terminal)
    assert everything - some == pytest.approx(6 * len(unmeasured) * np.log2(500), rel=1e-9)  # deterministic rows
    run = explore(world, "Unembodied", 3000)
    assert np.all(world.reachable[run.states]) and run.missing_information[0] == pytest.approx(some)


def test_invalid_rows_are_refused():
    with pytest.raises(ValueError, match=r"rows is 'some'.*'reachable' or 'all'"):
        explore(world_with_hidden_states(), "Random", 3, rows="some")


def test_files_and_fingerprints_keep_which_rows_count(tmp_path):
    from berlyne.experiments.worlds import fingerprint

    world = world_with_hidden_states()
    everything = world.with_measured("all")
    everything.save(tmp_path / "all.npz")
    assert berlyne.load_world(tmp_path / "all.npz").measured == "all" and world.measured == "reachable"
    assert fingerprint(everything) != fingerprint(world) == fingerprint(everything.with_measured("reachable"))
    assert everything.with_prior(Dirichlet(2.0, n_states=N_STATES, n_actions=2)).measured == "all"
    assert world.with_measured("all") is everything and everything.rows is world.rows


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("rows", ["reachable", "all"])
def test_the_page_counts_the_same_rows(rows):
    from berlyne.watch.beliefs import belief_events

    run = explore(world_with_hidden_states(), "PIG(VI)", 30, rows=rows)
    events = belief_events(run)
    first = events.time == 0
    assert events.missing[first].sum() == pytest.approx(run.missing_information[0], rel=1e-9)
