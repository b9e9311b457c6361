"""Kernels that plan for tasks."""

import numpy as np
import pytest

import berlyne
import berlyne.tasks
from berlyne import Dirichlet, OneTwoThree, World
from berlyne.engine.jit import kernel
from berlyne.engine.successor_graph import Graph, round_up, slot_weights
from berlyne.engine.tasks import lanes, navigate
from berlyne.engine.tasks.eliminate import Equations
from berlyne.engine.tasks.eliminate import solve as solve_inline
from berlyne.engine.tasks.lanes import LANES, Chain
from berlyne.engine.tasks.models import Layout, Reader
from berlyne.sparse import Counts, Rows
from berlyne.strategies.choice import TIE_TOLERANCE
from berlyne.tasks import Tasks
from messages import raises
from unit.engine.kernels import as_kernel

solve, best_actions = as_kernel(solve_inline), as_kernel(navigate.best_actions)


@kernel
def sums(out, chain, x, s):
    lanes.expected_values(out, chain, x, s)


@kernel
def add_weighted(out, o, base, weight, succ, x, first, last):
    lanes.set_line(out, o, lanes.add_weighted(lanes.line(base, o), weight, succ, x, first, last))


@kernel
def value_of_best(q, real, n_actions, lowest, s, best, value):
    largest = lanes.line_maximum(q, n_actions)
    lanes.set_line(best, s, largest)
    lanes.set_line(value, s, lanes.value_of_best(largest, q, real, n_actions, lowest))


@kernel
def share_among_tied(q, n_actions, lowest, s, taken):
    navigate.share_among_tied(q, n_actions, lowest, s, taken)


@pytest.mark.parametrize("n_actions", range(1, 10))
def test_sums_over_slots_are_matrix_products(n_actions):
    rng, stride = np.random.default_rng(n_actions), round_up(n_actions)
    x, weight, out = rng.random((6, LANES)), rng.random((9, stride)), np.zeros((stride + 1, LANES))
    succ = rng.integers(6, size=9).astype(np.int32)
    start, length = np.array([0, 2, 6, 7, 7, 7]), np.array([2, 4, 1, 0, 1, 1], dtype=np.int32)
    chain = Chain(Graph(start, length, succ, n_actions, stride, 0), weight.ravel())
    for s, begin, end in ((1, 2, 6), (0, 0, 2), (2, 6, 7)):
        sums(out.ravel(), chain, x.ravel(), s)
        expected = weight[begin:end, :n_actions].T @ x[succ[begin:end]]
        assert out[:n_actions] == pytest.approx(expected, rel=1e-14)
        assert not out[stride].any()  # nothing is written behind the padding


def test_sums_with_weights_of_each_lane():
    rng = np.random.default_rng(0)
    succ = rng.integers(6, size=7).astype(np.int32)
    base, weight, x = rng.random((5, LANES)), rng.random((7, LANES)), rng.random((6, LANES))
    for first, last in ((1, 5), (0, 7), (3, 4), (3, 3)):
        out = np.zeros((3, LANES))
        add_weighted(out.ravel(), 1, base.ravel(), weight.ravel(), succ, x.ravel(), first, last)
        expected = base[1] + (weight[first:last] * x[succ[first:last]]).sum(axis=0)
        assert out[1] == pytest.approx(expected, rel=1e-14)
        assert not out[[0, 2]].any()


@pytest.mark.parametrize("lowest", [False, True])
def test_the_value_of_the_best_action_or_of_all_that_tie(lowest):
    q, real = np.zeros((3, LANES)), np.arange(3.0 * LANES).reshape(3, LANES)
    q[:, 0] = [1.0, 5.0, 2.0]
    q[:, 1] = [-7.0, -7.0, -8.0]
    q[:, 2] = [4e6, 3.0, 4e6 * (1 + 1e-13)]
    best, value = np.zeros((2, 2 * LANES))
    value_of_best(q.ravel(), real.ravel(), 3, lowest, 1, best, value)
    assert best[LANES : LANES + 3] == pytest.approx([5.0, -7.0, 4e6])
    expected = [real[1, 0], real[:2, 1].mean(), real[[0, 2], 2].mean()]
    if lowest:
        expected = [real[1, 0], real[0, 1], real[0, 2]]
    assert value[LANES : LANES + 3].tolist() == expected
    assert value[LANES + 3] == (real[0, 3] if lowest else real[:, 3].mean())
    assert not best[:LANES].any() and not value[:LANES].any()


