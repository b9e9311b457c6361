"""Custom worlds, several runs in each world, and common random numbers."""

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, Experiment, World, dense_world, explore, maze, open_results
from berlyne.experiments.settings import Settings
from berlyne.experiments.spec import SettingsError, stream
from berlyne.experiments.worlds import fingerprint
from messages import raises
from unit.experiments.studies import assert_same_store, count_explorations, files, study

TASK = maze(3, side=3, n_transporters=4)


def test_run_i_is_an_exploration_with_the_stream_of_its_id(tmp_path):
    """By hand: the first run has the stream that a single one has, the others have their number in the id."""
    results = Experiment(worlds={"task": TASK}, strategies=["Random", "PIG(VI)"], n_runs=3, n_steps=25, seed=9).run(
        tmp_path / "r.zarr"
    )
    assert list(results.dataset["world"].values) == ["task/000/run-000", "task/000/run-001", "task/000/run-002"]
    assert results.dataset["run"].dims == ("world",) and results.dataset["run"].values.tolist() == [0, 1, 2]
    ids = {0: "task/000", 1: "task/000/run-001", 2: "task/000/run-002"}
    for name in ("Random", "PIG(VI)"):
        for i, id_ in ids.items():
            run = explore(TASK, name, n_steps=25, seed=stream(9, f"{id_}/{name}"))
            stored = results.dataset.sel(world=f"task/000/run-{i:03d}", strategy=name)
            assert np.array_equal(stored["state"].values, run.states)
            assert np.array_equal(stored["missing_information"].values, run.missing_information.astype(np.float32))


def test_without_runs_ids_have_no_run_number():
    """The identity of the study, which manifests contain, changes with fixed settings only."""
    description = study().describe()
    assert list(description) == ["worlds", "strategies", "n_worlds", "seed", "snapshots", "measures"]
    identity = Settings.from_json(description).study
    grown = {**description, "n_runs": 3, "n_worlds": 9, "strategies": ["CB"], "own strategies": {"CB": "mine"}}
    assert Settings.from_json(grown).study == identity
    for change in ({"common_random_numbers": True}, {"seed": 9}, {"snapshots": []}, {"measures": ["mine"]}):
        assert Settings.from_json({**description, **change}).study != identity
    asked = study()
    for position, id_ in enumerate(["maze/000", "dense/000", "maze/001"]):
        expected = stream(1, f"{id_}/Random").generate_state(4)
        assert asked.id_at(position) == id_ and asked.run_at(position) == 0
        assert np.array_equal(asked.stream_at(position, "Random").generate_state(4), expected)


def test_several_worlds_have_several_runs_each(tmp_path):
    results = study(n_worlds=2, n_runs=3).run(tmp_path / "r.zarr")
    expected = [f"{c}/{i:03d}/run-{run:03d}" for c in ("maze", "dense") for i in range(2) for run in range(3)]
    assert list(results.dataset["world"].values) == expected
    assert results.of("dense")["run"].values.tolist() == [0, 1, 2, 0, 1, 2]
    assert results.is_complete and repr(results) == "Results(r.zarr: maze, dense; 36 of 36 explorations)"
    assert "2 worlds, 3 runs of 30 steps" in repr(study(n_worlds=2, n_runs=3))
    once = study(n_worlds=2).run(tmp_path / "once.zarr")
    for world in once.dataset["world"].values:
        first = results.dataset.sel(world=f"{world}/run-000")
        assert np.array_equal(first["area"], once.dataset.sel(world=world)["area"])


def test_the_runs_in_a_world_meet_the_same_world(tmp_path):
    results = study(n_worlds=2, n_runs=2).run(tmp_path / "r.zarr")
    worlds = [fingerprint(results.world(str(label))) for label in results.of("maze")["world"].values]
    assert worlds[0] == worlds[1] != worlds[2] == worlds[3]
    assert fingerprint(results.world("maze/001")) == worlds[2]
    starts = results.of("maze")["missing_information"].values[:, 0, 0]
    assert starts[0] == starts[1] != starts[2] == starts[3]
    paths = results.of("maze")["state"].values[:, 0]
    assert not np.array_equal(paths[0], paths[1])


