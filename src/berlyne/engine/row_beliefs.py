"""The belief about each row, and its update by one observation.

The rows of a state lie side by side, `r = s * stride + a`, and so do their estimates in the slots of the graph. There
are two layouts:

- On an explicit support, the slots of a state are the states that it can reach, fixed from the start. `weight` is the
  estimate, and n is -1 if an action cannot lead to the state of a slot.
- On a full support, slots are added as outcomes are seen. `base_weight` is the estimate of each state without a slot,
  and `weight` is the excess over it of a state with a slot.

One observation updates one row in O(slots of the state), independent of the number of states.

No other file of the engine depends on the families of priors. To compile another prior, add its class to
`berlyne.priors.PRIORS` and a case to `find_or_add_slot`, `update_row`, `revalue`, `estimate_changed` and
`realised_gain`. The formulas are those of the prior itself.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.closed_forms import USES_LARGEST, term_of, value_of
from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.engine.simd import aligned_copies, aligned_zeros
from berlyne.engine.successor_graph import Graph, slot_of, slot_positions
from berlyne.priors import PRIORS
from berlyne.priors.closed_forms import LN2, Sums
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.validation import FloatArray, IndexArray, IntArray

DIRICHLET, ONE_TWO_THREE, RESTAURANT = range(len(PRIORS))
"""Families of priors that have kernels, in the order of `PRIORS`."""

TOTAL, SEEN, SIZE, FIRST = 0, 1, 2, 3
"""Columns of `Belief.row_stats`."""
LOG, TERM = 0, 1
"""Columns of `Belief.table` for a Dirichlet or Chinese restaurant prior."""
P_FIRST, P_OTHER, GAIN_FIRST, GAIN_OTHER, UTILITY = 0, 1, 2, 3, 4
"""Columns of `Belief.table` for 1-2-3 Worlds."""
IMPOSSIBLE, FULL = -1, -2
"""Results instead of a slot: the outcome has probability zero under the prior, or the state has no free slot."""


class Belief(NamedTuple):
    """Counts, estimates and utilities of all rows.

    Attributes
    ----------
    graph : Graph
        Slots of each state.
    weight : ndarray
        Estimates, `[slot * stride + a]`; minus `base_weight`, unless that is empty.
    base_weight : ndarray
        Estimate of every state without a slot, `[s * stride + a]`; empty for an explicit support.
    n : ndarray of int
        Number of observations, `[slot * stride + a]`; -1 if the transition is impossible.
    row_stats : ndarray of int, shape (rows, 4)
        Observations K, distinct outcomes T, size of the support, and 1 if state 0 was an outcome.
    utility : ndarray
        Utilities, `[s * stride + a]`; -inf in the padding.
    family : int
        Code of the kind of prior.
    realised : bool
        Whether the utility of a row is that of its last outcome.
    form, numbers, table : int and ndarray
        As in `berlyne.priors.protocols.CompiledSpec`.
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
    """Return whether kernels exist for this prior. They do not for a subclass, which may override anything."""
    return type(prior) in PRIORS.values()


def build_belief(prior: CompiledPrior, spec: CompiledSpec, graph: Graph, utility: FloatArray, realised: bool) -> Belief:
    """Build a belief without observations; `utility` and `realised` are as in `Belief`."""
    n_states, n_actions, stride = len(graph.start), graph.n_actions, graph.stride
    weight = aligned_zeros(len(graph.succ) * stride)
    row_stats = np.zeros((n_states, stride, 4), dtype=np.int32)
    row_stats[:, :n_actions, SIZE] = prior.support.sizes.reshape(n_states, n_actions)
    if graph.capacity == 0:
        inside, base_weight = slot_positions(graph, prior.support), np.empty(0)
        weight[inside] = np.repeat(spec.unseen, prior.support.sizes)
        n = np.full(len(weight), -1, dtype=np.int32)
        n[inside] = 0
    else:
        by_row = np.zeros((n_states, stride))
        by_row[:, :n_actions] = spec.unseen.reshape(n_states, n_actions)
        by_slot = weight.reshape(n_states, graph.capacity, stride)
        excess = spec.special_estimates - spec.unseen[:, None]
        for i in range(len(spec.special_states)):
            by_slot[:, i, :n_actions] = excess[:, i].reshape(n_states, n_actions)
        base_weight, n = by_row.ravel(), np.zeros(len(weight), dtype=np.int32)
    family = list(PRIORS).index(prior.describe().kind)
    numbers, table = spec.numbers.copy(), spec.table.copy()  # those of the spec may be shared and read-only
    return Belief(
        graph, weight, base_weight, n, row_stats.reshape(-1, 4), utility, family, spec.form, realised, numbers, table
    )