@pytest.mark.parametrize("lowest", [False, True])
@pytest.mark.parametrize("n_actions", [1, 2, 5])
def test_ties_are_found_in_every_lane_by_itself(lowest, n_actions):
    rng = np.random.default_rng(n_actions)
    q = rng.integers(-2, 2, size=(n_actions, LANES)) * 1e3
    q *= 1 + rng.choice([0.0, 0.5 * TIE_TOLERANCE, 10 * TIE_TOLERANCE], size=q.shape)
    real = rng.random((n_actions, LANES))
    best, value = np.zeros((2, LANES))
    value_of_best(q.ravel(), real.ravel(), n_actions, lowest, 0, best, value)
    for lane in range(LANES):
        largest = q[:, lane].max()
        tied = np.flatnonzero(q[:, lane] >= largest - TIE_TOLERANCE * max(1.0, abs(largest)))
        assert best[lane] == largest
        assert value[lane] == pytest.approx(real[tied[:1] if lowest else tied, lane].mean(), rel=1e-14)


@pytest.mark.parametrize("lowest", [False, True])
@pytest.mark.parametrize("n_actions", [1, 2, 5])
def test_actions_of_fewest_steps_are_taken_equally_often_or_the_lowest_always(lowest, n_actions):
    rng = np.random.default_rng(n_actions)
    q = rng.integers(1, 3, size=(n_actions, LANES)) * 1e3
    q *= 1 + rng.choice([0.0, 0.5 * TIE_TOLERANCE, 10 * TIE_TOLERANCE], size=q.shape)
    taken = np.zeros((3, n_actions, LANES))
    share_among_tied(q.ravel(), n_actions, lowest, 1, taken.ravel())
    for lane in range(LANES):
        least = q[:, lane].min()
        tied = np.flatnonzero(q[:, lane] <= least + TIE_TOLERANCE * (1 + least))
        chosen = tied[:1] if lowest else tied
        assert taken[1, :, lane].tolist() == (np.isin(np.arange(n_actions), chosen) / len(chosen)).tolist()
    assert lowest or n_actions == 1 or np.any((q != q.min(axis=0)) & (taken[1] > 0))  # some tie, but are not equal
    assert not taken[[0, 2]].any()


def equations(p, leave, cost):
    """With everything laid out flat, and room for the answer."""
    return Equations(*(np.ascontiguousarray(x).ravel() for x in (p, leave, cost)), *np.zeros((2, cost.size)))


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_elimination_solves_linear_equations(make):
    world = make(2)
    layout, rng = Layout(world.rows.support), np.random.default_rng(1)
    n, graph, elimination = world.n_states, layout.graph, layout.elimination
    chains = np.array([world.theta[rng.integers(world.n_actions, size=n), np.arange(n)] for _ in range(LANES)])
    end = rng.random((LANES, n)) * 0.1
    chains *= (1 - end)[:, :, None]
    p, cost = np.zeros((elimination.n_entries, LANES)), rng.random((n, LANES))
    for s in range(n):
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            if elimination.entry[k] >= 0:
                p[elimination.entry[k]] = chains[:, s, graph.succ[k]]
    twelve = equations(p, end.T, cost.copy())
    solve(elimination, twelve)
    for lane in range(LANES):
        expected = np.linalg.solve(np.eye(n) - chains[lane], cost[:, lane])
        assert twelve.values.reshape(n, LANES)[:, lane] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("world", [berlyne.maze(0), berlyne.four_rooms(), berlyne.dense_world(0)])
