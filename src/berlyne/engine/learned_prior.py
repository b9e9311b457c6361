"""Exploring while the concentration of the prior is learned by maximum likelihood (Fig. S5, reading R24).

The likelihood of all observations depends on alpha through two histograms. With E_j the number of transitions
seen more than j times, and R_{S,j} the number of rows with S possible outcomes seen more than j times,

    d log L / d alpha = sum_j E_j / (alpha + j) - sum_S sum_j R_{S,j} / (alpha + j / S),

so an observation adds one to one entry of each. A new alpha changes every estimate and every utility.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.engine.action_selection import ChoiceState
from berlyne.engine.argmax import grow_tree
from berlyne.engine.closed_forms import term_of
from berlyne.engine.environment import Truth, row_distance, true_probability
from berlyne.engine.jit import jit_nrt_off, kernel
from berlyne.engine.loop import explore
from berlyne.engine.records import RunRecord
from berlyne.engine.row_beliefs import LOG, SIZE, TERM, TOTAL, Belief, update_row
from berlyne.engine.successor_graph import slot_of
from berlyne.engine.value_iteration import mark_row_changed
from berlyne.validation import FloatArray, IntArray

PRECISION = 1e-10
"""Relative precision to which the maximum of the likelihood is found."""
TABLE_SIZE = 64
"""Lines of the table over counts, which a new concentration fills again."""


class Histograms(NamedTuple):
    """What the likelihood depends on.

    entries : [j], transitions seen more than j times.
    rows : [size class, j], rows seen more than j times.
    used : [0] length of `entries` in use, [1 + size class] of `rows`.
    sizes : (classes,), how many outcomes the rows of each class can have.
    of_size : [s * stride + a], the class of each row.
    """

    entries: FloatArray
    rows: FloatArray
    used: IntArray
    sizes: FloatArray
    of_size: IntArray


class Refitting(NamedTuple):
    """When to learn a new alpha, and from what.

    alphas : (n_steps + 1,), the one in use at each time; the first is given.
    logs : (TABLE,), scratch for log2(alpha + n).
    low, high : where alpha is looked for.
    always, tolerance : it is put to use after each of the first steps, then if it differs by more than this share.
    entropy : of the world, in bits.
    """

    seen: Histograms
    alphas: FloatArray
    logs: FloatArray
    low: float
    high: float
    always: int
    tolerance: float
    entropy: float


def copy_prior_table(belief: Belief) -> Belief:
    """The belief with numbers and a table of its own: the usual ones are shared by all explorers of the same prior."""
    return belief._replace(numbers=belief.numbers.copy(), table=belief.table[:TABLE_SIZE].copy())


def empty_histograms(belief: Belief, length: int) -> Histograms:
    """Empty histograms for up to `length` observations."""
    sizes, of_size = np.unique(belief.row_stats[:, SIZE], return_inverse=True)  # those of the padding are 0
    return Histograms(
        np.zeros(length),
        np.zeros((len(sizes), length)),
        np.zeros(1 + len(sizes), dtype=np.int64),
        np.maximum(sizes, 1).astype(np.float64),
        of_size.astype(np.int64),
    )


@jit_nrt_off
def count(seen: Histograms, r: int, n_entry: int, n_row: int) -> None:
    """Add an observation of row r, whose outcome had been seen `n_entry` and itself `n_row` times before."""
    c = seen.of_size[r]
    seen.entries[n_entry] += 1.0
    seen.rows[c, n_row] += 1.0
    seen.used[0] = max(seen.used[0], n_entry + 1)
    seen.used[1 + c] = max(seen.used[1 + c], n_row + 1)


@jit_nrt_off
def likelihood_derivatives(seen: Histograms, alpha: float) -> tuple[float, float]:
    """First and second derivative of the log likelihood with respect to alpha, in nats."""
    first, second = 0.0, 0.0
    for j in range(seen.used[0]):
        x = 1.0 / (alpha + j)
        first += seen.entries[j] * x
        second -= seen.entries[j] * x * x
    for c in range(len(seen.sizes)):
        part = 1.0 / seen.sizes[c]
        for j in range(seen.used[1 + c]):
            x = 1.0 / (alpha + j * part)
            first -= seen.rows[c, j] * x
            second += seen.rows[c, j] * x * x
    return first, second


@jit_nrt_off
def is_uninformative(seen: Histograms) -> bool:
    """Whether every alpha explains the data equally well: no row with a choice was seen twice."""
    most = 0
    for c in range(len(seen.sizes)):
        if seen.sizes[c] > 1.0:
            most = max(most, seen.used[1 + c])
    return most < 2


@jit_nrt_off
def maximum_likelihood_alpha(seen: Histograms, alpha: float, low: float, high: float) -> float:
    """The alpha of largest likelihood between `low` and `high`: Newton's method on its logarithm, in a bracket."""
    below, above, alpha = low, high, min(max(alpha, low), high)
    for _ in range(200):
        first, second = likelihood_derivatives(seen, alpha)
        if first > 0.0:
            below = alpha
        else:
            above = alpha
        bend = first + alpha * second
        step = -first / bend if bend < 0.0 else (1.0 if first > 0.0 else -1.0)
        new = alpha * math.exp(min(max(step, -3.0), 3.0))
        if new >= high and above == high:
            if likelihood_derivatives(seen, high)[0] >= 0.0:
                return high
            new = high
        elif new <= low and below == low:
            if likelihood_derivatives(seen, low)[0] <= 0.0:
                return low
            new = low
        if not below < new < above:
            new = math.sqrt(below * above)
        if abs(new - alpha) <= PRECISION * alpha:
            return new
        alpha = new
    return alpha


