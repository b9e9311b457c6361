"""Comparisons of models; a bias alone repeats frequencies, so its held-out likelihood is known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb
from berlyne.behaviour.comparison import assign_blocks, assign_folds
from berlyne.behaviour.data import Data
from unit.behaviour.people import WORLD, walkers

N_PEOPLE, N = 7, 30


@pytest.fixture(scope="module")
def data() -> Data:
    """People with different preferences for two actions, in one state."""
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"s": 0, "a": (rng.random(N) < p).astype(int), "s_next": 0, "subject": f"p{i}", "goal": i % 2})
        for i, p in enumerate(np.linspace(0.3, 0.8, N_PEOPLE))
    ]
    return bb.read(pd.concat(frames), group="goal")


def chosen(data: Data) -> Any:
    return data.chosen.reshape(N_PEOPLE, N)


def test_bic_of_a_bias_is_that_of_frequencies(data: Data) -> None:
    scores = bb.compare(data, {"bias": bb.bias()}).scores()["bias"]
    p = chosen(data).mean(axis=1)
    by_hand = N * (p * np.log(p) + (1 - p) * np.log(1 - p)) - 0.5 * np.log(N)
    assert scores.to_numpy() == pytest.approx(by_hand)
    assert scores.index.tolist() == list(data.subjects)


def test_held_out_people_are_predicted_by_the_frequencies_of_others(data: Data) -> None:
    criterion = bb.cv("people", 3, stratify="goal")
    scores = bb.compare(data, {"bias": bb.bias()}, by=[criterion]).scores("cv(people, 3)")["bias"]
    fold, choices = assign_folds(criterion, data), chosen(data)
    for i in range(N_PEOPLE):
        p = choices[fold != fold[i]].mean()
        assert scores.iloc[i] == pytest.approx(np.log(np.where(choices[i] == 1, p, 1 - p)).sum())


def test_held_out_blocks_are_predicted_by_the_other_blocks(data: Data) -> None:
    criterion = bb.cv("blocks", 3, pool="none")
    scores = bb.compare(data, {"bias": bb.bias()}, by=[criterion]).scores()["bias"]
    for i, choices in enumerate(chosen(data)):
        blocks = choices.reshape(3, 10)
        p = np.array([np.delete(blocks, b, axis=0).mean() for b in range(3)])[:, None]
        assert scores.iloc[i] == pytest.approx(np.log(np.where(blocks == 1, p, 1 - p)).sum())


def test_folds_are_even_within_strata(data: Data) -> None:
    fold = assign_folds(bb.cv("people", 3, stratify="goal"), data)
    goal = np.array(data.groups("goal"))
    for g in (0, 1):
        counts = np.bincount(fold[goal == g], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert fold.tolist() != assign_folds(bb.cv("people", 3, stratify="goal", seed=1), data).tolist()


def test_blocks_are_consecutive_parts_of_the_scored_choices() -> None:
    frame = pd.DataFrame({"s": 0, "a": [0, None, 1, 0, None, 1, 1, 0], "s_next": 0})
    assert assign_blocks(3, bb.read(frame)).tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_held_out_people_under_a_group_are_scored_by_their_evidence(data: Data) -> None:
    """The evidence integrates over the group; the trapezoidal rule is the oracle."""
    criterion = bb.cv("people", 2, pool="group")
    scores = bb.compare(data, {"bias": bb.bias()}, by=[criterion]).scores()["bias"]
    fold, w = assign_folds(criterion, data), np.linspace(-12, 12, 4001)
    for i in range(N_PEOPLE):
        group = bb.fit(data.select(np.flatnonzero(fold != fold[i])), bb.bias(), pool="group").group.iloc[0]
        k = chosen(data)[i].sum()
        density = np.exp(-0.5 * ((w - group["mean"]) / group["sd"]) ** 2) / (group["sd"] * np.sqrt(2 * np.pi))
        likelihood = np.exp(-k * np.logaddexp(0, -w) - (N - k) * np.logaddexp(0, w))
        assert scores.iloc[i] == pytest.approx(np.log(np.trapezoid(density * likelihood, w)), abs=0.05)


def test_laplace_is_the_evidence_of_the_group_minus_its_penalty(data: Data) -> None:
    scores = bb.compare(data, {"bias": bb.bias()}, by="laplace").scores()["bias"]
    group = bb.fit(data, bb.bias(), pool="group").group_fit
    assert group is not None
    assert scores.sum() == pytest.approx(group.log_evidence.sum() - np.log(N_PEOPLE))  # a mean and an sd


def test_settings_are_penalised_once_for_all_people() -> None:
    data = bb.read(walkers(2, 60), keep=["rt"])
    fixed, tried = (bb.model("PIG(VI)", WORLD.prior, gamma=gamma) for gamma in ([0.9], [0.9, 0.9000001]))
    scores = bb.compare(data, {"fixed": fixed, "tried": tried}).scores()
    assert scores["fixed"].sum() - scores["tried"].sum() == pytest.approx(0.5 * np.log(120), abs=1e-3)


def test_a_table_and_differences_and_selection() -> None:
    columns = pd.MultiIndex.from_product([["bic"], ["a", "b"]])
    scores = pd.DataFrame([[-10.0, -12.0], [-20.0, -21.0], [-9.0, -8.0]], index=["x", "y", "z"], columns=columns)
    comparison = bb.Comparison(scores)
    d = comparison.difference("a", "b")
    assert (d.nats, d.n_for, d.n_against) == (2.0, 2, 1)
    assert d.se == pytest.approx(np.sqrt(3) * np.std([2, 1, -1], ddof=1))
    assert "a - b: +2.0" in str(d) and "bic" in str(d)
    assert comparison.table["bic", "nats"].tolist() == [-39.0, -41.0]
    assert comparison.table["bic", "from best"].tolist() == [0.0, -2.0]
    assert comparison.table["bic", "se"].tolist() == pytest.approx([0.0, d.se])
    assert comparison.bms().frequency == pytest.approx(bb.bms(scores["bic"]).frequency)
    assert comparison.bms(0.5).prior_count == 0.5
    for call in (lambda: comparison.difference("a", "c"), lambda: comparison.scores("aic")):
        with pytest.raises(ValueError, match=r"there are a, b|bic"):
            call()


def test_the_drive_of_the_simulation_predicts_best() -> None:
    data = bb.read(walkers(6, 150), keep=["rt"])
    models = {"nuisance": bb.bias() + bb.repeat(), "PIG": bb.model("PIG(VI)", WORLD.prior) + bb.bias() + bb.repeat()}
    comparison = bb.compare(data, models, by=["bic", "laplace", bb.cv("people", 2), bb.cv("blocks", 2)])
    assert comparison.criteria == ["bic", "laplace", "cv(people, 2)", "cv(blocks, 2)"]
    for criterion in comparison.criteria:
        assert comparison.difference("PIG", "nuisance", criterion).nats > 50


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda data: bb.compare(data, {}), ["models"]),
        (lambda data: bb.compare(data, {"bias": bb.bias()}, by=["aic"]), ["aic", "bic"]),
        (lambda data: bb.cv("persons"), ["over", "persons", "people"]),
        (lambda data: bb.cv("people", 1), ["n_folds", "1"]),
        (lambda data: bb.cv("people", pool="none"), ["none", "group"]),
        (lambda data: bb.cv("blocks", stratify="goal"), ["stratify", "goal"]),
        (lambda data: bb.compare(data, {"b": bb.bias()}, by=bb.cv("people", 20)), ["20", "7 people"]),
        (lambda data: bb.compare(data, {"b": bb.bias()}, by=bb.cv("blocks", 40)), ["40", "30 scored"]),
    ],
)
def test_invalid_arguments_are_named(data: Data, make: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        make(data)
    for word in words:
        assert word in str(error.value)
