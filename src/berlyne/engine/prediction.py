"""Compute predicted and realised information gain of successive observations of single rows (Fig. 2)."""

from __future__ import annotations

from berlyne.engine.environment import Truth, draw
from berlyne.engine.jit import jit_nrt_off
from berlyne.engine.row_beliefs import FIRST, SEEN, TOTAL, Belief, find_or_add_slot, learn, realised_gain
from berlyne.validation import FloatArray

PIG, GAIN, PIG_SQUARE, GAIN_SQUARE = 0, 1, 2, 3
"""Lines of the sums that `observe_rows` adds to."""


@jit_nrt_off
def observe_rows(belief: Belief, truth: Truth, u: FloatArray, sums: FloatArray) -> bool:
    """Observe every row `n_obs` times in each of `n_trials` trials, and add up PIG and information gain.

    Parameters
    ----------
    belief : Belief
        A belief without observations, with PIG as its utility. All but its estimates is restored.
    truth : Truth
        The true world.
    u : ndarray of shape (rows, n_trials, n_obs)
        Uniform numbers in [0, 1).
    sums : ndarray of shape (4, n_obs)
        Sums over rows and trials of PIG, gain and their squares, in bits; the kernel adds to it.

    Returns
    -------
    bool
        False if an outcome has probability zero under the prior.
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
    """Reset row (a, s) to no observations: its counts, its utility, and the number of slots of its state."""
    graph = belief.graph
    r = s * graph.stride + a
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        belief.n[k * graph.stride + a] = min(belief.n[k * graph.stride + a], 0)
    belief.row_stats[r, TOTAL] = belief.row_stats[r, SEEN] = belief.row_stats[r, FIRST] = 0
    belief.utility[r] = utility
    graph.length[s] = length
