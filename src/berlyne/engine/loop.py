"""The action-perception loop: choose, transition, learn, measure.

The loop knows no priors, utilities or methods; it calls the functions that an `AgentState` carries. `imagine` is the
same loop in a world that answers as the model predicts (`berlyne.exploration.lookahead`), and `replay` follows a
recorded history. `accumulate_counts` counts the transitions of a path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from berlyne.engine.action_selection import ChoiceState, arrive, leave, move
from berlyne.engine.agent_state import AgentState, refresh_all, refresh_global_index
from berlyne.engine.argmax import Tree, best_row, softmax_total
from berlyne.engine.blocks import OPAQUE, Block, CompiledFunction, Opaque, call
from berlyne.engine.environment import Truth, draw
from berlyne.engine.indices import NO_INDEX, estimated_probability
from berlyne.engine.jit import COMPILING, callback, inline, kernel
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import Belief
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
    """Measure the whole model after step t, at which the prior was refitted."""
    belief, distance = agent.belief, 0.0
    record.missing[t + 1] = truth.missing_information(belief, truth)
    for s in range(len(belief.graph.start)):
        if len(truth.ends) and truth.ends[s]:
            continue
        for a in range(belief.graph.n_actions):
            r = s * belief.graph.stride + a
            truth.l1[r] = truth.row_distance(belief, truth, s, a)
            distance += truth.l1[r]
    record.l1[t + 1] = distance


@inline
def explore_step(agent: AgentState, truth: Truth, record: RunRecord, draws: Draws, t: int) -> int:
    """Make step t; return as `observe_step` does."""
    belief = agent.belief
    s = record.states[t]
    arrive(agent.choice, s)
    refresh_global_index(agent)
    s, a = agent.choose(agent, agent.memory, s, draws.agent[t, 0], draws.agent[t, 1])

    row, r = s * belief.graph.n_actions + a, s * belief.graph.stride + a
    e = draw(truth.indptr, truth.cumulative, row, draws.world[t])
    s_next = truth.indices[e]

    before = observe_step(agent, s, a, s_next)
    if before < 0:
        return before
    record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, s_next
    if len(truth.ends) and truth.ends[s_next]:
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
    belief, n_steps = agent.belief, len(draws.world)
    for t in range(n_steps):
        before = explore_step(agent, truth, record, draws, t)
        if before < 0:
            return t
        if refit(agent, record.states[t], record.actions[t], record.outcomes[t], before):
            measure_all_rows(agent, truth, record, t)
        for i in range(record.learned.shape[1]):
            record.learned[t + 1, i] = belief.numbers[i]
    return n_steps


@kernel
def act(agent: AgentState, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Return the state to act in and the action to take; s is -1 for an agent that chooses the state.

    No side effects: visits are counted when a transition is observed.
    """
    choice = agent.choice
    previous = choice.current_state[0]
    if s >= 0:
        arrive(choice, s)
    refresh_global_index(agent)
    s_chosen, a = agent.choose(agent, agent.memory, s, u, u_lapse)
    if s >= 0:
        leave(choice, s, previous)
    return s_chosen, a


@kernel
def observe(agent: AgentState, s: int, a: int, s_next: int) -> int:
    """Learn one transition; return as `observe_step` does. A transition that is refused has no side effects."""
    choice = agent.choice
    previous = choice.current_state[0]
    arrive(choice, s)
    refresh_global_index(agent)
    before = observe_step(agent, s, a, s_next)
    if before < 0:
        leave(choice, s, previous)
    elif agent.learns:
        refit(agent, s, a, s_next, before)
    return before


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
    previous = choice.current_state[0]
    arrive(choice, s)
    refresh_global_index(agent)
    agent.compute_values(agent.belief, choice, agent.memory, s)
    leave(choice, s, previous)


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
        record.largest[t], record.total[t] = softmax_total(agent.belief.utility, temperature)


class _History(NamedTuple):
    """The lines s, a, s_next of a history, an array of shape (T, 3)."""

    steps: IntArray


