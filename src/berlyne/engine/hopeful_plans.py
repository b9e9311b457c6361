"""Hopeful value iteration, compiled; see `berlyne.strategies.planning.HopefulIteration`.

The stored values are those of `berlyne.engine.value_iteration`, and so are the cone of a state and the value of ends.
All values of the cone are computed at every step. If every state can follow, those of all states are computed.

The largest value among the possible outcomes of a row is a maximum over its slots, in which slots that the row
excludes are -inf (`hidden`). If the row also admits states without a slot, it admits all of them. The largest value of
all states is then also that of the states without a slot and the slots of the row. The only slots that such a row may
exclude are those that every state has from the start, so these states are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import TOTAL, Belief
from berlyne.engine.simd import LANES, add, item, largest, load, maximum, multiply, multiply_add, set_item, splat
from berlyne.engine.successor_graph import Graph
from berlyne.engine.value_iteration import (
    NO_REPAIRS,
    Plan,
    find_cone,
    find_cone_with_ends,
    new_plan,
    renew_state,
    steps_ahead,
    sum_of_level,
    value_ends,
)
from berlyne.priors.closed_forms import NOISE
from berlyne.strategies.planning import HopefulIteration
from berlyne.validation import FloatArray, IntArray


class HopefulPlan(NamedTuple):
    """A plan, and the weights of hope.

    Attributes
    ----------
    plan : Plan
        The plan, with the values of all levels.
    weight : ndarray
        `[s * stride + a]`, weight w of the best outcome of each row.
    hidden : ndarray
        `[slot * stride + a]`, 0 if the slot is a possible outcome of the row, otherwise -inf; 0 in the padding.
    hidden_others : ndarray
        `[s * stride + a]`, the same for all states without a slot; empty if every possible outcome has one.
    certain : ndarray of shape (M,)
        Number of possible outcomes of a row about which nothing is left to learn.
    n_special : int
        Number of states, from 0 on, for which every state has a slot from the start.
    hope : float
        As in `HopefulIteration`.
    """

    plan: Plan
    weight: FloatArray
    hidden: FloatArray
    hidden_others: FloatArray
    certain: IntArray
    n_special: int
    hope: float


def new_hopeful_plan(coordinate: HopefulIteration, belief: Belief) -> HopefulPlan:
    """Return a plan without values, for a belief without data; `certain` is 1 until it is set."""
    graph, is_open = belief.graph, len(belief.base_weight) > 0
    return HopefulPlan(
        new_plan(graph, belief.weight, belief.base_weight, coordinate, NO_REPAIRS),
        np.zeros(len(belief.utility)),
        _all_hidden(graph),
        np.zeros(len(belief.base_weight)),
        np.ones(graph.n_actions, dtype=np.int64),
        int(graph.length[0]) if is_open else 0,
        float(coordinate.hope),
    )


def _all_hidden(graph: Graph) -> FloatArray:
    """Return `hidden` before any slot is known to be possible."""
    hidden = np.full((len(graph.succ), graph.stride), -np.inf)
    hidden[:, graph.n_actions :] = 0.0  # a weight of zero times -inf would be NaN
    return hidden.ravel()


def widened_hope(hopeful: HopefulPlan, belief: Belief) -> HopefulPlan:
    """Return a plan for a belief with more room for slots in every state; slots in use keep their order."""
    n_states, hidden = len(belief.graph.start), _all_hidden(belief.graph)
    before = hopeful.hidden.reshape(n_states, -1)
    hidden.reshape(n_states, -1)[:, : before.shape[1]] = before
    plan = hopeful.plan._replace(graph=belief.graph, weight=belief.weight, base_weight=belief.base_weight)
    return hopeful._replace(plan=plan, hidden=hidden)


@inline
def renew_hope(belief: Belief, hopeful: HopefulPlan, s: int) -> None:
    """Set the weights of the rows of state s, and which outcomes they exclude."""
    graph, stride, n_states = belief.graph, belief.graph.stride, belief.n_states[0]
    first, length = graph.start[s], graph.length[s]
    for a in range(graph.n_actions):
        r, base, n_possible = s * stride + a, 0.0, 0
        if len(belief.base_weight):
            base = belief.base_weight[r]
            hopeful.hidden_others[r] = 0.0 if base > 0.0 else -np.inf
            n_possible = n_states - length if base > 0.0 else 0
        for k in range(first, first + length):
            is_possible = belief.weight[k * stride + a] + base > 0.0
            hopeful.hidden[k * stride + a] = 0.0 if is_possible else -np.inf
            n_possible += is_possible
        is_certain = n_possible <= hopeful.certain[a]
        n = belief.row_stats[r, TOTAL]
        hopeful.weight[r] = 0.0 if is_certain else hopeful.hope / (n + n_possible + hopeful.hope)


@inline
def hopeful_group(
    hopeful: HopefulPlan, utility: FloatArray, z: int, j: int, total: float, top: float, shared: bool, lane: int
) -> Any:
    """Compute Q_j(a, z) of four actions from `lane` on, from V_{j-1}.

    If `shared`, every state has the base weight, `total` is the sum of V_{j-1}, and `top` its largest value without
    the special states.
    """
    plan, graph = hopeful.plan, hopeful.plan.graph
    stride, depth, below = graph.stride, plan.depth, j - 1
    at_row = z * stride + lane
    expected, odd, best = splat(0.0), splat(0.0), splat(-np.inf)
    if shared:
        expected = multiply(load(plan.base_weight, at_row), splat(total))
        best = add(load(hopeful.hidden_others, at_row), splat(top))
    k = item(graph.start, z)
    last = k + item(graph.length, z)
    while k < last:  # two at a time: the number of slots is even, or the next one is empty
        at = k * stride + lane
        v = splat(item(plan.values, item(graph.succ, k) * depth + below))
        v_odd = splat(item(plan.values, item(graph.succ, k + 1) * depth + below))
        expected = multiply_add(expected, load(plan.weight, at), v)
        odd = multiply_add(odd, load(plan.weight, at + stride), v_odd)
        best = maximum(best, add(load(hopeful.hidden, at), v))
        best = maximum(best, add(load(hopeful.hidden, at + stride), v_odd))
        k += 2
    expected = add(expected, odd)
    excess = multiply_add(best, splat(-1.0), expected)
    return add(load(utility, at_row), multiply_add(expected, load(hopeful.weight, at_row), excess))


@inline
def hopeful_best(
    hopeful: HopefulPlan, utility: FloatArray, z: int, j: int, total: float, top: float, shared: bool
) -> float:
    """Compute max_a Q_j(a, z) from V_{j-1}, see `hopeful_group`."""
    lane: Any = np.int64(0)
    best = splat(-np.inf)
    while lane < hopeful.plan.graph.stride:
        best = maximum(hopeful_group(hopeful, utility, z, j, total, top, shared, lane), best)
        lane += LANES
    return largest(best)  # type: ignore[no-any-return]  # vectors are Any to mypy, this is a float


@inline
def top_of_level(hopeful: HopefulPlan, j: int, n_states: int) -> float:
    """Return the largest V_j of all states but the special ones."""
    top = -np.inf
    for z in range(hopeful.n_special, n_states):
        top = max(top, hopeful.plan.values[z * hopeful.plan.depth + j])
    return top


@inline
def sweep_hopefully(
    choice: Any, hopeful: HopefulPlan, utility: FloatArray, n_states: int, n_levels: int, masked: bool
) -> None:
    """Compute V_j for j < n_levels of the states in `order[:ends[depth - j]]`, or of all states if it is empty."""
    plan = hopeful.plan
    depth, shared, everywhere = plan.depth, len(plan.base_weight) > 0, len(plan.order) == 0
    total, top = 0.0, 0.0
    if masked:
        value_ends(choice, plan, plan.values, 0, depth)
    for j in range(1, n_levels):
        if shared:
            total, top = sum_of_level(plan, j - 1, n_states), top_of_level(hopeful, j - 1, n_states)
        for i in range(n_states if everywhere else plan.ends[depth - j]):
            z = i if everywhere else plan.order[i]
            best = hopeful_best(hopeful, utility, z, j, total, top, shared)
            if shared and abs(best) <= NOISE * abs(total):
                best = 0.0  # rounding noise, as in `berlyne.engine.value_iteration.plan_everywhere`
            set_item(plan.values, z * depth + j, plan.gamma * best)
        if masked:
            value_ends(choice, plan, plan.values, j, depth)


@inline
def back_up_hopefully(belief: Belief, hopeful: HopefulPlan, utility: FloatArray, s: int, q: Any, n_levels: int) -> None:
    """Q_j(., s) into `q` for j = n_levels, from V_{j-1}."""
    plan, graph, stride = hopeful.plan, hopeful.plan.graph, hopeful.plan.graph.stride
    shared, n_states, below = len(plan.base_weight) > 0, belief.n_states[0], n_levels - 1
    for a in range(len(q)):
        r, expected, best, total = s * stride + a, 0.0, -np.inf, 0.0
        if n_levels > 0:
            if shared:
                total = sum_of_level(plan, below, n_states)
                expected = plan.base_weight[r] * total
                best = hopeful.hidden_others[r] + top_of_level(hopeful, below, n_states)
            for k in range(graph.start[s], graph.start[s] + graph.length[s]):
                v = plan.values[graph.succ[k] * plan.depth + below]
                expected += plan.weight[k * stride + a] * v
                best = max(best, hopeful.hidden[k * stride + a] + v)
            if hopeful.weight[r] > 0.0:
                expected += hopeful.weight[r] * (best - expected)
            if abs(expected) <= NOISE * abs(total):
                expected = 0.0
        q[a] = utility[r] + expected


@inline
def plan_hopefully(belief: Belief, choice: Any, hopeful: HopefulPlan, s: int, masked: bool) -> None:
    """Q(., s) into `choice.values`; `masked` is whether not everything is possible."""
    plan = hopeful.plan
    utility, n_levels = plan.reward if masked else belief.utility, steps_ahead(choice, plan)
    if n_levels > 0:
        if len(plan.order):
            if masked:
                find_cone_with_ends(choice, plan, s)
            else:
                find_cone(plan, s)
        sweep_hopefully(choice, hopeful, utility, belief.n_states[0], n_levels, masked)
    back_up_hopefully(belief, hopeful, utility, s, choice.values, n_levels)


@callback
def hopeful_values(belief: Belief, choice: Any, hopeful: HopefulPlan, s: int) -> None:
    """`plan_hopefully` without a mask."""
    plan_hopefully(belief, choice, hopeful, s, False)


@callback
def hopeful_values_masked(belief: Belief, choice: Any, hopeful: HopefulPlan, s: int) -> None:
    """`plan_hopefully` with a mask."""
    plan_hopefully(belief, choice, hopeful, s, True)


@callback
def hope_after_observation(
    belief: Belief, choice: Any, hopeful: HopefulPlan, s: int, a: int, s_next: int, reward: float
) -> None:
    """Renew the hope and V_0 of state s, a row of which has changed."""
    renew_hope(belief, hopeful, s)
    renew_state(belief, choice, hopeful.plan, s)


@callback
def reset_hope(belief: Belief, choice: Any, hopeful: HopefulPlan) -> None:
    """Renew the hope and V_0 of all states, after utilities, or what is possible, have changed."""
    for s in range(belief.n_states[0]):
        renew_hope(belief, hopeful, s)
        renew_state(belief, choice, hopeful.plan, s)


def hopeful_functions(masked: bool) -> tuple[Any, Any, Any]:
    """Return the functions of a hopeful plan, as `berlyne.engine.value_iteration.plan_functions` does."""
    return hopeful_values_masked if masked else hopeful_values, hope_after_observation, reset_hope
