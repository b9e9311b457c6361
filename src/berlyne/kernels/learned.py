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

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.belief import LOG, SIZE, SUMMAND, TOTAL, Belief, learn_dirichlet, summand
from berlyne.kernels.choose import RELOCATE, Agent, grow_tree
from berlyne.kernels.compile import kernel
from berlyne.kernels.loop import SIMULATE, Truth, row_l1_aligned, row_l1_shared, run
from berlyne.kernels.plan import Plan, forget

PRECISION = 1e-10
"""Relative precision to which the maximum of the likelihood is found."""


class Histograms(NamedTuple):
    """What the likelihood depends on.

    entries : [j], transitions seen more than j times.
    rows : [size class, j], rows seen more than j times.
    top : [0] length of `entries` in use, [1 + size class] of `rows`.
    sizes : (classes,), how many outcomes the rows of each class can have.
    of_size : [s * stride + a], the class of each row.
    """

    entries: FloatArray
    rows: FloatArray
    top: IntArray
    sizes: FloatArray
    of_size: IntArray


@kernel
def count(seen: Histograms, r: int, n_entry: int, n_row: int) -> None:
    """Add an observation of row r, whose outcome had been seen `n_entry` and itself `n_row` times before."""
    c = seen.of_size[r]
    seen.entries[n_entry] += 1.0
    seen.rows[c, n_row] += 1.0
    seen.top[0] = max(seen.top[0], n_entry + 1)
    seen.top[1 + c] = max(seen.top[1 + c], n_row + 1)


@kernel
def slope(seen: Histograms, alpha: float) -> tuple[float, float]:
    """First and second derivative of the log likelihood with respect to alpha, in nats."""
    first, second = 0.0, 0.0
    for j in range(seen.top[0]):
        x = 1.0 / (alpha + j)
        first += seen.entries[j] * x
        second -= seen.entries[j] * x * x
    for c in range(len(seen.sizes)):
        share = 1.0 / seen.sizes[c]
        for j in range(seen.top[1 + c]):
            x = 1.0 / (alpha + j * share)
            first -= seen.rows[c, j] * x
            second += seen.rows[c, j] * x * x
    return first, second


@kernel
def says_nothing(seen: Histograms) -> bool:
    """Whether every alpha explains the data equally well: no row with a choice was seen twice."""
    most = 0
    for c in range(len(seen.sizes)):
        if seen.sizes[c] > 1.0:
            most = max(most, seen.top[1 + c])
    return most < 2


@kernel
def most_likely(seen: Histograms, alpha: float, low: float, high: float) -> float:
    """The alpha of largest likelihood between `low` and `high`: Newton's method on its logarithm, in a bracket."""
    below, above, alpha = low, high, min(max(alpha, low), high)
    for _ in range(200):
        first, second = slope(seen, alpha)
        if first > 0.0:
            below = alpha
        else:
            above = alpha
        bend = first + alpha * second
        step = -first / bend if bend < 0.0 else (1.0 if first > 0.0 else -1.0)
        new = alpha * math.exp(min(max(step, -3.0), 3.0))
        if new >= high and above == high:
            if slope(seen, high)[0] >= 0.0:
                return high
            new = high
        elif new <= low and below == low:
            if slope(seen, low)[0] <= 0.0:
                return low
            new = low
        if not below < new < above:
            new = math.sqrt(below * above)
        if abs(new - alpha) <= PRECISION * alpha:
            return new
        alpha = new
    return alpha


