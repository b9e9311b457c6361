"""Choose an action, and update the memory of a coordination method.

No other file of the engine depends on the methods. To compile another method, add its class to `METHODS`, its arrays to
`new_choice_state`, and a case to `compute_values`; and to `update_after_step` if the method learns.
`berlyne.strategies.coordination` defines the methods in plain NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.argmax import (
    NO_TREE,
    Tree,
    best_row,
    grow_tree,
    new_tree,
    random_argmax,
    random_index,
    sample_softmax,
    update_tree,
)
from berlyne.engine.caches import cached_repairs, graph_and_weights
from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.row_beliefs import TOTAL, Belief
from berlyne.engine.successor_graph import Graph
from berlyne.engine.value_iteration import NO_REPAIRS, Plan, action_values, mark_row_changed, new_plan, reset_plan
from berlyne.sparse import Support
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import (
    CounterBased,
    Greedy,
    LeastTaken,
    QLearning,
    Relocating,
    TrueModel,
    UniformChoice,
    ValueIteration,
)
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

METHODS = (UniformChoice, LeastTaken, CounterBased, Greedy, ValueIteration, TrueModel, QLearning, Relocating)
"""Methods that have kernels."""
UNIFORM, LEAST_TAKEN, COUNTER, GREEDY, PLANNING, PLANNING_WITH_WORLD, Q_LEARNING, RELOCATING = range(len(METHODS))
"""Code of each method: its position in `METHODS`."""
RATE, GAMMA = 0, 1
"""Positions in `ChoiceState.q_parameters`."""


class ChoiceState(NamedTuple):
    """Memory of a coordination method besides the belief.

    Attributes
    ----------
    method : int
        Code of the method.
    temperature, lapse : float
        As in `berlyne.strategies.choice.ChoiceRule`.
    values : ndarray of shape (M,)
        Action values in the state that was evaluated last.
    visits : ndarray of int, shape (N + 1,)
        How often each state was occupied; the last entry is their sum.
    current_state : ndarray of int, shape (1,)
        The state that the agent is in; -1 if it is unknown.
    q : ndarray
        Table of Q-learning, `[s * stride + a]`; empty for other methods.
    q_parameters : ndarray of shape (2,)
        Learning rate and discount of Q-learning.
    tree : Tree
        Tournament of all rows, for a method that may relocate.
    plan : Plan
        Values of value iteration.
    """

    method: int
    temperature: float
    lapse: float
    values: FloatArray
    visits: IntArray
    current_state: IntArray
    q: FloatArray
    q_parameters: FloatArray
    tree: Tree
    plan: Plan


def new_choice_state(
    coordinate: Any, rule: ChoiceRule, belief: Belief, support: Support, world: World | None
) -> ChoiceState:
    """Make the memory of a method before its first step.

    Parameters
    ----------
    coordinate : object
        A coordination method of one of the classes in `METHODS`.
    rule : ChoiceRule
        Temperature and lapse.
    belief : Belief
        The belief that the method reads.
    support : Support
        Support of the belief.
    world : World or None
        The true world, for a method that may see it.
    """
    graph, n_rows = belief.graph, len(belief.utility)
    method = METHODS.index(type(coordinate))
    q, q_parameters, tree = np.empty(0), np.zeros(2), NO_TREE
    depth, gamma = (coordinate.steps_back, coordinate.gamma) if method == PLANNING else (0, 1.0)
    if method == PLANNING_WITH_WORLD:
        assert world is not None
        plan = _plan_with_world(coordinate.inner, world, support)
    else:
        repairs = cached_repairs(support, graph, depth) if depth and not graph.capacity else NO_REPAIRS
        plan = new_plan(graph, belief.weight, belief.base_weight, depth, gamma, repairs)
    if method == Q_LEARNING:
        q = np.full(n_rows, float(coordinate.initial))
        q_parameters = np.array([coordinate.learning_rate, coordinate.gamma], dtype=np.float64)
    elif method == RELOCATING:
        tree = new_tree(2 << (n_rows - 1).bit_length())
    choice = ChoiceState(
        method,
        rule.temperature,
        rule.lapse,
        np.zeros(graph.n_actions),
        np.zeros(len(graph.start) + 1, dtype=np.int64),
        np.array([-1], dtype=np.int64),
        q,
        q_parameters,
        tree,
        plan,
    )
    invalidate(choice, belief)
    return choice


def _plan_with_world(inner: ValueIteration, world: World, support: Support) -> Plan:
    """Make a plan with the true world, on the graph of the belief's support if the world has the same support."""
    graph_support = support if support.same_entries(world.rows.support) else world.rows.support
    graph, weight = graph_and_weights(world, graph_support)
    repairs = cached_repairs(graph_support, graph, inner.steps_back)
    return new_plan(graph, weight, np.empty(0), inner.steps_back, inner.gamma, repairs)


