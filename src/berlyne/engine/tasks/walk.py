"""How policies for twelve targets fare in the world: the steps they take, up to a cap.

Paper: Sec. 3.7; reading R18.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import jit_nrt_off
from berlyne.engine.simd import at_least, divide, item, maximum, minimum, multiply, multiply_add, splat
from berlyne.engine.tasks.eliminate import GIVE_UP, Elimination, Equations, end_at, new_equations, solve
from berlyne.engine.tasks.lanes import LANES, ONES, ZEROS, Chain, add_weighted, line, set_line
from berlyne.validation import BoolArray, FloatArray

ERROR, RELATIVE_ERROR = 1e-6, 1e-9
"""Largest error of an expected number of steps, and share of it, that comes from not making every sweep."""
CHECK = 16
"""Sweeps from one check to the next."""
LITTLE, PATIENCE = 1e-7, 1e6
"""What is left of an expected number of steps and is hardly worth a look; and the largest from which that is told."""
NONE_LEFT = 1e-300
"""A chance below this is as good as none."""


class Walk(NamedTuple):
    """How policies fare in one world: scratch for following them.

    truth : the world; elimination, equations : how expected steps without a cap are worked out in it.
    never : [s, lane], chance of never arriving.
    steps : [slot, lane], probability of each transition.
    cost : [s, lane], 1, and 0 at the target.
    before, now, after : [s, lane], E[min(T, t)] of three t in a row.
    extremes, rest : [4, lane], see `compare` and `compare_rest`.
    going : (12,), whether the answer is still open.
    """

    truth: Chain
    elimination: Elimination
    equations: Equations
    never: FloatArray
    steps: FloatArray
    cost: FloatArray
    before: FloatArray
    now: FloatArray
    after: FloatArray
    extremes: FloatArray
    rest: FloatArray
    going: BoolArray


def new_walk(truth: Chain, elimination: Elimination) -> Walk:
    """Room to follow policies in a world."""
    never, cost, before, now, after = np.empty((5, len(truth.graph.start) * LANES))
    steps, (extremes, rest) = np.empty(len(truth.graph.succ) * LANES), np.empty((2, 4 * LANES))
    room = (new_equations(elimination), never, steps, cost, before, now, after, extremes, rest)
    return Walk(truth, elimination, *room, np.empty(LANES, dtype=np.bool_))


@jit_nrt_off
def follow(walk: Walk, taken: FloatArray, target: int) -> None:
    """Into `steps[slot, lane]`: the probability of each transition of a policy; none out of its target."""
    graph, weight, steps = walk.truth.graph, walk.truth.weight, walk.steps
    n_actions = graph.n_actions
    for s in range(len(graph.start)):
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            total, a = splat(ZEROS), 0
            while a < n_actions:
                total = multiply_add(total, splat(item(weight, k * graph.stride + a)), line(taken, s * n_actions + a))
                a += 1
            set_line(steps, k, total)
            if 0 <= s - target < LANES:
                steps[k * LANES + s - target] = 0.0


@jit_nrt_off
def times(walk: Walk, target: int, cap: int, out: FloatArray) -> None:
    """Into `out[s, lane]`, for lanes that are `going`: u_cap = E[min(T, cap)] of the time T to the target.

    u_0 = 0 and u_{t + 1} = 1 + Q u_t, sweep by sweep, until `close_rest` or `close` knows the rest.
    Each lane stops by itself, so that its answer does not depend on the others.
    """
    graph, steps, cost, now, after, before = walk.truth.graph, walk.steps, walk.cost, walk.now, walk.after, walk.before
    n_states = len(graph.start)
    solve_without_cap(walk, target)
    for i in range(len(now)):
        before[i] = now[i] = 0.0
        cost[i] = 1.0
    for lane in range(min(LANES, n_states - target)):
        cost[(target + lane) * LANES + lane] = 0.0
    for t in range(1, cap + 1):
        for s in range(n_states):
            first = item(graph.start, s)
            last = first + item(graph.length, s)
            set_line(after, s, add_weighted(line(cost, s), steps, graph.succ, now, first, last))
        if t % CHECK == 0 or t == cap:
            compare_rest(walk, now, after, t)
            close_rest(walk, after, t, cap, out)
            compare(before, now, after, walk.extremes)
            if not close(now, after, walk.extremes, walk.going, cap - t, out):
                break
        before, now, after = now, after, before


@jit_nrt_off
def solve_without_cap(walk: Walk, target: int) -> None:
    """How the policies fare without a cap: into `never[s, lane]` the chance of never arriving, and into
    `equations.values` the expected number of steps before it is settled which, E[sum over t of P(T > t) - never].

    A chain that ends at every step with chance `GIVE_UP` gives up, if it cannot arrive, after 1 / GIVE_UP steps.
    """
    cost, values, never = walk.equations.cost, walk.equations.values, walk.never
    lay_out(walk, target)
    solve(walk.elimination, walk.equations)
    again = False
    for i in range(len(values)):
        never[i] = min(GIVE_UP * values[i], 1.0) if values[i] > 1.0 / math.sqrt(GIVE_UP) else 0.0
        again = again or never[i] > 0.0
    if again:
        lay_out(walk, target)
        for i in range(len(cost)):
            cost[i] = 0.0 if never[i] > 1.0 - 1e-12 else cost[i] * (1.0 - never[i])
        solve(walk.elimination, walk.equations)


@jit_nrt_off
def lay_out(walk: Walk, target: int) -> None:
    """The equations of the policies in the world."""
    graph, entry, equations = walk.truth.graph, walk.elimination.entry, walk.equations
    for i in range(len(equations.p)):
        equations.p[i] = 0.0
    for k in range(len(graph.succ)):
        if entry[k] >= 0:
            set_line(equations.p, entry[k], line(walk.steps, k))
    end_at(equations, target, min(LANES, len(graph.start) - target))


@jit_nrt_off
def compare_rest(walk: Walk, now: FloatArray, after: FloatArray, t: int) -> None:
    """Of what is left of these steps, r before and r_next after step t: how fast it falls, and how much there is.

    rest : [0] the largest r_next / r of all states, [1] the least, [2] the largest r_next, [3] the most steps in all.
    """
    slow, fast, most, longest = splat(ZEROS), splat(ONES), splat(ZEROS), splat(ZEROS)
    i, n, rest = 0, len(now) // LANES, walk.rest
    while i < n:
        whole, never = line(walk.equations.values, i), line(walk.never, i)
        r = multiply_add(multiply_add(whole, never, splat(t - 1.0)), line(now, i), splat(-1.0))
        r_next = multiply_add(multiply_add(whole, never, splat(float(t))), line(after, i), splat(-1.0))
        counts = at_least(r, splat(LITTLE))
        ratio = divide(r_next, maximum(r, splat(LITTLE)))
        slow = maximum(slow, multiply(ratio, counts))
        fast = minimum(fast, multiply_add(multiply_add(splat(1.0), counts, splat(-1.0)), ratio, counts))
        most = maximum(most, r_next)
        longest = maximum(longest, whole)
        i += 1
    set_line(rest, 0, slow)
    set_line(rest, 1, fast)
    set_line(rest, 2, most)
    set_line(rest, 3, longest)


@jit_nrt_off
def close_rest(walk: Walk, after: FloatArray, t: int, cap: int, out: FloatArray) -> None:
    """Write u_cap into `out` and stop the lane, where what is left after step t is known well enough.

    With z_t = P(T > t) - P(T never) and r_t the sum of z from t on, r_{t + 1} = Q r_t. If low r_t <= r_{t + 1} <=
    high r_t in all states then so it stays, because Q has no negative entry: r_cap is between low^n r_t and high^n r_t.
    This is sure long before z_t is small. Where the sum is beyond `PATIENCE`, differences from it say too little.
    """
    rest, whole, never, n = walk.rest, walk.equations.values, walk.never, cap - t
    for lane in range(LANES):
        most, longest = rest[2 * LANES + lane], rest[3 * LANES + lane]
        if walk.going[lane] and longest <= PATIENCE:
            high, low = power(min(rest[lane], 1.0), n), power(rest[LANES + lane], n)
            if most * (high - low) <= 2.0 * ERROR:
                walk.going[lane] = False
                for i in range(lane, len(after), LANES):
                    left = (whole[i] - after[i] + t * never[i]) * 0.5 * (low + high)
                    out[i] = whole[i] + cap * never[i] - left


@jit_nrt_off
def power(ratio: float, n: int) -> float:
    """ratio^n, for a ratio of at most one; 0 if it is not positive."""
    if n == 0:
        return 1.0
    return math.exp(n * math.log(ratio)) if ratio > 0.0 else 0.0


@jit_nrt_off
def compare(before: FloatArray, now: FloatArray, after: FloatArray, extremes: FloatArray) -> None:
    """Of the increments y and y_next between three u in a row: how they decay, and how large they still are.

    extremes : [0] the fastest decay (y - y_next) / y of all states, [1] the slowest, [2] the largest y_next, [3] u.
    """
    fast, slow, most, longest = splat(ZEROS), splat(ONES), splat(ZEROS), splat(ZEROS)
    i, n = 0, len(now) // LANES
    while i < n:
        u_now, u_after = line(now, i), line(after, i)
        y = multiply_add(u_now, line(before, i), splat(-1.0))
        y_next = multiply_add(u_after, u_now, splat(-1.0))
        counts = at_least(y, splat(NONE_LEFT))
        decay = divide(multiply_add(y, y_next, splat(-1.0)), maximum(y, splat(NONE_LEFT)))
        fast = maximum(fast, multiply(decay, counts))
        slow = minimum(slow, multiply_add(multiply_add(splat(1.0), counts, splat(-1.0)), decay, counts))
        most = maximum(most, y_next)
        longest = maximum(longest, u_after)
        i += 1
    set_line(extremes, 0, fast)
    set_line(extremes, 1, slow)
    set_line(extremes, 2, most)
    set_line(extremes, 3, longest)


@jit_nrt_off
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


@jit_nrt_off
def geometric(decay: float, n: int) -> float:
    """Sum of r, r^2, ..., r^n for r = 1 - decay."""
    if decay * n < 1e-14:
        return float(n)
    if decay >= 1.0:
        return 0.0
    return -math.expm1(n * math.log1p(-decay)) / decay * (1.0 - decay)
