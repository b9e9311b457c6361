"""Description of a study: errors name the key, and valid settings are stored."""

import functools

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, Experiment, Strategy, World, maze
from berlyne.experiments.spec import SettingsError, snapshot_steps, stream
from berlyne.experiments.worlds import fingerprint, function_name
from berlyne.strategies.coordination import Greedy, ValueIteration
from berlyne.strategies.registry import PAPER_STRATEGIES
from messages import raises
from unit.experiments.studies import study


def test_the_papers_experiment_is_the_default():
    default = Experiment()
    assert [(c.name, c.n_steps) for c in default.classes] == [("dense", 3000), ("maze", 2500), ("1-2-3", 1250)]
    assert default.strategy_names == list(PAPER_STRATEGIES)
    assert (default.n_worlds, default.seed, default.n_positions) == (200, 0, 600)


def test_repr_describes_the_study():
    assert repr(study()) == "Experiment(maze: 4 worlds of 30 steps, dense: 4 worlds of 20 steps; 3 strategies; seed 1)"
    assert repr(Experiment("maze", ["Random"], 1)) == "Experiment(maze: 1 world of 2,500 steps; 1 strategy; seed 0)"


def test_classes_take_turns():
    places = [study().position(i) for i in range(5)]
    assert [(c.name, i) for c, i in places] == [("maze", 0), ("dense", 0), ("maze", 1), ("dense", 1), ("maze", 2)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_worlds": 0}, "n_worlds is 0; it must be a whole number of at least 1"),
        ({"n_worlds": True}, "n_worlds is True; it must be a whole number of at least 1"),
        ({"n_worlds": 10**9}, "n_worlds is 1000000000; it must be at most 1000000"),
        ({"seed": -1}, "seed is -1; it must be a whole number of at least 0"),
        ({"seed": 0.5}, "seed is 0.5; it must be a whole number of at least 0"),
        ({"n_steps": 0}, "n_steps is 0; it must be a whole number of at least 1"),
        ({"n_steps": "many"}, "n_steps is 'many'; it must be a whole number of at least 1"),
        ({"n_steps": 10**12}, "n_steps is 1000000000000; it must be at most 100000000"),
        ({"n_steps": {"maze": -2}}, "n_steps.maze is -2; it must be a whole number of at least 1"),
        ({"n_steps": {"mazes": 5}}, "n_steps.mazes: unknown class; the classes in worlds are maze, dense"),
        ({"strategies": []}, "strategies must contain at least one strategy, and no name twice"),
        ({"strategies": ["Random", "Random"]}, "strategies must contain at least one strategy, and no name twice"),
        ({"strategies": 3}, "strategies is 3; it must be a list of names"),
        ({"strategies": {"Random": 1}}, "strategies is {'Random': 1}; it must be a list of names"),
        ({"strategies": ["Random", 7]}, "strategies[1] is 7; it must be a name such as 'PIG(VI)'"),
        ({"strategies": ["PIG(V)"]}, "strategies[0]: there is no strategy 'PIG(V)'; did you mean PIG(VI)"),
        ({"strategies": ["PIG(VI, gamma=2)"]}, "strategies[0]: gamma is 2"),
        ({"worlds": 5}, "worlds is 5; it must name at least one of dense, maze, 1-2-3"),
        ({"worlds": []}, "worlds is {}; it must name at least one of dense, maze, 1-2-3"),
        ({"worlds": ["maze", "maze"]}, "worlds: no class may be named twice"),
        ({"worlds": ["maze", 1]}, "worlds[1] is 1; it must be the name of a class of worlds"),
        ({"worlds": "mase", "n_steps": 5}, "worlds.mase: unknown class 'mase'; did you mean maze?"),
        ({"worlds": {"a/b": {}}, "n_steps": 5}, "worlds.a/b: a class name must be a non-empty string without /"),
        ({"worlds": {"": {}}, "n_steps": 5}, "worlds.: a class name must be a non-empty string without /"),
        ({"worlds": {3: {}}, "n_steps": 5}, "worlds.3: a class name must be a non-empty string without /"),
        (
            {"worlds": {"x": {"kind": []}}, "n_steps": 5},
            "worlds.x: unknown class []; the classes are dense, maze, 1-2-3",
        ),
        ({"worlds": {"maze": {"sides": 3}}, "n_steps": 5}, "worlds.maze.sides: unknown parameter; the parameters are"),
        ({"worlds": {"maze": {"side": 0}}, "n_steps": 5}, "worlds.maze: side is 0; it must be"),
        ({"worlds": {"maze": {"side": "3"}}, "n_steps": 5}, "worlds.maze: side is '3'; it must be"),
        ({"worlds": {"maze": {"alpha": []}}, "n_steps": 5}, "worlds.maze: alpha is []; it must be"),
        (
            {"worlds": {"mine": []}, "n_steps": 5},
            "worlds.mine: invalid value; use a dict of parameters, a World with a prior,",
        ),
        (
            {"worlds": {"mine": "maze"}, "n_steps": 5},
            "worlds.mine: Gymnasium cannot make 'maze': Environment `maze` do",
        ),
        ({"worlds": {"mine": lambda: maze(0)}, "n_steps": 5}, "worlds.mine: <lambda>() cannot be called with a seed"),
        ({"worlds": {"mine": [maze(0)]}, "n_steps": 5}, "n_worlds is 4; worlds.mine has only 1"),
        ({"snapshots": 3}, "snapshots is 3; it must be a list of steps (int) or shares (float up to 1.0)"),
        ({"snapshots": "0.5"}, "snapshots is '0.5'; it must be a list of steps (int) or shares (float up to 1.0)"),
        ({"snapshots": [1, 21]}, "snapshots[1] is 21; it must be a step from 0 to 20, or a share from 0.0 to 1.0"),
        ({"snapshots": [1.5]}, "snapshots[0] is 1.5; it must be a step from 0 to 20, or a share from 0.0 to 1.0"),
        ({"snapshots": [float("nan")]}, "snapshots[0] is nan; it must be a step from 0 to 20, or a share"),
        ({"snapshots": [True]}, "snapshots[0] is True; it must be a step from 0 to 20, or a share from 0.0 to 1.0"),
        ({"snapshots": [2, 2]}, "snapshots contains a time twice"),
        ({"snapshots": [1, 1.0]}, "snapshots contains a time twice"),
        ({"measures": 3}, "measures is 3; it must be a list of names, or a mapping from names to functions of a run"),
        (
            {"measures": {"area": len}},
            "measures.area: the name must be a new identifier, and the value a function of a run",
        ),
        (
            {"measures": {"time": len}},
            "measures.time: the name must be a new identifier, and the value a function of a run",
        ),
        (
            {"measures": {"a b": len}},
            "measures.a b: the name must be a new identifier, and the value a function of a run",
        ),
        (
            {"measures": {"mine": 3}},
            "measures.mine: the name must be a new identifier, and the value a function of a run",
        ),
    ],
)
def test_invalid_settings_are_refused_by_key(settings, message):
    with pytest.raises(SettingsError) as caught:
        study(**settings)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_worlds_too_large_for_the_memory_are_refused():
    with raises(SettingsError, "worlds.maze"):
        study(worlds={"maze": {"side": 10**7}}, n_steps=5)


