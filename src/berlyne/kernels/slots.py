"""From sparse rows to slots: the outcomes of a state once, its actions side by side."""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import kernel


@kernel
def union_slots(indptr: IntArray, indices: IndexArray, n_actions: int) -> tuple[IntArray, IndexArray, IndexArray]:
    """The states that any action of each state can reach, ascending: `start`, `length` and `succ`.

    `indptr` and `indices` are rows `r = s * M + a`, ascending within a row.
    """
    n_states = (len(indptr) - 1) // n_actions
    start, length = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.int32)
    succ = np.empty(len(indices), dtype=np.int32)
    mark = np.full(n_states, -1, dtype=np.int32)
    used = 0
    for s in range(n_states):
        start[s] = used
        for e in range(indptr[s * n_actions], indptr[(s + 1) * n_actions]):
            if mark[indices[e]] != s:
                mark[indices[e]] = s
                succ[used] = indices[e]
                used += 1
        length[s] = used - start[s]
        succ[start[s] : used].sort()
    return start, length, succ[:used].copy()


@kernel
def spread(
    indptr: IntArray,
    indices: IndexArray,
    data: FloatArray,
    start: IntArray,
    succ: IndexArray,
    stride: int,
    n_actions: int,
    out: FloatArray,
) -> None:
    """Write the numbers of sparse rows into slots: `out[slot * stride + a]`."""
    for r in range(len(indptr) - 1):
        s, a = r // n_actions, r % n_actions
        k = start[s]
        for e in range(indptr[r], indptr[r + 1]):
            while succ[k] != indices[e]:
                k += 1
            out[k * stride + a] = data[e]


@kernel
def spread_evenly(
    indptr: IntArray,
    indices: IndexArray,
    start: IntArray,
    succ: IndexArray,
    stride: int,
    n_actions: int,
    weight: FloatArray,
    n: IndexArray,
) -> None:
    """Start a belief: each row even over its outcomes (`weight`), none of them seen yet (`n`)."""
    for r in range(len(indptr) - 1):
        s, a = r // n_actions, r % n_actions
        k = start[s]
        for e in range(indptr[r], indptr[r + 1]):
            while succ[k] != indices[e]:
                k += 1
            weight[k * stride + a] = 1.0 / (indptr[r + 1] - indptr[r])
            n[k * stride + a] = 0
