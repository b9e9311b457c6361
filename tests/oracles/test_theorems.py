"""Theorems 1 and 2 hold exactly, and fail for the printed variants (readings R2, R3)."""

from fractions import Fraction

import numpy as np
import pytest

from berlyne import Dirichlet, InternalModel, OneTwoThree, pig
from berlyne.strategies.utilities import pig_as_printed_of_row, pig_of_row
from oracles import dirichlet_row as dirichlet
from oracles import enumerate_123 as exact
from oracles.theorems import theorem_1_violation, theorem_2_violation

ROUNDING = 1e-12
N_STATES = 6


def knowledge_types():
    """(a, T, state 0 seen) of every reachable history."""
    return [(a, t, first) for a in range(3) for t in range(a + 2) for first in (0, 1) if first <= t]


def learn(prior, a, t, first, s=2):
    """A model and the enumerated row that both saw `t` targets of action a, state 0 among them if `first`."""
    history = ([0] if first else []) + list(range(1, t + 1 - first))
    model = InternalModel(prior)
    model.observe_many([(s, a, s_next) for s_next in history])
    return model, exact.Row.unseen(N_STATES, a + 1, Fraction(3, 4)).seeing(*history)


def theorem_1_breaks(formula):
    prior, rng = OneTwoThree(N_STATES, formula=formula), np.random.default_rng(1)
    broken = set()
    for a, t, first in knowledge_types():
        model, row = learn(prior, a, t, first)
        if theorem_1_violation(row.expected_missing, model.theta_hat_row(a, 2), rng) > ROUNDING:
            broken.add((a, t, first))
    return broken


def theorem_2_breaks(formula, pig_of=pig_of_row):
    prior = OneTwoThree(N_STATES, formula=formula)
    broken = set()
    for a, t, first in knowledge_types():
        model, row = learn(prior, a, t, first)
        now, after = model.theta_hat_row(a, 2), model.theta_hat_after(a, 2)
        gain = row.expected_gain(now.tolist(), dict(enumerate(after.tolist())))
        if theorem_2_violation(pig_of(now, after), gain) > ROUNDING:
            broken.add((a, t, first))
    return broken


def test_theorem_1_holds_for_the_exact_posterior_of_every_history_type():
    assert theorem_1_breaks("exact") == set()


def test_theorem_1_fails_for_the_printed_posterior_where_the_binomial_differs():
    """C(a-1, T) in place of a / (a - T), in the paper's a: equal for T = 0 only, or once state 1 is seen."""
    assert theorem_1_breaks("printed") == {(1, 1, 0), (2, 1, 0), (2, 2, 0)}


def test_theorem_2_holds_for_the_exact_posterior_of_every_history_type():
    assert theorem_2_breaks("exact") == set()
    prior = OneTwoThree(N_STATES)
    for a, t, first in knowledge_types():
        model, row = learn(prior, a, t, first)
        gain = row.expected_gain(row.estimate(), row.after_each())
        assert pig(model)[a, 2] == pytest.approx(gain, abs=ROUNDING)


def test_theorem_2_fails_for_the_printed_posterior():
    """Also at T = 0, where only the imagined update is wrong."""
    assert theorem_2_breaks("printed") == {(1, 0, 0), (2, 0, 0), (1, 1, 0), (2, 1, 0), (2, 2, 0)}


def test_theorem_2_fails_for_the_printed_divergence():
    """D(now || after) is infinite as soon as an outcome would exclude a state; R2."""
    complete = {(a, a + 1, first) for a in range(3) for first in (0, 1)}
    broken = theorem_2_breaks("exact", pig_as_printed_of_row)
    assert broken == set(knowledge_types()) - complete
    model, _ = learn(OneTwoThree(N_STATES), 0, 0, 0)
    assert pig_as_printed_of_row(model.theta_hat_row(0, 2), model.theta_hat_after(0, 2)) == np.inf


def random_dirichlet_rows(seed, n=25):
    """Models of one row with random support, concentration and data, and the row's pseudo-counts."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        n_states, alpha = int(rng.integers(2, 7)), float(rng.choice([0.25, 0.5, 1.0, 2.5]))
        reach = np.sort(rng.choice(n_states, size=int(rng.integers(2, n_states + 1)), replace=False))
        mask = np.ones((1, n_states, n_states), dtype=bool)
        mask[0, 0] = np.isin(np.arange(n_states), reach)
        model = InternalModel(Dirichlet(alpha, mask))
        outcomes = rng.choice(reach, size=int(rng.integers(0, 9)))
        model.observe_many([(0, 0, int(s_next)) for s_next in outcomes])
        yield model, reach, alpha + np.array([np.sum(outcomes == i) for i in reach])


def test_theorem_1_holds_for_dirichlet_rows():
    rng = np.random.default_rng(2)
    for model, reach, c in random_dirichlet_rows(seed=3):
        missing = dirichlet.expected_entropy(c)  # the same for every phi: compute it once
        estimate = model.theta_hat_row(0, 0)[reach]

        def expected_missing(phi, c=c, missing=missing):
            return float(-np.dot(dirichlet.mean(c), np.log2(phi))) - missing

        assert theorem_1_violation(expected_missing, estimate, rng) <= ROUNDING


def test_theorem_1_fails_for_relative_frequencies_and_for_a_wrong_concentration():
    rng = np.random.default_rng(4)
    c = np.array([3.25, 1.25, 0.25])
    for wrong in (c - 0.2, c + 0.75):
        violation = theorem_1_violation(lambda phi: dirichlet.expected_missing(c, phi), dirichlet.mean(wrong), rng)
        assert violation > 1e-4


def test_theorem_2_holds_for_dirichlet_rows_and_fails_for_the_printed_divergence():
    for model, reach, c in random_dirichlet_rows(seed=5):
        gain = dirichlet.expected_gain(c)
        now, after = model.theta_hat_row(0, 0), model.theta_hat_after(0, 0)
        assert theorem_2_violation(pig(model)[0, 0], gain) < 1e-10  # quadrature
        assert theorem_2_violation(pig_of_row(now, after), gain) < 1e-10
        assert theorem_2_violation(pig_as_printed_of_row(now, after), gain) > 1e-6, (reach, c)
        assert pig_as_printed_of_row(now, after) == pytest.approx(dirichlet.pig_as_printed(c))
