"""Linear equations of absorbing chains by state reduction, twelve at a time.

The expected time to a target solves V = 1 + Q V. States are eliminated one by one (Grassmann,
Taksar and Heyman): the pivot is the probability of leaving a state, a sum of positive numbers
rather than one minus a number close to one, so every V is accurate to its last digits whether it
is 10 or 1e12. Which numbers meet which depends on the graph alone and is listed once. A maze is a
tree with one hub, so hardly anything fills in and a solution costs O(N), not O(N^3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.arrays import BoolArray, FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import kernel
from berlyne.kernels.dozen import LANES, add_product, mixed, scatter


class Elimination(NamedTuple):
    """What is done in which order.

    Each transition between different states has a place: those out of the t-th state to states that
    are left when it is eliminated are at `row[t]:row[t + 1]`, those into it at `column[t]:column[t + 1]`.

    order : (N,), states in the order they are eliminated.
    place : (slots,), the place of each slot's transition, -1 for a step that stays.
    row, row_state : where each row begins, and the next state of each of its places.
    column, column_state : where each column begins, and the previous state of each of its places (from `column[0]`).
    fill : for each place of a column, and then of a row, the place of their product.
    n_places : how many there are, and one more for products that nobody needs.
    """

    order: IntArray
    place: IntArray
    row: IntArray
    row_state: IndexArray
    column: IntArray
    column_state: IndexArray
    fill: IntArray
    n_places: int


@kernel
def cheapest(reach: IntArray, left: BoolArray) -> int:
    """Of the states left, the one with the fewest products of transitions in and out (Markowitz)."""
    n_states = len(left)
    best, least = -1, 0
    for s in range(n_states):
        if left[s]:
            n_out, n_in = 0, 0
            for other in range(n_states):
                if left[other] and other != s:
                    n_out += reach[s, other] >= 0
                    n_in += reach[other, s] >= 0
            if best < 0 or n_out * n_in < least:
                best, least = s, n_out * n_in
    return best


@kernel
def list_elimination(start: IntArray, length: IndexArray, succ: IndexArray) -> Elimination:
    """List the elimination of a graph given in slots."""
    n_states = len(start)
    reach = np.full((n_states, n_states), -1, dtype=np.int64)
    for s in range(n_states):
        for k in range(start[s], start[s] + length[s]):
            if succ[k] != s:
                reach[s, succ[k]] = 0
    order = cheapest_order(reach)
    row, row_state = number(order, reach, 0, True)
    column, column_state = number(order, reach, row[n_states], False)
    place = np.full(len(succ), -1, dtype=np.int64)
    for s in range(n_states):
        for k in range(start[s], start[s] + length[s]):
            if succ[k] != s:
                place[k] = reach[s, succ[k]]
    n_places, n_fill = column[n_states] + 1, 0
    for t in range(n_states):
        n_fill += (column[t + 1] - column[t]) * (row[t + 1] - row[t])
    fill = np.full(n_fill, n_places - 1, dtype=np.int64)
    f = 0
    for t in range(n_states):
        for c in range(column[t], column[t + 1]):
            for r in range(row[t], row[t + 1]):
                i, j = column_state[c - column[0]], row_state[r]
                if i != j:
                    fill[f] = reach[i, j]
                f += 1
    return Elimination(order, place, row, row_state, column, column_state, fill, n_places)


@kernel
def cheapest_order(reach: IntArray) -> IntArray:
    """The order that eliminates the cheapest state first; `reach` is filled in on the way."""
    n_states = len(reach)
    order, left = np.empty(n_states, dtype=np.int64), np.ones(n_states, dtype=np.bool_)
    for t in range(n_states):
        s = cheapest(reach, left)
        order[t], left[s] = s, False
        for i in range(n_states):
            if left[i] and reach[i, s] >= 0:
                for j in range(n_states):
                    if left[j] and i != j and reach[s, j] >= 0:
                        reach[i, j] = 0
    return order


@kernel
def number(order: IntArray, reach: IntArray, first: int, rows: bool) -> tuple[IntArray, IndexArray]:
    """Number the places of all rows, or of all columns, from `first`: where each begins, and the other states."""
    n_states = len(order)
    begin = np.full(n_states + 1, first, dtype=np.int64)
    state = np.empty(n_states * n_states, dtype=np.int32)
    n = first
    for t in range(n_states):
        for other in order[t + 1 :]:
            i, j = (order[t], other) if rows else (other, order[t])
            if reach[i, j] >= 0:
                reach[i, j] = n
                state[n - first] = other
                n += 1
        begin[t + 1] = n
    return begin, state[: n - first].copy()


@kernel
def solve(
    todo: Elimination, p: FloatArray, leave: FloatArray, cost: FloatArray, inverse: FloatArray, values: FloatArray
) -> None:
    """Expected cost until the chain ends, into `values`; all other arrays are used up.

    p : [place, lane], probability of each transition between different states.
    leave : [s, lane], positive, probability that the chain ends in a step from s.
    cost : [s, lane], of one step from s.
    inverse : [s, lane], scratch.
    """
    order, row, row_state, fill = todo.order, todo.row, todo.row_state, todo.fill
    column, column_state = todo.column, todo.column_state
    n_states, f = len(order), 0
    values[:] = 1.0
    for t in range(n_states):
        s = order[t]
        mixed(inverse, s, leave, row_state, p, values, row[t], row[t + 1])  # the sum of the row, as all values are 1
        for i in range(s * LANES, (s + 1) * LANES):
            inverse[i] = 1.0 / inverse[i]
        for c in range(column[t], column[t + 1]):
            for lane in range(LANES):
                p[c * LANES + lane] *= inverse[s * LANES + lane]
            i = column_state[c - column[0]]
            add_product(leave, i, p, c, leave, s)
            add_product(cost, i, p, c, cost, s)
            scatter(p, c, fill, f, row[t], row[t + 1])
            f += row[t + 1] - row[t]
    for t in range(n_states - 1, -1, -1):
        s = order[t]
        mixed(values, s, cost, row_state, p, values, row[t], row[t + 1])
        for i in range(s * LANES, (s + 1) * LANES):
            values[i] *= inverse[i]
