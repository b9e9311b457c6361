"""Shared weights against plain loops over the formulas, quadrature, an exact Gibbs sampler and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma, gammaln

from berlyne import InternalModel, SharedDirichlet
from berlyne.agents.make import make_agent
from berlyne.priors.shared_weights import WeightBelief, evidence_of, lower_bound, sweep, updated_moments
from berlyne.sparse import Counts
from berlyne.strategies.registry import get_strategy
from oracles import dirichlet_row as oracle
from oracles.shared_weights_sampler import gibbs, log_likelihood, one_class_by_quadrature

FIXED = 1e12
"""A strength with which mean and shape of all weights stay as they are."""


def random_case(rng, n_features=None, n_classes=4):
    """Labels (F, M, N, N), the support and counts, with some transitions that are impossible or have no label."""
    n_actions, n_states = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    n_features = int(rng.integers(1, 4)) if n_features is None else n_features
    shape = (n_actions, n_states, n_states)
    mask = rng.random(shape) < 0.8
    mask[:, np.arange(n_states), rng.integers(n_states, size=n_states)] = True
    labels = rng.integers(-1, n_classes, size=(n_features, *shape))
    labels[0, mask & (rng.random(shape) < 0.7)] = 0  # at least one label somewhere, and classes of different sizes
    counts = np.where(mask, rng.integers(0, 6, size=shape) * (rng.random(shape) < 0.6), 0)
    return labels, mask, counts


def rows_of(labels, mask, counts, alpha):
    """Rows with several possible outcomes, as lists of (labels, n, fixed pseudo-count)."""
    rows = []
    for a, s in np.ndindex(mask.shape[:2]):
        row = []
        for s_next in np.flatnonzero(mask[a, s]):
            found = [int(c) for c in labels[:, a, s, s_next] if c >= 0]
            row.append((found, int(counts[a, s, s_next]), 0.0 if found else alpha))
        rows += [row] if len(row) > 1 else []
    return rows


def plain_sweep(rows, shapes, rates, mean, a):
    """One sweep, as the formulas of the issue are written; dictionaries of classes."""
    w = {c: shapes[c] / rates[c] for c in shapes}
    geometric = {c: math.exp(digamma(shapes[c])) / rates[c] for c in shapes}
    next_shapes, next_rates = dict.fromkeys(shapes, a), dict.fromkeys(shapes, a / mean)
    for row in rows:
        n_row = sum(n for _, n, _ in row)
        total = sum(fixed + sum(w[c] for c in labels) for labels, _, fixed in row)
        for labels, n, fixed in row:
            part = fixed + sum(geometric[c] for c in labels)
            for c in labels:
                next_rates[c] += digamma(total + n_row) - digamma(total)
                next_shapes[c] += geometric[c] * (digamma(part + n) - digamma(part))
    return next_shapes, next_rates


def plain_moments(rows, shapes, rates, alpha, shape, strength):
    """Mean and shape of all weights from the exposed classes and `strength` imagined ones."""
    exposed = {c for row in rows if sum(n for _, n, _ in row) for labels, _, _ in row for c in labels}
    n = len(exposed) + strength
    mean = (sum(shapes[c] / rates[c] for c in exposed) + strength * alpha) / n
    square = sum((shapes[c] / rates[c]) ** 2 + shapes[c] / rates[c] ** 2 for c in exposed)
    square = (square + strength * (alpha**2 + alpha**2 / shape)) / n
    return mean, max(mean**2 / (square - mean**2), 0.01)


def plain_bound(rows, shapes, rates, mean, a):
    """The bound, term by term."""
    total = 0.0
    for row in rows:
        n_row = sum(n for _, n, _ in row)
        kappa = sum(fixed + sum(shapes[c] / rates[c] for c in labels) for labels, _, fixed in row)
        total += gammaln(kappa) - gammaln(kappa + n_row)
        for labels, n, fixed in row:
            part = fixed + sum(math.exp(digamma(shapes[c])) / rates[c] for c in labels)
            total += gammaln(part + n) - gammaln(part)
    for c, k in shapes.items():
        r, b = rates[c], a / mean
        total -= a * math.log(r / b) - gammaln(k) + gammaln(a) + (k - a) * digamma(k) - (r - b) * k / r
    return total


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_fit_and_refit_are_the_sweeps_of_the_formulas(seed):
    rng = np.random.default_rng(seed)
    labels, mask, counts = random_case(rng)
    alpha, shape, strength = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-0.5, 0.5), 10.0 ** rng.uniform(-1, 1)
    prior, rows = SharedDirichlet(labels, alpha, shape, strength, support=mask), rows_of(labels, mask, counts, alpha)
    classes = sorted({int(c) for c in labels[:, mask].ravel() if c >= 0})
    assert prior.classes.tolist() == classes
    shapes, rates = dict.fromkeys(classes, shape), dict.fromkeys(classes, shape / alpha)
    for _ in range(20):
        before = np.array([shapes[c] / rates[c] for c in classes])
        mean, a = plain_moments(rows, shapes, rates, alpha, shape, strength)
        shapes, rates = plain_sweep(rows, shapes, rates, mean, a)
        weights = np.array([shapes[c] / rates[c] for c in classes])
        if np.all(np.abs(weights - before) <= 1e-3 * before):
            break
    fitted = prior.refit(counts)
    assert fitted.weights == pytest.approx(weights, rel=1e-9)
    assert fitted.weight_sd == pytest.approx([math.sqrt(shapes[c]) / rates[c] for c in classes], rel=1e-9)
    assert (fitted.mean_weight, fitted.weight_shape) == pytest.approx((mean, a), rel=1e-9)
    assert fitted.lower_bound(counts) == pytest.approx(plain_bound(rows, shapes, rates, mean, a), rel=1e-8, abs=1e-8)
    position = {c: i for i, c in enumerate(classes)}
    alphas = np.zeros(mask.shape)
    for index in np.argwhere(mask):
        found = [int(c) for c in labels[:, *index] if c >= 0]
        alphas[tuple(index)] = sum(weights[position[c]] for c in found) if found else alpha
    c = alphas + counts
    assert fitted.estimate(counts) == pytest.approx(c / c.sum(axis=-1, keepdims=True), rel=1e-9)
    w = {c: weights[position[c]] for c in classes}
    assert fitted.log_marginal_likelihood(counts) == pytest.approx(log_likelihood(rows, w), rel=1e-8, abs=1e-8)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_the_bound_never_falls_for_a_fixed_mean_and_shape(seed):
    rng = np.random.default_rng(seed)
    labels, mask, counts = random_case(rng)
    alpha, shape = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-1, 1)
    prior = SharedDirichlet(labels, alpha, shape, FIXED, support=mask)
    n_classes = len(prior.classes)
    evidence = evidence_of(Counts.from_dense(counts), prior.support, prior.labelling, n_classes)
    belief = WeightBelief(10.0 ** rng.uniform(-1, 1, n_classes), 10.0 ** rng.uniform(-1, 1, n_classes), alpha, shape)
    bound = lower_bound(belief, evidence)
    for _ in range(30):
        belief = sweep(belief, evidence)
        after = lower_bound(belief, evidence)
        assert after >= bound - 1e-9 * abs(bound)
        bound = after


def test_a_large_strength_keeps_mean_and_shape():
    rng = np.random.default_rng(3)
    labels, mask, counts = random_case(rng)
    prior = SharedDirichlet(labels, 0.4, 2.0, FIXED, support=mask)
    fitted = prior.fit(counts)
    assert (fitted.mean_weight, fitted.weight_shape) == pytest.approx((0.4, 2.0), rel=1e-9)
    evidence = evidence_of(Counts.from_dense(counts), prior.support, prior.labelling, len(prior.classes))
    assert updated_moments(fitted._belief, evidence, 0.4, 2.0, 1e-6).mean != pytest.approx(0.4, rel=1e-3)


def test_the_shape_does_not_run_off_while_all_classes_are_alike():
    """Imagined classes have a spread of their own. If they were exactly at alpha, the shape would grow on and on."""
    labels = np.arange(3 * 4).reshape(1, 3, 4)[:, :, :3]
    prior = SharedDirichlet(labels, 0.5, 1.0, 0.5)
    fitted = prior.fit(np.full((1, 3, 3), 2))
    assert fitted.weights == pytest.approx(np.full(9, fitted.weights[0]), rel=1e-6)
    assert fitted.weight_shape < 50.0


@pytest.mark.parametrize("seed", range(4))
def test_one_class_against_quadrature(seed):
    """The mean is at most 10 % too small and the deviation at most 40 %; the bound lies within 0.5 nats."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.eye(4, dtype=bool), 7, -1)[None]
    mask, counts = np.ones((1, 4, 4), dtype=bool), rng.integers(0, 6, size=(1, 4, 4))
    fitted = SharedDirichlet(labels, 0.5, 1.0, FIXED, support=mask).fit(counts)
    rows = rows_of(np.where(labels == 7, 0, -1)[None], mask, counts, 0.5)
    mean, deviation, evidence = one_class_by_quadrature(rows, 1.0, 0.5)
    assert 0.9 * mean < fitted.weights[0] < mean
    assert 0.6 * deviation < fitted.weight_sd[0] < deviation
    assert evidence - 0.5 < fitted.lower_bound(counts) < evidence


