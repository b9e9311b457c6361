"""How an action is chosen, and what a method of coordination remembers.

This is the only file that knows methods. To compile another one, add its functions and a line to `METHODS`.
`berlyne.strategies.coordination` has the same methods in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.argmax import (
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
from berlyne.engine.jit import callback, inline
from berlyne.engine.own_methods import learn_own, new_own_memory, own_values
from berlyne.engine.row_beliefs import TOTAL, Belief
from berlyne.engine.value_iteration import (
    NO_REPAIRS,
    Plan,
    new_plan,
    plan_after_observation,
    plan_values,
    reset_plan,
)
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
from berlyne.strategies.own_methods import RegisteredMethod
from berlyne.validation import BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World


class ChoiceState(NamedTuple):
    """State that every agent needs to choose, besides its belief.

    Attributes
    ----------
    temperature, lapse : float
        As in `berlyne.strategies.choice.ChoiceRule`.
    values : ndarray of shape (M,)
        Values of the actions of the state that was looked at last.
    visits : ndarray of shape (N + 1,)
        How often each state was occupied; the last entry is their sum.
    current_state : ndarray of shape (1,)
        The state of the agent, -1 if unknown.
    n_obs : ndarray of shape (1,)
        Number of observations.
    terminal : ndarray of shape (N,)
        Whether episodes end in each state.
    predicted : ndarray of shape (1,)
        Probability that the last outcome had before it was learned, if the utility is an index.
    """

    temperature: float
    lapse: float
    values: FloatArray
    visits: IntArray
    current_state: IntArray
    n_obs: IntArray
    terminal: BoolArray
    predicted: FloatArray


def new_choice_state(rule: ChoiceRule, n_states: int, n_actions: int) -> ChoiceState:
    """Return the state of an agent that has done nothing yet."""
    return ChoiceState(
        float(rule.temperature),
        float(rule.lapse),
        np.zeros(n_actions),
        np.zeros(n_states + 1, dtype=np.int64),
        np.array([-1], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_states, dtype=np.bool_),
        np.ones(1),
    )


@inline
def arrive(choice: ChoiceState, s: int) -> None:
    """Count a visit to state s, unless the last step of the agent led there and was counted."""
    if choice.current_state[0] != s:
        choice.current_state[0] = s
        choice.visits[s] += 1
        choice.visits[-1] += 1


@inline
def leave(choice: ChoiceState, s: int, previous: int) -> None:
    """Undo `arrive`, for an agent that was in state `previous` before."""
    if previous != s:
        choice.current_state[0] = previous
        choice.visits[s] -= 1
        choice.visits[-1] -= 1


@inline
def move(choice: ChoiceState, s: int) -> None:
    """Count a visit to state s, to which an unknown action led; after it, the state is unknown if s is negative."""
    choice.current_state[0] = s
    if s >= 0:
        choice.visits[s] += 1
        choice.visits[-1] += 1


# Choosing: functions of an agent state, the memory of its method, a state and two uniform numbers


@callback
def choose_best(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and the action of largest value there, ties broken by `u`; or any action in a lapse."""
    choice = agent.choice
    if u_lapse < choice.lapse:
        return s, int(u * len(choice.values))
    agent.compute_values(agent.belief, choice, memory, s)
    return s, random_argmax(choice.values, u)


