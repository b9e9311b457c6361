"""The gate: what comes from outside is looked at here, once, before a kernel follows it without looking.

Rows, supports and counts leave it as plain arrays of the right types whose numbers lie in their range. Everything is
compared by value, never by differences, which can overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.arrays import check_count
from berlyne.rows import Counts, Rows, Support, row_name

MOST_STATES = 2**31 - 1
"""States are numbered in 32 bits."""


def checked_rows(rows: Rows) -> Rows:
    """The rows as plain arrays of the right types, or a `ValueError` that names what leads outside the world.

    Kernels follow indices without looking: whatever comes from outside goes through here. Nothing is copied that is
    right already.
    """
    n_actions, n_states = check_count("n_actions", rows.n_actions, 0), check_count("n_states", rows.n_states, 0)
    if n_states < 1 or n_actions < 1 or n_states > MOST_STATES:
        raise ValueError(
            f"theta has {n_actions} actions and {n_states} states; there must be at least one of each, "
            f"and at most {MOST_STATES} states"
        )
    data = np.ascontiguousarray(rows.data, dtype=np.float64).view(np.ndarray)
    pointers, indices = _whole_numbers("indptr", rows.indptr), _whole_numbers("indices", rows.indices)
    n_rows, n = n_actions * n_states, len(data)
    ordered = len(pointers) == n_rows + 1 and pointers[0] == 0 and pointers[-1] == n
    if not ordered or np.any(pointers[1:] < pointers[:-1]):
        raise ValueError(f"indptr of theta must hold {n_rows + 1} numbers rising from 0 to {n}, the length of data")
    if len(indices) != n:
        raise ValueError(f"indices of theta have length {len(indices)}; it must be {n}, the length of data")
    pointers = _as_type(rows.indptr, pointers, np.int64)
    wrong = (indices < 0) | (indices >= n_states)
    falls = indices[1:] <= indices[:-1]
    begins = pointers[(pointers > 0) & (pointers < n)]
    falls[begins - 1] = False  # the first state of a row may be anything
    wrong[1:] |= falls
    if np.any(wrong):
        bad = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{row_name(int(np.searchsorted(pointers, bad, side='right')) - 1, n_actions)} of theta lists state "
            f"{indices[bad]}; states of a row must rise within 0 to {n_states - 1}"
        )
    indices = _as_type(rows.indices, indices, np.int32)
    if pointers is rows.indptr and indices is rows.indices and data is rows.data:
        return rows
    return Rows(n_actions, n_states, pointers, indices, data)


def checked_support(support: Support) -> Support:
    """The support itself if it is in order: a few plain numbers, or lists of states that rise within their range."""
    if support.indptr is None and support.indices is None:
        return Support(check_count("n_actions", support.n_actions, 1), check_count("n_states", support.n_states, 1))
    if support.indptr is None or support.indices is None:
        raise ValueError("a support has both indptr and indices, or neither if every state can follow every other")
    given = Rows(support.n_actions, support.n_states, support.indptr, support.indices, np.ones(len(support.indices)))
    checked = checked_rows(given)
    return support if checked is given else checked.support


def checked_counts(counts: Counts) -> Counts:
    """The counts as plain arrays of the right types, or a `ValueError`: kernels follow them without looking."""
    n_rows = check_count("n_actions", counts.n_actions, 1) * check_count("n_states", counts.n_states, 1)
    row, s_next, n = (_whole_numbers(name, getattr(counts, name), "counts") for name in ("row", "s_next", "n"))
    if not len(row) == len(s_next) == len(n):
        raise ValueError(
            f"row, s_next and n of counts have lengths {len(row)}, {len(s_next)} and {len(n)}; not the same"
        )
    for name, values, high in (("row", row, n_rows - 1), ("s_next", s_next, counts.n_states - 1)):
        if np.any((values < 0) | (values > high)):
            raise ValueError(f"{name} of counts must lie within 0 to {high}")
    if np.any(n < 1) or np.any(n > np.iinfo(np.int64).max):
        raise ValueError("n of counts must be whole numbers of at least 1")
    if all(type(x) is np.ndarray and x.dtype == np.int64 for x in (counts.row, counts.s_next, counts.n)):
        return counts
    return Counts(counts.n_actions, counts.n_states, *(x.astype(np.int64) for x in (row, s_next, n)))


def _whole_numbers(name: str, values: Any, of: str = "theta") -> Any:
    given = np.asarray(values)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"{name} of {of} have shape {given.shape} and type {given.dtype}; they must be whole numbers")
    return given


def _as_type(values: Any, checked: Any, kind: Any) -> Any:
    """The values themselves if they are a plain array of that type, else a copy that is; they must fit into it."""
    return values if type(values) is np.ndarray and values.dtype == kind and _is_plain(values) else checked.astype(kind)


def _is_plain(values: Any) -> bool:
    return bool(values.flags.c_contiguous and values.flags.aligned and values.dtype.isnative)
