"""Per-step arrays of an exploration or of the replay of a history."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.validation import FloatArray, IndexArray, IntArray

NOTHING_LEARNED: FloatArray = np.empty(0)
"""Parameters of a prior that is never refitted."""


class RunRecord(NamedTuple):
    """Arrays that an exploration fills step by step.

    Attributes
    ----------
    states : ndarray of int, shape (T + 1,)
        The state in which each action is taken; last, the state after the last step.
    actions, outcomes : ndarray of int, shape (T,)
        The action of each step, and the state that it led to.
    missing, l1 : ndarray of shape (T + 1,)
        Missing information in bits, and L1 distance: at the start, and after each step.
    learned : ndarray of shape (T + 1, P)
        The P parameters of the prior that are learned, at the same times.
    """

    states: IndexArray
    actions: IndexArray
    outcomes: IndexArray
    missing: FloatArray
    l1: FloatArray
    learned: FloatArray

    @classmethod
    def allocate(
        cls, n_steps: int, start: int, missing: float, l1: float, learned: FloatArray = NOTHING_LEARNED
    ) -> RunRecord:
        """Allocate a record of `n_steps` steps, and set its first entries."""
        record = cls(
            np.empty(n_steps + 1, dtype=np.int32),
            np.empty(n_steps, dtype=np.int32),
            np.empty(n_steps, dtype=np.int32),
            np.empty(n_steps + 1),
            np.empty(n_steps + 1),
            np.empty((n_steps + 1, len(learned))),
        )
        record.states[0], record.missing[0], record.l1[0], record.learned[0] = start, missing, l1, learned
        return record

    def between(self, begin: int, end: int) -> RunRecord:
        """Return a view of the steps from `begin` to `end`."""
        steps, times = slice(begin, end), slice(begin, end + 1)
        path = self.states[times], self.actions[steps], self.outcomes[steps]
        return RunRecord(*path, self.missing[times], self.l1[times], self.learned[times])


class ReplayRecord(NamedTuple):
    """Arrays that a replay fills step by step, from the agent's belief before each step.

    Attributes
    ----------
    values, utility, probabilities : ndarray of shape (T, M)
        Value, utility and probability of each action in the state of the step.
    missing : ndarray of shape (T + 1,)
        Expected missing information in bits, before each step and after the last one; `allocate` sets the first.
    largest : ndarray of shape (T,)
        Largest value of all pairs, if the strategy relocates; otherwise empty, like `total` and `first`.
    total : ndarray of shape (T,)
        Sum of the weights of all pairs.
    first : ndarray of int, shape (T,)
        Row `s * stride + a` of the first of the best pairs.
    """

    values: FloatArray
    utility: FloatArray
    probabilities: FloatArray
    missing: FloatArray
    largest: FloatArray
    total: FloatArray
    first: IntArray

    @classmethod
    def allocate(cls, n_steps: int, n_actions: int, missing: float, relocates: bool) -> ReplayRecord:
        """Allocate a record of `n_steps` steps, and set `missing` before the first one."""
        values, utility, probabilities = (np.empty((n_steps, n_actions)) for _ in range(3))
        n_all = n_steps if relocates else 0
        first = np.empty(n_all, dtype=np.int64)
        record = cls(values, utility, probabilities, np.empty(n_steps + 1), np.empty(n_all), np.empty(n_all), first)
        record.missing[0] = missing
        return record

    @classmethod
    def allocate_values(cls, n_steps: int, n_actions: int) -> ReplayRecord:
        """Allocate a record of `n_steps` steps that has values only; all other arrays are empty."""
        empty, first = (np.empty((0, n_actions)), np.empty((0, n_actions)), np.empty(0)), np.empty(0, dtype=np.int64)
        return cls(np.empty((n_steps, n_actions)), *empty, np.empty(0), np.empty(0), first)
