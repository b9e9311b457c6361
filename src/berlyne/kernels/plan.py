"""Value iteration for one state: only what its decision depends on, only what has changed.

Paper: Eqs. 14 to 16; readings R4 and R5. With `V_0(s) = max_a U(a, s)` and

    Q_j(a, s) = U(a, s) + gamma sum_s' p(s' | a, s) V_{j-1}(s'),    V_j(s) = max_a Q_j(a, s),

an agent in state y needs `Q_D(., y)` for D steps back, hence V_j only for states within D - j
steps of y: its *cone*. All values of a cone are kept from one step to the next. If the agent goes
from x to y, then the only row that changed is one of x, so V_j(z) is still right unless z can reach
x within j steps, or z was not in the cone of x. The states left over depend on the graph alone;
for small worlds they are listed once for every pair (x, y). Both savings are exact.

The transition weights of a state's actions lie side by side (`stride` of them, a multiple of
four, padded with zeros), so that one instruction serves four actions; slots come in fours too, filled
up with the last outcome at weight zero. Where every state can follow every other nothing is saved by
looking at distances, and all values are worked out in one piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import bare_kernel, inlined, kernel
from berlyne.kernels.lanes import sweep, sweep_full, sweep_shared


class Plan(NamedTuple):
    """Where value iteration reads, and what it remembers.

    start, length : (N,), first slot and number of slots of each state.
    succ : next state of each slot.
    weight : [slot * stride + a], its probability under each action, less `share` where there is one.
    share : [s * stride + a], the probability of every state in no slot; empty if there are none.
    utility : [s * stride + a], -inf in the padding.
    values : [s * depth + j], gamma V_j(s) for j < depth.
    edge : (slots + 1,), where the list of each pair (x, y) begins in `todo`; empty if not listed.
    todo : per pair: depth - 1 ends of lists, then the states to repair at levels 1, 2, ...
    home : [0] the state x whose cone was up to date, -1 for none; [1] observations of x made since.
    mark, order, ends : (N + 1,), (N,) and (depth,), scratch for breadth-first search; `mark[N]` counts the searches.
    level : (2 N,) scratch where every state can follow every other; otherwise empty.
    """

    start: IntArray
    length: IndexArray
    succ: IndexArray
    weight: FloatArray
    share: FloatArray
    utility: FloatArray
    values: FloatArray
    edge: IntArray
    todo: IndexArray
    home: IntArray
    mark: IntArray
    order: IndexArray
    ends: IntArray
    level: FloatArray
    stride: int
    depth: int
    gamma: float


@kernel
def ball(
    start: IntArray, length: IndexArray, succ: IndexArray, mark: IntArray, order: IndexArray, ends: IntArray, y: int
) -> None:
    """States by distance from y: those within d steps are `order[:ends[d]]`, for d < len(ends)."""
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
            for k in range(start[z], start[z] + length[z]):
                other = succ[k]
                if mark[other] != stamp:
                    mark[other] = stamp
                    order[reached] = other
                    reached += 1
        begin, end = end, reached
        ends[d] = end


@bare_kernel
def plan_within_reach(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    utility: FloatArray,
    values: FloatArray,
    mark: IntArray,
    order: IndexArray,
    ends: IntArray,
    stride: int,
    depth: int,
    gamma: float,
    y: int,
) -> None:
    """Bring the whole cone of y up to date."""
    ball(start, length, succ, mark, order, ends, y)
    for j in range(1, depth):
        end = ends[depth - j]
        sweep(start, length, succ, weight, utility, values, order, 0, end, stride, depth, gamma, j)


@inlined
def plan_repair(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    utility: FloatArray,
    values: FloatArray,
    todo: IndexArray,
    stride: int,
    depth: int,
    gamma: float,
    record: int,
) -> None:
    """Bring the cone of y up to date after a step from x to y, given the cone of x and the list of the pair."""
    begin = record + depth - 1
    for j in range(1, depth):
        end = todo[record + j - 1]
        sweep(start, length, succ, weight, utility, values, todo, begin, end, stride, depth, gamma, j)
        begin = end


@bare_kernel
def plan_everywhere(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    share: FloatArray,
    utility: FloatArray,
    values: FloatArray,
    stride: int,
    depth: int,
    gamma: float,
) -> float:
    """All V_j of all states, for rows that give every state in no slot the same share; returns the last sum."""
    total = 0.0
    for z in range(len(start)):
        total += values[z * depth]
    for j in range(1, depth):
        total = sweep_shared(start, length, succ, weight, share, utility, values, total, stride, depth, gamma, j)
    return total


@inlined
def plan_full(
    start: IntArray,
    weight: FloatArray,
    utility: FloatArray,
    values: FloatArray,
    level: FloatArray,
    stride: int,
    depth: int,
    gamma: float,
) -> None:
    """The last V_j of all states, where slot k of every state is state k: each level lies in one piece."""
    n_states = len(start)
    before, after = 0, n_states
    for z in range(n_states):
        level[z] = values[z * depth]
    for _ in range(1, depth):
        sweep_full(start, weight, utility, level, before, after, stride, gamma)
        before, after = after, before
    for z in range(n_states):
        values[z * depth + depth - 1] = level[before + z]


@inlined
def forget(
    utility: FloatArray, values: FloatArray, home: IntArray, stride: int, depth: int, gamma: float, s: int
) -> None:
    """Note that a row of state `s` has changed, and renew V_0(s)."""
    if home[0] == s:
        home[1] += 1
    else:
        home[0] = -1
    best = -np.inf
    for u in range(s * stride, (s + 1) * stride):
        best = max(best, utility[u])
    values[s * depth] = gamma * best


@inlined
def step_between(start: IntArray, length: IndexArray, succ: IndexArray, x: int, y: int) -> int:
    """The slot of the step x -> y, -1 if there is none."""
    slot = -1
    for k in range(start[x], start[x] + length[x]):
        if succ[k] == y:
            slot = k
            break
    return slot


@inlined
def action_values(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    share: FloatArray,
    utility: FloatArray,
    values: FloatArray,
    edge: IntArray,
    todo: IndexArray,
    home: IntArray,
    mark: IntArray,
    order: IndexArray,
    ends: IntArray,
    level: FloatArray,
    stride: int,
    depth: int,
    gamma: float,
    y: int,
    q: FloatArray,
) -> None:
    """Q_D(., y) into `q`, after bringing the cone of y up to date by the cheapest way there is.

    Arguments up to `gamma` are the fields of `Plan`.
    """
    for a in range(len(q)):
        q[a] = 0.0
    if depth > 0:
        x, n_since = home[0], home[1]
        if len(share):
            total = plan_everywhere(start, length, succ, weight, share, utility, values, stride, depth, gamma)
            for a in range(len(q)):
                q[a] = share[y * stride + a] * total
        elif len(level):
            plan_full(start, weight, utility, values, level, stride, depth, gamma)
        else:
            slot = step_between(start, length, succ, x, y) if len(edge) and x >= 0 and n_since == 1 else -1
            if slot >= 0:
                plan_repair(start, length, succ, weight, utility, values, todo, stride, depth, gamma, edge[slot])
            elif x != y or n_since > 0:
                plan_within_reach(
                    start, length, succ, weight, utility, values, mark, order, ends, stride, depth, gamma, y
                )
        home[0], home[1] = y, 0
        for k in range(start[y], start[y] + length[y]):
            v = values[succ[k] * depth + depth - 1]
            for a in range(len(q)):
                q[a] += weight[k * stride + a] * v
    for a in range(len(q)):
        q[a] += utility[y * stride + a]


@kernel
def list_repairs(
    start: IntArray, length: IndexArray, succ: IndexArray, depth: int, limit: int
) -> tuple[IntArray, IndexArray]:
    """For every step x -> y the states to repair at each level; empty if more than `limit` entries.

    Level j of the list of (x, y) holds the z with d(y, z) <= depth - j and either
    d(z, x) <= j, so that V_j(z) has changed, or d(x, z) > depth - j, so that it was not kept.
    """
    n_states = len(start)
    mark, order = np.zeros(n_states + 1, dtype=np.int64), np.empty(n_states, dtype=np.int32)
    ends = np.empty(depth + 1, dtype=np.int64)
    distance = np.full((n_states, n_states), depth + 1, dtype=np.int32)
    for y in range(n_states):
        ball(start, length, succ, mark, order, ends, y)
        begin = 0
        for d in range(depth + 1):
            for i in range(begin, ends[d]):
                distance[y, order[i]] = d
            begin = ends[d]
    edge = np.zeros(len(succ), dtype=np.int64)
    todo = np.empty(1 << 12, dtype=np.int32)
    used = 0
    for x in range(n_states):
        for k in range(start[x], start[x] + length[x]):
            y = succ[k]
            if k > start[x] and y == succ[k - 1]:
                continue  # padding
            edge[k] = used
            if used + depth * (n_states + 1) > len(todo):
                if len(todo) > limit:
                    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
                larger = np.empty(2 * len(todo) + depth * (n_states + 1), dtype=np.int32)
                for i in range(used):  # assigning a slice would take Numba two seconds to compile
                    larger[i] = todo[i]
                todo = larger
            end = used + depth - 1
            for j in range(1, depth):
                for z in range(n_states):
                    near = distance[y, z] <= depth - j
                    if near and (distance[z, x] <= j or distance[x, z] > depth - j):
                        todo[end] = z
                        end += 1
                todo[used + j - 1] = end
            used = end
    return edge, todo[:used].copy()
