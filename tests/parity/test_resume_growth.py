"""A study that grew equals a study that was run at once, and existing results do not change."""

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne import STRATEGIES
from berlyne.experiments import store
from unit.experiments.studies import assert_same_store, count_explorations, files, study


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    """Five worlds in a piece: no study below fills its last one."""
    monkeypatch.setattr(store, "BLOCK", 5)


def results_of(folder, name):
    """Chunks of one strategy, by their column."""
    column = berlyne.open_results(folder).strategies.index(name)
    return {path: content for path, content in files(folder).items() if f".{column}" in path.split("c.", 1)[-1][1:3]}


def test_more_strategies_change_no_number_of_the_others(tmp_path, monkeypatch):
    place = tmp_path / "grown"
    before = study(strategies=["PIG(VI)", "Random"]).run(place)
    areas, curves = before.dataset["area"].values, before.dataset["missing_information"].values
    chunks = {path: content for path, content in files(place).items() if "/c." in path and "strategy" not in path}
    made = count_explorations(monkeypatch)
    after = study(strategies=["Random", *STRATEGIES.keys() - {"Random"}]).run(place)
    assert len(made) == 8 * (len(STRATEGIES) - 2)
    assert {name for _, name, _ in made} == STRATEGIES.keys() - {"Random", "PIG(VI)"}
    assert after.strategies[:2] == ["PIG(VI)", "Random"]
    assert np.array_equal(after.dataset["area"].values[:, :2], areas)
    assert np.array_equal(after.dataset["missing_information"].values[:, :2], curves, equal_nan=True)
    assert chunks.items() <= files(place).items()
    study(strategies=after.strategies).run(tmp_path / "at once")
    assert_same_store(place, tmp_path / "at once")


@pytest.mark.parametrize("sizes", amount([(2, 7), (3, 1, 8)], [(1, 2, 3, 4), (2, 7), (5, 10), (3, 1, 8)]))
def test_more_worlds_compute_only_the_new_ones(tmp_path, monkeypatch, sizes):
    """Also if the last piece was not full, and after other requests in between."""
    place, made, most = tmp_path / "grown", count_explorations(monkeypatch), 0
    for n in sizes:
        made.clear()
        results = study(n_worlds=n).run(place)
        assert len(made) == 2 * 3 * max(0, n - most)
        most = max(most, n)
        assert results.settings["n_worlds"] == most and results.is_complete
    study(n_worlds=most).run(tmp_path / "at once")
    assert_same_store(place, tmp_path / "at once")


def test_more_of_both(tmp_path, monkeypatch):
    place = tmp_path / "grown"
    study(n_worlds=3, strategies=["Random"]).run(place)
    study(n_worlds=2, strategies=["LTA"]).run(place)
    made = count_explorations(monkeypatch)
    results = study(n_worlds=6, strategies=["LTA", "Unembodied"]).run(place)
    assert results.strategies == ["Random", "LTA", "Unembodied"] and not results.is_complete  # Random in 3 worlds only
    assert len(made) == 2 * (4 + 6)
    everything = {"n_worlds": 6, "strategies": ["Random", "LTA", "Unembodied"]}
    study(**everything).run(place)
    study(**everything).run(tmp_path / "at once")
    assert_same_store(place, tmp_path / "at once")


def test_resumed_in_the_middle_of_a_block(tmp_path, monkeypatch):
    """Some worlds of a block are there, others are not: they are put beside those, which stay."""
    place = tmp_path / "resumed"
    study(n_worlds=1).run(place)
    write, written = store.Store.write, []

    def write_some(self, piece, chunks):
        if len(written) == 4:
            raise KeyboardInterrupt
        written.append(piece)
        write(self, piece, chunks)

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "write", write_some)
        with pytest.raises(KeyboardInterrupt):
            study(n_worlds=9).run(place, jobs=1)
    made = count_explorations(monkeypatch)
    study(n_worlds=9).run(place)
    assert len(made) == 9 * 2 * 3 - 6 - sum(len(piece.positions) for piece in written)
    study(n_worlds=9).run(tmp_path / "at once")
    assert_same_store(place, tmp_path / "at once")
