"""Solve linear equations of absorbing chains by state reduction, twelve at a time.

The expected time to a target solves V = 1 + Q V. States are eliminated one by one (Grassmann, Taksar and Heyman). The
pivot is the probability of leaving a state. It is computed as a sum of positive numbers, not as one minus a number
close to one. So every V is accurate to its last digits, whether it is 10 or 1e12. The operations depend on the graph
alone and are listed once. A maze is a tree with one hub, so there is hardly any fill-in, and a solution costs O(N), not
O(N^3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.blocks import Block, call
from berlyne.engine.jit import inline, kernel
from berlyne.engine.simd import add, divide, item, multiply, multiply_add, splat
from berlyne.engine.successor_graph import Graph
from berlyne.engine.tasks.lanes import LANES, add_weighted, line, set_line
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


class Elimination(NamedTuple):
    """The operations of an elimination, in order.

    Each transition between different states has its own entry. The entries of transitions out of the t-th state, to
    states that remain when it is eliminated, are `row[t]:row[t + 1]`. Those into it are `column[t]:column[t + 1]`.

    Attributes
    ----------
    order : ndarray of int, shape (N,)
        States in the order of elimination.
    entry : ndarray of int, shape (slots,)
        Entry of each slot's transition; -1 for a step that stays in its state.
    row, row_state : ndarray of int
        Where each row begins, and the next state of each of its entries.
    column, column_state : ndarray of int
        Where each column begins, and the previous state of each of its entries, counted from `column[0]`.
    fill : ndarray of int
        For each entry of a column, and then of a row, the entry to which their product is added.
    n_entries : int
        Number of entries; the last one collects products that are not used.
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
    """The equations for the expected cost of twelve absorbing chains.

    Attributes
    ----------
    p : ndarray
        Probability of each transition between different states, `[entry, lane]`.
    leave : ndarray
        Probability that the chain ends in a step from s, positive, `[s, lane]`.
    cost : ndarray
        Cost of one step from s, `[s, lane]`.
    inverse : ndarray
        Scratch, `[s, lane]`.
    values : ndarray
        The solution: expected cost until the chain ends, `[s, lane]`.
    """

    p: FloatArray
    leave: FloatArray
    cost: FloatArray
    inverse: FloatArray
    values: FloatArray


GIVE_UP = 1e-30
"""Probability per step that a chain ends anyway, so that an unreachable target takes 1e30 steps instead of infinity."""


class Ends(NamedTuple):
    """Ends of chains, besides their targets.

    Attributes
    ----------
    n_states : int
        Number of states, N. The states behind them are hubs, through which a chain passes at no cost (`hub`).
    give_up : float
        Probability per step that a chain ends anyway: 1 - gamma, and at least `GIVE_UP`.
    terminal : ndarray of int
        Terminal states, in which a chain ends. All transitions out of them must be zero.
    missed : float
        Cost of ending in a terminal state that is not the target.
    allowed : ndarray of bool, shape (N M,)
        Whether the action of each row s M + a is allowed; empty if all are.
    """

    n_states: int
    give_up: float
    terminal: IntArray
    missed: float
    allowed: BoolArray


def new_equations(elimination: Elimination) -> Equations:
    """Allocate the equations of twelve chains."""
    size, n_entries = len(elimination.order) * LANES, elimination.n_entries * LANES
    return Equations(*(np.empty(n) for n in (n_entries, size, size, size, size)))


@inline
def end_at(equations: Equations, ends: Ends, target: int) -> None:
    """Set a cost of one per step, and let the chain of lane l end at state `target + l`."""
    for i in range(len(equations.leave)):
        is_hub = i >= ends.n_states * LANES
        equations.leave[i] = GIVE_UP if is_hub else ends.give_up
        equations.cost[i] = 0.0 if is_hub else 1.0
    for s in ends.terminal:
        for i in range(s * LANES, (s + 1) * LANES):
            equations.leave[i] = 1.0
            equations.cost[i] = ends.missed
    for lane in range(min(LANES, ends.n_states - target)):
        equations.leave[(target + lane) * LANES + lane] = 1.0
        equations.cost[(target + lane) * LANES + lane] = 0.0


def list_elimination(graph: Graph) -> Elimination:
    """List the operations to eliminate all states of a graph."""
    n_states = len(graph.start)
    s = np.repeat(np.arange(n_states), graph.length)
    entries, order = np.full((n_states, n_states), -1, dtype=np.int64), np.empty(n_states, dtype=np.int64)
    entries[s, graph.succ] = 0
    entries.reshape(-1)[:: n_states + 1] = -1
    degrees = np.count_nonzero(entries >= 0, axis=1), np.count_nonzero(entries >= 0, axis=0)
    find_order(entries, np.ones(n_states, dtype=np.bool_), *degrees, order)
    row, row_state = _numbered(entries, order, 0, True)
    column, column_state = _numbered(entries, order, int(row[-1]), False)
    fill = np.empty(np.dot(np.diff(column), np.diff(row)), dtype=np.int64)
    n_entries = int(column[-1]) + 1
    entry = entries[s, graph.succ]
    call(find_products, Block.around(_Products(row, row_state, column, column_state, fill, entries)))
    for array in (order, entry, row, row_state, column, column_state, fill):
        array.flags.writeable = False  # so that blocks share it
    return Elimination(order, entry, row, row_state, column, column_state, fill, n_entries)


