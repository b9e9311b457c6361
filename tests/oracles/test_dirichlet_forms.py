"""Closed forms of the Dirichlet prior against their definitions, quadrature and SciPy."""

import numpy as np
import pytest
from scipy import special, stats

from berlyne import Dirichlet, InternalModel, parameter_gain, peig, pig, plc, pmc
from oracles import dirichlet_row as oracle

UTILITIES = {"PIG": pig, "PMC": pmc, "PLC": plc, "parameter_gain": parameter_gain}


def random_models(seed, n=12):
    """Models of 3 actions in 5 states on a random support after random histories, with each row's pseudo-counts."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        alpha = float(rng.choice([0.05, 0.25, 1.0, 3.0]))
        mask = rng.random((3, 5, 5)) < 0.6
        mask[:, np.arange(5), rng.integers(5, size=5)] = True
        model = InternalModel(Dirichlet(alpha, mask))
        history = []
        for _ in range(int(rng.integers(0, 60))):
            a, s = int(rng.integers(3)), int(rng.integers(5))
            history.append((s, a, int(rng.choice(np.flatnonzero(mask[a, s])))))
        model.observe_many(history)
        c = {}
        for a, s in np.ndindex(3, 5):
            n_obs = [sum(step == (s, a, s_next) for step in history) for s_next in range(5)]
            c[a, s] = alpha + np.array([n_obs[i] for i in np.flatnonzero(mask[a, s])])
        yield model, mask, history, c


def test_estimates_are_smoothed_histograms():
    """Eq. 8: (alpha + n) / (K + alpha N_as) on the support, zero elsewhere."""
    for model, mask, _, c in random_models(1):
        for (a, s), ci in c.items():
            expected = np.zeros(5)
            expected[mask[a, s]] = oracle.mean(ci)
            assert model.theta_hat[a, s] == pytest.approx(expected, rel=1e-13)
            assert model.theta_hat_row(a, s) == pytest.approx(expected, rel=1e-13)
            assert model.prior.row_estimate(model.counts[a, s], a, s) == pytest.approx(expected, rel=1e-13)
            reach = np.flatnonzero(mask[a, s])
            after = model.theta_hat_after(a, s)
            assert after[np.ix_(reach, reach)] == pytest.approx(oracle.after_each(ci), rel=1e-13)
            assert np.all(after[:, ~mask[a, s]] == 0)


def test_utilities_equal_their_definitions_written_out():
    for model, _, _, c in random_models(2):
        arrays = {name: utility(model) for name, utility in UTILITIES.items()}
        for (a, s), ci in c.items():
            expected = {
                "PIG": oracle.pig(ci),
                "PMC": oracle.pmc(ci),
                "PLC": oracle.plc(ci, n_states=5),
                "parameter_gain": stats.entropy(oracle.mean(ci), base=2) - oracle.expected_entropy(ci),
            }
            for name, value in expected.items():
                assert arrays[name][a, s] == pytest.approx(value, rel=1e-9, abs=1e-12), name
                by_row = model.prior.row_utility(name, model.counts[a, s], a, s, 0)
                assert by_row == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_peig_is_the_divergence_made_by_the_last_outcome():
    """Eq. 17: D(now || before), also if other rows were observed since."""
    for model, mask, history, c in random_models(3):
        last = {(a, s): s_next for s, a, s_next in history}
        for (a, s), ci in c.items():
            if (a, s) not in last:
                assert peig(model)[a, s] == pytest.approx(oracle.pig(ci), abs=1e-12)  # R6
                assert peig(model, untried=7.0)[a, s] == 7.0
                continue
            before = ci - (np.flatnonzero(mask[a, s]) == last[a, s])
            expected = oracle.bits(oracle.mean(ci), oracle.mean(before))
            assert peig(model)[a, s] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert peig(model, untried=7.0)[a, s] == peig(model)[a, s]


def test_parameter_gain_falls_by_pig_on_average():
    for model, _, _, c in random_models(4, n=6):
        now, gain = parameter_gain(model), pig(model)
        for (a, s), ci in c.items():
            later = [oracle.expected_missing(after, oracle.mean(after)) for after in ci + np.eye(len(ci))]
            assert now[a, s] - np.dot(oracle.mean(ci), later) == pytest.approx(gain[a, s], abs=1e-10)


def test_parameter_gain_of_the_uniform_prior_follows_from_scipys_expected_entropy():
    """Dir(1) over N states: E[H] = (psi(N + 1) - psi(2)) / ln 2."""
    for n_states in (2, 5, 10):
        expected = np.log2(n_states) - (special.digamma(n_states + 1) - special.digamma(2)) / np.log(2)
        model = InternalModel(Dirichlet(1.0, n_states=n_states, n_actions=1))
        assert parameter_gain(model) == pytest.approx(np.full((1, n_states), expected), rel=1e-12)


def test_expected_entropy_by_quadrature_agrees_with_draws_of_scipy():
    c = np.array([0.25, 1.25, 3.25])
    entropies = stats.entropy(stats.dirichlet(c).rvs(200_000, random_state=5), base=2, axis=1)
    standard_error = entropies.std() / np.sqrt(len(entropies))
    assert abs(oracle.expected_entropy(c) - entropies.mean()) < 4 * standard_error


def test_marginal_likelihood_is_that_of_polyas_urn():
    for model, _, _, c in random_models(6):
        expected = sum(oracle.log_evidence(ci, model.prior.alpha) for ci in c.values())
        assert model.prior.log_marginal_likelihood(model.counts) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert model.prior.log_marginal_likelihood(model.sparse_counts) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_marginal_likelihood_matches_scipys_dirichlet_multinomial():
    """SciPy's is over counts in any order: the multinomial coefficient more."""
    n = np.array([4, 0, 2])
    prior = Dirichlet(0.7, n_states=3, n_actions=1)
    counts = np.zeros((1, 3, 3), dtype=int)
    counts[0, 1] = n
    orders = special.gammaln(n.sum() + 1) - special.gammaln(n + 1).sum()
    expected = stats.dirichlet_multinomial(np.full(3, 0.7), n.sum()).logpmf(n) - orders
    assert prior.log_marginal_likelihood(counts) == pytest.approx(expected, rel=1e-12)