class _Comparison(NamedTuple):
    """The function that compares all pairs, `compare_pairs` or `compare_nothing`."""

    compare: Any


def follow_history(
    agent: Block, known: Block, record: ReplayRecord, steps: IntArray, begin: int, relocates: bool
) -> tuple[int, int]:
    """Call `replay` for an agent that may relocate or not."""
    into = Block.around(record)
    compare: Any = compare_pairs if relocates else compare_nothing
    if COMPILING:
        memory = Opaque(Block.of(agent.record.memory).type) if relocates else OPAQUE
        compare = CompiledFunction(compare, agent.type, memory, into.type, types.int64)
    comparison, history = Block.of(_Comparison(compare)), Block.around(_History(steps))
    stop: tuple[int, int] = call(replay, agent, known, comparison, history, into, begin)
    return stop


@inline
def expected_missing(belief: Belief, choice: ChoiceState) -> float:
    """Sum the utilities of all rows of nonterminal states; for `parameter_gain`, the expected missing information."""
    total = 0.0
    for s in range(len(belief.graph.start)):
        if not choice.terminal[s]:
            for a in range(belief.graph.n_actions):
                total += belief.utility[s * belief.graph.stride + a]
    return total


@kernel
def replay(
    agent: AgentState, known: AgentState, comparison: _Comparison, history: _History, record: ReplayRecord, begin: int
) -> tuple[int, int]:
    """Follow a recorded history from line `begin`; return the first line not learned, and why as `observe_step` does.

    `known` has learned the lines before `begin`; its utility is expected missing information, and it has as much room
    as the agent. A line with a negative action or next state, which are unknown, is not learned; the next state is
    visited.
    """
    belief, choice, steps = agent.belief, agent.choice, history.steps
    stride = belief.graph.stride
    for t in range(begin, len(steps)):
        s, a, s_next = steps[t, 0], steps[t, 1], steps[t, 2]
        arrive(choice, s)
        refresh_global_index(agent)
        agent.compute_values(belief, choice, agent.memory, s)
        for b in range(len(choice.values)):
            record.values[t, b] = choice.values[b]
            record.utility[t, b] = belief.utility[s * stride + b]
        comparison.compare(agent, agent.memory, record, t)
        if a < 0 or s_next < 0:
            move(choice, s_next)
            record.missing[t + 1] = record.missing[t]
            continue
        before = observe_step(agent, s, a, s_next)
        if before < 0:
            return t, before
        r = s * stride + a
        previous = known.belief.utility[r]
        known.learn(known.belief, s, a, s_next)
        record.missing[t + 1] = record.missing[t] + (known.belief.utility[r] - previous)
        if agent.learns:
            refit(agent, s, a, s_next, before)
            if refit(known, s, a, s_next, before):  # at the same times, because both have learned the same
                record.missing[t + 1] = expected_missing(known.belief, choice)
    return len(steps), 0


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
    n_others = len(graph.start) - (last - first)
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


class Imagined(NamedTuple):
    """An imagined path.

    Attributes
    ----------
    ends : ndarray of shape (N,)
        Whether episodes end in each state.
    path : ndarray of shape (T + 1,)
        The states; the first is given.
    """

    ends: BoolArray
    path: IndexArray


@kernel
def imagine(agent: AgentState, imagined: Imagined, draws: Draws, begin: int) -> int:
    """Follow predicted outcomes from `path[0]` on; return the steps made, fewer if there is no more room.

    An episode that ends begins again in state `begin`. The prior is not refitted.
    """
    path = imagined.path
    for t in range(len(draws.world)):
        s = path[t]
        arrive(agent.choice, s)
        refresh_global_index(agent)
        s, a = agent.choose(agent, agent.memory, s, draws.agent[t, 0], draws.agent[t, 1])
        s_next = predicted_outcome(agent.belief, s, a, draws.world[t])
        if observe_step(agent, s, a, s_next) < 0:
            return t
        path[t + 1] = begin if imagined.ends[s_next] else s_next
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
