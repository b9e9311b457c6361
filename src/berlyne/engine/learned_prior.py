"""Learn the parameters of a prior on the way, and how each prior does it (`LEARNERS`).

The functions of this file learn the concentration of a Dirichlet prior (Fig. S5, reading R24). After every observation
kernels call `refit_alpha`, which updates the histograms of the likelihood (`berlyne.priors.concentration`), and finds
the most likely alpha if a refit is due. A new alpha changes every estimate and every utility.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from berlyne.engine.action_selection import ChoiceState
from berlyne.engine.closed_forms import NO_FORM, compiled_form
from berlyne.engine.environment import Truth, true_probability
from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import LOG, SIZE, TERM, TOTAL, Belief, revalue_dirichlet
from berlyne.engine.shared_weights import (
    keep_room,
    missing_with_weights,
    new_weight_learner,
    prior_with_weights,
    refit_weights,
    with_own_alphas,
)
from berlyne.engine.successor_graph import slot_of
from berlyne.priors.closed_forms import Sums
from berlyne.priors.concentration import (
    Histograms,
    empty_histograms,
    is_uninformative,
    likelihood_derivatives,
    maximum_likelihood_alpha,
)
from berlyne.priors.protocols import CompiledPrior
from berlyne.priors.refit import Refit, is_used, next_refit, refit_schedule
from berlyne.validation import FloatArray, IndexArray, IntArray

for _function in (likelihood_derivatives, is_uninformative, maximum_likelihood_alpha, is_used, next_refit):
    register_jitable(_function)

TABLE_SIZE = 64
"""Number of lines of the table over counts, which is computed again for every new alpha."""
MAX_ROOM = 1 << 16
"""Largest room for observations that is made in advance."""
LOG2 = 2
"""Column of that table: log2(alpha + n)."""


class AlphaLearner(NamedTuple):
    """Data for learning alpha.

    Attributes
    ----------
    histograms : Histograms
        Histograms of the counts.
    last : ndarray of int
        `[s * stride + a]`, last outcome of each row, -1 if it was never tried.
    n_obs : ndarray of int, shape (2,)
        Number of observations, and the number at which the next refit is due.
    best : ndarray of shape (1,)
        The most likely alpha at the last refit.
    low, high : float
        Bounds of alpha.
    always, growth, tolerance : int, float, float
        The schedule, see `berlyne.priors.refit.Refit`.
    values_untried : bool
        Whether the utility of a row is PIG until it has a past outcome (reading R6).
    pig_term, pig : CompiledFunction
        The closed form of PIG, see `berlyne.engine.closed_forms.CompiledForm`.
    """

    histograms: Histograms
    last: IndexArray
    n_obs: IntArray
    best: FloatArray
    low: float
    high: float
    always: int
    growth: float
    tolerance: float
    values_untried: bool
    pig_term: Any
    pig: Any


def new_learner(prior: Any, belief: Belief, untried: float | None) -> AlphaLearner:
    """Return the learner of an agent before any data, without room for observations.

    `untried` is the utility of a row without a past outcome, as in `berlyne.Strategy`.
    """
    schedule = refit_schedule(prior) or Refit()
    values_untried = belief.realised and untried is None
    form = compiled_form("PIG") if values_untried else NO_FORM
    return AlphaLearner(
        empty_histograms(belief.row_stats[:, SIZE].astype(np.int64), 0),
        np.full(len(belief.row_stats), -1, dtype=np.int32),
        np.array([0, schedule.next_refit(0)]),
        np.array([prior.alpha]),
        prior.bounds[0],
        prior.bounds[1],
        schedule.always,
        schedule.growth,
        schedule.tolerance,
        values_untried,
        form.term,
        form.value,
    )


def with_room(learner: AlphaLearner, n_obs: int) -> AlphaLearner:
    """Return a learner with room for `n_obs` more observations.

    The agent is copied with it, so there is room for as many observations as there are rows, if they are not too many.
    """
    entries, rows, used, sizes, size_class = learner.histograms
    needed = int(used.max()) + n_obs
    if needed <= len(entries):
        return learner
    length = max(needed, 2 * len(entries), min(len(learner.last), MAX_ROOM) // len(rows))
    wider = np.zeros(length), np.zeros((len(rows), length))
    for wide, narrow in zip(wider, (entries, rows), strict=True):
        wide[..., : len(entries)] = narrow
    return learner._replace(histograms=Histograms(*wider, used, sizes, size_class))


def with_own_table(belief: Belief, renews: bool) -> Belief:
    """Return a belief whose prior can change: its numbers and its table are its own, not shared.

    `renews` is whether the method calls `renew_utilities` before it reads utilities.
    """
    table = np.zeros((TABLE_SIZE, LOG2 + 1))
    table[:, :LOG2] = belief.table[:TABLE_SIZE]
    table[:, LOG2] = np.log2(belief.numbers[0] + np.arange(TABLE_SIZE))
    belief = belief._replace(numbers=belief.numbers.copy(), table=table)
    if belief.graph.capacity == 0:
        return belief
    belief = belief._replace(tried=np.zeros(len(belief.utility) + 1, dtype=np.int32))
    if not (renews and belief.has_utility):
        return belief
    return belief._replace(renewed=np.zeros(len(belief.graph.start) + 1, dtype=np.int32), untried=np.zeros(1))


@inline
def add_observation(histograms: Histograms, r: int, n_entry: int, n_row: int) -> None:
    """Add an observation of row r, which was seen `n_row` times before, and its outcome `n_entry` times."""
    c = histograms.size_class[r]
    histograms.entries[n_entry] += 1.0
    histograms.rows[c, n_row] += 1.0
    histograms.used[0] = max(histograms.used[0], n_entry + 1)
    histograms.used[1 + c] = max(histograms.used[1 + c], n_row + 1)


@callback
def refit_alpha(
    belief: Belief, choice: ChoiceState, learner: AlphaLearner, s: int, a: int, s_next: int, before: int
) -> bool:
    """Use the most likely alpha after an observation, if a refit is due; return whether alpha has changed.

    The outcome had been seen `before` times until then.
    """
    n_obs, alpha, r = learner.n_obs, belief.numbers[0], s * belief.graph.stride + a
    if len(belief.tried) and learner.last[r] < 0:
        belief.tried[belief.tried[-1]] = r
        belief.tried[-1] += 1
    learner.last[r] = s_next
    add_observation(learner.histograms, r, before, belief.row_stats[r, TOTAL] - 1)
    n_obs[0] += 1
    if n_obs[0] < n_obs[1]:
        return False
    n_obs[1] = next_refit(n_obs[0], learner.always, learner.growth)
    if is_uninformative(learner.histograms):
        return False
    best = maximum_likelihood_alpha(learner.histograms, learner.best[0], learner.low, learner.high)
    learner.best[0] = best
    if not is_used(best, alpha, n_obs[0], learner.always, learner.tolerance):
        return False
    set_alpha(belief, learner, best)
    return True


@inline
def set_alpha(belief: Belief, learner: AlphaLearner, alpha: float) -> None:
    """Estimate and value every row with a new alpha.

    The gain of a past outcome (PEIG) becomes the gain under the new alpha. If every state can follow, all rows without
    observations are alike, so only the first of them is computed.
    """
    graph, tried = belief.graph, belief.tried
    belief.numbers[0] = alpha
    for n in range(len(belief.table)):
        belief.table[n, LOG] = math.log1p(1.0 / (alpha + n))
        belief.table[n, TERM] = belief.term(alpha + n) if belief.has_utility else 0.0
        belief.table[n, LOG2] = math.log2(alpha + n)
    if graph.capacity == 0:
        for s in range(len(graph.start)):
            for a in range(graph.n_actions):
                revalue_row(belief, learner, alpha, s, a)
        return
    for i in range(tried[-1]):
        revalue_row(belief, learner, alpha, tried[i] // graph.stride, tried[i] % graph.stride)
    if belief.has_utility:
        set_utility_of_untried(belief, learner, alpha)


@inline
def set_utility_of_untried(belief: Belief, learner: AlphaLearner, alpha: float) -> None:
    """Set the utility of all rows without observations, now or in `renew_utilities`; their estimate is 1 / N anyway."""
    graph, last, untried = belief.graph, learner.last, 0
    while untried < len(last) and (last[untried] >= 0 or untried % graph.stride >= graph.n_actions):
        untried += 1
    if untried == len(last):
        return
    revalue_row(belief, learner, alpha, untried // graph.stride, untried % graph.stride)
    utility = belief.utility[untried]
    if len(belief.renewed):
        belief.untried[0] = utility
        belief.renewed[-1] += 1
        return
    for s in range(len(graph.start)):
        for r in range(s * graph.stride, s * graph.stride + graph.n_actions):
            if last[r] < 0:
                belief.utility[r] = utility


@inline
def revalue_row(belief: Belief, learner: AlphaLearner, alpha: float, s: int, a: int) -> None:
    """Estimate and value row (a, s) with a new alpha."""
    graph, r, before = belief.graph, s * belief.graph.stride + a, 0
    last = learner.last[r]
    if belief.realised and last < 0:
        if learner.values_untried:
            belief.utility[r] = pig_of_untried_row(learner, alpha, belief.row_stats[r, SIZE], len(graph.start))
        return
    if belief.realised:
        before = belief.n[slot_of(graph, s, last) * graph.stride + a] - 1
    revalue_dirichlet(belief, s, a, last, before)


@inline
def pig_of_untried_row(learner: AlphaLearner, alpha: float, size: int, n_states: int) -> float:
    """PIG of a row without observations, which has `size` possible outcomes, in bits."""
    n_outcomes: Any = np.int64(size)  # sizes are int32
    total = n_outcomes * learner.pig_term(alpha)
    sums = Sums(alpha * n_outcomes, total, alpha, alpha * (n_outcomes - 1), math.nan, math.nan, n_states)
    value: float = learner.pig(sums)
    return value


@callback
def missing_information(belief: Belief, truth: Truth) -> float:
    """Missing information in bits, summed over all rows that count."""
    loss, graph, tried, n_untried = 0.0, belief.graph, belief.tried, truth.n_counted
    if graph.capacity == 0:
        for s in range(len(graph.start)):
            for a in range(graph.n_actions):
                if len(truth.counted) == 0 or truth.counted[s * graph.n_actions + a]:
                    loss += log_loss(belief, truth, s, a)
        return loss - truth.entropy
    for i in range(tried[-1]):
        s, a = tried[i] // graph.stride, tried[i] % graph.stride
        if len(truth.counted) == 0 or truth.counted[s * graph.n_actions + a]:
            loss += log_loss(belief, truth, s, a)
            n_untried -= 1
    untried = math.log2(belief.numbers[0] * len(graph.start)) - belief.table[0, LOG2]  # the same for all of them
    missing: float = loss + n_untried * untried - truth.entropy
    return missing


@inline
def log_loss(belief: Belief, truth: Truth, s: int, a: int) -> float:
    """Cross entropy -sum theta log2 theta_hat of one row in bits; minus the row's entropy, its missing information."""
    graph, alpha, table = belief.graph, belief.numbers[0], belief.table
    r, row, unseen = s * graph.stride + a, s * graph.n_actions + a, belief.table[0, LOG2]
    loss: float = math.log2(alpha * belief.row_stats[r, SIZE] + belief.row_stats[r, TOTAL]) - unseen
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        n_seen = belief.n[k * graph.stride + a]
        if n_seen > 0:
            log_pseudo_count = table[n_seen, LOG2] if n_seen < len(table) else math.log2(alpha + n_seen)
            if len(truth.aligned):
                theta = truth.aligned[k * graph.stride + a]
            else:
                begin, end = truth.indptr[row], truth.indptr[row + 1]
                theta = true_probability(truth.indices, truth.data, begin, end, graph.succ[k])
            loss -= theta * (log_pseudo_count - unseen)
    return loss


