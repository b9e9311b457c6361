"""Random-effects model selection against SPM12's stored result, Monte Carlo, and quadrature of the exact evidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import beta

import berlyne.behaviour as bb
from berlyne.behaviour.model_selection import exceedance_probabilities

EVIDENCE = np.loadtxt(Path(__file__).parent / "behaviour_data" / "xu2021-log-evidence.csv", delimiter=",")
SURNOR = 11
"""Column of the model that the study found most frequent."""


def test_the_result_of_spm12_is_reproduced() -> None:
    result = bb.bms(EVIDENCE, prior_count=1 / 13)
    assert result.frequency[SURNOR] == pytest.approx(0.70169, abs=2e-5)  # SPM stops when counts change by 1e-4
    assert result.omnibus_risk == pytest.approx(0.00112629, abs=1e-7)
    assert result.exceedance[[6, 7, SURNOR]] == pytest.approx([0.002007, 0.010228, 0.987438], abs=4e-4)  # of 1e6 draws
    assert result.protected_exceedance[SURNOR] == pytest.approx(0.98641, abs=4e-4)
    assert result.counts[[0, 7]] == pytest.approx([0.07692308, 2.03255844], abs=1e-4)


def test_the_prior_count_changes_the_result_as_in_spm12() -> None:
    result = bb.bms(EVIDENCE)
    assert result.prior_count == 1.0
    assert result.protected_exceedance[SURNOR] == pytest.approx(0.8866, abs=1.2e-3)  # 4 standard errors of 1e6 draws


@pytest.mark.parametrize("counts", [[0.1, 0.2, 5.0], [3.0, 3.5, 2.0, 1.0], [400.0, 380.0], [1.0, 1.0, 1.0]])
def test_exceedance_probabilities_agree_with_draws(counts: list[float]) -> None:
    n = 400_000
    draws = np.random.default_rng(0).dirichlet(counts, n)
    share = np.bincount(draws.argmax(axis=1), minlength=len(counts)) / n
    exact = exceedance_probabilities(np.array(counts))
    assert exact.sum() == pytest.approx(1.0)
    assert exact == pytest.approx(share, abs=4 * 0.5 / np.sqrt(n))


def test_exceedance_of_two_models_is_a_beta_tail() -> None:
    exact = exceedance_probabilities(np.array([2.3, 7.7]))
    assert exact == pytest.approx([beta.sf(0.5, 2.3, 7.7), beta.cdf(0.5, 2.3, 7.7)], rel=1e-9)


@pytest.mark.parametrize(("scale", "risk_error"), [(3.0, 0.15), (6000.0, 1e-9)])
def test_frequencies_and_risk_are_near_the_exact_posterior_of_two_models(scale: float, risk_error: float) -> None:
    """The oracle integrates over the frequency of the first model; with decided people the approximation is exact."""
    evidence = np.random.default_rng(1).normal([scale / 2, 0.0], scale, (15, 2))
    log_null = logsumexp(evidence - np.log(2), axis=1).sum()

    def likelihood(r: float) -> float:
        return float(np.exp(logsumexp(evidence + np.log([r, 1 - r]), axis=1).sum() - log_null))

    total, mean = quad(likelihood, 0, 1)[0], quad(lambda r: r * likelihood(r), 0, 1)[0]
    result = bb.bms(evidence)
    assert result.frequency[0] == pytest.approx(mean / total, abs=0.15 * risk_error)
    assert -1e-12 < result.omnibus_risk - 1 / (1 + total) < risk_error  # the free energy is a lower bound


def test_families_of_two_copies_share_what_one_model_had() -> None:
    """Splitting a model into two equal ones changes nothing for the families."""
    evidence = np.random.default_rng(2).normal(0, 2, (9, 2))
    plain = bb.bms(evidence, names=["a", "b"], families={"A": ["a"], "B": ["b"]})
    split = bb.bms(evidence[:, [0, 1, 1]], names=["a", "b", "b2"], families={"A": ["a"], "B": ["b", "b2"]})
    assert plain.families is not None and split.families is not None
    assert plain.families.names == ("A", "B")
    assert plain.families.frequency == pytest.approx(plain.frequency)
    assert split.families.frequency.sum() == pytest.approx(1.0)
    assert split.families.frequency == pytest.approx([split.frequency[0], split.frequency[1:].sum()])
    assert split.families.responsibility.shape == (9, 2)


def test_the_risk_with_families_is_that_of_equally_frequent_families() -> None:
    """If people are decided, the models are counts of a Dirichlet-multinomial distribution."""
    n, prior, null = np.array([4, 2, 1]), np.array([0.6, 0.3, 0.3]), np.array([1 / 2, 1 / 4, 1 / 4])
    evidence = np.repeat(500.0 * np.eye(3), n, axis=0)
    result = bb.bms(evidence, 0.6, names=["a", "b", "b2"], families={"A": ["a"], "B": ["b", "b2"]})
    log_evidence = gammaln(prior.sum()) - gammaln(prior.sum() + 7) + np.sum(gammaln(prior + n) - gammaln(prior))
    assert result.omnibus_risk == pytest.approx(1 / (1 + np.exp(log_evidence - n @ np.log(null))))


def test_families_of_unequal_size_have_equal_prior_frequencies() -> None:
    flat = bb.bms(np.zeros((6, 4)), names=list("abcd"), families={"one": ["a"], "three": ["b", "c", "d"]})
    assert flat.families is not None
    # without evidence the counts of one family exceed half only through the approximation, which favours fewer models
    assert flat.frequency[1:] == pytest.approx(flat.frequency[1])
    assert flat.families.prior_count == 1.0
    assert flat.families.counts.sum() == pytest.approx(2 * 1.0 + 6)
