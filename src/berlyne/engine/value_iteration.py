"""Value iteration for one state: compute only what its decision depends on and what has changed.

Paper: Eqs. 14 to 16; readings R4 and R5. With `V_0(s) = max_a U(a, s)` and

    Q_j(a, s) = U(a, s) + gamma sum_s' p(s' | a, s) V_{j-1}(s'),    V_j(s) = max_a Q_j(a, s),

an agent in state y needs `Q_D(., y)` for D steps back, hence V_j only for the states within D - j
steps of y. These states are the *cone* of y. All values of a cone are stored from one step to the next. If the agent
goes from x to y, only a row of x has changed. So V_j(z) is still correct, unless z can reach x within j steps, or z was
not in the cone of x. These exceptions must be repaired. They depend on the graph alone, and for small worlds they are
listed once for every step (x, y). Both savings are exact.

On a complete graph, where every state can follow every other, distances save nothing. There all values are computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import jit_inline, jit_llvm_inline, jit_nrt_off
from berlyne.engine.simd import LANES, add, gather, item, largest, load, maximum, multiply_add, set_item, splat
from berlyne.engine.successor_graph import Graph, is_complete, slot_of
from berlyne.priors.closed_forms import NOISE
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray

BLOCK = 5
"""Number of states of a complete graph that are computed at once, so that their sums do not wait for one another."""
MAX_LISTED = 1 << 21
"""Largest number of entries in the lists of repairs; larger worlds search the cone at every step."""
MAX_VALUES = 1 << 28
"""Largest number of values in a plan: two gigabytes."""
BATCH_ENTRIES = 1 << 22
"""Number of entries that are processed together while the lists are built."""


class Repairs(NamedTuple):
    """The values to repair after each step.

    Attributes
    ----------
    edge : ndarray of int, shape (slots,)
        Where the list of each slot's step begins in `states`; empty if nothing is listed.
    states : ndarray of int
        For each step x -> y: depth - 1 ends of lists, then the states to repair at levels 1, 2, ...
    """

    edge: IntArray
    states: IndexArray


class Plan(NamedTuple):
    """Inputs and stored values of value iteration.

    Attributes
    ----------
    graph : Graph
        Slots of each state.
    weight : ndarray
        Probability of each slot under each action, `[slot * stride + a]`; minus `base_weight`, unless that is empty.
    base_weight : ndarray
        Probability of every state without a slot, `[s * stride + a]`; empty if all states have slots.
    values : ndarray
        gamma V_j(s) for j < depth, `[s * depth + j]`.
    repairs : Repairs
        Values to repair after each step.
    cone_state : ndarray of int, shape (2,)
        [0] the state x whose cone is up to date, -1 for none; [1] number of observations of x made since.
    mark, order, ends : ndarray of int, shape (N + 1,), (N,) and (depth,)
        Scratch for breadth-first search; `mark[N]` counts the searches.
    level : ndarray of shape (2 N,)
        Scratch for a complete graph; otherwise empty.
    lanes : tuple of int
        0, 4, ...: where each group of four actions of a slot begins. A tuple tells the compiler the number of groups.
    depth : int
        Number of steps back, D; 0 for a method that does not plan.
    gamma : float
        Discount.
    """

    graph: Graph
    weight: FloatArray
    base_weight: FloatArray
    values: FloatArray
    repairs: Repairs
    cone_state: IntArray
    mark: IntArray
    order: IndexArray
    ends: IntArray
    level: FloatArray
    lanes: tuple[int, ...]
    depth: int
    gamma: float


NO_REPAIRS = Repairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))
"""No lists: the cone is searched at every step."""
REPAIR_ALL = NO_REPAIRS._replace()
"""A marker instead of lists, for a complete graph: every step can change every value."""


def new_plan(
    graph: Graph, weight: FloatArray, base_weight: FloatArray, depth: int, gamma: float, repairs: Repairs
) -> Plan:
    """Make a plan without values; `repairs` must be `NO_REPAIRS` for a graph that grows."""
    n_states = len(graph.start)
    if n_states * depth > MAX_VALUES:
        raise ValueError(
            f"{depth} steps back in {n_states} states need {n_states * depth} values; "
            f"at most {MAX_VALUES} are possible, so use fewer steps"
        )
    is_complete_plan = repairs is REPAIR_ALL
    searching = depth > 0 and len(base_weight) == 0 and not is_complete_plan
    return Plan(
        graph,
        weight,
        base_weight,
        np.zeros(n_states * depth),
        repairs,
        np.array([-1, 0], dtype=np.int64),
        np.zeros(n_states + 1 if searching else 1, dtype=np.int64),
        np.empty(n_states if searching else 0, dtype=np.int32),
        np.empty(depth if searching else 0, dtype=np.int64),
        np.empty(2 * n_states if is_complete_plan else 0),
        tuple(range(0, graph.stride, LANES)),
        depth,
        float(gamma),
    )


def reset_plan(plan: Plan, utility: FloatArray) -> None:
    """Invalidate all values, and compute V_0 from utilities `[s * stride + a]`."""
    if plan.depth:
        plan.values[:: plan.depth] = plan.gamma * utility.reshape(-1, plan.graph.stride).max(axis=1)
    plan.cone_state[:] = -1, 0


def list_repairs(graph: Graph, depth: int) -> Repairs:
    """List the states to repair at each level after every step x -> y; `NO_REPAIRS` if they are too many.

    Level j of the list of (x, y) contains the states z with d(y, z) <= depth - j and one of two properties. Either
    d(z, x) <= j, so V_j(z) has changed; or d(x, z) > depth - j, so V_j(z) was not up to date.
    """
    n_states = len(graph.start)
    if depth < 2:
        return NO_REPAIRS
    if n_states >= BLOCK and is_complete(graph):
        return REPAIR_ALL
    if n_states**2 > MAX_LISTED:
        return NO_REPAIRS
    distance = _distances(graph, depth)
    x = np.repeat(np.arange(n_states), graph.length)
    is_step = np.ones(len(x), dtype=bool)
    is_step[1:] = (x[1:] != x[:-1]) | (graph.succ[1:] != graph.succ[:-1])  # not padding
    steps = np.flatnonzero(is_step)
    edge, pieces, used = np.zeros(len(x), dtype=np.int64), [], 0
    batch_size = max(1, BATCH_ENTRIES // (depth * n_states))
    for first in range(0, len(steps), batch_size):
        batch = steps[first : first + batch_size]
        to_repair = _to_repair(distance, x[batch], graph.succ[batch], depth)  # (steps, depth - 1, N)
        per_step = to_repair.sum(axis=(1, 2))
        edge[batch] = used + np.concatenate([[0], np.cumsum(per_step + depth - 1)[:-1]])
        pieces.append(_as_lists(to_repair, edge[batch]))
        used += len(pieces[-1])
        if used > MAX_LISTED:
            return NO_REPAIRS
    return Repairs(edge, np.concatenate(pieces))


def _distances(graph: Graph, depth: int) -> IndexArray:
    """Number of steps from state to state, `(N, N)`; depth + 1 if it is larger than depth."""
    within = np.eye(len(graph.start), dtype=bool)
    distance = (~within).astype(np.int32)
    for _ in range(depth):
        within |= np.logical_or.reduceat(within[graph.succ], graph.start, axis=0)
        distance += ~within
    return distance


def _to_repair(distance: IndexArray, x: IntArray, y: IndexArray, depth: int) -> BoolArray:
    """Whether state z must be repaired at level j after each step x -> y, `(steps, depth - 1, N)`."""
    level = np.arange(1, depth)[:, None]
    near = distance[y][:, None] <= depth - level
    changed = distance.T[x][:, None] <= level
    not_in_cone = distance[x][:, None] > depth - level
    return np.asarray(near & (changed | not_in_cone))


def _as_lists(to_repair: BoolArray, begin: IntArray) -> IndexArray:
    """Concatenate the ends and states of every step; `begin` is where the list of each step begins."""
    n_levels = to_repair.shape[1]
    ends = begin[:, None] + n_levels + np.cumsum(to_repair.sum(axis=2), axis=1)
    out = np.empty(int(ends[-1, -1] - begin[0]), dtype=np.int32)
    is_end = (begin[:, None] + np.arange(n_levels)).ravel() - begin[0]
    out[is_end] = ends.ravel()
    is_state = np.ones(len(out), dtype=bool)
    is_state[is_end] = False
    out[is_state] = np.nonzero(to_repair)[2]
    return out


@jit_llvm_inline
def best_value(plan: Plan, utility: FloatArray, z: int, j: int, total: float, shared: bool) -> float:
    """Compute max_a Q_j(a, z) from V_{j-1}; if `shared`, with the base weight times `total`, the sum of V_{j-1}.

    Two alternating sums avoid waiting for the result of the last addition.
    """
    graph, below, stride = plan.graph, j - 1, LANES * len(plan.lanes)
    succ, weight, values, depth = graph.succ, plan.weight, plan.values, plan.depth
    first = item(graph.start, z)
    last, best = first + item(graph.length, z), splat(-np.inf)
    for lane in range(0, stride, LANES):
        even, odd = load(utility, z * stride + lane), splat(0.0)
        if shared:
            even = multiply_add(even, load(plan.base_weight, z * stride + lane), splat(total))
        k = first
        while k < last:  # a range would be unrolled, but most states have only one or two groups of four
            at = k * stride + lane
            even = multiply_add(even, load(weight, at), splat(item(values, item(succ, k) * depth + below)))
            odd = multiply_add(odd, load(weight, at + stride), splat(item(values, item(succ, k + 1) * depth + below)))
            at += 2 * stride
            even = multiply_add(even, load(weight, at), splat(item(values, item(succ, k + 2) * depth + below)))
            odd = multiply_add(odd, load(weight, at + stride), splat(item(values, item(succ, k + 3) * depth + below)))
            k += LANES
        sums = add(even, odd)
        best = maximum(sums, best) if lane else sums
    return largest(best)  # type: ignore[no-any-return]  # vectors are Any to mypy, this is a float


@jit_inline
def sweep(plan: Plan, utility: FloatArray, states: IndexArray, begin: int, end: int, j: int) -> None:
    """Compute V_j of the states `states[begin:end]` from V_{j-1}."""
    for i in range(begin, end):
        z = item(states, i)
        set_item(plan.values, z * plan.depth + j, plan.gamma * best_value(plan, utility, z, j, 0.0, False))


@jit_inline
def plan_everywhere(plan: Plan, utility: FloatArray) -> float:
    """Compute all V_j of all states, with base weights; return the sum of the last level."""
    n_states, depth, total = len(plan.graph.start), plan.depth, 0.0
    for z in range(n_states):
        total += plan.values[z * depth]
    for j in range(1, depth):
        total_now = 0.0
        for z in range(n_states):
            best = best_value(plan, utility, z, j, total, True)
            if abs(best) <= NOISE * abs(total):
                best = 0.0  # rounding noise: the base weight of all states, minus that of states with slots
            set_item(plan.values, z * depth + j, plan.gamma * best)
            total_now += plan.gamma * best
        total = total_now
    return total


@jit_inline
def sweep_complete(plan: Plan, utility: FloatArray, before: int, after: int) -> None:
    """Compute V_j of all states at `level[after:]` from V_{j-1} at `level[before:]`.

    The last block may compute some states twice.
    """
    graph, weight, level, gamma = plan.graph, plan.weight, plan.level, plan.gamma
    n_states, stride = len(graph.start), LANES * len(plan.lanes)
    per_state = (graph.start[1] - graph.start[0]) * stride
    utility_at = (0, stride, 2 * stride, 3 * stride, 4 * stride)
    weight_at = (0, per_state, 2 * per_state, 3 * per_state, 4 * per_state)
    for i in range(0, n_states, BLOCK):
        z = min(i, n_states - BLOCK)
        lowest = splat(-np.inf)
        best = (lowest, lowest, lowest, lowest, lowest)
        for lane in range(0, stride, LANES):
            sums, first = gather(utility, utility_at, z * stride + lane), z * per_state + lane
            for k in range(n_states):
                sums = multiply_add(sums, gather(weight, weight_at, first + k * stride), splat(item(level, before + k)))
            best = maximum(sums, best) if lane else sums
        set_item(level, after + z, gamma * largest(best[0]))
        set_item(level, after + z + 1, gamma * largest(best[1]))
        set_item(level, after + z + 2, gamma * largest(best[2]))
        set_item(level, after + z + 3, gamma * largest(best[3]))
        set_item(level, after + z + 4, gamma * largest(best[4]))


@jit_inline
def plan_complete(plan: Plan, utility: FloatArray) -> None:
    """Compute the last V_j of all states on a complete graph, where each level is contiguous in memory."""
    n_states, depth, level = len(plan.graph.start), plan.depth, plan.level
    before, after = 0, n_states
    for z in range(n_states):
        level[z] = plan.values[z * depth]
    for _ in range(1, depth):
        sweep_complete(plan, utility, before, after)
        before, after = after, before
    for z in range(n_states):
        plan.values[z * depth + depth - 1] = level[before + z]


@jit_nrt_off
def plan_within_reach(plan: Plan, utility: FloatArray, y: int) -> None:
    """Update the whole cone of y: find it by breadth-first search, then sweep its levels."""
    graph, mark, order, ends = plan.graph, plan.mark, plan.order, plan.ends
    mark[-1] += 1
    stamp = mark[-1]
    order[0] = y
    mark[y] = stamp
    begin, end = 0, 1
    ends[0] = 1
    for d in range(1, len(ends)):
        reached = end
        for i in range(begin, end):
            z = order[i]
            for k in range(graph.start[z], graph.start[z] + graph.length[z]):
                neighbour = graph.succ[k]
                if mark[neighbour] != stamp:
                    mark[neighbour] = stamp
                    order[reached] = neighbour
                    reached += 1
        begin, end = end, reached
        ends[d] = end
    for j in range(1, plan.depth):
        sweep(plan, utility, order, 0, ends[plan.depth - j], j)


@jit_inline
def mark_row_changed(plan: Plan, utility: FloatArray, s: int) -> None:
    """Register that a row of state `s` has changed, and update V_0(s)."""
    if plan.cone_state[0] == s:
        plan.cone_state[1] += 1
    else:
        plan.cone_state[0] = -1
    best = -np.inf
    for r in range(s * plan.graph.stride, (s + 1) * plan.graph.stride):
        best = max(best, utility[r])
    plan.values[s * plan.depth] = plan.gamma * best


@jit_inline
def plan_after_step(plan: Plan, utility: FloatArray, x: int, y: int) -> None:
    """Update the cone of y after one observation in x, whose cone was up to date; search it if it is not listed."""
    states, edge = plan.repairs.states, plan.repairs.edge
    slot = slot_of(plan.graph, x, y) if len(edge) else -1
    if slot < 0:
        plan_within_reach(plan, utility, y)
    else:
        at = edge[slot]
        begin = at + plan.depth - 1
        for j in range(1, plan.depth):
            end = states[at + j - 1]
            sweep(plan, utility, states, begin, end, j)
            begin = end


@jit_nrt_off
def action_values(plan: Plan, utility: FloatArray, y: int, q: FloatArray) -> None:
    """Write Q_D(., y) into `q`, after updating the cone of y in the cheapest possible way."""
    graph, depth, total = plan.graph, plan.depth, 0.0
    if depth > 0:
        x, n_since = plan.cone_state[0], plan.cone_state[1]
        if len(plan.base_weight):
            total = plan_everywhere(plan, utility)
        elif depth == 1:
            pass  # V_0 is always up to date
        elif len(plan.level):
            plan_complete(plan, utility)
        elif x >= 0 and n_since == 1:
            plan_after_step(plan, utility, x, y)
        elif x != y or n_since > 0:
            plan_within_reach(plan, utility, y)
        plan.cone_state[0], plan.cone_state[1] = y, 0
    for a in range(len(q)):
        q[a] = plan.base_weight[y * graph.stride + a] * total if len(plan.base_weight) and depth > 0 else 0.0
    if depth > 0:
        for k in range(graph.start[y], graph.start[y] + graph.length[y]):
            v = plan.values[graph.succ[k] * depth + depth - 1]
            for a in range(len(q)):
                q[a] += plan.weight[k * graph.stride + a] * v
    for a in range(len(q)):
        if abs(q[a]) <= NOISE * abs(total):
            q[a] = 0.0
        q[a] += utility[y * graph.stride + a]
