"""Laplace-EM against maximum likelihood by quadrature over each person's weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

from berlyne.behaviour.group import fit_group
from berlyne.behaviour.logit import make_design
from oracles.choice_likelihood import log_likelihood, probabilities

THETA = np.linspace(-7.0, 7.0, 701)


def simulate(n_people: int, n: int, is_log: bool, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x, chosen = rng.normal(size=(n_people, n, 3, 1)), np.empty((n_people, n), dtype=np.int64)
    for i in range(n_people):
        weight = np.exp(rng.normal(0, 0.6)) if is_log else rng.normal(0.5, 0.7)
        p = probabilities(np.array([weight]), x[i], np.ones((n, 3), dtype=bool))
        chosen[i] = (rng.random((n, 1)) >= p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return x, chosen


def log_likelihoods(x: Any, chosen: Any, is_log: bool) -> Any:
    """Log-likelihood of each person for each of THETA."""
    allowed = np.ones(x.shape[1:3], dtype=bool)
    weights = np.exp(THETA) if is_log else THETA
    return np.array([[log_likelihood(np.array([w]), x[i], allowed, chosen[i]) for w in weights] for i in range(len(x))])


def log_evidence(table: Any, mean: float, sd: float) -> Any:
    """Log evidence of each person, integrated over the group distribution by the trapezoidal rule."""
    return logsumexp(table + norm.logpdf(THETA, mean, sd), axis=1) + np.log(THETA[1] - THETA[0])


@pytest.mark.parametrize(("is_log", "shift", "sd_error"), [(False, 0.1, 0.03), (True, 0.5, 0.12)])
def test_the_group_is_near_maximum_likelihood_by_quadrature(is_log: bool, shift: float, sd_error: float) -> None:
    """Posteriors of logarithms of weights are skewed, so their Laplace approximation is less exact."""
    x, chosen = simulate(20, 80, is_log, 3)
    begin = np.arange(0, 21 * 80, 80)
    design = make_design(x.reshape(-1, 3, 1), np.ones((1600, 3), dtype=bool), chosen.ravel(), begin)
    fit = fit_group(design, np.array([is_log]), False)
    table = log_likelihoods(x, chosen, is_log)
    best = minimize(
        lambda p: -log_evidence(table, p[0], np.exp(p[1])).sum(),
        [fit.mean[0] + 0.1, np.log(fit.sd[0]) + 0.1],
        method="Nelder-Mead",
        options={"xatol": 1e-3, "fatol": 1e-4},
    )
    mean, sd = best.x[0], np.exp(best.x[1])
    assert fit.converged
    assert fit.mean[0] == pytest.approx(mean, abs=shift * fit.se[0])
    assert fit.sd[0] == pytest.approx(sd, rel=sd_error)
    exact = log_evidence(table, fit.mean[0], fit.sd[0])
    assert fit.log_evidence == pytest.approx(exact, abs=0.3 if is_log else 0.05)
    assert fit.log_evidence.sum() == pytest.approx(exact.sum(), abs=0.6)
    step = 0.02  # curvature of the profile of the mean gives its standard error
    curvature = [log_evidence(table, mean + d, sd).sum() for d in (-step, 0.0, step)]
    se = step / np.sqrt(-(curvature[0] - 2 * curvature[1] + curvature[2]))
    assert fit.se[0] == pytest.approx(se, rel=0.1)
