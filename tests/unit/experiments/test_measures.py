"""The table of measures determines what is stored."""

import json

import numpy as np
import pytest

from berlyne.experiments.measures import MEASURES, Measure
from berlyne.experiments.spec import SettingsError
from messages import raises
from unit.experiments.studies import command, files, study

TOY = Measure("toy", lambda run: np.arange(run.n_steps + 1) + run.states[0] / 16, "parsec", "how far")


def test_a_measure_that_is_added_to_the_table_is_stored_listed_and_resumed(tmp_path, monkeypatch):
    monkeypatch.setitem(MEASURES, "toy", TOY)
    results = study(n_worlds=2).run(tmp_path / "r.zarr")
    toy = results.of("dense")["toy"]
    assert toy.dtype == np.float32 and toy.attrs == {"units": "parsec", "long_name": "how far"}
    starts = results.of("dense")["state"].values[..., 0]
    assert np.array_equal(toy, np.arange(21) + starts[..., None] / 16)
    grown = study(n_worlds=3).run(tmp_path / "r.zarr")
    assert grown.is_complete and np.array_equal(grown.of("dense")["toy"].values[:2], toy)
    assert np.array_equal(grown.curves("dense", "toy")["mean"].shape, (3, 21))
    assert "toy" in command("list", "measures")[1]
    with raises(SettingsError, "measures.toy", "new identifier"):
        study(measures={"toy": lambda run: 0.0})


def test_a_store_without_it_is_read_but_not_resumed(tmp_path, monkeypatch):
    place = tmp_path / "r.zarr"
    study().run(place)
    before = files(place)
    monkeypatch.setitem(MEASURES, "toy", TOY)
    with raises(SettingsError, str(place), "without the measure toy", "you asked for"):
        study().run(place)
    from berlyne import open_results

    assert files(place) == before and open_results(place).is_complete


def test_a_store_with_a_measure_that_is_gone_is_read_but_not_resumed(tmp_path, monkeypatch):
    from berlyne import open_results

    place = tmp_path / "r.zarr"
    with monkeypatch.context() as patch:
        patch.setitem(MEASURES, "toy", TOY)
        study().run(place)
    with raises(SettingsError, str(place), "with the measure toy", "did not ask"):
        study().run(place)
    assert "toy" in open_results(place).dataset


@pytest.mark.parametrize("wrong", [0.0, np.zeros(3)])
def test_a_measure_has_a_value_for_each_time(tmp_path, monkeypatch, wrong):
    monkeypatch.setitem(MEASURES, "toy", Measure("toy", lambda run: wrong, "1", "nothing"))
    with pytest.raises(ValueError, match=r"^measure toy: .*it must be \((31|21),\)$") as caught:
        study().run(tmp_path / "r.zarr")
    assert f"shape {np.shape(wrong)}" in str(caught.value)


def test_the_usual_ones_are_stored_as_ever(tmp_path):
    results = study().run(tmp_path / "r.zarr")
    assert list(results.dataset.data_vars) == [
        "missing_information", "l1_distance", "state", "action", "next_state", "counts", "area",
    ]  # fmt: skip
    root = json.loads((tmp_path / "r.zarr" / "zarr.json").read_text())
    coordinates = {"time", "snapshot", "world", "world_class", "strategy"}
    assert set(root["consolidated_metadata"]["metadata"]) == {*results.dataset.data_vars, *coordinates}
