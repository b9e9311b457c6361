"""Conditional logit with lapses: exact derivatives, and a damped Newton method with bounds, for one person or many.

A choice among the allowed actions has the probability (1 - lapse) softmax(x w)[a] + lapse / n_allowed. Here x[a, k] are
values and w their weights. A parameter is a weight, the logarithm of a weight, or the logit of the lapse. The lapse is
the last parameter, if there is one. Parameters may have a Gaussian prior; its precision is zero if there is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.validation import BoolArray, FloatArray, IntArray

MAX_STEPS = 500
SMALL_GAIN = 1e-10
"""Expected gain of the next Newton step, in nats, below which the method stops."""
STALL_STEPS, STALL_GAIN = 10, 1e-8
"""The method also stops if 10 steps gain less than 1e-8 nats, as on a ridge that is flat up to a bound."""
FIRST_DAMPING, MAX_DAMPING = 1e-3, 1e12
ROUNDING = 1e-8
"""Expected gain, in nats, that may be lost in the rounding of the log posterior."""
SAME_MAXIMUM = 1e-6
"""Largest difference in nats between starts that reached one maximum."""
MIN_STARTS, MIN_WORK, MAX_STARTS = 8, 3000, 120
"""A person's search uses at least 8 starts, and at least 3,000 starts times choices, because few choices have more
maxima; 120 starts at most."""
FIRST_LAPSE, LAPSE_STEPS = 0.2, 8
"""Where the lapse starts, and the Newton steps by which it is fitted, if only the lapse is fitted."""
FEW_LAPSES = -6.0
"""Logit of the lapse below which a search tries the lower bound: Newton steps to a bound far away take long."""


class Choices(NamedTuple):
    """Choices of all people, one after another.

    Attributes
    ----------
    x : ndarray of shape (T, A, K)
        Value k of each action; ignored where an action is not allowed.
    allowed : ndarray of bool, shape (T, A)
        Whether an action could be chosen.
    chosen : ndarray of int, shape (T,)
        The chosen action; negative if the choice is not scored.
    begin : ndarray of int, shape (people + 1,)
        First choice of each person, and T.
    """

    x: FloatArray
    allowed: BoolArray
    chosen: IntArray
    begin: IntArray


class Parameters(NamedTuple):
    """The P = K parameters, or K + 1 with a lapse: their scales, bounds and Gaussian prior.

    Attributes
    ----------
    is_log : ndarray of bool, shape (P,)
        Whether the parameter is the logarithm of a weight.
    low, high : ndarray of shape (people, P)
        Bounds.
    mean, precision : ndarray of shape (P,)
        Mean and precision of the prior; precision 0 for none.
    """

    is_log: BoolArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    precision: FloatArray


class Maximum(NamedTuple):
    """The maximum that a search found, for each person; arrays to fill.

    Attributes
    ----------
    theta : ndarray of shape (people, P)
        Parameters.
    value : ndarray of shape (people,)
        Log-likelihood plus log prior density without its constant, in nats.
    gradient : ndarray of shape (people, P)
        Derivatives; nonzero at active bounds.
    hessian : ndarray of shape (people, P, P)
        Second derivatives.
    gain : ndarray of shape (people,)
        Expected gain of one more Newton step, in nats; NaN if the search has not converged.
    n_starts, n_best : ndarray of int, shape (people,)
        Number of starts, and of those that reached this maximum.
    """

    theta: FloatArray
    value: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    gain: FloatArray
    n_starts: IntArray
    n_best: IntArray


@inline
def _weights(theta: FloatArray, is_log: BoolArray, w: FloatArray) -> None:
    """Write the weights of the values into `w` (K,)."""
    for k in range(len(w)):
        w[k] = np.exp(theta[k]) if is_log[k] else theta[k]


@inline
def _compare(x: FloatArray, allowed: BoolArray, a: int, w: FloatArray, p: FloatArray, d: FloatArray) -> int:
    """Write the softmax of x w over the allowed actions into `p` (A,), and x - x[a] into `d` (A, K).

    Return the number of allowed actions.
    """
    n_allowed, largest, total = 0, 0.0, 0.0
    for b in range(len(p)):
        p[b] = -np.inf
        if allowed[b]:
            n_allowed += 1
            p[b] = 0.0
            for k in range(len(w)):
                d[b, k] = x[b, k] - x[a, k]
                p[b] += d[b, k] * w[k]
            largest = max(largest, p[b])
    for b in range(len(p)):
        p[b] = np.exp(p[b] - largest) if p[b] > -np.inf else 0.0
        total += p[b]
    for b in range(len(p)):
        p[b] /= total
    return n_allowed


@inline
def _add_choice(p: FloatArray, d: FloatArray, a: int, r: float, mean: FloatArray, g: FloatArray, h: FloatArray) -> None:
    """Add the derivatives of one choice with respect to the weights; `r` is the probability that it was no lapse.

    The mean of `d` under `p` is written into `mean` (K,).
    """
    n = len(mean)
    mean[:] = 0.0
    for b in range(len(p)):
        if b != a and p[b] > 0.0:
            for i in range(n):
                share = p[b] * d[b, i]
                mean[i] += share
                for j in range(i + 1):
                    h[i, j] -= r * share * d[b, j]
    for i in range(n):
        g[i] -= r * mean[i]
        for j in range(i + 1):
            h[i, j] += r * (2.0 - r) * mean[i] * mean[j]


@kernel
def derivatives(
    theta: FloatArray, choices: Choices, person: int, parameters: Parameters, g: FloatArray, h: FloatArray
) -> float:
    """Return the log posterior of one person, and write its gradient (P,) and Hessian (P, P).

    The constant of the prior is left out. Write q for the probability of the choice, d for the mean of the values under
    the softmax minus those of the chosen action, V for their covariance, and r for the probability that the choice was
    no lapse. Then the gradient is -r d and (1 - r) - lapse, and the second derivatives are r (1 - r) d d' - r V,
    r (1 - r) d, and r (1 - r) - lapse (1 - lapse).
    """
    n_actions, n_values = choices.x.shape[1:]
    has_lapse = len(theta) > n_values
    lapse = 1.0 / (1.0 + np.exp(-theta[n_values])) if has_lapse else 0.0
    w, p, mean, d = np.empty(n_values), np.empty(n_actions), np.empty(n_values), np.empty((n_actions, n_values))
    _weights(theta, parameters.is_log, w)
    g[:], h[:] = 0.0, 0.0
    value, last = 0.0, n_values
    for t in range(choices.begin[person], choices.begin[person + 1]):
        a = choices.chosen[t]
        if a < 0:
            continue
        n_allowed = _compare(choices.x[t], choices.allowed[t], a, w, p, d)
        q, r = p[a], 1.0
        if has_lapse:
            q = (1.0 - lapse) * p[a] + lapse / n_allowed
            r = (1.0 - lapse) * p[a] / q
        value += np.log(q)
        _add_choice(p, d, a, r, mean, g, h)
        if has_lapse:
            g[last] += (1.0 - r) - lapse
            h[last, last] += r * (1.0 - r) - lapse * (1.0 - lapse)
            for k in range(n_values):
                h[last, k] += r * (1.0 - r) * mean[k]
    return value + _add_prior(theta, w, parameters, g, h)


@inline
def _add_prior(theta: FloatArray, w: FloatArray, parameters: Parameters, g: FloatArray, h: FloatArray) -> float:
    """Change derivatives to those by the parameters, add the prior, complete the Hessian; return the log prior."""
    value = 0.0
    for i in range(len(theta)):
        for j in range(i):
            h[i, j] *= (w[i] if parameters.is_log[i] else 1.0) * (w[j] if parameters.is_log[j] else 1.0)
            h[j, i] = h[i, j]
        if parameters.is_log[i]:
            g[i] *= w[i]
            h[i, i] = h[i, i] * w[i] * w[i] + g[i]
    for i in range(len(theta)):
        distance = theta[i] - parameters.mean[i]
        value -= 0.5 * parameters.precision[i] * distance * distance
        g[i] -= parameters.precision[i] * distance
        h[i, i] -= parameters.precision[i]
    return value


@inline
def _solve(h: FloatArray, g: FloatArray, free: BoolArray, damping: float, step: FloatArray) -> bool:
    """Solve (-h + damping D) step = g for the free parameters by Cholesky; D is the diagonal of |h|.

    Return whether the matrix is positive definite.
    """
    n = len(g)
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            if not (free[i] and free[j]):
                lower[i, j] = 1.0 if i == j else 0.0
                continue
            entry = -h[i, j] + (damping * abs(h[i, i]) if i == j else 0.0)
            total = entry
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i > j:
                lower[i, j] = total / lower[j, j]
            elif total <= 1e-13 * abs(entry) or not total > 0.0:
                return False
            else:
                lower[i, i] = np.sqrt(total)
    for i in range(n):
        step[i] = g[i] if free[i] else 0.0
        for k in range(i):
            step[i] -= lower[i, k] * step[k]
        step[i] /= lower[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            step[i] -= lower[k, i] * step[k]
        step[i] /= lower[i, i]
    return True


@kernel
def newton(theta: FloatArray, choices: Choices, person: int, parameters: Parameters) -> tuple[float, float]:
    """Maximise the log posterior of one person from `theta`, which is changed; return its value and the last gain.

    If lapses become rare, the search goes on without any (`FEW_LAPSES`). If lapses raise the log posterior there, it
    returns to where it was. The gain is NaN if the method stopped before it was small.
    """
    before, g, h = np.zeros(len(theta)), np.empty(len(theta)), np.empty((len(theta), len(theta)))
    value, gain, left_out = climb(theta, choices, person, parameters, before)
    if left_out:
        derivatives(theta, choices, person, parameters, g, h)
        if g[-1] > 0.0:
            theta[:], before[-1] = before, np.nan
            value, gain, _ = climb(theta, choices, person, parameters, before)
    return value, gain


@inline
def _may_go_to_bound(now: float, proposed: float, low: float, precision: float) -> bool:
    """Whether to try the lower bound of the lapse: it is rare, falls, and has no prior."""
    return precision == 0.0 and low < proposed < min(FEW_LAPSES, now)


@kernel
def climb(
    theta: FloatArray, choices: Choices, person: int, parameters: Parameters, before: FloatArray
) -> tuple[float, float, bool]:
    """Make Newton steps from `theta`; return the value, the last gain, and whether lapses were left out on the way.

    A parameter at a bound is held there while the gradient points outwards. Damping grows until a step raises the log
    posterior. The parameters at which lapses were left out are written into `before`; if its last entry is NaN, they
    are not left out.
    """
    n, left_out = len(theta), False
    may_leave_out = n > choices.x.shape[2] and not np.isnan(before[-1])
    low, high = parameters.low[person], parameters.high[person]
    g, h, step, proposal = np.empty(n), np.empty((n, n)), np.empty(n), np.empty(n)
    g_new, h_new, free = np.empty(n), np.empty((n, n)), np.empty(n, dtype=np.bool_)
    value, damping, value_before = derivatives(theta, choices, person, parameters, g, h), 0.0, -np.inf
    for i in range(MAX_STEPS):
        for k in range(n):
            inwards = (theta[k] > low[k] or g[k] > 0.0) and (theta[k] < high[k] or g[k] < 0.0)
            free[k] = inwards and low[k] < high[k] and h[k, k] != 0.0
        while not _solve(h, g, free, damping, step):
            damping = max(10.0 * damping, FIRST_DAMPING)
            if damping > MAX_DAMPING:
                return value, np.nan, left_out
        gain = 0.0
        for k in range(n):
            gain += 0.5 * g[k] * step[k]
            proposal[k] = min(max(theta[k] + step[k], low[k]), high[k])
        if gain < SMALL_GAIN and damping <= 1.0:
            return value, gain, left_out
        if i % STALL_STEPS == 0:
            if value < value_before + STALL_GAIN:
                return value, gain, left_out
            value_before = value
        tries_none = may_leave_out and _may_go_to_bound(theta[-1], proposal[-1], low[-1], parameters.precision[-1])
        if tries_none:
            may_leave_out, proposal[-1] = False, low[-1]
        value_new = derivatives(proposal, choices, person, parameters, g_new, h_new)
        if value_new > value:
            if tries_none:
                left_out, before[:] = True, theta
            value, damping = value_new, 0.0 if damping < 2 * FIRST_DAMPING else damping / 10.0
            theta[:], g[:], h[:] = proposal, g_new, h_new
        elif tries_none:
            continue
        elif gain < ROUNDING:
            return value, gain, left_out
        else:
            damping = max(10.0 * damping, FIRST_DAMPING)
            if damping > MAX_DAMPING:
                return value, np.nan, left_out
    return value, np.nan, left_out


@inline
def _fit_lapse(w: FloatArray, choices: Choices, person: int, ratio: FloatArray) -> tuple[float, float]:
    """Maximise the log-likelihood of one person over the lapse; return it above chance, in nats, and the lapse.

    A choice has the probability (1 + (1 - lapse) z) / n_allowed with z = n_allowed p - 1, so the log-likelihood is
    concave in the lapse. The numbers z are written into `ratio`.
    """
    n = 0
    for t in range(choices.begin[person], choices.begin[person + 1]):
        a = choices.chosen[t]
        if a >= 0:
            n_allowed, total = 0, 0.0
            for b in range(choices.x.shape[1]):
                if choices.allowed[t, b]:
                    difference = 0.0
                    for k in range(len(w)):
                        difference += w[k] * (choices.x[t, b, k] - choices.x[t, a, k])
                    total += np.exp(difference)
                    n_allowed += 1
            ratio[n] = n_allowed / total - 1.0
            n += 1
    attention, value = 1.0 - FIRST_LAPSE, 0.0
    for _ in range(LAPSE_STEPS):
        g, h = 0.0, 1e-12
        for i in range(n):
            slope = ratio[i] / (1.0 + attention * ratio[i])
            g += slope
            h += slope * slope
        attention = min(max(attention + g / h, 1e-5), 1.0 - 1e-9)
    for i in range(n):
        value += np.log1p(attention * ratio[i])
    return value, 1.0 - attention


@inline
def _screen(choices: Choices, parameters: Parameters, person: int, shares: FloatArray, starts: FloatArray) -> None:
    """Write weights that are `shares` (N, K) of their largest values, with the best lapse, into `starts` (N, K + 1).

    Those with the largest log-likelihood come first.
    """
    n, n_values = shares.shape
    low, high = parameters.low[person], parameters.high[person]
    values, theta = np.empty(n), np.empty((n, n_values + 1))
    ratio = np.empty(choices.begin[person + 1] - choices.begin[person])
    for i in range(n):
        for k in range(n_values):
            share = abs(shares[i, k]) if low[k] == 0.0 else shares[i, k]
            theta[i, k] = max(share * high[k], low[k])
        values[i], lapse = _fit_lapse(theta[i, :n_values], choices, person, ratio)
        theta[i, n_values] = np.log(lapse / (1.0 - lapse))
    order = np.argsort(-values)
    for i in range(n):
        starts[i] = theta[order[i]]


@inline
def _enough(n_starts: int, n_maxima: int, n_choices: int) -> bool:
    """Return whether a search may stop, because few maxima are expected to be missing (Boender and Rinnooy Kan 1987).

    After N starts that reached W maxima, W (N - 1) / (N - W - 2) maxima are expected in all.
    """
    if n_starts >= MAX_STARTS:
        return True
    if n_starts < MIN_STARTS or n_starts * n_choices < MIN_WORK or n_starts <= n_maxima + 2:
        return False
    return n_maxima * (n_starts - 1) <= (n_maxima + 0.5) * (n_starts - n_maxima - 2)


@kernel
def maximize(choices: Choices, parameters: Parameters, starts: FloatArray, shares: FloatArray, best: Maximum) -> None:
    """Maximise the log posterior of every person from several starts, and keep the best maximum.

    All of the `starts` (people, S, P) are used. Then the search starts at weights that are `shares` (N, K) of their
    largest values, with the best lapse, in the order of their log-likelihood, until it may stop.
    """
    n_given, n_more = starts.shape[1], len(shares)
    more, maxima = np.empty((n_more, starts.shape[2])), np.empty(n_given + n_more)
    for person in range(len(best.value)):
        if n_more > 0:
            _screen(choices, parameters, person, shares, more)
        n_choices = 0
        for t in range(choices.begin[person], choices.begin[person + 1]):
            n_choices += choices.chosen[t] >= 0
        best.value[person], best.n_best[person], n_maxima, n_starts = -np.inf, 0, 0, 0
        while n_starts < n_given or (n_starts < n_given + n_more and not _enough(n_starts, n_maxima, n_choices)):
            start = starts[person, n_starts] if n_starts < n_given else more[n_starts - n_given]
            theta = np.minimum(np.maximum(start, parameters.low[person]), parameters.high[person])
            value, gain = newton(theta, choices, person, parameters)
            n_starts += 1
            if np.all(np.abs(maxima[:n_maxima] - value) > SAME_MAXIMUM):
                maxima[n_maxima] = value
                n_maxima += 1
            if value > best.value[person] + SAME_MAXIMUM:
                best.n_best[person] = 0
            if value > best.value[person] - SAME_MAXIMUM:
                best.n_best[person] += 1
            if value > best.value[person]:
                best.value[person], best.gain[person], best.theta[person] = value, gain, theta
        best.n_starts[person] = n_starts
        derivatives(best.theta[person], choices, person, parameters, best.gradient[person], best.hessian[person])
