"""What the explorer knows of each row, and how one observation changes it.

Rows of a state lie side by side: `r = s * stride + a`, and slot k of a state holds outcome
`succ[k]` for all its actions, at `k * stride + a`. Two kinds of prior share the layout:

- on an explicit support the slots of a state are the states it can reach, fixed from the start
  (n is -1 where an action excludes one), and `weight` is the estimate;
- where every state can follow, slots are added as outcomes are seen. `share` is the estimate of
  each unseen state and `weight` is what a state in a slot has beyond it.

One observation touches one row: O(slots of the state), independent of the number of states.
Functions take plain arrays rather than the tuple they come in: taking an array out of a tuple
costs a reference count, which is too much for the inner loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import bare_kernel, inlined

DIRICHLET, ONE_TWO_THREE = 0, 1
NONE, PIG, PEIG, PMC, PLC, NOVELTY = -1, 0, 1, 2, 3, 4
TOTAL, SEEN, SIZE, FIRST = 0, 1, 2, 3
LOG, SUMMAND = 0, 1
P_FIRST, P_OTHER, GAIN_FIRST, GAIN_OTHER, UTILITY = 0, 1, 2, 3, 4

LN2 = math.log(2.0)
IMPOSSIBLE, FULL = -1, -2


class Belief(NamedTuple):
    """Counts, estimates and utilities of all rows.

    start, length, succ, weight, share : as in `Plan`; `share` is empty for an explicit support.
    n : [slot * stride + a], observations, -1 where impossible.
    tally : (rows, 4): observations K, distinct outcomes T, size of the support,
        whether state 0 was an outcome (1-2-3 Worlds).
    utility : [s * stride + a], -inf in the padding.
    tables : (2, length) over n: log(1 + 1/c), and what an outcome seen n times adds to
        PIG or novelty, at c = alpha + n (Dirichlet).
    knowledge : [a, T, first_seen, 5]: estimates of state 0 and of other states while unseen, gains of
        seeing either, and the utility of the row (1-2-3 Worlds).
    family, which : the kind of prior, and the utility kept up to date.
    capacity : slots that a state may fill.
    """

    start: IntArray
    length: IndexArray
    succ: IndexArray
    weight: FloatArray
    share: FloatArray
    n: IndexArray
    tally: IndexArray
    utility: FloatArray
    tables: FloatArray
    knowledge: FloatArray
    family: int
    which: int
    capacity: int
    n_states: int
    stride: int
    alpha: float


@bare_kernel
def digamma(x: float) -> float:
    """Logarithmic derivative of the gamma function, for x > 0, to about 1e-15."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * 691.0 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


@inlined
def log1p_inverse(tables: FloatArray, alpha: float, n: int) -> float:
    """log(1 + 1 / c) for c = alpha + n."""
    return tables[LOG, n] if n < tables.shape[1] else math.log1p(1.0 / (alpha + n))


@bare_kernel
def summand(tables: FloatArray, alpha: float, which: int, n: int) -> float:
    """What an outcome seen n times adds to PIG, c (c + 1) log(1 + 1/c), or to novelty, c (psi(c + 1) - log c)."""
    if n < tables.shape[1]:
        return float(tables[SUMMAND, n])
    c = alpha + n
    if which == NOVELTY:
        return c * (digamma(c + 1.0) - math.log(c))
    return c * (c + 1.0) * math.log1p(1.0 / c)


@inlined
def slot_for(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    share: FloatArray,
    n: IndexArray,
    tally: IndexArray,
    knowledge: FloatArray,
    family: int,
    capacity: int,
    stride: int,
    s: int,
    a: int,
    s_next: int,
) -> int:
    """The slot in which to count an outcome, made if need be; IMPOSSIBLE or FULL if there is none."""
    slot, end = IMPOSSIBLE, start[s] + length[s]
    for k in range(start[s], end):
        if succ[k] == s_next:
            slot = k
            break
    seen = 0 if slot < 0 else n[slot * stride + a]
    if seen < 0:
        slot = IMPOSSIBLE
    elif seen == 0:
        possible = True
        if family == ONE_TWO_THREE:
            r = s * stride + a
            kind = P_FIRST if s_next == 0 else P_OTHER
            possible = knowledge[a, tally[r, SEEN], tally[r, FIRST], kind] > 0.0
        if not possible:
            slot = IMPOSSIBLE
        elif slot < 0 and len(share):
            if length[s] == capacity:
                slot = FULL
            else:
                slot = end
                length[s] += 1
                succ[slot] = s_next
    return slot


