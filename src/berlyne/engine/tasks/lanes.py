"""Inner loops of the tasks, for twelve problems side by side.

Twelve targets or reward structures are solved at once, one in each lane. Number l of line i is at `x[12 * i + l]`.
Lanes never mix, so the solution of a problem does not depend on its neighbours. A line is a bundle of three vectors of
four doubles, which compiled code keeps in registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline
from berlyne.engine.simd import (
    add,
    add_outer,
    at_least,
    divide,
    gather,
    item,
    maximum,
    multiply,
    multiply_add,
    scatter,
    splat,
)
from berlyne.engine.successor_graph import Graph
from berlyne.strategies.choice import TIE_TOLERANCE
from berlyne.validation import BoolArray, FloatArray, IndexArray

LANES = 12
"""Number of problems solved at once."""
PARTS = (0, 4, 8)
"""Where each group of four lanes begins."""
ZEROS, ONES = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
FOUR_LINES, FOUR_ZEROS = tuple(range(0, 4 * LANES, 4)), (0.0,) * 12
"""Where the vectors of four successive lines begin, and a zero for each of them."""

Line = tuple[FloatArray, ...]
"""A bundle of three vectors; arrays if compilation is off."""


class Chain(NamedTuple):
    """Transition probabilities of all actions.

    Attributes
    ----------
    graph : Graph
        Slots of each state.
    weight : ndarray
        Probability of each slot of the graph under each action, `[slot * stride + a]`.
    """

    graph: Graph
    weight: FloatArray


class ChainBatch(NamedTuple):
    """Transition probabilities of K models on one graph.

    Attributes
    ----------
    graph : Graph
        The slots of every state.
    weights : ndarray of shape (K, slots stride)
        The probabilities of each model, as in `Chain`.
    """

    graph: Graph
    weights: FloatArray


def pack_lanes(columns: FloatArray) -> FloatArray:
    """Pack an array `(C, N)` into blocks of twelve problems, `(B, N * 12)`; zeros complete the last block."""
    n_columns, n = columns.shape
    n_blocks = -(-n_columns // LANES)
    padded = np.zeros((n_blocks * LANES, n))
    padded[:n_columns] = columns
    return np.ascontiguousarray(padded.reshape(n_blocks, LANES, n).transpose(0, 2, 1)).reshape(n_blocks, n * LANES)


def unpack_lanes(blocks: FloatArray, n_columns: int) -> FloatArray:
    """Unpack blocks `(..., B, N * 12)` to `(..., C, N)`, the inverse of `pack_lanes`."""
    *lead, n_blocks, size = blocks.shape
    split = blocks.reshape(*lead, n_blocks, size // LANES, LANES)
    columns = np.moveaxis(split, -1, -2).reshape(*lead, n_blocks * LANES, size // LANES)
    return columns[..., :n_columns, :]


@inline
def line(x: FloatArray, i: int) -> Line:
    """Return line i of `x`."""
    bundle: Line = gather(x, PARTS, LANES * i)
    return bundle


@inline
def set_line(x: FloatArray, i: int, values: Line) -> None:
    """Write line i of `x`."""
    scatter(x, PARTS, LANES * i, values)


@inline
def add_weighted(total: Line, weight: FloatArray, succ: IndexArray, x: FloatArray, first: int, last: int) -> Line:
    """Return `total` + sum of weight[k] x[succ[k]] for k in first, ..., last - 1; each lane has its own weights."""
    k = first
    while k < last:  # also below: a range would be unrolled, but most states have only a few slots
        total = multiply_add(total, line(weight, k), line(x, item(succ, k)))
        k += 1
    return total


@inline
def expected_values(out: FloatArray, chain: Chain, x: FloatArray, s: int) -> None:
    """Set out[a] = sum of p(s' | a, s) x[s'] for all actions; every lane has the same probabilities.

    Four actions at a time share the loads of `x`. The last group is completed by padding, which `out` has room for.
    """
    graph, a = chain.graph, 0
    first, n_slots = item(graph.start, s), item(graph.length, s)
    while a < graph.n_actions:
        k, sums = first, splat(FOUR_ZEROS)
        while k < first + n_slots:
            sums = add_outer(sums, chain.weight, k * graph.stride + a, line(x, item(graph.succ, k)))
            k += 1
        scatter(out, FOUR_LINES, LANES * a, sums)
        a += 4


@inline
def forbid(q: FloatArray, allowed: BoolArray, s: int, n_actions: int, value: float) -> None:
    """Set q[a] of all actions that are not allowed in state s to a value.

    `allowed` has an entry for every row s M + a of the world, or none if all are allowed. All are allowed in a hub.
    """
    if (s + 1) * n_actions <= len(allowed):
        for a in range(n_actions):
            if not allowed[s * n_actions + a]:
                for lane in range(LANES):
                    q[a * LANES + lane] = value


@inline
def line_maximum(q: FloatArray, n_actions: int) -> Line:
    """Return the largest q[a] of each lane."""
    best, a = line(q, 0), 1
    while a < n_actions:
        best = maximum(best, line(q, a))
        a += 1
    return best


@inline
def value_of_best(best: Line, q: FloatArray, real: FloatArray, n_actions: int, lowest: bool) -> Line:
    """Return the mean of real[a] over the actions whose q[a] is tied with `best`; if `lowest`, real[a] of the first."""
    size = maximum(best, multiply(best, splat(-1.0)))
    bound = add(best, multiply(size, splat(-TIE_TOLERANCE)))
    total, n_tied, a = splat(ZEROS), splat(ZEROS), 0
    keep_first = splat(-1.0 if lowest else 0.0)  # with `lowest`, the first tied action takes all
    while a < n_actions:
        tied = multiply(at_least(line(q, a), bound), multiply_add(splat(1.0), n_tied, keep_first))
        total = multiply_add(total, tied, line(real, a))
        n_tied = add(n_tied, tied)
        a += 1
    mean: Line = divide(total, n_tied)
    return mean
