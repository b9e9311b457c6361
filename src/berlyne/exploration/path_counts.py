"""What had been observed at any time of a path, without going along it.

The times of each transition are sorted once; how often it had been made by a time is then found by bisection, so a
moment of a run costs O(U log T), with U different transitions in T steps.
"""

from __future__ import annotations

import numpy as np

from berlyne.sparse import Counts
from berlyne.validation import IndexArray, IntArray


class PathCounts:
    """The transitions of a path, ready to be counted up to any time.

    Parameters
    ----------
    n_actions, n_states : M and N.
    states, actions, next_states : (T,), what was done in every step, and what it led to.
    """

    def __init__(
        self, n_actions: int, n_states: int, states: IndexArray, actions: IndexArray, next_states: IndexArray
    ) -> None:
        self.n_actions, self.n_states, self.n_steps = n_actions, n_states, len(actions)
        self._row = states.astype(np.int64) * n_actions + actions
        self._next = next_states.astype(np.int64)
        self._keys, self._sorted = self._by_time(self._row * n_states + self._next)
        self._rows, self._rows_sorted = self._by_time(self._row)

    def _by_time(self, values: IntArray) -> tuple[IntArray, IntArray]:
        """Distinct values, and for every step the number of its value and its time in one, ascending."""
        distinct, which = np.unique(values, return_inverse=True)
        return distinct, np.sort(which * (self.n_steps + 1) + np.arange(self.n_steps))

    def _before(self, found: IntArray, n: int, t: int) -> tuple[IntArray, IntArray]:
        """Where the steps of each of n values begin among all sorted, and where those before time t end."""
        first = np.arange(n) * (self.n_steps + 1)
        return np.searchsorted(found, first), np.searchsorted(found, first + t)

    def counts(self, t: int) -> Counts:
        """How often each transition was made in the first t steps."""
        begin, end = self._before(self._sorted, len(self._keys), t)
        seen = end > begin
        return Counts.from_keys(self.n_actions, self.n_states, self._keys[seen], (end - begin)[seen])

    def last(self, t: int) -> dict[int, int]:
        """The last outcome of each row r = s M + a that was tried in the first t steps."""
        begin, end = self._before(self._rows_sorted, len(self._rows), t)
        seen = end > begin
        when = self._rows_sorted[end[seen] - 1] % (self.n_steps + 1)
        return dict(zip(self._rows[seen].tolist(), self._next[when].tolist(), strict=True))