@kernel
def adopt(
    belief: Belief, plan: Plan, agent: Agent, truth: Truth, alpha: float, logs: FloatArray
) -> tuple[float, float]:
    """Estimate and value every row with a new alpha; returns log-loss in bits and L1 distance, summed over rows.

    The log-loss is -sum theta log2 theta_hat, which less the entropy of the world is the missing information.
    """
    start, length, succ, weight, share = belief.start, belief.length, belief.succ, belief.weight, belief.share
    n, tally, utility, tables, stride = belief.n, belief.tally, belief.utility, belief.tables, belief.stride
    indptr, indices, data, aligned, row_l1 = truth.indptr, truth.indices, truth.data, truth.aligned, truth.l1
    which, n_states, n_actions, depth = belief.which, belief.n_states, agent.n_actions, plan.depth
    fill_tables(tables, logs, which, alpha)
    loss, distance = 0.0, 0.0
    for s in range(n_states):
        for a in range(n_actions):
            r, row = s * stride + a, s * n_actions + a
            learn_dirichlet(
                start, length, weight, share, n, tally, utility, tables, which, n_states, stride, alpha, s, a, 0
            )
            loss += math.log2(alpha * tally[r, SIZE] + tally[r, TOTAL]) - logs[0]
            for k in range(start[s], start[s] + length[s]):
                seen = n[k * stride + a]
                if seen > 0:
                    more = logs[seen] if seen < len(logs) else math.log2(alpha + seen)
                    if len(aligned):
                        theta = aligned[k * stride + a]
                    else:
                        theta = true_probability(indices, data, indptr[row], indptr[row + 1], succ[k])
                    loss -= theta * (more - logs[0])
            if len(share) == 0:
                row_l1[r] = row_l1_aligned(start, length, weight, aligned, stride, s, a)
            else:
                row_l1[r] = row_l1_shared(
                    start, length, succ, weight, stride, n_states, share[r],
                    indices, data, indptr[row], indptr[row + 1], s, a,
                )  # fmt: skip
            distance += row_l1[r]
        if depth > 0:
            forget(utility, plan.values, plan.home, stride, depth, plan.gamma, s)
    plan.home[0] = -1  # nothing that was planned holds any more
    if agent.method == RELOCATE:
        grow_tree(agent.top, agent.ties, utility)
    return loss, distance


@kernel
def fill_tables(tables: FloatArray, logs: FloatArray, which: int, alpha: float) -> None:
    """The tables of `Belief` at c = alpha + n, and log2 c."""
    nothing = tables[:, :0]
    for n in range(tables.shape[1]):
        tables[LOG, n] = math.log1p(1.0 / (alpha + n))
        tables[SUMMAND, n] = summand(nothing, alpha, which, n)
        logs[n] = math.log2(alpha + n)


@kernel
def true_probability(indices: IndexArray, data: FloatArray, begin: int, end: int, s_next: int) -> float:
    """The probability of `s_next` in the true row at `begin:end`."""
    e = begin + np.searchsorted(indices[begin:end], s_next)
    return float(data[e]) if e < end and indices[e] == s_next else 0.0


@kernel
def run_learning(
    belief: Belief,
    plan: Plan,
    agent: Agent,
    truth: Truth,
    seen: Histograms,
    bounds: tuple[float, float],
    always: int,
    tolerance: float,
    entropy: float,
    u_agent: FloatArray,
    u_world: FloatArray,
    states: IndexArray,
    actions: IndexArray,
    outcomes: IndexArray,
    missing: FloatArray,
    l1: FloatArray,
    alphas: FloatArray,
) -> int:
    """The action-perception loop of `berlyne.kernels.loop.run`, one step at a time, with a new alpha after each.

    The most likely alpha is put to use after each of the first `always` steps, then whenever it differs from
    the one in use by more than the share `tolerance`. `alphas[0]` is given; `entropy` is that of the world, in bits.
    Returns the number of steps made.
    """
    alpha = best = alphas[0]
    logs = np.empty(belief.tables.shape[1])
    for t in range(len(actions)):
        now = Belief(
            belief.start, belief.length, belief.succ, belief.weight, belief.share, belief.n, belief.tally,
            belief.utility, belief.tables, belief.knowledge, belief.family, belief.which, belief.capacity,
            belief.n_states, belief.stride, alpha,
        )  # fmt: skip
        made = run(
            now, plan, agent, truth, SIMULATE, u_agent[t : t + 1], u_world[t : t + 1], states[t : t + 2],
            actions[t : t + 1], outcomes[t : t + 1], missing[t : t + 2], l1[t : t + 2],
        )  # fmt: skip
        if made != 1:
            return t
        s, a = states[t], actions[t]
        r = s * belief.stride + a
        for k in range(belief.start[s], belief.start[s] + belief.length[s]):
            if belief.succ[k] == outcomes[t]:
                count(seen, r, belief.n[k * belief.stride + a] - 1, belief.tally[r, TOTAL] - 1)
                break  # slots beyond those of the state repeat its last outcome
        if not says_nothing(seen):
            best = most_likely(seen, best, bounds[0], bounds[1])
            if best != alpha and (t < always or abs(best - alpha) > tolerance * alpha):
                alpha = best
                loss, l1[t + 1] = adopt(now, plan, agent, truth, alpha, logs)
                missing[t + 1] = loss - entropy
        alphas[t + 1] = alpha
    return len(actions)
