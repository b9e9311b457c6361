"""Value iteration for one state: compute only what its decision depends on and what has changed.

Paper: Eqs. 14 to 16; readings R4 and R5. With `V_0(s) = max_a U(a, s)` and

    Q_j(a, s) = U(a, s) + gamma sum_s' p(s' | a, s) V_{j-1}(s'),    V_j(s) = max_a Q_j(a, s),

an agent in state y needs `Q_D(., y)` for D steps back, hence V_j only for the states within D - j
steps of y. These states are the *cone* of y. All values of a cone are stored from one step to the next. If the agent
goes from x to y, only a row of x has changed. So V_j(z) is still correct, unless z can reach x within j steps, or z was
not in the cone of x. These exceptions must be repaired. They depend on the graph alone, and for small worlds they are
listed once for every step (x, y). Both savings are exact.

On a complete graph, where every state can follow every other, distances save nothing. There all values are computed.

If every state can follow, states that were never met are alike, and one of them represents all
(`berlyne.engine.listed_states`).

If some actions are not possible, the plan reads its own copy of the utilities, in which they are -inf. A terminal state
e has no actions. Its value V_j(e) is that of the states in which episodes begin, sum_s p(s) V_j(s), or 0 if the plan
stops there (`berlyne.strategies.coordination.ValueIteration`). The states in which episodes begin belong to the cone if
a terminal state does, and the whole cone is computed at every step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import Belief, renew_utilities
from berlyne.engine.simd import LANES, add, gather, item, largest, load, maximum, multiply_add, set_item, splat
from berlyne.engine.successor_graph import Graph, is_complete, slot_of
from berlyne.frozen import read_only
from berlyne.priors.closed_forms import NOISE
from berlyne.strategies.coordination import ValueIteration
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray

BLOCK = 5
"""Number of states of a complete graph that are computed at once, so that their sums do not wait for one another."""
MAX_LISTED = 1 << 21
"""Largest number of entries in the lists of repairs; larger worlds search the cone at every step."""
MAX_COMPUTED = 32
"""Up to this many states, all values are computed, even if states are alike."""
MAX_VALUES = 1 << 28
"""Largest number of values in a plan: two gigabytes."""
BATCH_ENTRIES = 1 << 22
"""Number of entries that are processed together while the lists are built."""


class Repairs(NamedTuple):
    """Which values each step can change.

    Attributes
    ----------
    edge : ndarray of shape (slots,)
        Where the list of the step of each slot begins in `states`; empty if nothing is listed.
    states : ndarray
        For each step x -> y: depth - 1 ends of lists, then the states to repair at levels 1, 2, ...
    """

    edge: IntArray
    states: IndexArray


class Listed(NamedTuple):
    """The states that differ from all others; the arrays are empty if all states are computed.

    Attributes
    ----------
    states : ndarray of int, shape (N,)
        The listed states, and after them a state that represents all others.
    is_listed : ndarray of bool, shape (N,)
        Whether each state is listed.
    n : ndarray of int, shape (3,)
        Number of listed states; no smaller state than this one is unlisted; number of observations that are listed.
    """

    states: IndexArray
    is_listed: BoolArray
    n: IntArray


def new_listed(n_states: int) -> Listed:
    """Return an empty list of states."""
    empty = np.zeros(n_states, dtype=np.int32), np.zeros(n_states, dtype=np.bool_)
    return Listed(*empty, np.array([0, 0, -1], dtype=np.int64))


class Plan(NamedTuple):
    """Inputs and stored values of value iteration.

    Attributes
    ----------
    graph : Graph
        The slots that `weight` refers to.
    weight : ndarray
        `[slot * stride + a]`, probability of each slot under each action, less `base_weight` if there is one.
    base_weight : ndarray
        `[s * stride + a]`, the probability of every state without a slot; empty if every state has one.
    values : ndarray
        `[s * depth + j]`, gamma V_j(s) for j < depth.
    repairs : Repairs
        Which values each step can change.
    cone_state : ndarray of shape (2,)
        The state x whose cone was up to date, -1 for none, and the observations of x made since.
    mark, order, ends : ndarray of shape (N + 1,), (N,), (depth,)
        Scratch for breadth-first search; `mark[N]` counts the searches.
    level : ndarray of shape (2 N,)
        Scratch for a complete graph; otherwise empty.
    listed : Listed
        The states to compute, if all others are alike.
    reward : ndarray
        `[s * stride + a]`, utilities, -inf for actions that are not possible; up to date only if there are any, and
        only for states that are computed.
    depth : int
        Steps back, D.
    gamma : float
        Discount.
    restarts : bool
        Whether a plan goes on where episodes begin, after the end of an episode.
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
    listed: Listed
    reward: FloatArray
    depth: int
    gamma: float
    restarts: bool


