"""Stores of earlier versions are still read, bit for bit, and resumed; explorers act as before; see make_files.py."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from berlyne import Experiment, Explorer, open_results
from golden.make_files import EXPLORERS, N_AFTER, N_SAVED, PRIORS, STUDY, lead

FILES = Path(__file__).with_name("files")
EXPECTED = json.loads((FILES / "expected.json").read_text())


@pytest.mark.parametrize("kind", EXPLORERS)
def test_an_explorer_acts_as_before_also_after_it_is_saved_and_loaded(kind, tmp_path):
    explorer, rng = Explorer(PRIORS[kind], EXPLORERS[kind], seed=3), np.random.default_rng(5)
    history = lead(explorer, rng, 0, N_SAVED)
    explorer.save(tmp_path / "explorer.npz")
    loaded = Explorer.load(tmp_path / "explorer.npz")
    counts = np.zeros((loaded.n_actions, loaded.n_states, loaded.n_states), dtype=int)
    for s, a, s_next in history:
        counts[a, s, s_next] += 1
    assert np.array_equal(loaded.model.counts, counts) and loaded.n_obs == N_SAVED
    history += lead(loaded, rng, history[-1][2], N_AFTER)
    assert [list(line) for line in history] == EXPECTED["histories"][kind]


def test_a_store_made_before_reads_the_same():
    results = open_results(FILES / "store.zarr")
    assert {name: results.areas(name).values.tolist() for name in results.classes} == EXPECTED["areas"]


def test_a_store_made_before_is_complete_and_grows(tmp_path):
    """Its worlds and runs are those that are drawn today: what is added fits."""
    shutil.copytree(FILES / "store.zarr", tmp_path / "store.zarr")
    before = {path: path.read_bytes() for path in (tmp_path / "store.zarr").rglob("c.*")}
    assert before
    Experiment(**STUDY).run(tmp_path / "store.zarr", jobs=1)
    assert before == {path: path.read_bytes() for path in (tmp_path / "store.zarr").rglob("c.*")}
    grown = Experiment(**{**STUDY, "n_worlds": 3}).run(tmp_path / "store.zarr", jobs=1)
    for name, areas in EXPECTED["areas"].items():
        assert grown.areas(name).values[:2].tolist() == areas


def test_runs_of_today_are_those_of_the_store(tmp_path):
    """To rounding: another machine may contract other sums."""
    again, stored = Experiment(**STUDY).run(tmp_path / "again.zarr", jobs=1), open_results(FILES / "store.zarr")
    for name in stored.classes:
        ours, theirs = again.of(name), stored.of(name)
        assert np.array_equal(ours["state"].values, theirs["state"].values)
        assert np.array_equal(ours["action"].values, theirs["action"].values, equal_nan=True)
        assert np.array_equal(ours["counts"].values, theirs["counts"].values)
        assert again.areas(name).values == pytest.approx(stored.areas(name).values, rel=1e-12)
