"""Fit weights of values and a lapse to choices: starts, bounds, standard errors.

The kernels are in `berlyne.engine.conditional_logit`. Without a lapse the log-likelihood is concave, so one start finds
its maximum. With a lapse it may have several, since a lapse can explain any choice that the weights explain badly: few
choices, many lapses or nearly deterministic choices have up to dozens. The search then starts at the maximum without
lapses, and at it with lapses. After that it takes the best of many random weights, scaled by the spread of the values,
until the maxima that it reached make more of them improbable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from berlyne.engine.conditional_logit import Choices, Maximum, Parameters, centre, maximize
from berlyne.validation import BoolArray, FloatArray, IntArray

MIN_LOGIT, MAX_LOGIT = -23.0, 12.0
"""Bounds of the logit of the lapse; at the lower one, 10,000 choices lose 1e-6 nats against no lapse at all."""
MAX_WEIGHT = 20.0
"""Largest weight times the spread of its value: choices are then nearly deterministic. Without a bound, a few choices
that lapses explain badly can be explained by infinite weights."""
SCALES = (0.1, 1.0)
"""Weights times the spread of the values at the starts without lapses."""
LAPSES = (0.05, 0.5)
"""Lapses with which searches start at the weights that fit best without lapses."""
RANDOM_SPREADS, N_RANDOM = (1.0, 3.0, 8.0), 400
"""Standard deviations of the random weights times the spread of the values, and their number."""
MANY = 5000
"""Number of choices above which all starts are searched with about half as many choices, evenly spaced. The best
maximum is then the start with all choices."""
FLAT = 1e-6
"""Share of the information about a weight, relative to that at weight zero, below which the weight has run off."""


class Design(NamedTuple):
    """Values and choices of people in the form that kernels read, and the spread of the values.

    Attributes
    ----------
    choices : Choices
        Values minus their mean over the allowed actions; a value that does not vary for a person is 0.
    spread : ndarray of shape (people, K)
        Standard deviation of each value among the allowed actions, root mean square over the scored choices.
    n : ndarray of int, shape (people,)
        Number of scored choices.
    """

    choices: Choices
    spread: FloatArray
    n: IntArray

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.n)

    def together(self) -> Design:
        """Return the same choices as those of one person."""
        begin = np.array([0, len(self.choices.chosen)], dtype=np.int64)
        weight = self.n[:, None] / max(1, self.n.sum())
        spread = np.sqrt(np.sum(weight * self.spread**2, axis=0))[None]
        return Design(self.choices._replace(begin=begin), spread, self.n.sum(keepdims=True))

    def part(self, every: int) -> Design:
        """Return the same person with every `every`-th choice."""
        chosen = np.full_like(self.choices.chosen, -1)
        scored = np.flatnonzero(self.choices.chosen >= 0)[::every]
        chosen[scored] = self.choices.chosen[scored]
        return Design(self.choices._replace(chosen=chosen), self.spread, np.array([len(scored)]))


def make_design(x: FloatArray, allowed: BoolArray, chosen: IntArray, begin: IntArray) -> Design:
    """Centre the values and measure their spread.

    Parameters
    ----------
    x : ndarray of shape (T, A, K)
        Values of the actions; they may be anything where an action is not allowed.
    allowed : ndarray of bool, shape (T, A)
        Whether an action could be chosen.
    chosen : ndarray of int, shape (T,)
        Chosen actions; -1 if a choice is not scored.
    begin : ndarray of int, shape (people + 1,)
        First choice of each person, and T.
    """
    n = np.add.reduceat((chosen >= 0).astype(np.int64), begin[:-1])
    choices, spread = Choices(np.empty(x.shape), allowed, chosen, begin), np.empty((len(n), x.shape[2]))
    centre(np.ascontiguousarray(x, dtype=float), choices, spread)
    return Design(choices, spread, n)


@dataclass(frozen=True, eq=False)
class LogitFit:
    """Parameters of each person at the maximum, with what is needed to judge the search.

    Attributes
    ----------
    theta : ndarray of shape (people, P)
        Parameters on their own scale: weights or their logarithms, and the logit of the lapse.
    log_likelihood : ndarray of shape (people,)
        Log-likelihood in nats, without the prior.
    maximum : Maximum
        Value, derivatives, gain and starts.
    at_bound : ndarray of bool, shape (people, P)
        Whether a parameter is at a bound, or its weight has run off, so that the choices no longer depend on it.
    varies : ndarray of bool, shape (people, P)
        Whether the value of the weight varies; otherwise it has no estimate.
    """

    theta: FloatArray
    log_likelihood: FloatArray
    maximum: Maximum
    at_bound: BoolArray
    varies: BoolArray

    @property
    def converged(self) -> BoolArray:
        """Whether the search of each person converged."""
        return np.isfinite(self.maximum.gain)

    def covariance(self) -> FloatArray:
        """Inverse of minus the Hessian for the parameters inside their bounds, (people, P, P); NaN for the others."""
        inside = self.varies & ~self.at_bound
        covariance = np.full(self.maximum.hessian.shape, np.nan)
        for i, hessian in enumerate(self.maximum.hessian):
            free = np.flatnonzero(inside[i])
            try:
                covariance[i][np.ix_(free, free)] = np.linalg.inv(-hessian[np.ix_(free, free)])
            except np.linalg.LinAlgError:  # weights of values that add up to a constant
                continue
        return covariance

    def standard_errors(self) -> FloatArray:
        """Standard error of each parameter, (people, P); NaN at a bound."""
        variance = np.diagonal(self.covariance(), axis1=1, axis2=2)
        return np.sqrt(np.where(variance > 0, variance, np.nan))


def make_parameters(design: Design, positive: BoolArray, has_lapse: bool, *, log: bool = False) -> Parameters:
    """Return parameters without a prior.

    Parameters
    ----------
    design : Design
        Values and choices, whose spread determines the largest weights.
    positive : ndarray of bool, shape (K,)
        Whether each weight must be at least 0.
    has_lapse : bool
        Whether there is a lapse.
    log : bool
        Whether positive weights are represented by their logarithms instead of a bound.
    """
    is_log = np.append(positive & log, [False] * has_lapse)
    largest = MAX_WEIGHT * _unit(design)
    low = np.where(positive, -np.inf if log else 0.0, -largest)
    high = np.where(positive & log, np.log(largest), largest)
    of_lapse = np.ones((design.n_people, int(has_lapse)))
    low, high = np.hstack([low, MIN_LOGIT * of_lapse]), np.hstack([high, MAX_LOGIT * of_lapse])
    return Parameters(is_log, low, high, np.zeros(len(is_log)), np.zeros(len(is_log)))


def fit_logit(design: Design, parameters: Parameters, starts: FloatArray | None = None) -> LogitFit:
    """Maximise the log-likelihood, or the log posterior if the parameters have a prior, of every person.

    Parameters
    ----------
    design : Design
        Values and choices.
    parameters : Parameters
        Bounds and prior.
    starts : ndarray of shape (people, S, P), optional
        Where the search starts; by default as the module describes.
    """
    n_values = design.choices.x.shape[2]
    if design.n_people == 1 and design.n[0] > MANY:
        part = fit_logit(design.part(2 * int(design.n[0]) // MANY), parameters, starts).maximum
        best = _search(design, parameters, part.theta[:, None])
        best.n_starts[:], best.n_best[:] = part.n_starts, part.n_best
    elif starts is None:
        has_lapse = len(parameters.mean) > n_values
        best = _search(design, parameters, default_starts(design, parameters), N_RANDOM if has_lapse else 0)
    else:
        best = _search(design, parameters, starts)
    theta, penalty = best.theta, 0.5 * np.sum(parameters.precision * (best.theta - parameters.mean) ** 2, axis=1)
    varies = np.ones(theta.shape, dtype=bool)
    varies[:, :n_values] = design.spread > 0
    at_bound = (theta <= parameters.low) | (theta >= parameters.high)
    information = -np.diagonal(best.hessian, axis1=1, axis2=2)[:, :n_values]
    at_bound[:, :n_values] |= information < FLAT * design.n[:, None] * design.spread**2
    return LogitFit(theta, best.value + penalty, best, at_bound & varies, varies)


def default_starts(design: Design, parameters: Parameters) -> FloatArray:
    """Return the starts of a search, (people, S, P), with weights scaled by the spread of each person's values."""
    n_values = design.choices.x.shape[2]
    unit = _unit(design)
    small, large = (_to_theta(scale * unit, MIN_LOGIT, parameters) for scale in SCALES)
    if len(parameters.mean) == n_values:
        return np.stack([small, large], axis=1)
    no_lapse = parameters._replace(high=np.hstack([parameters.high[:, :-1], parameters.low[:, -1:]]))
    best = _search(design, no_lapse, np.stack([small, large], axis=1)).theta
    weights = to_weights(best, parameters, n_values)
    starts = [_to_theta(weights, _logit(lapse), parameters) for lapse in LAPSES]
    return np.stack([best, *starts], axis=1)