@callback
def choose_softmax(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and an action drawn from the softmax of the values there; or any action in a lapse."""
    choice = agent.choice
    if u_lapse < choice.lapse:
        return s, int(u * len(choice.values))
    agent.compute_values(agent.belief, choice, memory, s)
    return s, sample_softmax(choice.values, choice.temperature, u)


@callback
def choose_uniformly(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and any action."""
    return s, int(u * len(agent.choice.values))


@callback
def choose_pair(agent: Any, tree: Tree, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return the state and the action of the best of all pairs, for an agent that may relocate."""
    choice, utility, stride = agent.choice, agent.belief.utility, agent.belief.graph.stride
    if u_lapse < choice.lapse:
        r = random_index(utility, u)
    elif choice.temperature == 0.0:
        r = best_row(tree, u)
    else:
        r = sample_softmax(utility, choice.temperature, u)
    return r // stride, r % stride


# Values of the actions of state s, into `choice.values`


@callback
def zero_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """Leave the values at zero."""


@callback
def utility_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """The utility of each action."""
    for a in range(len(choice.values)):
        choice.values[a] = belief.utility[s * belief.graph.stride + a]


@callback
def least_taken_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """Minus the number of times each action was taken here (Sec. 3.5, LTA)."""
    for a in range(len(choice.values)):
        choice.values[a] = -float(belief.row_stats[s * belief.graph.stride + a, TOTAL])


@callback
def expected_visits_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """Minus the expected visit count of the next state under each action (Sec. 3.5, CB)."""
    graph, values, visits = belief.graph, choice.values, choice.visits
    for a in range(len(values)):
        values[a] = -belief.base_weight[s * graph.stride + a] * visits[-1] if len(belief.base_weight) else 0.0
    first = graph.start[s]
    for k in range(first, first + graph.length[s]):
        for a in range(len(values)):
            values[a] -= belief.weight[k * graph.stride + a] * visits[graph.succ[k]]


class QTable(NamedTuple):
    """The memory of Q-learning.

    Attributes
    ----------
    q : ndarray
        `[s * stride + a]`, the values.
    learning_rate, gamma : float
        Learning rate and discount.
    """

    q: FloatArray
    learning_rate: float
    gamma: float


@callback
def q_values(belief: Belief, choice: ChoiceState, table: QTable, s: int) -> None:
    """The entries of the table."""
    for a in range(len(choice.values)):
        choice.values[a] = table.q[s * belief.graph.stride + a]


# After an observation: functions of belief, choice, memory, s, a, s_next and reward


@callback
def ignore_observation(
    belief: Belief, choice: ChoiceState, memory: Any, s: int, a: int, s_next: int, reward: float
) -> None:
    """Remember nothing."""


@callback
def learn_q(belief: Belief, choice: ChoiceState, table: QTable, s: int, a: int, s_next: int, reward: float) -> None:
    """One step of Q-learning."""
    q, stride, largest = table.q, belief.graph.stride, -np.inf
    for b in range(len(choice.values)):
        largest = max(largest, q[s_next * stride + b])
    r = s * stride + a
    q[r] += table.learning_rate * (reward + table.gamma * largest - q[r])


@callback
def update_pairs(belief: Belief, choice: ChoiceState, tree: Tree, s: int, a: int, s_next: int, reward: float) -> None:
    """Renew the path of one row in the tournament of all pairs."""
    r = s * belief.graph.stride + a
    update_tree(tree, r, belief.utility[r])


# After utilities have changed in any other way


@callback
def keep_memory(belief: Belief, choice: ChoiceState, memory: Any) -> None:
    """Nothing in the memory depends on utilities."""


@callback
def regrow_tree(belief: Belief, choice: ChoiceState, tree: Tree) -> None:
    """Fill the tournament again."""
    grow_tree(tree, belief.utility)


# Memories


class NoMemory(NamedTuple):
    """The memory of a method that has none."""

    empty: int = 0


def _no_memory(coordinate: Any, belief: Belief, choice: ChoiceState, support: Support, world: World | None) -> NoMemory:
    return NoMemory()


def _plan(
    coordinate: ValueIteration, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> Plan:
    """A plan on the explorer's own model."""
    depth, graph = coordinate.steps_back, belief.graph
    repairs = cached_repairs(support, graph, depth) if depth and not graph.capacity else NO_REPAIRS
    return new_plan(graph, belief.weight, belief.base_weight, depth, coordinate.gamma, repairs)


def _true_plan(
    coordinate: TrueModel, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> Plan:
    """A plan on the true world, on the graph of the belief's support if that is the same."""
    assert world is not None
    inner: Any = coordinate.inner
    shared = support if support.same_entries(world.rows.support) else world.rows.support
    graph, weight = graph_and_weights(world, shared)
    repairs = cached_repairs(shared, graph, inner.steps_back)
    return new_plan(graph, weight, np.empty(0), inner.steps_back, inner.gamma, repairs)


def _q_table(
    coordinate: QLearning, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> QTable:
    q = np.full(len(belief.utility), float(coordinate.initial))
    return QTable(q, float(coordinate.learning_rate), float(coordinate.gamma))


def _tree(coordinate: Relocating, belief: Belief, choice: ChoiceState, support: Support, world: World | None) -> Tree:
    return new_tree(2 << (len(belief.utility) - 1).bit_length())


class CompiledMethod(NamedTuple):
    """The compiled form of a coordination method; functions are made by `callback`.

    Attributes
    ----------
    new_memory : Callable
        `new_memory(coordinate, belief, choice, support, world)` returns the record that only this method reads.
    values : Callable
        `values(memory)` returns the function that computes the values of the actions of a state.
    choose : Callable or None
        The function that chooses; None to choose by values, as the strategy's choice rule says.
    after_observation : Callable
        The function that is called after every observation.
    reset : Callable
        The function that is called after utilities have changed in any other way.
    """

    new_memory: Callable[..., Any]
    values: Callable[[Any], Any]
    choose: Any = None
    after_observation: Any = ignore_observation
    reset: Any = keep_memory


METHODS: dict[type, CompiledMethod] = {
    UniformChoice: CompiledMethod(_no_memory, lambda memory: zero_values, choose_uniformly),
    LeastTaken: CompiledMethod(_no_memory, lambda memory: least_taken_values),
    CounterBased: CompiledMethod(_no_memory, lambda memory: expected_visits_values),
    Greedy: CompiledMethod(_no_memory, lambda memory: utility_values),
    ValueIteration: CompiledMethod(_plan, plan_values, None, plan_after_observation, reset_plan),
    TrueModel: CompiledMethod(_true_plan, plan_values, None, plan_after_observation, reset_plan),
    QLearning: CompiledMethod(_q_table, lambda memory: q_values, None, learn_q),
    Relocating: CompiledMethod(_tree, lambda memory: utility_values, choose_pair, update_pairs, regrow_tree),
    RegisteredMethod: CompiledMethod(new_own_memory, lambda memory: own_values, None, learn_own),
}
"""The methods that kernels know."""