def copy_belief(belief: Belief) -> Belief:
    """Return a copy; arrays that never change are shared."""
    graph = belief.graph
    if graph.capacity:
        graph = graph._replace(length=graph.length.copy(), succ=graph.succ.copy())
    weight, base_weight, utility = aligned_copies(belief.weight, belief.base_weight, belief.utility)
    n, row_stats = belief.n.copy(), belief.row_stats.copy()
    return belief._replace(
        graph=graph, weight=weight, base_weight=base_weight, n=n, row_stats=row_stats, utility=utility
    )


def with_capacity(belief: Belief, capacity: int) -> Belief:
    """Return the belief with `capacity` slots per state; slots in use keep their order."""
    graph, n_states = belief.graph, len(belief.graph.start)

    def widen(values: Any, width: int) -> Any:
        by_state = values.reshape(n_states, graph.capacity * width)
        wide_values = np.zeros((n_states, capacity * width), dtype=values.dtype)
        wide_values[:, : by_state.shape[1]] = by_state
        return wide_values.ravel()

    start = np.arange(n_states, dtype=np.int64) * capacity
    wide_graph = graph._replace(start=start, succ=widen(graph.succ, 1), capacity=capacity)
    (weight,) = aligned_copies(widen(belief.weight, graph.stride))
    return belief._replace(graph=wide_graph, weight=weight, n=widen(belief.n, graph.stride))


@jit_inline
def table_line(n_actions: int, a: int, n_seen: int, first: int) -> int:
    """Line of the table of 1-2-3 Worlds for a row with `n_seen` distinct outcomes; `first` is 1 if state 0 is one."""
    return (a * (n_actions + 1) + n_seen) * 2 + first


