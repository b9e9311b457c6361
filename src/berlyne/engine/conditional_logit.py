"""Conditional logit with lapses: exact derivatives, and a damped Newton method with bounds, for one person or many.

A choice among the allowed actions has the probability (1 - lapse) softmax(x w)[a] + lapse / n_allowed. Here x[a, k] are
values and w their weights. A parameter is a weight, the logarithm of a weight, or the logit of the lapse. The lapse is
the last parameter, if there is one. Parameters may have a Gaussian prior; its precision is zero if there is none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.jit import inline, kernel
from berlyne.engine.simd import add, item, load, multiply_add, scatter, set_item, splat
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


BLOCK = 64
"""Number of choices whose derivatives are summed at once, a multiple of 16."""


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


@kernel
def centre(x: FloatArray, choices: Choices, spread: FloatArray) -> None:
    """Write values `x` minus their mean over the allowed actions into `choices.x`, and their spread (people, K).

    The spread is the standard deviation among the allowed actions, root mean square over the scored choices. A spread
    that is only rounding is 0, and so are then the values of this person. Values are 0 if an action is not allowed.
    """
    (n_actions, n_values), begin = x.shape[1:], choices.begin
    square, largest = np.empty(n_values), np.empty(n_values)
    for person in range(len(spread)):
        n_scored = 0
        square[:], largest[:] = 0.0, 0.0
        for t in range(begin[person], begin[person + 1]):
            n_allowed = 0
            for b in range(n_actions):
                n_allowed += choices.allowed[t, b]
            n_allowed, is_scored = max(n_allowed, 1), choices.chosen[t] >= 0
            n_scored += is_scored
            for k in range(n_values):
                total, of_squares = 0.0, 0.0
                for b in range(n_actions):
                    total += x[t, b, k] if choices.allowed[t, b] else 0.0
                mean = total / n_allowed
                for b in range(n_actions):
                    centred = x[t, b, k] - mean if choices.allowed[t, b] else 0.0
                    choices.x[t, b, k] = centred
                    of_squares += centred * centred
                    if is_scored and choices.allowed[t, b]:
                        largest[k] = max(largest[k], abs(x[t, b, k]))
                if is_scored:
                    square[k] += of_squares / n_allowed
        for k in range(n_values):
            spread[person, k] = np.sqrt(square[k] / max(n_scored, 1))
            if spread[person, k] <= 1e-12 * largest[k]:
                spread[person, k] = 0.0
                for t in range(begin[person], begin[person + 1]):
                    for b in range(n_actions):
                        choices.x[t, b, k] = 0.0


@inline
def _weights(theta: FloatArray, is_log: BoolArray, w: FloatArray) -> None:
    """Write the weights of the values into `w` (K,)."""
    for k in range(len(w)):
        w[k] = np.exp(theta[k]) if is_log[k] else theta[k]


@inline
def _softmax(values: FloatArray, p: FloatArray) -> float:
    """Write the softmax of these values (N,) and of 0, the value of the chosen action, into `p`; return that of 0."""
    largest = 0.0
    for m in range(len(values)):
        largest = max(largest, values[m])
    chosen = np.exp(-largest) if largest > 0.0 else 1.0
    total = chosen
    for m in range(len(values)):
        p[m] = np.exp(values[m] - largest)
        total += p[m]
    scale = 1.0 / total
    for m in range(len(values)):
        p[m] *= scale
    return chosen * scale


@inline
def _compare(
    x: FloatArray, allowed: BoolArray, t: int, a: int, w: FloatArray, d: FloatArray, n: int, v: FloatArray
) -> int:
    """Write the differences of all other actions from action a, for choice n of a block, into `d`; see `derivatives`.

    `x` and `allowed` are the flat arrays of all choices, and t is the number of this one. The differences times the
    weights are written into `v` (A - 1,), -inf if an action is not allowed. Return the number of allowed actions.
    """
    n_actions, n_values, n_allowed, m = len(v) + 1, len(w), 0, 0
    chosen = (t * n_actions + a) * n_values
    for b in range(n_actions):
        is_allowed = allowed[t * n_actions + b]
        n_allowed += is_allowed
        if b == a:
            continue
        at, first, value = m * BLOCK + n, (t * n_actions + b) * n_values, 0.0
        for k in range(n_values):
            difference = item(x, first + k) - item(x, chosen + k) if is_allowed else 0.0
            set_item(d, at, difference)
            value += difference * item(w, k)
            at += n_actions * BLOCK
        set_item(v, m, value if is_allowed else -np.inf)
        m += 1
    return n_allowed


@inline
def _dot(x: FloatArray, y: FloatArray, first: int, size: int, lanes: FloatArray) -> float:
    """Sum x[i] y[first + i] over `size` numbers, a multiple of 16; `lanes` (4,) is scratch."""
    start: Any = np.int64(first)
    one, two, three, four = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    i: Any = np.int64(0)
    while i < size:
        one = multiply_add(one, load(x, i), load(y, start + i))
        two = multiply_add(two, load(x, i + 4), load(y, start + i + 4))
        three = multiply_add(three, load(x, i + 8), load(y, start + i + 8))
        four = multiply_add(four, load(x, i + 12), load(y, start + i + 12))
        i += 16
    scatter(lanes, (0,), 0, (add(add(one, two), add(three, four)),))
    total: float = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    return total


@inline
def _subtract_block(
    d: FloatArray, coefficient: FloatArray, scaled: FloatArray, lanes: FloatArray, h: FloatArray
) -> None:
    """Subtract the sum of coefficient[i] d[k, i] d[j, i] from `h` for all k and j <= k."""
    size = len(coefficient)
    for k in range(len(d) // size):
        for i in range(size):
            scaled[i] = coefficient[i] * d[k * size + i]
        for j in range(k + 1):
            h[k, j] -= _dot(scaled, d, j * size, size, lanes)


@kernel
def derivatives(
    theta: FloatArray, choices: Choices, person: int, parameters: Parameters, g: FloatArray, h: FloatArray
) -> float:
    """Return the log posterior of one person, and write its gradient (P,) and Hessian (P, P).

    The constant of the prior is left out. Write q for the probability of the choice, d for the mean of the values under
    the softmax minus those of the chosen action, V for their covariance, and r for the probability that the choice was
    no lapse. Then the gradient is -r d and (1 - r) - lapse, and the second derivatives are r (1 - r) d d' - r V,
    r (1 - r) d, and r (1 - r) - lapse (1 - lapse).

    V is the mean of the products of differences from the chosen action, minus d d'. The sums of products over a block
    of choices are vectorised. For that, the differences of the block lie side by side, `[k, m, choice]`: m are the
    other actions, with the coefficient r p, and the last m is d, with the coefficient -r (2 - r).
    """
    n_actions, n_values = choices.x.shape[1:]
    has_lapse = len(theta) > n_values
    lapse = 1.0 / (1.0 + math.exp(-theta[n_values])) if has_lapse else 0.0
    w, v, p, lanes = np.empty(n_values), np.empty(n_actions - 1), np.empty(n_actions - 1), np.empty(4)
    size = n_actions * BLOCK
    d, coefficient, scaled = np.zeros(n_values * size), np.zeros(size), np.empty(size)
    _weights(theta, parameters.is_log, w)
    g[:], h[:] = 0.0, 0.0
    x, allowed, chosen = choices.x.reshape(-1), choices.allowed.reshape(-1), choices.chosen  # a slice takes longer
    slope, with_lapse = np.zeros(n_values + 1), np.zeros(n_values + 1)  # first derivatives, and second with the lapse
    value, last, n = 0.0, n_values, 0
    for t in range(choices.begin[person], choices.begin[person + 1]):
        a = chosen[t]
        if a < 0:
            continue
        n_allowed = _compare(x, allowed, t, a, w, d, n, v)
        q, r = _softmax(v, p), 1.0
        if has_lapse:
            attentive = (1.0 - lapse) * q
            q = attentive + lapse / n_allowed
            r = attentive / q
            slope[last] += (1.0 - r) - lapse
            with_lapse[last] += r * (1.0 - r) - lapse * (1.0 - lapse)
        value += np.log(q)
        for m in range(n_actions - 1):
            set_item(coefficient, m * BLOCK + n, r * item(p, m))
        set_item(coefficient, size - BLOCK + n, -r * (2.0 - r))
        for k in range(n_values):
            mean, at = 0.0, k * size + n
            for m in range(n_actions - 1):
                mean += item(p, m) * item(d, at + m * BLOCK)
            set_item(d, at + size - BLOCK, mean)
            set_item(slope, k, item(slope, k) - r * mean)
            set_item(with_lapse, k, item(with_lapse, k) + r * (1.0 - r) * mean)
        n += 1
        if n == BLOCK:
            _subtract_block(d, coefficient, scaled, lanes, h)
            n = 0
    if n > 0:
        for m in range(n_actions):
            coefficient[m * BLOCK + n : (m + 1) * BLOCK] = 0.0
        _subtract_block(d, coefficient, scaled, lanes, h)
    for k in range(len(theta)):
        g[k] = slope[k]
        if has_lapse:
            h[last, k] = with_lapse[k]
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
            slope = item(ratio, i) / (1.0 + attention * item(ratio, i))
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