def test_a_class_may_have_another_name():
    named = study(worlds={"small": {"kind": "maze", "side": 3, "n_transporters": 2}, "maze": {}}, n_steps=9)
    small, usual = named.classes
    assert small.make is usual.make is berlyne.maze
    assert small.world(0, 0).n_states == 9 and usual.world(0, 0).n_states == 36


def test_worlds_depend_on_seed_class_and_number_alone():
    """Two classes of the same kind and parameters are different worlds: their names are in their streams."""
    same = {"kind": "maze", "side": 3, "n_transporters": 4}
    one, two = study(worlds={"a": same, "b": same}, n_steps=9).classes
    first = fingerprint(one.world(1, 0))
    assert first == fingerprint(one.world(1, 0))
    assert len({first, *(fingerprint(w) for w in (two.world(1, 0), one.world(1, 1), one.world(2, 0)))}) == 4


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63 - 1])
def test_streams_are_those_of_the_seed_and_the_hash_of_the_id(seed):
    """As documented by NumPy. Names are part of the data format."""
    import hashlib

    words = np.frombuffer(hashlib.sha256(b"maze/017/PIG(VI)").digest(), dtype="<u4").tolist()
    expected = np.random.SeedSequence([seed, *words]).generate_state(8)
    assert np.array_equal(stream(seed, "maze/017/PIG(VI)").generate_state(8), expected)


