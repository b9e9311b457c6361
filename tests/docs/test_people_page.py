"""The page on what people seek: its tables are those of the stored scores, and the open data have its facts."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "behaviour"


@pytest.fixture(scope="module")
def make():
    return runpy.run_path(str(ROOT / "docs" / "people" / "make.py"))


def test_the_tables_are_those_of_the_stored_scores(make):
    text = make["PAGE"].read_text(encoding="utf-8")
    assert make["with_tables"](text) == text
    changed = text.replace("| rarity(VI) |", "| rarity(VI) | 1", 1)
    assert make["with_tables"](changed) != changed


def test_a_difference_has_the_standard_error_of_people(make):
    columns = {"variant": ["v"] * 2, "held_out": ["people"] * 2, "model": ["a", "b"]}
    scores = pd.DataFrame({**columns, "1": [-10.0, -12.0], "2": [-20.0, -21.0], "3": [-9.0, -8.0]})
    scores = scores.set_index(make["KEYS"])
    assert make["summary"](make["difference"](scores, "v", "people", "a", "b")) == "+2 ± 3 (2:1)"
    assert make["difference"](scores, "v", "blocks", "a", "b") is None


def test_the_scores_are_those_of_57_people(make):
    scores = make["read_scores"]()
    assert scores.shape[1] == 57
    assert scores.notna().all(axis=None)


def test_the_open_data_have_the_facts_of_the_study():
    """People by goal, and median lengths of episodes, as the study stores them for humans."""
    if not DATA.is_dir():
        pytest.skip(f"needs the open data, which are not part of the repository: {DATA} does not exist")
    script = runpy.run_path(str(ROOT / "benchmarks" / "behaviour.py"))
    frame = script["read_frame"](DATA)
    facts = script["facts"](frame)
    assert facts["people"] == {"2CHF": 21, "3CHF": 19, "4CHF": 17}
    assert facts["choices"] == 40_492
    assert facts["median rows of episode 1"] == 196
    assert facts["median rows of episodes 2 to 5"] == {"2CHF": 73.5, "3CHF": 34.5, "4CHF": 9.5}
    data = script["read"](frame)
    assert (len(data.subjects), int(data.scored.sum()), data.frame["s"].nunique()) == (57, 40_492, 58)
    assert [str(note) for note in data.check().notes] == []
