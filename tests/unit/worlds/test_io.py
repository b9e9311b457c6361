"""Saving and loading worlds."""

from __future__ import annotations

import builtins
import os

import numpy as np
import pytest

from berlyne import (
    Dirichlet,
    Explorer,
    World,
    dense_world,
    explore,
    load_world,
    maze,
    one_two_three_world,
)
from messages import raises
from unit.archives import rewrite_archive

THETA = np.array([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]], [[1.0, 0.0, 0.0]] * 3])
GOOD = """s,a,s_next,p
red,l,red,0.5
red,l,blue,0.5
red,r,red,1

blue,l,red,1.0
blue,r,blue,1
"""


def labelled(**more):
    prior = Dirichlet(0.5, n_states=3, n_actions=2)
    labels = {"states": ["red", ("a", 1), None], "actions": ["l", True]}
    return World(THETA, prior, name="colours, labelled", **{**labels, **more})


MANY = {
    "dense": lambda: dense_world(1),
    "maze": lambda: maze(2),
    "1-2-3": lambda: one_two_three_world(3, formula="printed"),
    "labels": labelled,
    "episodes": lambda: labelled(start={"red": 0.3, ("a", 1): 0.7}, terminal=[None]),
    "start": lambda: labelled(start=("a", 1)),
    "no prior": lambda: World(THETA),
}


def same(one, other):
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one.rows, name), getattr(other.rows, name))
    assert (one.states, one.actions, one.name) == (other.states, other.actions, other.name)
    np.testing.assert_array_equal(one.terminal, other.terminal)
    np.testing.assert_array_equal(one.episodes.distribution, other.episodes.distribution)
    assert repr(one.prior) == repr(other.prior) and type(one.start) is type(other.start)


@pytest.mark.parametrize("name", MANY)
def test_a_world_is_loaded_completely(name, tmp_path):
    world = MANY[name]()
    world.save(tmp_path / "world.npz")
    loaded = load_world(tmp_path / "world.npz")
    same(world, loaded)
    if world.prior is not None:
        one, other = (explore(w, "PIG(VI)", n_steps=60, seed=1) for w in (world, loaded))
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.missing_information, other.missing_information)
    assert os.listdir(tmp_path) == ["world.npz"]


def test_a_maze_keeps_its_walls_and_shares_its_support(tmp_path):
    world = maze(2, side=4, n_transporters=7)
    world.save(tmp_path / "world.npz")
    loaded = load_world(tmp_path / "world.npz")
    for name in ("passages", "transporters", "destination"):
        np.testing.assert_array_equal(getattr(loaded.geometry, name), getattr(world.geometry, name))
    assert (loaded.geometry.base, loaded.geometry.side) == (world.geometry.base, world.geometry.side)
    assert loaded.prior.support.indices is loaded.rows.indices


def test_arguments_replace_the_contents_of_a_file(tmp_path):
    labelled(start="red", terminal=[None]).save(tmp_path / "w.npz")
    prior = Dirichlet(2.0, n_states=3, n_actions=2)
    world = load_world(tmp_path / "w.npz", prior, start=None, terminal=[("a", 1)], name="other")
    assert world.prior is prior and world.terminal.tolist() == [1] and world.name == "other" and world.start == 0


def test_a_custom_prior_is_not_saved(tmp_path):
    class Own(Dirichlet):
        pass

    world = World(THETA, Own(1.0, n_states=3, n_actions=2))
    with raises(ValueError, "custom prior", "world.with_prior(None)"):
        world.save(tmp_path / "w.npz")
    world.save(tmp_path / "w.csv")
    with raises(ValueError, "label", "saved"):
        World(THETA, states=[b"x", "y", "z"]).save(tmp_path / "w.npz")
    assert os.listdir(tmp_path) == ["w.csv"]