def test_functions_that_give_no_world_are_refused():
    with raises(SettingsError, "worlds.mine", "returned 3", "a World with a prior"):
        study(worlds={"mine": lambda seed: 3}, n_steps=9).describe()
    with raises(SettingsError, "worlds.mine", "no prior"):
        study(worlds={"mine": lambda seed: World(maze(0).theta)}, n_steps=9).describe()


def test_times_of_snapshots_in_steps():
    assert snapshot_steps((0, 7, 0.5, 1.0), 21) == [0, 7, 10, 21]


def test_custom_worlds_are_identified_by_all_their_contents():
    theta = np.array([[[0.5, 0.5], [1.0, 0.0]]])
    everywhere, even = np.ones((1, 2, 2), dtype=bool), Dirichlet(1.0, n_states=2, n_actions=1)
    worlds = [
        World(theta, even),
        World(theta, even, start=0),
        World(theta, Dirichlet(0.5, n_states=2, n_actions=1)),
        World(theta, Dirichlet(1.0, everywhere & (theta > 0))),
        World(theta[:, ::-1, ::-1], even),
        World(theta, type("Mine", (), {"estimate": lambda self, counts: theta})()),
    ]
    assert len({fingerprint(world) for world in worlds}) == len(worlds)
    assert fingerprint(World(theta, even)) == fingerprint(worlds[0])


def test_functions_are_identified_by_name_and_first_worlds():
    def mine(seed):
        return maze(seed, side=3, n_transporters=1)

    assert function_name(functools.partial(maze, side=3)) == "maze(side=3)"
    assert function_name(type("Maker", (), {"__call__": lambda self, seed: maze(seed)})()) == "Maker"
    description = study(worlds={"mine": mine}, n_steps=9).describe()["worlds"]["mine"]
    other = study(worlds={"mine": lambda seed: maze(seed, side=2, n_transporters=1)}, n_steps=9).describe()["worlds"][
        "mine"
    ]
    assert description["make"].endswith("mine") and description["first world"] != other["first world"]


def test_description_is_plain_data():
    import json

    description = study(
        worlds={"maze": {"side": np.int64(7)}}, n_steps={"maze": np.int64(9)}, seed=np.int64(5)
    ).describe()
    assert json.loads(json.dumps(description)) == description
    assert description["worlds"] == {"maze": {"n_steps": 9, "make": "maze", "parameters": {"side": 7}}}
    assert description["snapshots"] == [0.5, 0, 7, 1.0] and description["seed"] == 5


def test_only_strategies_that_their_name_does_not_define_are_described():
    assert "own strategies" not in study(strategies=["PMC(Q, epsilon=0.2)", "PIG(VI, gamma=0.5)"]).describe()
    description = study(strategies=["PIG(VI)", "PMC(Q)"]).describe()["own strategies"]  # whose epsilon was another once
    assert set(description) == {"PMC(Q)"} and "epsilon=0.2" in description["PMC(Q)"]
    own = [Strategy("PIG(VI)", ValueIteration(steps_back=3), "PIG"), Strategy("left", lambda view, s, u: 0)]
    description = study(strategies=own).describe()["own strategies"]
    assert "steps_back=3" in description["PIG(VI)"] and "<lambda>" in description["left"]
    mine = Strategy("mine", Greedy(), lambda now, after: 1.0)
    assert "Greedy()" in study(strategies=[mine]).describe()["own strategies"]["mine"]


