"""What the explorer knows of each row, and how one observation changes it.

Rows of a state lie side by side, `r = s * stride + a`, and so do their estimates in the slots of the graph. There
are two layouts:

- on an explicit support the slots of a state are the states it can reach, fixed from the start
  (n is -1 where an action excludes one), and `weight` is the estimate;
- where every state can follow, slots are added as outcomes are seen. `base_weight` is the estimate of
  each state in no slot and `weight` is what a state in a slot has beyond it.

One observation touches one row: O(slots of the state), independent of the number of states.

This is the only file of the engine that knows the families of priors: to compile another one, add its class to
`berlyne.priors.PRIORS` and a case to `find_or_add_slot`, `update_row`, `revalue`, `estimate_changed` and `realised_gain`. Formulas are
those of the prior itself.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.closed_forms import BY_MOST, term_of, value_of
from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.simd import aligned_copies, aligned_zeros
from berlyne.engine.successor_graph import Graph, slot_of, slot_positions
from berlyne.priors import PRIORS
from berlyne.priors.closed_forms import LN2, Sums
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.validation import FloatArray, IndexArray, IntArray

DIRICHLET, ONE_TWO_THREE, RESTAURANT = range(len(PRIORS))
"""Priors that kernels know, as `PRIORS` has them."""

TOTAL, SEEN, SIZE, FIRST = 0, 1, 2, 3
LOG, TERM = 0, 1
P_FIRST, P_OTHER, GAIN_FIRST, GAIN_OTHER, UTILITY = 0, 1, 2, 3, 4
IMPOSSIBLE, FULL = -1, -2


class Belief(NamedTuple):
    """Counts, estimates and utilities of all rows.

    weight : [slot * stride + a], estimates, less `base_weight` where there is one.
    rest : [s * stride + a], the estimate of every state in no slot; empty for an explicit support.
    n : [slot * stride + a], observations, -1 where impossible.
    tally : (rows, 4): observations K, distinct outcomes T, size of the support, whether state 0 was an outcome.
    utility : [s * stride + a], -inf in the padding.
    family : the kind of prior; realised : whether the utility is that of the last outcome.
    form, numbers, table : as in `berlyne.priors.protocols.Rule`.
    """

    graph: Graph
    weight: FloatArray
    base_weight: FloatArray
    n: IndexArray
    row_stats: IndexArray
    utility: FloatArray
    family: int
    form: int
    realised: bool
    numbers: FloatArray
    table: FloatArray


def is_compiled_prior(prior: Any) -> bool:
    """Whether kernels know this prior; one that inherits from theirs may differ in anything."""
    return type(prior) in PRIORS.values()


def build_belief(prior: CompiledPrior, rule: CompiledSpec, graph: Graph, utility: FloatArray, realised: bool) -> Belief:
    """What is believed before any data; `utility` as in `Belief`."""
    n_states, n_actions, stride = len(graph.start), graph.n_actions, graph.stride
    weight = aligned_zeros(len(graph.succ) * stride)
    row_stats = np.zeros((n_states, stride, 4), dtype=np.int32)
    row_stats[:, :n_actions, SIZE] = prior.support.sizes.reshape(n_states, n_actions)
    if graph.capacity == 0:
        inside, base_weight = slot_positions(graph, prior.support), np.empty(0)
        weight[inside] = np.repeat(rule.unseen, prior.support.sizes)
        n = np.full(len(weight), -1, dtype=np.int32)
        n[inside] = 0
    else:
        by_row = np.zeros((n_states, stride))
        by_row[:, :n_actions] = rule.unseen.reshape(n_states, n_actions)
        by_slot = weight.reshape(n_states, graph.capacity, stride)
        beyond = rule.special_estimates - rule.unseen[:, None]
        for i in range(len(rule.special_states)):
            by_slot[:, i, :n_actions] = beyond[:, i].reshape(n_states, n_actions)
        base_weight, n = by_row.ravel(), np.zeros(len(weight), dtype=np.int32)
    family = list(PRIORS).index(prior.describe().kind)
    numbers, table = rule.numbers.copy(), rule.table.copy()  # those of the rule may be shared, and read-only
    return Belief(
        graph, weight, base_weight, n, row_stats.reshape(-1, 4), utility, family, rule.form, realised, numbers, table
    )


def copy_belief(belief: Belief) -> Belief:
    """The same belief, to go ways of its own; what never changes is shared."""
    graph = belief.graph
    if graph.capacity:
        graph = graph._replace(length=graph.length.copy(), succ=graph.succ.copy())
    weight, base_weight, utility = aligned_copies(belief.weight, belief.base_weight, belief.utility)
    n, row_stats = belief.n.copy(), belief.row_stats.copy()
    return belief._replace(
        graph=graph, weight=weight, base_weight=base_weight, n=n, row_stats=row_stats, utility=utility
    )


def with_capacity(belief: Belief, capacity: int) -> Belief:
    """The same belief with more room for slots in every state; those in use keep their order."""
    graph, n_states = belief.graph, len(belief.graph.start)

    def wider(values: Any, width: int) -> Any:
        by_state = values.reshape(n_states, graph.capacity * width)
        grown = np.zeros((n_states, capacity * width), dtype=values.dtype)
        grown[:, : by_state.shape[1]] = by_state
        return grown.ravel()

    start = np.arange(n_states, dtype=np.int64) * capacity
    wide = graph._replace(start=start, succ=wider(graph.succ, 1), capacity=capacity)
    (weight,) = aligned_copies(wider(belief.weight, graph.stride))
    return belief._replace(graph=wide, weight=weight, n=wider(belief.n, graph.stride))


@jit_inline
def line_of(n_actions: int, a: int, n_seen: int, first: int) -> int:
    """The line of the table of 1-2-3 Worlds for a row of which so much is known."""
    return (a * (n_actions + 1) + n_seen) * 2 + first


@jit_inline
def find_or_add_slot(belief: Belief, s: int, a: int, s_next: int) -> int:
    """The slot in which to count an outcome, made if need be; IMPOSSIBLE or FULL if there is none."""
    graph = belief.graph
    slot = slot_of(graph, s, s_next)
    seen = 0 if slot < 0 else belief.n[slot * graph.stride + a]
    possible = seen > 0 or (seen == 0 and (slot >= 0 or graph.capacity > 0))
    if possible and seen == 0 and belief.family == ONE_TWO_THREE:
        r = s * graph.stride + a
        line = line_of(graph.n_actions, a, belief.row_stats[r, SEEN], belief.row_stats[r, FIRST])
        possible = belief.table[line, P_FIRST if s_next == 0 else P_OTHER] > 0.0
    if not possible:
        slot = IMPOSSIBLE
    elif slot < 0:
        if graph.length[s] == graph.capacity:
            slot = FULL
        else:
            slot = graph.start[s] + graph.length[s]
            graph.length[s] += 1
            graph.succ[slot] = s_next
    return slot


@jit_inline
def pseudo_counts(belief: Belief, total: int, n_seen: int, size: int) -> tuple[float, float, float]:
    """Of a row with so many observations and outcomes: all pseudo-counts together; that of each state it has not seen;
    and what is added to the observations of one that it has.
    """
    first: float = belief.numbers[0]
    if belief.family == RESTAURANT:
        second: float = belief.numbers[1]
        return first + total, (first + second * n_seen) / (size - n_seen), -second
    return first * size + total, first, first


@jit_inline
def update_dirichlet_row(belief: Belief, s: int, a: int, before: int) -> Sums:
    """Estimates c / kappa of row (a, s), and the sums that its utility follows from."""
    graph, n, row_stats, table = belief.graph, belief.n, belief.row_stats, belief.table
    r = s * graph.stride + a
    kappa, c_unseen, c_more = pseudo_counts(belief, row_stats[r, TOTAL], row_stats[r, SEEN], row_stats[r, SIZE])
    scale, base = 1.0 / kappa, 0.0
    if len(belief.base_weight):
        base = c_unseen
        belief.base_weight[r] = c_unseen / kappa
    unseen, by_most = row_stats[r, SIZE] - row_stats[r, SEEN], belief.form >= 0 and BY_MOST[belief.form]
    total, most, n_largest = 0.0, 0, unseen
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        i = k * graph.stride + a
        count = n[i]
        if count < 0:
            continue
        belief.weight[i] = ((c_more if count > 0 else c_unseen) - base + count) * scale
        if count == 0 or belief.form < 0:
            continue
        total += table[count, TERM] if count < len(table) else term_of(belief.form, c_more + count)
        if by_most and count >= most:
            n_largest = n_largest + 1 if count == most else 1
            most = count
    total += unseen * (term_of(belief.form, c_unseen) if belief.family == RESTAURANT else table[0, TERM])
    last, others = c_more + before, c_unseen * (row_stats[r, SIZE] - 1) + (row_stats[r, TOTAL] - 1 - before)
    if belief.family == RESTAURANT:
        c, d, seen = belief.numbers[0], belief.numbers[1], row_stats[r, SEEN] - 1
        others = c + d + (row_stats[r, TOTAL] - 1 - before)  # a sum: a small c would be lost in a difference
        if before == 0:
            _, last, _ = pseudo_counts(belief, row_stats[r, TOTAL] - 1, seen, row_stats[r, SIZE])
            others = (row_stats[r, TOTAL] - 1 - d * seen) + (row_stats[r, SIZE] - seen - 1) * last
    return Sums(kappa, total, c_more + most, n_largest, last, others, len(graph.start))


@jit_inline
def update_one_two_three_row(belief: Belief, s: int, a: int) -> int:
    """Estimates of row (a, s), all of them in the table; returns the line of what is known of it."""
    graph = belief.graph
    r = s * graph.stride + a
    line = line_of(belief.graph.n_actions, a, belief.row_stats[r, SEEN], belief.row_stats[r, FIRST])
    other, base = belief.table[line, P_OTHER], 0.0
    if len(belief.base_weight):
        belief.base_weight[r] = other
        base = other
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        i = k * graph.stride + a
        if belief.n[i] > 0:
            belief.weight[i] = 1.0 / (a + 1) - base
        elif graph.succ[k] == 0:
            belief.weight[i] = belief.table[line, P_FIRST] - base
        else:
            belief.weight[i] = other - base
    return line


@jit_inline
def update_row(belief: Belief, s: int, a: int) -> None:
    """Estimate row (a, s) from its counts, and value it unless its utility is that of the last outcome."""
    r, valued = s * belief.graph.stride + a, belief.form >= 0 and not belief.realised
    if belief.family != ONE_TWO_THREE:
        sums = update_dirichlet_row(belief, s, a, 0)
        if valued:
            belief.utility[r] = value_of(belief.form, sums)
    else:
        line = update_one_two_three_row(belief, s, a)
        if valued:
            belief.utility[r] = belief.table[line, UTILITY]


@jit_inline
def revalue(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, which had been seen `before` times until then."""
    r = s * belief.graph.stride + a
    if belief.family != ONE_TWO_THREE:
        sums = update_dirichlet_row(belief, s, a, before)
        if belief.form >= 0:
            belief.utility[r] = value_of(belief.form, sums)
    elif before == 0:
        line = update_one_two_three_row(belief, s, a)
        if belief.realised:
            was_first = 0 if s_next == 0 else belief.row_stats[r, FIRST]
            known = line_of(belief.graph.n_actions, a, belief.row_stats[r, SEEN] - 1, was_first)
            belief.utility[r] = belief.table[known, GAIN_FIRST if s_next == 0 else GAIN_OTHER]
        elif belief.form >= 0:
            belief.utility[r] = belief.table[line, UTILITY]
    elif belief.realised:
        belief.utility[r] = 0.0  # a repeated outcome taught nothing


