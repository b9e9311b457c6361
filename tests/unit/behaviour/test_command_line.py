"""`berlyne fit` and `berlyne compare` on a CSV file and a TOML file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import berlyne.behaviour as bb
from berlyne.behaviour.model_file import load_model_file
from unit.behaviour.people import walkers
from unit.experiments.studies import command

COLUMNS = """
[columns]
subject = "who"
group = "sex"
keep = ["rt"]
"""
FIT = (
    """
weights = "positive"
pool = "all"
terms = ["repeat", "lapse"]
"""
    + COLUMNS
    + """
[[drive]]
strategy = "PIG(VI)"
c = [0.1, 1.0]
gamma = 0.9
"""
)
COMPARE = (
    """
by = ["bic", "cv(people, 2, sex)"]
"""
    + COLUMNS
    + """
[models.habit]
terms = ["habit"]

[models.PIG]
terms = ["habit"]
drive = [{ strategy = "PIG(greedy)", c = { low = 0.1, high = 1, n = 2 } }]
"""
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    frame = walkers(4, 50).rename(columns={"subject": "who"})
    frame["sex"] = frame.who % 2
    frame.to_csv(tmp_path / "choices.csv", index=False)
    (tmp_path / "fit.toml").write_text(FIT)
    (tmp_path / "compare.toml").write_text(COMPARE)
    return tmp_path


def test_fit_prints_the_group_and_writes_a_netcdf_file(files: Path) -> None:
    code, output, errors = command("fit", files / "choices.csv", files / "fit.toml", "-o", files / "fit.nc")
    assert (code, errors) == (0, "")
    assert "4 people, 200 choices" in output and "PIG(VI): c" in output
    data = bb.read(pd.read_csv(files / "choices.csv"), subject="who", group="sex", keep=["rt"])
    drive = bb.model("PIG(VI)", bb.crp(c=[0.1, 1.0]), gamma=0.9)
    fit = bb.fit(data, drive + bb.repeat() + bb.lapse(), weights="positive", pool="all")
    stored = xr.load_dataset(io.BytesIO((files / "fit.nc").read_bytes()), engine="scipy")
    assert stored.estimate.values == pytest.approx(fit.estimates)
    assert [str(name) for name in stored.parameter.values] == fit.names
    assert stored.score.values == pytest.approx(fit.settings.score.to_numpy())
    assert stored.setting.sel(name="PIG(VI): c").values[0] == fit.best_settings["PIG(VI): c"]
    assert stored.attrs["model"] == "PIG(VI) + repeat + lapse"


def test_compare_prints_a_table_and_writes_scores(files: Path) -> None:
    code, output, errors = command("compare", files / "choices.csv", files / "compare.toml", "-o", files / "scores.csv")
    assert (code, errors) == (0, "")
    assert "cv(people, 2)" in output and "prior count 1" in output
    scores = pd.read_csv(files / "scores.csv", header=[0, 1], index_col=0)
    data = bb.read(pd.read_csv(files / "choices.csv"), subject="who", group="sex", keep=["rt"])
    expected = bb.compare(data, {"habit": bb.habit()}, by=["bic", bb.cv("people", 2, stratify="sex")]).pointwise
    assert np.asarray(scores["bic"]["habit"]) == pytest.approx(np.asarray(expected["bic", "habit"]))
    assert np.asarray(scores["cv(people, 2)"]["habit"]) == pytest.approx(np.asarray(expected["cv(people, 2)", "habit"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("terms = [", ["not valid TOML"]),
        ("", ["no model"]),
        ("term = ['bias']", ["term", "terms"]),
        ("terms = ['bais']", ["bais", "bias"]),
        ("[[drive]]\nc = 1", ["strategy"]),
        ("[[drive]]\nstrategy = 'PIG(VI)'\nc = { low = 1 }", ["low", "high"]),
        ("terms = ['bias']\nby = ['cv(persons, 2)']", ["persons"]),
        ("terms = 'bias'", ["terms", "bias", "list"]),
        ("terms = [3]", ["term 3", "bias"]),
        ("terms = ['bias']\nby = 'bic'", ["by", "bic", "list"]),
        ("terms = ['bias']\nby = [3]", ["3", "text"]),
        ("weights = 3\nterms = ['bias']", ["weights", "3", "text"]),
        ("columns = 3\nterms = ['bias']", ["columns", "3", "table"]),
        ("drive = 3", ["drive", "3", "list"]),
        ("drive = ['CB']", ["drive", "CB", "table"]),
        ("models = 3", ["models", "3", "table"]),
        ("[models]", ["models", "table of models"]),
        ("[models]\na = 3", ["models.a", "3", "table"]),
    ],
)
def test_invalid_files_are_explained(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".") as error:
        load_model_file(path)
    for word in words:
        assert word in str(error.value)


def test_fit_refuses_several_models(files: Path) -> None:
    code, _, errors = command("fit", files / "choices.csv", files / "compare.toml")
    assert code == 1 and "2 models" in errors


def test_a_file_that_is_no_table_is_named(files: Path) -> None:
    (files / "empty.csv").write_text("")
    code, _, errors = command("fit", files / "empty.csv", files / "fit.toml")
    assert code == 1 and "empty.csv is not a CSV table" in errors
    (files / "fit.toml").write_text("terms = ['bias']\n[columns]\nsubject = 'participant'\n")
    code, _, errors = command("fit", files / "choices.csv", files / "fit.toml")
    assert code == 1 and "participant" in errors and "who" in errors
