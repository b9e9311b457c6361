"""How policies for twelve targets fare in the world: the steps they take, up to a cap.

Paper: Sec. 3.7; reading R18.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.arrays import BoolArray, FloatArray
from berlyne.engine.compile import bare_kernel
from berlyne.engine.tasks.lanes import LANES, ONES, ZEROS, Chain, line, mixed, put
from berlyne.engine.vector import at_least, divide, four, item, larger, multiply, multiply_add, smaller

ERROR, RELATIVE_ERROR = 1e-6, 1e-9
"""Largest error of an expected number of steps, and share of it, that comes from not making every sweep."""
CHECK = 16
"""Sweeps from one check to the next."""
NONE_LEFT = 1e-300
"""A chance below this is as good as none."""


class Walk(NamedTuple):
    """How policies fare in one world: scratch for following them.

    truth : the world.
    steps : [slot, lane], probability of each transition.
    cost : [s, lane], 1, and 0 at the target.
    before, now, after : [s, lane], E[min(T, t)] of three t in a row.
    extremes : [4, lane], see `compare`.
    going : (12,), whether the answer is still open.
    """

    truth: Chain
    steps: FloatArray
    cost: FloatArray
    before: FloatArray
    now: FloatArray
    after: FloatArray
    extremes: FloatArray
    going: BoolArray


def first_walk(truth: Chain) -> Walk:
    """Room to follow policies in a world."""
    size = len(truth.graph.start) * LANES
    steps, (cost, before, now, after) = np.empty(len(truth.graph.succ) * LANES), np.empty((4, size))
    return Walk(truth, steps, cost, before, now, after, np.empty(4 * LANES), np.empty(LANES, dtype=np.bool_))


@bare_kernel
def follow(walk: Walk, taken: FloatArray, target: int) -> None:
    """Into `steps[slot, lane]`: the probability of each transition of a policy; none out of its target."""
    graph, weight, steps = walk.truth.graph, walk.truth.weight, walk.steps
    n_actions = graph.n_actions
    for s in range(len(graph.start)):
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            total, a = four(ZEROS), 0
            while a < n_actions:
                total = multiply_add(total, four(item(weight, k * graph.stride + a)), line(taken, s * n_actions + a))
                a += 1
            put(steps, k, total)
            if 0 <= s - target < LANES:
                steps[k * LANES + s - target] = 0.0


@bare_kernel
def times(walk: Walk, target: int, cap: int, out: FloatArray) -> None:
    """Into `out[s, lane]`, for lanes that are `going`: u_cap = E[min(T, cap)] of the time T to the target.

    u_0 = 0 and u_{t + 1} = 1 + Q u_t, sweep by sweep, until `close` knows the rest.
    Each lane stops by itself, so that its answer does not depend on the others.
    """
    graph, steps, cost, now, after, before = walk.truth.graph, walk.steps, walk.cost, walk.now, walk.after, walk.before
    n_states = len(graph.start)
    for i in range(len(now)):
        before[i] = now[i] = 0.0
        cost[i] = 1.0
    for lane in range(min(LANES, n_states - target)):
        cost[(target + lane) * LANES + lane] = 0.0
    for t in range(1, cap + 1):
        for s in range(n_states):
            first = item(graph.start, s)
            last = first + item(graph.length, s)
            put(after, s, mixed(line(cost, s), steps, graph.succ, now, first, last))
        if t % CHECK == 0 or t == cap:
            compare(before, now, after, walk.extremes)
            if not close(now, after, walk.extremes, walk.going, cap - t, out):
                break
        before, now, after = now, after, before


@bare_kernel
def compare(before: FloatArray, now: FloatArray, after: FloatArray, extremes: FloatArray) -> None:
    """Of the increments y and y_next between three u in a row: how they decay, and how large they still are.

    extremes : [0] the fastest decay (y - y_next) / y of all states, [1] the slowest, [2] the largest y_next, [3] u.
    """
    fast, slow, most, longest = four(ZEROS), four(ONES), four(ZEROS), four(ZEROS)
    i, n = 0, len(now) // LANES
    while i < n:
        u_now, u_after = line(now, i), line(after, i)
        y = multiply_add(u_now, line(before, i), four(-1.0))
        y_next = multiply_add(u_after, u_now, four(-1.0))
        counts = at_least(y, four(NONE_LEFT))
        decay = divide(multiply_add(y, y_next, four(-1.0)), larger(y, four(NONE_LEFT)))
        fast = larger(fast, multiply(decay, counts))
        slow = smaller(slow, multiply_add(multiply_add(four(1.0), counts, four(-1.0)), decay, counts))
        most = larger(most, y_next)
        longest = larger(longest, u_after)
        i += 1
    put(extremes, 0, fast)
    put(extremes, 1, slow)
    put(extremes, 2, most)
    put(extremes, 3, longest)


@bare_kernel
def close(now: FloatArray, after: FloatArray, extremes: FloatArray, going: BoolArray, n: int, out: FloatArray) -> bool:
    """Write u_{t + n} into `out` and stop the lane, where it is known well enough; returns whether any goes on.

    The increments y_t = u_{t + 1} - u_t = P(T > t) follow y_{t + 1} = Q y_t. If low y_t <= y_{t + 1} <= high y_t in
    all states then so it stays, because Q has no negative entry: the n increments left lie between two
    geometric sums, and are their mean once these hardly differ.
    """
    any_going = False
    for lane in range(LANES):
        if going[lane]:
            low, high = geometric(extremes[lane], n), geometric(extremes[LANES + lane], n)
            most, longest = extremes[2 * LANES + lane], extremes[3 * LANES + lane]
            if most * (high - low) <= 2.0 * (ERROR + RELATIVE_ERROR * longest):
                going[lane] = False
                for i in range(lane, len(now), LANES):
                    out[i] = after[i] + (after[i] - now[i]) * 0.5 * (low + high)
            else:
                any_going = True
    return any_going


@bare_kernel
def geometric(decay: float, n: int) -> float:
    """Sum of r, r^2, ..., r^n for r = 1 - decay."""
    if decay * n < 1e-14:
        return float(n)
    if decay >= 1.0:
        return 0.0
    return -math.expm1(n * math.log1p(-decay)) / decay * (1.0 - decay)