def test_curves_and_figures_count_each_world_once(tmp_path):
    """By hand: the mean of the runs in each world, then mean and standard error over worlds."""
    results = study(n_worlds=3, n_runs=5).run(tmp_path / "r.zarr")
    stored = results.of("maze")["missing_information"].sel(strategy="Random").values.astype(float)
    of_worlds = stored.reshape(3, 5, -1).mean(axis=1)
    mean, error = of_worlds.mean(axis=0), of_worlds.std(axis=0, ddof=1) / np.sqrt(3)
    curve = results.curves("maze").sel(strategy="Random")
    np.testing.assert_allclose(curve["mean"], mean)
    np.testing.assert_allclose(curve["sem"], error)
    drawn = berlyne.figures.draw_curves(results, ["Random", "PIG(VI)"], minus="PIG(VI)")
    lines = [line for line in drawn.lines if line[:2] == ("maze", "Random")]
    np.testing.assert_allclose([line[3:5] for line in lines], np.stack([mean, error], axis=1))
    other = results.of("maze")["missing_information"].sel(strategy="PIG(VI)").values.astype(float)
    apart = (stored - other).reshape(3, 5, -1).mean(axis=1)
    wanted = np.stack([apart.mean(axis=0), apart.std(axis=0, ddof=1) / np.sqrt(3)], axis=1)
    np.testing.assert_allclose([line[5:7] for line in lines], wanted, atol=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_runs_are_added_to_existing_ones(tmp_path, monkeypatch):
    study(n_worlds=2).run(tmp_path / "grown.zarr")
    made = count_explorations(monkeypatch)
    study(n_worlds=2, n_runs=3).run(tmp_path / "grown.zarr")
    assert len(made) == 2 * 2 * 2 * 3  # classes, worlds, new runs, strategies
    study(n_worlds=2, n_runs=4, strategies=["PEIG(VI)"]).run(tmp_path / "grown.zarr")
    study(n_worlds=2, n_runs=4).run(tmp_path / "grown.zarr")
    at_once = study(n_worlds=2, n_runs=4, strategies=["Random", "PIG(VI)", "Unembodied", "PEIG(VI)"])
    at_once.run(tmp_path / "once.zarr")
    mine, theirs = files(tmp_path / "grown.zarr"), files(tmp_path / "once.zarr")
    assert {k: v for k, v in mine.items() if k != "zarr.json"} == {k: v for k, v in theirs.items() if k != "zarr.json"}
    assert open_results(tmp_path / "grown.zarr").dataset.identical(open_results(tmp_path / "once.zarr").dataset)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        (
            {"n_worlds": 2, "n_runs": 2},
            ("n_runs = 3", "you asked for n_runs = 2", "cannot decrease", "see docs"),
        ),
        ({"n_worlds": 3, "n_runs": 3}, ("made with n_worlds = 2", "you asked for n_worlds = 3")),
        (
            {"n_worlds": 2, "n_runs": 3, "common_random_numbers": True},
            ("made with common_random_numbers = false", "you asked for common_random_numbers = true"),
        ),
    ],
)
def test_other_runs_are_refused(tmp_path, changes, names):
    study(n_worlds=2, n_runs=3).run(tmp_path / "r.zarr")
    before = files(tmp_path)
    with raises(SettingsError, "r.zarr", *names):
        study(**changes).run(tmp_path / "r.zarr")
    assert files(tmp_path) == before


