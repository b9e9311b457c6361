"""Estimates of many internal models of one world, from their counts, in slots.

Slots are as in `berlyne.kernels.slots`; model m has the observations `begin[m]:begin[m + 1]` of
`row`, `s_next` and `n`, and its estimates go to `out[m, slot * M + a]`.
"""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import kernel


@kernel
def dirichlet_estimates(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    unseen: IndexArray,
    alpha: float,
    n_actions: int,
    row: IntArray,
    s_next: IntArray,
    n: IntArray,
    begin: IntArray,
    out: FloatArray,
) -> int:
    """(alpha + n) / kappa (Eqs. 7 and 8); `unseen[slot * M + a]` is 0, or -1 outside the support.

    Returns the first model that has seen what the support excludes, or -1.
    """
    counts, kappa = np.empty_like(unseen), np.empty(n_actions)
    for m in range(len(begin) - 1):
        counts[:] = unseen
        for e in range(begin[m], begin[m + 1]):
            s, a = row[e] // n_actions, row[e] % n_actions
            k, end = start[s], start[s] + length[s]
            while k < end and succ[k] != s_next[e]:
                k += 1
            if k == end or unseen[k * n_actions + a] < 0:
                return m
            counts[k * n_actions + a] = n[e]
        for s in range(len(start)):
            kappa[:] = 0.0
            for k in range(start[s], start[s] + length[s]):
                for a in range(n_actions):
                    count = counts[k * n_actions + a]
                    kappa[a] += alpha + count if count >= 0 else 0.0
            for k in range(start[s], start[s] + length[s]):
                for a in range(n_actions):
                    count = counts[k * n_actions + a]
                    out[m, k * n_actions + a] = (alpha + count) / kappa[a] if count >= 0 else 0.0
    return -1


@kernel
def one_two_three_estimates(
    p_first: FloatArray,
    p_other: FloatArray,
    n_states: int,
    n_actions: int,
    row: IntArray,
    s_next: IntArray,
    begin: IntArray,
    out: FloatArray,
) -> int:
    """Estimates of 1-2-3 Worlds from the tables of the prior; slot s N + s_next for every transition.

    Returns the first model that has seen more targets than there are, or -1.
    """
    n_seen, first = np.empty(n_states * n_actions, dtype=np.int64), np.empty(n_states * n_actions, dtype=np.int64)
    for m in range(len(begin) - 1):
        n_seen[:] = 0
        first[:] = 0
        for e in range(begin[m], begin[m + 1]):
            n_seen[row[e]] += 1
            if n_seen[row[e]] > row[e] % n_actions + 1:
                return m
            if s_next[e] == 0:
                first[row[e]] = 1
        for s in range(n_states):
            for z in range(n_states):
                for a in range(n_actions):
                    r = s * n_actions + a
                    unseen = p_first[a, n_seen[r]] if z == 0 else p_other[a, n_seen[r], first[r]]
                    out[m, (s * n_states + z) * n_actions + a] = unseen
        for e in range(begin[m], begin[m + 1]):
            s, a = row[e] // n_actions, row[e] % n_actions
            out[m, (s * n_states + s_next[e]) * n_actions + a] = 1.0 / (a + 1)
    return -1