def invalidate(choice: ChoiceState, belief: Belief) -> None:
    """Invalidate plans and tournament after utilities were changed outside of a step."""
    reset_plan(choice.plan, belief.utility)
    if len(choice.tree.top):
        grow_tree(choice.tree, belief.utility)


def rebind_belief(choice: ChoiceState, belief: Belief) -> ChoiceState:
    """Return the memory with a plan that reads `belief`, after its slots have moved."""
    if choice.method == PLANNING_WITH_WORLD:
        return choice
    return choice._replace(
        plan=choice.plan._replace(graph=belief.graph, weight=belief.weight, base_weight=belief.base_weight)
    )


@jit_nrt_off
def expected_visits(belief: Belief, visits: IntArray, s: int, values: FloatArray) -> None:
    """Write minus the expected number of visits to the next state under each action into `values` (Sec. 3.5, CB)."""
    graph: Graph = belief.graph
    for a in range(len(values)):
        values[a] = -belief.base_weight[s * graph.stride + a] * visits[-1] if len(belief.base_weight) else 0.0
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        for a in range(len(values)):
            values[a] -= belief.weight[k * graph.stride + a] * visits[graph.succ[k]]


@jit_inline
def arrive(current_state: IntArray, visits: IntArray, s: int) -> None:
    """Count a visit to state s if the last step did not lead there."""
    if current_state[0] != s:
        current_state[0] = s
        visits[s] += 1
        visits[-1] += 1


@jit_inline
def compute_values(belief: Belief, choice: ChoiceState, s: int) -> None:
    """Write the value of each action in state s into `choice.values`."""
    method, values, stride = choice.method, choice.values, belief.graph.stride
    if method == PLANNING or method == PLANNING_WITH_WORLD:
        action_values(choice.plan, belief.utility, s, values)
    elif method == COUNTER:
        expected_visits(belief, choice.visits, s, values)
    elif method == GREEDY or method == RELOCATING or method == Q_LEARNING:
        by_row = choice.q if method == Q_LEARNING else belief.utility
        for b in range(len(values)):
            values[b] = by_row[s * stride + b]
    elif method == LEAST_TAKEN:
        for b in range(len(values)):
            values[b] = -float(belief.row_stats[s * stride + b, TOTAL])
    elif method != UNIFORM:  # the values of UNIFORM stay zero
        raise ValueError("unknown method code")


@jit_inline
def choose(belief: Belief, choice: ChoiceState, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Choose an action, and the state to act in if the method may relocate.

    Other methods write the value of each action in state s into `choice.values`. They choose the best action, or draw
    one from the softmax.

    Parameters
    ----------
    belief : Belief
        The belief that the method reads.
    choice : ChoiceState
        Memory of the method.
    s : int
        Current state.
    u, u_lapse : float
        Uniform numbers in [0, 1): one to choose with, one that decides whether the agent lapses.

    Returns
    -------
    s, a : int
        State to act in, and action.
    """
    method, n_actions, stride = choice.method, len(choice.values), belief.graph.stride
    is_lapse = u_lapse < choice.lapse
    if method == RELOCATING:
        if is_lapse:
            r = random_index(belief.utility, u)
        else:
            r = (
                best_row(choice.tree, u)
                if choice.temperature == 0.0
                else sample_softmax(belief.utility, choice.temperature, u)
            )
        s, a = r // stride, r % stride
    elif is_lapse or method == UNIFORM:
        a = int(u * n_actions)
    else:
        compute_values(belief, choice, s)
        a = (
            random_argmax(choice.values, u)
            if choice.temperature == 0.0
            else sample_softmax(choice.values, choice.temperature, u)
        )
    return s, a


@jit_inline
def update_after_step(belief: Belief, choice: ChoiceState, s: int, a: int, s_next: int, reward: float) -> None:
    """Update the memory of the method and the current state, after the belief has learned a transition."""
    stride = belief.graph.stride
    r = s * stride + a
    if choice.plan.depth > 0:
        mark_row_changed(choice.plan, belief.utility, s)
    elif choice.method == RELOCATING:
        update_tree(choice.tree, r, belief.utility[r])
    elif choice.method == Q_LEARNING:
        largest = -np.inf
        for b in range(len(choice.values)):
            largest = max(largest, choice.q[s_next * stride + b])
        choice.q[r] += choice.q_parameters[RATE] * (reward + choice.q_parameters[GAMMA] * largest - choice.q[r])
    choice.current_state[0] = s_next
    choice.visits[s_next] += 1
    choice.visits[-1] += 1