@jit_inline
def find_or_add_slot(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Return the slot of an outcome, which is added if it is missing; IMPOSSIBLE or FULL if there is none."""
    graph = belief.graph
    slot = slot_of(graph, s, s_next)
    seen = 0 if slot < 0 else belief.n[slot * graph.stride + a]
    possible = seen > 0 or (seen == 0 and (slot >= 0 or graph.capacity > 0))
    if possible and seen == 0 and belief.family == ONE_TWO_THREE:
        r = s * graph.stride + a
        line = table_line(graph.n_actions, a, belief.row_stats[r, SEEN], belief.row_stats[r, FIRST])
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
    """Compute the pseudo-counts of a row with `total` observations and `n_seen` of `size` possible outcomes seen.

    Returns
    -------
    kappa : float
        Sum of all pseudo-counts.
    c_unseen : float
        Pseudo-count of each outcome that was not seen.
    c_extra : float
        Number to add to the observations of an outcome that was seen.
    """
    first: float = belief.numbers[0]
    if belief.family == RESTAURANT:
        second: float = belief.numbers[1]
        return first + total, (first + second * n_seen) / (size - n_seen), -second
    return first * size + total, first, first


@jit_inline
def update_dirichlet_row(belief: Belief, s: int, a: int, before: int) -> Sums:
    """Update the estimates c / kappa of row (a, s), and return the sums that determine its utility.

    `before` is how often the last outcome had been seen before it occurred.
    """
    graph, n, row_stats, table = belief.graph, belief.n, belief.row_stats, belief.table
    r = s * graph.stride + a
    kappa, c_unseen, c_extra = pseudo_counts(belief, row_stats[r, TOTAL], row_stats[r, SEEN], row_stats[r, SIZE])
    scale, base = 1.0 / kappa, 0.0
    if len(belief.base_weight):
        base = c_unseen
        belief.base_weight[r] = c_unseen / kappa
    unseen, uses_largest = row_stats[r, SIZE] - row_stats[r, SEEN], belief.form >= 0 and USES_LARGEST[belief.form]
    total, largest, n_largest = 0.0, 0, unseen
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        i = k * graph.stride + a
        count = n[i]
        if count < 0:
            continue
        belief.weight[i] = ((c_extra if count > 0 else c_unseen) - base + count) * scale
        if count == 0 or belief.form < 0:
            continue
        total += table[count, TERM] if count < len(table) else term_of(belief.form, c_extra + count)
        if uses_largest and count >= largest:
            n_largest = n_largest + 1 if count == largest else 1
            largest = count
    total += unseen * (term_of(belief.form, c_unseen) if belief.family == RESTAURANT else table[0, TERM])
    last, others = c_extra + before, c_unseen * (row_stats[r, SIZE] - 1) + (row_stats[r, TOTAL] - 1 - before)
    if belief.family == RESTAURANT:
        c, d, seen = belief.numbers[0], belief.numbers[1], row_stats[r, SEEN] - 1
        others = c + d + (row_stats[r, TOTAL] - 1 - before)  # a sum: a difference would lose a small c
        if before == 0:
            _, last, _ = pseudo_counts(belief, row_stats[r, TOTAL] - 1, seen, row_stats[r, SIZE])
            others = (row_stats[r, TOTAL] - 1 - d * seen) + (row_stats[r, SIZE] - seen - 1) * last
    return Sums(kappa, total, c_extra + largest, n_largest, last, others, len(graph.start))


@jit_inline
def update_one_two_three_row(belief: Belief, s: int, a: int) -> int:
    """Update the estimates of row (a, s) from the table; return the line of the table for this row."""
    graph = belief.graph
    r = s * graph.stride + a
    line = table_line(belief.graph.n_actions, a, belief.row_stats[r, SEEN], belief.row_stats[r, FIRST])
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
    """Estimate row (a, s) from its counts, and compute its utility unless that is realised by the last outcome."""
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
    """Estimate and value row (a, s) after its last outcome, which had been seen `before` times before."""
    r = s * belief.graph.stride + a
    if belief.family != ONE_TWO_THREE:
        sums = update_dirichlet_row(belief, s, a, before)
        if belief.form >= 0:
            belief.utility[r] = value_of(belief.form, sums)
    elif before == 0:
        line = update_one_two_three_row(belief, s, a)
        if belief.realised:
            was_first = 0 if s_next == 0 else belief.row_stats[r, FIRST]
            line_before = table_line(belief.graph.n_actions, a, belief.row_stats[r, SEEN] - 1, was_first)
            belief.utility[r] = belief.table[line_before, GAIN_FIRST if s_next == 0 else GAIN_OTHER]
        elif belief.form >= 0:
            belief.utility[r] = belief.table[line, UTILITY]
    elif belief.realised:
        belief.utility[r] = 0.0  # a repeated outcome taught nothing


@jit_inline
def count(belief: Belief, s: int, a: int, s_next: int, slot: int, n: int) -> None:
    """Add `n` observations of a transition to the counts."""
    i, r = slot * belief.graph.stride + a, s * belief.graph.stride + a
    belief.row_stats[r, SEEN] += belief.n[i] == 0
    belief.n[i] += n
    belief.row_stats[r, TOTAL] += n
    if s_next == 0:
        belief.row_stats[r, FIRST] = 1


@jit_inline
def learn(belief: Belief, s: int, a: int, s_next: int, slot: int) -> int:
    """Count one observation, and estimate and value its row; return how often the outcome was seen before."""
    before: int = belief.n[slot * belief.graph.stride + a]
    count(belief, s, a, s_next, slot, 1)
    revalue(belief, s, a, s_next, before)
    return before


@jit_nrt_off
def restore(belief: Belief, counts: IntArray, last: IntArray) -> bool:
    """Load counts into a belief without observations.

    Parameters
    ----------
    belief : Belief
        The belief to fill.
    counts : ndarray of int, shape (K, 3)
        Row `r = s * M + a`, s_next and n, in the order in which the outcomes of a state were first seen.
    last : ndarray of int, shape (rows, 2)
        Row and last outcome of every row that was tried.

    Returns
    -------
    bool
        False if the counts are impossible under the prior or inconsistent, or if the slots are too few.
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
    """Return whether an outcome that was seen `before` times before has changed the estimate of its row."""
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
    """Information gain of the observation just learned, in bits (Eq. 10).

    Parameters
    ----------
    belief : Belief
        The belief after the observation.
    s, a, s_next : int
        The transition.
    before : int
        How often it was seen before.
    theta : float
        True probability of `s_next`.
    has_first : bool
        Whether state 0 is among the true outcomes of the row.
    """
    r, table, gain = s * belief.graph.stride + a, belief.table, 0.0
    if belief.family == DIRICHLET:
        alpha = belief.numbers[0]
        kappa = alpha * belief.row_stats[r, SIZE] + (belief.row_stats[r, TOTAL] - 1)
        log = table[before, LOG] if before < len(table) else math.log1p(1.0 / (alpha + before))
        gain = (theta * log - math.log1p(1.0 / kappa)) / LN2
    elif belief.family != ONE_TWO_THREE:
        gain = math.nan  # `OpenStateAgent` computes it
    elif before == 0:
        n_seen, first = int(belief.row_stats[r, SEEN]), belief.row_stats[r, FIRST]
        was_first = 0 if s_next == 0 else first
        line_before, line_after = (
            table_line(belief.graph.n_actions, a, n_seen - 1, was_first),
            table_line(belief.graph.n_actions, a, n_seen, first),
        )
        gain = missing_one_two_three(table, line_before, a + 1, n_seen - 1, has_first and was_first == 0)
        gain -= missing_one_two_three(table, line_after, a + 1, n_seen, has_first and first == 0)
    return gain
