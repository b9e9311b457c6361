"""The action-perception loop: choose, transition, learn, measure.

The loop knows no priors, utilities or methods; it calls the functions that an `AgentState` carries. `imagine` is the
same loop in a world that answers as the model predicts (`berlyne.exploration.lookahead`), and `replay` follows a
recorded history. `accumulate_counts` counts the transitions of a path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from berlyne.engine.action_selection import (
    ChoiceState,
    arrive,
    compute_possible_values,
    draw_start,
    end_episode,
    is_possible,
    leave,
    move,
    use_up_step,
)
from berlyne.engine.agent_state import AgentState, refresh_all, refresh_global_index
from berlyne.engine.argmax import Tree, best_row, leaves, softmax_total
from berlyne.engine.blocks import OPAQUE, Block, CompiledFunction, Opaque, type_of
from berlyne.engine.environment import Truth, draw
from berlyne.engine.indices import NO_INDEX, estimated_probability
from berlyne.engine.jit import COMPILING, callback, inline, kernel
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import Belief, renew_utilities
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


class Draws(NamedTuple):
    """Uniform numbers in [0, 1) for T steps.

    Attributes
    ----------
    agent : ndarray of shape (T, 2)
        For ties and lapses.
    world : ndarray of shape (T,)
        For outcomes.
    start : ndarray of shape (T,)
        For the states in which episodes begin; empty if no state is terminal.
    """

    agent: FloatArray
    world: FloatArray
    start: FloatArray


@inline
def observe_step(agent: AgentState, s: int, a: int, s_next: int) -> int:
    """Learn one transition; return how often it had been seen before, IMPOSSIBLE or FULL."""
    belief, choice = agent.belief, agent.choice
    r = s * belief.graph.stride + a
    renew_utilities(belief, s)
    predicted = belief.utility[r]
    if agent.index_kind != NO_INDEX:
        choice.predicted[0] = estimated_probability(belief, s, a, s_next)
    before: int = agent.learn(belief, s, a, s_next)
    if before >= 0:
        choice.n_obs[0] += 1
        if agent.index_kind != NO_INDEX:
            agent.apply_index(belief, choice, agent.index, s, a)
        reward = belief.utility[r] if belief.realised else predicted  # reading R7
        agent.after_observation(belief, choice, agent.memory, s, a, s_next, reward)
        choice.current_state[0] = s_next
        choice.visits[s_next] += 1
        choice.visits[-1] += 1
        use_up_step(choice)
    return before


@inline
def refit(agent: AgentState, s: int, a: int, s_next: int, before: int) -> bool:
    """Refit the prior after an observation, if that is due; return whether estimates and utilities have changed."""
    if not agent.refit(agent.belief, agent.choice, agent.learner, s, a, s_next, before):
        return False
    refresh_all(agent)
    return True


@inline
def measure_all_rows(agent: AgentState, truth: Truth, record: RunRecord, t: int) -> None:
    """Measure the whole model after step t, at which the prior was refitted.

    On a growing graph only rows with observations are compared again; the estimates of all others stay.
    """
    belief, graph = agent.belief, agent.belief.graph
    record.missing[t + 1] = truth.missing_information(belief, truth)
    n_rows = belief.tried[-1] if graph.capacity > 0 else len(graph.start) * graph.n_actions
    for i in range(n_rows):
        s, a = i // graph.n_actions, i % graph.n_actions
        if graph.capacity > 0:
            s, a = belief.tried[i] // graph.stride, belief.tried[i] % graph.stride
        if len(truth.counted) == 0 or truth.counted[s * graph.n_actions + a]:
            r = s * graph.stride + a
            before = truth.l1[r]
            truth.l1[r] = truth.row_distance(belief, truth, s, a)
            record.l1[t + 1] += truth.l1[r] - before


@inline
def arrive_and_choose(agent: AgentState, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return the state and the action that an agent in state s chooses, and count the visit.

    An agent that relocates arrives where it acts, and not in s.
    """
    if not agent.relocates:
        arrive(agent.choice, s)
    refresh_global_index(agent)
    s_chosen, a = agent.choose(agent, agent.memory, s, u, u_lapse)
    if agent.relocates:
        arrive(agent.choice, s_chosen)
    return s_chosen, a


