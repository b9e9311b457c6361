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
    leaves,
    new_tree,
    random_argmax,
    random_index,
    sample_softmax,
    update_tree,
)
from berlyne.engine.caches import cached_repairs, graph_and_weights
from berlyne.engine.hopeful_plans import HopefulPlan, hopeful_functions, new_hopeful_plan
from berlyne.engine.jit import callback, inline
from berlyne.engine.kept_plans import KeptPlans, kept_values, new_kept_plans, plan_again, plan_if_due
from berlyne.engine.listed_states import listed_functions
from berlyne.engine.own_methods import learn_own, new_own_memory, own_values
from berlyne.engine.row_beliefs import TOTAL, Belief, renew_utilities
from berlyne.engine.value_iteration import (
    MAX_COMPUTED,
    NO_REPAIRS,
    Plan,
    new_listed,
    new_plan,
    plan_functions,
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
from berlyne.strategies.planning import HopefulIteration, PosteriorSampling, RewardFree, RMax
from berlyne.validation import BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World


class Starts(NamedTuple):
    """The states in which episodes begin: those seen so far, or a distribution that the agent was told.

    Attributes
    ----------
    weight : ndarray of shape (N + 1,)
        Number of episodes that began in each state, or the probability of each state; the last entry is their sum.
    states : ndarray of int, shape (N,)
        The states of positive weight, in the order in which they were first seen.
    n : ndarray of int, shape (2,)
        Number of these states, and 1 if the agent was told the distribution.
    """

    weight: FloatArray
    states: IntArray
    n: IntArray


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
        The state of the agent, -1 if unknown, and -2 - s if an episode ended in state s.
    n_obs : ndarray of shape (1,)
        Number of observations.
    terminal : ndarray of shape (N,)
        Whether episodes end in each state.
    possible : ndarray of bool
        `[s * stride + a]`, whether each action can be taken; no action can in a terminal state.
    n_impossible : ndarray of shape (1,)
        Number of pairs of a state and an action that are not possible. If it is 0, nothing reads `possible`.
    starts : Starts
        Where episodes begin.
    left : ndarray of shape (2,)
        Number of steps left in the episode, and in a new one; both are very large without a horizon.
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
    possible: BoolArray
    n_impossible: IntArray
    starts: Starts
    left: IntArray
    predicted: FloatArray


NO_HORIZON = 1 << 62
"""Number of steps that are left if episodes are never cut."""


def new_choice_state(rule: ChoiceRule, n_states: int, n_actions: int, stride: int) -> ChoiceState:
    """Return the state of an agent that has done nothing yet; `stride` is that of its graph."""
    return ChoiceState(
        float(rule.temperature),
        float(rule.lapse),
        np.zeros(n_actions),
        np.zeros(n_states + 1, dtype=np.int64),
        np.array([-1], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_states, dtype=np.bool_),
        np.ones(n_states * stride, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        Starts(np.zeros(n_states + 1), np.zeros(n_states, dtype=np.int64), np.zeros(2, dtype=np.int64)),
        np.full(2, NO_HORIZON),
        np.ones(1),
    )


@inline
def arrive(choice: ChoiceState, s: int) -> None:
    """Count a visit to state s, unless the last step of the agent led there and was counted.

    An episode begins in s if the last step led elsewhere, or if an episode ended with it.
    """
    previous = choice.current_state[0]
    if previous != s:
        choice.current_state[0] = s
        if previous != -2 - s:
            choice.visits[s] += 1
            choice.visits[-1] += 1
        count_start(choice.starts, s, 1.0)
        choice.left[0] = choice.left[1]


@inline
def leave(choice: ChoiceState, s: int, previous: int, left: int) -> None:
    """Undo `arrive`, for an agent whose `current_state` and `left` were `previous` and `left` before."""
    if previous != s:
        choice.current_state[0] = previous
        choice.left[0] = left
        if previous != -2 - s:
            choice.visits[s] -= 1
            choice.visits[-1] -= 1
        count_start(choice.starts, s, -1.0)


@inline
def end_episode(choice: ChoiceState) -> None:
    """Note that the episode ended in the current state, so that the next one begins even if it begins there."""
    if choice.current_state[0] >= 0:
        choice.current_state[0] = -2 - choice.current_state[0]


@inline
def use_up_step(choice: ChoiceState) -> None:
    """Note that a step of the episode was made; if it was the last one before the horizon, the episode is over."""
    choice.left[0] -= 1
    if choice.left[0] == 0:
        end_episode(choice)


@inline
def count_start(starts: Starts, s: int, n: float) -> None:
    """Count that an episode began in state s, or with n = -1 undo that; not if the distribution was told."""
    if starts.n[1] == 0:
        if n > 0.0 and starts.weight[s] == 0.0:
            starts.states[starts.n[0]] = s
            starts.n[0] += 1
        starts.weight[s] += n
        starts.weight[-1] += n
        if n < 0.0 and starts.weight[s] == 0.0:
            starts.n[0] -= 1  # it was the last one


@inline
def draw_start(starts: Starts, u: float) -> int:
    """Draw a state in which an episode begins, by inversion of `u` in [0, 1); -1 if none is known."""
    state: int = -1
    remaining = u * starts.weight[-1]
    for i in range(starts.n[0]):
        state = starts.states[i]
        if remaining < starts.weight[state]:
            return state
        remaining -= starts.weight[state]
    return state


# What is possible


@inline
def is_possible(choice: ChoiceState, r: int) -> bool:
    """Whether the action of row r = s * stride + a can be taken."""
    possible: bool = choice.n_impossible[0] == 0 or choice.possible[r]
    return possible


@inline
def compute_possible_values(agent: Any, memory: Any, s: int) -> None:
    """Write the values of the actions of state s into `choice.values`: -inf for those that are not possible."""
    choice = agent.choice
    agent.compute_values(agent.belief, choice, memory, s)
    if choice.n_impossible[0] > 0:
        for a in range(len(choice.values)):
            if not choice.possible[s * agent.belief.graph.stride + a]:
                choice.values[a] = -np.inf


@inline
def random_action(choice: ChoiceState, stride: int, s: int, u: float) -> int:
    """Return one of the possible actions of state s, drawn uniformly by `u` in [0, 1)."""
    n_actions = len(choice.values)
    if choice.n_impossible[0] == 0:
        return int(u * n_actions)
    n_possible = 0
    for a in range(n_actions):
        n_possible += choice.possible[s * stride + a]
    wanted, action = int(u * n_possible), 0
    for a in range(n_actions):
        if choice.possible[s * stride + a]:
            if wanted == 0:
                action = a
            wanted -= 1
    return action


@inline
def move(choice: ChoiceState, s: int) -> None:
    """Go to state s by an unknown action, and count a visit; after it, the state is unknown if s is negative."""
    choice.current_state[0] = s
    if s >= 0:
        choice.visits[s] += 1
        choice.visits[-1] += 1
        use_up_step(choice)


# Choosing: functions of an agent state, the memory of its method, a state and two uniform numbers


@callback
def choose_best(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and the action of largest value there, ties broken by `u`; or any action in a lapse."""
    choice = agent.choice
    if u_lapse < choice.lapse:
        return s, random_action(choice, agent.belief.graph.stride, s, u)
    compute_possible_values(agent, memory, s)
    return s, random_argmax(choice.values, u)


@callback
def choose_softmax(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and an action drawn from the softmax of the values there; or any action in a lapse."""
    choice = agent.choice
    if u_lapse < choice.lapse:
        return s, random_action(choice, agent.belief.graph.stride, s, u)
    compute_possible_values(agent, memory, s)
    return s, sample_softmax(choice.values, choice.temperature, u)


@callback
def choose_uniformly(agent: Any, memory: Any, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return s and any action."""
    return s, random_action(agent.choice, agent.belief.graph.stride, s, u)


@callback
def choose_pair(agent: Any, tree: Tree, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return the state and the action of the best of all pairs, for an agent that may relocate."""
    choice, stride = agent.choice, agent.belief.graph.stride
    if u_lapse < choice.lapse:
        r = random_index(leaves(tree), u)
    elif choice.temperature == 0.0:
        r = best_row(tree, u)
    else:
        r = sample_softmax(leaves(tree), choice.temperature, u)
    return r // stride, r % stride


# Values of the actions of state s, into `choice.values`


@callback
def zero_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """Zero for each action."""
    for a in range(len(choice.values)):
        choice.values[a] = 0.0


@callback
def utility_values(belief: Belief, choice: ChoiceState, memory: Any, s: int) -> None:
    """The utility of each action."""
    renew_utilities(belief, s)
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
    """One step of Q-learning; no value follows a terminal state."""
    q, stride, largest = table.q, belief.graph.stride, -np.inf
    for b in range(len(choice.values)):
        if is_possible(choice, s_next * stride + b):
            largest = max(largest, q[s_next * stride + b])
    if choice.terminal[s_next]:
        largest = 0.0
    r = s * stride + a
    q[r] += table.learning_rate * (reward + table.gamma * largest - q[r])


@callback
def update_pairs(belief: Belief, choice: ChoiceState, tree: Tree, s: int, a: int, s_next: int, reward: float) -> None:
    """Renew the path of one row in the tournament of all pairs."""
    r = s * belief.graph.stride + a
    update_tree(tree, r, belief.utility[r])


# After utilities, or what is possible, have changed in any other way


@callback
def keep_memory(belief: Belief, choice: ChoiceState, memory: Any) -> None:
    """Nothing in the memory depends on utilities."""


@callback
def regrow_tree(belief: Belief, choice: ChoiceState, tree: Tree) -> None:
    """Fill the tournament again, with the rows that are possible."""
    grow_tree(tree, belief.utility, choice.possible)


# Memories


class NoMemory(NamedTuple):
    """The memory of a method that has none."""

    empty: int = 0


def _no_memory(coordinate: Any, belief: Belief, choice: ChoiceState, support: Support, world: World | None) -> NoMemory:
    return NoMemory()


def _plan(
    coordinate: ValueIteration, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> Plan | KeptPlans:
    """A plan on the explorer's own model."""
    if coordinate.keeps_plans:
        return new_kept_plans(coordinate, belief)
    depth, graph = coordinate.steps_back, belief.graph
    repairs = cached_repairs(support, graph, depth) if depth and not graph.capacity else NO_REPAIRS
    plan = new_plan(graph, belief.weight, belief.base_weight, coordinate, repairs)
    return plan._replace(listed=new_listed(len(graph.start))) if depth and _states_are_alike(belief) else plan


def _hopeful_plan(
    coordinate: HopefulIteration, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> HopefulPlan:
    """A hopeful plan on the explorer's own model."""
    return new_hopeful_plan(coordinate, belief)


def _states_are_alike(belief: Belief) -> bool:
    """Whether all rows are alike before any data, and there are enough states to make use of that."""
    n_states = len(belief.graph.start)
    if not belief.graph.capacity or n_states <= MAX_COMPUTED or len(belief.last):  # states that are discovered were met
        return False
    per_state = (values.reshape(n_states, -1) for values in (belief.utility, belief.base_weight, belief.weight))
    return all(bool(np.all(values == values[0])) for values in per_state)


def _true_plan(
    coordinate: TrueModel, belief: Belief, choice: ChoiceState, support: Support, world: World | None
) -> Plan:
    """A plan on the true world, on the graph of the belief's support if that is the same."""
    assert world is not None
    inner: Any = coordinate.inner
    shared = support if support.same_entries(world.rows.support) else world.rows.support
    graph, weight = graph_and_weights(world, shared)
    repairs = cached_repairs(shared, graph, inner.steps_back)
    return new_plan(graph, weight, np.empty(0), inner, repairs)


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
    functions : Callable
        `functions(memory, masked)` returns three functions: the first computes the values of the actions of a state,
        the second is called after every observation, and the third after utilities, or what is possible, have changed
        in any other way. `masked` is whether not everything is possible. Only the first may depend on it.
    choose : Callable or None
        The function that chooses; None to choose by values, as the strategy's choice rule says.
    renews : bool
        Whether all functions call `berlyne.engine.row_beliefs.renew_utilities` before they read the utilities of a
        state, so that a refit of the prior need not set those of all states.
    """

    new_memory: Callable[..., Any]
    functions: Callable[[Any, bool], tuple[Any, Any, Any]]
    choose: Any = None
    renews: bool = False


def _always(values: Any, after_observation: Any = ignore_observation, reset: Any = keep_memory) -> Any:
    """Return `functions` of a method whose functions are always the same."""
    return lambda memory, masked: (values, after_observation, reset)


def _plan_functions(memory: Any, masked: bool) -> tuple[Any, Any, Any]:
    """Return `functions` of a method that plans: it keeps its plans, lists states, or does neither."""
    if isinstance(memory, KeptPlans):
        return kept_values, plan_if_due, plan_again
    return listed_functions(masked) if len(memory.listed.states) else plan_functions(memory, masked)


METHODS: dict[type, CompiledMethod] = {
    UniformChoice: CompiledMethod(_no_memory, _always(zero_values), choose_uniformly),
    LeastTaken: CompiledMethod(_no_memory, _always(least_taken_values)),
    CounterBased: CompiledMethod(_no_memory, _always(expected_visits_values)),
    Greedy: CompiledMethod(_no_memory, _always(utility_values), renews=True),
    ValueIteration: CompiledMethod(_plan, _plan_functions, renews=True),
    HopefulIteration: CompiledMethod(_hopeful_plan, lambda memory, masked: hopeful_functions(masked), renews=True),
    RewardFree: CompiledMethod(_plan, _plan_functions, renews=True),
    RMax: CompiledMethod(_plan, _plan_functions, renews=True),
    PosteriorSampling: CompiledMethod(_plan, _plan_functions, renews=True),
    TrueModel: CompiledMethod(_true_plan, _plan_functions),
    QLearning: CompiledMethod(_q_table, _always(q_values, learn_q), renews=True),
    Relocating: CompiledMethod(_tree, _always(utility_values, update_pairs, regrow_tree), choose_pair),
    RegisteredMethod: CompiledMethod(new_own_memory, _always(own_values, learn_own)),
}
"""The methods that kernels know."""
