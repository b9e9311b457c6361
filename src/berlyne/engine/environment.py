"""The world as the loop sees it: where actions lead, and how far the belief is from it.

No strategy reads this; what may plan with the true world is handed a plan on it (`action_selection.new_choice_state`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from berlyne.engine.blocks import Block, CompiledFunction, FunctionType, NoFunction, type_of
from berlyne.engine.caches import MAX_CACHED_SIZE, cache_for, graph_and_weights
from berlyne.engine.jit import COMPILING, callback, inline
from berlyne.engine.row_beliefs import Belief
from berlyne.engine.successor_graph import Graph, slot_weights
from berlyne.frozen import read_only
from berlyne.models.internal_model import InternalModel
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray
from berlyne.worlds.world import World


class Truth(NamedTuple):
    """Sparse rows `r = s * M + a` of the world, as in `Rows`, and the distance of the belief from them.

    Attributes
    ----------
    indptr, indices, data, cumulative : ndarray
        The rows.
    aligned : ndarray
        `[slot * stride + a]`, probabilities in the slots of the belief; empty if not every state has a slot.
    l1 : ndarray
        `[s * stride + a]`, L1 distance of each row from its estimate, kept up to date.
    ends : ndarray of shape (N,)
        Whether each state is terminal; empty if none is.
    counted : ndarray of bool, shape (M N,)
        Whether each row s M + a counts: its action is possible, and its state can be reached; empty if all count.
    starts, start_indptr, start_cumulative : ndarray
        States in which episodes begin, and one row to draw them from.
    row_distance : CompiledFunction
        `row_distance(belief, truth, s, a)`: the L1 distance of one row from its estimate.
    missing_information : CompiledFunction
        `missing_information(belief, truth)`: bits missing in all rows, for a prior that is refitted; see
        `berlyne.engine.learned_prior.CompiledLearner`.
    entropy : float
        Entropy of all rows that count in bits, for a prior that is refitted.
    n_counted : int
        Number of rows that count.
    """

    indptr: IntArray
    indices: IndexArray
    data: FloatArray
    cumulative: FloatArray
    aligned: FloatArray
    l1: FloatArray
    ends: BoolArray
    counted: BoolArray
    starts: IntArray
    start_indptr: IntArray
    start_cumulative: FloatArray
    row_distance: Any
    missing_information: Any
    entropy: float
    n_counted: int


def new_truth(world: World, model: InternalModel, agent: Block, missing_information: Any = None) -> Block:
    """Return the truth about a world, for a belief before any data with these slots; `model` is that belief.

    `missing_information` is a function for priors that are refitted, see `Truth`.
    """
    cache = cache_for(world)
    if "truth" in cache:
        template: Block = cache["truth"]
        return template.copy()
    graph: Graph = agent.record.belief.graph
    aligned = np.empty(0)
    if graph.capacity == 0:
        support = world.prior.support  # type: ignore[union-attr]  # only worlds with a compiled prior come here
        same = support.same_entries(world.rows.support)
        aligned = graph_and_weights(world, support)[1] if same else slot_weights(graph, world.rows)
    l1 = np.zeros((world.n_states, graph.stride))
    l1[:, : world.n_actions] = model.l1_distances(world).T
    rows = world.rows
    arrays = rows.indptr, rows.indices, rows.data, rows.cumulative
    distance = NoFunction(FunctionType(types.float64, (Belief, Truth, types.int64, types.int64)))
    missing: Any = NoFunction(FunctionType(types.float64, (Belief, Truth)))
    entropy = 0.0 if missing_information is None else _entropy(world)
    fields = (
        *arrays,
        read_only(aligned),
        l1.ravel(),
        *episode_arrays(world),
        distance,
        missing,
        entropy,
        int(world.measured_rows.sum()),
    )
    record = Truth._make(fields)
    function: Any = row_distance_with_base if graph.capacity else row_distance_in_slots
    if COMPILING:
        belief, kind = agent.type.fields["belief"][1], type_of(record)
        function = CompiledFunction(function, belief, kind, types.int64, types.int64)
        missing = missing if missing_information is None else CompiledFunction(missing_information, belief, kind)
    elif missing_information is not None:
        missing = missing_information
    truth = Block.of(record._replace(row_distance=function, missing_information=missing))
    if aligned.size + l1.size > MAX_CACHED_SIZE:
        return truth
    cache["truth"] = truth
    return truth.copy()


def _entropy(world: World) -> float:
    """Return the entropy of all rows that count, in bits."""
    theta = world.rows.data
    if not world.measures_all:
        theta = theta[world.measured_rows[world.rows.row_numbers()]]
    return -float(np.sum(theta * np.log2(theta)))


def episode_arrays(world: World) -> tuple[Any, ...]:
    """Return `ends`, `counted`, `starts`, `start_indptr` and `start_cumulative`."""
    counted = np.empty(0, dtype=bool) if world.measures_all else world.measured_rows
    if not world.episodes.begin_again:
        return np.empty(0, dtype=bool), counted, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    states, cumulative = world.episodes.starts
    return world.episodes.is_terminal, counted, states, np.array([0, len(states)]), cumulative


@inline
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


@inline
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


@callback
def row_distance_with_base(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate, if states without a slot share one estimate."""
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


@callback
def row_distance_in_slots(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """L1 distance of one row from its estimate, if every possible state has a slot."""
    graph, distance = belief.graph, 0.0
    first = graph.start[s]
    for k in range(first, first + graph.length[s]):
        distance += abs(truth.aligned[k * graph.stride + a] - belief.weight[k * graph.stride + a])
    return distance
