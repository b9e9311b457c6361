"""Arguments and printed form of random-effects model selection."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb


def test_names_come_from_the_columns_of_a_frame_and_the_prior_count_is_printed() -> None:
    result = bb.bms(pd.DataFrame({"PIG": [-3.0, -2.0], "rarity": [-1.0, -2.5]}), prior_count=0.5)
    assert result.names == ("PIG", "rarity")
    assert "rarity" in str(result) and "prior count 0.5" in str(result)


def test_a_constant_for_each_person_changes_nothing() -> None:
    evidence = np.random.default_rng(0).normal(size=(8, 3))
    shifted = bb.bms(evidence + 1000 * np.arange(8)[:, None])
    assert shifted.protected_exceedance == pytest.approx(bb.bms(evidence).protected_exceedance)


def test_equal_evidence_gives_equal_frequencies() -> None:
    result = bb.bms(np.zeros((5, 4)))
    assert result.frequency == pytest.approx(np.full(4, 0.25))
    assert result.protected_exceedance == pytest.approx(np.full(4, 0.25))
    assert result.omnibus_risk > 0.5


def test_one_model_has_all_people() -> None:
    assert bb.bms(np.zeros((5, 1))).exceedance.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"log_evidence": [1.0, 2.0]}, ["log_evidence", "(2,)", "people, models"]),
        ({"log_evidence": np.empty((0, 2))}, ["log_evidence", "(0, 2)"]),
        ({"log_evidence": [[0.0, np.nan]]}, ["log_evidence", "nan", "person 0", "model 1"]),
        ({"log_evidence": [[0.0, 1.0]], "prior_count": 0}, ["prior_count", "0"]),
        ({"log_evidence": [[0.0, 1.0]], "names": ["a", "a"]}, ["names", "2 different names"]),
        ({"log_evidence": [[0.0, 1.0]], "names": ["a", "b"], "families": {"A": ["a"]}}, ["families", "a, b"]),
    ],
)
def test_invalid_arguments_are_named(arguments: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        bb.bms(**arguments)  # type: ignore[arg-type]
    for word in words:
        assert word in str(error.value)