def write(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_toml_and_python_give_the_same_study(tmp_path):
    text = """
        strategies = ["Random", "PIG(VI)", "Unembodied"]
        n_worlds = 4
        seed = 1
        snapshots = [0.5, 0, 7, 1.0]
        [worlds]
        maze = {side = 3, n_transporters = 4}
        [worlds.dense]
        n_states = 4
        [n_steps]
        maze = 30
        dense = 20
    """
    assert Experiment.from_toml(write(tmp_path, text)).describe() == study().describe()
    assert Experiment.from_toml(write(tmp_path, 'worlds = ["maze"]')).describe() == Experiment(["maze"]).describe()
    assert Experiment.from_toml(write(tmp_path, "")).describe() == Experiment().describe()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_world = 3", "n_world: unknown key; did you mean n_worlds?"),
        ("jobs = 3", "jobs: unknown key; the keys are worlds, strategies, n_worlds, n_steps, seed, snapshots"),
        ("measures = {x = 1}", "measures.x: the name must be a new identifier, and the value a function of a run"),
        ("n_worlds = ", "study.toml is not valid TOML: "),
        (b"\xff\xfe", "study.toml is not a text file in UTF-8"),
        ("n_worlds = " + "9" * 5000, "study.toml is not valid TOML: "),
        ("n_worlds = " + "[" * 100_000, "study.toml is not valid TOML: "),
        ("seed = 1979-05-27", "seed is datetime.date(1979, 5, 27); it must be a whole number of at least 0"),
        ("n_worlds = 2.0", "n_worlds is 2.0; it must be a whole number of at least 1"),
        ("[worlds.maze]\nside = 2.5", "worlds.maze: side is 2.5; it must be a whole number of at least 1"),
    ],
)
def test_mistakes_in_toml_are_named(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        Experiment.from_toml("study.toml")
    assert str(caught.value).startswith(message)


def test_the_file_in_the_documentation_is_the_study_in_the_documentation(tmp_path):
    import re
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "how-to" / "run-a-study.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1].replace("print(study)", "")
    exec(code, namespace := {})
    assert Experiment.from_toml(write(tmp_path, text)).describe() == namespace["study"].describe()


def test_benchmarks_and_files_can_be_named_in_toml(tmp_path):
    world = berlyne.double_chain_russo(4)
    world.save(tmp_path / "task.npz")
    text = """
        strategies = ["Random"]
        n_steps = 5
        [worlds.river_swim]
        [worlds.swim]
        kind = "river_swim"
        n_states = 9
        [worlds.task]
        file = "task.npz"
    """
    experiment = Experiment.from_toml(write(tmp_path, text))
    expected = berlyne.river_swim(), berlyne.river_swim(9), world
    assert [fingerprint(kind.worlds[0]) for kind in experiment.classes] == [fingerprint(one) for one in expected]
    assert experiment.n_worlds == 1 and experiment.classes[2].worlds[0].states == world.states
    assert Experiment(worlds=["river_swim"]).classes[0].worlds[0].name == berlyne.river_swim().name


@pytest.mark.parametrize(
    ("worlds", "message"),
    [
        ({"swim": {"kind": "river_swims"}}, "worlds.swim: unknown class 'river_swims'; did you mean river_swim?"),
        ({"river_swim": {"side": 3}}, "worlds.river_swim.side: unknown parameter; the parameters are n_states, alpha"),
        ({"river_swim": {"n_states": 1}}, "worlds.river_swim: n_states is 1; it must be"),
        ({"t": {"file": "no.npz"}}, "worlds.t.file: no.npz cannot be read: No such file or directory"),
        ({"t": {"file": "t.csv"}}, "worlds.t: the world has no prior, and explorers need one"),
        ({"t": {"file": "t.csv", "kind": "maze"}}, "worlds.t.kind: unknown parameter; the parameters are file"),
    ],
)
def test_tables_without_a_world_are_refused(worlds, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("s,a,s_next,p\nx,go,x,1\n")
    with pytest.raises(SettingsError) as caught:
        Experiment(worlds=worlds, n_steps=5)
    assert str(caught.value).startswith(message)
