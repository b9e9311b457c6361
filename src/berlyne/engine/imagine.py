"""The loop imagined: the world answers as the belief predicts (`berlyne.foresight`)."""

from __future__ import annotations

from berlyne.arrays import BoolArray, FloatArray, IndexArray
from berlyne.engine.belief import Belief
from berlyne.engine.choose import Agent, arrive, choose
from berlyne.engine.compile import bare_kernel
from berlyne.engine.loop import take_in


@bare_kernel
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


@bare_kernel
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
        if take_in(belief, agent, s, a, s_next) < 0:
            return t
        path[t + 1] = begin if ends[s_next] else s_next
    return len(u_world)
