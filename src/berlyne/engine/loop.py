"""The action-perception loop: choose, transition, learn, measure.

The loop knows no priors, utilities or methods: see `row_beliefs` and `action_selection`. `imagine` is the same loop in
a world that answers as the model predicts (`berlyne.exploration.lookahead`). `tally` counts the transitions of a
path.
"""

from __future__ import annotations

from typing import Any

from berlyne.engine.action_selection import RELOCATING, Agent, after_step, arrive, choose, compute_values
from berlyne.engine.argmax import all_weights, best_row
from berlyne.engine.environment import Truth, draw, row_distance
from berlyne.engine.jit import jit_inline, jit_nrt_off, kernel
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import Belief, find_slot, gained, has_moved, learn
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray


@jit_inline
def observe_step(belief: Belief, agent: Agent, s: int, a: int, s_next: int) -> int:
    """Learn one transition; returns how often it had been seen before, IMPOSSIBLE or FULL."""
    before = find_slot(belief, s, a, s_next)
    if before >= 0:
        r = s * belief.graph.stride + a
        predicted = belief.utility[r]
        before = learn(belief, s, a, s_next, before)
        after_step(belief, agent, s, a, s_next, belief.utility[r] if belief.realised else predicted)  # reading R7
    return before


@jit_nrt_off
def explore(
    belief: Belief,
    agent: Agent,
    truth: Truth,
    trace: RunRecord,
    u_agent: FloatArray,
    u_world: FloatArray,
    u_start: FloatArray,
) -> int:
    """Go through the loop once per action; returns the steps made, fewer if the world did the impossible.

    `u_agent` is (T, 2), `u_world` (T,), uniform in [0, 1); so is `u_start` (T,), needed only where states are terminal.
    The first state and the first measures of `trace` are given.
    """
    for t in range(len(u_world)):
        s = trace.states[t]
        arrive(agent.here, agent.visits, s)
        s, a = choose(belief, agent, s, u_agent[t, 0], u_agent[t, 1])

        row = s * belief.graph.n_actions + a
        e = draw(truth.indptr, truth.cumulative, row, u_world[t])
        s_next = truth.indices[e]

        before = observe_step(belief, agent, s, a, s_next)
        if before < 0:
            return t
        trace.states[t], trace.actions[t], trace.outcomes[t], trace.states[t + 1] = s, a, s_next, s_next
        if len(truth.ends) and truth.ends[s_next]:
            trace.states[t + 1] = truth.starts[draw(truth.start_indptr, truth.start_cumulative, 0, u_start[t])]

        has_first = truth.indices[truth.indptr[row]] == 0
        gain = gained(belief, s, a, s_next, before, truth.data[e], has_first)
        trace.missing[t + 1] = trace.missing[t] - gain
        r = s * belief.graph.stride + a
        was = truth.l1[r]
        if has_moved(belief.family, before):
            truth.l1[r] = row_distance(belief, truth, s, a)
        trace.l1[t + 1] = trace.l1[t] + truth.l1[r] - was
    return len(u_world)


@jit_nrt_off
def act(belief: Belief, agent: Agent, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in and the action to take, for a world that is not ours; s is -1 if it does not matter.

    That it was asked for leaves no trace: visits are counted when something is observed.
    """
    was, found = agent.here[0], s
    if s >= 0:
        arrive(agent.here, agent.visits, s)
    s, a = choose(belief, agent, s, u, u_explore)
    if found >= 0 and was != found:
        agent.here[0] = was
        agent.visits[found] -= 1
        agent.visits[-1] -= 1
    return s, a


@jit_nrt_off
def observe(belief: Belief, agent: Agent, s: int, a: int, s_next: int) -> int:
    """Learn what such a world did; returns as `observe_step` does. What cannot be learned leaves no trace."""
    was = agent.here[0]
    arrive(agent.here, agent.visits, s)
    before = observe_step(belief, agent, s, a, s_next)
    if before < 0 and was != s:
        agent.here[0] = was
        agent.visits[s] -= 1
        agent.visits[-1] -= 1
    return before


@jit_nrt_off
def weigh_up(belief: Belief, agent: Agent, s: int) -> None:
    """What `act` would think of each action in state s, into `agent.values`; nothing else changes that lasts."""
    was = agent.here[0]
    arrive(agent.here, agent.visits, s)
    compute_values(belief, agent, s)
    if was != s:
        agent.visits[s] -= 1
        agent.visits[-1] -= 1
        agent.here[0] = was


@jit_nrt_off
def compare_all(belief: Belief, agent: Agent, thoughts: ReplayRecord, t: int) -> None:
    """What the chances of single pairs follow from, for an agent that may relocate."""
    thoughts.first[t] = best_row(agent.tree, 0.0)
    if agent.temperature == 0.0:
        thoughts.largest[t], thoughts.total[t] = agent.tree.top[1], agent.tree.ties[1]
    else:
        thoughts.largest[t], thoughts.total[t] = all_weights(belief.utility, agent.temperature)


@jit_nrt_off
def learn_aside(known: Belief, s: int, a: int, s_next: int) -> float:
    """Learn a transition that is possible, without acting on it; returns by how much the utility of its row rose."""
    r = s * known.graph.stride + a
    was = known.utility[r]
    learn(known, s, a, s_next, find_slot(known, s, a, s_next))
    rise: float = known.utility[r] - was
    return rise


@jit_nrt_off
def replay(
    belief: Belief, agent: Agent, known: Belief, thoughts: ReplayRecord, steps: IntArray, begin: int
) -> tuple[int, int]:
    """Follow a recorded history from line `begin`; returns the first line not learned, and why as `observe_step` does.

    known : what is known before line `begin`, with novelty as its utility; it has as much room as the belief.
    steps : (T, 3), lines s, a, s_next.
    """
    stride = belief.graph.stride
    for t in range(begin, len(steps)):
        s, a, s_next = steps[t, 0], steps[t, 1], steps[t, 2]
        arrive(agent.here, agent.visits, s)
        compute_values(belief, agent, s)
        for b in range(len(agent.values)):
            thoughts.values[t, b] = agent.values[b]
            thoughts.utility[t, b] = belief.utility[s * stride + b]
        if agent.method == RELOCATING:
            compare_all(belief, agent, thoughts, t)
        why = observe_step(belief, agent, s, a, s_next)
        if why < 0:
            return t, why
        thoughts.missing[t + 1] = thoughts.missing[t] + learn_aside(known, s, a, s_next)
    return len(steps), 0


@jit_nrt_off
def predicted(belief: Belief, s: int, a: int, u: float) -> int:
    """The outcome that the estimate of row (a, s) gives for `u` in [0, 1): first those in slots, then all others."""
    graph, left = belief.graph, u
    found: int = -1
    rest = belief.rest[s * graph.stride + a] if len(belief.rest) else 0.0
    first = graph.start[s]
    last = first + graph.length[s]
    for k in range(first, last):
        p = rest + belief.weight[k * graph.stride + a]
        if p > 0.0:
            found = graph.succ[k]
            if left < p:
                return found
            left -= p
    n_others = len(graph.start) - (last - first)
    if rest == 0.0 or n_others == 0:
        return found  # what rounding left
    rank = min(int(left / rest), n_others - 1)
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
    agent: Agent,
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
        arrive(agent.here, agent.visits, s)
        s, a = choose(belief, agent, s, u_agent[t, 0], u_agent[t, 1])
        s_next = predicted(belief, s, a, u_world[t])
        if observe_step(belief, agent, s, a, s_next) < 0:
            return t
        path[t + 1] = begin if ends[s_next] else s_next
    return len(u_world)


@kernel
def tally(
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