NO_REPAIRS = Repairs(read_only(np.empty(0, dtype=np.int64)), read_only(np.empty(0, dtype=np.int32)))
"""No lists: the cone is searched at every step."""


def new_plan(
    graph: Graph, weight: FloatArray, base_weight: FloatArray, method: ValueIteration, repairs: Repairs
) -> Plan:
    """Return a plan without values; `repairs` as listed for a graph that does not grow."""
    n_states, depth = len(graph.start), method.steps_back
    if n_states * depth > MAX_VALUES:
        raise ValueError(
            f"{depth} steps back in {n_states} states need {n_states * depth} values; "
            f"at most {MAX_VALUES} are possible, so use fewer steps"
        )
    together = depth > 1 and len(base_weight) == 0 and n_states >= BLOCK and is_complete(graph)
    searches = depth > 0 and len(base_weight) == 0 and not together
    return Plan(
        graph,
        weight,
        base_weight,
        np.zeros(n_states * depth),
        repairs,
        np.array([-1, 0], dtype=np.int64),
        np.zeros(n_states + 1 if searches else 1, dtype=np.int64),
        np.empty(n_states if searches else 0, dtype=np.int32),
        np.empty(depth if searches else 0, dtype=np.int64),
        np.empty(2 * n_states if together else 0),
        new_listed(0),
        np.empty(n_states * graph.stride),
        depth,
        float(method.gamma),
        method.after_end == "restart",
    )


def list_repairs(graph: Graph, depth: int) -> Repairs:
    """List the states to repair at each level after every step x -> y; `NO_REPAIRS` if they are too many.

    Level j of the list of (x, y) contains the states z with d(y, z) <= depth - j and one of two properties. Either
    d(z, x) <= j, so V_j(z) has changed; or d(x, z) > depth - j, so V_j(z) was not up to date.
    """
    n_states = len(graph.start)
    if depth < 2 or n_states**2 > MAX_LISTED or (n_states >= BLOCK and is_complete(graph)):
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
    return Repairs(read_only(edge), read_only(np.concatenate(pieces)))


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


@inline
def group_values(
    plan: Plan, utility: FloatArray, z: int, j: int, total: float, shared: bool, stride: int, lane: int
) -> Any:
    """Compute Q_j(a, z) of four actions from `lane` on, from V_{j-1}.

    If `shared`, every state has the base weight, and `total` is the sum of V_{j-1}. Two alternating sums avoid waiting
    for the result of the last addition.
    """
    graph, below = plan.graph, j - 1
    succ, weight, values, depth = graph.succ, plan.weight, plan.values, plan.depth
    first = item(graph.start, z)
    last = first + item(graph.length, z)
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
    return add(even, odd)


@inline
def best_value(plan: Plan, utility: FloatArray, z: int, j: int, total: float, shared: bool) -> float:
    """Compute max_a Q_j(a, z) from V_{j-1}, see `group_values`.

    Up to four actions are one group. LLVM then knows the stride, which is faster.
    """
    stride = plan.graph.stride
    lane: Any = np.int64(0)  # no literal: it would be compiled apart
    if stride == LANES:
        return largest(group_values(plan, utility, z, j, total, shared, stride, lane))  # type: ignore[no-any-return]
    best = splat(-np.inf)
    while lane < stride:
        best = maximum(group_values(plan, utility, z, j, total, shared, stride, lane), best)
        lane += LANES
    return largest(best)  # type: ignore[no-any-return]  # vectors are Any to mypy, this is a float


