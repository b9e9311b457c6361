"""The graph of possible transitions: one slot per state and next state, for all actions together.

An agent chooses among the actions of one state, so their transitions lie side by side. Slot k of a state belongs to
the next state `succ[k]`, and entry `k * stride + a` of an array over slots belongs to action a. Planning and the tasks
read the same graph; the loops of planning read four slots at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.engine.simd import LANES, aligned_zeros
from berlyne.frozen import read_only
from berlyne.sparse import Rows, Support
from berlyne.validation import FloatArray, IndexArray, IntArray


class Graph(NamedTuple):
    """The possible next states of each state.

    Attributes
    ----------
    start, length : ndarray of int, shape (N,)
        First slot and number of slots of each state.
    succ : ndarray of int
        Next state of each slot. Padding slots, which complete the last group of four, repeat the last outcome.
    n_actions : int
        Number of actions, M.
    stride : int
        Number of array entries per slot: M and some padding.
    capacity : int
        Largest number of slots of a state; 0 if all slots exist from the start.
    """

    start: IntArray
    length: IndexArray
    succ: IndexArray
    n_actions: int
    stride: int
    capacity: int


def round_up(n: int, multiple: int = LANES) -> int:
    """Round up to the next multiple."""
    return -(-n // multiple) * multiple


def build_graph(support: Support, multiple: int = LANES) -> Graph:
    """Build the graph of a support; the number of slots of every state is a multiple of `multiple`."""
    indptr, indices = support.entries()
    n_states, n_actions = support.n_states, support.n_actions
    start, length = np.empty(n_states, dtype=np.int64), np.empty(n_states, dtype=np.int32)
    heads = np.empty(n_actions, dtype=np.int64)
    succ = np.empty(len(indices) + (multiple - 1) * n_states, dtype=np.int32)
    used = _join_rows(start, length, succ, indptr, indices, heads, multiple)
    arrays = (read_only(start), read_only(length), read_only(succ[:used].copy()))
    return Graph(*arrays, n_actions, round_up(n_actions), 0)


def growing_graph(n_states: int, n_actions: int, capacity: int, initial: tuple[int, ...]) -> Graph:
    """Build a graph to which slots are added as outcomes are seen; every state has slots for the states `initial`."""
    start = np.arange(n_states, dtype=np.int64) * capacity
    succ = np.zeros(n_states * capacity, dtype=np.int32)
    succ.reshape(n_states, capacity)[:, : len(initial)] = initial
    length = np.full(n_states, len(initial), dtype=np.int32)
    return Graph(start, length, succ, n_actions, round_up(n_actions), capacity)


def is_complete(graph: Graph) -> bool:
    """Return whether slot k of every state belongs to state k, apart from padding slots."""
    n_states = len(graph.start)
    if np.any(graph.length != round_up(n_states)):
        return False
    by_state = graph.succ.reshape(n_states, -1)[:, :n_states]
    return bool(np.all(by_state == np.arange(n_states)))


def slot_positions(graph: Graph, support: Support | Rows) -> IntArray:
    """Position in arrays over slots of each entry of a support or of rows; the graph must contain all of them."""
    indptr, indices = (support.indptr, support.indices) if isinstance(support, Rows) else support.entries()
    positions = np.empty(len(indices), dtype=np.int64)
    _find_entries(graph.start, graph.succ, graph.n_actions, graph.stride, indptr, indices, positions)
    return positions


def slot_weights(graph: Graph, rows: Rows) -> FloatArray:
    """Probabilities of `rows` in the slots of a graph, `[slot * stride + a]`; 0 in all other entries."""
    out = aligned_zeros(len(graph.succ) * graph.stride)
    out[slot_positions(graph, rows)] = rows.data
    return out


@kernel
def _join_rows(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    indptr: IntArray,
    indices: IndexArray,
    heads: IntArray,
    multiple: int,
) -> int:
    """Fill `start`, `length` and `succ` with the states that any action can reach, ascending; return the slots used."""
    n_states, n_actions, used = len(start), len(heads), 0
    for s in range(n_states):
        start[s] = used
        for a in range(n_actions):
            heads[a] = indptr[s * n_actions + a]
        smallest = 0
        while smallest < n_states:  # merge the rows: the smallest next next state of is left in any of them
            smallest = n_states
            for a in range(n_actions):
                if heads[a] < indptr[s * n_actions + a + 1]:
                    smallest = min(smallest, indices[heads[a]])
            for a in range(n_actions):
                if heads[a] < indptr[s * n_actions + a + 1] and indices[heads[a]] == smallest:
                    heads[a] += 1
            if smallest < n_states:
                succ[used] = smallest
                used += 1
        while (used - start[s]) % multiple:
            succ[used] = succ[used - 1]
            used += 1
        length[s] = used - start[s]
    return used


@kernel
def _find_entries(
    start: IntArray,
    succ: IndexArray,
    n_actions: int,
    stride: int,
    indptr: IntArray,
    indices: IndexArray,
    positions: IntArray,
) -> None:
    """Fill `positions` with the position of each entry of sparse rows in arrays over slots."""
    for r in range(len(indptr) - 1):
        s, a = r // n_actions, r % n_actions
        k = start[s]
        for e in range(indptr[r], indptr[r + 1]):
            while succ[k] != indices[e]:
                k += 1
            positions[e] = k * stride + a


@inline
def slot_of(graph: Graph, s: int, s_next: int) -> int:
    """Return the slot of the step s -> s_next; -1 if there is none."""
    first = graph.start[s]
    for k in range(first, first + graph.length[s]):
        if graph.succ[k] == s_next:
            return int(k)
    return -1
