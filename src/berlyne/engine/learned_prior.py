"""Explore while the concentration of the prior is learned by maximum likelihood (Fig. S5, reading R24).

The likelihood of all observations depends on alpha through two histograms. With E_j the number of transitions
seen more than j times, and R_{S,j} the number of rows with S possible outcomes seen more than j times,

    d log L / d alpha = sum_j E_j / (alpha + j) - sum_S sum_j R_{S,j} / (alpha + j / S),

so an observation adds one to one entry of each histogram. A new alpha changes every estimate and every utility.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from berlyne.engine.agent_state import AgentState
from berlyne.engine.blocks import Block, CompiledFunction
from berlyne.engine.environment import Truth, true_probability
from berlyne.engine.jit import COMPILING, inline, kernel
from berlyne.engine.loop import Draws, explore_step
from berlyne.engine.records import RunRecord
from berlyne.engine.row_beliefs import LOG, SIZE, TERM, TOTAL, Belief, family_of
from berlyne.engine.successor_graph import slot_of
from berlyne.priors.protocols import CompiledPrior
from berlyne.validation import FloatArray, IntArray

PRECISION = 1e-10
"""Relative precision of the maximum-likelihood alpha."""
TABLE_SIZE = 64
"""Number of lines of the table over counts, which is computed again for every new alpha."""


class Histograms(NamedTuple):
    """Histograms of counts, on which the likelihood depends.

    A size class contains the rows with the same number of possible outcomes.

    Attributes
    ----------
    entries : ndarray
        Number of transitions seen more than j times, `[j]`.
    rows : ndarray
        Number of rows seen more than j times, `[size class, j]`.
    used : ndarray of int
        Used length of `entries` in `[0]`, and of `rows` in `[1 + size class]`.
    sizes : ndarray of shape (classes,)
        Number of possible outcomes of the rows of each class.
    size_class : ndarray of int
        Class of each row, `[s * stride + a]`.
    """

    entries: FloatArray
    rows: FloatArray
    used: IntArray
    sizes: FloatArray
    size_class: IntArray


class Refitting(NamedTuple):
    """Data and schedule for refitting alpha.

    Attributes
    ----------
    histograms : Histograms
        Histograms of the counts.
    alphas : ndarray of shape (n_steps + 1,)
        The alpha in use at each time; the first is set by the caller.
    logs : ndarray of shape (TABLE_SIZE,)
        Scratch for log2(alpha + n).
    low, high : float
        Bounds of alpha.
    n_always : int
        Number of first steps after which a new alpha is always used.
    tolerance : float
        After these steps, a new alpha is used if its relative change is larger than this.
    entropy : float
        Entropy of the world, in bits.
    update_row : CompiledFunction
        Of the prior, see `berlyne.engine.row_beliefs.Family`.
    """

    histograms: Histograms
    alphas: FloatArray
    logs: FloatArray
    low: float
    high: float
    n_always: int
    tolerance: float
    entropy: float
    update_row: Any


def with_own_table(agent: Block) -> Block:
    """Return an agent whose prior can change: its numbers and its table are its own, not shared."""
    state: AgentState = agent.record
    belief = state.belief
    own = belief._replace(numbers=belief.numbers.copy(), table=belief.table[:TABLE_SIZE].copy())
    return Block.of(state._replace(belief=own))


def new_refitting(
    agent: Block, prior: CompiledPrior, alphas: FloatArray, low: float, high: float, n_always: int, tolerance: float,
    entropy: float,
) -> Block:  # fmt: skip
    """Return what `explore_learning` needs to learn alpha, see `Refitting`."""
    state: AgentState = agent.record
    update_row = family_of(prior).update_row
    if COMPILING:
        numbers = (types.int64,) * 4
        update_row = CompiledFunction(update_row, agent.type.fields["belief"][1], *numbers)
    histograms = empty_histograms(state.belief, len(alphas))
    refitting = Refitting(histograms, alphas, np.empty(TABLE_SIZE), low, high, n_always, tolerance, entropy, update_row)
    return Block.of(refitting)


def empty_histograms(belief: Belief, length: int) -> Histograms:
    """Make histograms of zeros, with room for `length` observations."""
    sizes, size_class = np.unique(belief.row_stats[:, SIZE], return_inverse=True)  # padding has size 0
    return Histograms(
        np.zeros(length),
        np.zeros((len(sizes), length)),
        np.zeros(1 + len(sizes), dtype=np.int64),
        np.maximum(sizes, 1).astype(np.float64),
        size_class.astype(np.int64),
    )


@inline
def add_observation(histograms: Histograms, r: int, n_entry: int, n_row: int) -> None:
    """Add an observation of row r, which was seen `n_row` times before, and its outcome `n_entry` times."""
    c = histograms.size_class[r]
    histograms.entries[n_entry] += 1.0
    histograms.rows[c, n_row] += 1.0
    histograms.used[0] = max(histograms.used[0], n_entry + 1)
    histograms.used[1 + c] = max(histograms.used[1 + c], n_row + 1)


@inline
def likelihood_derivatives(histograms: Histograms, alpha: float) -> tuple[float, float]:
    """First and second derivative of the log likelihood with respect to alpha, in nats."""
    first, second = 0.0, 0.0
    for j in range(histograms.used[0]):
        x = 1.0 / (alpha + j)
        first += histograms.entries[j] * x
        second -= histograms.entries[j] * x * x
    for c in range(len(histograms.sizes)):
        part = 1.0 / histograms.sizes[c]
        for j in range(histograms.used[1 + c]):
            x = 1.0 / (alpha + j * part)
            first -= histograms.rows[c, j] * x
            second += histograms.rows[c, j] * x * x
    return first, second


@inline
def is_uninformative(histograms: Histograms) -> bool:
    """Return whether all alphas have the same likelihood: no row with several possible outcomes was seen twice."""
    longest = 0
    for c in range(len(histograms.sizes)):
        if histograms.sizes[c] > 1.0:
            longest = max(longest, histograms.used[1 + c])
    return longest < 2


@inline
def maximum_likelihood_alpha(histograms: Histograms, alpha: float, low: float, high: float) -> float:
    """Return the alpha of largest likelihood in [low, high], by Newton's method on log(alpha) in a bracket."""
    below, above, alpha = low, high, min(max(alpha, low), high)
    for _ in range(200):
        first, second = likelihood_derivatives(histograms, alpha)
        if first > 0.0:
            below = alpha
        else:
            above = alpha
        curvature = first + alpha * second
        step = -first / curvature if curvature < 0.0 else (1.0 if first > 0.0 else -1.0)
        alpha_next = alpha * math.exp(min(max(step, -3.0), 3.0))
        if alpha_next >= high and above == high:
            if likelihood_derivatives(histograms, high)[0] >= 0.0:
                return high
            alpha_next = high
        elif alpha_next <= low and below == low:
            if likelihood_derivatives(histograms, low)[0] <= 0.0:
                return low
            alpha_next = low
        if not below < alpha_next < above:
            alpha_next = math.sqrt(below * above)
        if abs(alpha_next - alpha) <= PRECISION * alpha:
            return alpha_next
        alpha = alpha_next
    return alpha


