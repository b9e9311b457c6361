"""How an action is chosen, and what a method of coordination remembers.

This is the only file that knows methods: to compile another one, add its class to `METHODS`, what it needs to
`first_agent`, and a case to `value_actions` or `choose`, and to `adjust` if it learns. What they do is said in
plain NumPy in `berlyne.coordination`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne.arrays import FloatArray, IntArray
from berlyne.coordination import (
    TIE_TOLERANCE,
    CounterBased,
    Greedy,
    KnowingWorld,
    LeastTaken,
    QLearning,
    Relocating,
    UniformChoice,
    ValueIteration,
)
from berlyne.engine.belief import TOTAL, Belief
from berlyne.engine.compile import bare_kernel, inlined
from berlyne.engine.graph import Graph
from berlyne.engine.kept import graph_and_truth, kept_repairs
from berlyne.engine.plan import NOTHING_LISTED, Plan, action_values, first_plan, forget, start_over
from berlyne.rows import Support
from berlyne.worlds.world import World

METHODS = (UniformChoice, LeastTaken, CounterBased, Greedy, ValueIteration, KnowingWorld, QLearning, Relocating)
"""Methods that kernels know."""
UNIFORM, LEAST_TAKEN, COUNTER, GREEDY, PLANNING, PLANNING_WITH_WORLD, Q_LEARNING, RELOCATING = range(len(METHODS))
RATE, GAMMA, EPSILON = 0, 1, 2


class Tree(NamedTuple):
    """A tournament of all rows: the largest utility below each node, and how many rows share it.

    Leaves begin in the middle of both arrays; empty unless the agent may relocate.
    """

    top: FloatArray
    ties: IntArray


class Agent(NamedTuple):
    """What a method remembers besides the belief.

    values : (M,), of the actions of the state that was looked at last.
    visits : (N + 1,), how often each state was occupied; the last entry is their sum.
    here : [0] the state the agent is in, -1 for unknown.
    q, learning : [s * stride + a], Q-learning's table, empty for other methods; its rate, discount and epsilon.
    """

    method: int
    values: FloatArray
    visits: IntArray
    here: IntArray
    q: FloatArray
    learning: FloatArray
    tree: Tree
    plan: Plan


def first_agent(coordinate: Any, belief: Belief, support: Support, world: World | None) -> Agent:
    """An agent that has done nothing yet; `support` is that of the belief, `world` for methods that may see it."""
    graph, n_rows = belief.graph, len(belief.utility)
    method = METHODS.index(type(coordinate))
    q, learning, n_nodes = np.empty(0), np.zeros(3), 0
    plan = first_plan(graph, belief.weight, belief.rest, 0, 1.0, NOTHING_LISTED)
    if method == PLANNING:
        repairs = None if graph.capacity else kept_repairs(support, graph, coordinate.steps_back)
        plan = first_plan(graph, belief.weight, belief.rest, coordinate.steps_back, coordinate.gamma, repairs)
    elif method == PLANNING_WITH_WORLD:
        assert world is not None
        plan = _knowing_plan(coordinate.inner, world, support)
    elif method == Q_LEARNING:
        q = np.full(n_rows, float(coordinate.initial))
        learning = np.array([coordinate.learning_rate, coordinate.gamma, coordinate.epsilon], dtype=np.float64)
    elif method == RELOCATING:
        n_nodes = 2 << (n_rows - 1).bit_length()
    agent = Agent(
        method,
        np.zeros(graph.n_actions),
        np.zeros(len(graph.start) + 1, dtype=np.int64),
        np.array([-1], dtype=np.int64),
        q,
        learning,
        Tree(np.empty(n_nodes), np.empty(n_nodes, dtype=np.int64)),
        plan,
    )
    think_again(agent, belief)
    return agent


def _knowing_plan(inner: ValueIteration, world: World, support: Support) -> Plan:
    """A plan on the true world, on the graph of the belief's support where that is the same."""
    same = support.indices is world.rows.indices
    there = support if same else world.rows.support
    graph, weight = graph_and_truth(world, there)
    repairs = kept_repairs(there, graph, inner.steps_back)
    return first_plan(graph, weight, np.empty(0), inner.steps_back, inner.gamma, repairs)


def think_again(agent: Agent, belief: Belief) -> None:
    """Forget all that was worked out from utilities: for an agent whose belief was put there from outside."""
    start_over(agent.plan, belief.utility)
    if len(agent.tree.top):
        grow_tree(agent.tree, belief.utility)


def on_wider_graph(agent: Agent, belief: Belief) -> Agent:
    """The same agent, reading a belief whose slots have moved."""
    if agent.method == PLANNING_WITH_WORLD:
        return agent
    return agent._replace(plan=agent.plan._replace(graph=belief.graph, weight=belief.weight, rest=belief.rest))


@inlined
def lower_bound(largest: float) -> float:
    """The least value that is tied with the largest."""
    return largest - TIE_TOLERANCE * max(1.0, abs(largest))


