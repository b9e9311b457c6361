"""Counts of transitions at any time of a path, without replaying it.

The times of each transition are sorted once. The count up to a time is then found by bisection, which costs O(U log T)
for U different transitions in T steps.
"""

from __future__ import annotations

import numpy as np

from berlyne.sparse import Counts
from berlyne.validation import IndexArray, IntArray


class PathCounts:
    """Count the transitions of a path up to any time.

    Parameters
    ----------
    n_actions, n_states : int
        Numbers of actions and states, M and N.
    states, actions, next_states : ndarray of shape (T,)
        State, action and next state of every step.
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
        """Return the distinct values, and sorted keys that combine the index of a value with a step that has it."""
        distinct, index = np.unique(values, return_inverse=True)
        return distinct, np.sort(index * (self.n_steps + 1) + np.arange(self.n_steps))

    def _before(self, keys: IntArray, n: int, t: int) -> tuple[IntArray, IntArray]:
        """Return, for each of n values, the start of its keys and the end of those before time t."""
        first = np.arange(n) * (self.n_steps + 1)
        return np.searchsorted(keys, first), np.searchsorted(keys, first + t)

    def counts(self, t: int) -> Counts:
        """Return the count of each transition in the first t steps."""
        begin, end = self._before(self._sorted, len(self._keys), t)
        seen = end > begin
        return Counts.from_keys(self.n_actions, self.n_states, self._keys[seen], (end - begin)[seen])

    def last(self, t: int) -> dict[int, int]:
        """Return the last outcome of each row r = s M + a that was tried in the first t steps."""
        begin, end = self._before(self._rows_sorted, len(self._rows), t)
        seen = end > begin
        step = self._rows_sorted[end[seen] - 1] % (self.n_steps + 1)
        return dict(zip(self._rows[seen].tolist(), self._next[step].tolist(), strict=True))
