"""Measures by name and custom measures of any shape, with labelled axes."""

import numpy as np
import pytest

from berlyne import Experiment, dense_world, explore, maze, open_results
from berlyne.experiments.measures import OPTIONAL_MEASURES, Measure, rows_tried, states_visited, visits
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.work_unit import world_at
from messages import raises
from unit.experiments.studies import STEPS, assert_same_store, command, files, study


def transitions(run):
    """Counts of transitions, (M, N, N)."""
    return run.counts.dense()


def moves(run):
    """Whether each step changed the state, (n_steps,)."""
    return run.states[1:] != run.states[:-1]


def known(run):
    """Transitions counted at each snapshot."""
    return [counts.n.sum() for counts in run.snapshots.values()]


def quartiles(run):
    return np.quantile(run.missing_information, [0.25, 0.5, 0.75])


OWN = {
    "transitions": (("a", "s", "s_next"), transitions),
    "moves": ("step", moves),
    "quartiles": Measure("any", quartiles, "bits", "of the curve", dims=("quartile",)),
    "by_time": (["time"], lambda run: run.l1_distance * 2),
    "scalar": ((), lambda run: run.area),
    "plain": lambda run: run.area,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return study(measures=OWN).run(tmp_path_factory.mktemp("measures") / "r.zarr")


def test_axes_have_their_labels_and_room_for_the_largest(results):
    n, m, n_times = 8, 3, 31
    sizes = {name: dict(results.dataset[name].sizes) for name in OWN}
    both = {"world": n, "strategy": m}
    assert sizes["transitions"] == both | {"a": 4, "s": 9, "s_next": 9}
    assert sizes["moves"] == both | {"step": n_times - 1} and sizes["quartiles"] == both | {"quartile": 3}
    assert sizes["by_time"] == both | {"time": n_times} and sizes["scalar"] == sizes["plain"] == both
    assert results.dataset["quartiles"].attrs == {"units": "bits", "long_name": "of the curve"}
    assert results.dataset["transitions"].attrs == {"long_name": "a user-defined measure"}


@pytest.mark.parametrize("world", ["maze/001", "dense/003"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "Unembodied"])
def test_values_are_those_of_the_run_and_nothing_behind_them(results, world, strategy):
    stored = results.dataset.sel(world=world, strategy=strategy)
    name, index = world.split("/")
    asked = study()
    position = 2 * int(index) + asked.classes.index(next(c for c in asked.classes if c.name == name))
    run = explore(
        world_at(asked, name, int(index)), strategy, n_steps=STEPS[name], seed=asked.stream_at(position, strategy)
    )
    for label, expected in {
        "transitions": transitions(run),
        "moves": moves(run),
        "quartiles": quartiles(run),
        "by_time": run.l1_distance * 2,
        "scalar": run.area,
    }.items():
        values = stored[label].values
        inside = tuple(slice(n) for n in np.shape(expected))
        assert np.array_equal(values[inside], expected), label
        occupied = np.zeros(values.shape, dtype=bool)
        occupied[inside] = True
        assert np.all(np.isnan(values[~occupied])), label


def test_a_value_for_each_snapshot(tmp_path):
    results = study(measures={"known": ("snapshot", known)}).run(tmp_path / "r.zarr")
    assert results.dataset["known"].dims == ("world", "strategy", "snapshot")
    assert results.dataset["snapshot"].values.tolist() == [0.5, 0, 7, 1]
    assert np.array_equal(results.of("maze")["known"], np.broadcast_to([15, 0, 7, 30], (4, 3, 4)))
    twice = study(measures={"known": ("snapshot", known)}, snapshots=(20, 1.0, 0.5)).run(tmp_path / "twice.zarr")
    assert np.array_equal(twice.of("dense")["known"], np.broadcast_to([20, 20, 10], (4, 3, 3)))


def test_stores_with_shapes_are_resumed_and_grown(tmp_path):
    study(measures=OWN, n_worlds=2).run(tmp_path / "grown.zarr")
    study(measures=OWN).run(tmp_path / "grown.zarr")
    study(measures=OWN).run(tmp_path / "once.zarr")
    assert_same_store(tmp_path / "grown.zarr", tmp_path / "once.zarr")
    before = files(tmp_path)
    other = {**OWN, "moves": (("strategy_step",), moves)}
    with raises(
        SettingsError,
        "once.zarr",
        "measures.moves.dims",
        '["step"]',
        "you asked for",
        "measures.moves.dims",
        "strategy_step",
    ):
        study(measures=other).run(tmp_path / "once.zarr")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (("a", transitions), ("(4, 9, 9)", "axis", "(a)")),
        (
            (("s", "a"), lambda run: np.zeros((run.world.n_actions, run.world.n_states))),
            ("(4, 9)", "(s, a)", "size of s", "9"),
        ),
        (("time", moves), ("(30,)", "(time)", "size of time", "31")),
        (
            ("step", lambda run: run.states),
            ("(31,)", "(step)", "size of step", "30"),
        ),
        (
            ("seen", lambda run: np.unique(run.states[: 1 + 5 * (run.strategy.name == "Unembodied")])),
            ("(seen)", "room for (1,)", "the first worlds", "largest shape"),
        ),
        (("none", lambda run: []), ("(0,)", "1 to 134217728")),
    ],
)
def test_wrong_shapes_are_named(tmp_path, measure, names):
    with raises(ValueError, "measures.mine", *names):
        study(measures={"mine": measure}).run(tmp_path / "r.zarr", jobs=1)


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (
            {"x": (("a", "a"), len)},
            "measures.x: has dims ('a', 'a'); they must be different labels, such as time, step",
        ),
        ({"x": (("world",), len)}, "measures.x: has dims ('world',); they must be different labels"),
        ({"x": (("a b",), len)}, "measures.x: has dims ('a b',); they must be"),
        ({"x": (3, len)}, "measures.x: has dims 3; they must be different labels"),
        ({"x": ("x", len)}, "measures.x is also the name of a dimension; rename one of them"),
        ({"x": ("y", len), "y": len}, "measures.y is also the name of a dimension"),
        ({"x": ("a", 3)}, "measures.x: the name must be a new identifier, and the value a function of a run"),
        (["visit"], "measures[0]: unknown measure 'visit'; did you mean visits?"),
        (
            ["l1_distance", 4],
            "measures[1]: unknown measure 4; the measures are missing_information, l1_distance, states_v",
        ),
        (["visits", "visits"], "measures contains a name twice; list each measure once"),
        ([Measure("area", len)], "measures.area: the name must be a new identifier"),
    ],
)
def test_invalid_measures_are_refused(measures, message):
    with pytest.raises(SettingsError) as caught:
        study(measures=measures)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
    with raises(SettingsError, "measures.k", "snapshots", "none", "set snapshots="):
        study(measures={"k": ("snapshot", known)}, snapshots=())