def test_the_bound_is_tight_without_data_and_below_the_evidence_with_any_weights():
    labels = np.where(np.eye(3, dtype=bool), 0, -1)[None]
    mask, counts = np.ones((1, 3, 3), dtype=bool), np.array([[[4, 0, 1], [0, 2, 0], [1, 1, 1]]])
    prior = SharedDirichlet(labels, 0.5, 1.0, FIXED, support=mask)
    assert prior.lower_bound(np.zeros((1, 3, 3), dtype=int)) == pytest.approx(0.0, abs=1e-12)
    *_, evidence = one_class_by_quadrature(rows_of(labels[None], mask, counts, 0.5), 1.0, 0.5)
    for k, r in [(0.3, 1.0), (1.0, 2.0), (5.0, 1.0), (20.0, 40.0)]:
        belief = WeightBelief(np.array([k]), np.array([r]), 0.5, 1.0)
        assert prior.with_belief(belief).lower_bound(counts) < evidence


@pytest.mark.parametrize("n_features", [1, 2])
def test_weights_against_an_exact_sampler(n_features):
    """Means of the posterior within 15 %. Deviations are too small, because weights are taken as independent."""
    rng = np.random.default_rng(n_features)
    shape = (2, 4, 4)
    labels = rng.integers(0, 3, size=(n_features, *shape))
    true, counts = np.array([1.5, 0.1, 0.4]), np.zeros(shape, dtype=int)
    for a, s in np.ndindex(2, 4):
        alpha = true[labels[:, a, s]].sum(axis=0)
        counts[a, s] = rng.multinomial(12, rng.dirichlet(alpha))
    fitted = SharedDirichlet(labels, 0.5, 1.0, FIXED).fit(counts)
    rows = rows_of(labels, np.ones(shape, dtype=bool), counts, 0.5)
    draws = gibbs(rows, 3, 1.0, 0.5, 3000, 5)[100:]
    error = draws.std(axis=0) / math.sqrt(len(draws) / 5)  # successive draws are correlated
    assert fitted.weights == pytest.approx(draws.mean(axis=0), rel=0.15 + 3 * np.max(error / draws.mean(axis=0)))
    assert np.all(fitted.weight_sd < 1.1 * draws.std(axis=0)) and np.all(fitted.weight_sd > 0.3 * draws.std(axis=0))


