"""The action-perception loop: choose, transition, learn, measure.

The loop does not depend on priors, utilities or methods, which are in `row_beliefs` and `action_selection`. `imagine`
is the same loop, but outcomes are drawn from the model's estimates (`berlyne.exploration.lookahead`).
`accumulate_counts` counts the transitions of a path.
"""

from __future__ import annotations

from typing import Any

from berlyne.engine.action_selection import RELOCATING, ChoiceState, arrive, choose, compute_values, update_after_step
from berlyne.engine.argmax import best_row, softmax_total
from berlyne.engine.environment import Truth, draw, row_distance
from berlyne.engine.jit import jit_inline, jit_nrt_off, kernel
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import Belief, estimate_changed, find_or_add_slot, learn, realised_gain
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


@jit_inline
def observe_step(belief: Belief, choice: ChoiceState, s: int, a: int, s_next: int) -> int:
    """Learn one transition; return how often it was seen before, or IMPOSSIBLE, or FULL."""
    before = find_or_add_slot(belief, s, a, s_next)
    if before >= 0:
        r = s * belief.graph.stride + a
        predicted = belief.utility[r]
        before = learn(belief, s, a, s_next, before)
        reward = belief.utility[r] if belief.realised else predicted  # reading R7
        update_after_step(belief, choice, s, a, s_next, reward)
    return before


@jit_nrt_off
def explore(
    belief: Belief,
    choice: ChoiceState,
    truth: Truth,
    record: RunRecord,
    u_agent: FloatArray,
    u_world: FloatArray,
    u_start: FloatArray,
) -> int:
    """Explore a world, one step per line of `u_agent`.

    Parameters
    ----------
    belief : Belief
        Counts, estimates and utilities.
    choice : ChoiceState
        Memory of the coordination method.
    truth : Truth
        The true world.
    record : RunRecord
        Arrays to fill. The first state and the first measures are set.
    u_agent : ndarray of shape (T, 2)
        Uniform numbers in [0, 1) for the choices.
    u_world : ndarray of shape (T,)
        Uniform numbers in [0, 1) for the outcomes.
    u_start : ndarray of shape (T,)
        Uniform numbers in [0, 1) for the initial states of episodes; not read if no state is terminal.

    Returns
    -------
    int
        Number of steps made, less than T if the next transition has probability zero under the prior.
    """
    for t in range(len(u_world)):
        s = record.states[t]
        arrive(choice.current_state, choice.visits, s)
        s, a = choose(belief, choice, s, u_agent[t, 0], u_agent[t, 1])

        row = s * belief.graph.n_actions + a
        e = draw(truth.indptr, truth.cumulative, row, u_world[t])
        s_next = truth.indices[e]

        before = observe_step(belief, choice, s, a, s_next)
        if before < 0:
            return t
        record.states[t], record.actions[t], record.outcomes[t], record.states[t + 1] = s, a, s_next, s_next
        if len(truth.ends) and truth.ends[s_next]:
            record.states[t + 1] = truth.starts[draw(truth.start_indptr, truth.start_cumulative, 0, u_start[t])]

        has_first = truth.indices[truth.indptr[row]] == 0
        gain = realised_gain(belief, s, a, s_next, before, truth.data[e], has_first)
        record.missing[t + 1] = record.missing[t] - gain
        r = s * belief.graph.stride + a
        l1_before = truth.l1[r]
        if estimate_changed(belief.family, before):
            truth.l1[r] = row_distance(belief, truth, s, a)
        record.l1[t + 1] = record.l1[t] + truth.l1[r] - l1_before
    return len(u_world)


@jit_nrt_off
def act(belief: Belief, choice: ChoiceState, s: int, u: float, u_lapse: float) -> tuple[int, int]:
    """Choose as `choose` does, for an external world; s is -1 if the method relocates.

    No side effects: visits are counted by `observe`.
    """
    state_before, arrived = choice.current_state[0], s
    if s >= 0:
        arrive(choice.current_state, choice.visits, s)
    s, a = choose(belief, choice, s, u, u_lapse)
    if arrived >= 0 and state_before != arrived:
        choice.current_state[0] = state_before
        choice.visits[arrived] -= 1
        choice.visits[-1] -= 1
    return s, a


@jit_nrt_off
def observe(belief: Belief, choice: ChoiceState, s: int, a: int, s_next: int) -> int:
    """Learn a transition of an external world; return as `observe_step` does. Nothing changes if that is negative."""
    state_before = choice.current_state[0]
    arrive(choice.current_state, choice.visits, s)
    before = observe_step(belief, choice, s, a, s_next)
    if before < 0 and state_before != s:
        choice.current_state[0] = state_before
        choice.visits[s] -= 1
        choice.visits[-1] -= 1
    return before


@jit_nrt_off
def evaluate_actions(belief: Belief, choice: ChoiceState, s: int) -> None:
    """Write the value of each action in state s into `choice.values`; visits and current state do not change."""
    state_before = choice.current_state[0]
    arrive(choice.current_state, choice.visits, s)
    compute_values(belief, choice, s)
    if state_before != s:
        choice.visits[s] -= 1
        choice.visits[-1] -= 1
        choice.current_state[0] = state_before


@jit_nrt_off
def record_all_pairs(belief: Belief, choice: ChoiceState, record: ReplayRecord, t: int) -> None:
    """Record the largest value, the sum of weights and the first best row of all pairs, for a method that relocates."""
    record.first[t] = best_row(choice.tree, 0.0)
    if choice.temperature == 0.0:
        record.largest[t], record.total[t] = choice.tree.top[1], choice.tree.ties[1]
    else:
        record.largest[t], record.total[t] = softmax_total(belief.utility, choice.temperature)