@jit_inline
def count(belief: Belief, s: int, a: int, s_next: int, slot: int, n: int) -> None:
    """Count so many observations."""
    i, r = slot * belief.graph.stride + a, s * belief.graph.stride + a
    belief.row_stats[r, SEEN] += belief.n[i] == 0
    belief.n[i] += n
    belief.row_stats[r, TOTAL] += n
    if s_next == 0:
        belief.row_stats[r, FIRST] = 1


@jit_inline
def learn(belief: Belief, s: int, a: int, s_next: int, slot: int) -> int:
    """Count one observation, and estimate and value its row again; returns how often it had been seen before."""
    before: int = belief.n[slot * belief.graph.stride + a]
    count(belief, s, a, s_next, slot, 1)
    revalue(belief, s, a, s_next, before)
    return before


@jit_nrt_off
def restore(belief: Belief, counts: IntArray, last: IntArray) -> bool:
    """Teach a belief of nothing yet what was observed; whether that is possible, and there is room for it.

    counts : (K, 3), row r = s M + a, s_next and n; in the order in which the outcomes of a state were first seen.
    last : (rows, 2), row and the last outcome of every row that was tried.
    """
    n_actions, stride = belief.graph.n_actions, belief.graph.stride
    for e in range(len(counts)):
        s, a = counts[e, 0] // n_actions, counts[e, 0] % n_actions
        slot = find_or_add_slot(belief, s, a, counts[e, 1])
        if slot < 0 or belief.n[slot * stride + a] != 0:
            return False
        count(belief, s, a, counts[e, 1], slot, counts[e, 2])
    for e in range(len(last)):
        s, a = last[e, 0] // n_actions, last[e, 0] % n_actions
        slot = slot_of(belief.graph, s, last[e, 1])
        if slot < 0 or belief.n[slot * stride + a] <= 0:
            return False
        if belief.family == ONE_TWO_THREE:
            update_row(belief, s, a)
        revalue(belief, s, a, last[e, 1], belief.n[slot * stride + a] - 1)
    return True


