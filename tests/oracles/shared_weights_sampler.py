"""The posterior of shared weights without any approximation: an exact Gibbs sampler, and quadrature for one class.

Nothing is imported from the package. A table is a list of rows; a row is a list of (labels, n, fixed pseudo-count).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln


def log_likelihood(rows, w):
    """Log probability of all outcomes in their order, by Polya's urn, one draw after the other."""
    total = 0.0
    for row in rows:
        urn = [fixed + sum(w[c] for c in labels) for labels, _, fixed in row]
        for i, (_, n, _) in enumerate(row):
            for _ in range(n):
                total += np.log(urn[i] / sum(urn))
                urn[i] += 1.0
    return total


def gibbs(rows, n_classes, shape, mean, n_draws, seed):
    """Draw weights from their posterior under Gamma(shape, rate shape / mean), (n_draws, n_classes).

    Gamma(A) / Gamma(A + n) is the integral of eta^(A - 1) (1 - eta)^(n - 1) over eta, up to a constant, so eta is a
    beta variable given A. Gamma(x + n) / Gamma(x) is a sum of powers of x, whose exponent is the number of tables of a
    Chinese restaurant with n customers. Given eta and the tables, every weight has a gamma distribution.
    """
    rng = np.random.default_rng(seed)
    w, draws = np.full(n_classes, mean), np.empty((n_draws, n_classes))
    for t in range(n_draws):
        tables, rate = np.zeros(n_classes), np.full(n_classes, shape / mean)
        for row in rows:
            n_row = sum(n for _, n, _ in row)
            if n_row == 0:
                continue
            sums = [fixed + sum(w[c] for c in labels) for labels, _, fixed in row]
            minus_log_eta = -np.log(rng.beta(sum(sums), n_row))
            for (labels, n, fixed), x in zip(row, sums, strict=True):
                for c in labels:
                    rate[c] += minus_log_eta
                n_tables = sum(rng.random() < x / (x + j) for j in range(n))
                shares = np.array([*(w[c] for c in labels), fixed]) / x
                for c, k in zip(labels, rng.multinomial(n_tables, shares), strict=False):
                    tables[c] += k
        w = rng.gamma(shape + tables) / rate
        draws[t] = w
    return draws


def one_class_by_quadrature(rows, shape, mean):
    """Posterior mean, standard deviation and log evidence of a single weight, on a grid of log w."""
    x = np.linspace(np.log(mean) - 25.0, np.log(mean) + 12.0, 4001)
    log_prior = shape * np.log(shape / mean) - gammaln(shape) + shape * x - shape / mean * np.exp(x)
    log_p = log_prior + [log_likelihood(rows, [value]) for value in np.exp(x)]
    p = np.exp(log_p - log_p.max())
    evidence = np.log(p.sum() * (x[1] - x[0])) + log_p.max()
    p /= p.sum()
    first, second = np.sum(p * np.exp(x)), np.sum(p * np.exp(2 * x))
    return first, np.sqrt(second - first**2), evidence
