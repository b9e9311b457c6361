"""Evaluate policies for twelve targets in the true world: expected steps to the target, up to a cap.

Paper: Sec. 3.7; reading R18.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline
from berlyne.engine.simd import at_least, divide, item, maximum, minimum, multiply, multiply_add, splat
from berlyne.engine.tasks.eliminate import GIVE_UP, Elimination, Ends, Equations, end_at, new_equations, solve
from berlyne.engine.tasks.lanes import LANES, ONES, ZEROS, Chain, add_weighted, line, set_line
from berlyne.validation import BoolArray, FloatArray

ERROR, RELATIVE_ERROR = 1e-6, 1e-9
"""Largest absolute and relative error of an expected number of steps, if not all sweeps are made."""
CHECK = 16
"""Number of sweeps between checks."""
SMALL_REMAINDER, MAX_UNCAPPED = 1e-7, 1e6
"""Remainders below the first number are ignored. Expected steps above the second are too large for remainders."""
NEGLIGIBLE = 1e-300
"""Smaller probabilities are treated as zero."""


class Walk(NamedTuple):
    """Scratch for evaluating policies in one world.

    Attributes
    ----------
    truth : Chain
        The true world.
    elimination, equations : Elimination and Equations
        For the expected steps without a cap.
    ends : Ends
        Without terminal states, which the true world never leaves.
    never : ndarray
        Probability of never arriving, `[s, lane]`.
    steps : ndarray
        Probability of each transition, `[slot, lane]`.
    cost : ndarray
        1, and 0 at the target, `[s, lane]`.
    before, now, after : ndarray
        E[min(T, t)] for three successive t, `[s, lane]`.
    extremes, remainder : ndarray
        See `compare_increments` and `compare_remainders`, `[4, lane]`.
    active : ndarray of bool, shape (12,)
        Whether the result of each lane is still needed.
    """

    truth: Chain
    elimination: Elimination
    equations: Equations
    ends: Ends
    never: FloatArray
    steps: FloatArray
    cost: FloatArray
    before: FloatArray
    now: FloatArray
    after: FloatArray
    extremes: FloatArray
    remainder: FloatArray
    active: BoolArray


def new_walk(truth: Chain, elimination: Elimination, ends: Ends) -> Walk:
    """Allocate scratch for evaluating policies in a world."""
    never, cost, before, now, after = np.empty((5, len(truth.graph.start) * LANES))
    steps, (extremes, remainder) = np.empty(len(truth.graph.succ) * LANES), np.empty((2, 4 * LANES))
    arrays = (new_equations(elimination), ends, never, steps, cost, before, now, after, extremes, remainder)
    return Walk(truth, elimination, *arrays, np.empty(LANES, dtype=np.bool_))


@inline
def set_policy(walk: Walk, policy: FloatArray, target: int) -> None:
    """Write the probability of each transition of a policy into `steps[slot, lane]`; 0 out of its target."""
    graph, weight, steps = walk.truth.graph, walk.truth.weight, walk.steps
    n_actions = graph.n_actions
    for s in range(len(graph.start)):
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            total, a = splat(ZEROS), 0
            while a < n_actions:
                total = multiply_add(total, splat(item(weight, k * graph.stride + a)), line(policy, s * n_actions + a))
                a += 1
            set_line(steps, k, total)
            if 0 <= s - target < LANES:
                steps[k * LANES + s - target] = 0.0


@inline
def capped_times(walk: Walk, target: int, cap: int, out: FloatArray) -> None:
    """Write u_cap = E[min(T, cap)] into `out[s, lane]` for active lanes; T is the time to the target.

    Sweeps compute u_0 = 0 and u_{t + 1} = 1 + Q u_t, until `finish_by_remainder` or `finish_by_increments` can
    extrapolate to u_cap. Each lane stops separately, so its result does not depend on the other lanes.
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
            compare_remainders(walk, now, after, t)
            finish_by_remainder(walk, after, t, cap, out)
            compare_increments(before, now, after, walk.extremes)
            if not finish_by_increments(now, after, walk.extremes, walk.active, cap - t, out):
                break
        before, now, after = now, after, before