@inline
def sweep(plan: Plan, utility: FloatArray, states: IndexArray, begin: int, end: int, j: int) -> None:
    """Compute V_j of the states `states[begin:end]` from V_{j-1}."""
    for i in range(begin, end):
        z = item(states, i)
        set_item(plan.values, z * plan.depth + j, plan.gamma * best_value(plan, utility, z, j, 0.0, False))


@inline
def value_after_end(choice: Any, plan: Plan, values: FloatArray, first: int, step: int) -> float:
    """Return V_j of terminal states, where `values[first + z * step]` is that of state z, discounted or not."""
    starts, after, weight = choice.starts, 0.0, 0.0
    if plan.restarts:
        for i in range(starts.n[0]):
            z = starts.states[i]
            if not choice.terminal[z]:
                after += starts.weight[z] * values[first + z * step]
                weight += starts.weight[z]
    return after / weight if weight > 0.0 else 0.0


@inline
def value_ends(choice: Any, plan: Plan, values: FloatArray, first: int, step: int) -> None:
    """Set V_j of all terminal states, with arguments as for `value_after_end`."""
    after = value_after_end(choice, plan, values, first, step)
    for z in range(len(choice.terminal)):
        if choice.terminal[z]:
            values[first + z * step] = after


@inline
def sum_of_level(plan: Plan, j: int, n_states: int) -> float:
    """Sum V_j over all states."""
    total = 0.0
    for z in range(n_states):
        total += plan.values[z * plan.depth + j]
    return total


@inline
def plan_everywhere(choice: Any, plan: Plan, utility: FloatArray, n_states: int, n_levels: int, masked: bool) -> float:
    """Compute V_j of all states for j < n_levels, with base weights; return the sum of the last level.

    `masked` is whether some rows are not possible. It is a constant, so that the loop is compiled for each case.
    """
    depth = plan.depth
    if masked:
        value_ends(choice, plan, plan.values, 0, depth)
    total = sum_of_level(plan, 0, n_states)
    for j in range(1, n_levels):
        total_now = 0.0
        for z in range(n_states):
            best = best_value(plan, utility, z, j, total, True)
            if abs(best) <= NOISE * abs(total):
                best = 0.0  # rounding noise: the base weight of all states, minus that of states with slots
            set_item(plan.values, z * depth + j, plan.gamma * best)
            total_now += plan.gamma * best
        if masked:
            value_ends(choice, plan, plan.values, j, depth)
            total_now = sum_of_level(plan, j, n_states)
        total = total_now
    return total


@inline
def sweep_complete(plan: Plan, utility: FloatArray, before: int, after: int, stride: int) -> None:
    """Compute V_j of all states at `level[after:]` from V_{j-1} at `level[before:]`.

    The last block may compute some states twice.
    """
    graph, weight, level, gamma = plan.graph, plan.weight, plan.level, plan.gamma
    n_states = len(graph.start)
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


@inline
def plan_complete(choice: Any, plan: Plan, utility: FloatArray, n_levels: int, masked: bool) -> None:
    """Compute V_j of all states for j = n_levels - 1 on a complete graph, where each level is contiguous in memory.

    `masked` as in `plan_everywhere`.
    """
    n_states, depth, level = len(plan.graph.start), plan.depth, plan.level
    before, after = 0, n_states
    for z in range(n_states):
        level[z] = plan.values[z * depth]
    for _ in range(1, n_levels):
        if masked:
            value_ends(choice, plan, level, before, 1)
        if plan.graph.stride == LANES:  # a constant is faster
            sweep_complete(plan, utility, before, after, LANES)
        else:
            sweep_complete(plan, utility, before, after, plan.graph.stride)
        before, after = after, before
    if masked:
        value_ends(choice, plan, level, before, 1)
    for z in range(n_states):
        plan.values[z * depth + n_levels - 1] = level[before + z]


@inline
def find_cone(plan: Plan, y: int) -> None:
    """Find the cone of y by breadth-first search: `order[:ends[d]]` are the states within d steps."""
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