@inline
def explore_step(agent: AgentState, truth: Truth, record: RunRecord, draws: Draws, t: int) -> int:
    """Make step t; return as `observe_step` does."""
    belief = agent.belief
    s, a = arrive_and_choose(agent, record.states[t], draws.agent[t, 0], draws.agent[t, 1])

    row, r = s * belief.graph.n_actions + a, s * belief.graph.stride + a
    e = draw(truth.indptr, truth.cumulative, row, draws.world[t])
    s_next = truth.indices[e]

    before = observe_step(agent, s, a, s_next)
    if before < 0:
        return before
    record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, s_next
    if agent.choice.current_state[0] < 0 or (len(truth.ends) and truth.ends[s_next]):
        record.states[t + 1] = truth.starts[draw(truth.start_indptr, truth.start_cumulative, 0, draws.start[t])]

    gain = agent.gain(belief, s, a, s_next, before, truth.data[e], truth.indices[truth.indptr[row]] == 0)
    record.missing[t + 1] = record.missing[t] - gain
    previous = truth.l1[r]
    if before == 0 or agent.repeats_teach:
        truth.l1[r] = truth.row_distance(belief, truth, s, a)
    record.l1[t + 1] = record.l1[t] + truth.l1[r] - previous
    return before


@kernel
def explore(agent: AgentState, truth: Truth, record: RunRecord, draws: Draws) -> int:
    """Make as many steps as there are draws; return the steps made, fewer if the world did the impossible.

    The first state and the first measures of `record` must be set.
    """
    n_steps = len(draws.world)
    for t in range(n_steps):
        if explore_step(agent, truth, record, draws, t) < 0:
            return t
    return n_steps


@kernel
def explore_and_refit(agent: AgentState, truth: Truth, record: RunRecord, draws: Draws) -> int:
    """Explore as `explore` does, with a prior that is refitted."""
    numbers, n_learned, n_steps = agent.belief.numbers, record.learned.shape[1], len(draws.world)
    for t in range(n_steps):
        before = explore_step(agent, truth, record, draws, t)
        if before < 0:
            return t
        if refit(agent, record.states[t], record.actions[t], record.outcomes[t], before):
            measure_all_rows(agent, truth, record, t)
        for i in range(n_learned):
            record.learned[t + 1, i] = numbers[len(numbers) - n_learned + i]
    return n_steps


