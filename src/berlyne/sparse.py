"""Transition rows, supports and counts, stored by row, and their validation.

Row r = s M + a belongs to action a in state s. Rows and supports store possible transitions only; counts store observed
transitions only. Kernels do no bounds checks, so `checked_rows`, `checked_support` and `checked_counts` validate every
array from outside the package once. They compare values, never differences, which can overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from berlyne.frozen import FrozenArrays, read_only
from berlyne.labels import TransitionError
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray, check_count, check_dense


def by_action(per_row: Any, n_actions: int) -> Any:
    """Return a vector over rows `r = s * M + a` as an array `[a, s]` of shape `(M, N)`."""
    return np.ascontiguousarray(np.reshape(per_row, (-1, n_actions)).T)


@dataclass(frozen=True, eq=False)
class Support(FrozenArrays):
    """The next states that each row can reach.

    Parameters
    ----------
    n_actions, n_states : int
        M and N.
    indptr : ndarray of shape (M N + 1,), optional
        The next states of row r are `indices[indptr[r]:indptr[r + 1]]`. None if every row can reach every state.
    indices : ndarray of int32, optional
        Next states, ascending within a row. None if every row can reach every state.
    """

    n_actions: int
    n_states: int
    indptr: IntArray | None = None
    indices: IndexArray | None = None

    @classmethod
    def from_mask(cls, mask: BoolArray) -> Support:
        """Create a support from a boolean array `[a, s, s_next]` of shape `(M, N, N)`."""
        if mask.ndim != 3 or mask.shape[1] != mask.shape[2] or 0 in mask.shape:
            raise ValueError(f"the support has shape {mask.shape}; it must be (n_actions, n_states, n_states)")
        n_actions, n_states, _ = mask.shape
        by_row = mask.transpose(1, 0, 2).reshape(n_states * n_actions, n_states)
        row, s_next = np.nonzero(by_row)
        indptr = _row_pointers(np.bincount(row, minlength=len(by_row)))
        return cls(n_actions, n_states, indptr, s_next.astype(np.int32))

    @property
    def is_full(self) -> bool:
        """Whether every row can reach every state."""
        return self.indptr is None

    @cached_property
    def sizes(self) -> IntArray:
        """Number of possible next states of each row, `(M N,)`."""
        if self.indptr is None:
            return read_only(np.full(self.n_actions * self.n_states, self.n_states, dtype=np.int64))
        return read_only(np.diff(self.indptr))

    def row(self, a: int, s: int) -> IndexArray:
        """Possible next states of row (a, s), ascending."""
        if self.indptr is None or self.indices is None:
            return np.arange(self.n_states, dtype=np.int32)
        r = s * self.n_actions + a
        return self.indices[self.indptr[r] : self.indptr[r + 1]]

    def entries(self) -> tuple[IntArray, IndexArray]:
        """Return `indptr` and `indices`, also if every state is possible and they are not stored."""
        if self.indptr is not None and self.indices is not None:
            return self.indptr, self.indices
        n_rows = self.n_actions * self.n_states
        indptr = np.arange(n_rows + 1, dtype=np.int64) * self.n_states
        return read_only(indptr), read_only(np.tile(np.arange(self.n_states, dtype=np.int32), n_rows))

    def same_entries(self, other: Support) -> bool:
        """Return whether both supports contain the same transitions."""
        if (self.n_actions, self.n_states) != (other.n_actions, other.n_states):
            return False
        if self.indptr is other.indptr and self.indices is other.indices:  # shared arrays need no comparison
            return True
        n_full = self.n_actions * self.n_states**2
        n_self, n_other = (n_full if support.indices is None else len(support.indices) for support in (self, other))
        if n_self != n_other or n_self == n_full:
            return n_self == n_other
        (indptr, indices), (other_indptr, other_indices) = self.entries(), other.entries()
        return np.array_equal(indptr, other_indptr) and np.array_equal(indices, other_indices)

    def row_numbers(self) -> IntArray:
        """Return the row number of every possible transition, in the order of `entries`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def contains(self, row: IntArray, s_next: IntArray) -> BoolArray:
        """Return whether `s_next` is possible in row number `row`, elementwise."""
        return np.ones(len(row), dtype=bool) if self.is_full else self.positions(row, s_next) >= 0

    def positions(self, row: Any, s_next: Any) -> IntArray:
        """Return the position of each transition (row, s_next) among `entries`, -1 if it is impossible, elementwise."""
        row, s_next = np.broadcast_arrays(row, s_next)
        if self.indptr is None or self.indices is None:
            return np.asarray(row * self.n_states + s_next)
        low, end = self.indptr[row], self.indptr[row + 1]
        high = end.copy()
        last = len(self.indices) - 1
        while np.any(unfinished := low < high):  # bisect all rows at once
            middle = (low + high) // 2
            below = self.indices[np.minimum(middle, last)] < s_next
            low = np.where(unfinished & below, middle + 1, low)
            high = np.where(unfinished & ~below, middle, high)
        is_entry = (low < end) & (self.indices[np.minimum(low, last)] == s_next)
        return np.where(is_entry, low, -1)