@jit_nrt_off
def log_loss(belief: Belief, truth: Truth, logs: FloatArray, s: int, a: int) -> float:
    """-sum theta log2 theta_hat of one row; less the entropy of the row it is its missing information, in bits."""
    graph, alpha = belief.graph, belief.numbers[0]
    r, row = s * graph.stride + a, s * graph.n_actions + a
    loss: float = math.log2(alpha * belief.row_stats[r, SIZE] + belief.row_stats[r, TOTAL]) - logs[0]
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        seen = belief.n[k * graph.stride + a]
        if seen > 0:
            more = logs[seen] if seen < len(logs) else math.log2(alpha + seen)
            if len(truth.aligned):
                theta = truth.aligned[k * graph.stride + a]
            else:
                begin, end = truth.indptr[row], truth.indptr[row + 1]
                theta = true_probability(truth.indices, truth.data, begin, end, graph.succ[k])
            loss -= theta * (more - logs[0])
    return loss


@jit_nrt_off
def set_alpha(belief: Belief, choice: ChoiceState, truth: Truth, logs: FloatArray, alpha: float) -> tuple[float, float]:
    """Estimate and value every row with a new alpha; returns log-loss in bits and L1 distance, summed over rows."""
    belief.numbers[0] = alpha
    for n in range(len(belief.table)):
        belief.table[n, LOG] = math.log1p(1.0 / (alpha + n))
        belief.table[n, TERM] = term_of(belief.form, alpha + n) if belief.form >= 0 else 0.0
        logs[n] = math.log2(alpha + n)
    loss, distance = 0.0, 0.0
    for s in range(len(belief.graph.start)):
        for a in range(belief.graph.n_actions):
            update_row(belief, s, a)
            loss += log_loss(belief, truth, logs, s, a)
            r = s * belief.graph.stride + a
            truth.l1[r] = row_distance(belief, truth, s, a)
            distance += truth.l1[r]
        if choice.plan.depth > 0:
            mark_row_changed(choice.plan, belief.utility, s)
    choice.plan.home[0] = -1  # nothing that was planned holds any more
    if len(choice.tree.top):
        grow_tree(choice.tree, belief.utility)
    return loss, distance


@kernel
def explore_learning(
    belief: Belief,
    choice: ChoiceState,
    truth: Truth,
    record: RunRecord,
    refitting: Refitting,
    u_agent: FloatArray,
    u_world: FloatArray,
) -> int:
    """`berlyne.engine.loop.explore`, one step at a time, with a new alpha after each; returns the steps made."""
    graph, seen, alphas = belief.graph, refitting.seen, refitting.alphas
    alpha = best = alphas[0]
    for t in range(len(u_world)):
        here = RunRecord(
            record.states[t : t + 2], record.actions[t : t + 1], record.outcomes[t : t + 1], record.missing[t : t + 2],
            record.l1[t : t + 2],
        )  # fmt: skip
        u = u_world[t : t + 1]  # and for resets, of which there are none
        if explore(belief, choice, truth, here, u_agent[t : t + 1], u, u) != 1:
            return t
        s, a = record.states[t], record.actions[t]
        r, slot = s * graph.stride + a, slot_of(graph, s, record.outcomes[t])
        count(seen, r, belief.n[slot * graph.stride + a] - 1, belief.row_stats[r, TOTAL] - 1)
        if not is_uninformative(seen):
            best = maximum_likelihood_alpha(seen, best, refitting.low, refitting.high)
            if best != alpha and (t < refitting.always or abs(best - alpha) > refitting.tolerance * alpha):
                alpha = best
                loss, record.l1[t + 1] = set_alpha(belief, choice, truth, refitting.logs, alpha)
                record.missing[t + 1] = loss - refitting.entropy
        alphas[t + 1] = alpha
    return len(u_world)
