"""Parts of the kernels that plan for tasks."""

import numpy as np
import pytest

import berlyne
from berlyne.kernels import dozen, navigate
from berlyne.kernels.compile import kernel
from berlyne.kernels.eliminate import solve
from berlyne.planning import ModelReader, Slots
from berlyne.rows import Rows
from berlyne.tasks import Tasks

LANES = dozen.LANES


@kernel
def sums(out, succ, weight, x, first, last, n_actions):
    dozen.weighted(out, succ, weight, x, first, last, n_actions)


@kernel
def mixed(out, o, base, succ, weight, x, first, last):
    dozen.mixed(out, o, base, succ, weight, x, first, last)


@kernel
def scatter(p, e, to, f, begin, end):
    dozen.scatter(p, e, to, f, begin, end)


@kernel
def add_product(out, o, x, i, y, j):
    dozen.add_product(out, o, x, i, y, j)


@kernel
def value_of_best(q, real, n_actions, lowest, tie, s, best, value):
    dozen.value_of_best(q, real, n_actions, lowest, tie, s, best, value)


@pytest.mark.parametrize("n_actions", [1, 2, 3, 4, 5, 9])
def test_sums_over_slots_are_matrix_products(n_actions):
    rng = np.random.default_rng(n_actions)
    x, weight, out = rng.random((6, LANES)), rng.random((7, n_actions)), np.zeros((n_actions, LANES))
    succ = rng.integers(6, size=7).astype(np.int32)
    sums(out.ravel(), succ, weight.ravel(), x.ravel(), 2, 6, n_actions)
    assert out == pytest.approx(weight[2:6].T @ x[succ[2:6]])
    plain = dozen._plain_weighted(n_actions)
    again = np.zeros_like(out)
    plain(again.ravel(), 0, succ, weight.ravel(), x.ravel(), 2, 6, n_actions)
    assert again == pytest.approx(out)


def test_compiled_lanes_do_what_their_plain_form_says():
    rng = np.random.default_rng(0)
    succ = rng.integers(6, size=7).astype(np.int32)
    to = np.array([9, 3, 4, 9], dtype=np.int64)
    for compiled, plain, extra in (
        (mixed, dozen._plain_mixed, (1, rng.random(60), succ, rng.random(84), rng.random(72), 1, 5)),
        (scatter, dozen._plain_scatter, (0, to, 1, 5, 8)),
        (add_product, dozen._plain_add_product, (2, rng.random(60), 1, rng.random(60), 4)),
    ):
        before = rng.random(12 * LANES)
        ours, theirs = before.copy(), before.copy()
        compiled(ours, *extra)
        plain(theirs, *extra)
        assert ours == pytest.approx(theirs, rel=1e-14), plain.__name__
        assert np.any(ours != before)


@pytest.mark.parametrize("lowest", [False, True])
def test_the_value_of_the_best_action_or_of_all_that_tie(lowest):
    q, real = np.zeros((3, LANES)), np.arange(3.0 * LANES).reshape(3, LANES)
    q[:, 0] = [1.0, 5.0, 2.0]
    q[:, 1] = [-7.0, -7.0, -8.0]
    q[:, 2] = [4e6, 3.0, 4e6 * (1 + 1e-13)]
    best, value = np.zeros((2, 2 * LANES))
    value_of_best(q.ravel(), real.ravel(), 3, lowest, 1e-12, 1, best, value)
    assert best[LANES : LANES + 3] == pytest.approx([5.0, -7.0, 4e6])
    expected = [real[1, 0], real[:2, 1].mean(), real[[0, 2], 2].mean()]
    if lowest:
        expected = [real[1, 0], real[0, 1], real[0, 2]]
    assert value[LANES : LANES + 3].tolist() == expected
    assert value[LANES + 3] == (real[0, 3] if lowest else real[:, 3].mean())
    also_best, also = np.zeros((2, 2 * LANES))
    dozen._plain_value_of_best(q.ravel(), real.ravel(), 3, lowest, 1e-12, 1, also_best, also)
    assert np.array_equal(also_best, best) and also == pytest.approx(value)


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_elimination_solves_linear_equations(make):
    world = make(2)
    slots, rng = Slots(world.rows.support), np.random.default_rng(1)
    n, todo = world.n_states, slots.elimination
    chains = np.array([world.theta[rng.integers(world.n_actions, size=n), np.arange(n)] for _ in range(LANES)])
    end = rng.random((LANES, n)) * 0.1
    chains *= (1 - end)[:, :, None]
    p, cost = np.zeros((todo.n_places, LANES)), rng.random((n, LANES))
    for s in range(n):
        for k in range(slots.start[s], slots.start[s] + slots.length[s]):
            if todo.place[k] >= 0:
                p[todo.place[k]] = chains[:, s, slots.succ[k]]
    values, inverse = np.zeros((2, n * LANES))
    solve(todo, p.ravel(), np.ascontiguousarray(end.T).ravel(), cost.copy().ravel(), inverse, values)
    for lane in range(LANES):
        expected = np.linalg.solve(np.eye(n) - chains[lane], cost[:, lane])
        assert values.reshape(n, LANES)[:, lane] == pytest.approx(expected, rel=1e-9)