def test_the_sampler_agrees_with_quadrature():
    rows = [[([0], 3, 0.0), ([], 2, 0.5)], [([0], 0, 0.0), ([], 4, 0.5), ([], 1, 0.5)]]
    mean, deviation, _ = one_class_by_quadrature(rows, 1.0, 0.5)
    draws = gibbs(rows, 1, 1.0, 0.5, 6000, 2)[100:, 0]
    assert draws.mean() == pytest.approx(mean, abs=5 * deviation / math.sqrt(len(draws) / 5))
    assert draws.std() == pytest.approx(deviation, rel=0.15)


def two_draws(c):
    """Mutual information of the next two outcomes of a row in bits, by enumeration."""
    c = np.asarray(c)
    joint = c[:, None] * (c + np.eye(len(c))) / (c.sum() * (c.sum() + 1.0))
    p = joint.sum(axis=1)
    return float(np.sum(joint * np.log2(joint / np.outer(p, p))))


def parameter_gain_of(c):
    """Expected missing information of a row in bits."""
    return stats.entropy(oracle.mean(c), base=2) - oracle.expected_entropy(c)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_between_refits_rows_are_dirichlet_rows(engine):
    """Utilities against definitions; PIG is the mutual information of the next two outcomes (Theorem 2)."""
    rng = np.random.default_rng(1)
    labels, mask, _ = random_case(rng, n_features=2)
    n_actions, n_states = mask.shape[:2]
    prior, last = SharedDirichlet(labels, 0.3, support=mask), {}
    names = ("PIG", "PMC", "PLC", "parameter_gain", "PEIG")
    agents = {name: make_agent(InternalModel(prior), get_strategy(f"{name}(greedy)"), None, engine) for name in names}
    for _ in range(60):
        a, s = int(rng.integers(n_actions)), int(rng.integers(n_states))
        s_next = int(max(np.flatnonzero(mask[a, s]), key=lambda i: labels[0, a, s, i] + 2 * rng.random()))
        last[s * n_actions + a] = s_next
        for agent in agents.values():
            agent.observe(s, a, s_next)
    model = agents["PIG"].model()
    prior, utility = model.prior, {name: agent.utility() for name, agent in agents.items()}
    assert np.ptp(prior.weights) > 0.1 and prior.weight_shape != 1.0
    row, s_next, alphas = prior.support.row_numbers(), prior.support.entries()[1], np.zeros(mask.shape)
    alphas[row % n_actions, row // n_actions, s_next] = prior.alphas
    for a, s in np.ndindex(mask.shape[:2]):
        c = (alphas[a, s] + model.counts[a, s])[mask[a, s]]
        assert model.theta_hat[a, s][mask[a, s]] == pytest.approx(oracle.mean(c), rel=1e-12)
        tolerance = {"rel": 1e-9, "abs": 1e-12}
        assert utility["PIG"][a, s] == pytest.approx(two_draws(c), **tolerance)
        assert utility["PMC"][a, s] == pytest.approx(oracle.pmc(c), **tolerance)
        assert utility["PLC"][a, s] == pytest.approx(oracle.plc(c, n_states=n_states), **tolerance)
        assert utility["parameter_gain"][a, s] == pytest.approx(parameter_gain_of(c), rel=1e-7, abs=1e-9)
        after = [parameter_gain_of(c + step) for step in np.eye(len(c))]
        assert utility["parameter_gain"][a, s] - np.dot(oracle.mean(c), after) == pytest.approx(two_draws(c), abs=1e-7)
        expected = two_draws(c)
        if s * n_actions + a in last:
            before = c - (np.flatnonzero(mask[a, s]) == last[s * n_actions + a])
            expected = oracle.bits(oracle.mean(c), oracle.mean(before))
        assert utility["PEIG"][a, s] == pytest.approx(expected, **tolerance)
