"""The belief about each row, and how one observation changes it.

Rows of a state lie side by side, `r = s * stride + a`, and so do their estimates in the slots of the graph. There are
two layouts:

- On an explicit support the slots of a state are the states it can reach, fixed from the start (n is -1 if an action
  excludes one), and `weight` is the estimate.
- If every state can follow, slots are added as outcomes are seen. `base_weight` is the estimate of each state without
  a slot, and `weight` is what a state with a slot has beyond it.

One observation touches one row: O(slots of the state), independent of the number of states.

Priors come in families, which share their functions (`Family`). This is the only file of the engine that knows them. To
compile another prior, add a file with its class to `berlyne.priors`, its functions here, and a line to `FAMILIES`.
Formulas are those of the prior itself.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.closed_forms import NO_FORM, compiled_form
from berlyne.engine.jit import callback, inline
from berlyne.engine.successor_graph import Graph, slot_of, slot_positions
from berlyne.frozen import read_only
from berlyne.priors import PRIORS
from berlyne.priors.closed_forms import LN2, Sums, lead
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.priors.shared_restaurant import SharedCells, SharedRestaurant
from berlyne.validation import FloatArray, IndexArray, IntArray

TOTAL, SEEN, SIZE, FIRST = 0, 1, 2, 3
LOG, TERM, ALPHA = 0, 1, 0
COMPILED = {*PRIORS.values(), SharedCells} - {SharedRestaurant}
"""Priors that kernels know; a `SharedRestaurant` becomes `SharedCells` for the states that were discovered."""
P_FIRST, P_OTHER, GAIN_FIRST, GAIN_OTHER, UTILITY = 0, 1, 2, 3, 4
IMPOSSIBLE, FULL = -1, -2


class Belief(NamedTuple):
    """Counts, estimates and utilities of all rows.

    Attributes
    ----------
    n_states : ndarray of shape (1,)
        Number of states. There may be room for more, see `berlyne.engine.discovery`.
    graph : Graph
        The slots of every state.
    weight : ndarray
        `[slot * stride + a]`, estimates, less `base_weight` if there is one.
    base_weight : ndarray
        `[s * stride + a]`, the estimate of every state without a slot; empty for an explicit support.
    n : ndarray
        `[slot * stride + a]`, observations, -1 for an impossible transition.
    row_stats : ndarray of shape (rows, 4)
        Observations K, distinct outcomes T, size of the support, and whether state 0 was an outcome.
    last : ndarray of int
        `[s * stride + a]`, last outcome of each row that was tried; empty unless states are discovered.
    utility : ndarray
        `[s * stride + a]`, -inf in the padding and in rows of states that do not exist yet.
    tried : ndarray of int, shape (rows + 1,)
        Rows with observations, in the order of the first one; the last entry is their number. Empty unless the prior is
        refitted and every state can follow. Then all other rows are alike.
    renewed, untried : ndarray of shape (N + 1,) and (1,)
        How often the prior had been refitted when the utilities of each state were set, and how often it was until now;
        the utility of a row without observations. Both are empty if all utilities are always up to date; see
        `renew_utilities`.
    numbers, table : ndarray
        As in `berlyne.priors.protocols.CompiledSpec`. A table with a line for each transition is `[slot * stride + a]`.
    has_utility : bool
        Whether rows have a utility.
    realised : bool
        Whether the utility is that of the last outcome.
    uses_largest, term, value : bool, CompiledFunction, CompiledFunction
        The closed form of the utility, see `berlyne.engine.closed_forms.CompiledForm`.
    """

    n_states: IntArray
    graph: Graph
    weight: FloatArray
    base_weight: FloatArray
    n: IndexArray
    row_stats: IndexArray
    last: IndexArray
    utility: FloatArray
    tried: IndexArray
    renewed: IndexArray
    untried: FloatArray
    numbers: FloatArray
    table: FloatArray
    has_utility: bool
    realised: bool
    uses_largest: bool
    term: Any
    value: Any


def is_compiled_prior(prior: Any) -> bool:
    """Whether kernels know this prior; a subclass may differ in anything, so kernels do not know it."""
    return type(prior) in COMPILED


def build_belief(
    prior: CompiledPrior, spec: CompiledSpec, graph: Graph, utility: FloatArray, name: str | None, realised: bool
) -> Belief:
    """Return the belief before any data; `utility` as in `Belief`, `name` is the name of the utility."""
    n_states, n_actions, stride = len(graph.start), graph.n_actions, graph.stride
    weight = np.zeros(len(graph.succ) * stride)
    row_stats = np.zeros((n_states, stride, 4), dtype=np.int32)
    row_stats[:, :n_actions, SIZE] = prior.support.sizes.reshape(n_states, n_actions)
    table = spec.table
    if graph.capacity == 0:
        inside, base_weight = slot_positions(graph, prior.support), np.empty(0)
        weight[inside] = spec.unseen if spec.per_transition else np.repeat(spec.unseen, prior.support.sizes)
        n = np.full(len(weight), -1, dtype=np.int32)
        n[inside] = 0
        if spec.per_transition:
            table = np.zeros((len(weight), table.shape[1]))
            table[inside] = spec.table
    else:
        by_row = np.zeros((n_states, stride))
        by_row[:, :n_actions] = spec.unseen.reshape(n_states, n_actions)
        by_slot = weight.reshape(n_states, graph.capacity, stride)
        beyond = spec.special_estimates - spec.unseen[:, None]
        for i in range(len(spec.special_states)):
            by_slot[:, i, :n_actions] = beyond[:, i].reshape(n_states, n_actions)
        base_weight, n = by_row.ravel(), np.zeros(len(weight), dtype=np.int32)
    family = family_of(prior)
    form = compiled_form(name) if name is not None and family.has_closed_forms else NO_FORM
    numbers = np.ascontiguousarray(spec.numbers)
    return Belief(
        np.array([n_states]),
        graph,
        weight,
        base_weight,
        n,
        row_stats.reshape(-1, 4),
        np.zeros(n_states * stride if family.grows else 0, dtype=np.int32),
        utility,
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.int32),
        np.empty(0),
        numbers if family.grows else read_only(numbers),
        read_only(np.ascontiguousarray(table)),
        name is not None,
        realised,
        *form,
    )


def with_capacity(belief: Belief, capacity: int) -> Belief:
    """Return the belief with more room for slots in every state; slots in use keep their order."""
    graph, n_states = belief.graph, len(belief.graph.start)

    def wider(values: Any, width: int) -> Any:
        by_state = values.reshape(n_states, graph.capacity * width)
        wide = np.zeros((n_states, capacity * width), dtype=values.dtype)
        wide[:, : by_state.shape[1]] = by_state
        return wide.ravel()

    start = np.arange(n_states, dtype=np.int64) * capacity
    wide_graph = graph._replace(start=start, succ=wider(graph.succ, 1), capacity=capacity)
    weight, n = wider(belief.weight, graph.stride), wider(belief.n, graph.stride)
    return belief._replace(graph=wide_graph, weight=weight, n=n)


@inline
def renew_utilities(belief: Belief, s: int) -> None:
    """Set the utilities of state s to those under the current prior, if it was refitted since the last time.

    Rows with observations are up to date. All others have the same utility, which is copied when it is needed, so that
    a refit does not have to visit all states.
    """
    renewed = belief.renewed
    if len(renewed) and renewed[s] != renewed[-1]:
        renewed[s] = renewed[-1]
        for r in range(s * belief.graph.stride, s * belief.graph.stride + belief.graph.n_actions):
            if belief.row_stats[r, TOTAL] == 0:
                belief.utility[r] = belief.untried[0]


@inline
def find_or_add_slot(belief: Belief, s: int, a: int, s_next: int, may_be_new: bool) -> int:
    """Return the slot in which to count an outcome, added if necessary; IMPOSSIBLE or FULL if there is none.

    `may_be_new` is whether the prior lets an outcome follow that was not seen in this row.
    """
    graph = belief.graph
    slot = slot_of(graph, s, s_next)
    seen = 0 if slot < 0 else belief.n[slot * graph.stride + a]
    if not (seen > 0 or (seen == 0 and may_be_new and (slot >= 0 or graph.capacity > 0))):
        return IMPOSSIBLE
    if slot < 0:
        if graph.length[s] == graph.capacity:
            return FULL
        slot = graph.start[s] + graph.length[s]
        graph.length[s] += 1
        graph.succ[slot] = s_next
    return slot


@inline
def count(belief: Belief, s: int, a: int, s_next: int, slot: int, n: int) -> int:
    """Count `n` observations; return how many there were before."""
    i, r = slot * belief.graph.stride + a, s * belief.graph.stride + a
    before: int = belief.n[i]
    belief.row_stats[r, SEEN] += before == 0
    belief.n[i] = before + n
    belief.row_stats[r, TOTAL] += n
    if s_next == 0:
        belief.row_stats[r, FIRST] = 1
    return before


# Dirichlet and Chinese restaurant: pseudo-counts


@callback
def find_pseudo_count_slot(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Return the slot of an outcome; every state of the support may follow."""
    return find_or_add_slot(belief, s, a, s_next, True)