def test_a_list_names_all_stored_measures(tmp_path):
    results = study(measures=["visits", "l1_distance", Measure("mine", moves, dims=("step",))]).run(tmp_path / "r.zarr")
    assert {"visits", "l1_distance", "mine"} <= set(results.dataset) and "missing_information" not in results.dataset
    usual = study().run(tmp_path / "usual.zarr")
    assert np.array_equal(results.dataset["area"], usual.dataset["area"])
    assert np.array_equal(results.dataset["l1_distance"], usual.dataset["l1_distance"], equal_nan=True)
    with raises(SettingsError, "usual.zarr", "made with the measure missing_information", "did not ask"):
        study(measures="l1_distance").run(tmp_path / "usual.zarr")
    none = study(measures=[]).run(tmp_path / "none.zarr")
    assert none.is_complete and set(none.dataset) == {"state", "action", "next_state", "counts", "area"}
    with raises(ValueError, "no measure 'missing_information'", "none.zarr", "there are none"):
        none.curves("maze")


@pytest.mark.parametrize("world", [maze(0, side=3, n_transporters=4), dense_world(1, n_states=4)])
@pytest.mark.parametrize("strategy", ["Random", "Unembodied"])
def test_measures_on_request_by_hand(world, strategy):
    run = explore(world, strategy, n_steps=40, seed=1)
    s, a = run.states.tolist(), run.actions.tolist()
    assert states_visited(run).tolist() == [len(set(s[: t + 1])) for t in range(41)]
    rows = list(zip(a, s, strict=False))
    assert rows_tried(run).tolist() == [len(set(rows[:t])) for t in range(41)]
    taken = visits(run)
    assert taken.shape == (world.n_actions, world.n_states) and taken.sum() == 40
    assert all(taken[i, j] == rows.count((i, j)) for i, j in np.ndindex(taken.shape))


def test_toml_names_measures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'worlds = {maze = {side = 3, n_transporters = 4}}\nstrategies = ["Random"]\nn_worlds = 2\nn_steps = 9\n'
    (tmp_path / "s.toml").write_text(f"{text}measures = ['missing_information', 'visits']")
    assert command("run", "s.toml", "r.zarr")[0] == 0
    results = open_results("r.zarr")
    assert results.dataset["visits"].dims == ("world", "strategy", "a", "s")
    assert np.all(results.dataset["visits"].sum(["a", "s"]) == 9)
    assert results.dataset["visits"].attrs["long_name"] == OPTIONAL_MEASURES["visits"].meaning
    (tmp_path / "s.toml").write_text(f"{text}measures = ['missing']")
    code, _, errors = command("run", "s.toml", "x.zarr")
    assert (code, errors) == (1, "berlyne: measures[0]: unknown measure 'missing'; the measures are " +
        "missing_information, l1_distance, states_visited, rows_tried, expected_missing_information, visits; " +
        "see docs/how-to/own-measure.md\n")  # fmt: skip
    python = Experiment({"maze": {"side": 3, "n_transporters": 4}}, "Random", 2, 9, measures=["missing_information"])
    assert python.standard_measures == ("missing_information",) and python.custom_measures == {}


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (lambda run: run.nothing, ("AttributeError", "'nothing'")),
        (lambda run: "many", ("'many'", "must return numbers")),
        (("times", lambda run: ["a", "b"]), ("['a', 'b']", "must return numbers")),
    ],
)
def test_a_measure_that_fails_names_itself(tmp_path, measure, names):
    with raises(ValueError, "measures.x", *names):
        study(measures={"x": measure}).run(tmp_path / "r.zarr")
