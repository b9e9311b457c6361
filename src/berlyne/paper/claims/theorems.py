"""Checks of the two theorems by enumeration and simulation, without stored results.

For 1-2-3 Worlds all target sets are enumerated. For Dirichlet rows, worlds are drawn from the posterior.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from berlyne.information import kl_divergence
from berlyne.models.internal_model import InternalModel
from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.verdict import Finding
from berlyne.priors import Dirichlet, OneTwoThree, Prior
from berlyne.strategies.utilities import pig
from berlyne.validation import FloatArray

N_STATES = 6
ROUNDING, NEAR = 1e-12, 4.0
"""Our criteria: largest error due to rounding, in bits, and largest error of a simulation, in standard errors."""
TOLERANCE = f"to {ROUNDING:g} bits"
HISTORIES: tuple[tuple[int, ...], ...] = ((), (2,), (0,), (2, 4), (0, 3), (2, 4, 5), (0, 2, 5))


def theorem_1(evidence: Evidence) -> tuple[Finding, ...]:
    """Check that no estimate has less expected missing information than the Bayesian one."""
    rng = np.random.default_rng(1)
    smallest, n_changes = np.inf, 0
    for expected_missing, theta_hat in [*_enumerated(), *_in_closed_form()]:
        best = expected_missing(theta_hat)
        for _ in range(50):
            changed = theta_hat * np.exp(rng.normal(0, rng.choice([0.01, 0.1, 1.0]), N_STATES))
            smallest = min(smallest, expected_missing(changed / changed.sum()) - best)
            n_changes += 1
    measured = f"the smallest increase over {n_changes:,} random changes of the estimate is {smallest:.2g} bits"
    about = "1-2-3 and Dirichlet rows: estimates other than the Bayesian"
    return (Finding(about, "never less missing information", measured, bool(smallest > -ROUNDING), TOLERANCE),)


def theorem_2(evidence: Evidence) -> tuple[Finding, ...]:
    """Check that PIG equals the expected information gain."""
    exact = max(abs(_expected_gain(*case[:3], case[3]) - case[4]) for case in _with_pig(OneTwoThree(N_STATES)))
    discrete = Finding(
        "1-2-3 rows, all targets enumerated", "PIG is the expected gain", f"largest difference {exact:.2g} bits",
        bool(exact < ROUNDING), TOLERANCE,
    )  # fmt: skip
    z = _simulated_z(np.random.default_rng(2))
    simulated = Finding(
        "Dirichlet rows, 200,000 simulated observations each",
        "PIG is the expected gain",
        f"largest difference {np.abs(z).max():.1f} standard errors over {len(z)} combinations of alpha and history",
        bool(np.abs(z).max() < NEAR),
        f"less than {NEAR:g} standard errors",
    )
    return discrete, simulated


_Case = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _model(prior: Prior, a: int, history: tuple[int, ...]) -> InternalModel:
    """Return a model that has observed `history` as outcomes of action `a` in state 0."""
    model = InternalModel(prior)
    model.observe_many([(0, a, s_next) for s_next in history])
    return model


def _discrete_cases(prior: OneTwoThree) -> list[_Case]:
    """Return possible rows, their posterior weights, the estimate, and the estimate after each outcome, by history."""
    cases = []
    for a in range(prior.n_actions):
        k, q = a + 1, prior.p_escape ** (a + 1)
        sets = [set(targets) for targets in combinations(range(N_STATES), k)]
        n_with = sum(0 in targets for targets in sets)
        for history in HISTORIES:
            if len(set(history)) > k:
                continue
            fits = [targets for targets in sets if set(history) <= targets]
            weights = np.array([(1 - q) / n_with if 0 in t else q / (len(sets) - n_with) for t in fits])
            worlds = np.array([[1.0 / k if s in t else 0.0 for s in range(N_STATES)] for t in fits])
            model = _model(prior, a, history)
            cases.append((worlds, weights / weights.sum(), model.theta_hat_row(a, 0), model.theta_hat_after(a, 0)))
    return cases


_Expectation = Callable[[FloatArray], float]


def _enumerated() -> list[tuple[_Expectation, FloatArray]]:
    """Return expected missing information over all target sets that fit the data, and the estimate, by history."""

    def expectation(worlds: FloatArray, weights: FloatArray) -> _Expectation:
        return lambda estimate: float(np.dot(weights, kl_divergence(worlds, estimate)))

    cases = _discrete_cases(OneTwoThree(N_STATES))
    return [(expectation(worlds, weights), theta_hat) for worlds, weights, theta_hat, _ in cases]


def _in_closed_form() -> list[tuple[_Expectation, FloatArray]]:
    """Return expected missing information and the estimate for Dirichlet rows, whose components are beta variables."""
    from scipy.special import digamma
    from scipy.stats import beta

    def expectation(alphas: FloatArray) -> _Expectation:
        total = alphas.sum()
        mean = beta.mean(alphas, total - alphas)
        mean_log = np.sum(alphas / total * (digamma(alphas + 1.0) - digamma(total + 1.0))) / np.log(2.0)
        return lambda estimate: float(mean_log - np.dot(mean, np.log2(estimate)))

    cases = []
    for alpha in (0.25, 1.0):
        prior = Dirichlet(alpha, n_states=N_STATES, n_actions=1)
        for history in HISTORIES:
            counts = np.bincount(np.array(history, dtype=int), minlength=N_STATES)
            posterior = np.asarray(alpha + counts, dtype=np.float64)
            cases.append((expectation(posterior), _model(prior, 0, history).theta_hat_row(0, 0)))
    return cases


def _with_pig(prior: OneTwoThree) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]]:
    """Return the cases of `_discrete_cases`, each with its PIG."""
    possible = [(a, h) for a in range(prior.n_actions) for h in HISTORIES if len(set(h)) <= a + 1]
    values = [float(pig(_model(prior, a, history))[a, 0]) for a, history in possible]
    return [(*case, value) for case, value in zip(_discrete_cases(prior), values, strict=True)]


def _expected_gain(
    worlds: FloatArray, weights: FloatArray, theta_hat: FloatArray, theta_hat_after: FloatArray
) -> float:
    """Return the decrease of missing information, in bits, averaged over worlds and their outcomes (Eq. 10)."""
    gain = 0.0
    for world, weight in zip(worlds, weights, strict=True):
        outcomes = np.flatnonzero(world)
        decrease = kl_divergence(world, theta_hat) - kl_divergence(world, theta_hat_after[outcomes])
        gain += float(weight * np.dot(world[outcomes], decrease))
    return gain


def _simulated_z(rng: np.random.Generator) -> FloatArray:
    """Return mean simulated gain minus PIG, in standard errors, for several alphas and histories."""
    n, z = 200_000, []
    for alpha in (0.25, 1.0):
        prior = Dirichlet(alpha, n_states=N_STATES, n_actions=1)
        for history in HISTORIES:
            model = _model(prior, 0, history)
            counts = np.bincount(np.array(history, dtype=int), minlength=N_STATES)
            worlds = rng.dirichlet(alpha + counts, size=n)
            outcome = np.minimum((worlds.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), N_STATES - 1)
            ratio = np.log2(model.theta_hat_after(0, 0)[outcome]) - np.log2(model.theta_hat_row(0, 0))
            gain = np.sum(worlds * ratio, axis=1)
            z.append((gain.mean() - pig(model)[0, 0]) / (gain.std(ddof=1) / np.sqrt(n)))
    return np.array(z)