@inline
def set_pseudo_count_row(
    belief: Belief,
    s: int,
    a: int,
    kappa: float,
    c_unseen: float,
    c_seen: float,
    term_unseen: float,
    last: float,
    others: float,
) -> None:
    """Estimate row (a, s) as c / kappa, and compute its utility if rows have one.

    Parameters
    ----------
    belief, s, a : Belief, int, int
        The row.
    kappa : float
        The sum of all pseudo-counts.
    c_unseen, term_unseen : float
        The pseudo-count of each state that was not seen, and its term of the closed form.
    c_seen : float
        What is added to the number of observations of a state that was seen.
    last, others : float
        As in `berlyne.priors.closed_forms.Sums`.
    """
    graph, n, table, has_utility = belief.graph, belief.n, belief.table, belief.has_utility
    stride, uses_largest = graph.stride, belief.uses_largest
    r = s * stride + a
    scale, base = 1.0 / kappa, 0.0
    if len(belief.base_weight):
        base = c_unseen
        belief.base_weight[r] = c_unseen / kappa
    n_unseen = belief.row_stats[r, SIZE] - belief.row_stats[r, SEEN]
    total, largest, n_largest = 0.0, 0, n_unseen
    first = graph.start[s]
    for k in range(first, first + graph.length[s]):
        i = k * stride + a
        n_here = n[i]
        if n_here < 0:
            continue
        belief.weight[i] = ((c_seen if n_here > 0 else c_unseen) - base + n_here) * scale
        if n_here == 0 or not has_utility:
            continue
        total += table[n_here, TERM] if n_here < len(table) else belief.term(c_seen + n_here)
        if uses_largest and n_here >= largest:
            n_largest = n_largest + 1 if n_here == largest else 1
            largest = n_here
    if has_utility:
        total += n_unseen * term_unseen
        c_largest = c_seen + largest
        runners_up = c_largest * (n_largest - 1)  # if pseudo-counts differ by whole numbers
        sums = Sums(kappa, total, c_largest, runners_up, last, others, belief.n_states[0])
        belief.utility[r] = belief.value(sums)


