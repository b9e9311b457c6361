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

from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.simd import add, divide, item, multiply, multiply_add, splat
from berlyne.engine.successor_graph import Graph
from berlyne.engine.tasks.lanes import LANES, add_weighted, line, set_line
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


class Elimination(NamedTuple):
    """What is done in which order.

    Each transition between different states has an entry of its own: those out of the t-th state to states that
    are left when it is eliminated are `row[t]:row[t + 1]`, those into it `column[t]:column[t + 1]`.

    order : (N,), states in the order they are eliminated.
    entry : (slots,), the entry of each slot's transition, -1 for a step that stays.
    row, row_state : where each row begins, and the next state of each of its entries.
    column, column_state : where each column begins, and the previous state of each of its entries (from `column[0]`).
    fill : for each entry of a column, and then of a row, the entry of their product.
    n_entries : how many there are, and one more for products that nobody needs.
    """

    order: IntArray
    entry: IntArray
    row: IntArray
    row_state: IndexArray
    column: IntArray
    column_state: IndexArray
    fill: IntArray
    n_entries: int


class Equations(NamedTuple):
    """Twelve chains that end, and what they cost.

    p : [entry, lane], probability of each transition between different states.
    leave : [s, lane], positive, probability that the chain ends in a step from s.
    cost : [s, lane], of one step from s.
    inverse : [s, lane], scratch.
    values : [s, lane], expected cost until the chain ends.
    """

    p: FloatArray
    leave: FloatArray
    cost: FloatArray
    inverse: FloatArray
    values: FloatArray


GIVE_UP = 1e-30
"""Chance per step of giving up: a target that cannot be reached is worth 1e30 steps rather than infinitely many."""


def new_equations(elimination: Elimination) -> Equations:
    """Room for the equations of twelve chains."""
    size, n_entries = len(elimination.order) * LANES, elimination.n_entries * LANES
    return Equations(*(np.empty(n) for n in (n_entries, size, size, size, size)))


@jit_inline
def end_at(equations: Equations, target: int, n_going: int) -> None:
    """Let every step cost one, and the chain of lane l end at state `target + l`."""
    for i in range(len(equations.leave)):
        equations.leave[i] = GIVE_UP
        equations.cost[i] = 1.0
    for lane in range(n_going):
        equations.leave[(target + lane) * LANES + lane] = 1.0
        equations.cost[(target + lane) * LANES + lane] = 0.0


def list_elimination(graph: Graph) -> Elimination:
    """List the elimination of a graph."""
    n_states = len(graph.start)
    s = np.repeat(np.arange(n_states), graph.length)
    entries, order = np.full((n_states, n_states), -1, dtype=np.int64), np.empty(n_states, dtype=np.int64)
    entries[s, graph.succ] = 0
    entries.reshape(-1)[:: n_states + 1] = -1
    find_order(entries, np.ones(n_states, dtype=np.bool_), order)
    row, row_state = _numbered(entries, order, 0, True)
    column, column_state = _numbered(entries, order, int(row[-1]), False)
    fill = np.empty(np.dot(np.diff(column), np.diff(row)), dtype=np.int64)
    n_entries = int(column[-1]) + 1
    elimination = Elimination(order, entries[s, graph.succ], row, row_state, column, column_state, fill, n_entries)
    find_products(elimination, entries)
    return elimination


def _numbered(entries: IntArray, order: IntArray, first: int, rows: bool) -> tuple[IntArray, IndexArray]:
    """Number the entries of all rows, or of all columns, from `first`: where each begins, and the other states."""
    begin, state = np.empty(len(order) + 1, dtype=np.int64), np.empty(len(order) ** 2 // 2, dtype=np.int32)
    number(entries, order, first, rows, begin, state)
    return begin, state[: begin[-1] - first]


@jit_nrt_off
def number(entries: IntArray, order: IntArray, first: int, rows: bool, begin: IntArray, state: IndexArray) -> None:
    """Fill `begin` and `state`, and number the `entries` that there are, see `_numbered`."""
    n = begin[0] = first
    for t in range(len(order)):
        for other in order[t + 1 :]:
            i, j = (order[t], other) if rows else (other, order[t])
            if entries[i, j] >= 0:
                entries[i, j] = n
                state[n - first] = other
                n += 1
        begin[t + 1] = n


@jit_nrt_off
def find_order(entries: IntArray, left: BoolArray, order: IntArray) -> None:
    """Eliminate the cheapest state first, and so on; `entries[s, s_next]`, -1 for none, are filled in on the way."""
    for t in range(len(order)):
        s = cheapest(entries, left)
        order[t], left[s] = s, False
        for i in range(len(left)):
            if left[i] and entries[i, s] >= 0:
                for j in range(len(left)):
                    if left[j] and i != j and entries[s, j] >= 0:
                        entries[i, j] = 0


@jit_nrt_off
def cheapest(entries: IntArray, left: BoolArray) -> int:
    """Of the states left, the one with the fewest products of transitions in and out (Markowitz)."""
    best, least = -1, 0
    for s in range(len(left)):
        if left[s]:
            n_out, n_in = 0, 0
            for other in range(len(left)):
                if left[other]:
                    n_out += entries[s, other] >= 0
                    n_in += entries[other, s] >= 0
            if best < 0 or n_out * n_in < least:
                best, least = s, n_out * n_in
    return best


@jit_nrt_off
def find_products(elimination: Elimination, entries: IntArray) -> None:
    """Work out `fill`; nobody needs products that lead back to where they come from."""
    row, row_state, fill = elimination.row, elimination.row_state, elimination.fill
    column, column_state, nobody_needs = elimination.column, elimination.column_state, elimination.n_entries - 1
    f = 0
    for t in range(len(row) - 1):
        for c in range(column[t], column[t + 1]):
            i = column_state[c - column[0]]
            for r in range(row[t], row[t + 1]):
                fill[f] = nobody_needs if row_state[r] == i else entries[i, row_state[r]]
                f += 1


@jit_nrt_off
def solve(elimination: Elimination, equations: Equations) -> None:
    """Expected cost until the chain ends, into `values`; all other arrays are used up."""
    order, row, row_state = elimination.order, elimination.row, elimination.row_state
    column, column_state, fill = elimination.column, elimination.column_state, elimination.fill
    p, leave, cost, inverse, values = equations
    n_states, f = len(order), 0
    for t in range(n_states):
        s, first, last = order[t], row[t], row[t + 1]
        leave_here, cost_here = line(leave, s), line(cost, s)
        going, r = leave_here, first
        while r < last:
            going = add(going, line(p, r))
            r += 1
        over = divide(splat(1.0), going)
        set_line(inverse, s, over)
        for c in range(column[t], column[t + 1]):
            factor, i = multiply(line(p, c), over), item(column_state, c - column[0])
            set_line(p, c, factor)
            set_line(leave, i, multiply_add(line(leave, i), factor, leave_here))
            set_line(cost, i, multiply_add(line(cost, i), factor, cost_here))
            r = first
            while r < last:
                to = item(fill, f)
                set_line(p, to, multiply_add(line(p, to), factor, line(p, r)))
                f, r = f + 1, r + 1
    for t in range(n_states - 1, -1, -1):
        s = order[t]
        total = add_weighted(line(cost, s), p, row_state, values, row[t], row[t + 1])
        set_line(values, s, multiply(total, line(inverse, s)))