def near_starts(theta: FloatArray, before: Design, design: Design) -> FloatArray:
    """Return starts (people, S, P) near the parameters (people, P) of other values, rescaled by their spread.

    Without a lapse the log-likelihood is concave. With one, a second start has more lapses.
    """
    n_values = before.spread.shape[1]
    ratio = np.where(design.spread > 0, before.spread / np.where(design.spread > 0, design.spread, 1.0), 1.0)
    near = theta.copy()
    near[:, :n_values] *= ratio
    if theta.shape[1] == n_values:
        return near[:, None]
    more = near.copy()
    more[:, -1] = np.maximum(near[:, -1], _logit(LAPSES[0]))
    return np.stack([near, more], axis=1)


def _unit(design: Design) -> FloatArray:
    """Return the weights (people, K) at which each value has the spread 1."""
    return 1.0 / np.where(design.spread > 0, design.spread, 1.0)


def to_weights(theta: FloatArray, parameters: Parameters, n_values: int) -> FloatArray:
    """Return the weights (people, K) of parameters (people, P)."""
    is_log, weights = parameters.is_log[:n_values], theta[:, :n_values]
    return np.where(is_log, np.exp(np.where(is_log, weights, 0.0)), weights)


def _to_theta(weights: FloatArray, logit_of_lapse: float, parameters: Parameters) -> FloatArray:
    """Return the parameters (people, P) with these weights (people, K) and, if there is one, this lapse."""
    n_values = weights.shape[1]
    logs = np.log(np.maximum(weights, np.finfo(float).tiny))
    theta = np.where(parameters.is_log[:n_values], logs, weights)
    has_lapse = len(parameters.mean) > n_values
    return np.column_stack([theta, np.full(len(theta), logit_of_lapse)]) if has_lapse else theta


def _logit(p: float) -> float:
    return float(np.log(p / (1.0 - p)))


def _search(design: Design, parameters: Parameters, starts: FloatArray, n_random: int = 0) -> Maximum:
    """Run the kernel from these starts (people, S, P), and from up to `n_random` more."""
    n_people, _, n = starts.shape
    value, gain = np.empty(n_people), np.full(n_people, np.nan)
    n_starts, n_best = np.zeros(n_people, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    shape = (n_people, n)
    best = Maximum(np.zeros(shape), value, np.zeros(shape), np.zeros((*shape, n)), gain, n_starts, n_best)
    shares = random_shares(n_random, design.choices.x.shape[2])
    maximize(design.choices, parameters, np.ascontiguousarray(starts), shares, best)
    return best


def random_shares(n: int, n_values: int) -> FloatArray:
    """Return random weights as shares of the largest weight, (n, K); they are the same in every call."""
    rng = np.random.default_rng(0)
    spreads = np.array(RANDOM_SPREADS)[np.arange(n) % len(RANDOM_SPREADS), None]
    return np.asarray(np.clip(rng.normal(size=(n, n_values)) * spreads / MAX_WEIGHT, -1.0, 1.0))
