"""The action-perception loop: choose, transition, learn, measure.

It knows no priors, no utilities and no methods: see `belief` and `choose`.
"""

from __future__ import annotations

from berlyne.arrays import FloatArray
from berlyne.engine.belief import Belief, find_slot, gained, has_moved, learn
from berlyne.engine.choose import Agent, adjust, arrive, choose
from berlyne.engine.compile import bare_kernel, inlined
from berlyne.engine.truth import Truth, draw, row_distance
from berlyne.trace import Trace


@inlined
def take_in(belief: Belief, agent: Agent, s: int, a: int, s_next: int) -> int:
    """Learn one transition; returns how often it had been seen before, IMPOSSIBLE or FULL."""
    before = find_slot(belief, s, a, s_next)
    if before >= 0:
        r = s * belief.graph.stride + a
        predicted = belief.utility[r]
        before = learn(belief, s, a, s_next, before)
        adjust(belief, agent, s, a, s_next, belief.utility[r] if belief.realised else predicted)  # reading R7
    return before


@bare_kernel
def explore(
    belief: Belief,
    agent: Agent,
    truth: Truth,
    trace: Trace,
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

        before = take_in(belief, agent, s, a, s_next)
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


@bare_kernel
def act(belief: Belief, agent: Agent, s: int, u: float, u_explore: float) -> tuple[int, int]:
    """The state to act in and the action to take, for a world that is not ours; s is -1 if it does not matter."""
    if s >= 0:
        arrive(agent.here, agent.visits, s)
    return choose(belief, agent, s, u, u_explore)


@bare_kernel
def observe(belief: Belief, agent: Agent, s: int, a: int, s_next: int) -> int:
    """Learn what such a world did; returns as `take_in` does."""
    arrive(agent.here, agent.visits, s)
    return take_in(belief, agent, s, a, s_next)