@jit_nrt_off
def learn_without_acting(novelty_belief: Belief, s: int, a: int, s_next: int) -> float:
    """Learn a possible transition in the belief alone; return the increase of its row's utility."""
    r = s * novelty_belief.graph.stride + a
    utility_before = novelty_belief.utility[r]
    learn(novelty_belief, s, a, s_next, find_or_add_slot(novelty_belief, s, a, s_next))
    increase: float = novelty_belief.utility[r] - utility_before
    return increase


@jit_nrt_off
def replay(
    belief: Belief, choice: ChoiceState, novelty_belief: Belief, record: ReplayRecord, steps: IntArray, begin: int
) -> tuple[int, int]:
    """Replay a history from line `begin` on.

    Parameters
    ----------
    belief : Belief
        Counts, estimates and utilities of the agent.
    choice : ChoiceState
        Memory of the coordination method.
    novelty_belief : Belief
        The belief before line `begin` with novelty as its utility, and with the same capacity as `belief`.
    record : ReplayRecord
        Arrays to fill.
    steps : ndarray of int, shape (T, 3)
        Lines s, a, s_next.
    begin : int
        First line to replay.

    Returns
    -------
    done : int
        The first line that was not learned, or T.
    status : int
        Why it was not learned, IMPOSSIBLE or FULL; 0 at the end.
    """
    stride = belief.graph.stride
    for t in range(begin, len(steps)):
        s, a, s_next = steps[t, 0], steps[t, 1], steps[t, 2]
        arrive(choice.current_state, choice.visits, s)
        compute_values(belief, choice, s)
        for b in range(len(choice.values)):
            record.values[t, b] = choice.values[b]
            record.utility[t, b] = belief.utility[s * stride + b]
        if choice.method == RELOCATING:
            record_all_pairs(belief, choice, record, t)
        status = observe_step(belief, choice, s, a, s_next)
        if status < 0:
            return t, status
        record.missing[t + 1] = record.missing[t] + learn_without_acting(novelty_belief, s, a, s_next)
    return len(steps), 0


@jit_nrt_off
def sample_predicted(belief: Belief, s: int, a: int, u: float) -> int:
    """Draw an outcome from the estimate of row (a, s) by inversion of `u` in [0, 1).

    The outcomes in slots come first, in the order of slots, then all other states.
    """
    graph, remaining = belief.graph, u
    outcome: int = -1
    base = belief.base_weight[s * graph.stride + a] if len(belief.base_weight) else 0.0
    first = graph.start[s]
    last = first + graph.length[s]
    for k in range(first, last):
        p = base + belief.weight[k * graph.stride + a]
        if p > 0.0:
            outcome = graph.succ[k]
            if remaining < p:
                return outcome
            remaining -= p
    n_others = len(graph.start) - (last - first)
    if base == 0.0 or n_others == 0:
        return outcome  # the estimates sum to slightly less than one
    rank = min(int(remaining / base), n_others - 1)
    before, n_slots_below = -1, 0
    while n_slots_below != before:  # find the state with exactly `rank` smaller states without a slot
        before, n_slots_below = n_slots_below, 0
        for k in range(first, last):
            n_slots_below += graph.succ[k] <= rank + before
    state: int = rank + n_slots_below
    return state


@jit_nrt_off
def imagine(
    belief: Belief,
    choice: ChoiceState,
    begin: int,
    ends: BoolArray,
    path: IndexArray,
    u_agent: FloatArray,
    u_world: FloatArray,
) -> int:
    """Explore from `path[0]`, with outcomes drawn from the estimates.

    Parameters
    ----------
    belief : Belief
        Counts, estimates and utilities.
    choice : ChoiceState
        Memory of the coordination method.
    begin : int
        State in which a new episode begins.
    ends : ndarray of bool, shape (N,)
        Whether an episode ends in each state.
    path : ndarray of int, shape (T + 1,)
        Visited states; the first is set.
    u_agent, u_world : ndarray of shape (T, 2) and (T,)
        Uniform numbers in [0, 1) for choices and outcomes.

    Returns
    -------
    int
        Number of steps made, less than T if the next step needs another slot.
    """
    for t in range(len(u_world)):
        s = path[t]
        arrive(choice.current_state, choice.visits, s)
        s, a = choose(belief, choice, s, u_agent[t, 0], u_agent[t, 1])
        s_next = sample_predicted(belief, s, a, u_world[t])
        if observe_step(belief, choice, s, a, s_next) < 0:
            return t
        path[t + 1] = begin if ends[s_next] else s_next
    return len(u_world)


@kernel
def accumulate_counts(
    states: IndexArray, actions: IndexArray, outcomes: IndexArray, n_states: int, until: IntArray, out: Any
) -> None:
    """Count the transitions of the first `until[j]` steps of a path in line j of `out`.

    Parameters
    ----------
    states, actions, outcomes : ndarray of int, shape (T,)
        The path; `states` may be longer.
    n_states : int
        Number of states, N.
    until : ndarray of int
        Ascending numbers of steps.
    out : ndarray of shape (len(until), width)
        Zeros, to which the counts are added at `(a * N + s) * N + s_next`. It may be wider than the world needs.
    """
    done, n = 0, (actions.max() + 1) * n_states * n_states if len(actions) else 0
    for j in range(len(until)):
        if j > 0:
            out[j, :n] = out[j - 1, :n]
        for t in range(done, until[j]):
            out[j, (actions[t] * n_states + states[t]) * n_states + outcomes[t]] += 1
        done = until[j]