def test_the_cheapest_state_is_always_eliminated_next(world):
    """Counted anew at every step: the fewest products of transitions in and out, and the lowest number of these."""
    linked = world.theta.max(axis=0) > 0
    np.fill_diagonal(linked, False)
    remaining = list(range(world.n_states))
    for s in Layout(world.rows.support).elimination.order:
        among = linked[np.ix_(remaining, remaining)]
        assert s == remaining[int(np.argmin(among.sum(axis=0) * among.sum(axis=1)))]
        remaining.remove(s)
        linked |= np.outer(linked[:, s], linked[s]) & ~np.eye(len(linked), dtype=bool)


def test_hardly_anything_fills_in_when_a_maze_is_eliminated():
    elimination = Layout(berlyne.maze(0).rows.support).elimination
    apart = np.count_nonzero(elimination.entry >= 0)
    assert elimination.n_entries - 1 <= 1.2 * apart


def test_times_beyond_any_patience_are_still_exact():
    """A walk that gets one step further with chance 1/1000, and otherwise starts over, takes about 1e15 steps."""
    n, p = 6, 1e-3
    theta = np.zeros((1, n, n))
    theta[0, :, 0] = 1 - p
    theta[0, np.arange(n - 1), np.arange(1, n)] += p
    theta[0, -1] = np.eye(n)[-1]
    rows = Rows.from_dense(theta)
    layout = Layout(rows.support)
    weight = layout.chain(rows).weight.reshape(-1, layout.graph.stride)[:, 0]
    elimination = layout.elimination
    apart = elimination.entry >= 0
    transitions, leave = np.zeros((elimination.n_entries, LANES)), np.full((n, LANES), 1e-30)
    transitions[elimination.entry[apart]] = weight[apart][:, None]
    leave[-1], cost = 1.0, np.ones((n, LANES))
    cost[-1] = 0.0
    twelve = equations(transitions, leave, cost)
    solve(elimination, twelve)
    expected = sum(p ** -(k + 1.0) for k in range(n - 1))
    assert twelve.values.reshape(n, LANES)[0] == pytest.approx(np.full(LANES, expected), rel=1e-12)


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_policies_do_not_depend_on_where_policy_iteration_starts(make):
    world = make(5)
    run = berlyne.explore(world, "Random", n_steps=120, seed=3)
    tasks, reader = Tasks(world), Reader(world)
    ((layout, weights),) = reader.read([run.counts])
    n, m = world.n_states, world.n_actions
    policies = []
    for seed in range(3):
        taken, search = np.zeros(n * m * LANES), navigate.new_search(layout.elimination, tasks._ends, m)
        actions = np.random.default_rng(seed).integers(m, size=n * LANES).astype(np.int32)
        if seed == 0:
            actions = tasks._optimum.actions[0].copy()
        best_actions(Chain(layout.graph, weights[0]), search, 0, False, actions, taken)
        by_state = taken.reshape(n, m, LANES).copy()
        by_state[np.arange(min(n, LANES)), :, np.arange(min(n, LANES))] = 0.0  # at the target all is over
        policies.append(by_state[:, :, : min(n, LANES)])
    assert np.array_equal(policies[0], policies[1]) and np.array_equal(policies[0], policies[2])


def spoil(record):
    """Write over all scratch of a record; what is given, such as an elimination or a world, stays."""
    for field in record:
        if isinstance(field, Equations):
            spoil(field)
        elif isinstance(field, np.ndarray):
            field[...] = True if field.dtype == bool else np.nan
    return record