@inline
def plan_within_reach(plan: Plan, utility: FloatArray, y: int) -> None:
    """Update the whole cone of y: find it, then sweep its levels."""
    find_cone(plan, y)
    from_first: Any = np.int64(0)
    for j in range(1, plan.depth):
        sweep(plan, utility, plan.order, from_first, plan.ends[plan.depth - j], j)


@inline
def find_cone_with_ends(choice: Any, plan: Plan, y: int) -> None:
    """Find the cone of y as `find_cone` does, if not everything is possible.

    A terminal state is not expanded. Where the first one is found, the states follow in which episodes begin.
    """
    graph, mark, order, ends, starts = plan.graph, plan.mark, plan.order, plan.ends, choice.starts
    mark[-1] += 1
    stamp = mark[-1]
    order[0] = y
    mark[y] = stamp
    begin, end, restarted = 0, 1, not plan.restarts
    ends[0] = 1
    for d in range(1, len(ends)):
        reached = end
        for i in range(begin, end):
            z = order[i]
            for k in range(graph.start[z], graph.start[z] + graph.length[z]):
                neighbour = graph.succ[k]
                if mark[neighbour] == stamp:
                    continue
                mark[neighbour] = stamp
                if not choice.terminal[neighbour]:
                    order[reached] = neighbour
                    reached += 1
                elif not restarted:
                    restarted = True
                    for j in range(starts.n[0]):
                        first = starts.states[j]
                        if mark[first] != stamp:
                            mark[first] = stamp
                            order[reached] = first
                            reached += 1
        begin, end = end, reached
        ends[d] = end


@inline
def plan_with_ends(choice: Any, plan: Plan, y: int) -> None:
    """Update the whole cone of y, if not everything is possible."""
    find_cone_with_ends(choice, plan, y)
    from_first: Any = np.int64(0)
    value_ends(choice, plan, plan.values, 0, plan.depth)
    for j in range(1, plan.depth):
        sweep(plan, plan.reward, plan.order, from_first, plan.ends[plan.depth - j], j)
        value_ends(choice, plan, plan.values, j, plan.depth)


@inline
def repair_after_step(plan: Plan, utility: FloatArray, slot: int) -> None:
    """Update the values that the step of a slot can change, as listed in `plan.repairs`."""
    states = plan.repairs.states
    first = plan.repairs.edge[slot]  # int64, as every index passed to `sweep`, which is then compiled once
    begin = first + plan.depth - 1
    for j in range(1, plan.depth):
        end: Any = np.int64(states[first + j - 1])
        sweep(plan, utility, states, begin, end, j)
        begin = end


@inline
def back_up(plan: Plan, utility: FloatArray, y: int, q: FloatArray, n_levels: int, total: float) -> None:
    """Q_j(., y) into `q` for j = n_levels, from V_{j-1}; `total` is the sum of V_{j-1} if rows have base weights."""
    graph, depth, stride = plan.graph, plan.depth, plan.graph.stride
    for a in range(len(q)):
        q[a] = plan.base_weight[y * stride + a] * total if len(plan.base_weight) and n_levels > 0 else 0.0
    if n_levels > 0:
        first = graph.start[y]
        for k in range(first, first + graph.length[y]):
            v = plan.values[graph.succ[k] * depth + n_levels - 1]
            for a in range(len(q)):
                q[a] += plan.weight[k * stride + a] * v
    for a in range(len(q)):
        if abs(q[a]) <= NOISE * abs(total):
            q[a] = 0.0
        q[a] += utility[y * stride + a]


@inline
def steps_ahead(choice: Any, plan: Plan) -> int:
    """Return the number of steps to plan after the next one: D, but not beyond the horizon, and 0 if gamma is 0."""
    n: int = min(plan.depth, choice.left[0] - 1)
    return n if plan.gamma > 0.0 else 0


