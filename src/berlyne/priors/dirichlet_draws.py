"""Draws from a Dirichlet distribution that plain Python and compiled code make alike, from two whole numbers.

Kernels cannot call a NumPy generator that plain agents share. The generator here is that of L'Ecuyer (1988), Efficient
and portable combined random number generators: two multiplicative generators with the prime moduli 2147483563 and
2147483399, whose products fit into 64 bits. A gamma variate is drawn by the method of Marsaglia & Tsang (2000), A
simple method for generating gamma variables, as a logarithm, so that small pseudo-counts do not underflow.
"""

from __future__ import annotations

import math

import numpy as np

from berlyne.validation import FloatArray, IntArray

MODULI = 2147483563, 2147483399
MULTIPLIERS = 40014, 40692
IMPOSSIBLE = 1e-13
"""Outcomes whose probability is at most this are impossible: rounding."""


def seeds_of(seed: np.random.SeedSequence | None) -> IntArray:
    """Return the two whole numbers that begin the stream of a seed."""
    words = (seed or np.random.SeedSequence(0)).generate_state(2)
    return np.array([1 + int(word) % (m - 1) for word, m in zip(words, MODULI, strict=True)], dtype=np.int64)


def begin_stream(state: IntArray, seeds: IntArray, t: int) -> None:
    """Set `state` (2,) to the beginning of the stream of time t; streams begin 2^24 numbers apart."""
    for i in range(2):
        modulus = 2147483563 if i == 0 else 2147483399
        factor = 40014 if i == 0 else 40692
        for _ in range(24):
            factor = factor * factor % modulus
        value, exponent = seeds[i], t
        while exponent > 0:
            if exponent % 2 == 1:
                value = value * factor % modulus
            factor = factor * factor % modulus
            exponent //= 2
        state[i] = value


def draw_log_gamma(shape: float, state: IntArray, u: FloatArray) -> float:
    """Draw the natural logarithm of a gamma variate of this shape; `state` (2,) moves on, `u` (4,) is scratch."""
    is_small = shape < 1.3710585  # no pseudo-count is near it, so rounding cannot change the method
    d = (shape + 1.0 if is_small else shape) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        for i in range(4):
            state[0] = state[0] * 40014 % 2147483563
            state[1] = state[1] * 40692 % 2147483399
            z = (state[0] - state[1]) % 2147483562
            u[i] = (z + 1.0) / 2147483564.0
        x = math.sqrt(-2.0 * math.log(u[0])) * math.cos(2.0 * math.pi * u[1])
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if math.log(u[2]) < 0.5 * x * x + d - d * v + d * math.log(v):
                break
    log_gamma = math.log(d * v)
    return log_gamma + math.log(u[3]) / shape if is_small else log_gamma


def draw_row(mean: FloatArray, kappa: float, state: IntArray) -> FloatArray:
    """Draw one distribution (N,) from a Dirichlet with this mean (N,) and sum of pseudo-counts."""
    logs, u = np.full(len(mean), -np.inf), np.empty(4)
    for i in np.flatnonzero(mean > IMPOSSIBLE):
        logs[i] = draw_log_gamma(kappa * float(mean[i]), state, u)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
