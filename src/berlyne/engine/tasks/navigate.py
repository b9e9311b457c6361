"""Navigation to twelve targets at a time: the best policy of a model, and how it fares in the world.

Paper: Sec. 3.7; reading R18. Policy iteration on the expected number of steps, each policy
evaluated by elimination (`berlyne.engine.tasks.eliminate`). The answer is the set of best actions of
every state, which does not depend on the policy that one starts from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import jit_inline, jit_llvm_inline, jit_nrt_off
from berlyne.engine.simd import add, at_least, divide, minimum, multiply, multiply_add, splat
from berlyne.engine.successor_graph import Graph
from berlyne.engine.tasks.eliminate import Elimination, Equations, end_at, new_equations, solve
from berlyne.engine.tasks.lanes import LANES, ZEROS, Chain, expected_values, line, set_line
from berlyne.engine.tasks.walk import Walk, follow, times
from berlyne.strategies.choice import TIE_TOLERANCE
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray

MAX_POLICIES = 1000
"""Policies tried at most; a few are enough."""


class Policies(NamedTuple):
    """Policies for all targets; block b holds the targets 12 b, ..., 12 b + 11.

    actions : (B, N 12), one of the best actions of each state.
    taken : (B, N M 12), how often each action is taken where several are best; or (0, 0) if nobody knows.
    times : (B, N 12), or (K, B, N 12) for several models, E[min(T, cap)] of the time T to the target; or (0, 0).
    """

    actions: IndexArray
    taken: FloatArray
    times: FloatArray


class Search(NamedTuple):
    """How policies are found on one graph: scratch for policy iteration.

    p : [entry, lane], transitions of the present policy; equations : those of its values, used up when they are solved.
    q : [a, lane], expected steps of the actions of one state, less one.
    """

    elimination: Elimination
    p: FloatArray
    equations: Equations
    q: FloatArray


def new_search(elimination: Elimination, n_actions: int) -> Search:
    """Room to find policies on a graph."""
    p, q = np.empty(elimination.n_entries * LANES), np.empty(n_actions * LANES)
    return Search(elimination, p, new_equations(elimination), q)


@jit_nrt_off
def best_actions(
    model: Chain, search: Search, target: int, lowest: bool, actions: IndexArray, taken: FloatArray
) -> None:
    """Into `taken[s * M + a, lane]`: how often action a is taken in s by the best policy for a target.

    Lane l heads for state `target + l`; lanes beyond the last state are idle. `actions[s, lane]` is where policy
    iteration starts and ends. Tied actions are taken equally often, or only the `lowest` is.
    """
    entry, p, q, values = search.elimination.entry, search.p, search.q, search.equations.values
    n_states, n_actions = len(model.graph.start), model.graph.n_actions
    n_going = min(LANES, n_states - target)
    for i in range(len(p)):
        p[i] = 0.0
    for s in range(n_states):
        for lane in range(LANES):
            if s != target + lane:
                enter(model, entry, s, lane, actions[s * LANES + lane], p)
    for i in range(MAX_POLICIES):
        set_up(search, target, n_going)
        solve(search.elimination, search.equations)
        changed = False
        for s in range(n_states):
            expected_values(q, model, values, s)
            for lane in range(n_going):
                a = better(q, n_actions, lane, actions[s * LANES + lane])
                if a != actions[s * LANES + lane] and s != target + lane and i + 1 < MAX_POLICIES:
                    actions[s * LANES + lane] = a
                    enter(model, entry, s, lane, a, p)
                    changed = True
            if not changed:  # of use only if no state changes: then these are the final values
                share_among_tied(q, n_actions, lowest, s, taken)
        if not changed:
            break


@jit_inline
def enter(model: Chain, entry: IntArray, s: int, lane: int, a: int, p: FloatArray) -> None:
    """Enter into `p[entry, lane]` the transitions of action a in state s."""
    graph, weight = model.graph, model.weight
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        if entry[k] >= 0:
            p[entry[k] * LANES + lane] = weight[k * graph.stride + a]


@jit_inline
def set_up(search: Search, target: int, n_going: int) -> None:
    """The equations of the present policy: every step costs one, and the chain ends at the target."""
    for i in range(len(search.p)):
        search.equations.p[i] = search.p[i]
    end_at(search.equations, target, n_going)


@jit_inline
def better(q: FloatArray, n_actions: int, lane: int, now: int) -> int:
    """The action of least expected steps `q[a, lane]` (less one), or the present one if that is as good."""
    best, least = now, q[now * LANES + lane] - TIE_TOLERANCE * (1.0 + q[now * LANES + lane])
    for a in range(n_actions):
        if q[a * LANES + lane] < least:
            best, least = a, q[a * LANES + lane]
    return best


@jit_llvm_inline
def share_among_tied(q: FloatArray, n_actions: int, lowest: bool, s: int, taken: FloatArray) -> None:
    """How often to take each action of state s: equally often where `q[a, lane]`, steps less one, is least."""
    least, a = line(q, 0), 1
    while a < n_actions:
        least = minimum(least, line(q, a))
        a += 1
    bound = multiply_add(least, add(least, splat(1.0)), splat(TIE_TOLERANCE))
    n_tied, after_one, a = splat(ZEROS), splat(-1.0 if lowest else 0.0), 0
    while a < n_actions:
        tied = multiply(at_least(bound, line(q, a)), multiply_add(splat(1.0), n_tied, after_one))
        set_line(taken, s * n_actions + a, tied)
        n_tied = add(n_tied, tied)
        a += 1
    a = 0
    while a < n_actions:
        set_line(taken, s * n_actions + a, divide(line(taken, s * n_actions + a), n_tied))
        a += 1


@jit_nrt_off
def mark_new(taken: FloatArray, known: FloatArray, target: int, n_actions: int, going: BoolArray) -> None:
    """Let go only the lanes whose policy differs from the known one before it arrives."""
    for lane in range(LANES):
        new = False
        for i in range(lane, len(taken), LANES):
            new = new or (taken[i] != known[i] and i // (LANES * n_actions) != target + lane)
        going[lane] = going[lane] and new


@jit_nrt_off
def navigate(
    graph: Graph,
    weights: FloatArray,
    search: Search,
    walk: Walk,
    known: Policies,
    found: Policies,
    cap: int,
    lowest: bool,
) -> None:
    """Steps in the true world of the policies that are best for each model, twelve targets after twelve.

    graph, weights : of the models, weights (K, slots stride).
    known : from these policies iteration starts, and if they are the answer they need not be evaluated again.
    found : the policies of the last model, and the times of all, are written here.
    """
    going = walk.going
    for m in range(len(weights)):
        model = Chain(graph, weights[m])
        for b in range(len(known.actions)):
            target, actions, taken, out = b * LANES, found.actions[b], found.taken[b], found.times[m, b]
            for i in range(len(actions)):
                actions[i] = known.actions[b, i]
            best_actions(model, search, target, lowest, actions, taken)
            for lane in range(LANES):
                going[lane] = target + lane < len(graph.start)
            if len(known.taken):
                for i in range(len(out)):
                    out[i] = known.times[b, i]
                mark_new(taken, known.taken[b], target, graph.n_actions, going)
            if going.any():
                follow(walk, taken, target)
                times(walk, target, cap, out)
