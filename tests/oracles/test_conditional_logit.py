"""The conditional logit against plain NumPy, SciPy's optimiser from many starts, and statsmodels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from statsmodels.discrete.conditional_models import ConditionalLogit

import berlyne
import berlyne.behaviour as bb
from amounts import amount
from berlyne.behaviour.logit import Design, fit_logit, make_design, make_parameters
from berlyne.behaviour.simulation import simulate_people
from berlyne.engine.conditional_logit import Parameters, derivatives
from oracles.choice_likelihood import People, log_likelihood, simulate
from oracles.many_starts import STORED, best_of_many_starts, people_of

FREE = np.zeros(3, dtype=bool)
MAXIMA = json.loads(STORED.read_text())
"""Maxima of 200 people of each kind, from 20 starts each."""


def design_of(people: People) -> Design:
    begin = np.cumsum([0, *map(len, people.x)])
    return make_design(*(np.concatenate(column) for column in people), begin)


def parameters(people: People, positive: Any = FREE) -> Parameters:
    return make_parameters(design_of(people), positive, True)


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


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("has_lapse", [False, True])
def test_derivatives_are_sums_over_choices(n: int, has_lapse: bool) -> None:
    """Choices are summed in blocks of 64; here one by one, by the formulas in the docstring of `derivatives`."""
    rng = np.random.default_rng(n)
    x, allowed, chosen = rng.normal(size=(n, 4, 3)), rng.random((n, 4)) < 0.8, rng.integers(0, 4, n)
    allowed[np.arange(n), chosen] = True
    chosen[::9] = -1
    theta = np.array([0.5, -1.2, 0.3, -1.0])[: 4 if has_lapse else 3]
    design, size = make_design(x, allowed, chosen, np.array([0, n])), len(theta)
    bounds = np.full((1, size), np.inf)
    free = Parameters(np.zeros(size, dtype=bool), -bounds, bounds, np.zeros(size), np.zeros(size))
    lapse = 1 / (1 + np.exp(1.0)) if has_lapse else 0.0
    value, g, h = 0.0, np.zeros(4), np.zeros((4, 4))
    for t in np.flatnonzero(chosen >= 0):
        p = np.where(allowed[t], np.exp(x[t] @ theta[:3]), 0.0)
        p /= p.sum()
        q = (1 - lapse) * p[chosen[t]] + lapse / allowed[t].sum()
        r, mean = (1 - lapse) * p[chosen[t]] / q, p @ x[t]
        d, covariance = mean - x[t, chosen[t]], (x[t] - mean).T @ ((x[t] - mean) * p[:, None])
        value += np.log(q)
        g += np.append(-r * d, 1 - r - lapse)
        h[:3, :3] += r * (1 - r) * np.outer(d, d) - r * covariance
        h[3, :3] += r * (1 - r) * d
        h[3, 3] += r * (1 - r) - lapse * (1 - lapse)
    h[:3, 3] = h[3, :3]
    gradient, hessian = np.empty(size), np.empty((size, size))
    assert derivatives(theta, design.choices, 0, free, gradient, hessian) == pytest.approx(value, abs=1e-10)
    assert gradient == pytest.approx(g[:size], abs=1e-10) and hessian == pytest.approx(h[:size, :size], abs=1e-10)


@pytest.mark.parametrize("kind", MAXIMA)
def test_newton_is_never_short_of_twenty_starts_of_a_general_optimiser(kind: str) -> None:
    """The 20 starts of 200 people take minutes, so their maxima are stored."""
    people, stored = people_of(kind), np.array(MAXIMA[kind])
    fit = fit_logit(design_of(people), parameters(people))
    assert fit.converged.all() and len(stored) == 200
    short = stored - fit.log_likelihood
    assert short.max() < 1e-6
    assert (np.abs(short) < 1e-6).mean() > 0.8  # the optimiser mostly reaches the same


def test_the_stored_maxima_are_those_of_the_script() -> None:
    one = [column[7] for column in people_of("harsh")]
    assert best_of_many_starts(*one) == pytest.approx(MAXIMA["harsh"][7], abs=1e-5)


@pytest.mark.parametrize("weights", ["free", "positive"])
def test_people_in_a_maze_are_never_short_of_other_starts(weights: str) -> None:
    """People who follow PIG(VI) and a habit, repeat, prefer actions and lapse; each fitted alone."""
    world = berlyne.maze(0)
    model = bb.model("PIG(VI)", world) + bb.habit() + bb.repeat() + bb.bias() + bb.lapse()
    theta = np.array([6.0, 0.8, 1.0, 0.5, -0.5, 1.0, 0.0])
    simulated = [
        simulate_people(model, {}, lambda rng, lapse=lapse: np.append(theta[:-1], lapse), world, (n, None), [n]).data
        for n, lapse in ((25, 0.7), (40, 0.3), (70, 0.02))
    ]
    for data in simulated:
        fit = bb.fit(data, model, weights=weights)
        x = model.values(data, {})
        low = np.where(model.is_drive(data.actions), 0.0 if weights == "positive" else -20.0, -20.0)
        best = best_of_many_starts(x, data.allowed, data.chosen, 3, low)
        assert best - fit.log_likelihood[0] < 1e-6
        assert fit.people["converged"].all()


def test_newton_with_positive_weights_is_never_short() -> None:
    people = simulate(amount(4, 8), 3)
    fit = fit_logit(design_of(people), parameters(people, ~FREE))
    weights = fit.theta[:, :3]
    assert (weights >= 0).all() and (weights == 0).any() and (weights > 0).any()
    for i, one in enumerate(zip(*people, strict=True)):
        assert best_of_many_starts(*one, 3, low=0.0) - fit.log_likelihood[i] < 1e-6


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