@kernel
def act(agent: AgentState, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return the state to act in and the action to take; s is -1 for an agent that chooses the state.

    No side effects: visits are counted when a transition is observed.
    """
    choice = agent.choice
    previous, left = choice.current_state[0], choice.left[0]
    if s >= 0:
        arrive(choice, s)
    refresh_global_index(agent)
    s_chosen, a = agent.choose(agent, agent.memory, s, u, u_lapse)
    if s >= 0:
        leave(choice, s, previous, left)
    return s_chosen, a


@kernel
def observe(agent: AgentState, s: int, a: int, s_next: int) -> int:
    """Learn one transition; return as `observe_step` does. A transition that is refused has no side effects."""
    choice = agent.choice
    previous, left = choice.current_state[0], choice.left[0]
    arrive(choice, s)
    refresh_global_index(agent)
    before = observe_step(agent, s, a, s_next)
    if before < 0:
        leave(choice, s, previous, left)
    elif agent.learns:
        refit(agent, s, a, s_next, before)
    return before


@kernel
def renew_all_utilities(agent: AgentState) -> None:
    """Set the utilities of all states to those under the current prior."""
    for s in range(len(agent.belief.graph.start)):
        renew_utilities(agent.belief, s)


@kernel
def arrive_in(agent: AgentState, s: int) -> None:
    """Count a visit to state s, unless the last step led there."""
    arrive(agent.choice, s)
    refresh_global_index(agent)


@kernel
def observe_move(agent: AgentState, s: int, s_next: int) -> None:
    """Go from state s to s_next, which is negative if it is unknown, without learning a transition."""
    arrive(agent.choice, s)
    refresh_global_index(agent)
    move(agent.choice, s_next)


@kernel
def evaluate_actions(agent: AgentState, s: int) -> None:
    """Write the values of the actions in state s into `choice.values`; no other side effects."""
    choice = agent.choice
    previous, left = choice.current_state[0], choice.left[0]
    arrive(choice, s)
    refresh_global_index(agent)
    compute_possible_values(agent, agent.memory, s)
    leave(choice, s, previous, left)


@callback
def compare_nothing(agent: AgentState, memory: Any, record: ReplayRecord, t: int) -> None:
    """Do nothing, for an agent that acts in its own state."""


@callback
def compare_pairs(agent: AgentState, tree: Tree, record: ReplayRecord, t: int) -> None:
    """Record what the probabilities of single pairs follow from, for an agent that may relocate."""
    temperature = agent.choice.temperature
    record.first[t] = best_row(tree, 0.0)
    if temperature == 0.0:
        record.largest[t], record.total[t] = tree.top[1], tree.ties[1]
    else:
        record.largest[t], record.total[t] = softmax_total(leaves(tree), temperature)


class History(NamedTuple):
    """A recorded history.

    Attributes
    ----------
    steps : ndarray of shape (T, 3)
        Lines s, a, s_next.
    ended : ndarray of bool, shape (T,)
        Whether an episode ended with each line.
    """

    steps: IntArray
    ended: BoolArray


class _Comparison(NamedTuple):
    """The function that compares all pairs, `compare_pairs` or `compare_nothing`."""

    compare: Any


_COMPARE_NOTHING: dict[Any, Block] = {}


def new_comparison(agent: Block, record: Block, relocates: bool) -> Block:
    """Return the argument `comparison` of `replay`, for an agent that may relocate or not."""
    if not relocates:
        key = agent.type, record.type
        if key not in _COMPARE_NOTHING:
            _COMPARE_NOTHING[key] = _new_comparison(agent, record, relocates)
        return _COMPARE_NOTHING[key]
    return _new_comparison(agent, record, relocates)


def _new_comparison(agent: Block, record: Block, relocates: bool) -> Block:
    compare: Any = compare_pairs if relocates else compare_nothing
    if COMPILING:
        memory = Opaque(type_of(agent.record.memory)) if relocates else OPAQUE
        compare = CompiledFunction(compare, agent.type, memory, record.type, types.int64)
    return Block.of(_Comparison(compare))


@inline
def expected_missing(belief: Belief, choice: ChoiceState) -> float:
    """Sum the utilities of all possible rows; for `parameter_gain`, the expected missing information."""
    total = 0.0
    for s in range(belief.n_states[0]):
        for a in range(belief.graph.n_actions):
            r = s * belief.graph.stride + a
            if is_possible(choice, r):
                total += belief.utility[r]
    return total


@inline
def value_line(agent: AgentState, comparison: _Comparison, record: ReplayRecord, t: int, s: int) -> None:
    """Record values and, unless only they are wanted, utilities in state s, in which line t of a history begins."""
    belief, choice = agent.belief, agent.choice
    if not agent.relocates:
        arrive(choice, s)
    refresh_global_index(agent)
    compute_possible_values(agent, agent.memory, s)
    renew_utilities(belief, s)
    for b in range(len(choice.values)):
        record.values[t, b] = choice.values[b]
    if len(record.missing) == 0:
        return
    for b in range(len(choice.values)):
        r = s * belief.graph.stride + b
        record.utility[t, b] = belief.utility[r] if is_possible(choice, r) else 0.0
    comparison.compare(agent, agent.memory, record, t)


@inline
def learn_line(agent: AgentState, known: AgentState, history: History, record: ReplayRecord, t: int) -> int:
    """Learn line t of a history, and record the expected missing information; return as `observe_step` does.

    If only values are wanted, `known` is not used.

    A line with a negative action or next state, which are unknown, is not learned; the next state is visited.
    """
    steps = history.steps
    s, a, s_next = steps[t, 0], steps[t, 1], steps[t, 2]
    if agent.relocates:
        arrive(agent.choice, s)
    if a < 0 or s_next < 0:
        move(agent.choice, s_next)
        before = 0
        if len(record.missing):
            record.missing[t + 1] = record.missing[t]
    elif len(record.missing) == 0:
        before = observe_step(agent, s, a, s_next)
        if before < 0:
            return before
        if agent.learns:
            refit(agent, s, a, s_next, before)
    else:
        before = observe_step(agent, s, a, s_next)
        if before < 0:
            return before
        r = s * agent.belief.graph.stride + a
        previous = known.belief.utility[r]
        known.learn(known.belief, s, a, s_next)
        record.missing[t + 1] = record.missing[t] + (known.belief.utility[r] - previous)
        if agent.learns:
            refit(agent, s, a, s_next, before)
            if refit(known, s, a, s_next, before):  # at the same times, because both have learned the same
                record.missing[t + 1] = expected_missing(known.belief, agent.choice)
    if history.ended[t]:
        end_episode(agent.choice)
    return before


@kernel
def replay(
    agent: AgentState,
    known: AgentState,
    comparison: _Comparison,
    history: History,
    record: ReplayRecord,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """Follow a recorded history in half-steps: 2 t values the actions before line t, and 2 t + 1 learns it.

    `known` has learned the same lines as the agent; its utility is expected missing information, and it has as much
    room. If `record.missing` is empty, only values are recorded, and `known` is not used. Returns the first half-step
    not made, or `end`, and why as `observe_step` does.
    """
    for half_step in range(begin, end):
        t = half_step // 2
        if half_step % 2 == 0:
            value_line(agent, comparison, record, t, history.steps[t, 0])
        else:
            before = learn_line(agent, known, history, record, t)
            if before < 0:
                return half_step, before
    return end, 0


@inline
def predicted_outcome(belief: Belief, s: int, a: int, u: float) -> int:
    """Return the outcome that the estimate of row (a, s) gives for `u`: states with slots first, then all others."""
    graph, remaining = belief.graph, u
    outcome: int = -1
    base_weight = belief.base_weight[s * graph.stride + a] if len(belief.base_weight) else 0.0
    first = graph.start[s]
    last = first + graph.length[s]
    for k in range(first, last):
        p = base_weight + belief.weight[k * graph.stride + a]
        if p > 0.0:
            outcome = graph.succ[k]
            if remaining < p:
                return outcome
            remaining -= p
    n_others = belief.n_states[0] - (last - first)
    if base_weight == 0.0 or n_others == 0:
        return outcome  # `u` is in what rounding leaves between the sum and one
    rank: int = min(int(remaining / base_weight), n_others - 1)
    n_before, n_slots = -1, 0
    while n_slots != n_before:  # count the states with slots up to the one that has `rank` others before it
        n_before, n_slots = n_slots, 0
        for k in range(first, last):
            n_slots += graph.succ[k] <= rank + n_before
    state: int = rank + n_slots
    return state


class Path(NamedTuple):
    """The states of an imagined path, (T + 1,); the first is given."""

    states: IndexArray


@kernel
def imagine(agent: AgentState, path: Path, draws: Draws) -> int:
    """Follow predicted outcomes from `states[0]` on; return the steps made, fewer if there is no more room.

    After a terminal state the next episode begins where episodes begin. The prior is not refitted.
    """
    states, choice = path.states, agent.choice
    for t in range(len(draws.world)):
        s, a = arrive_and_choose(agent, states[t], draws.agent[t, 0], draws.agent[t, 1])
        s_next = predicted_outcome(agent.belief, s, a, draws.world[t])
        if observe_step(agent, s, a, s_next) < 0:
            return t
        states[t + 1] = draw_start(choice.starts, draws.start[t]) if choice.terminal[s_next] else s_next
    return len(draws.world)


@kernel
def accumulate_counts(
    states: IndexArray, actions: IndexArray, outcomes: IndexArray, n_states: int, until: IntArray, out: Any
) -> None:
    """Add to line j of `out`, at (a N + s) N + s_next, the transitions of the first `until[j]` steps.

    `until` ascends; `out` holds zeros, and may be wider than the world needs.
    """
    done, n = 0, (actions.max() + 1) * n_states * n_states if len(actions) else 0
    for j in range(len(until)):
        if j > 0:
            out[j, :n] = out[j - 1, :n]
        for t in range(done, until[j]):
            out[j, (actions[t] * n_states + states[t]) * n_states + outcomes[t]] += 1
        done = until[j]
