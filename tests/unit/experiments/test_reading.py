"""Worlds, runs, frames and plots from a store; missing values are NaN."""

import numpy as np
import pytest

import berlyne
from berlyne import Experiment, Strategy, explore, maze, open_results
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.work_unit import world_at
from berlyne.experiments.worlds import fingerprint
from messages import raises
from unit.experiments.studies import count_explorations, study


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("rebuilt") / "r.zarr"
    study(n_runs=2, measures={"last": lambda run: run.missing_information[-1]}).run(place)
    return place


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """Half of the runs, as a shard has them."""
    place = tmp_path_factory.mktemp("half") / "half.zarr"
    study().run(place, shard="1/2")
    return open_results(place)


def test_worlds_are_drawn_again(place):
    results, asked = open_results(place), study(n_runs=2)
    for name in ("maze", "dense"):
        for i in range(4):
            expected = fingerprint(world_at(asked, name, i))
            assert fingerprint(results.world(f"{name}/{i:03d}")) == expected
            assert fingerprint(results.world(f"{name}/{i:03d}/run-001")) == expected
    for label in ("maze/009", "mice/000", "maze/000/run-002", "maze"):
        with raises(ValueError, f"no world '{label}"):
            results.world(label)


@pytest.mark.parametrize("strategy", ["Random", "PIG(VI)", "Unembodied"])
@pytest.mark.parametrize(("label", "position"), [("maze/001/run-000", 2), ("dense/003/run-001", 15)])
def test_runs_are_put_together_and_not_run(place, monkeypatch, strategy, label, position):
    asked = study(n_runs=2)
    kind, index = asked.position(position)
    assert asked.id_at(position) == label
    world = world_at(asked, kind.name, index)
    steps = sorted({0, 7, kind.n_steps // 2, kind.n_steps})
    expected = explore(world, strategy, n_steps=kind.n_steps, seed=asked.stream_at(position, strategy), snapshots=steps)
    made = count_explorations(monkeypatch)
    run = open_results(place).run(label, strategy)
    assert made == [] and run.strategy == expected.strategy
    for array in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(run, array), getattr(expected, array))
        assert getattr(run, array).dtype == getattr(expected, array).dtype
    for curve in ("missing_information", "l1_distance"):
        assert np.array_equal(getattr(run, curve), getattr(expected, curve).astype(np.float32).astype(float))
    assert list(run.snapshots) == list(expected.snapshots)
    for t in steps:
        assert np.array_equal(run.snapshots[t].dense(), expected.snapshots[t].dense())
    assert run.model.missing_information(world) == pytest.approx(expected.missing_information[-1])


def test_a_curve_that_is_not_stored_is_computed_from_the_path(tmp_path):
    results = study(measures=["l1_distance"]).run(tmp_path / "r.zarr")
    run = results.run("maze/000", "Random")
    expected = [run.model_at(t).missing_information(run.world) for t in range(run.n_steps + 1)]
    np.testing.assert_allclose(run.missing_information, expected, rtol=1e-12)
    distances = [run.model_at(t).l1_distance(run.world) for t in range(run.n_steps + 1)]
    np.testing.assert_allclose(run.l1_distance, distances, rtol=1e-6)  # stored in single precision


def made(seed):
    return maze(seed, side=2, n_transporters=1)


def test_custom_worlds_and_strategies_come_from_the_experiment(tmp_path):
    asked = Experiment(
        {"mine": [maze(i, side=3, n_transporters=2) for i in range(2)], "made": made},
        ["Random", Strategy("always 0", lambda view, s, u: 0), "PMC(Q)"],
        n_steps=9,
    )  # fmt: skip
    ran = asked.run(tmp_path / "r.zarr")
    assert ran.world("mine/001") is asked.classes[0].worlds[1] and ran.run("made/000", "always 0").actions.sum() == 0
    alone = open_results(tmp_path / "r.zarr")
    for label in ("mine/001", "made/000"):
        assert fingerprint(alone.world(label)) == fingerprint(ran.world(label))  # they are kept
    known = open_results(tmp_path / "r.zarr", asked)
    assert fingerprint(known.world("made/001")) == fingerprint(ran.world("made/001"))
    assert known.run("mine/000", "PMC(Q)").strategy == berlyne.strategy("PMC(Q)")
    other = Experiment({"mine": [maze(7, side=3, n_transporters=2)] * 2, "made": maze}, ["Random"], n_steps=9)
    with raises(SettingsError, "r.zarr", "was made with worlds.mine"):
        open_results(tmp_path / "r.zarr", other)


def test_a_custom_strategy_needs_the_experiment(tmp_path):
    own = Strategy("PIG(VI)", lambda view, s, u: 0)
    study(strategies=["Random", own]).run(tmp_path / "r.zarr")
    alone = open_results(tmp_path / "r.zarr")
    assert alone.run("maze/000", "Random").n_steps == 30
    with raises(ValueError, "strategy 'PIG(VI)'", "r.zarr", "not stored", "open_results(path, experiment)"):
        alone.run("maze/000", "PIG(VI)")
    renamed = alone.renamed({"Random": "PIG(VI+)"})
    assert renamed.run("maze/000", "PIG(VI+)").strategy.name == "Random"


def test_nothing_is_nan_and_not_255(place, half):
    whole = open_results(place).dataset
    for name in ("state", "action", "next_state"):
        values = whole[name].values
        assert np.issubdtype(values.dtype, np.floating) and np.nanmax(values) < 9
        assert "255" not in str(whole[name].attrs)
    assert np.array_equal(
        np.isnan(whole["action"].sel(world="dense/000/run-000").values), np.tile(np.arange(31) >= 20, (3, 1))
    )
    explored = half.dataset["area"].notnull().values
    assert explored.any() and not explored.all()
    for name in ("missing_information", "state", "action", "counts"):
        values = half.dataset[name].values
        assert np.isnan(values[~explored]).all() and not np.isnan(values[explored]).all(axis=-1).any(), name
    assert np.issubdtype(whole["counts"].dtype, np.integer)


@pytest.mark.parametrize(
    "key", [(), (3,), (slice(1, 5), 0), (slice(None), slice(None), 1), ([4, 0], [2, 1], -1, slice(3, 9))]
)
def test_counts_are_masked_wherever_they_are_cut(half, key):
    dims = ("world", "strategy", "snapshot", "transition")
    cut = dict(zip(dims, key, strict=False))
    whole = half.dataset["counts"].load().copy()
    lazy = open_results(half.path).dataset["counts"].isel(cut)
    np.testing.assert_array_equal(lazy.values, whole.isel(cut).values)
    explored = half.dataset["area"].notnull()
    np.testing.assert_array_equal(whole.isel(snapshot=3).sum("transition", skipna=False).notnull(), explored)
    assert set(whole.isel(snapshot=3).sum("transition").values[explored.values]) == {20, 30}


def test_frames_have_a_line_for_each_time(place):
    results = open_results(place)
    frame = results.to_frame()
    assert list(frame.columns) == [
        "world_class", "world", "run", "strategy", "time",
        "missing_information", "l1_distance", "state", "action", "next_state",
    ]  # fmt: skip
    assert len(frame) == 4 * 2 * 3 * (31 + 21) and frame["action"].isna().sum() == 4 * 2 * 3 * 2
    one = frame[(frame["world"] == "dense/002/run-001") & (frame["strategy"] == "Unembodied")]
    stored = results.dataset.sel(world="dense/002/run-001", strategy="Unembodied", time=slice(0, 20))
    assert np.array_equal(one["missing_information"], stored["missing_information"])
    assert one["time"].tolist() == list(range(21)) and set(one["run"]) == {1}
    for name in ("PIG(VI)", "Unembodied"):
        rows = frame[(frame["world"] == "dense/002/run-001") & (frame["strategy"] == name)].iloc[:20]
        path = rows[["state", "action", "next_state"]].to_numpy(dtype=np.int64)
        assert np.array_equal(path, results.history("dense/002/run-001", name))
    assert str(frame["action"].dtype) == "Int64"
    assert set(results.to_frame(world_class="maze")["world_class"]) == {"maze"}


def test_frames_of_other_shapes(place, half):
    areas = open_results(place).to_frame(["area", "last"])
    assert list(areas.columns) == ["world_class", "world", "run", "strategy", "area", "last"] and len(areas) == 48
    stored = open_results(place).dataset
    for _, line in areas.iterrows():
        assert line["area"] == stored["area"].sel(world=line["world"], strategy=line["strategy"]).item()
    assert len(half.to_frame("area")) == 12 and "run" not in half.to_frame("area")
    counts = half.to_frame("counts", "dense")
    assert list(counts.columns) == ["world_class", "world", "strategy", "snapshot", "transition", "counts"]
    for ask, names in (
        (
            ["area", "state"],
            ("area has", "world, strategy", "state has", "world, strategy, time", "to_frame once for each"),
        ),
        ("areas", ("unknown measure 'areas'", "the measures are")),
        ([], ("measures is empty", "at least one array")),
    ):
        with raises(ValueError, *names):
            half.to_frame(ask)


def test_a_picture_has_the_means_and_bands_of_the_curves(place):
    import matplotlib.pyplot as plt

    results = open_results(place)
    axes = results.plot()
    assert [ax.get_title() for ax in axes] == ["Mazes", "Dense Worlds"]
    for ax, name in zip(axes, results.classes, strict=True):
        curves = results.curves(name)
        for line, band, strategy in zip(ax.lines, ax.collections, results.strategies, strict=True):
            mean, sem = curves["mean"].sel(strategy=strategy).values, curves["sem"].sel(strategy=strategy).values
            assert line.get_label() == strategy and np.array_equal(line.get_ydata(), mean)
            edges = band.get_paths()[0].vertices[:, 1]
            assert edges.min() == pytest.approx((mean - sem).min()) and edges.max() == pytest.approx((mean + sem).max())
    assert axes[0].get_ylabel() == "missing information (bits)" and axes[1].get_xlim() == (0, 20)
    mine = plt.subplots()[1]
    same = results.plot("l1_distance", world_class="dense", strategies=["PIG(VI)"], ax=mine)
    assert (
        same is mine and len(mine.lines) == 1 and mine.get_ylabel() == "l1 distance" and mine.get_legend() is not None
    )
    with raises(ValueError, "ax holds 1", "2 classes", "one for each", "world_class"):
        results.plot(ax=mine)
    with raises(ValueError, "no strategy 'Randon'", "nearest", "'Random'"):
        results.plot(strategies=["Randon"])
    plt.close("all")


def test_strategies_of_a_sweep_have_different_styles():
    from berlyne.appearance import distinct_looks

    names = ["Random", "PIG(VI)", "PIG(VI, gamma=0.5)", "PIG(VI, gamma=0.9)", "mine", "yours"]
    looks = distinct_looks(names)
    assert len({(one.colour, one.marker, one.line) for one in looks.values()}) == len(names)
    assert looks["Random"].colour == "#d7191c"


def test_a_plot_of_an_unfinished_study_shows_the_finished_explorations(tmp_path):
    study(strategies=["Random"]).run(tmp_path / "r.zarr")
    study(strategies=["Random", "PIG(VI)"], n_worlds=1).run(tmp_path / "r.zarr")
    results = open_results(tmp_path / "r.zarr")
    axes = results.plot()
    assert [line.get_label() for line in axes[0].lines] == ["Random", "PIG(VI)"] and len(axes[0].collections) == 1