@pytest.mark.parametrize("cap", [1, 2, 40])
def test_contents_of_scratch_arrays_do_not_matter(cap, monkeypatch):
    world = berlyne.maze(1)
    counts = berlyne.explore(world, "Random", n_steps=100, seed=0).counts
    rewards = np.random.default_rng(0).random((3, world.n_states))
    before = Tasks(world, rewards, cap=cap, horizon=5)
    expected = before.best_times, before.navigation_times([counts]), before.reward_totals([counts])
    for name in ("new_search", "new_walk", "new_ledger"):
        make = getattr(berlyne.tasks, name)
        monkeypatch.setattr(berlyne.tasks, name, lambda *sizes, make=make: spoil(make(*sizes)))
    after = Tasks(world, rewards, cap=cap, horizon=5)
    computed = after.best_times, after.navigation_times([counts]), after.reward_totals([counts])
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(computed, expected, strict=True))


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_estimates_read_from_counts_are_those_of_the_prior(make):
    world = make(6)
    run = berlyne.explore(world, "Random", n_steps=200, seed=1, snapshots=[0, 40])
    counts = [run.snapshots[0], run.snapshots[40], run.counts, run.snapshots[0]]
    ((layout, weights),) = Reader(world).read(counts)
    for weight, observed in zip(weights, counts, strict=True):
        expected = slot_weights(layout.graph, Rows.from_dense(world.prior.estimate(observed.dense())))
        assert weight == pytest.approx(expected, rel=1e-12, abs=1e-15)


def world_of(prior):
    return World(prior.sample(0), prior)


def counted(prior, *seen):
    """Counts of transitions (a, s, s_next), once each unless said otherwise."""
    counts = np.zeros((prior.n_actions, prior.n_states, prior.n_states), dtype=np.int64)
    for a, s, s_next, *n in seen:
        counts[a, s, s_next] = n[0] if n else 1
    return Counts.from_dense(counts)


@pytest.mark.parametrize(
    ("p_escape", "seen", "possible"),
    [
        (0.75, [(1, 2, 3), (1, 2, 4)], True),
        (0.75, [(1, 2, 3), (1, 2, 4), (1, 2, 5)], False),
        (0.75, [(1, 2, 0), (1, 2, 3), (1, 2, 4)], False),
        (1.0, [(1, 2, 3), (1, 2, 4)], True),
        (1.0, [(1, 2, 0)], False),  # state 0 is never a target
        (0.0, [(1, 2, 0), (1, 2, 3)], True),
        (0.0, [(1, 2, 3), (1, 2, 4)], False),  # state 0 is always one
        (0.0, [(0, 2, 3)], False),
        (1e-20, [(1, 2, 3), (1, 2, 4)], True),  # hardly ever drawn, but not impossible
    ],
)
def test_only_counts_that_are_impossible_under_the_prior_are_refused(p_escape, seen, possible):
    prior = OneTwoThree(9, 3, p_escape=p_escape)
    models = [counted(prior), counted(prior, *seen), counted(prior, (2, 1, 0))][: 2 if p_escape == 1.0 else 3]
    if possible:
        ((layout, weights),) = Reader(world_of(prior)).read(models)
        for weight, observed in zip(weights, models, strict=True):
            expected = slot_weights(layout.graph, Rows.from_dense(prior.estimate(observed.dense())))
            assert weight == pytest.approx(expected, rel=1e-12, abs=1e-15)
    else:
        a, s = seen[0][:2]
        with raises(ValueError, f"(a={a}, s={s})"):
            list(Reader(world_of(prior)).read(models))


def test_more_observations_than_a_belief_can_count_are_left_to_the_prior():
    prior = Dirichlet(0.5, n_states=3, n_actions=2)
    models = [
        counted(prior, (0, 1, 2, 7)),
        counted(prior, (0, 1, 2, 2**31 - 1), (0, 1, 1, 5)),
        counted(prior, (1, 1, 1)),
    ]
    ((layout, weights),) = Reader(world_of(prior)).read(models)
    for weight, observed in zip(weights, models, strict=True):
        expected = slot_weights(layout.graph, Rows.from_dense(prior.estimate(observed.dense())))
        assert weight == pytest.approx(expected, rel=1e-12)


def test_counts_below_zero_are_refused():
    world = world_of(Dirichlet(0.5, n_states=3, n_actions=2))
    with raises(ValueError, "counts", "at least 1"):
        list(Reader(world).read(np.full((1, 2, 3, 3), -1)))