@inline
def solve_without_cap(walk: Walk, target: int) -> None:
    """Evaluate the policies without a cap.

    The probability of never arriving is written into `never[s, lane]`. The sum over t of P(T > t) - never, an expected
    number of steps, is written into `equations.values`.

    A chain ends at every step with probability `GIVE_UP`. If it cannot arrive, it takes 1 / GIVE_UP steps.
    """
    cost, values, never = walk.equations.cost, walk.equations.values, walk.never
    set_equations(walk, target)
    solve(walk.elimination, walk.equations)
    needs_second = False
    for i in range(len(values)):
        never[i] = min(GIVE_UP * values[i], 1.0) if values[i] > 1.0 / math.sqrt(GIVE_UP) else 0.0
        needs_second = needs_second or never[i] > 0.0
    if needs_second:
        set_equations(walk, target)
        for i in range(len(cost)):
            cost[i] = 0.0 if never[i] > 1.0 - 1e-12 else cost[i] * (1.0 - never[i])
        solve(walk.elimination, walk.equations)


@inline
def set_equations(walk: Walk, target: int) -> None:
    """Set the equations of the policies in the true world."""
    graph, entry, equations = walk.truth.graph, walk.elimination.entry, walk.equations
    for i in range(len(equations.p)):
        equations.p[i] = 0.0
    for k in range(len(graph.succ)):
        if entry[k] >= 0:
            set_line(equations.p, entry[k], line(walk.steps, k))
    end_at(equations, walk.ends, target)


@inline
def compare_remainders(walk: Walk, now: FloatArray, after: FloatArray, t: int) -> None:
    """Compare the remaining expected steps before and after step t, r and r_next.

    `walk.remainder` receives four lines: [0] the largest r_next / r of all states, [1] the smallest, [2] the largest
    r_next, [3] the largest number of expected steps without a cap.
    """
    slowest, fastest, largest, longest = splat(ZEROS), splat(ONES), splat(ZEROS), splat(ZEROS)
    i, n, remainder = 0, len(now) // LANES, walk.remainder
    while i < n:
        uncapped, never = line(walk.equations.values, i), line(walk.never, i)
        r = multiply_add(multiply_add(uncapped, never, splat(t - 1.0)), line(now, i), splat(-1.0))
        r_next = multiply_add(multiply_add(uncapped, never, splat(float(t))), line(after, i), splat(-1.0))
        included = at_least(r, splat(SMALL_REMAINDER))
        ratio = divide(r_next, maximum(r, splat(SMALL_REMAINDER)))
        slowest = maximum(slowest, multiply(ratio, included))
        fastest = minimum(fastest, multiply_add(multiply_add(splat(1.0), included, splat(-1.0)), ratio, included))
        largest = maximum(largest, r_next)
        longest = maximum(longest, uncapped)
        i += 1
    set_line(remainder, 0, slowest)
    set_line(remainder, 1, fastest)
    set_line(remainder, 2, largest)
    set_line(remainder, 3, longest)


