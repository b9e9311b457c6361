"""Fits of people alone, together and as a group; tables; settings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb
from berlyne.behaviour.fitting import choice_probabilities
from berlyne.behaviour.search import N_REFINEMENTS, search_settings, usual_number
from berlyne.behaviour.settings import as_grid
from messages import raises
from oracles.choice_likelihood import log_likelihood, probabilities
from unit.behaviour.people import WORLD, walkers

NUISANCE = bb.bias() + bb.repeat() + bb.habit() + bb.lapse()
MODEL = bb.model("PIG(VI)", WORLD.prior) + NUISANCE


@pytest.fixture(scope="module")
def data() -> bb.Data:
    return bb.read(walkers(5), keep=["rt"])


@pytest.mark.parametrize("pool", ["none", "all", "group"])
def test_the_log_likelihood_is_that_of_the_estimates(data: bb.Data, pool: str) -> None:
    fit = bb.fit(data, MODEL, weights="positive", pool=pool)  # type: ignore[arg-type]
    for i, subject in enumerate(data.subjects):
        lines = slice(data.begin[i], data.begin[i + 1])
        line = fit.people.loc[subject]
        lapse = max(line["lapse"], 1e-12)
        theta = np.append(line[fit.names[:-1]].to_numpy(float), np.log(lapse / (1 - lapse)))
        plain = log_likelihood(theta, MODEL.values(data, {})[lines], data.allowed[lines], data.chosen[lines])
        assert line["log_likelihood"] == pytest.approx(plain, abs=1e-6)
        assert line["n"] == 150 and line["k"] == 7 and line["converged"]
    assert fit.values.log_likelihood.sum() == pytest.approx(fit.people.log_likelihood.sum())
    assert fit.values.rt[-1] == 5 * 150 - 1


def test_fitting_people_alone_explains_most_and_together_least(data: bb.Data) -> None:
    totals = [bb.fit(data, MODEL, pool=pool).log_likelihood.sum() for pool in ("none", "group", "all")]
    assert totals[0] > totals[1] > totals[2]


def test_the_weight_of_the_drive_is_recovered() -> None:
    """The people follow PIG(VI) with temperature 0.2: weight 5, and no other preferences."""
    data = bb.read(walkers(12, 300), keep=["rt"])
    fit = bb.fit(data, MODEL, pool="all")
    errors = fit.standard_errors[0]
    assert abs(fit.estimates[0, 0] - 5) < 3 * errors[0] and errors[0] < 0.5
    assert (np.abs(fit.estimates[0, 1:6]) < 3.5 * errors[1:6]).all()
    group = bb.fit(data, MODEL, weights="positive", pool="group").group
    assert group.loc["PIG(VI)", "scale"] == "log"
    assert abs(group.loc["PIG(VI)", "mean"] - np.log(5)) < 3 * group.loc["PIG(VI)", "se"]


def test_missing_choices_are_learned_from_and_not_scored() -> None:
    frame = walkers(1)
    data, missing = (bb.read(f, keep=["rt"]) for f in (frame, frame.assign(a=frame.a.where(frame.index % 10 > 0))))
    assert missing.scored.sum() == 135
    fit = bb.fit(missing, bb.bias())
    again = np.flatnonzero(missing.scored)
    taken = np.bincount(data.chosen[again], minlength=4) / 135
    assert fit.probabilities[0] == pytest.approx(taken)  # a bias alone repeats the frequencies


def test_settings_are_shared_and_the_profile_lists_them(data: bb.Data) -> None:
    model = bb.model("PIG(VI)", bb.crp(c=bb.grid(0.1, 10, 3)), gamma=[0.5, 0.95]) + bb.lapse()
    fit = bb.fit(data.select([0, 1]), model, pool="all")
    assert fit.settings.score.is_monotonic_decreasing
    assert len(fit.settings) > 6  # the grid, and refinements of c
    assert fit.settings.iloc[0]["PIG(VI): c"] == fit.best_settings["PIG(VI): c"]
    assert fit.settings.score[0] == pytest.approx(fit.log_likelihood.sum())
    assert set(fit.settings["PIG(VI): gamma"]) == {0.5, 0.95}


def test_the_search_finds_the_maximum_of_a_known_function() -> None:
    grids = {"A: c": bb.grid(0.01, 100, 5), "A: gamma": as_grid("gamma", [0, 0.5]), "B: c": bb.grid(0, 4, 3)}

    def score(s: dict[str, float]) -> float:
        return -((np.log(s["A: c"]) - 1.0) ** 2) - (s["A: gamma"] - 0.4) ** 2 - (s["B: c"] - 2.7) ** 2

    best, profile = search_settings(grids, score)
    assert best["A: c"] == pytest.approx(np.e, rel=0.05)
    assert best["A: gamma"] == 0.5
    assert best["B: c"] == pytest.approx(2.7, abs=0.05)
    assert max(line["score"] for line in profile) == score(best)
    assert usual_number(grids) == 5 * 2 + 3 + 2 * N_REFINEMENTS and usual_number({}) == 1


def test_a_fit_shows_how_many_settings_it_has_tried(
    data: bb.Data, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    model = bb.model("CB", bb.crp(c=[0.5, 1.0, 2.0])) + bb.lapse()
    bb.fit(data.select([0]), model)
    shown = capsys.readouterr().err
    assert "replays" in shown and "fits" in shown and "100%" in shown


def test_a_value_that_does_not_vary_has_no_estimate() -> None:
    frame = pd.DataFrame({"s": range(30), "a": [0, 1, 1] * 10, "s_next": range(1, 31), "subject": "eve"})
    fit = bb.fit(bb.read(frame), bb.bias() + bb.habit())
    assert np.isnan(fit.people.loc["eve", "habit"]) and fit.people.loc["eve", "k"] == 1
    assert fit.people.loc["eve", "bias[1]"] == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"weights": "nonnegative"}, ["weights", "nonnegative", "positive"]),
        ({"pool": "some"}, ["pool", "some", "group"]),
        ({"model": bb.lapse()}, ["no weights", "bb.bias()"]),
    ],
)
def test_invalid_options_are_named(data: bb.Data, arguments: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        bb.fit(data, **{"model": NUISANCE, **arguments})  # type: ignore[arg-type]
    for word in words:
        assert word in str(error.value)


def test_a_person_without_choices_is_named() -> None:
    frame = walkers(2, 20)
    frame["a"] = frame.a.where(frame.subject == 0)
    with pytest.raises(ValueError, match="person 1 has no scored choices"):
        bb.fit(bb.read(frame, keep=["rt"]), NUISANCE)


def test_draws_for_arviz_have_the_estimates_and_standard_errors(data: bb.Data) -> None:
    fit = bb.fit(data, bb.bias() + bb.habit())
    tree = fit.to_arviz(4000)
    posterior = tree["posterior"]["habit"]
    assert posterior.dims == ("chain", "draw", "subject") and posterior.shape == (1, 4000, 5)
    errors = fit.people["habit se"].to_numpy()
    assert posterior.mean(("chain", "draw")).to_numpy() == pytest.approx(
        fit.people["habit"].to_numpy(), abs=0.1 * max(errors)
    )
    assert posterior.std(("chain", "draw")).to_numpy() == pytest.approx(errors, rel=0.1)
    assert float(tree["log_likelihood"]["choice"].sum()) == pytest.approx(fit.log_likelihood.sum())


@pytest.mark.filterwarnings("ignore:\\nArviZ is undergoing:FutureWarning")  # when it is first imported on a day
def test_arviz_summarises_the_draws(data: bb.Data) -> None:
    import arviz  # slow to import

    fit = bb.fit(data, bb.habit())
    summary = arviz.summary(fit.to_arviz(2000)["posterior"].to_dataset(), kind="stats")
    assert summary["mean"].to_numpy() == pytest.approx(fit.people["habit"].to_numpy(), abs=0.1)


def test_the_weights_are_those_of_the_best_settings(data: bb.Data) -> None:
    """The people plan without a discount."""
    fit = bb.fit(data, bb.model("PIG(VI)", WORLD.prior, gamma=[0.01, 0.99]), pool="all")
    alone = bb.fit(data, bb.model("PIG(VI)", WORLD.prior, gamma=0.99), pool="all")
    assert fit.best_settings == {"PIG(VI): gamma": 0.99}
    assert fit.estimates == pytest.approx(alone.estimates)


def test_check_names_problems_of_a_fit(data: bb.Data) -> None:
    assert bb.fit(data, MODEL, pool="all").check() == "- no problems"
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"s": 0, "a": rng.integers(0, 2, 200), "s_next": 0})
    assert "explains nothing" in bb.fit(bb.read(noise), bb.repeat()).check()
    always = pd.DataFrame({"s": 0, "a": [1] * 40, "s_next": 0})
    assert "bias[1] ran off for 1 people" in bb.fit(bb.read(always, actions=[0, 1]), bb.bias()).check()
    new_states = pd.DataFrame({"s": range(30), "a": [0, 1, 1] * 10, "s_next": range(1, 31)})
    assert "habit does not vary for 1 people" in bb.fit(bb.read(new_states), bb.bias() + bb.habit()).check()


def test_data_and_models_of_another_kind_are_named(data: bb.Data) -> None:
    with raises(TypeError, "data", "DataFrame", "bb.read"):
        bb.fit(data.frame, NUISANCE)  # type: ignore[arg-type]
    for call in (lambda: bb.fit(data, "PIG(VI)"), lambda: bb.compare(data, {"PIG": "PIG(VI)"})):  # type: ignore[arg-type,dict-item]
        with raises(TypeError, "model", "'PIG(VI)'", "bb.bias"):
            call()
    with raises(ValueError, "seed"):
        bb.simulate(bb.fit(data, bb.bias()), WORLD, n_steps=3, seeds=[])


def test_the_profile_of_people_with_few_choices_is_as_good_as_fits_with_fixed_settings() -> None:
    data = bb.read(walkers(4, 60), keep=["rt"])
    terms = bb.repeat() + bb.bias() + bb.lapse()
    profile = bb.fit(data, bb.model("PIG(VI)", bb.crp(), gamma=[0.5, 0.7, 0.9]) + terms).settings
    for gamma, score in zip(profile["PIG(VI): gamma"], profile["score"], strict=True):
        alone = bb.fit(data, bb.model("PIG(VI)", bb.crp(), gamma=gamma) + terms)
        assert score == pytest.approx(alone.log_likelihood.sum(), abs=1e-5)


def test_probabilities_are_those_of_the_allowed_actions() -> None:
    frame = pd.DataFrame(
        {"s": 0, "a": [0, 1, 2, 1] * 10, "s_next": 0, "allowed": ["0 1 2", "1 2", "0 2", "0 1 2"] * 10}
    )
    data = bb.read(frame.assign(a=frame.a.astype(str)), allowed="allowed")
    model = bb.bias() + bb.repeat() + bb.lapse()
    fit = bb.fit(data, model)

    estimates = np.array([[0.5, -1.0, 2.0, 0.3]])
    expected = probabilities(np.append(estimates[0, :3], np.log(0.3 / 0.7)), model.values(data, {}), data.allowed)
    assert choice_probabilities(data, model, {}, estimates) == pytest.approx(expected)
    assert (fit.probabilities[~data.allowed] == 0).all()