def prior_with_alpha(prior: Any, belief: Belief, learner: AlphaLearner) -> Any:
    """Return the prior with the concentration in force."""
    return prior if belief.numbers[0] == prior.learned else prior.with_learned(belief.numbers[0])


class CompiledLearner(NamedTuple):
    """How kernels learn the parameters of a family of priors; functions are made by `callback`.

    Attributes
    ----------
    new_learner : Callable
        `new_learner(prior, belief, untried)` returns the record that only the functions of this family read.
    with_room : Callable
        `with_room(learner, n_obs)` returns it with room for more observations.
    with_own_table : Callable
        `with_own_table(belief, renews)` returns a belief whose numbers and table can change.
    refit : Callable
        `refit(belief, choice, learner, s, a, s_next, before)`: refit after an observation, if that is due; return
        whether all rows were estimated and valued again. The estimate of a row without observations must not change, if
        every state can follow. Then rows are listed in `belief.tried`.
    missing_information : Callable
        `missing_information(belief, truth)`: bits missing after a refit.
    prior_in_force : Callable
        `prior_in_force(prior, belief, learner)` returns the prior with the parameters in force, in Python. The learned
        parameters are the last of `belief.numbers`.
    """

    new_learner: Any
    with_room: Any
    with_own_table: Any
    refit: Any
    missing_information: Any
    prior_in_force: Any


LEARNERS: dict[str, CompiledLearner] = {
    "Dirichlet": CompiledLearner(
        new_learner, with_room, with_own_table, refit_alpha, missing_information, prior_with_alpha
    ),
    "SharedDirichlet": CompiledLearner(
        new_weight_learner, keep_room, with_own_alphas, refit_weights, missing_with_weights, prior_with_weights
    ),
}
"""How parameters are learned in kernels, by the name of the class of the prior."""


def learner_of(prior: CompiledPrior) -> CompiledLearner | None:
    """Return how kernels learn the parameters of a prior; None if they are fixed."""
    return None if refit_schedule(prior) is None else LEARNERS[type(prior).__name__]
