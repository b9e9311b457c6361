"""How an action is chosen, and what a method of coordination remembers.

This is the only file that knows methods: to compile another one, add its class to `METHODS`, what it needs to
`new_choice_state`, and a case to `compute_values`, and to `update_after_step` if it learns. What they do is said in
plain NumPy in `berlyne.strategies.coordination`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.argmax import (
    NO_TREE,
    Tree,
    any_of,
    best_row,
    grow_tree,
    new_tree,
    random_argmax,
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
"""Methods that kernels know."""
UNIFORM, LEAST_TAKEN, COUNTER, GREEDY, PLANNING, PLANNING_WITH_WORLD, Q_LEARNING, RELOCATING = range(len(METHODS))
RATE, GAMMA = 0, 1


class ChoiceState(NamedTuple):
    """What a method remembers besides the belief.

    values : (M,), of the actions of the state that was looked at last.
    visits : (N + 1,), how often each state was occupied; the last entry is their sum.
    here : [0] the state the agent is in, -1 for unknown.
    q, learning : [s * stride + a], Q-learning's table, empty for other methods; its rate and discount.
    temperature, lapse : as in `berlyne.strategies.choice.ChoiceRule`.
    """

    method: int
    temperature: float
    lapse: float
    values: FloatArray
    visits: IntArray
    current_state: IntArray
    q: FloatArray
    learning: FloatArray
    tree: Tree
    plan: Plan


def new_choice_state(
    coordinate: Any, rule: ChoiceRule, belief: Belief, support: Support, world: World | None
) -> ChoiceState:
    """An agent that has done nothing yet; `support` is that of the belief, `world` for methods that may see it."""
    graph, n_rows = belief.graph, len(belief.utility)
    method = METHODS.index(type(coordinate))
    q, learning, tree = np.empty(0), np.zeros(2), NO_TREE
    depth, gamma = (coordinate.steps_back, coordinate.gamma) if method == PLANNING else (0, 1.0)
    if method == PLANNING_WITH_WORLD:
        assert world is not None
        plan = _knowing_plan(coordinate.inner, world, support)
    else:
        repairs = cached_repairs(support, graph, depth) if depth and not graph.capacity else NO_REPAIRS
        plan = new_plan(graph, belief.weight, belief.base_weight, depth, gamma, repairs)
    if method == Q_LEARNING:
        q = np.full(n_rows, float(coordinate.initial))
        learning = np.array([coordinate.learning_rate, coordinate.gamma], dtype=np.float64)
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
        learning,
        tree,
        plan,
    )
    invalidate(choice, belief)
    return choice


def _knowing_plan(inner: ValueIteration, world: World, support: Support) -> Plan:
    """A plan on the true world, on the graph of the belief's support where that is the same."""
    same = support.indices is world.rows.indices
    there = support if same else world.rows.support
    graph, weight = graph_and_weights(world, there)
    repairs = cached_repairs(there, graph, inner.steps_back)
    return new_plan(graph, weight, np.empty(0), inner.steps_back, inner.gamma, repairs)


def invalidate(choice: ChoiceState, belief: Belief) -> None:
    """Forget all that was worked out from utilities: for an agent whose belief was put there from outside."""
    reset_plan(choice.plan, belief.utility)
    if len(choice.tree.top):
        grow_tree(choice.tree, belief.utility)


def rebind_belief(choice: ChoiceState, belief: Belief) -> ChoiceState:
    """The same agent, reading a belief whose slots have moved."""
    if choice.method == PLANNING_WITH_WORLD:
        return choice
    return choice._replace(
        plan=choice.plan._replace(graph=belief.graph, weight=belief.weight, base_weight=belief.base_weight)
    )


@jit_nrt_off
def expected_visits(belief: Belief, visits: IntArray, s: int, values: FloatArray) -> None:
    """Minus the expected count of the next state under each action, into `values` (Sec. 3.5, CB)."""
    graph: Graph = belief.graph
    for a in range(len(values)):
        values[a] = -belief.base_weight[s * graph.stride + a] * visits[-1] if len(belief.base_weight) else 0.0
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        for a in range(len(values)):
            values[a] -= belief.weight[k * graph.stride + a] * visits[graph.succ[k]]


@jit_inline
def arrive(current_state: IntArray, visits: IntArray, s: int) -> None:
    """Count the visit if the agent is found in a state that its last step did not lead to."""
    if current_state[0] != s:
        current_state[0] = s
        visits[s] += 1
        visits[-1] += 1


@jit_inline
def compute_values(belief: Belief, choice: ChoiceState, s: int) -> None:
    """What the method thinks of each action in state s, into `choice.values`."""
    method, values, stride = choice.method, choice.values, belief.graph.stride
    if method == PLANNING or method == PLANNING_WITH_WORLD:
        action_values(choice.plan, belief.utility, s, values)
    elif method == COUNTER:
        expected_visits(belief, choice.visits, s, values)
    elif method == GREEDY or method == RELOCATING or method == Q_LEARNING:
        known = choice.q if method == Q_LEARNING else belief.utility
        for b in range(len(values)):
            values[b] = known[s * stride + b]
    elif method == LEAST_TAKEN:
        for b in range(len(values)):
            values[b] = -float(belief.row_stats[s * stride + b, TOTAL])
    elif method != UNIFORM:  # whose values stay zero
        raise ValueError("a method that kernels do not know")


@jit_inline
def choose(belief: Belief, choice: ChoiceState, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in, which only an agent that may relocate chooses, and the action.

    Other methods put what they think of each action in state s into `choice.values`, and take the best, or one drawn
    from its softmax.
    """
    method, n_actions, stride = choice.method, len(choice.values), belief.graph.stride
    lapses = u_explore < choice.lapse
    if method == RELOCATING:
        if lapses:
            r = any_of(belief.utility, u)
        else:
            r = (
                best_row(choice.tree, u)
                if choice.temperature == 0.0
                else sample_softmax(belief.utility, choice.temperature, u)
            )
        s, a = r // stride, r % stride
    elif lapses or method == UNIFORM:
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
    """After the belief has learned a transition: what the method makes of it, and where the agent now is."""
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
        choice.q[r] += choice.learning[RATE] * (reward + choice.learning[GAMMA] * largest - choice.q[r])
    choice.current_state[0] = s_next
    choice.visits[s_next] += 1
    choice.visits[-1] += 1
