"""The conditional logit against plain NumPy, SciPy's optimiser from many starts, and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from statsmodels.discrete.conditional_models import ConditionalLogit

from berlyne.behaviour.logit import Design, fit_logit, make_design, make_parameters
from berlyne.engine.conditional_logit import Parameters, derivatives
from oracles.choice_likelihood import People, gradient, log_likelihood, simulate

FREE = np.zeros(3, dtype=bool)


def design_of(people: People) -> Design:
    begin = np.cumsum([0, *map(len, people.x)])
    return make_design(*(np.concatenate(column) for column in people), begin)


def parameters(people: People, positive: Any = FREE) -> Parameters:
    return make_parameters(design_of(people), positive, True)


def best_of_many_starts(x: Any, allowed: Any, chosen: Any, n_starts: int, low: float = -20.0) -> float:
    """Log-likelihood that SciPy finds with |w| times the spread of the values up to 20."""
    rng, best = np.random.default_rng(5), -np.inf
    variance = [np.var(x[t][allowed[t]], axis=0) for t in range(len(x))]
    unit = 1 / np.sqrt(np.mean(variance, axis=0))
    bounds = [*((low * one, 20 * one) for one in unit), (-23, 12)]
    for _ in range(n_starts):
        start = np.append(np.clip(rng.normal(0, 3, 3), low, 20) * unit, rng.normal(-2, 2))
        result = minimize(
            lambda theta: -log_likelihood(theta, x, allowed, chosen),
            start,
            jac=lambda theta: -gradient(theta, x, allowed, chosen),
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-13, "gtol": 1e-6, "maxiter": 200},
        )
        best = max(best, -float(result.fun))
    return best


@pytest.mark.parametrize("is_log", [False, True])
def test_derivatives_are_those_of_the_plain_likelihood(is_log: bool) -> None:
    people, rng = simulate(3, 1), np.random.default_rng(0)
    people.chosen[1][::7] = -1
    mean, precision = rng.normal(size=4), rng.random(4)
    log = np.array([is_log, False, is_log, False])
    prior = Parameters(log, np.full((3, 4), -np.inf), np.full((3, 4), np.inf), mean, precision)
    theta = np.array([0.3, -0.2, -1.5, -1.0])

    def plain(theta: Any) -> float:
        natural = np.where(log, np.exp(theta), theta)
        log_prior = -0.5 * np.sum(precision * (theta - mean) ** 2)
        return log_likelihood(natural, people.x[1], people.allowed[1], people.chosen[1]) + float(log_prior)

    g, h = np.empty(4), np.empty((4, 4))
    value = derivatives(theta, design_of(people).choices, 1, prior, g, h)
    assert value == pytest.approx(plain(theta), abs=1e-9)
    assert g == pytest.approx(approx_fprime(theta, plain, 1e-6), abs=2e-3)
    numeric = approx_fprime(theta, lambda theta: approx_fprime(theta, plain, 1e-4), 1e-4)
    assert h == pytest.approx(numeric, rel=2e-2, abs=0.2)
    assert h == pytest.approx(h.T)


@pytest.mark.slow
def test_newton_is_never_short_of_twenty_starts_of_a_general_optimiser() -> None:
    people = simulate(200, 2)
    fit = fit_logit(design_of(people), parameters(people))
    assert fit.converged.all()
    short = [best_of_many_starts(*one, 20) - fit.log_likelihood[i] for i, one in enumerate(zip(*people, strict=True))]
    assert max(short) < 1e-6
    assert min(short) > -1.0  # the optimiser reaches nearly the same, so the comparison means something


def test_newton_with_positive_weights_is_never_short() -> None:
    people = simulate(25, 3)
    fit = fit_logit(design_of(people), parameters(people, ~FREE))
    weights = fit.theta[:, :3]
    assert (weights >= 0).all() and (weights == 0).any() and (weights > 0).any()
    for i, one in enumerate(zip(*people, strict=True)):
        assert best_of_many_starts(*one, 8, 0.0) - fit.log_likelihood[i] < 1e-6


def test_the_log_likelihood_is_the_plain_one() -> None:
    people = simulate(5, 4)
    fit = fit_logit(design_of(people), parameters(people))
    for i, one in enumerate(zip(*people, strict=True)):
        assert fit.log_likelihood[i] == pytest.approx(log_likelihood(fit.theta[i], *one), abs=1e-9)


def test_estimates_and_standard_errors_agree_with_statsmodels() -> None:
    people = simulate(3, 6, sizes=(150, 200), scale=(1.0, 0.5, 2.0))
    fit = fit_logit(design_of(people), make_parameters(design_of(people), FREE, False))
    for i, (x, allowed, chosen) in enumerate(zip(*people, strict=True)):
        group = np.broadcast_to(np.arange(len(x))[:, None], allowed.shape)[allowed]
        taken = (np.arange(4) == chosen[:, None])[allowed].astype(float)
        peer = ConditionalLogit(taken, x[allowed], groups=group).fit(method="newton", disp=False)
        assert fit.theta[i] == pytest.approx(peer.params, abs=1e-6)
        assert fit.standard_errors()[i] == pytest.approx(peer.bse, rel=1e-5)
        assert fit.log_likelihood[i] == pytest.approx(peer.llf, abs=1e-8)


def test_people_together_are_one_person() -> None:
    people = simulate(4, 7)
    apart = fit_logit(design_of(people), parameters(people))
    together = fit_logit(design_of(people).together(), make_parameters(design_of(people).together(), FREE, True))
    one = [np.concatenate(column) for column in people]
    assert together.log_likelihood[0] == pytest.approx(log_likelihood(together.theta[0], *one), abs=1e-8)
    assert together.log_likelihood[0] < apart.log_likelihood.sum()
    whole = design_of(People(*([column] for column in one)))
    assert whole.spread == pytest.approx(design_of(people).together().spread)