@inline
def log_loss(belief: Belief, truth: Truth, logs: FloatArray, s: int, a: int) -> float:
    """Cross entropy -sum theta log2 theta_hat of one row in bits; minus the row's entropy, its missing information."""
    graph, alpha = belief.graph, belief.numbers[0]
    r, row = s * graph.stride + a, s * graph.n_actions + a
    loss: float = math.log2(alpha * belief.row_stats[r, SIZE] + belief.row_stats[r, TOTAL]) - logs[0]
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        n_seen = belief.n[k * graph.stride + a]
        if n_seen > 0:
            log_pseudo_count = logs[n_seen] if n_seen < len(logs) else math.log2(alpha + n_seen)
            if len(truth.aligned):
                theta = truth.aligned[k * graph.stride + a]
            else:
                begin, end = truth.indptr[row], truth.indptr[row + 1]
                theta = true_probability(truth.indices, truth.data, begin, end, graph.succ[k])
            loss -= theta * (log_pseudo_count - logs[0])
    return loss


@inline
def set_alpha(agent: AgentState, truth: Truth, refitting: Refitting, alpha: float) -> tuple[float, float]:
    """Estimate and value every row with a new alpha; return log-loss in bits and L1 distance, summed over rows."""
    belief, logs = agent.belief, refitting.logs
    belief.numbers[0] = alpha
    for n in range(len(belief.table)):
        belief.table[n, LOG] = math.log1p(1.0 / (alpha + n))
        belief.table[n, TERM] = belief.term(alpha + n) if belief.has_utility else 0.0
        logs[n] = math.log2(alpha + n)
    loss, distance = 0.0, 0.0
    for s in range(len(belief.graph.start)):
        for a in range(belief.graph.n_actions):
            refitting.update_row(belief, s, a, 0, 0)
            loss += log_loss(belief, truth, logs, s, a)
            r = s * belief.graph.stride + a
            truth.l1[r] = truth.row_distance(belief, truth, s, a)
            distance += truth.l1[r]
    agent.reset(belief, agent.choice, agent.memory)
    return loss, distance


@kernel
def explore_learning(agent: AgentState, truth: Truth, record: RunRecord, draws: Draws, refitting: Refitting) -> int:
    """Explore as `berlyne.engine.loop.explore` does, with a new alpha after each step; return the steps made."""
    belief, histograms, alphas = agent.belief, refitting.histograms, refitting.alphas
    graph, n_steps = belief.graph, len(draws.world)
    alpha = best = alphas[0]
    for t in range(n_steps):
        if explore_step(agent, truth, record, draws, t) < 0:
            return t
        s, a = record.states[t], record.actions[t]
        r, slot = s * graph.stride + a, slot_of(graph, s, record.outcomes[t])
        add_observation(histograms, r, belief.n[slot * graph.stride + a] - 1, belief.row_stats[r, TOTAL] - 1)
        if not is_uninformative(histograms):
            best = maximum_likelihood_alpha(histograms, best, refitting.low, refitting.high)
            if best != alpha and (t < refitting.n_always or abs(best - alpha) > refitting.tolerance * alpha):
                alpha = best
                loss, record.l1[t + 1] = set_alpha(agent, truth, refitting, alpha)
                record.missing[t + 1] = loss - refitting.entropy
        alphas[t + 1] = alpha
    return n_steps
