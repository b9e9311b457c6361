"""The 1-2-3 prior against the enumeration of all target sets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from amounts import amount
from berlyne import InternalModel, OneTwoThree, parameter_gain, peig, pig, plc, pmc
from messages import raises
from oracles import enumerate_123 as exact

EXACT = {"rel": 1e-12, "abs": 1e-12}
P_ESCAPES = (Fraction(3, 4), Fraction(1, 3), Fraction(0), Fraction(1))


def reachable(n_states, n_targets, p_escape):
    """Histories of positive probability, each with its enumerated row; the last outcome also repeated."""
    start = exact.Row.unseen(n_states, n_targets, p_escape)
    for seen in exact.histories(n_states, n_targets):
        for history in (seen, seen + seen[-1:]) if seen else (seen,):
            row = start.seeing(*history)
            if row.evidence > 0:
                yield history, row


def learned(prior, a, s, history):
    model = InternalModel(prior)
    model.observe_many([(s, a, s_next) for s_next in history])
    return model


CASES = [
    (n, k, p) for n in range(4, amount(8, 9)) for k in (1, 2, 3) for p in (P_ESCAPES if n in (4, 6) else P_ESCAPES[:1])
]


@pytest.mark.parametrize(("n_states", "n_targets", "p_escape"), CASES)
def test_estimates_and_likelihood_equal_enumeration_for_every_reachable_history(n_states, n_targets, p_escape):
    prior = OneTwoThree(n_states, 3, float(p_escape))
    a, s = n_targets - 1, n_states - 1
    for history, row in reachable(n_states, n_targets, p_escape):
        model = learned(prior, a, s, history)
        expected = [float(p) for p in row.estimate()]
        assert model.theta_hat[a, s] == pytest.approx(expected, **EXACT), history
        assert model.theta_hat_row(a, s) == pytest.approx(expected, **EXACT)
        assert prior.row_estimate(model.counts[a, s], a, s) == pytest.approx(expected, **EXACT)
        likelihood = prior.log_marginal_likelihood(model.sparse_counts)
        assert likelihood == pytest.approx(math.log(row.evidence), **EXACT)
        after = model.theta_hat_after(a, s)
        for s_star, line in row.after_each().items():
            assert after[s_star] == pytest.approx([float(p) for p in line], **EXACT)
        for s_next in range(n_states):
            assert prior.admits(a, s, set(history), s_next) == (row.seeing(s_next).evidence > 0)


@pytest.mark.parametrize(("n_states", "n_targets", "p_escape"), CASES)
def test_utilities_equal_enumeration_for_every_reachable_history(n_states, n_targets, p_escape):
    prior = OneTwoThree(n_states, 3, float(p_escape))
    start = exact.Row.unseen(n_states, n_targets, p_escape)
    a, s = n_targets - 1, 1
    for history, row in reachable(n_states, n_targets, p_escape):
        model = learned(prior, a, s, history)
        assert pig(model)[a, s] == pytest.approx(exact.pig(row), **EXACT), history
        assert pmc(model)[a, s] == pytest.approx(float(exact.pmc(row)), **EXACT)
        assert plc(model)[a, s] == pytest.approx(float(exact.plc(row)), **EXACT)
        missing = row.expected_missing(row.estimate())
        assert parameter_gain(model)[a, s] == pytest.approx(missing, **EXACT)
        for name, utility in (("PIG", pig), ("PMC", pmc), ("PLC", plc), ("parameter_gain", parameter_gain)):
            assert prior.row_utility(name, model.counts[a, s], a, s, 0) == pytest.approx(utility(model)[a, s], **EXACT)
        realised = exact.peig(start.seeing(*history[:-1]), history[-1]) if history else exact.pig(row)
        assert peig(model)[a, s] == pytest.approx(realised, **EXACT)


@pytest.mark.parametrize("p_escape", P_ESCAPES)
def test_impossible_histories_have_likelihood_minus_infinity_and_no_estimate(p_escape):
    n_states = 5
    prior = OneTwoThree(n_states, 3, float(p_escape))
    n_impossible = 0
    for n_targets in (1, 2, 3):
        start = exact.Row.unseen(n_states, n_targets, p_escape)
        for seen in exact.histories(n_states, 4):
            if start.seeing(*seen).evidence > 0:
                continue
            n_impossible += 1
            counts = np.zeros((3, n_states, n_states), dtype=int)
            counts[n_targets - 1, 2, list(seen)] = 1
            assert prior.log_marginal_likelihood(counts) == -np.inf
            with raises(ValueError, f"(a={n_targets - 1}, s=2)"):
                prior.estimate(counts)
    assert n_impossible > 20


@pytest.mark.parametrize("formula", ["exact", "printed"])
def test_parameter_gain_of_either_formula_is_its_expected_missing_information_under_the_true_posterior(formula):
    prior = OneTwoThree(6, formula=formula)
    for n_targets in (1, 2, 3):
        for history, row in reachable(6, n_targets, Fraction(3, 4)):
            model = learned(prior, n_targets - 1, 0, history)
            expected = row.expected_missing(model.theta_hat_row(n_targets - 1, 0).tolist())
            assert parameter_gain(model)[n_targets - 1, 0] == pytest.approx(expected, **EXACT)


def test_the_printed_formula_is_the_papers_expression():
    """Sec. 2.4: (1 - q) / (1 + (C(a-1, T) - 1) q) / a for state 1, with q = 0.75^a; 0 once T = a (R3)."""
    prior = OneTwoThree(7, formula="printed")
    for a in (1, 2, 3):  # the paper's numbering
        q = Fraction(3, 4) ** a
        for seen in range(a + 1):
            first = (1 - q) / (1 + (math.comb(a - 1, seen) - 1) * q) / a if seen < a else Fraction(0)
            other = (1 - Fraction(seen, a) - first) / (7 - seen - 1)
            row = learned(prior, a - 1, 3, range(1, seen + 1)).theta_hat_row(a - 1, 3)
            expected = [first] + [Fraction(1, a)] * seen + [other] * (7 - seen - 1)
            assert row == pytest.approx([float(p) for p in expected], **EXACT)


def test_likelihood_of_many_rows_is_the_product_over_rows():
    prior = OneTwoThree(5)
    model = InternalModel(prior)
    model.observe_many([(0, 0, 3), (0, 0, 3), (1, 2, 0), (1, 2, 4), (4, 1, 2)])
    rows = [exact.Row.unseen(5, k, Fraction(3, 4)) for k in (1, 3, 2)]
    evidence = rows[0].seeing(3, 3).evidence * rows[1].seeing(0, 4).evidence * rows[2].seeing(2).evidence
    assert prior.log_marginal_likelihood(model.counts) == pytest.approx(math.log(evidence), **EXACT)
