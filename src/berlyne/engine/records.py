"""What one exploration, or one replay of a history, leaves behind, step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.validation import FloatArray, IndexArray, IntArray


class RunRecord(NamedTuple):
    """Arrays that an exploration fills as it goes.

    states : (T + 1,), the state in which each action was taken, and the last one reached.
    actions, outcomes : (T,), what was done, and the state it led to.
    missing, l1 : (T + 1,), missing information in bits and L1 distance, before and after each step.
    """

    states: IndexArray
    actions: IndexArray
    outcomes: IndexArray
    missing: FloatArray
    l1: FloatArray

    @classmethod
    def allocate(cls, n_steps: int, start: int, missing: float, l1: float) -> RunRecord:
        """One that has made no step yet."""
        record = cls(
            np.empty(n_steps + 1, dtype=np.int32),
            np.empty(n_steps, dtype=np.int32),
            np.empty(n_steps, dtype=np.int32),
            np.empty(n_steps + 1),
            np.empty(n_steps + 1),
        )
        record.states[0], record.missing[0], record.l1[0] = start, missing, l1
        return record

    def between(self, begin: int, end: int) -> RunRecord:
        """The steps from `begin` to `end`, in the same memory."""
        steps, times = slice(begin, end), slice(begin, end + 1)
        return RunRecord(
            self.states[times], self.actions[steps], self.outcomes[steps], self.missing[times], self.l1[times]
        )


class ReplayRecord(NamedTuple):
    """Arrays that a replay fills as it goes: what an explorer thinks before each step.

    values, utility, probabilities : (T, M), of the actions in the state of the step.
    missing : (T + 1,), expected missing information in bits, before each step and after the last; the first is given.
    largest, total, first : (T,), for an explorer that may relocate: the largest value of all pairs, what the weights of
        all pairs sum to, and the row s * stride + a of the first of the best; empty for others.
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
        """Those of an explorer that has seen nothing yet."""
        values, utility, probabilities = (np.empty((n_steps, n_actions)) for _ in range(3))
        of_all = n_steps if relocates else 0
        first = np.empty(of_all, dtype=np.int64)
        record = cls(values, utility, probabilities, np.empty(n_steps + 1), np.empty(of_all), np.empty(of_all), first)
        record.missing[0] = missing
        return record