@inline
def finish_by_remainder(walk: Walk, after: FloatArray, t: int, cap: int, out: FloatArray) -> None:
    """Write u_cap into `out` and deactivate the lane, if the remainder after step t is known precisely enough.

    Let z_t = P(T > t) - P(T never), and r_t the sum of z from t on. Then r_{t + 1} = Q r_t. If low r_t <= r_{t + 1} <=
    high r_t in all states, the same bounds hold for all later t, because Q has no negative entry. With n = cap - t,
    r_cap lies between low^n r_t and high^n r_t. These bounds meet long before z_t is small. If the sum is larger than
    `MAX_UNCAPPED`, differences from it are too imprecise.
    """
    remainder, uncapped, never, n = walk.remainder, walk.equations.values, walk.never, cap - t
    for lane in range(LANES):
        largest, longest = remainder[2 * LANES + lane], remainder[3 * LANES + lane]
        if walk.active[lane] and longest <= MAX_UNCAPPED:
            high, low = power_of_ratio(min(remainder[lane], 1.0), n), power_of_ratio(remainder[LANES + lane], n)
            if largest * (high - low) <= 2.0 * ERROR:
                walk.active[lane] = False
                for i in range(lane, len(after), LANES):
                    remaining = (uncapped[i] - after[i] + t * never[i]) * 0.5 * (low + high)
                    out[i] = uncapped[i] + cap * never[i] - remaining


@inline
def power_of_ratio(ratio: float, n: int) -> float:
    """Return ratio^n for a ratio of at most one; 0 for a ratio that is not positive, unless n is 0."""
    if n == 0:
        return 1.0
    return math.exp(n * math.log(ratio)) if ratio > 0.0 else 0.0


@inline
def compare_increments(before: FloatArray, now: FloatArray, after: FloatArray, extremes: FloatArray) -> None:
    """Compare the two increments between three successive u, y and y_next.

    `extremes` receives four lines: [0] the fastest decay (y - y_next) / y of all states, [1] the slowest, [2] the
    largest y_next, [3] the largest u.
    """
    fastest, slowest, largest, longest = splat(ZEROS), splat(ONES), splat(ZEROS), splat(ZEROS)
    i, n = 0, len(now) // LANES
    while i < n:
        u_now, u_after = line(now, i), line(after, i)
        y = multiply_add(u_now, line(before, i), splat(-1.0))
        y_next = multiply_add(u_after, u_now, splat(-1.0))
        included = at_least(y, splat(NEGLIGIBLE))
        decay = divide(multiply_add(y, y_next, splat(-1.0)), maximum(y, splat(NEGLIGIBLE)))
        fastest = maximum(fastest, multiply(decay, included))
        slowest = minimum(slowest, multiply_add(multiply_add(splat(1.0), included, splat(-1.0)), decay, included))
        largest = maximum(largest, y_next)
        longest = maximum(longest, u_after)
        i += 1
    set_line(extremes, 0, fastest)
    set_line(extremes, 1, slowest)
    set_line(extremes, 2, largest)
    set_line(extremes, 3, longest)


@inline
def finish_by_increments(
    now: FloatArray, after: FloatArray, extremes: FloatArray, active: BoolArray, n: int, out: FloatArray
) -> bool:
    """Write u_{t + n} into `out` and deactivate the lane, if it is known precisely enough.

    The increments y_t = u_{t + 1} - u_t = P(T > t) follow y_{t + 1} = Q y_t. If low y_t <= y_{t + 1} <= high y_t in
    all states, the same bounds hold for all later t, because Q has no negative entry. So the sum of the n remaining
    increments lies between two geometric sums. Their mean is used once they hardly differ.

    Returns
    -------
    bool
        Whether any lane is still active.
    """
    any_active = False
    for lane in range(LANES):
        if active[lane]:
            low, high = geometric(extremes[lane], n), geometric(extremes[LANES + lane], n)
            largest, longest = extremes[2 * LANES + lane], extremes[3 * LANES + lane]
            if largest * (high - low) <= 2.0 * (ERROR + RELATIVE_ERROR * longest):
                active[lane] = False
                for i in range(lane, len(now), LANES):
                    out[i] = after[i] + (after[i] - now[i]) * 0.5 * (low + high)
            else:
                any_active = True
    return any_active


@inline
def geometric(decay: float, n: int) -> float:
    """Sum of r, r^2, ..., r^n for r = 1 - decay."""
    if decay * n < 1e-14:
        return float(n)
    if decay >= 1.0:
        return 0.0
    return -math.expm1(n * math.log1p(-decay)) / decay * (1.0 - decay)