@pytest.mark.parametrize(
    "change",
    [
        lambda settings, arrays: arrays["data"].__setitem__(0, 0.9),
        lambda settings, arrays: arrays["indices"].__setitem__(0, 99),
        lambda settings, arrays: arrays.pop("indptr"),
        lambda settings, arrays: settings.update(n_states=35),
        lambda settings, arrays: settings.update(kind="explorer"),
        lambda settings, arrays: settings.update(terminal=[36]),
        lambda settings, arrays: settings.update(start=-40),
        lambda settings, arrays: settings.update(states=["a", "b"]),
        lambda settings, arrays: settings["maze"].update(base=36),
        lambda settings, arrays: arrays["passages"].__setitem__((0, 0), True),
        lambda settings, arrays: settings["prior"].update(alpha=-1),
        lambda settings, arrays: (
            settings["maze"].update(side=5),
            arrays.update(passages=np.zeros((25, 4), bool), transporters=np.zeros((25, 4), bool)),
        ),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(change, tmp_path):
    path = tmp_path / "w.npz"
    maze(0).save(path)
    rewrite_archive(path, change)
    with raises(ValueError, "w.npz", "world", "damaged"):
        load_world(path)


def test_files_that_are_something_else_are_refused(tmp_path):
    path = tmp_path / "w.npz"
    path.write_bytes(b"nothing")
    with raises(ValueError, "world", "damaged"):
        load_world(path)
    Explorer(maze(0).prior).save(path)
    with raises(ValueError, "world", "damaged"):
        load_world(path)
    maze(0).save(path)
    rewrite_archive(path, lambda settings, arrays: settings.update(format=1))
    with raises(ValueError, "format 1", "format 2"):
        load_world(path)
    for call in (load_world, maze(0).save):
        with raises(ValueError, "'.txt'", ".npz, .csv, .parquet"):
            call(tmp_path / "w.txt")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "labels",
    [{}, {"states": ["z", "a, b", 'c"d'], "actions": ["l", "r"]}, {"states": [3, 7, 20]}, {"actions": ["1", "x"]}],
)
def test_a_table_of_edges_comes_back(suffix, labels, tmp_path):
    world = World(THETA, **labels)
    world.save(tmp_path / f"edges{suffix}")
    loaded = load_world(tmp_path / f"edges{suffix}")
    np.testing.assert_array_equal(loaded.theta, world.theta)
    assert (loaded.states, loaded.actions, loaded.name) == (world.states, world.actions, "edges")
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    assert load_world(tmp_path / f"edges{suffix}", prior).prior is prior


@pytest.mark.parametrize("states", [["0", "1", "2"], [" a", "b ", "c"]])
def test_parquet_keeps_strings_that_a_csv_would_change(states, tmp_path):
    world = World(THETA, states=states)
    world.save(tmp_path / "EDGES.PARQUET")  # the case of a suffix does not matter
    assert (tmp_path / "EDGES.PARQUET").read_bytes()[:4] == b"PAR1"
    loaded = load_world(tmp_path / "EDGES.PARQUET")
    assert loaded.states == tuple(states)
    np.testing.assert_array_equal(loaded.theta, world.theta)


def test_bytes_that_are_not_text_are_reported_with_their_line(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"s,a,s_next,p\n0,0,0,1\n\xff,0,0,1\n")
    with raises(ValueError, "e.csv", "line 3", "not a CSV file", "UTF-8"):
        load_world(tmp_path / "e.csv")


def test_a_table_is_read_as_it_is_written_by_hand(tmp_path):
    (tmp_path / "e.csv").write_text("p, a ,note,s_next,s\n1,go,x,b,a\n0.25,go,y,a,b\n0.75,go,y,b,b\n0,go,,a,a\n")
    world = load_world(tmp_path / "e.csv", start="b")
    assert world.states == ("a", "b") or world.states == ("b", "a")
    assert world.states == ("a", "b") and world.actions == ("go",) and world.start == 1
    np.testing.assert_array_equal(world.theta, [[[0.0, 1.0], [0.25, 0.75]]])
    assert len(world.rows.data) == 3


def test_edges_are_columns():
    edges = World(THETA, states=["x", "y", "z"]).to_edges()
    assert list(edges) == ["s", "a", "s_next", "p"]
    assert edges["s"][:4] == ["x", "x", "x", "y"] and edges["a"][:4] == [0, 0, 1, 0]
    assert edges["s_next"][:4] == ["x", "y", "x", "z"] and edges["p"][:4] == [0.5, 0.5, 1.0, 1.0]


def test_a_terminal_state_needs_no_edges(tmp_path):
    (tmp_path / "e.csv").write_text("s,a,s_next,p\n0,0,1,1\n0,1,0,1\n")
    world = load_world(tmp_path / "e.csv", terminal=[1])
    assert world.theta[:, 1].tolist() == [[0.0, 1.0], [0.0, 1.0]] and world.terminal.tolist() == [1]
    with raises(ValueError, "terminal", "7", "0", "1"):
        load_world(tmp_path / "e.csv", terminal=[1, 7])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("s,a,s_next,p", "s,a,next,p", ("line 1", "'s_next'", "s, a, s_next, p")),
        ("red,l,blue,0.5", "red,l,blue,half", ("line 3", "p", "'half'", "0", "1")),
        ("blue,l,red,1.0", "blue,l,red,-0.5", ("line 6", "p", "'-0.5'", "0", "1")),
        ("blue,r,blue,1", "blue,r,blue,nan", ("line 7", "p", "'nan'", "0", "1")),
        ("blue,r,blue,1", "blue,r,blue,1.5", ("line 7", "p", "'1.5'", "0", "1")),
        ("blue,l,red,1.0", "blue,l,red,0.9", ("line 6", "a='l'", "s='blue'", "0.9")),
        ("red,l,blue,0.5", "red,l,red,0.5", ("line 3", "s='red', a='l', s_next='red'", "line 2")),
        ("red,r,red,1", "red,r,red", ("line 4", "3 fields", "4", "line 1")),
        ("red,r,red,1", ",r,red,1", ("line 4", "s", "empty")),
        ("red,r,red,1", "red,r,,1", ("line 4", "s_next", "empty")),
        (
            "red,r,red,1\n",
            "",
            ("line 2", "a='r'", "s='red'", "load_world(path, terminal=['red'])", "possible={'red': ['l']}"),
        ),
        (GOOD, "", ("empty", "s,a,s_next,p")),
        (GOOD[13:], "", ("no transitions",)),
        ("red,r", '"red,r', ("line", "not a CSV file")),
    ],
)
def test_a_bad_table_is_refused_with_its_line(old, new, message, tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(GOOD)
    assert load_world(path).states == ("red", "blue")
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with raises(ValueError, "e.csv", *message):
        load_world(path)


def test_a_bad_parquet_table_is_refused_with_its_row(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "e.parquet"
    pandas.DataFrame({"s": [0, 0], "a": [0, 0], "s_next": [0, 0], "p": [0.5, 0.5]}).to_parquet(path)
    with raises(ValueError, "e.parquet", "row 1", "s=0, a=0, s_next=0", "row 0"):
        load_world(path)
    pandas.DataFrame({"s": [0, 0], "a": [0, 1], "s_next": [[0], [0]], "p": [1.0, 1.0]}).to_parquet(path)
    with raises(ValueError, "e.parquet", "row 0", "s_next", "array([0])"):
        load_world(path)
    path.write_bytes(b"nothing")
    with raises(ValueError, "e.parquet", "damaged"):
        load_world(path)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with raises(ValueError, "pandas", "pyarrow", "'.[parquet]'"):
        World(THETA).save(tmp_path / "e.parquet")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["1", "2", "3"], ("labels of states", "numbers", ".npz")),
        (["a", "b ", "c"], ("label of states", "blank", ".npz")),
        (["a", "", "c"], ("label of states", "empty", ".npz")),
        (["a", 2, "b"], ("labels of states", "neither", ".npz")),
        ([3, 1, 2], ("labels of states", "another order", ".npz")),
    ],
)
def test_labels_that_a_table_would_change_are_refused(labels, message, tmp_path):
    with raises(ValueError, *message):
        World(THETA, states=labels).save(tmp_path / "e.csv")


@pytest.mark.parametrize("name", ["world.csv", "world.parquet"])
def test_actions_that_are_not_possible_have_no_edges(tmp_path, name):
    """Their rows are made up where `theta` has none, so a reader must say that they are not possible."""
    possible = {"y": ["go"]}
    theta = np.array(THETA)
    forbidden = World(theta, states=["x", "y", "z"], actions=["go", "stay"], possible=possible)
    pairs = set(zip(*(forbidden.to_edges()[column] for column in "sa"), strict=True))
    assert ("y", "stay") not in pairs and len(pairs) == 5
    forbidden.save(tmp_path / name)
    with pytest.raises(ValueError, match=r"'stay'.*'y'.*possible="):
        load_world(tmp_path / name)
    loaded = load_world(tmp_path / name, possible=possible)
    assert np.array_equal(loaded.possible, forbidden.possible)
    assert loaded.theta[loaded.possible] == pytest.approx(theta[forbidden.possible])