def test_errors_are_over_worlds_which_count_once(tmp_path):
    """Runs in one world are not independent worlds: by hand, the means of worlds and their standard error."""
    results = study(n_worlds=4, n_runs=3).run(tmp_path / "r.zarr")
    values = results.of("maze")["missing_information"].values.astype(float).reshape(4, 3, 3, 31)
    by_world = values.mean(axis=1)
    curves = results.curves("maze")
    np.testing.assert_allclose(curves["mean"].transpose("strategy", "time"), by_world.mean(axis=0), rtol=1e-12)
    sem = by_world.std(axis=0, ddof=1) / 2
    np.testing.assert_allclose(curves["sem"].transpose("strategy", "time"), sem, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(results.ends("maze")["sem"], sem[:, -1], rtol=1e-9)


def test_errors_in_one_world_are_over_its_runs(tmp_path):
    results = Experiment(worlds=TASK, strategies="Random", n_runs=5, n_steps=9).run(tmp_path / "r.zarr")
    values = results.of("Maze")["missing_information"].values[:, 0].astype(float)
    np.testing.assert_allclose(results.curves("Maze")["sem"][0], values.std(axis=0, ddof=1) / np.sqrt(5), rtol=1e-9)


@pytest.mark.parametrize("strategies", [["Random", "PIG(VI)"], ["PIG(VI)", "PIG(VI, gamma=0.9)"]])
def test_common_random_numbers_are_the_same_stream_for_all(tmp_path, strategies):
    paired = Experiment(
        worlds=TASK, strategies=strategies, n_runs=2, n_steps=20, seed=4, common_random_numbers=True
    ).run(tmp_path / "r.zarr")
    for i, id_ in enumerate(["Maze/000/*", "Maze/000/run-001/*"]):
        for name in strategies:
            run = explore(TASK, name, n_steps=20, seed=stream(4, id_))
            stored = paired.dataset.sel(world=f"Maze/000/run-{i:03d}", strategy=name)
            assert np.array_equal(stored["state"].values, run.states)
    starts = paired.dataset["state"].values[:, :, 0]
    assert np.all(starts[:, 0] == starts[:, 1])


def test_a_strategy_and_its_twin_differ_by_nothing_under_common_random_numbers(tmp_path):
    twin = berlyne.Strategy("twin", berlyne.strategy("PIG(VI)").coordinate, "PIG")
    asked = {"worlds": TASK, "strategies": ["PIG(VI)", twin], "n_runs": 4, "n_steps": 30}
    paired = Experiment(**asked, common_random_numbers=True).run(tmp_path / "r.zarr")
    areas = paired.areas("Maze").values
    assert np.array_equal(areas[:, 0], areas[:, 1]) and len(set(areas[:, 0])) == 4
    apart = Experiment(**asked).run(tmp_path / "apart.zarr").areas("Maze").values
    assert not np.any(apart[:, 0] == apart[:, 1])


def corridor(seed):
    return maze(seed, side=2, n_transporters=0)


THETA = np.array([[[0.5, 0.5], [1.0, 0.0]]])
NAMED = World(THETA, Dirichlet(1.0, n_states=2, n_actions=1), name="two rooms")


@pytest.mark.parametrize(
    ("worlds", "name", "n_worlds"),
    [
        (NAMED, "two rooms", 1),
        (World(THETA, NAMED.prior, name="a/b"), "world", 1),
        ({"task": NAMED}, "task", 1),
        ({"task": [NAMED, TASK]}, "task", 2),
        ([NAMED, TASK, TASK], "world", 3),
        ([TASK, TASK], "Maze", 2),
        (corridor, "corridor", 200),
        (lambda seed: corridor(seed), "world", 200),
        ({"task": corridor}, "task", 200),
        ({"task": corridor, "two": [NAMED, TASK], "three": [TASK] * 3}, "task", 2),
    ],
)
def test_custom_worlds_in_any_form(worlds, name, n_worlds):
    asked = Experiment(worlds, "Random", n_steps=5)
    assert asked.classes[0].name == name and asked.n_worlds == n_worlds and asked.n_positions % n_worlds == 0


def test_a_world_alone_is_the_world_in_a_list(tmp_path):
    one = {"strategies": "Random", "n_steps": 9}
    Experiment({"task": TASK}, **one).run(tmp_path / "a.zarr")
    Experiment({"task": [TASK]}, **one).run(tmp_path / "b.zarr")
    assert_same_store(tmp_path / "a.zarr", tmp_path / "b.zarr")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_runs": 0}, "n_runs is 0; it must be a whole number of at least 1"),
        ({"n_runs": True}, "n_runs is True; it must be a whole number of at least 1"),
        ({"n_runs": 10**6}, "n_runs is 1000000; n_worlds times n_runs must be at most 1000000"),
        ({"n_runs": 10**7}, "n_runs is 10000000; it must be at most 1000000"),
        ({"common_random_numbers": 1}, "common_random_numbers is 1; it must be true or false"),
        (
            {"n_runs": 2, "measures": {"run": len}},
            "measures.run: this name is reserved for the number of the run; use another",
        ),
        ({"worlds": {"t": TASK}, "n_steps": 5}, "n_worlds is 4; worlds.t has only 1; use n_runs = 4 to explore it 4"),
        (
            {"worlds": World(THETA), "n_steps": 5},
            "worlds.world: the world has no prior, and explorers need one",
        ),
        ({"worlds": [TASK, "maze"], "n_steps": 5}, "worlds[0] is World('Maze'"),
    ],
)
def test_invalid_settings_are_refused_by_key(settings, message):
    with pytest.raises(SettingsError) as caught:
        study(**settings)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_toml_sets_n_runs(tmp_path):
    (tmp_path / "s.toml").write_text("worlds = ['dense']\nn_worlds = 2\nn_runs = 3\ncommon_random_numbers = true")
    asked = Experiment.from_toml(tmp_path / "s.toml")
    assert (asked.n_runs, asked.common_random_numbers) == (3, True)
    assert asked.describe() == Experiment("dense", n_worlds=2, n_runs=3, common_random_numbers=True).describe()


def test_worlds_of_functions_are_those_of_the_stream(tmp_path):
    results = Experiment(dense_world, "Random", n_worlds=2, n_steps=5, seed=3).run(tmp_path / "r.zarr")
    assert fingerprint(results.world("dense_world/001")) == fingerprint(dense_world(stream(3, "dense_world/001")))