@jit_inline
def estimate_changed(family: int, before: int) -> bool:
    """Whether an outcome seen so often before has changed the estimate of its row."""
    return family != ONE_TWO_THREE or before == 0


@jit_nrt_off
def missing_one_two_three(table: FloatArray, line: int, n_targets: int, n_seen: int, first_unseen: bool) -> float:
    """Missing information of one row of a 1-2-3 World, in bits: only unseen targets contribute."""
    unseen, missing = n_targets - n_seen, 0.0
    if first_unseen:
        unseen -= 1
        missing -= math.log2(n_targets * table[line, P_FIRST])
    if unseen > 0:
        missing -= unseen * math.log2(n_targets * table[line, P_OTHER])
    return missing / n_targets


@jit_inline
def realised_gain(belief: Belief, s: int, a: int, s_next: int, before: int, theta: float, has_first: bool) -> float:
    """Information gained by the observation just learned, in bits (Eq. 10).

    theta : the true probability of `s_next`; has_first : whether state 0 is among the true outcomes of the row.
    """
    r, table, gain = s * belief.graph.stride + a, belief.table, 0.0
    if belief.family == DIRICHLET:
        alpha = belief.numbers[0]
        kappa = alpha * belief.row_stats[r, SIZE] + (belief.row_stats[r, TOTAL] - 1)
        log = table[before, LOG] if before < len(table) else math.log1p(1.0 / (alpha + before))
        gain = (theta * log - math.log1p(1.0 / kappa)) / LN2
    elif belief.family != ONE_TWO_THREE:
        gain = math.nan  # worked out elsewhere, where states are discovered
    elif before == 0:
        n_seen, first = int(belief.row_stats[r, SEEN]), belief.row_stats[r, FIRST]
        was_first = 0 if s_next == 0 else first
        then, now = (
            line_of(belief.graph.n_actions, a, n_seen - 1, was_first),
            line_of(belief.graph.n_actions, a, n_seen, first),
        )
        gain = missing_one_two_three(table, then, a + 1, n_seen - 1, has_first and was_first == 0)
        gain -= missing_one_two_three(table, now, a + 1, n_seen, has_first and first == 0)
    return gain