@inlined
def learn_dirichlet(
    start: IntArray,
    length: IndexArray,
    weight: FloatArray,
    share: FloatArray,
    n: IndexArray,
    tally: IndexArray,
    utility: FloatArray,
    tables: FloatArray,
    which: int,
    n_states: int,
    stride: int,
    alpha: float,
    s: int,
    a: int,
    before: int,
) -> None:
    """Estimates c / kappa of row (a, s), and its utility in closed form (see `berlyne.priors.dirichlet`).

    `before` is how often the last outcome had been seen before.
    """
    r = s * stride + a
    kappa = alpha * tally[r, SIZE] + tally[r, TOTAL]
    base = alpha
    if len(share):
        share[r] = alpha / kappa
        base = 0.0
    unseen = tally[r, SIZE] - tally[r, SEEN]
    total, most, shared = 0.0, 0, unseen
    scale = 1.0 / kappa
    for k in range(start[s], start[s] + length[s]):
        i = k * stride + a
        count = n[i]
        if count < 0:
            continue
        weight[i] = (base + count) * scale
        if count == 0:
            continue
        if which == PIG or which == NOVELTY:
            total += summand(tables, alpha, which, count)
        elif which == PLC:
            total += (alpha + count) * (alpha + count)
        elif which == PMC:
            if count > most:
                most, shared = count, 1
            elif count == most:
                shared += 1
    if which == PIG:
        total += unseen * summand(tables, alpha, which, 0)
        value = (math.log1p(-1.0 / (kappa + 1.0)) + total / (kappa * (kappa + 1.0))) / LN2
        utility[r] = max(value, 0.0)
    elif which == PEIG:
        c = alpha + before
        value = math.log1p(-1.0 / kappa) + (c + 1.0) / kappa * log1p_inverse(tables, alpha, before)
        utility[r] = max(value / LN2, 0.0)
    elif which == PMC:
        utility[r] = (alpha + most) * (shared - 1) / (kappa * (kappa + 1.0))
    elif which == PLC:
        total += unseen * alpha * alpha
        utility[r] = 2.0 * max(kappa - total / kappa, 0.0) / (n_states * kappa * (kappa + 1.0))
    elif which == NOVELTY:
        total += unseen * summand(tables, alpha, which, 0)
        value = total / kappa + math.log(kappa) - digamma(kappa + 1.0)
        utility[r] = max(value / LN2, 0.0)


@inlined
def learn_one_two_three(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    share: FloatArray,
    n: IndexArray,
    tally: IndexArray,
    utility: FloatArray,
    knowledge: FloatArray,
    which: int,
    stride: int,
    s: int,
    a: int,
    s_next: int,
) -> None:
    """A new target of action a in state s: all that follows is in the tables of the prior."""
    r = s * stride + a
    if which == PEIG:
        kind = GAIN_FIRST if s_next == 0 else GAIN_OTHER
        utility[r] = knowledge[a, tally[r, SEEN], tally[r, FIRST], kind]
    tally[r, SEEN] += 1
    if s_next == 0:
        tally[r, FIRST] = 1
    known = knowledge[a, tally[r, SEEN], tally[r, FIRST]]
    share[r] = known[P_OTHER]
    for k in range(start[s], start[s] + length[s]):
        i = k * stride + a
        if n[i] > 0:
            weight[i] = 1.0 / (a + 1) - known[P_OTHER]
        elif succ[k] == 0:
            weight[i] = known[P_FIRST] - known[P_OTHER]
        else:
            weight[i] = 0.0
    if which != PEIG and which != NONE:
        utility[r] = known[UTILITY]
