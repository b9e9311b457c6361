"""Dirichlet priors with an alpha for each transition, against definitions, quadrature and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from berlyne import (
    UTILITIES,
    Dirichlet,
    Explorer,
    InternalModel,
    World,
    explore,
    maze,
    parameter_gain,
    peig,
    pig,
    plc,
    pmc,
)
from berlyne.priors.closed_forms import FORMS, Sums, lead
from berlyne.strategies.registry import get_strategy
from oracles import decimal_row
from oracles import dirichlet_row as oracle

VALUES = {"PIG": pig, "PMC": pmc, "PLC": plc, "parameter_gain": parameter_gain}


def random_models(seed, n=8):
    """Models of 3 actions in 5 states after random histories, with alphas and pseudo-counts of each row."""
    rng = np.random.default_rng(seed)
    for case in range(n):
        mask = rng.random((3, 5, 5)) < 0.6
        mask[:, np.arange(5), rng.integers(5, size=5)] = True
        alpha = 10.0 ** rng.uniform(-1.5, 1.0, size=mask.shape)
        if case % 2:
            alpha = np.round(2.0 * alpha) / 2.0 + 0.5  # ties, and pseudo-counts that differ by whole numbers
        prior = Dirichlet(np.where(mask, alpha, np.nan), mask)
        model, history = InternalModel(prior), []
        for _ in range(int(rng.integers(0, 60))):
            a, s = int(rng.integers(3)), int(rng.integers(5))
            history.append((s, a, int(rng.choice(np.flatnonzero(mask[a, s])))))
        model.observe_many(history)
        c = {}
        for a, s in np.ndindex(3, 5):
            seen = [sum(step == (s, a, s_next) for step in history) for s_next in range(5)]
            c[a, s] = (alpha[a, s] + seen)[mask[a, s]]
        yield model, mask, alpha, history, c


@settings(deadline=None, max_examples=300)
@given(st.lists(st.fractions(Fraction(1, 20), 6, max_denominator=20), min_size=1, max_size=6))
def test_the_form_of_pmc_is_its_definition_in_fractions(c):
    kappa, largest = sum(c), max(c)
    now = [x / kappa for x in c]
    expected = -max(now)
    for i, p in enumerate(now):
        expected += p * max((x + (i == j)) / (kappa + 1) for j, x in enumerate(c))
    others = sorted(c)[:-1]  # without one of the largest
    assert sum(x * max(Fraction(0), x + 1 - largest) for x in others) / (kappa * (kappa + 1)) == expected
    assert (sum(x * max(Fraction(0), x + 1 - largest) for x in c) - largest) / (kappa * (kappa + 1)) == expected
    runners_up = sum(float(lead(float(x), float(largest))) for x in others)
    value = FORMS["PMC"].value(Sums(float(kappa), math.nan, float(largest), runners_up, math.nan, math.nan, len(c)))
    assert value == pytest.approx(float(expected), rel=1e-12, abs=1e-15)


def test_estimates_are_pseudo_counts_divided_by_their_sum():
    for model, mask, _, _, c in random_models(1):
        for (a, s), ci in c.items():
            expected = np.zeros(5)
            expected[mask[a, s]] = oracle.mean(ci)
            assert model.theta_hat[a, s] == pytest.approx(expected, rel=1e-13)
            assert model.theta_hat_row(a, s) == pytest.approx(expected, rel=1e-13)
            assert model.prior.row_estimate(model.counts[a, s], a, s) == pytest.approx(expected, rel=1e-13)
            reach = np.flatnonzero(mask[a, s])
            assert model.theta_hat_after(a, s)[np.ix_(reach, reach)] == pytest.approx(oracle.after_each(ci), rel=1e-13)
            assert model.prior.total_pseudo_count(int(model.counts[a, s].sum()), a, s) == pytest.approx(ci.sum())


def test_utilities_equal_their_definitions_in_numpy_and_in_kernels():
    for model, _, _, history, c in random_models(2):
        expected = {name: np.zeros((3, 5)) for name in VALUES}
        for (a, s), ci in c.items():
            expected["PIG"][a, s] = oracle.pig(ci)
            expected["PMC"][a, s] = oracle.pmc(ci)
            expected["PLC"][a, s] = oracle.plc(ci, n_states=5)
            expected["parameter_gain"][a, s] = stats.entropy(oracle.mean(ci), base=2) - oracle.expected_entropy(ci)
        for name, utility in VALUES.items():
            assert utility(model) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
            by_row = [[model.prior.row_utility(name, model.counts[a, s], a, s, 0) for s in range(5)] for a in range(3)]
            assert np.array(by_row) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
            explorer = Explorer(model.prior, f"{name}(greedy)")
            explorer.observe_many(history)
            assert explorer._agent.has_state_dict  # it is compiled
            assert explorer.utility() == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
            assert explorer.model.theta_hat == pytest.approx(model.theta_hat)


def test_peig_is_the_divergence_made_by_the_last_outcome():
    for model, mask, _, history, c in random_models(3):
        last = {(a, s): s_next for s, a, s_next in history}
        explorer = Explorer(model.prior, get_strategy("PEIG(greedy)", untried=7.0))
        explorer.observe_many(history)
        for (a, s), ci in c.items():
            if (a, s) not in last:
                assert peig(model)[a, s] == pytest.approx(oracle.pig(ci), abs=1e-12)
                assert explorer.utility()[a, s] == 7.0
                continue
            before = ci - (np.flatnonzero(mask[a, s]) == last[a, s])
            expected = oracle.bits(oracle.mean(ci), oracle.mean(before))
            assert peig(model)[a, s] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert explorer.utility()[a, s] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            by_row = model.prior.row_utility("PEIG", model.counts[a, s], a, s, last[a, s])
            assert by_row == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_marginal_likelihood_is_that_of_polyas_urn():
    for model, mask, alpha, history, _ in random_models(4):
        weights, expected = np.where(mask, alpha, 0.0), 0.0
        for s, a, s_next in history:
            expected += math.log(weights[a, s, s_next] / weights[a, s].sum())
            weights[a, s, s_next] += 1.0
        assert model.prior.log_marginal_likelihood(model.counts) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_variance_of_missing_information_is_that_of_draws():
    alpha = np.array([[[0.2, 1.5, 4.0]] * 3])
    model = InternalModel(Dirichlet(alpha, n_states=3, n_actions=1))
    model.observe_many([(1, 0, 0)] * 3 + [(1, 0, 2)])
    for s, c in ((0, [0.2, 1.5, 4.0]), (1, [3.2, 1.5, 5.0])):
        drawn = np.random.default_rng(0).dirichlet(c, 400_000)
        missing = (drawn * np.log2(drawn / oracle.mean(c))).sum(axis=1)
        estimate = model.prior.missing_information_variance(model.counts)[0, s]
        assert estimate == pytest.approx(missing.var(), rel=5 * np.sqrt((stats.kurtosis(missing) + 2) / 400_000))
        assert model.expected_missing_information().rows[0, s] == pytest.approx(missing.mean(), rel=0.01)


EXTREMES = [
    ([1e-140, 1e-20, 1.0], [0, 0, 0]),
    ([1e-140, 1e-100, 1e-120], [1, 0, 0]),
    ([1e-12, 3.0, 1e-16], [0, 1, 1]),
    ([1e6, 1e-6, 0.5], [5000, 1, 3]),
    ([1e-6, 1e6, 1e-6], [0, 2, 0]),
    ([0.1, 0.1 + 1e-9, 1.1], [1, 1, 0]),
]


@pytest.mark.parametrize(("alpha", "counts"), EXTREMES)
def test_extreme_alphas_keep_their_digits(alpha, counts):
    prior = Dirichlet(np.array([[alpha] * 3]), n_states=3, n_actions=1)
    row = np.array(counts)
    c = [Fraction(x) + n for x, n in zip(alpha, counts, strict=True)]
    truth = decimal_row.utilities(c)
    order = [i for i, n in enumerate(counts) for _ in range(n)]
    for name in VALUES:
        tolerance = {"rel": 1e-8, "abs": 4e-15}
        assert prior.row_utility(name, row, 0, 0, -1) == pytest.approx(truth[name], **tolerance), name
        explorer = Explorer(prior, f"{name}(greedy)")
        for outcome in order:
            explorer.observe(0, 0, outcome)
        assert explorer.utility()[0, 0] == pytest.approx(truth[name], **tolerance), name
    if order:
        before = [x - (i == order[-1]) for i, x in enumerate(c)]
        gain = decimal_row.peig(before, order[-1])
        assert prior.row_utility("PEIG", row, 0, 0, order[-1]) == pytest.approx(gain, rel=1e-9)
        explorer = Explorer(prior, "PEIG(greedy)")
        for outcome in order:
            explorer.observe(0, 0, outcome)
        assert explorer.utility()[0, 0] == pytest.approx(gain, rel=1e-9)


@pytest.mark.parametrize("n_states", [6, 40])
@pytest.mark.parametrize("name", ["PIG(VI)", "PMC(VI)", "Random"])
def test_measures_of_a_run_follow_from_its_counts(n_states, name):
    """Also if every state can follow, where a single alpha would need no slot for each of them."""
    rng = np.random.default_rng(n_states)
    alpha = 10.0 ** rng.uniform(-3.0, 1.0, size=(2, n_states, n_states))
    theta = rng.dirichlet(np.ones(n_states), size=(2, n_states))
    run = explore(World(theta, Dirichlet(alpha, n_states=n_states, n_actions=2)), name, n_steps=300, seed=1)
    for t in (0, 1, 17, 300):
        c = alpha.copy()
        np.add.at(c, (run.actions[:t], run.states[:t], run.next_states[:t]), 1.0)
        theta_hat = c / c.sum(axis=-1, keepdims=True)
        assert run.missing_information[t] == pytest.approx(np.sum(theta * np.log2(theta / theta_hat)), rel=1e-10)
        assert run.l1_distance[t] == pytest.approx(np.abs(theta - theta_hat).sum(), rel=1e-10)


@pytest.mark.parametrize("name", sorted(UTILITIES))
def test_equal_alphas_are_one_alpha_bit_for_bit(name):
    world = maze(3)
    run = explore(world, f"{name}(VI)", n_steps=400, seed=2)
    for shape in [(4, 36), (4, 36, 36), (int(world.prior.support.sizes.sum()),)]:
        prior = Dirichlet(np.full(shape, 0.25), world.prior.support)
        assert prior.alpha == 0.25 and isinstance(prior.alpha, float)
        same = explore(world.with_prior(prior), f"{name}(VI)", n_steps=400, seed=2)
        assert np.array_equal(same.states, run.states) and np.array_equal(same.actions, run.actions)
        assert np.array_equal(same.missing_information, run.missing_information)


@pytest.mark.parametrize("name", sorted(UTILITIES))
def test_nearly_equal_alphas_take_the_same_actions_as_one_alpha(name):
    """The kernels for unequal alphas agree with those for one alpha."""
    world = maze(3)
    alpha = np.full(int(world.prior.support.sizes.sum()), 0.25)
    alpha[0] = np.nextafter(0.25, 1.0)
    run, same = (
        explore(world.with_prior(Dirichlet(a, world.prior.support)), f"{name}(VI)", n_steps=2000, seed=2)
        for a in (0.25, alpha)
    )
    assert same.world.prior.family != run.world.prior.family
    assert np.array_equal(same.actions, run.actions)
    assert same.missing_information == pytest.approx(run.missing_information, rel=1e-12)
    assert same.l1_distance == pytest.approx(run.l1_distance, rel=1e-12)
    for utility, other in zip(*(UTILITIES[name].of(r.model) for r in (run, same)), strict=True):
        assert other == pytest.approx(utility, rel=1e-12, abs=1e-15)
