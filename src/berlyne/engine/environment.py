"""The true world: draw transitions from it, and measure the distance of the belief from it.

No strategy reads these arrays. A method that may plan with the true world has its own plan on it
(`action_selection.new_choice_state`).
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
    """The sparse rows `r = s * M + a` of a world, as in `Rows`, and the distance of the belief from them.

    Attributes
    ----------
    indptr, indices, data, cumulative : ndarray
        As in `Rows`.
    aligned : ndarray
        Probabilities in the slots of the belief, `[slot * stride + a]`; empty if not all states have slots.
    l1 : ndarray
        L1 distance of each row from its estimate, `[s * stride + a]`; updated at every step.
    ends : ndarray of bool, shape (N,)
        Whether each state is terminal; empty if none is.
    starts : ndarray of int
        States in which episodes begin.
    start_indptr, start_cumulative : ndarray
        One row of cumulative probabilities to draw a start from.
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
    """Build the arrays of a world for a belief without observations.

    Parameters
    ----------
    world : World
        The true world.
    model : InternalModel
        The model without observations.
    graph : Graph
        Graph of the belief.
    """
    cache, rows = cache_for(world), world.rows
    aligned, l1 = cache.get("distances") or _distances(world, model, graph)
    if aligned.size <= MAX_CACHED_SIZE:
        cache["distances"] = aligned, l1
    return Truth(rows.indptr, rows.indices, rows.data, rows.cumulative, aligned, l1.copy(), *_episodes(world))


def _episodes(world: World) -> tuple[BoolArray, IntArray, IntArray, FloatArray]:
    """Return `ends`, `starts`, `start_indptr` and `start_cumulative` of `Truth`."""
    if not len(world.terminal):
        return NO_EPISODES
    states, cumulative = world.episodes.starts
    return world.episodes.is_terminal, states, read_only(np.array([0, len(states)])), cumulative


NO_EPISODES = (
    read_only(np.empty(0, dtype=bool)),
    read_only(np.empty(0, dtype=np.int64)),
    read_only(np.empty(0, dtype=np.int64)),
    read_only(np.empty(0)),
)
"""Arrays of a world without terminal states. They are read-only like the others: another type would compile again."""


def _distances(world: World, model: InternalModel, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """Return `aligned` and `l1` of `Truth` before any observation."""
    aligned = np.empty(0)
    if graph.capacity == 0:
        support = world.prior.support  # type: ignore[union-attr]  # the prior of such a world is compiled
        shared = support.same_entries(world.rows.support)
        aligned = graph_and_weights(world, support)[1] if shared else slot_weights(graph, world.rows)
    l1 = np.zeros((world.n_states, graph.stride))
    l1[:, : world.n_actions] = model.l1_distances(world).T
    return aligned, l1.ravel()


@jit_inline
def draw(indptr: IntArray, cumulative: FloatArray, r: int, u: float) -> int:
    """Draw an outcome of row r by inversion of `u` in [0, 1); return its position in the sparse rows.

    If the row sums to slightly less than one, the remainder belongs to the last outcome.
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
    """Probability of `s_next` in the sparse row at `begin:end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < s_next:
            low = middle + 1
        else:
            high = middle
    return data[low] if low < end and indices[low] == s_next else 0.0


@jit_nrt_off
def row_distance_with_base(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate, if all states without a slot have the same estimate."""
    graph = belief.graph
    row, base = s * graph.n_actions + a, belief.base_weight[s * graph.stride + a]
    begin, end = truth.indptr[row], truth.indptr[row + 1]
    distance: float = (len(graph.start) - (end - begin)) * base
    for e in range(begin, end):
        distance += abs(truth.data[e] - base)
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        extra = belief.weight[k * graph.stride + a]
        if extra != 0.0:
            theta = true_probability(truth.indices, truth.data, begin, end, graph.succ[k])
            distance += abs(theta - base - extra) - abs(theta - base)
    return distance


@jit_inline
def row_distance(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate."""
    graph, distance = belief.graph, 0.0
    if len(belief.base_weight):
        distance = row_distance_with_base(belief, truth, s, a)
    else:
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            distance += abs(truth.aligned[k * graph.stride + a] - belief.weight[k * graph.stride + a])
    return distance
