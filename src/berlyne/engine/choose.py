"""How an action is chosen, and what a method of coordination remembers.

This is the only file that knows methods: to compile another one, add its class to `METHODS`, what it needs to
`first_agent`, and a case to `choose`, and to `adjust` if it learns. What they do is said in
plain NumPy in `berlyne.coordination`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berlyne import coordination
from berlyne.arrays import FloatArray, IntArray
from berlyne.coordination import (
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
    """A tournament of all rows; leaves begin in the middle of the arrays. Empty unless the agent may relocate.

    top : the largest utility below each node.
    ties, low : how many rows are tied with it, and the least utility among those.
    stack : scratch.
    """

    top: FloatArray
    ties: IntArray
    low: FloatArray
    stack: IntArray


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
    q, learning, tree = np.empty(0), np.zeros(3), NO_TREE
    depth, gamma = (coordinate.steps_back, coordinate.gamma) if method == PLANNING else (0, 1.0)
    if method == PLANNING_WITH_WORLD:
        assert world is not None
        plan = _knowing_plan(coordinate.inner, world, support)
    else:
        repairs = kept_repairs(support, graph, depth) if depth and not graph.capacity else NOTHING_LISTED
        plan = first_plan(graph, belief.weight, belief.rest, depth, gamma, repairs)
    if method == Q_LEARNING:
        q = np.full(n_rows, float(coordinate.initial))
        learning = np.array([coordinate.learning_rate, coordinate.gamma, coordinate.epsilon], dtype=np.float64)
    elif method == RELOCATING:
        tree = new_tree(2 << (n_rows - 1).bit_length())
    agent = Agent(
        method,
        np.zeros(graph.n_actions),
        np.zeros(len(graph.start) + 1, dtype=np.int64),
        np.array([-1], dtype=np.int64),
        q,
        learning,
        tree,
        plan,
    )
    think_again(agent, belief)
    return agent


def new_tree(n_nodes: int) -> Tree:
    """A tournament that is yet to be grown."""
    top, ties = np.full(n_nodes, -np.inf), np.zeros(n_nodes, dtype=np.int64)
    return Tree(top, ties, top.copy(), np.zeros(n_nodes.bit_length() + 2, dtype=np.int64))


NO_TREE = new_tree(0)


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


lower_bound = inlined(coordination.lower_bound)


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
def tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """How many rows below a node have at least `bound`, and the least utility among them.

    `bound` is at least that of the node itself, so rows that are not tied with its largest do not count either.
    Only where some, but not all, of its tied rows count must one look further down.
    """
    n_ties, low = 0, np.inf
    if tree.low[node] >= bound:
        n_ties, low = tree.ties[node], tree.low[node]
    elif tree.top[node] >= bound:
        n_ties, low = some_tied_below(tree, node, bound)
    return n_ties, low


@bare_kernel
def some_tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """The same by going down to where all or none of a node's tied rows count."""
    n_ties, low, depth = 0, np.inf, 0
    tree.stack[0] = node
    while depth >= 0:
        node = tree.stack[depth]
        if tree.low[node] >= bound:
            n_ties += tree.ties[node]
            low = min(low, tree.low[node])
            depth -= 1
        elif tree.top[node] < bound:
            depth -= 1
        else:
            tree.stack[depth] = 2 * node
            tree.stack[depth + 1] = 2 * node + 1
            depth += 1
    return n_ties, low


@inlined
def join(tree: Tree, node: int) -> None:
    """Renew an inner node of the tournament from its two children."""
    left, right = 2 * node, 2 * node + 1
    tree.top[node] = max(tree.top[left], tree.top[right])
    bound = lower_bound(tree.top[node])
    n_left, low_left = tied_below(tree, left, bound)
    n_right, low_right = tied_below(tree, right, bound)
    tree.ties[node], tree.low[node] = n_left + n_right, min(low_left, low_right)


@bare_kernel
def grow_tree(tree: Tree, utility: FloatArray) -> None:
    """Fill the tournament from all utilities; padding, at -inf, takes no part."""
    n_leaves = len(tree.top) // 2
    for i in range(n_leaves):
        inside = i < len(utility) and utility[i] > -np.inf
        tree.top[n_leaves + i] = tree.low[n_leaves + i] = utility[i] if inside else -np.inf
        tree.ties[n_leaves + i] = 1 if inside else 0
    for node in range(n_leaves - 1, 0, -1):
        join(tree, node)


@bare_kernel
def update_tree(tree: Tree, row: int, value: float) -> None:
    """Renew the path from one row to the root."""
    node = len(tree.top) // 2 + row
    tree.top[node] = tree.low[node] = value
    while node > 1:
        node //= 2
        join(tree, node)


@bare_kernel
def best_row(tree: Tree, u: float) -> int:
    """Row of the largest utility, ties broken uniformly in the order of rows."""
    n_leaves, node = len(tree.top) // 2, 1
    bound, wanted = lower_bound(tree.top[1]), int(u * tree.ties[1])
    while node < n_leaves:
        node *= 2
        in_left = tied_below(tree, node, bound)[0]
        if wanted >= in_left:
            wanted -= in_left
            node += 1
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
def arrive(here: IntArray, visits: IntArray, s: int) -> None:
    """Count the visit if the agent is found in a state that its last step did not lead to."""
    if here[0] != s:
        here[0] = s
        visits[s] += 1
        visits[-1] += 1


@inlined
def choose(belief: Belief, agent: Agent, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in, which only an agent that may relocate chooses, and the action.

    Other methods put what they think of each action in state s into `agent.values`, and take the best.
    """
    method, values, stride = agent.method, agent.values, belief.graph.stride
    if method == RELOCATING:
        r = best_row(agent.tree, u)
        s, a = r // stride, r % stride
    elif method == UNIFORM or (method == Q_LEARNING and u_explore < agent.learning[EPSILON]):
        a = int(u * len(values))
    else:
        if method == PLANNING or method == PLANNING_WITH_WORLD:
            action_values(agent.plan, belief.utility, s, values)
        elif method == COUNTER:
            expected_visits(belief, agent.visits, s, values)
        elif method == GREEDY or method == Q_LEARNING:
            known = belief.utility if method == GREEDY else agent.q
            for b in range(len(values)):
                values[b] = known[s * stride + b]
        elif method == LEAST_TAKEN:
            for b in range(len(values)):
                values[b] = -float(belief.tally[s * stride + b, TOTAL])
        else:
            raise ValueError("a method that kernels do not know")
        a = best_of(values, u)
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
