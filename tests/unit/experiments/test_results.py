"""Results of a study agree with NumPy and SciPy."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import berlyne
from berlyne import InternalModel, Results, open_results
from berlyne.experiments.work_unit import world_at
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments.studies import command, count_explorations, study


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("results") / "results.zarr"
    study(n_worlds=6, measures={"last": lambda run: run.missing_information[-1]}).run(place)
    return place


@pytest.fixture(scope="module")
def results(place):
    return open_results(place)


@pytest.fixture
def half_done(tmp_path, monkeypatch):
    """A study that stopped after its first piece."""
    from berlyne.experiments import store

    monkeypatch.setattr(store, "BLOCK", 3)
    written, write = [], store.Store.write

    def once(self, piece, chunks):
        if written:
            raise KeyboardInterrupt
        written.append(piece)
        write(self, piece, chunks)

    monkeypatch.setattr(store.Store, "write", once)
    with pytest.raises(KeyboardInterrupt):
        study().run(tmp_path / "results.zarr", jobs=1)
    return open_results(tmp_path / "results.zarr")


def test_reading_runs_nothing(place, monkeypatch):
    made = count_explorations(monkeypatch)
    results = open_results(place)
    results.curves("maze"), results.ranks("maze"), results.history("maze/000", "Random")
    assert made == [] and isinstance(results, Results)


def test_worlds_come_by_class(results):
    assert results.classes == ["maze", "dense"] and results.strategies == ["Random", "PIG(VI)", "Unembodied"]
    assert list(results.dataset["world"].values) == [f"{c}/{i:03d}" for c in ("maze", "dense") for i in range(6)]
    assert results.is_complete and results.settings["n_worlds"] == 6
    assert repr(results) == "Results(results.zarr: maze, dense; 36 of 36 explorations)"


def test_labels_can_be_selected(results):
    one = results.dataset.sel(world="dense/003", strategy="PIG(VI)")
    assert one["world_class"].item() == "dense" and one["missing_information"].shape == (31,)


def test_a_class_is_as_long_as_its_runs(results):
    dense = results.of("dense")
    assert dict(dense.sizes) == {"world": 6, "strategy": 3, "time": 21, "snapshot": 4, "transition": 324}
    assert not np.any(np.isnan(dense["missing_information"].values))


@pytest.mark.parametrize("measure", ["missing_information", "l1_distance"])
@pytest.mark.parametrize("world_class", ["maze", "dense"])
def test_curves_are_mean_and_standard_error(results, world_class, measure):
    values = results.of(world_class)[measure].values.astype(float)
    curves = results.curves(world_class, measure)
    assert curves["mean"].dims == curves["sem"].dims == ("strategy", "time")
    np.testing.assert_allclose(curves["mean"], values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(curves["sem"], stats.sem(values, axis=0), rtol=1e-9, atol=1e-15)
    subset = results.curves(world_class, measure, ["Unembodied", "Random"])
    xr.testing.assert_identical(subset, curves.sel(strategy=["Unembodied", "Random"]))


def test_areas_are_the_sums_of_curves_in_double_precision(results):
    areas = results.areas("maze")
    assert areas.dims == ("world", "strategy") and areas.dtype == np.float64
    np.testing.assert_allclose(areas, results.of("maze")["missing_information"].values.sum(axis=-1), rtol=1e-5)


def test_ranks_are_those_of_scipy(results):
    areas = results.areas("dense").values
    ranks = results.ranks("dense")
    assert ranks.dims == ("world", "strategy")
    np.testing.assert_array_equal(ranks, stats.rankdata(areas, axis=1))
    np.testing.assert_array_equal(ranks.sum("strategy"), [6.0] * 6)
    two = results.ranks("dense", ["Unembodied", "Random"])
    np.testing.assert_array_equal(two, stats.rankdata(areas[:, [2, 0]], axis=1))


def test_ratios_of_areas(results):
    areas = results.areas("maze").values
    np.testing.assert_allclose(results.area_ratios("maze"), (areas / areas[:, [2]]).mean(axis=0))
    np.testing.assert_allclose(results.area_ratios("maze", over="Random"), (areas / areas[:, [0]]).mean(axis=0))


@pytest.mark.parametrize("strategy", ["Random", "PIG(VI)", "Unembodied"])
@pytest.mark.parametrize("world", ["maze/002", "dense/005"])
def test_histories_replay_to_the_counts_and_the_curve(results, world, strategy):
    name, index = world.split("/")
    truth = world_at(study(n_worlds=6), name, int(index))
    history = results.history(world, strategy)
    n_steps = results.settings["worlds"][name]["n_steps"]
    assert history.shape == (n_steps, 3)
    assert np.all(truth.theta[history[:, 1], history[:, 0], history[:, 2]] > 0)
    if strategy != "Unembodied":
        assert np.array_equal(history[1:, 0], history[:-1, 2])
    run = results.dataset.sel(world=world, strategy=strategy)
    for t in (0, 5, n_steps):
        model = InternalModel(truth.prior)
        model.observe_many(history[:t])
        assert np.array_equal(results.counts(world, strategy, t, truth.n_states, truth.n_actions).dense(), model.counts)
        assert run["missing_information"].values[t] == pytest.approx(model.missing_information(truth), abs=1e-4)


def test_unembodied_acts_in_any_state(results):
    """Somewhere it acts in another state than the one it was led to; an embodied one never does."""
    history = results.history("maze/000", "Unembodied")
    assert np.any(history[1:, 0] != history[:-1, 2])


def test_own_measures_are_read_like_the_others(results):
    last = results.of("maze")["last"]
    assert last.dims == ("world", "strategy")
    np.testing.assert_allclose(last, results.of("maze")["missing_information"].isel(time=-1), rtol=1e-6)


def test_results_that_are_half_done_can_be_read(half_done):
    assert not half_done.is_complete
    assert repr(half_done) == "Results(results.zarr: maze, dense; 3 of 24 explorations)"
    area = half_done.dataset["area"]
    world, column = np.nonzero(np.isfinite(area.to_numpy()))
    assert len(world) == 3 and len(set(column)) == 1  # one piece, whichever was ready first
    where, done = str(area.world.values[world[0]]), half_done.strategies[column[0]]
    other = next(one for one in half_done.strategies if one != done)
    mean = half_done.curves(where.split("/")[0])["mean"]
    assert np.all(np.isfinite(mean.sel(strategy=done))) and np.all(np.isnan(mean.sel(strategy=other)))
    assert half_done.history(where, done).shape[1] == 3
    with raises(ValueError, other, "not explored", where, "run the study again"):
        half_done.history(where, other)


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda results: results.of("mase"), ("no class 'mase'", "results.zarr")),
        (
            lambda results: results.history("maze/999", "Random"),
            ("no world 'maze/999'", "nearest", "'maze/"),
        ),
        (lambda results: results.history("maze/000", "PIG"), ("no strategy 'PIG'", "nearest", "'PIG(")),
    ],
)
def test_missing_items_are_named(results, ask, names):
    with raises(ValueError, *names):
        ask(results)


def test_no_results_at_all(tmp_path):
    with raises(StoreError, "no results", str(tmp_path / "nothing")):
        berlyne.open_results(tmp_path / "nothing")


def test_nothing_explored_is_not_drawn(tmp_path):
    study(n_worlds=1).run(tmp_path / "r.zarr", shard="9/9")
    code, output, errors = command("plot", tmp_path / "r.zarr", "-o", tmp_path / "c.png")
    assert code == 1 and output == "" and not (tmp_path / "c.png").exists()
    assert errors.endswith(
        "r.zarr contains no data to plot for this choice; run the study first, or plot another measure\n"
    )