@callback
def plan_values_in_cone(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """Q(., s) into `choice.values`, after bringing the cone of s up to date in the cheapest way."""
    utility, depth = belief.utility, plan.depth
    x, n_since = plan.cone_state[0], plan.cone_state[1]
    if depth > 1 and (x != s or n_since > 0):  # V_0 is always up to date
        slot = slot_of(plan.graph, x, s) if x >= 0 and n_since == 1 and len(plan.repairs.edge) else -1
        if slot >= 0:
            repair_after_step(plan, utility, slot)
        else:
            plan_within_reach(plan, utility, s)
    plan.cone_state[0], plan.cone_state[1] = s, 0
    back_up(plan, utility, s, choice.values, steps_ahead(choice, plan), 0.0)


@callback
def plan_values_with_ends(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """Q(., s) into `choice.values` as `plan_values_in_cone`, if not everything is possible."""
    if plan.depth > 0:
        plan_with_ends(choice, plan, s)
    back_up(plan, plan.reward, s, choice.values, steps_ahead(choice, plan), 0.0)


@inline
def values_complete(belief: Belief, choice: Any, plan: Plan, s: int, masked: bool) -> None:
    """Q(., s) into `choice.values`, if slot k of every state is state k; `masked` as in `plan_everywhere`."""
    n_levels, utility = steps_ahead(choice, plan), plan.reward if masked else belief.utility
    if n_levels > 0:
        plan_complete(choice, plan, utility, n_levels, masked)
    back_up(plan, utility, s, choice.values, n_levels, 0.0)


@inline
def values_everywhere(belief: Belief, choice: Any, plan: Plan, s: int, masked: bool) -> None:
    """Q(., s) into `choice.values`, if every state without a slot has the same share of each row."""
    n_levels, utility, total = steps_ahead(choice, plan), plan.reward if masked else belief.utility, 0.0
    if n_levels > 0:
        total = plan_everywhere(choice, plan, utility, belief.n_states[0], n_levels, masked)
    back_up(plan, utility, s, choice.values, n_levels, total)


@callback
def plan_values_complete(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_complete` without a mask."""
    values_complete(belief, choice, plan, s, False)


@callback
def plan_values_complete_masked(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_complete` with a mask."""
    values_complete(belief, choice, plan, s, True)


@callback
def plan_values_everywhere(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_everywhere` without a mask."""
    values_everywhere(belief, choice, plan, s, False)


@callback
def plan_values_everywhere_masked(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_everywhere` with a mask."""
    values_everywhere(belief, choice, plan, s, True)


@inline
def note_change(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """Note that a row of state `s` has changed, and renew V_0(s)."""
    if plan.cone_state[0] == s:
        plan.cone_state[1] += 1
    else:
        plan.cone_state[0] = -1
    renew_state(belief, choice, plan, s)


@callback
def plan_after_observation(belief: Belief, choice: Any, plan: Plan, s: int, a: int, s_next: int, reward: float) -> None:
    """Note that a row of state `s` has changed."""
    if plan.depth > 0 or choice.n_impossible[0] > 0:
        note_change(belief, choice, plan, s)


@inline
def renew_state(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """Set gamma V_0(s), and the rewards of state s if not everything is possible."""
    stride, best = plan.graph.stride, -np.inf
    renew_utilities(belief, s)
    if choice.n_impossible[0] > 0:
        for r in range(s * stride, (s + 1) * stride):
            plan.reward[r] = belief.utility[r] if choice.possible[r] else -np.inf
            best = max(best, plan.reward[r])
    else:
        for r in range(s * stride, (s + 1) * stride):
            best = max(best, belief.utility[r])
    if plan.depth > 0:
        plan.values[s * plan.depth] = plan.gamma * best


@callback
def reset_plan(belief: Belief, choice: Any, plan: Plan) -> None:
    """Discard all plans after utilities, or what is possible, have changed, and renew V_0."""
    plan.cone_state[0], plan.cone_state[1] = -1, 0
    for s in range(belief.n_states[0]):
        renew_state(belief, choice, plan, s)


def plan_functions(plan: Plan, masked: bool) -> tuple[Any, Any, Any]:
    """Return the functions of a plan: values, after an observation, reset; `masked` if not everything is possible.

    Each kind of plan has its own, so that only those in use are compiled.
    """
    if len(plan.base_weight):
        values = plan_values_everywhere_masked if masked else plan_values_everywhere
    elif len(plan.level):
        values = plan_values_complete_masked if masked else plan_values_complete
    else:
        values = plan_values_with_ends if masked else plan_values_in_cone
    return values, plan_after_observation, reset_plan
