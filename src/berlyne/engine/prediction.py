"""Predicted and realised information gain of successive observations of single rows (Fig. 2)."""

from __future__ import annotations

from berlyne.engine.environment import Truth, draw
from berlyne.engine.jit import jit_nrt_off
from berlyne.engine.row_beliefs import FIRST, SEEN, TOTAL, Belief, find_or_add_slot, learn, realised_gain
from berlyne.validation import FloatArray

PIG, GAIN, PIG_SQUARE, GAIN_SQUARE = 0, 1, 2, 3


@jit_nrt_off
def observe_rows(belief: Belief, truth: Truth, u: FloatArray, sums: FloatArray) -> bool:
    """Observe every row again and again; false if the world did what the prior calls impossible.

    belief : of nothing yet, with PIG as utility; it is left as it was but for estimates.
    u : (rows, n_trials, n_obs), uniform numbers.
    sums : (4, n_obs), sums over rows and trials of PIG, gain, and their squares, in bits.
    """
    n_rows, n_trials, n_obs = u.shape
    for row in range(n_rows):
        s, a = row // belief.graph.n_actions, row % belief.graph.n_actions
        r = s * belief.graph.stride + a
        first_utility, first_length = belief.utility[r], belief.graph.length[s]
        has_first = truth.indices[truth.indptr[row]] == 0
        for trial in range(n_trials):
            for k in range(n_obs):
                e = draw(truth.indptr, truth.cumulative, row, u[row, trial, k])
                s_next = truth.indices[e]
                slot = find_or_add_slot(belief, s, a, s_next)
                if slot < 0:
                    return False
                pig = belief.utility[r]
                before = learn(belief, s, a, s_next, slot)
                gain = realised_gain(belief, s, a, s_next, before, truth.data[e], has_first)
                sums[PIG, k] += pig
                sums[GAIN, k] += gain
                sums[PIG_SQUARE, k] += pig * pig
                sums[GAIN_SQUARE, k] += gain * gain
            forget_row(belief, s, a, first_utility, first_length)
    return True


@jit_nrt_off
def forget_row(belief: Belief, s: int, a: int, utility: float, length: int) -> None:
    """As if row (a, s) had never been observed: its counts, its utility, and the slots of its state."""
    graph = belief.graph
    r = s * graph.stride + a
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        belief.n[k * graph.stride + a] = min(belief.n[k * graph.stride + a], 0)
    belief.row_stats[r, TOTAL] = belief.row_stats[r, SEEN] = belief.row_stats[r, FIRST] = 0
    belief.utility[r] = utility
    graph.length[s] = length
