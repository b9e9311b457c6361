"""Expectations warn once if the prior does not agree with the observations."""

import math
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from berlyne import Dirichlet, Explorer, LabBook
from berlyne.commands.lab import lab
from berlyne.exploration import explorer as explorer_module
from berlyne.models.prior_check import PriorCheck

SIZES = {"n_states": 64, "n_actions": 2}
REGULAR = [(0, 0, 1)] * 20


def told(prior, history=REGULAR):
    explorer = Explorer(prior, "Random")
    explorer.observe_many(history)
    return explorer


def test_frozen_lake_with_a_flat_prior_warns_before_it_knows_enough():
    explorer = berlyne.explore_env("FrozenLake8x8-v1", n_steps=3000, alpha=1.0).explorer
    with pytest.warns(UserWarning, match=r"more regular.*z = \d+.*alpha = 0\.01") as caught:
        assert explorer.knows_enough(150)
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize("ask", [lambda e: e.knows_enough(1.0), lambda e: e.expected_missing_information()])
def test_one_warning_is_given_and_says_what_the_check_says(ask):
    explorer = told(Dirichlet(1.0, **SIZES))
    with pytest.warns(UserWarning, match="z = ") as caught:
        ask(explorer)
    assert str(caught[0].message) == explorer.check_prior().sentence and caught[0].filename == __file__
    ask(explorer)  # a second warning would be an error
    explorer.observe_many(REGULAR)
    ask(explorer)


def test_a_prior_that_agrees_gives_no_warning():
    for prior in (Dirichlet(0.01, **SIZES), Dirichlet("ml", **SIZES), berlyne.ChineseRestaurant(0.1, n_actions=2)):
        explorer = told(prior)
        explorer.expected_missing_information(), explorer.knows_enough(1.0)
        assert explorer.check_prior().agrees and "agrees" in explorer.check_prior().sentence


def test_without_repeats_nothing_can_be_said():
    for history in ([], [(0, 0, 1)], [(0, 0, 1), (1, 0, 1)]):
        for prior in (Dirichlet(1.0, **SIZES), Dirichlet("ml", **SIZES)):
            explorer = told(prior, history)
            for check in (explorer.check_prior(), explorer.model.check_prior()):
                assert check.z == 0.0 and math.isnan(check.best_alpha) and "twice" in check.sentence


def test_a_prior_that_leaves_nothing_to_chance_has_z_0():
    alone = Dirichlet(1.0, n_states=1, n_actions=1)
    assert told(alone, [(0, 0, 0)] * 3).check_prior().z == 0.0
    nearly_uniform = told(Dirichlet(1e12, **SIZES), [(0, 0, i) for i in range(20)]).check_prior()
    assert nearly_uniform.z == 0.0 and nearly_uniform.agrees
    surprised = told(Dirichlet(1e-300, **SIZES), [(0, 0, 1), (0, 0, 2)]).check_prior()
    assert surprised.z < -1e6 and math.isfinite(surprised.z)


def test_the_advice_names_the_family_of_priors_unless_it_is_that_of_the_prior():
    family = "of Dirichlet priors with equal pseudo-counts, alpha ="
    unequal = Dirichlet(np.full((2, 64, 64), 0.1) + np.eye(64), **SIZES)
    for prior in (unequal, berlyne.SharedRestaurant(lambda s, a, s_next: a, 0.1, n_actions=2)):
        assert family in told(prior).check_prior().sentence
    for prior, name in ((Dirichlet(0.01, **SIZES), "alpha"), (berlyne.ChineseRestaurant(0.1, n_actions=2), "c")):
        assert f"; {name} = " in told(prior).check_prior().sentence


def test_a_prior_that_expects_too_much_order_is_noticed():
    rng = np.random.default_rng(0)
    explorer = told(Dirichlet(0.01, **SIZES), [(0, 0, int(s)) for s in rng.integers(64, size=100)])
    check = explorer.check_prior()
    assert check.z < -4 and "less regular" in check.sentence and check.best_alpha > 0.3


