"""The action-perception loop: choose, transition, learn, measure.

The loop knows no priors, utilities or methods: see `row_beliefs` and `action_selection`. `imagine` is the same loop in
a world that answers as the model predicts (`berlyne.exploration.lookahead`). `row_stats` counts the transitions of a
path.
"""

from __future__ import annotations

from typing import Any

from berlyne.engine.action_selection import RELOCATING, ChoiceState, arrive, choose, compute_values, update_after_step
from berlyne.engine.argmax import all_weights, best_row
from berlyne.engine.environment import Truth, draw, row_distance
from berlyne.engine.jit import jit_inline, jit_nrt_off, kernel
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import Belief, estimate_changed, find_or_add_slot, learn, realised_gain
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


@jit_inline
def observe_step(belief: Belief, choice: ChoiceState, s: int, a: int, s_next: int) -> int:
    """Learn one transition; returns how often it had been seen before, IMPOSSIBLE or FULL."""
    before = find_or_add_slot(belief, s, a, s_next)
    if before >= 0:
        r = s * belief.graph.stride + a
        predicted = belief.utility[r]
        before = learn(belief, s, a, s_next, before)
        update_after_step(
            belief, choice, s, a, s_next, belief.utility[r] if belief.realised else predicted
        )  # reading R7
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
    """Go through the loop once per action; returns the steps made, fewer if the world did the impossible.

    `u_agent` is (T, 2), `u_world` (T,), uniform in [0, 1); so is `u_start` (T,), needed only where states are terminal.
    The first state and the first measures of `record` are given.
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
        was = truth.l1[r]
        if estimate_changed(belief.family, before):
            truth.l1[r] = row_distance(belief, truth, s, a)
        record.l1[t + 1] = record.l1[t] + truth.l1[r] - was
    return len(u_world)


@jit_nrt_off
def act(belief: Belief, choice: ChoiceState, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in and the action to take, for a world that is not ours; s is -1 if it does not matter.

    That it was asked for leaves no trace: visits are counted when something is observed.
    """
    was, found = choice.current_state[0], s
    if s >= 0:
        arrive(choice.current_state, choice.visits, s)
    s, a = choose(belief, choice, s, u, u_explore)
    if found >= 0 and was != found:
        choice.current_state[0] = was
        choice.visits[found] -= 1
        choice.visits[-1] -= 1
    return s, a


@jit_nrt_off
def observe(belief: Belief, choice: ChoiceState, s: int, a: int, s_next: int) -> int:
    """Learn what such a world did; returns as `observe_step` does. What cannot be learned leaves no trace."""
    was = choice.current_state[0]
    arrive(choice.current_state, choice.visits, s)
    before = observe_step(belief, choice, s, a, s_next)
    if before < 0 and was != s:
        choice.current_state[0] = was
        choice.visits[s] -= 1
        choice.visits[-1] -= 1
    return before


@jit_nrt_off
def evaluate_actions(belief: Belief, choice: ChoiceState, s: int) -> None:
    """What `act` would think of each action in state s, into `choice.values`; nothing else changes that lasts."""
    was = choice.current_state[0]
    arrive(choice.current_state, choice.visits, s)
    compute_values(belief, choice, s)
    if was != s:
        choice.visits[s] -= 1
        choice.visits[-1] -= 1
        choice.current_state[0] = was


@jit_nrt_off
def record_all_pairs(belief: Belief, choice: ChoiceState, record: ReplayRecord, t: int) -> None:
    """What the chances of single pairs follow from, for an agent that may relocate."""
    record.first[t] = best_row(choice.tree, 0.0)
    if choice.temperature == 0.0:
        record.largest[t], record.total[t] = choice.tree.top[1], choice.tree.ties[1]
    else:
        record.largest[t], record.total[t] = all_weights(belief.utility, choice.temperature)


@jit_nrt_off
def learn_without_acting(known: Belief, s: int, a: int, s_next: int) -> float:
    """Learn a transition that is possible, without acting on it; returns by how much the utility of its row rose."""
    r = s * known.graph.stride + a
    was = known.utility[r]
    learn(known, s, a, s_next, find_or_add_slot(known, s, a, s_next))
    rise: float = known.utility[r] - was
    return rise


@jit_nrt_off
def replay(
    belief: Belief, choice: ChoiceState, known: Belief, record: ReplayRecord, steps: IntArray, begin: int
) -> tuple[int, int]:
    """Follow a recorded history from line `begin`; returns the first line not learned, and why as `observe_step` does.

    known : what is known before line `begin`, with novelty as its utility; it has as much room as the belief.
    steps : (T, 3), lines s, a, s_next.
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
        why = observe_step(belief, choice, s, a, s_next)
        if why < 0:
            return t, why
        record.missing[t + 1] = record.missing[t] + learn_without_acting(known, s, a, s_next)
    return len(steps), 0


@jit_nrt_off
def predicted(belief: Belief, s: int, a: int, u: float) -> int:
    """The outcome that the estimate of row (a, s) gives for `u` in [0, 1): first those in slots, then all others."""
    graph, left = belief.graph, u
    found: int = -1
    base_weight = belief.base_weight[s * graph.stride + a] if len(belief.base_weight) else 0.0
    first = graph.start[s]
    last = first + graph.length[s]
    for k in range(first, last):
        p = base_weight + belief.weight[k * graph.stride + a]
        if p > 0.0:
            found = graph.succ[k]
            if left < p:
                return found
            left -= p
    n_others = len(graph.start) - (last - first)
    if base_weight == 0.0 or n_others == 0:
        return found  # what rounding left
    rank = min(int(left / base_weight), n_others - 1)
    before, again = -1, 0
    while again != before:  # the state with so many others before it that are in no slot
        before, again = again, 0
        for k in range(first, last):
            again += graph.succ[k] <= rank + before
    place: int = rank + again
    return place


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
    """Go on from `path[0]` where what is predicted happens; returns the steps made, fewer if there is no more room.

    An episode that ends begins again in state `begin`.
    """
    for t in range(len(u_world)):
        s = path[t]
        arrive(choice.current_state, choice.visits, s)
        s, a = choose(belief, choice, s, u_agent[t, 0], u_agent[t, 1])
        s_next = predicted(belief, s, a, u_world[t])
        if observe_step(belief, choice, s, a, s_next) < 0:
            return t
        path[t + 1] = begin if ends[s_next] else s_next
    return len(u_world)


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
