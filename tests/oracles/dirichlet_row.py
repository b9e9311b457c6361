"""One Dirichlet row by definition and by quadrature; shares no code with berlyne.

`c` are the pseudo-counts of the row's support: concentration plus observations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import integrate, special

Vector = Sequence[float] | np.ndarray


def mean(c: Vector) -> np.ndarray:
    return np.asarray(c, dtype=float) / math.fsum(c)


def after_each(c: Vector) -> np.ndarray:
    """Line i is the mean after one more observation of i."""
    return np.array([mean(np.asarray(c, dtype=float) + one) for one in np.eye(len(c))])


def bits(p: Vector, q: Vector) -> float:
    """KL(p || q), term by term."""
    return math.fsum(x * math.log2(x / y) for x, y in zip(p, q, strict=True) if x > 0)


def pig(c: Vector) -> float:
    """Eq. 11 with the divergence of reading R2."""
    return math.fsum(p * bits(after, mean(c)) for p, after in zip(mean(c), after_each(c), strict=True))


def pig_as_printed(c: Vector) -> float:
    return math.fsum(p * bits(mean(c), after) for p, after in zip(mean(c), after_each(c), strict=True))


def pmc(c: Vector) -> float:
    """Eq. 19."""
    return math.fsum(p * (max(after) - max(mean(c))) for p, after in zip(mean(c), after_each(c), strict=True))


def plc(c: Vector, n_states: int) -> float:
    """Eq. 20: the average runs over all states of the world, also those outside the support."""
    change = np.abs(after_each(c) - mean(c)).sum(axis=1)
    return math.fsum(p * x / n_states for p, x in zip(mean(c), change, strict=True))


def expected_entropy(c: Vector) -> float:
    """E[H(theta)] in bits: theta_i is Beta(c_i, kappa - c_i), integrated with its end-point singularities."""
    if len(c) == 1:
        return 0.0
    kappa, total = math.fsum(c), 0.0
    for ci in c:
        # integral of x^ci (1 - x)^(kappa - ci - 1) log x over (0, 1)
        part, _ = integrate.quad(lambda x: 1.0, 0, 1, weight="alg-loga", wvar=(ci, kappa - ci - 1.0))
        total -= part / special.beta(ci, kappa - ci)
    return total / math.log(2.0)


def expected_missing(c: Vector, phi: Vector) -> float:
    """E[KL(theta || phi)] = H(mean; phi) - E[H(theta)], in bits."""
    cross = -math.fsum(p * math.log2(q) for p, q in zip(mean(c), phi, strict=True))
    return cross - expected_entropy(c)


def expected_gain(c: Vector) -> float:
    """Left side of Theorem 2: expected missing information now, minus that after one more outcome."""
    c = np.asarray(c, dtype=float)
    later = [expected_missing(c + one, mean(c + one)) for one in np.eye(len(c))]
    return expected_missing(c, mean(c)) - float(np.dot(mean(c), later))


def log_evidence(c: Vector, alpha: float) -> float:
    """Log probability of the observations in their order, by the chain rule of Polya's urn."""
    weights = [alpha] * len(c)
    result = 0.0
    for i, ci in enumerate(c):
        for _ in range(round(ci - alpha)):
            result += math.log(weights[i] / math.fsum(weights))
            weights[i] += 1.0
    return result
