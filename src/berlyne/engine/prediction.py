"""Predicted and realised information gain of successive observations of single rows (Fig. 2)."""

from __future__ import annotations

from typing import NamedTuple

from berlyne.engine.agent_state import AgentState
from berlyne.engine.environment import Truth, draw
from berlyne.engine.jit import inline, kernel
from berlyne.engine.row_beliefs import FIRST, SEEN, TOTAL, Belief
from berlyne.validation import FloatArray

PIG, GAIN, PIG_SQUARE, GAIN_SQUARE = 0, 1, 2, 3


class Trials(NamedTuple):
    """Uniform numbers, and the sums that are computed from them.

    Attributes
    ----------
    u : ndarray of shape (rows, n_trials, n_obs)
        Uniform numbers in [0, 1).
    sums : ndarray of shape (4, n_obs)
        Sums over rows and trials of PIG, gain, and their squares, in bits.
    """

    u: FloatArray
    sums: FloatArray


@kernel
def observe_rows(agent: AgentState, truth: Truth, trials: Trials) -> bool:
    """Observe every row repeatedly; return False if the world did something impossible under the prior.

    The agent must have no data, and PIG as its utility. Afterwards it is as before, except for its estimates.
    """
    belief, u, sums = agent.belief, trials.u, trials.sums
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
                pig = belief.utility[r]
                before = agent.learn(belief, s, a, s_next)
                if before < 0:
                    return False
                gain = agent.gain(belief, s, a, s_next, before, truth.data[e], has_first)
                sums[PIG, k] += pig
                sums[GAIN, k] += gain
                sums[PIG_SQUARE, k] += pig * pig
                sums[GAIN_SQUARE, k] += gain * gain
            forget_row(belief, s, a, first_utility, first_length)
    return True


@inline
def forget_row(belief: Belief, s: int, a: int, utility: float, length: int) -> None:
    """Set the counts of row (a, s) to zero, and its utility and the number of slots of its state to these."""
    graph = belief.graph
    r, first = s * graph.stride + a, graph.start[s]
    for k in range(first, first + graph.length[s]):
        belief.n[k * graph.stride + a] = min(belief.n[k * graph.stride + a], 0)
    belief.row_stats[r, TOTAL] = belief.row_stats[r, SEEN] = belief.row_stats[r, FIRST] = 0
    belief.utility[r] = utility
    if graph.capacity:
        graph.length[s] = length