def _numbered(entries: IntArray, order: IntArray, first: int, rows: bool) -> tuple[IntArray, IndexArray]:
    """Number the entries of all rows or columns from `first`; return where each begins, and the state of each entry."""
    begin, state = np.empty(len(order) + 1, dtype=np.int64), np.empty(len(order) ** 2 // 2, dtype=np.int32)
    number(entries, order, first, rows, begin, state)
    return begin, state[: begin[-1] - first]


@kernel
def number(entries: IntArray, order: IntArray, first: int, rows: bool, begin: IntArray, state: IndexArray) -> None:
    """Fill `begin` and `state`, and number the existing `entries`; see `_numbered`."""
    n = begin[0] = first
    for t in range(len(order)):
        for other in order[t + 1 :]:
            i, j = (order[t], other) if rows else (other, order[t])
            if entries[i, j] >= 0:
                entries[i, j] = n
                state[n - first] = other
                n += 1
        begin[t + 1] = n


@kernel
def find_order(entries: IntArray, remaining: BoolArray, n_out: IntArray, n_in: IntArray, order: IntArray) -> None:
    """Find the order of elimination, always the cheapest state next, and add the fill-in.

    `entries[s, s_next]` is -1 if there is no entry. `n_out` and `n_in` count the entries from and to each state.
    """
    for t in range(len(order)):
        s = cheapest(remaining, n_out, n_in)
        order[t], remaining[s] = s, False
        for j in range(len(remaining)):
            n_in[j] -= entries[s, j] >= 0
        for i in range(len(remaining)):
            if remaining[i] and entries[i, s] >= 0:
                n_out[i] -= 1
                for j in range(len(remaining)):
                    if remaining[j] and i != j and entries[s, j] >= 0 and entries[i, j] < 0:
                        entries[i, j] = 0
                        n_out[i] += 1
                        n_in[j] += 1


@inline
def cheapest(remaining: BoolArray, n_out: IntArray, n_in: IntArray) -> int:
    """Return the remaining state with the fewest products of transitions in and out (Markowitz)."""
    best = -1
    for s in range(len(remaining)):
        if remaining[s] and (best < 0 or n_out[s] * n_in[s] < n_out[best] * n_in[best]):
            best = s
    return best


class _Products(NamedTuple):
    """Arrays of an `Elimination`, and `entries[s, s_next]`."""

    row: IntArray
    row_state: IndexArray
    column: IntArray
    column_state: IndexArray
    fill: IntArray
    entries: IntArray


@kernel
def find_products(products: _Products) -> None:
    """Compute `fill`; a product that leads back to its own state goes to an entry that is never read."""
    row, row_state, column, column_state = products.row, products.row_state, products.column, products.column_state
    unread, f = column[len(column) - 1], 0
    for t in range(len(row) - 1):
        for c in range(column[t], column[t + 1]):
            i = column_state[c - column[0]]
            for r in range(row[t], row[t + 1]):
                products.fill[f] = unread if row_state[r] == i else products.entries[i, row_state[r]]
                f += 1


@inline
def solve(elimination: Elimination, equations: Equations) -> None:
    """Write the expected cost until the chain ends into `values`; all other arrays are overwritten."""
    order, row, row_state = elimination.order, elimination.row, elimination.row_state
    column, column_state, fill = elimination.column, elimination.column_state, elimination.fill
    p, leave, cost = equations.p, equations.leave, equations.cost
    inverse, values = equations.inverse, equations.values
    n_states, f = len(order), 0
    for t in range(n_states):
        s, first, last = order[t], row[t], row[t + 1]
        leave_s, cost_s = line(leave, s), line(cost, s)
        leaving, r = leave_s, first
        while r < last:
            leaving = add(leaving, line(p, r))
            r += 1
        inverse_leaving = divide(splat(1.0), leaving)
        set_line(inverse, s, inverse_leaving)
        for c in range(column[t], column[t + 1]):
            factor, i = multiply(line(p, c), inverse_leaving), item(column_state, c - column[0])
            set_line(p, c, factor)
            set_line(leave, i, multiply_add(line(leave, i), factor, leave_s))
            set_line(cost, i, multiply_add(line(cost, i), factor, cost_s))
            r = first
            while r < last:
                product = item(fill, f)
                set_line(p, product, multiply_add(line(p, product), factor, line(p, r)))
                f, r = f + 1, r + 1
    for t in range(n_states - 1, -1, -1):
        s = order[t]
        total = add_weighted(line(cost, s), p, row_state, values, row[t], row[t + 1])
        set_line(values, s, multiply(total, line(inverse, s)))
