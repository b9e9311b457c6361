"""The action-perception loop: choose, transition, learn, measure.

The four parts of `run` are marked by their names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.belief import (
    DIRICHLET,
    FIRST,
    IMPOSSIBLE,
    LN2,
    P_FIRST,
    PEIG,
    SEEN,
    SIZE,
    TOTAL,
    Belief,
    learn_dirichlet,
    learn_one_two_three,
    log1p_inverse,
    slot_for,
)
from berlyne.kernels.choose import (
    COUNTER,
    GREEDY,
    Q_LEARNING,
    RANDOM,
    RELOCATE,
    VALUE_ITERATION,
    Agent,
    arrive,
    best_of,
    best_row,
    expected_visits,
    update_tree,
)
from berlyne.kernels.compile import bare_kernel, inlined
from berlyne.kernels.plan import Plan, action_values, forget

SIMULATE, ACT, OBSERVE = 0, 1, 2


class Truth(NamedTuple):
    """The world, which only the loop may see.

    indptr, indices, data, cumulative : sparse rows `r = s * M + a`, as in `Rows`.
    aligned : [slot * stride + a], probabilities in the slots of the belief; empty if it has a share.
    l1 : [s * stride + a], L1 distance of each row from its estimate, kept up to date.
    """

    indptr: IntArray
    indices: IndexArray
    data: FloatArray
    cumulative: FloatArray
    aligned: FloatArray
    l1: FloatArray


@inlined
def draw(indptr: IntArray, cumulative: FloatArray, r: int, u: float) -> int:
    """Position in the sparse rows of the outcome of row r for `u` in [0, 1).

    The last outcome takes what rounding leaves between the row's sum and one.
    """
    low, high = indptr[r], indptr[r + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if u < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return int(low)


@bare_kernel
def row_l1_shared(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    stride: int,
    n_states: int,
    share: float,
    indices: IndexArray,
    data: FloatArray,
    begin: int,
    end: int,
    s: int,
    a: int,
) -> float:
    """L1 distance of one row whose unseen states share one estimate; its truth is at `begin:end`."""
    distance = (n_states - (end - begin)) * share
    for e in range(begin, end):
        distance += abs(data[e] - share)
    for k in range(start[s], start[s] + length[s]):
        extra = weight[k * stride + a]
        if extra != 0.0:
            low, high = begin, end  # first entry not below succ[k]
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < succ[k]:
                    low = middle + 1
                else:
                    high = middle
            theta = data[low] if low < end and indices[low] == succ[k] else 0.0
            distance += abs(theta - share - extra) - abs(theta - share)
    return distance


@inlined
def row_l1_aligned(
    start: IntArray, length: IndexArray, weight: FloatArray, aligned: FloatArray, stride: int, s: int, a: int
) -> float:
    """L1 distance of one row on an explicit support."""
    distance = 0.0
    for k in range(start[s], start[s] + length[s]):
        distance += abs(aligned[k * stride + a] - weight[k * stride + a])
    return distance


@bare_kernel
def row_missing_shared(
    tally: IndexArray, knowledge: FloatArray, r: int, a: int, share: float, first_is_target: bool
) -> float:
    """Missing information of one row of a 1-2-3 World, in bits: only unseen targets contribute."""
    n_targets = a + 1
    unseen = n_targets - tally[r, SEEN]
    missing = 0.0
    if first_is_target and tally[r, FIRST] == 0:
        unseen -= 1
        missing -= math.log2(n_targets * knowledge[a, tally[r, SEEN], 0, P_FIRST])
    if unseen > 0:
        missing -= unseen * math.log2(n_targets * share)
    return missing / n_targets


@bare_kernel
def run(
    belief: Belief,
    plan: Plan,
    agent: Agent,
    truth: Truth,
    mode: int,
    u_agent: FloatArray,
    u_world: FloatArray,
    states: IndexArray,
    actions: IndexArray,
    outcomes: IndexArray,
    missing: FloatArray,
    l1: FloatArray,
) -> int:
    """Go through the loop once per action, from `states[0]`; returns the steps made, or -1 - t if slots ran out.

    SIMULATE does all of it: `missing[0]` and `l1[0]` are given, entry t + 1 is measured after step t,
    `u_agent` is (T, 2). ACT only chooses, and OBSERVE only learns what `states`, `actions` and
    `outcomes` report, for a world that is not ours. It is one piece so that the three cannot differ,
    and so that arrays leave their tuples once.
    """
    start, length, succ, weight, share = belief.start, belief.length, belief.succ, belief.weight, belief.share
    n, tally, utility, tables, knowledge = belief.n, belief.tally, belief.utility, belief.tables, belief.knowledge
    family, which, stride, alpha = belief.family, belief.which, belief.stride, belief.alpha
    p_start, p_length, p_succ, p_weight, p_share = plan.start, plan.length, plan.succ, plan.weight, plan.share
    values, edge, todo, home, mark, order = plan.values, plan.edge, plan.todo, plan.home, plan.mark, plan.order
    ends, level, gamma = plan.ends, plan.level, plan.gamma
    visits, q, top, ties, scratch, place = agent.visits, agent.q, agent.top, agent.ties, agent.scratch, agent.place
    method, n_actions, depth = agent.method, agent.n_actions, plan.depth
    indptr, indices, data, cumulative = truth.indptr, truth.indices, truth.data, truth.cumulative
    aligned, row_l1 = truth.aligned, truth.l1
    e = 0
    for t in range(len(actions)):
        s = states[t]
        arrive(visits, place, s)

        if mode != OBSERVE:  # choose
            u = u_agent[t, 0]
            if method == RELOCATE:
                r = best_row(top, ties, u)
                s, a = r // stride, r % stride
                states[t] = s
            elif method == RANDOM or (method == Q_LEARNING and u_agent[t, 1] < agent.epsilon):
                a = int(u * n_actions)
            else:
                if method == VALUE_ITERATION:
                    action_values(
                        p_start, p_length, p_succ, p_weight, p_share, utility, values, edge, todo, home, mark, order,
                        ends, level, stride, depth, gamma, s, scratch,
                    )  # fmt: skip
                elif method == COUNTER:
                    expected_visits(start, length, succ, weight, share, visits, stride, s, scratch)
                else:
                    for b in range(n_actions):
                        if method == GREEDY:
                            scratch[b] = utility[s * stride + b]
                        elif method == Q_LEARNING:
                            scratch[b] = q[s * stride + b]
                        else:
                            scratch[b] = -float(tally[s * stride + b, TOTAL])
                a = best_of(scratch, u)
            actions[t] = a
            if mode == ACT:
                return 1

        a = actions[t]
        r, row = s * stride + a, s * n_actions + a
        if mode == SIMULATE:  # transition
            e = draw(indptr, cumulative, row, u_world[t])
            outcomes[t] = indices[e]
        s_next = outcomes[t]
        slot = slot_for(start, length, succ, share, n, tally, knowledge, family, belief.capacity, stride, s, a, s_next)
        if slot < 0:
            return t if slot == IMPOSSIBLE else -1 - t
        before, reward = n[slot * stride + a], utility[r]
        gain = 0.0
        if mode == SIMULATE:
            if family == DIRICHLET:
                kappa = alpha * tally[r, SIZE] + tally[r, TOTAL]
                gain = (data[e] * log1p_inverse(tables, alpha, before) - math.log1p(1.0 / kappa)) / LN2
            elif before == 0:
                gain = row_missing_shared(tally, knowledge, r, a, share[r], indices[indptr[row]] == 0)

        n[slot * stride + a] = before + 1  # learn
        tally[r, TOTAL] += 1
        if family == DIRICHLET:
            tally[r, SEEN] += before == 0
            learn_dirichlet(
                start, length, weight, share, n, tally, utility, tables,
                which, belief.n_states, stride, alpha, s, a, before,
            )  # fmt: skip
        elif before == 0:
            learn_one_two_three(
                start, length, succ, weight, share, n, tally, utility, knowledge, which, stride, s, a, s_next
            )
        elif which == PEIG:
            utility[r] = 0.0  # a repeated outcome taught nothing
        if method == VALUE_ITERATION and depth > 0:
            forget(utility, values, home, stride, depth, gamma, s)
        elif method == RELOCATE:
            update_tree(top, ties, r, utility[r])
        elif method == Q_LEARNING:
            if which == PEIG:
                reward = utility[r]  # realised, not predicted (reading R7)
            largest = -np.inf
            for b in range(n_actions):
                largest = max(largest, q[s_next * stride + b])
            q[r] += agent.learning_rate * (reward + agent.gamma * largest - q[r])
        place[0] = s_next
        visits[s_next] += 1
        visits[-1] += 1

        if mode == SIMULATE:  # measure
            states[t + 1] = s_next
            if family != DIRICHLET and before == 0:
                gain -= row_missing_shared(tally, knowledge, r, a, share[r], indices[indptr[row]] == 0)
            missing[t + 1] = missing[t] - gain
            distance = row_l1[r]
            if len(share) == 0:
                distance = row_l1_aligned(start, length, weight, aligned, stride, s, a)
            elif family == DIRICHLET or before == 0:
                distance = row_l1_shared(
                    start, length, succ, weight, stride, belief.n_states, share[r],
                    indices, data, indptr[row], indptr[row + 1], s, a,
                )  # fmt: skip
            l1[t + 1] = l1[t] + distance - row_l1[r]
            row_l1[r] = distance
    return len(actions)