def test_hardly_anything_fills_in_when_a_maze_is_eliminated():
    world = berlyne.maze(0)
    slots = Slots(world.rows.support)
    apart = np.count_nonzero(slots.elimination.place >= 0)
    assert slots.elimination.n_places - 1 <= 1.2 * apart


def test_times_beyond_any_patience_are_still_exact():
    """A walk that gets one step further with chance 1/1000, and otherwise starts over, takes about 1e15 steps."""
    n, p = 6, 1e-3
    theta = np.zeros((1, n, n))
    theta[0, :, 0] = 1 - p
    theta[0, np.arange(n - 1), np.arange(1, n)] += p
    theta[0, -1] = np.eye(n)[-1]
    slots = Slots(Rows.from_dense(theta).support)
    weight = slots.spread(Rows.from_dense(theta))
    todo = slots.elimination
    place = todo.place >= 0
    transitions, leave = np.zeros((todo.n_places, LANES)), np.full((n, LANES), 1e-30)
    transitions[todo.place[place]] = weight[place][:, None]
    leave[-1], cost = 1.0, np.ones((n, LANES))
    cost[-1] = 0.0
    values, inverse = np.zeros((2, n * LANES))
    solve(todo, transitions.ravel(), leave.ravel(), cost.ravel(), inverse, values)
    expected = sum(p ** -(k + 1.0) for k in range(n - 1))
    assert values.reshape(n, LANES)[0] == pytest.approx(np.full(LANES, expected), rel=1e-12)


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_policies_do_not_depend_on_where_policy_iteration_starts(make):
    world = make(5)
    run = berlyne.explore(world, "Random", n_steps=120, seed=3)
    tasks, reader = Tasks(world), ModelReader(world)
    ((slots, weights),) = reader.read([run.counts])
    n, m = world.n_states, world.n_actions
    shares = []
    for seed in range(3):
        share, q = np.zeros(n * m * LANES), np.empty(m * LANES)
        policy = np.random.default_rng(seed).integers(m, size=n * LANES).astype(np.int32)
        if seed == 0:
            policy = tasks._optimum.policy[0].copy()
        navigate.best_actions(slots.chain(weights[0]), slots.elimination, 0, False, policy, q, share)
        by_state = share.reshape(n, m, LANES).copy()
        by_state[np.arange(min(n, LANES)), :, np.arange(min(n, LANES))] = 0.0  # at the target all is over
        shares.append(by_state[:, :, : min(n, LANES)])
    assert np.array_equal(shares[0], shares[1]) and np.array_equal(shares[0], shares[2])


@pytest.mark.parametrize("make", [berlyne.dense_world, berlyne.maze, berlyne.one_two_three_world])
def test_estimates_read_from_counts_are_those_of_the_prior(make):
    world = make(6)
    run = berlyne.explore(world, "Random", n_steps=200, seed=1, snapshots=[0, 40])
    counts = [run.snapshots[0], run.snapshots[40], run.counts]
    ((slots, weights),) = ModelReader(world).read(counts)
    for weight, observed in zip(weights, counts, strict=True):
        expected = slots.spread(Rows.from_dense(world.prior.estimate(observed.dense())))
        assert weight == pytest.approx(expected, rel=1e-12, abs=1e-15)