@dataclass(frozen=True, eq=False)
class Rows(FrozenArrays):
    """Transition probabilities: the non-zero entries of `theta[a, s, s_next]`.

    Parameters
    ----------
    n_actions, n_states : int
        M and N.
    indptr : ndarray of shape (M N + 1,)
        Row r = s M + a has the entries `indptr[r]:indptr[r + 1]`.
    indices : ndarray of int32
        Next states, ascending within a row.
    data : ndarray of float64
        Probabilities of the next states, all positive; each row sums to one.
    """

    n_actions: int
    n_states: int
    indptr: IntArray
    indices: IndexArray
    data: FloatArray

    @classmethod
    def from_dense(cls, theta: FloatArray) -> Rows:
        """Create rows from an array `theta[a, s, s_next]`; zeros are dropped, and nothing is checked."""
        support = Support.from_mask(theta != 0)
        assert support.indptr is not None and support.indices is not None
        row = np.repeat(np.arange(len(support.sizes)), support.sizes)
        s, a = np.divmod(row, support.n_actions)
        data = theta[a, s, support.indices].astype(np.float64)
        return cls(support.n_actions, support.n_states, support.indptr, support.indices, data)

    @classmethod
    def from_sparse(cls, matrices: Sequence[Any]) -> Rows:
        """Create rows from M SciPy sparse matrices of shape (N, N), one for each action; zeros are dropped."""
        import scipy.sparse as sp  # here, so that `import berlyne` stays fast

        n_actions, n_states = len(matrices), matrices[0].shape[0]
        for a, matrix in enumerate(matrices):
            if matrix.shape != (n_states, n_states):
                raise ValueError(
                    f"the sparse matrix of action {a} has shape {matrix.shape}; "
                    f"all must be square like that of action 0, {(n_states, n_states)}"
                )
        # block a contains action a; reorder the rows so that the actions of a state are adjacent
        stacked = sp.csr_array(sp.vstack([sp.csr_array(m) for m in matrices]))
        order = np.arange(n_actions * n_states).reshape(n_actions, n_states).T.ravel()
        csr = sp.csr_array(stacked[order])
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        return cls(
            n_actions,
            n_states,
            csr.indptr.astype(np.int64),
            csr.indices.astype(np.int32),
            csr.data.astype(np.float64),
        )

    @classmethod
    def from_entries(cls, n_actions: int, n_states: int, row: IntArray, s_next: IntArray, p: FloatArray) -> Rows:
        """Create rows from their entries in any order, each given once; nothing is checked."""
        order = np.lexsort((s_next, row))
        indptr = _row_pointers(np.bincount(row, minlength=n_actions * n_states))
        return cls(n_actions, n_states, indptr, s_next[order].astype(np.int32), p[order])

    def __repr__(self) -> str:
        return f"Rows(n_actions={self.n_actions}, n_states={self.n_states}, {len(self.data)} non-zero)"

    @cached_property
    def support(self) -> Support:
        """The next states with positive probability; shares this object's index arrays."""
        return Support(self.n_actions, self.n_states, self.indptr, self.indices)

    @cached_property
    def cumulative(self) -> FloatArray:
        """Running sum within each row, for sampling by inversion."""
        running, start, size = self.data.copy(), self.indptr[:-1], np.diff(self.indptr)
        for j in range(1, int(size.max())):  # entry j of all rows at once
            entry = start[size > j] + j
            running[entry] += running[entry - 1]
        return read_only(running)

    def row(self, a: int, s: int) -> tuple[IndexArray, FloatArray]:
        """Next states of row (a, s) and their probabilities."""
        r = s * self.n_actions + a
        entries = slice(self.indptr[r], self.indptr[r + 1])
        return self.indices[entries], self.data[entries]

    def row_numbers(self) -> IntArray:
        """Return the row number of every stored entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def row_sums(self, values: FloatArray) -> FloatArray:
        """Sum of one value per stored entry within each row, `(M N,)`."""
        if np.all(self.indptr[1:] > self.indptr[:-1]):
            return np.add.reduceat(values, self.indptr[:-1])
        return np.asarray(np.bincount(self.row_numbers(), values, len(self.indptr) - 1), dtype=np.float64)

    def dense(self) -> FloatArray:
        """`theta[a, s, s_next]`, shape `(M, N, N)`."""
        check_dense("theta", self.n_actions, self.n_states, "world.rows, which stores non-zero entries only")
        theta = np.zeros((self.n_actions, self.n_states, self.n_states))
        s, a = np.divmod(self.row_numbers(), self.n_actions)
        theta[a, s, self.indices] = self.data
        return theta


@dataclass(frozen=True, eq=False)
class Counts(FrozenArrays):
    """Number of observations of each transition; only observed transitions are stored.

    Parameters
    ----------
    n_actions, n_states : int
        M and N.
    row, s_next : ndarray of int64
        Row numbers and next states, sorted by row and then by next state.
    n : ndarray of int64
        Number of observations of each transition, at least 1.
    """

    n_actions: int
    n_states: int
    row: IntArray
    s_next: IntArray
    n: IntArray

    @classmethod
    def from_keys(cls, n_actions: int, n_states: int, keys: IntArray, n: IntArray) -> Counts:
        """Create counts from unique keys `row * N + s_next` in any order."""
        order = np.argsort(keys)
        row, s_next = np.divmod(keys[order], n_states)
        return cls(n_actions, n_states, row, s_next, n[order])

    @classmethod
    def from_dense(cls, counts: IntArray) -> Counts:
        """Create counts from an array of whole numbers `counts[a, s, s_next]`."""
        counts = np.asarray(counts)
        if counts.ndim != 3 or counts.shape[1] != counts.shape[2]:
            raise ValueError(f"counts have shape {counts.shape}; it must be (n_actions, n_states, n_states)")
        if not np.all((counts >= 0) & (counts == np.floor(counts))):
            raise ValueError("counts must be whole numbers of at least 0")
        n_actions, n_states, _ = counts.shape
        by_row = counts.transpose(1, 0, 2).reshape(n_states * n_actions, n_states)
        row, s_next = np.nonzero(by_row)
        return cls(n_actions, n_states, row, s_next, by_row[row, s_next].astype(np.int64))

    @property
    def n_rows(self) -> int:
        """Number of rows, M N."""
        return self.n_actions * self.n_states

    @cached_property
    def totals(self) -> IntArray:
        """Observations of each row (the paper's K), `(M N,)`."""
        return read_only(self.sum(self.n).astype(np.int64))

    @cached_property
    def n_seen(self) -> IntArray:
        """Distinct next states observed in each row (the paper's T), `(M N,)`."""
        return read_only(np.bincount(self.row, minlength=self.n_rows))

    def sum(self, values: Any) -> FloatArray:
        """Sum of one value per stored entry within each row, `(M N,)`."""
        return np.asarray(np.bincount(self.row, values, self.n_rows), dtype=np.float64)

    def at(self, row: IntArray, s_next: IntArray) -> IntArray:
        """Return the number of observations of each transition (row, s_next), elementwise."""
        position = _find(self.row * self.n_states + self.s_next, np.asarray(row) * self.n_states + s_next)
        if len(self.n) == 0:
            return np.zeros(position.shape, dtype=np.int64)
        return np.where(position >= 0, self.n[position], 0)

    def dense(self) -> IntArray:
        """`counts[a, s, s_next]`, shape `(M, N, N)`."""
        check_dense("counts", self.n_actions, self.n_states, "model.sparse_counts")
        counts = np.zeros((self.n_actions, self.n_states, self.n_states), dtype=np.int64)
        s, a = np.divmod(self.row, self.n_actions)
        counts[a, s, self.s_next] = self.n
        return counts


def row_name(row: int, n_actions: int) -> str:
    """Return the name of a row in messages."""
    s, a = divmod(int(row), n_actions)
    return f"row (a={a}, s={s})"


def row_error(row: int, n_actions: int, template: str, s_next: int | None = None, **values: Any) -> TransitionError:
    """Return an error about a row.

    Parameters
    ----------
    row : int
        Row number, s M + a.
    n_actions : int
        M.
    template : str
        The message. `{row}` stands for the name of the row and `{s_next}` for the state that it can reach.
    s_next : int, optional
        Number of that state.
    **values : object
        All other fields of the template.
    """
    s, a = divmod(int(row), n_actions)
    states = {"s": s} if s_next is None else {"s": s, "s_next": int(s_next)}
    return TransitionError(template.replace("{row}", "row (a={a}, s={s})"), states, {"a": a}, values)


def _row_pointers(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _find(keys: IntArray, wanted: IntArray) -> IntArray:
    """Return the position of each wanted key among the sorted `keys`, -1 if it is missing."""
    position = np.searchsorted(keys, wanted)
    clipped = np.minimum(position, max(len(keys) - 1, 0))
    is_hit = (position < len(keys)) & (keys[clipped] == wanted) if len(keys) else np.zeros(len(wanted), dtype=bool)
    return np.where(is_hit, clipped, -1)


MAX_STATES = 2**31 - 1
"""Largest number of states, because state numbers are int32."""


def checked_rows(rows: Rows) -> Rows:
    """Return rows as plain arrays of the right types, or raise a `ValueError` about the first invalid entry.

    Kernels do no bounds checks, so all rows from outside the package are checked here. Arrays that already have the
    right type are not copied.
    """
    n_actions, n_states = check_count("n_actions", rows.n_actions, 0), check_count("n_states", rows.n_states, 0)
    if n_states < 1 or n_actions < 1 or n_states > MAX_STATES:
        raise ValueError(
            f"theta has {n_actions} actions and {n_states} states; there must be at least one of each, "
            f"and at most {MAX_STATES} states"
        )
    data = np.ascontiguousarray(rows.data, dtype=np.float64).view(np.ndarray)
    pointers, indices = _whole_numbers("indptr", rows.indptr), _whole_numbers("indices", rows.indices)
    n_rows, n = n_actions * n_states, len(data)
    ordered = len(pointers) == n_rows + 1 and pointers[0] == 0 and pointers[-1] == n
    if not ordered or np.any(pointers[1:] < pointers[:-1]):
        raise ValueError(f"indptr of theta must contain {n_rows + 1} numbers rising from 0 to {n}, the length of data")
    if len(indices) != n:
        raise ValueError(f"indices of theta have length {len(indices)}; it must be {n}, the length of data")
    pointers = _as_type(rows.indptr, pointers, np.int64)
    invalid = (indices < 0) | (indices >= n_states)
    not_rising = indices[1:] <= indices[:-1]
    row_starts = pointers[(pointers > 0) & (pointers < n)]
    not_rising[row_starts - 1] = False  # the first state of a row has no predecessor
    invalid[1:] |= not_rising
    if np.any(invalid):
        bad = int(np.flatnonzero(invalid)[0])
        raise row_error(
            int(np.searchsorted(pointers, bad, side="right")) - 1,
            n_actions,
            "{row} of theta lists state {s_next}; the states of a row must be strictly increasing, from 0 to {last}",
            int(indices[bad]),
            last=n_states - 1,
        )
    indices = _as_type(rows.indices, indices, np.int32)
    if pointers is rows.indptr and indices is rows.indices and data is rows.data:
        return rows
    return Rows(n_actions, n_states, pointers, indices, data)


def checked_support(support: Support) -> Support:
    """Return a valid support, or raise a `ValueError`; the states of each row must rise within 0 to N - 1."""
    if support.indptr is None and support.indices is None:
        return Support(check_count("n_actions", support.n_actions, 1), check_count("n_states", support.n_states, 1))
    if support.indptr is None or support.indices is None:
        raise ValueError("a support has both indptr and indices, or neither if every state can follow every other")
    rows = Rows(support.n_actions, support.n_states, support.indptr, support.indices, np.ones(len(support.indices)))
    checked = checked_rows(rows)
    return support if checked is rows else checked.support


def checked_counts(counts: Counts) -> Counts:
    """Return counts as plain arrays of the right types, or raise a `ValueError`; kernels do no bounds checks."""
    n_rows = check_count("n_actions", counts.n_actions, 1) * check_count("n_states", counts.n_states, 1)
    row, s_next, n = (_whole_numbers(name, getattr(counts, name), "counts") for name in ("row", "s_next", "n"))
    if not len(row) == len(s_next) == len(n):
        raise ValueError(
            f"row, s_next and n of counts have lengths {len(row)}, {len(s_next)} and {len(n)}; they must be equal"
        )
    for name, values, high in (("row", row, n_rows - 1), ("s_next", s_next, counts.n_states - 1)):
        if np.any((values < 0) | (values > high)):
            raise ValueError(f"{name} of counts must lie within 0 to {high}")
    if np.any(n < 1) or np.any(n > np.iinfo(np.int64).max):
        raise ValueError("n of counts must be whole numbers of at least 1")
    if all(type(x) is np.ndarray and x.dtype == np.int64 for x in (counts.row, counts.s_next, counts.n)):
        return counts
    return Counts(counts.n_actions, counts.n_states, *(x.astype(np.int64) for x in (row, s_next, n)))


def _whole_numbers(name: str, values: Any, owner: str = "theta") -> Any:
    """Return values as an array of whole numbers with one dimension, or raise a `ValueError`."""
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"{name} of {owner} have shape {array.shape} and type {array.dtype}; "
            "they must be whole numbers in an array of one dimension"
        )
    return array


def _as_type(values: Any, checked: Any, kind: Any) -> Any:
    """Return the values themselves if they are a plain array of the type, otherwise a converted copy."""
    return values if type(values) is np.ndarray and values.dtype == kind and _is_plain(values) else checked.astype(kind)


def _is_plain(values: Any) -> bool:
    """Return whether an array is contiguous, aligned and in native byte order, as kernels expect."""
    return bool(values.flags.c_contiguous and values.flags.aligned and values.dtype.isnative)
