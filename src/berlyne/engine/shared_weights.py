"""Learn the weights that the rows of a `berlyne.SharedDirichlet` prior share.

After every observation kernels call `refit_weights`. It notes rows and outcomes that were never seen before. If a refit
is due, it makes the sweeps of `berlyne.priors.shared_weights` over these rows and outcomes, from the weights in force.
New weights change every estimate and every utility. Transitions with the same labels are of one kind, so pseudo-counts
and terms are computed once for each kind.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from berlyne.engine.action_selection import ChoiceState
from berlyne.engine.closed_forms import NO_FORM, compiled_form
from berlyne.engine.environment import Truth
from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import ALPHA, SIZE, TERM, TOTAL, Belief, revalue_unequal
from berlyne.engine.successor_graph import slot_of, slot_positions
from berlyne.priors.closed_forms import Sums, digamma
from berlyne.priors.refit import Refit, is_used, next_refit, refit_schedule
from berlyne.priors.shared_dirichlet import SharedDirichlet
from berlyne.priors.shared_weights import MAX_REFIT_SWEEPS, REFIT_PRECISION, SAME, WeightBelief, common_moments
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray

for _function in (common_moments, is_used, next_refit):
    register_jitable(_function)

FEW = 8
"""Up to this many observations, a difference of digamma functions is added up term by term."""


class Gammas(NamedTuple):
    """Gamma distributions of the weights.

    Attributes
    ----------
    shape, rate : ndarray of shape (C,)
        Those of each weight.
    moments : ndarray of shape (2,)
        Mean and shape of the distribution of all weights.
    """

    shape: FloatArray
    rate: FloatArray
    moments: FloatArray


class WeightLearner(NamedTuple):
    """Data for learning weights; rows are `r = s * stride + a`, transitions `i = slot * stride + a`.

    Attributes
    ----------
    kind : ndarray of int
        Kind of each transition; -1 if it is impossible.
    kind_labels : ndarray of int, shape (kinds, F)
        Classes of the transitions of each kind; -1 for none.
    kind_fixed, kind_alpha, kind_term : ndarray of shape (kinds,)
        Fixed pseudo-count of the transitions of each kind, their whole pseudo-count, and its term of the closed form.
    indptr, classes, times, row_fixed : ndarray
        Classes of each row, as in `berlyne.priors.shared_weights.Labelling`.
    is_exposed : ndarray of bool, shape (C,)
        Whether each class occurs in an observed row.
    tried, seen : ndarray of int
        Rows with several possible outcomes that were observed, and transitions that were observed in them, in the order
        of the first observation; the last entry of each is their number.
    last : ndarray of int
        Last outcome of each row, -1 if it was never tried.
    n_obs : ndarray of int, shape (2,)
        Number of observations, and the number at which the next refit is due.
    in_force, candidate : Gammas
        Distributions of the weights in force, and those of the sweeps.
    weight, geometric, shape_gain, rate_gain : ndarray of shape (C,)
        Weights and geometric weights at the begin of a sweep; S / l and T of `berlyne.priors.shared_weights`.
    alpha, shape, strength : float
        Those of the prior.
    always, growth, tolerance : int, float, float
        The schedule, see `berlyne.priors.refit.Refit`.
    values_untried : bool
        Whether the utility of a row is PIG until it has a past outcome (reading R6).
    pig_term, pig : CompiledFunction
        The closed form of PIG, see `berlyne.engine.closed_forms.CompiledForm`.
    """

    kind: IndexArray
    kind_labels: IntArray
    kind_fixed: FloatArray
    kind_alpha: FloatArray
    kind_term: FloatArray
    indptr: IntArray
    classes: IntArray
    times: FloatArray
    row_fixed: FloatArray
    is_exposed: BoolArray
    tried: IndexArray
    seen: IndexArray
    last: IndexArray
    n_obs: IntArray
    in_force: Gammas
    candidate: Gammas
    weight: FloatArray
    geometric: FloatArray
    shape_gain: FloatArray
    rate_gain: FloatArray
    alpha: float
    shape: float
    strength: float
    always: int
    growth: float
    tolerance: float
    values_untried: bool
    pig_term: Any
    pig: Any


def new_weight_learner(prior: SharedDirichlet, belief: Belief, untried: float | None) -> WeightLearner:
    """Return the learner of an agent before any data; see `berlyne.engine.learned_prior.CompiledLearner`."""
    graph, labelling, start = belief.graph, prior.labelling, prior.belief_before_refit
    n_rows, n_classes, n_actions = len(belief.row_stats), len(prior.classes), prior.n_actions
    kind_labels, of_transition = np.unique(labelling.labels.T, axis=0, return_inverse=True)
    kind = np.full(len(belief.weight), -1, dtype=np.int32)
    kind[slot_positions(graph, prior.support)] = of_transition.ravel()
    s, a = np.divmod(np.arange(prior.n_states * n_actions), n_actions)
    sizes, row_fixed = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows)
    r = s * graph.stride + a
    sizes[r], row_fixed[r] = np.diff(labelling.indptr), labelling.row_fixed
    moments = np.array([start.mean, start.common_shape])
    schedule = refit_schedule(prior) or Refit()
    values_untried = belief.realised and untried is None
    form = compiled_form("PIG") if values_untried else NO_FORM
    return WeightLearner(
        kind,
        np.ascontiguousarray(kind_labels, dtype=np.int64),
        np.where(np.all(kind_labels < 0, axis=1), prior.alpha, 0.0),
        np.zeros(len(kind_labels)),
        np.zeros(len(kind_labels)),
        np.append(0, np.cumsum(sizes)),
        np.ascontiguousarray(labelling.classes),
        np.ascontiguousarray(labelling.times),
        row_fixed,
        np.zeros(n_classes, dtype=np.bool_),
        np.zeros(n_rows + 1, dtype=np.int32),
        np.zeros(len(belief.weight) + 1, dtype=np.int32),
        np.full(n_rows, -1, dtype=np.int32),
        np.array([0, schedule.next_refit(0)]),
        Gammas(start.shape.copy(), start.rate.copy(), moments),
        Gammas(np.zeros(n_classes), np.zeros(n_classes), moments.copy()),
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(n_classes),
        prior.alpha,
        prior.shape,
        prior.strength,
        schedule.always,
        schedule.growth,
        schedule.tolerance,
        values_untried,
        form.term,
        form.value,
    )


def keep_room(learner: WeightLearner, n_obs: int) -> WeightLearner:
    """Return the learner, which has room for any number of observations."""
    return learner


def with_own_alphas(belief: Belief, renews: bool) -> Belief:
    """Return a belief whose numbers and table are its own, not shared."""
    return belief._replace(numbers=belief.numbers.copy(), table=belief.table.copy())


def prior_with_weights(prior: SharedDirichlet, belief: Belief, learner: WeightLearner) -> SharedDirichlet:
    """Return the prior with the weights in force."""
    weights = belief.numbers[len(belief.numbers) - len(prior.classes) :]
    if np.array_equal(weights, prior.weights):
        return prior
    shape, rate, moments = (values.copy() for values in learner.in_force)
    return prior.with_belief(WeightBelief(shape, rate, *moments.tolist()))


@inline
def digamma_difference(x: float, n: int) -> float:
    """psi(x + n) - psi(x), for n of at least 1."""
    total = 0.0
    if n > FEW:
        total = digamma(x + n) - digamma(x)
    else:
        for j in range(n):
            total += 1.0 / (x + j)
    return total


@inline
def note_observation(belief: Belief, learner: WeightLearner, s: int, a: int, s_next: int, before: int) -> None:
    """List the row and the outcome of an observation if they are new; the outcome was seen `before` times before."""
    graph, tried, seen = belief.graph, learner.tried, learner.seen
    r = s * graph.stride + a
    teaches = belief.row_stats[r, SIZE] > 1
    if teaches and learner.last[r] < 0:
        tried[tried[-1]] = r
        tried[-1] += 1
        for j in range(learner.indptr[r], learner.indptr[r + 1]):
            learner.is_exposed[learner.classes[j]] = True
    if teaches and before == 0:
        seen[seen[-1]] = slot_of(graph, s, s_next) * graph.stride + a
        seen[-1] += 1
    learner.last[r] = s_next


@inline
def update_moments(learner: WeightLearner) -> None:
    """Set mean and shape of all weights for the next sweep to those of the exposed classes."""
    shape, rate, moments = learner.candidate.shape, learner.candidate.rate, learner.candidate.moments
    n_exposed, total, squares = 0, 0.0, 0.0
    for c in range(len(shape)):
        if learner.is_exposed[c]:
            weight = shape[c] / rate[c]
            n_exposed += 1
            total += weight
            squares += weight * weight * (1.0 + 1.0 / shape[c])
    mean, common_shape = common_moments(n_exposed, total, squares, learner.alpha, learner.shape, learner.strength)
    moments[0], moments[1] = mean, common_shape


@inline
def add_rows(belief: Belief, learner: WeightLearner) -> None:
    """Add the contributions of all observed rows to `rate_gain`."""
    indptr, classes, times = learner.indptr, learner.classes, learner.times
    for k in range(learner.tried[-1]):
        r = learner.tried[k]
        total = learner.row_fixed[r]
        for j in range(indptr[r], indptr[r + 1]):
            total += times[j] * learner.weight[classes[j]]
        slope = digamma_difference(total, belief.row_stats[r, TOTAL])
        for j in range(indptr[r], indptr[r + 1]):
            learner.rate_gain[classes[j]] += times[j] * slope


@inline
def add_outcomes(belief: Belief, learner: WeightLearner) -> None:
    """Add the contributions of all observed outcomes to `shape_gain`."""
    labels = learner.kind_labels
    for k in range(learner.seen[-1]):
        i = learner.seen[k]
        kind, total = learner.kind[i], 0.0
        for f in range(labels.shape[1]):
            if labels[kind, f] >= 0:
                total += learner.geometric[labels[kind, f]]
        if total == 0.0:  # it has no label
            continue
        slope = digamma_difference(total, belief.n[i])
        for f in range(labels.shape[1]):
            if labels[kind, f] >= 0:
                learner.shape_gain[labels[kind, f]] += slope


@inline
def sweep(belief: Belief, learner: WeightLearner) -> bool:
    """Make one sweep, see `berlyne.priors.shared_weights.sweep`; return whether some weight is not precise yet."""
    shape, rate, moments = learner.candidate.shape, learner.candidate.rate, learner.candidate.moments
    n_classes, changed = len(shape), False
    update_moments(learner)
    for c in range(n_classes):
        learner.weight[c] = shape[c] / rate[c]
        learner.geometric[c] = math.exp(digamma(shape[c])) / rate[c]
        learner.shape_gain[c], learner.rate_gain[c] = 0.0, 0.0
    add_rows(belief, learner)
    add_outcomes(belief, learner)
    for c in range(n_classes):
        shape[c] = moments[1] + learner.geometric[c] * learner.shape_gain[c]
        rate[c] = moments[1] / moments[0] + learner.rate_gain[c]
        changed = changed or abs(shape[c] / rate[c] - learner.weight[c]) > REFIT_PRECISION * learner.weight[c]
    return changed


@inline
def copy_gammas(source: Gammas, target: Gammas) -> None:
    """Copy distributions of weights."""
    for c in range(len(source.shape)):
        target.shape[c], target.rate[c] = source.shape[c], source.rate[c]
    for i in range(2):
        target.moments[i] = source.moments[i]


@callback
def refit_weights(
    belief: Belief, choice: ChoiceState, learner: WeightLearner, s: int, a: int, s_next: int, before: int
) -> bool:
    """Learn the weights after an observation, if a refit is due; return whether they have changed.

    The outcome had been seen `before` times until then. Weights that are not used do not change the next refit.
    """
    n_obs, n_classes = learner.n_obs, len(learner.weight)
    note_observation(belief, learner, s, a, s_next, before)
    n_obs[0] += 1
    if n_obs[0] < n_obs[1]:
        return False
    n_obs[1] = next_refit(n_obs[0], learner.always, learner.growth)
    copy_gammas(learner.in_force, learner.candidate)
    for _ in range(MAX_REFIT_SWEEPS):
        if not sweep(belief, learner):
            break
    changed, used, first = False, False, len(belief.numbers) - n_classes
    for c in range(n_classes):
        weight, before_refit = learner.candidate.shape[c] / learner.candidate.rate[c], belief.numbers[first + c]
        changed = changed or abs(weight - before_refit) > SAME * before_refit
        used = used or is_used(weight, before_refit, n_obs[0], learner.always, learner.tolerance)
    if not (changed and used):
        return False
    copy_gammas(learner.candidate, learner.in_force)
    set_weights(belief, learner)
    return True


@inline
def set_weights(belief: Belief, learner: WeightLearner) -> None:
    """Estimate and value every row with the weights in force."""
    graph, table, numbers, labels = belief.graph, belief.table, belief.numbers, learner.kind_labels
    first, shape, rate = len(numbers) - len(learner.weight), learner.in_force.shape, learner.in_force.rate
    for c in range(len(shape)):
        numbers[first + c] = shape[c] / rate[c]
    for kind in range(len(labels)):
        alpha = learner.kind_fixed[kind]
        for f in range(labels.shape[1]):
            if labels[kind, f] >= 0:
                alpha += numbers[first + labels[kind, f]]
        learner.kind_alpha[kind] = alpha
        learner.kind_term[kind] = belief.term(alpha) if belief.has_utility else 0.0
    for i in range(len(learner.kind)):
        kind = learner.kind[i]
        if kind >= 0:
            table[i, ALPHA], table[i, TERM] = learner.kind_alpha[kind], learner.kind_term[kind]
    for s in range(len(graph.start)):
        for a in range(graph.n_actions):
            r = s * graph.stride + a
            total = learner.row_fixed[r]
            for j in range(learner.indptr[r], learner.indptr[r + 1]):
                total += learner.times[j] * numbers[first + learner.classes[j]]
            numbers[s * graph.n_actions + a] = total
            revalue_row(belief, learner, s, a)


@inline
def revalue_row(belief: Belief, learner: WeightLearner, s: int, a: int) -> None:
    """Estimate and value row (a, s) with new weights; the utility of a past outcome is that under these weights."""
    graph, r, before = belief.graph, s * belief.graph.stride + a, 0
    last = learner.last[r]
    if belief.realised and last < 0:
        total = estimate_untried_row(belief, learner, s, a)
        if learner.values_untried:
            kappa, unused = belief.numbers[s * graph.n_actions + a], math.nan
            belief.utility[r] = learner.pig(Sums(kappa, total, unused, unused, unused, unused, len(graph.start)))
        return
    if belief.realised:
        before = belief.n[slot_of(graph, s, last) * graph.stride + a] - 1
    revalue_unequal(belief, s, a, last, before)


@inline
def estimate_untried_row(belief: Belief, learner: WeightLearner, s: int, a: int) -> float:
    """Estimate a row without observations; return the sum of the terms of PIG, 0 if it is not needed."""
    graph, total = belief.graph, 0.0
    scale = 1.0 / belief.numbers[s * graph.n_actions + a]
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        i = k * graph.stride + a
        if belief.n[i] >= 0:
            belief.weight[i] = belief.table[i, ALPHA] * scale
            if learner.values_untried:
                total += learner.pig_term(belief.table[i, ALPHA])
    return total


@callback
def missing_with_weights(belief: Belief, truth: Truth) -> float:
    """Missing information in bits, summed over all rows that count."""
    loss, graph = 0.0, belief.graph
    for s in range(len(graph.start)):
        for a in range(graph.n_actions):
            row = s * graph.n_actions + a
            if len(truth.counted) and not truth.counted[row]:
                continue
            loss += math.log2(belief.numbers[row] + belief.row_stats[s * graph.stride + a, TOTAL])
            for k in range(graph.start[s], graph.start[s] + graph.length[s]):
                i = k * graph.stride + a
                if truth.aligned[i] > 0.0:
                    loss -= truth.aligned[i] * math.log2(belief.table[i, ALPHA] + belief.n[i])
    return loss - truth.entropy
