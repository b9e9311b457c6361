"""Values without variation, choices that are not scored, and weights that run off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berlyne.behaviour import logit
from berlyne.behaviour.logit import LogitFit, fit_logit, make_design, make_parameters, to_weights


def fit(x: Any, allowed: Any, chosen: Any, *, positive: bool = False, lapse: bool = False) -> LogitFit:
    design = make_design(x, np.broadcast_to(allowed, x.shape[:2]).copy(), chosen, np.array([0, len(x)]))
    return fit_logit(design, make_parameters(design, np.full(x.shape[2], positive), lapse))


def test_two_actions_and_one_value_have_a_closed_form() -> None:
    """With x = 1 for action 1 and 0 for action 0, the weight is the log odds of the choices."""
    x = np.tile([[[0.0], [1.0]]], (40, 1, 1))
    chosen = (np.arange(40) < 30).astype(np.int64)
    result = fit(x, True, chosen)
    assert result.theta[0, 0] == pytest.approx(np.log(3))
    assert result.standard_errors()[0, 0] == pytest.approx(np.sqrt(1 / 30 + 1 / 10))
    negative = fit(-x, True, chosen, positive=True)
    assert negative.theta[0, 0] == 0.0 and negative.at_bound[0, 0] and not result.at_bound[0, 0]
    assert np.isnan(negative.standard_errors()[0, 0])


def test_values_are_centred_among_allowed_actions_and_their_spread_is_measured() -> None:
    rng = np.random.default_rng(5)
    x, allowed, chosen = rng.normal(size=(7, 3, 2)), np.ones((7, 3), dtype=bool), np.array([0, 1, -1, 2, 0, 0, 1])
    x[:4, :, 1] = 2.5  # the second value does not vary for the first person
    allowed[5, 2], x[5, 2] = False, np.nan
    design = make_design(x, allowed, chosen, np.array([0, 4, 7]))
    for person, lines in enumerate((range(4), range(4, 7))):
        for k in range(2):
            centred = [x[t, allowed[t], k] - x[t, allowed[t], k].mean() for t in lines]
            variances = [np.mean(c**2) for c, t in zip(centred, lines, strict=True) if chosen[t] >= 0]
            assert design.spread[person, k] == pytest.approx(np.sqrt(np.mean(variances)), abs=1e-15)
            for c, t in zip(centred, lines, strict=True):
                assert design.choices.x[t, allowed[t], k] == pytest.approx(c, abs=1e-15)
    assert design.spread[0, 1] == 0.0 and design.choices.x[5, 2].tolist() == [0.0, 0.0]
    assert design.n.tolist() == [3, 3]


def test_choices_that_are_not_scored_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x, chosen, scored = rng.normal(size=(60, 3, 2)), rng.integers(0, 3, 60), np.arange(60) % 3 > 0
    some, only = fit(x, True, np.where(scored, chosen, -1)), fit(x[scored], True, chosen[scored])
    assert some.theta == pytest.approx(only.theta)
    assert some.log_likelihood == pytest.approx(only.log_likelihood)


def test_actions_that_are_not_allowed_are_ignored() -> None:
    rng = np.random.default_rng(1)
    x, chosen = rng.normal(size=(40, 3, 2)), rng.integers(0, 2, 40)
    x[:, 2] = np.nan
    three = fit(x, [True, True, False], chosen, lapse=True)
    assert three.log_likelihood == pytest.approx(fit(x[:, :2], True, chosen, lapse=True).log_likelihood)


def test_a_value_without_variation_has_no_estimate_and_does_not_disturb() -> None:
    rng = np.random.default_rng(2)
    x, chosen = rng.normal(size=(40, 3, 2)), rng.integers(0, 3, 40)
    x[:, :, 1] = 0.1 * np.arange(40)[:, None]  # equal for all actions
    result = fit(x, True, chosen)
    assert result.varies.tolist() == [[True, False]] and result.converged.all()
    assert np.isnan(result.standard_errors()).tolist() == [[False, True]]
    assert result.log_likelihood == pytest.approx(fit(x[:, :, :1], True, chosen).log_likelihood)


def test_a_weight_that_runs_off_is_marked() -> None:
    """The chosen action always has the largest value, so the largest weight is best."""
    x = np.random.default_rng(3).normal(size=(40, 3, 1))
    result = fit(x, True, x[:, :, 0].argmax(axis=1))
    assert result.at_bound[0, 0] and result.converged[0]
    assert result.theta[0, 0] == pytest.approx(20 / np.sqrt(x.var(axis=1).mean()))


@pytest.mark.parametrize("lapse", [0.0, 0.001, 0.3])
def test_many_choices_are_fitted_as_well_as_few(lapse: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that begins with a part of the choices, and leaves out rare lapses, reaches the same maximum."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(12_000, 3, 2))
    p = np.exp(x @ [4.0, -1.0])
    p = (1 - lapse) * p / p.sum(axis=1, keepdims=True) + lapse / 3
    chosen = (rng.random((len(x), 1)) >= p.cumsum(axis=1)).sum(axis=1)
    many = fit(x, True, chosen, lapse=True)
    monkeypatch.setattr(logit, "MANY", 10**9)
    one = fit(x, True, chosen, lapse=True)
    assert many.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)
    assert many.theta[0, :2] == pytest.approx(one.theta[0, :2], abs=1e-4)
    assert many.maximum.n_starts[0] == one.maximum.n_starts[0] >= 2
    assert 1 <= many.maximum.n_best[0] <= many.maximum.n_starts[0]
    if lapse > 0.0:  # the maximum is inside, also if lapses are rare
        assert many.theta[0, 2] > -10
        assert abs(many.maximum.gradient[0, 2]) < 1e-4


def test_large_weights_are_not_taken_for_logarithms() -> None:
    design = make_design(np.ones((1, 2, 1)), np.ones((1, 2), dtype=bool), np.zeros(1, dtype=np.int64), np.array([0, 1]))
    parameters = make_parameters(design, np.array([False]), False)
    assert to_weights(np.array([[1e4]]), parameters, 1).tolist() == [[1e4]]  # exp(1e4) overflows
