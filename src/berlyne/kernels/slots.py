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
    start, length = np.empty(n_states, dtype=np.int64), np.empty(n_states, dtype=np.int32)
    succ, head = np.empty(len(indices), dtype=np.int32), np.empty(n_actions, dtype=np.int64)
    used = 0
    for s in range(n_states):
        start[s] = used
        for a in range(n_actions):
            head[a] = indptr[s * n_actions + a]
        least = 0
        while least < n_states:  # merge the rows: the least state that any of them has next
            least = n_states
            for a in range(n_actions):
                if head[a] < indptr[s * n_actions + a + 1]:
                    least = min(least, indices[head[a]])
            for a in range(n_actions):
                if head[a] < indptr[s * n_actions + a + 1] and indices[head[a]] == least:
                    head[a] += 1
            if least < n_states:
                succ[used] = least
                used += 1
        length[s] = used - start[s]
    return start, length, succ[:used].copy()


@kernel
def pad_slots(
    start: IntArray, length: IndexArray, succ: IndexArray, multiple: int
) -> tuple[IntArray, IndexArray, IndexArray]:
    """The same slots, filled up to a `multiple` in each state by naming its last outcome again."""
    n_states = len(start)
    wider, n_slots = np.empty(n_states, dtype=np.int32), 0
    for s in range(n_states):
        wider[s] = -(-length[s] // multiple) * multiple
        n_slots += wider[s]
    begin, padded = np.empty(n_states, dtype=np.int64), np.empty(n_slots, dtype=np.int32)
    used = 0
    for s in range(n_states):
        begin[s] = used
        for i in range(wider[s]):
            padded[used + i] = succ[start[s] + min(i, length[s] - 1)]
        used += wider[s]
    return begin, wider, padded


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
