"""Files that earlier versions wrote are still read, bit for bit, and gone on with; see make_files.py."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from berlyne import Experiment, Explorer, open_results
from golden.make_files import EXPLORERS, N_SAVED, STUDY

FILES = Path(__file__).with_name("files")
EXPECTED = json.loads((FILES / "expected.json").read_text())


@pytest.mark.parametrize("kind", EXPLORERS)
def test_an_explorer_saved_before_goes_on_as_it_did(kind):
    explorer, history = Explorer.load(FILES / f"{kind}.npz"), EXPECTED["histories"][kind]
    counts = np.zeros((explorer.n_actions, explorer.n_states, explorer.n_states), dtype=int)
    for s, a, s_next in history[:N_SAVED]:
        counts[a, s, s_next] += 1
    assert np.array_equal(explorer.model.counts, counts) and explorer.n_obs == N_SAVED
    for s, a, s_next in history[N_SAVED:]:
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next)


@pytest.mark.parametrize("kind", EXPLORERS)
def test_estimates_that_are_worked_out_again_are_those_that_were_stored(kind, tmp_path):
    """Format 1 held them; they are no longer read, and no longer written."""
    Explorer.load(FILES / f"{kind}.npz").save(tmp_path / "again.npz")
    belief = Explorer.load(tmp_path / "again.npz")._agent.belief
    with np.load(FILES / f"{kind}.npz") as old:
        assert np.array_equal(belief.n, old["mind_n"]) and np.array_equal(belief.base_weight, old["mind_share"])
        assert np.array_equal(belief.weight, old["mind_weight"])
        assert belief.utility == pytest.approx(old["mind_utility"], rel=1e-12)


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