def test_expectations_check_the_prior_rarely(monkeypatch):
    n_checks = []
    monkeypatch.setattr(Explorer, "check_prior", lambda self: n_checks.append(self.n_obs) or told_nothing())
    explorer = Explorer(Dirichlet(1.0, **SIZES), "Random")
    for _ in range(1000):
        explorer.observe(0, 0, 1)
        explorer.expected_missing_information()
    assert n_checks[:3] == [20, 25, 32] and len(n_checks) < 30 and n_checks[-1] > 800
    assert sum(n_checks) < 5.5 * 1000  # the work of all checks grows with the number of observations, not its square


def told_nothing():
    return explorer_module.PriorCheck(0.0, 1.0, "")


def test_undo_and_files_keep_the_check(tmp_path):
    explorer = told(Dirichlet(0.02, **SIZES), [*REGULAR, (0, 0, 2), (1, 1, 3)])
    z = explorer.check_prior().z
    explorer.observe(0, 0, 5)
    assert explorer.check_prior().z != z
    explorer.undo()
    assert explorer.check_prior().z == z
    explorer.save(tmp_path / "explorer.npz")
    assert Explorer.load(tmp_path / "explorer.npz").check_prior().z == z


def test_the_command_status_prints_the_sentence(tmp_path):
    for alpha, warned in ((1.0, True), (0.01, False)):
        path = tmp_path / f"{alpha}.lab"
        book = LabBook.new(path, alpha=alpha, **SIZES)
        for line in REGULAR:
            book.tell(*line)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            output = CliRunner().invoke(lab, ["status", str(path)], env={"COLUMNS": "400"}).output
        assert (book.explorer.check_prior().sentence in " ".join(output.split())) == warned
        assert ("warning" in output) == warned


def test_a_model_warns_once_as_an_explorer_does():
    model = berlyne.InternalModel(Dirichlet(1.0, **SIZES))
    model.observe_many(REGULAR)
    with pytest.warns(UserWarning, match="z = ") as caught:
        model.expected_missing_information()
    assert str(caught[0].message) == model.check_prior().sentence and caught[0].filename == __file__
    model.expected_missing_information()  # a second warning would be an error
    fitting = berlyne.InternalModel(Dirichlet(0.01, **SIZES))
    fitting.observe_many(REGULAR)
    fitting.expected_missing_information()


def test_a_model_checks_the_prior_again_after_more_observations():
    model = berlyne.InternalModel(Dirichlet(1.0, **SIZES))
    model.observe(*REGULAR[0])
    model.expected_missing_information()  # one observation cannot test the prior
    model.observe_many(REGULAR)
    with pytest.warns(UserWarning, match="z = "):
        model.expected_missing_information()


def test_a_model_whose_rows_can_be_known_for_certain_does_not_warn(monkeypatch):
    """The bias of z is described in the docstring; here the check would disagree in any case."""
    monkeypatch.setattr(PriorCheck, "agrees", property(lambda self: False))
    run = berlyne.explore(berlyne.one_two_three_world(1), "Unembodied", n_steps=100)
    run.model.expected_missing_information()


def test_a_card_and_imagined_steps_do_not_warn():
    explorer = told(Dirichlet(1.0, **SIZES))
    explorer.expected_gain(2, 0, n_samples=3)
    explorer.model._repr_html_()


def test_three_observations_give_no_warning():
    """The learned c is at its bound after two of them, so that the third has z below -18."""
    explorer = Explorer(berlyne.ChineseRestaurant("ml"), "PIG(VI)", n_actions=2)
    explorer.observe_many([(0, 0, 0), (0, 0, 1), (0, 0, 0)])
    explorer.expected_missing_information(), explorer.knows_enough(1.0)
    assert explorer.check_prior().z < -4
