"""Counting what a path observed."""

from __future__ import annotations

from typing import Any

from berlyne.arrays import IndexArray, IntArray
from berlyne.engine.compile import kernel


@kernel
def tally(
    states: IndexArray, actions: IndexArray, outcomes: IndexArray, n_states: int, until: IntArray, out: Any
) -> None:
    """Add to line j of `out`, at (a N + s) N + s_next, the transitions of the first `until[j]` steps.

    `until` ascends; `out` holds zeros, and may be wider than the world needs.
    """
    done, n = 0, (actions.max() + 1) * n_states * n_states if len(actions) else 0
    for j in range(len(until)):
        if j > 0:
            out[j, :n] = out[j - 1, :n]
        for t in range(done, until[j]):
            out[j, (actions[t] * n_states + states[t]) * n_states + outcomes[t]] += 1
        done = until[j]
