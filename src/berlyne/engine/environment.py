"""The world as the loop sees it: where actions lead, and how far the belief is from it.

No strategy reads this; what may plan with the true world is handed a plan on it (`action_selection.new_choice_state`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.caches import MAX_CACHED_SIZE, cache_for, graph_and_weights
from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.row_beliefs import Belief
from berlyne.engine.successor_graph import Graph, slot_weights
from berlyne.frozen import read_only
from berlyne.models.internal_model import InternalModel
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray
from berlyne.worlds.world import World


class Truth(NamedTuple):
    """Sparse rows `r = s * M + a`, as in `Rows`, and the belief's distance from them.

    aligned : [slot * stride + a], probabilities in the slots of the belief; empty if not all states are in slots.
    l1 : [s * stride + a], L1 distance of each row from its estimate, kept up to date.
    ends : (N,), whether each state is terminal; empty if none is.
    starts, start_indptr, start_cumulative : states that episodes begin in, and one row to draw them from.
    """

    indptr: IntArray
    indices: IndexArray
    data: FloatArray
    cumulative: FloatArray
    aligned: FloatArray
    l1: FloatArray
    ends: BoolArray
    starts: IntArray
    start_indptr: IntArray
    start_cumulative: FloatArray


def new_truth(world: World, model: InternalModel, graph: Graph) -> Truth:
    """The truth about a world, for a belief of nothing yet that lies in `graph`; `model` is that belief."""
    kept, rows = cache_for(world), world.rows
    aligned, l1 = kept.get("distances") or _distances(world, model, graph)
    if aligned.size <= MAX_CACHED_SIZE:
        kept["distances"] = aligned, l1
    return Truth(rows.indptr, rows.indices, rows.data, rows.cumulative, aligned, l1.copy(), *_episodes(world))


def _episodes(world: World) -> tuple[BoolArray, IntArray, IntArray, FloatArray]:
    """`ends`, `starts`, `start_indptr` and `start_cumulative`."""
    if not len(world.terminal):
        return NOWHERE
    states, cumulative = world.episodes.starts
    return world.episodes.is_terminal, states, read_only(np.array([0, len(states)])), cumulative


NOWHERE = (
    read_only(np.empty(0, dtype=bool)),
    read_only(np.empty(0, dtype=np.int64)),
    read_only(np.empty(0, dtype=np.int64)),
    read_only(np.empty(0)),
)
"""Of a world without terminal states. Read-only as those of others are: another type would be compiled once more."""


def _distances(world: World, model: InternalModel, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """`aligned` and `l1` of the truth before any data."""
    aligned = np.empty(0)
    if graph.capacity == 0:
        support = world.prior.support  # type: ignore[union-attr]  # only worlds whose prior is compiled come here
        same = support.indices is world.rows.indices
        aligned = graph_and_weights(world, support)[1] if same else slot_weights(graph, world.rows)
    l1 = np.zeros((world.n_states, graph.stride))
    l1[:, : world.n_actions] = model.l1_distances(world).T
    return aligned, l1.ravel()


@jit_inline
def draw(indptr: IntArray, cumulative: FloatArray, r: int, u: float) -> int:
    """Position in the sparse rows of the outcome of row r for `u` in [0, 1).

    The last outcome takes what rounding leaves between the row's sum and one.
    """
    low: int = indptr[r]
    high = indptr[r + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if u < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@jit_nrt_off
def true_probability(indices: IndexArray, data: FloatArray, begin: int, end: int, s_next: int) -> float:
    """The probability of `s_next` in the sparse row at `begin:end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < s_next:
            low = middle + 1
        else:
            high = middle
    return data[low] if low < end and indices[low] == s_next else 0.0


@jit_nrt_off
def row_distance_sharing(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate, where states in no slot share one estimate."""
    graph = belief.graph
    row, base_weight = s * graph.n_actions + a, belief.base_weight[s * graph.stride + a]
    begin, end = truth.indptr[row], truth.indptr[row + 1]
    distance: float = (len(graph.start) - (end - begin)) * base_weight
    for e in range(begin, end):
        distance += abs(truth.data[e] - base_weight)
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        extra = belief.weight[k * graph.stride + a]
        if extra != 0.0:
            theta = true_probability(truth.indices, truth.data, begin, end, graph.succ[k])
            distance += abs(theta - base_weight - extra) - abs(theta - base_weight)
    return distance


@jit_inline
def row_distance(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate."""
    graph, distance = belief.graph, 0.0
    if len(belief.base_weight):
        distance = row_distance_sharing(belief, truth, s, a)
    else:
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            distance += abs(truth.aligned[k * graph.stride + a] - belief.weight[k * graph.stride + a])
    return distance