@inline
def set_restaurant_pmc(belief: Belief, s: int, a: int, kappa: float, c_unseen: float, d: float) -> None:
    """Compute the utility PMC of row (a, s), whose pseudo-counts may differ by less than one."""
    graph, r = belief.graph, s * belief.graph.stride + a
    n_unseen, largest = belief.row_stats[r, SIZE] - belief.row_stats[r, SEEN], c_unseen
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        largest = max(largest, belief.n[k * graph.stride + a] - d)
    n_largest, runners_up = 0, 0.0
    if c_unseen == largest:
        n_largest = n_unseen
    else:
        runners_up = n_unseen * lead(c_unseen, largest)
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        n_here = belief.n[k * graph.stride + a]
        if n_here > 0:
            c = n_here - d
            if c == largest:
                n_largest += 1
            else:
                runners_up += lead(c, largest)
    runners_up += (n_largest - 1) * largest
    belief.utility[r] = belief.value(Sums(kappa, 0.0, largest, runners_up, 0.0, 0.0, belief.n_states[0]))


@callback
def revalue_dirichlet(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, which had been seen `before` times until then."""
    r, alpha = s * belief.graph.stride + a, belief.numbers[0]
    size, n_obs = belief.row_stats[r, SIZE], belief.row_stats[r, TOTAL]
    last, others = alpha + before, alpha * (size - 1) + (n_obs - 1 - before)
    set_pseudo_count_row(belief, s, a, alpha * size + n_obs, alpha, alpha, belief.table[0, TERM], last, others)


@callback
def learn_dirichlet(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Count an observation, estimate and value its row; return how often it was seen before, IMPOSSIBLE or FULL."""
    slot = find_pseudo_count_slot(belief, s, a, s_next)
    if slot < 0:
        return slot
    before = count(belief, s, a, s_next, slot, 1)
    revalue_dirichlet(belief, s, a, s_next, before)
    return before


@callback
def dirichlet_gain(belief: Belief, s: int, a: int, s_next: int, before: int, theta: float, has_first: bool) -> float:
    """Information gained by the observation just learned, in bits (Eq. 10); `theta` is its true probability."""
    r, alpha = s * belief.graph.stride + a, belief.numbers[0]
    kappa = alpha * belief.row_stats[r, SIZE] + (belief.row_stats[r, TOTAL] - 1)
    log = belief.table[before, LOG] if before < len(belief.table) else math.log1p(1.0 / (alpha + before))
    gain: float = (theta * log - math.log1p(1.0 / kappa)) / LN2
    return gain


@callback
def revalue_unequal(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, if each transition has its own alpha."""
    graph, n, table, has_utility = belief.graph, belief.n, belief.table, belief.has_utility
    stride, r, first = graph.stride, s * graph.stride + a, graph.start[s]
    kappa = belief.numbers[s * graph.n_actions + a] + belief.row_stats[r, TOTAL]
    scale, total, last, others, largest, n_largest = 1.0 / kappa, 0.0, 0.0, 0.0, 0.0, 0
    for k in range(first, first + graph.length[s]):
        i = k * stride + a
        if n[i] < 0:
            continue
        c = table[i, ALPHA] + n[i]
        belief.weight[i] = c * scale
        if not has_utility:
            continue
        total += table[i, TERM] if n[i] == 0 else belief.term(c)
        if graph.succ[k] == s_next:
            last = table[i, ALPHA] + before
        else:
            others += c
        if c >= largest:
            n_largest = n_largest + 1 if c == largest else 1
            largest = c
    if has_utility:
        runners_up = largest * (n_largest - 1)
        if belief.uses_largest:
            for k in range(first, first + graph.length[s]):
                i = k * stride + a
                c = table[i, ALPHA] + n[i]
                if n[i] >= 0 and c != largest:
                    runners_up += lead(c, largest)
        belief.utility[r] = belief.value(Sums(kappa, total, largest, runners_up, last, others, len(graph.start)))


@callback
def learn_unequal(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Count an observation, estimate and value its row; return how often it was seen before, IMPOSSIBLE or FULL."""
    slot = find_pseudo_count_slot(belief, s, a, s_next)
    if slot < 0:
        return slot
    before = count(belief, s, a, s_next, slot, 1)
    revalue_unequal(belief, s, a, s_next, before)
    return before


@callback
def unequal_gain(belief: Belief, s: int, a: int, s_next: int, before: int, theta: float, has_first: bool) -> float:
    """Information gained by the observation just learned, in bits (Eq. 10); `theta` is its true probability."""
    graph = belief.graph
    kappa = belief.numbers[s * graph.n_actions + a] + (belief.row_stats[s * graph.stride + a, TOTAL] - 1)
    c = belief.table[slot_of(graph, s, s_next) * graph.stride + a, ALPHA] + before
    gain: float = (theta * math.log1p(1.0 / c) - math.log1p(1.0 / kappa)) / LN2
    return gain


@callback
def revalue_restaurant(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, which had been seen `before` times until then."""
    r, c, d = s * belief.graph.stride + a, belief.numbers[0], belief.numbers[1]
    size, n_obs, n_seen = belief.row_stats[r, SIZE], belief.row_stats[r, TOTAL], belief.row_stats[r, SEEN]
    c_unseen = (c + d * n_seen) / (size - n_seen)
    last, others = before - d, c + d + (n_obs - 1 - before)  # a sum: a small c would be lost in a difference
    if before == 0:
        last = (c + d * (n_seen - 1)) / (size - (n_seen - 1))
        others = (n_obs - 1 - d * (n_seen - 1)) + (size - (n_seen - 1) - 1) * last
    term_unseen = belief.term(c_unseen) if belief.has_utility else 0.0
    set_pseudo_count_row(belief, s, a, c + n_obs, c_unseen, -d, term_unseen, last, others)
    if belief.uses_largest:
        set_restaurant_pmc(belief, s, a, c + n_obs, c_unseen, d)


@inline
def probability_of_last(belief: Belief, s: int, a: int) -> float:
    """Probability that the last outcome of row (a, s) had before it was observed; NaN if the row was never tried.

    It is that of a restaurant with the current number of cells.
    """
    graph, r = belief.graph, s * belief.graph.stride + a
    c, d, n_obs, n_seen = belief.numbers[0], belief.numbers[1], belief.row_stats[r, TOTAL], belief.row_stats[r, SEEN]
    if n_obs == 0:
        return math.nan
    before = belief.n[slot_of(graph, s, belief.last[r]) * graph.stride + a] - 1
    if before > 0:
        return (before - d) / (c + (n_obs - 1))  # type: ignore[no-any-return]  # arrays are Any here
    n_before = n_seen - 1
    return (c + d * n_before) / (belief.row_stats[r, SIZE] - n_before) / (c + (n_obs - 1))  # type: ignore[no-any-return]


@callback
def restore_restaurant_row(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, and remember that outcome."""
    belief.last[s * belief.graph.stride + a] = s_next
    revalue_restaurant(belief, s, a, s_next, before)


@callback
def learn_restaurant(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Count an observation, estimate and value its row; return how often it was seen before, IMPOSSIBLE or FULL."""
    slot = find_pseudo_count_slot(belief, s, a, s_next)
    if slot < 0:
        return slot
    before = count(belief, s, a, s_next, slot, 1)
    restore_restaurant_row(belief, s, a, s_next, before)
    return before


@callback
def unknown_gain(belief: Belief, s: int, a: int, s_next: int, before: int, theta: float, has_first: bool) -> float:
    """NaN: `OpenStateAgent` measures the gain if states are discovered."""
    return math.nan


@callback
def dirichlet_kappa(belief: Belief, s: int, a: int) -> float:
    """Sum of the pseudo-counts of row (a, s)."""
    r = s * belief.graph.stride + a
    kappa: float = belief.numbers[0] * belief.row_stats[r, SIZE] + belief.row_stats[r, TOTAL]
    return kappa


@callback
def unequal_kappa(belief: Belief, s: int, a: int) -> float:
    """Sum of the pseudo-counts of row (a, s), if each transition has its own alpha."""
    graph = belief.graph
    kappa: float = belief.numbers[s * graph.n_actions + a] + belief.row_stats[s * graph.stride + a, TOTAL]
    return kappa


@callback
def restaurant_kappa(belief: Belief, s: int, a: int) -> float:
    """Sum of the pseudo-counts of row (a, s)."""
    kappa: float = belief.numbers[0] + belief.row_stats[s * belief.graph.stride + a, TOTAL]
    return kappa


# 1-2-3 Worlds: all estimates are in the table


@callback
def no_kappa(belief: Belief, s: int, a: int) -> float:
    """NaN: there are no pseudo-counts."""
    return math.nan


@inline
def line_of(n_actions: int, a: int, n_seen: int, first: int) -> int:
    """Return the line of the table for `n_seen` distinct outcomes; `first` is 1 if state 0 is one of them."""
    return (a * (n_actions + 1) + n_seen) * 2 + first


@inline
def current_line(belief: Belief, s: int, a: int) -> int:
    """Return the line of the table for row (a, s)."""
    r = s * belief.graph.stride + a
    return line_of(belief.graph.n_actions, a, belief.row_stats[r, SEEN], belief.row_stats[r, FIRST])


@callback
def find_one_two_three_slot(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Return the slot of an outcome; a new one may follow if the table gives it a probability."""
    p_new = belief.table[current_line(belief, s, a), P_FIRST if s_next == 0 else P_OTHER]
    return find_or_add_slot(belief, s, a, s_next, p_new > 0.0)


@inline
def estimate_one_two_three_row(belief: Belief, s: int, a: int) -> int:
    """Estimate row (a, s); return its line of the table."""
    graph, table = belief.graph, belief.table
    line = current_line(belief, s, a)
    other, base = table[line, P_OTHER], 0.0
    if len(belief.base_weight):
        belief.base_weight[s * graph.stride + a] = other
        base = other
    first = graph.start[s]
    for k in range(first, first + graph.length[s]):
        i = k * graph.stride + a
        p = other
        if belief.n[i] > 0:
            p = 1.0 / (a + 1)
        elif graph.succ[k] == 0:
            p = table[line, P_FIRST]
        belief.weight[i] = p - base
    return line


@callback
def update_one_two_three_row(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) from its counts; a utility of the last outcome stays as it is."""
    line = estimate_one_two_three_row(belief, s, a)
    if belief.has_utility and not belief.realised:
        belief.utility[s * belief.graph.stride + a] = belief.table[line, UTILITY]


@inline
def revalue_one_two_three(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value row (a, s) after its last outcome, which had been seen `before` times until then."""
    graph, table, r = belief.graph, belief.table, s * belief.graph.stride + a
    if before == 0:
        line = estimate_one_two_three_row(belief, s, a)
        if belief.realised:
            was_first = 0 if s_next == 0 else belief.row_stats[r, FIRST]
            line_before = line_of(graph.n_actions, a, belief.row_stats[r, SEEN] - 1, was_first)
            belief.utility[r] = table[line_before, GAIN_FIRST if s_next == 0 else GAIN_OTHER]
        elif belief.has_utility:
            belief.utility[r] = table[line, UTILITY]
    elif belief.realised:
        belief.utility[r] = 0.0  # a repeated outcome taught nothing


@callback
def restore_one_two_three_row(belief: Belief, s: int, a: int, s_next: int, before: int) -> None:
    """Estimate and value a row that was never estimated, see `revalue_one_two_three`."""
    update_one_two_three_row(belief, s, a, s_next, before)
    revalue_one_two_three(belief, s, a, s_next, before)


@callback
def learn_one_two_three(belief: Belief, s: int, a: int, s_next: int) -> int:
    """Count an observation, estimate and value its row; return how often it was seen before, IMPOSSIBLE or FULL."""
    slot = find_one_two_three_slot(belief, s, a, s_next)
    if slot < 0:
        return slot
    before = count(belief, s, a, s_next, slot, 1)
    revalue_one_two_three(belief, s, a, s_next, before)
    return before


@inline
def missing_one_two_three(table: FloatArray, line: int, n_targets: int, n_seen: int, first_unseen: bool) -> float:
    """Missing information of one row of a 1-2-3 World, in bits: only unseen targets contribute."""
    n_unseen, missing = n_targets - n_seen, 0.0
    if first_unseen:
        n_unseen -= 1
        missing -= math.log2(n_targets * table[line, P_FIRST])
    if n_unseen > 0:
        missing -= n_unseen * math.log2(n_targets * table[line, P_OTHER])
    return missing / n_targets


@callback
def one_two_three_gain(
    belief: Belief, s: int, a: int, s_next: int, before: int, theta: float, has_first: bool
) -> float:
    """Information gained by the observation just learned, in bits (Eq. 10).

    `has_first` is whether state 0 is among the true outcomes of the row.
    """
    if before > 0:
        return 0.0
    r, n_actions = s * belief.graph.stride + a, belief.graph.n_actions
    n_seen, first = int(belief.row_stats[r, SEEN]), int(belief.row_stats[r, FIRST])
    was_first = 0 if s_next == 0 else first
    line_before, line = line_of(n_actions, a, n_seen - 1, was_first), line_of(n_actions, a, n_seen, first)
    missing = missing_one_two_three(belief.table, line_before, a + 1, n_seen - 1, has_first and was_first == 0)
    return missing - missing_one_two_three(belief.table, line, a + 1, n_seen, has_first and first == 0)


class Family(NamedTuple):
    """Functions of a family of priors, made by `callback`.

    Attributes
    ----------
    find_slot : Callable
        `find_slot(belief, s, a, s_next)`: the slot in which to count an outcome, added if necessary.
    learn : Callable
        `learn(belief, s, a, s_next)`: count an observation, estimate and value its row.
    update_row : Callable
        `update_row(belief, s, a, s_next, before)`: estimate and value a row from its counts alone.
    restore_row : Callable
        `restore_row(belief, s, a, s_next, before)`: estimate and value a row that was never estimated, after
        `s_next`, seen `before` times before.
    gain : Callable
        `gain(belief, s, a, s_next, before, theta, has_first)`: bits gained by the observation just learned.
    kappa : Callable
        `kappa(belief, s, a)`: the sum of the pseudo-counts of a row, NaN if there are none.
    repeats_teach : bool
        Whether an outcome that was seen before changes the estimate.
    has_closed_forms : bool
        Whether utilities are computed by `berlyne.engine.closed_forms`.
    grows : bool
        Whether states can be discovered. Then beliefs have `last`, and their `numbers` can change.
    """

    find_slot: Any
    learn: Any
    update_row: Any
    restore_row: Any
    gain: Any
    kappa: Any
    repeats_teach: bool
    has_closed_forms: bool
    grows: bool = False


FAMILIES: dict[str, Family] = {
    "Dirichlet": Family(
        find_pseudo_count_slot,
        learn_dirichlet,
        revalue_dirichlet,
        revalue_dirichlet,
        dirichlet_gain,
        dirichlet_kappa,
        True,
        True,
    ),
    "Dirichlet with unequal alpha": Family(
        find_pseudo_count_slot,
        learn_unequal,
        revalue_unequal,
        revalue_unequal,
        unequal_gain,
        unequal_kappa,
        True,
        True,
    ),
    "SharedDirichlet": Family(
        find_pseudo_count_slot,
        learn_unequal,
        revalue_unequal,
        revalue_unequal,
        unequal_gain,
        unequal_kappa,
        True,
        True,
    ),
    "ChineseRestaurant": Family(
        find_pseudo_count_slot,
        learn_restaurant,
        revalue_restaurant,
        restore_restaurant_row,
        unknown_gain,
        restaurant_kappa,
        True,
        True,
        True,
    ),
    "OneTwoThree": Family(
        find_one_two_three_slot,
        learn_one_two_three,
        update_one_two_three_row,
        restore_one_two_three_row,
        one_two_three_gain,
        no_kappa,
        False,
        False,
    ),
}
"""The families of the priors that kernels know, by the name that the prior has as its attribute `family`."""


def family_of(prior: CompiledPrior) -> Family:
    """Return the functions of a prior."""
    return FAMILIES[prior.family]