@inlined
def best_of(values: FloatArray, u: float) -> int:
    """Index of the largest value, ties broken uniformly by `u` in [0, 1)."""
    largest = values[0]
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    bound = lower_bound(largest)
    n_ties = 0
    for i in range(len(values)):
        n_ties += values[i] >= bound
    wanted = int(u * n_ties)
    found = 0
    for i in range(len(values)):
        if values[i] >= bound:
            if wanted == 0:
                found = i
            wanted -= 1
    return found


@inlined
def join(tree: Tree, node: int) -> None:
    """Renew an inner node of the tournament from its two children."""
    left, right = 2 * node, 2 * node + 1
    largest = max(tree.top[left], tree.top[right])
    bound = lower_bound(largest)
    tree.top[node] = largest
    in_left = tree.ties[left] if tree.top[left] >= bound else 0
    tree.ties[node] = in_left + (tree.ties[right] if tree.top[right] >= bound else 0)


@bare_kernel
def grow_tree(tree: Tree, utility: FloatArray) -> None:
    """Fill the tournament from all utilities; padding, at -inf, takes no part."""
    n_leaves = len(tree.top) // 2
    for i in range(n_leaves):
        inside = i < len(utility) and utility[i] > -np.inf
        tree.top[n_leaves + i] = utility[i] if inside else -np.inf
        tree.ties[n_leaves + i] = 1 if inside else 0
    for node in range(n_leaves - 1, 0, -1):
        join(tree, node)


@bare_kernel
def update_tree(tree: Tree, row: int, value: float) -> None:
    """Renew the path from one row to the root."""
    node = len(tree.top) // 2 + row
    tree.top[node] = value
    while node > 1:
        node //= 2
        join(tree, node)


@bare_kernel
def best_row(tree: Tree, u: float) -> int:
    """Row of the largest utility, ties broken uniformly in the order of rows."""
    n_leaves = len(tree.top) // 2
    bound = lower_bound(tree.top[1])
    wanted = int(u * tree.ties[1])
    node = 1
    while node < n_leaves:
        left = 2 * node
        here = tree.ties[left] if tree.top[left] >= bound else 0
        if wanted < here:
            node = left
        else:
            wanted -= here
            node = left + 1
    return node - n_leaves


@bare_kernel
def expected_visits(belief: Belief, visits: IntArray, s: int, values: FloatArray) -> None:
    """Minus the expected count of the next state under each action, into `values` (Sec. 3.5, CB)."""
    graph: Graph = belief.graph
    for a in range(len(values)):
        values[a] = -belief.rest[s * graph.stride + a] * visits[-1] if len(belief.rest) else 0.0
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        for a in range(len(values)):
            values[a] -= belief.weight[k * graph.stride + a] * visits[graph.succ[k]]


@inlined
def value_actions(belief: Belief, agent: Agent, s: int) -> None:
    """Into `agent.values`: what the method thinks of each action in state s."""
    values, first = agent.values, s * belief.graph.stride
    if agent.method == PLANNING or agent.method == PLANNING_WITH_WORLD:
        action_values(agent.plan, belief.utility, s, values)
    elif agent.method == COUNTER:
        expected_visits(belief, agent.visits, s, values)
    elif agent.method == GREEDY:
        for a in range(len(values)):
            values[a] = belief.utility[first + a]
    elif agent.method == Q_LEARNING:
        for a in range(len(values)):
            values[a] = agent.q[first + a]
    elif agent.method == LEAST_TAKEN:
        for a in range(len(values)):
            values[a] = -float(belief.tally[first + a, TOTAL])
    elif agent.method == UNIFORM:
        for a in range(len(values)):
            values[a] = 0.0
    else:
        raise ValueError("a method that kernels do not know")


@inlined
def arrive(agent: Agent, s: int) -> None:
    """Count the visit if the agent is found in a state that its last step did not lead to."""
    if agent.here[0] != s:
        agent.here[0] = s
        agent.visits[s] += 1
        agent.visits[-1] += 1


@inlined
def choose(belief: Belief, agent: Agent, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in, which only an agent that may relocate chooses, and the action."""
    if agent.method == RELOCATING:
        r = best_row(agent.tree, u)
        s, a = r // belief.graph.stride, r % belief.graph.stride
    elif agent.method == UNIFORM or (agent.method == Q_LEARNING and u_explore < agent.learning[EPSILON]):
        a = int(u * len(agent.values))
    else:
        value_actions(belief, agent, s)
        a = best_of(agent.values, u)
    return s, a


@inlined
def adjust(belief: Belief, agent: Agent, s: int, a: int, s_next: int, reward: float) -> None:
    """After the belief has learned a transition: what the method makes of it, and where the agent now is."""
    stride = belief.graph.stride
    r = s * stride + a
    if agent.plan.depth > 0:
        forget(agent.plan, belief.utility, s)
    elif agent.method == RELOCATING:
        update_tree(agent.tree, r, belief.utility[r])
    elif agent.method == Q_LEARNING:
        largest = -np.inf
        for b in range(len(agent.values)):
            largest = max(largest, agent.q[s_next * stride + b])
        agent.q[r] += agent.learning[RATE] * (reward + agent.learning[GAMMA] * largest - agent.q[r])
    agent.here[0] = s_next
    agent.visits[s_next] += 1
    agent.visits[-1] += 1
