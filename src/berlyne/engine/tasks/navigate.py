"""Navigation to twelve targets at a time: find the best policy of a model, and evaluate it in the true world.

Paper: Sec. 3.7; reading R18. Policy iteration minimises the expected number of steps, and evaluates each policy by
elimination (`berlyne.engine.tasks.eliminate`). The result is the set of best actions in every state, which does not
depend on the initial policy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.engine.simd import add, at_least, divide, minimum, multiply, multiply_add, splat
from berlyne.engine.successor_graph import round_up
from berlyne.engine.tasks.eliminate import Elimination, Ends, Equations, end_at, new_equations, solve
from berlyne.engine.tasks.lanes import LANES, ZEROS, Chain, ChainBatch, expected_values, forbid, line, set_line
from berlyne.engine.tasks.walk import Walk, capped_times, set_policy
from berlyne.strategies.choice import TIE_TOLERANCE
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray

MAX_POLICIES = 1000
"""Largest number of iterations; a few are enough."""


class Policies(NamedTuple):
    """Policies for all targets; block b contains the targets 12 b, ..., 12 b + 11.

    Attributes
    ----------
    actions : ndarray of int, shape (B, N * 12)
        One of the best actions of each state.
    probabilities : ndarray of shape (B, N * M * 12), or (0, 0) if unknown
        Probability of each action in each state; best actions share it.
    times : ndarray of shape (B, N * 12), (K, B, N * 12) for several models, or (0, 0) if unknown
        E[min(T, cap)], where T is the time to the target.
    """

    actions: IndexArray
    probabilities: FloatArray
    times: FloatArray


class Search(NamedTuple):
    """Scratch for policy iteration on one graph.

    Attributes
    ----------
    elimination : Elimination
        Operations that solve equations on the graph.
    ends : Ends
        Where walks end in the model.
    p : ndarray
        Transition probabilities of the current policy, `[entry, lane]`.
    equations : Equations
        Equations for the values of the policy; solving overwrites them.
    q : ndarray
        Expected steps of the actions of one state, minus one, `[a, lane]`.
    """

    elimination: Elimination
    ends: Ends
    p: FloatArray
    equations: Equations
    q: FloatArray


def new_search(elimination: Elimination, ends: Ends, n_actions: int) -> Search:
    """Allocate scratch for policy iteration on a graph."""
    p, q = np.empty(elimination.n_entries * LANES), np.empty(round_up(n_actions) * LANES)
    return Search(elimination, ends, p, new_equations(elimination), q)


@inline
def best_actions(
    model: Chain, search: Search, target: int, lowest: bool, actions: IndexArray, policy: FloatArray
) -> None:
    """Find the best policy for each of twelve targets by policy iteration.

    The target of lane l is state `target + l`; lanes beyond the last state are idle.

    Parameters
    ----------
    model : Chain
        The model.
    search : Search
        Scratch.
    target : int
        Target of the first lane.
    lowest : bool
        Whether the lowest of tied actions is taken; otherwise all with equal probability.
    actions : ndarray of int, `[s, lane]`
        The initial policy, of allowed actions; overwritten by the last one.
    policy : ndarray, `[s * M + a, lane]`
        The result: probability of action a in state s.
    """
    entry, p, q, values = search.elimination.entry, search.p, search.q, search.equations.values
    n_states, n_actions = len(model.graph.start), model.graph.n_actions
    n_active = min(LANES, search.ends.n_states - target)
    for i in range(len(p)):
        p[i] = 0.0
    for s in range(n_states):
        for lane in range(LANES):
            if s != target + lane:
                set_transitions(model, entry, s, lane, actions[s * LANES + lane], p)
    for i in range(MAX_POLICIES):
        set_equations(search, target)
        solve(search.elimination, search.equations)
        changed = False
        for s in range(n_states):
            expected_values(q, model, values, s)
            forbid(q, search.ends.allowed, s, n_actions, np.inf)
            for lane in range(n_active):
                a = improved_action(q, n_actions, lane, actions[s * LANES + lane])
                if a != actions[s * LANES + lane] and s != target + lane and i + 1 < MAX_POLICIES:
                    actions[s * LANES + lane] = a
                    set_transitions(model, entry, s, lane, a, p)
                    changed = True
            if not changed:  # if no action changes in any state, these are the final values
                share_among_tied(q, n_actions, lowest, s, policy)
        if not changed:
            break


@inline
def set_transitions(model: Chain, entry: IntArray, s: int, lane: int, a: int, p: FloatArray) -> None:
    """Write the transition probabilities of action a in state s into `p[entry, lane]`."""
    graph, weight = model.graph, model.weight
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        if entry[k] >= 0:
            p[entry[k] * LANES + lane] = weight[k * graph.stride + a]


@inline
def set_equations(search: Search, target: int) -> None:
    """Set the equations of the current policy: every step costs one, and the chain ends at the target."""
    for i in range(len(search.p)):
        search.equations.p[i] = search.p[i]
    end_at(search.equations, search.ends, target)


@inline
def improved_action(q: FloatArray, n_actions: int, lane: int, current: int) -> int:
    """Return the action with the fewest expected steps `q[a, lane]` (minus one), or the current one if it is tied."""
    best, fewest = current, q[current * LANES + lane] - TIE_TOLERANCE * (1.0 + q[current * LANES + lane])
    for a in range(n_actions):
        if q[a * LANES + lane] < fewest:
            best, fewest = a, q[a * LANES + lane]
    return best


@inline
def share_among_tied(q: FloatArray, n_actions: int, lowest: bool, s: int, policy: FloatArray) -> None:
    """Write the probability of each action of state s: equal for the actions with the fewest steps `q[a, lane]`.

    If `lowest`, only the first of these actions is taken. `q` is the expected number of steps minus one.
    """
    fewest, a = line(q, 0), 1
    while a < n_actions:
        fewest = minimum(fewest, line(q, a))
        a += 1
    bound = multiply_add(fewest, add(fewest, splat(1.0)), splat(TIE_TOLERANCE))
    n_tied, keep_first, a = splat(ZEROS), splat(-1.0 if lowest else 0.0), 0
    while a < n_actions:
        tied = multiply(at_least(bound, line(q, a)), multiply_add(splat(1.0), n_tied, keep_first))
        set_line(policy, s * n_actions + a, tied)
        n_tied = add(n_tied, tied)
        a += 1
    a = 0
    while a < n_actions:
        set_line(policy, s * n_actions + a, divide(line(policy, s * n_actions + a), n_tied))
        a += 1


@inline
def stop_unchanged(policy: FloatArray, initial: FloatArray, target: int, n_actions: int, active: BoolArray) -> None:
    """Deactivate the lanes whose policy equals the initial one in all states but the target."""
    for lane in range(LANES):
        changed = False
        for i in range(lane, len(initial), LANES):
            changed = changed or (policy[i] != initial[i] and i // (LANES * n_actions) != target + lane)
        active[lane] = active[lane] and changed


@kernel
def navigate(
    models: ChainBatch, search: Search, walk: Walk, initial: Policies, result: Policies, cap: int, lowest: bool
) -> None:
    """Compute the expected steps in the true world of the policies that are best for each model.

    Parameters
    ----------
    models : ChainBatch
        The models.
    search : Search
        Scratch for policy iteration.
    walk : Walk
        Scratch for evaluation in the true world.
    initial : Policies
        Initial policies of the iteration. If one is also the result, it is not evaluated again.
    result : Policies
        Output: the policies of the last model, and the times of all models.
    cap : int
        Largest number of steps that counts.
    lowest : bool
        Whether the lowest of tied actions is taken; otherwise all with equal probability.
    """
    graph, active = models.graph, walk.active
    for m in range(len(models.weights)):
        model = Chain(graph, models.weights[m])
        for b in range(len(initial.actions)):
            target, actions, policy, out = b * LANES, result.actions[b], result.probabilities[b], result.times[m, b]
            for i in range(len(actions)):
                actions[i] = initial.actions[b, i] if i < len(out) else 0
            best_actions(model, search, target, lowest, actions, policy)
            for lane in range(LANES):
                active[lane] = target + lane < search.ends.n_states
            if len(initial.probabilities):
                for i in range(len(out)):
                    out[i] = initial.times[b, i]
                stop_unchanged(policy, initial.probabilities[b], target, graph.n_actions, active)
            if active.any():
                set_policy(walk, policy, target)
                capped_times(walk, target, cap, out)
