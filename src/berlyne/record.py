"""What one exploration leaves behind, step by step."""

from __future__ import annotations

import numpy as np


class Record:
    """Arrays that an exploration of `n_steps` fills as it goes.

    states : (n_steps + 1,), the state in which each action was taken, and the last one reached.
    actions, outcomes : (n_steps,), what was done, and the state it led to.
    missing, l1 : (n_steps + 1,), missing information in bits and L1 distance, before and after each step.
    t : steps recorded so far.
    """

    def __init__(self, n_steps: int, start: int, missing: float, l1: float) -> None:
        self.states = np.empty(n_steps + 1, dtype=np.int32)
        self.actions = np.empty(n_steps, dtype=np.int32)
        self.outcomes = np.empty(n_steps, dtype=np.int32)
        self.missing = np.empty(n_steps + 1)
        self.l1 = np.empty(n_steps + 1)
        self.states[0], self.missing[0], self.l1[0] = start, missing, l1
        self.t = 0

    def step(self, s: int, a: int, s_next: int, gain: float, closer: float) -> None:
        """Record one step, the information gained and the L1 distance closed by it."""
        t = self.t
        self.states[t], self.actions[t], self.outcomes[t], self.states[t + 1] = s, a, s_next, s_next
        self.missing[t + 1] = self.missing[t] - gain
        self.l1[t + 1] = self.l1[t] - closer
        self.t = t + 1
