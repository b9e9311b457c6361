"""A study computed in separate shards and merged equals a study run at once."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from berlyne import Dirichlet, Experiment, World, noisy_tv, open_results
from berlyne.experiments.merge_stores import merge
from berlyne.experiments.schema import read_study, write_study
from berlyne.experiments.shard import Shard, parse_shard
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.store import Store
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments.studies import WORLDS, assert_same_store, command, count_explorations, files, put_finished, study


def parts(folder, n, **changes):
    """The stores of all shards."""
    places = [folder / f"shard-{k}.zarr" for k in range(1, n + 1)]
    for k, place in enumerate(places, start=1):
        put_finished(place, f"{k}/{n}", **changes)
    return places


def last(run):
    return run.area


def how_often(run):
    return np.bincount(run.states, minlength=run.world.n_states)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("n", "changes"),
    [
        (1, {}),
        (3, {}),
        (2, {"n_worlds": 2, "n_runs": 3}),
        (12, {"measures": {"last": last, "seen": ("s", how_often)}}),
    ],
)
def test_shards_joined_are_the_study_at_once(tmp_path, n, changes):
    results = merge(tmp_path / "joined.zarr", parts(tmp_path, n, **changes))
    put_finished(tmp_path / "once.zarr", **changes)
    assert results.is_complete
    assert_same_store(tmp_path / "joined.zarr", tmp_path / "once.zarr")
    assert not list(tmp_path.glob("*.lock")) and not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(("n_classes", "n_positions", "of"), [(1, 7, 3), (2, 12, 2), (3, 30, 4), (2, 4, 9)])
def test_every_position_is_in_one_part_and_classes_are_shared_out(n_classes, n_positions, of):
    held = [[p for p in range(n_positions) if Shard(k, of).contains(p, n_classes)] for k in range(1, of + 1)]
    assert sorted(p for one in held for p in one) == list(range(n_positions))
    for class_number, one in product(range(n_classes), held):
        n_here = sum(p % n_classes == class_number for p in one)
        assert abs(n_here - n_positions / n_classes / of) < 1


def test_a_shard_computes_its_own_part_only_and_can_be_resumed(tmp_path, monkeypatch):
    made = count_explorations(monkeypatch)
    place = tmp_path / "part.zarr"
    results = study().run(place, shard="2/4")
    assert len(made) == 2 * 3 and not results.is_complete
    before = files(place)
    study().run(place, shard="2/4")
    assert len(made) == 6 and files(place) == before
    study(n_worlds=8).run(place, shard="2/4")
    assert len(made) == 12
    for other, wanted in ((None, "the whole study"), ("1/4", "shard 1/4")):
        with raises(SettingsError, str(place), "shard 2/4", "you asked for", wanted):
            study(n_worlds=8).run(place, shard=other)
    put_finished(tmp_path / "whole.zarr")
    with raises(SettingsError, "whole.zarr", "the whole study", "you asked for", "shard 2/4"):
        study().run(tmp_path / "whole.zarr", shard="2/4")


@pytest.mark.parametrize(
    "shard", ["11/10", "a/b", "0/3", "3", "", "1/0", "-1/3", "1/2/3", " 1/2", "1/99999999", (1, 2)]
)
def test_invalid_shards_give_one_sentence(shard):
    with raises(SettingsError, f"shard is {shard!r}", "3/10"):
        parse_shard(shard)


def test_shards_are_read(tmp_path):
    assert parse_shard("3/10") == parse_shard(Shard(3, 10)) == (3, 10) and str(Shard(3, 10)) == "3/10"


def test_missing_shards_are_named(tmp_path):
    one, _, three, four = parts(tmp_path, 4)
    with raises(StoreError, "12 of 24", "missing", "shards 2, 4 of 4"):
        merge(tmp_path / "j.zarr", [one, three])
    with raises(StoreError, "6 of 24", "missing", "shard 2 of 4"):
        merge(tmp_path / "j.zarr", [one, three, four])
    assert not (tmp_path / "j.zarr").exists()
    partial_results = merge(tmp_path / "j.zarr", [one, three, four], partial=True)
    assert not partial_results.is_complete
    study().run(tmp_path / "j.zarr")
    put_finished(tmp_path / "once.zarr")
    assert_same_store(tmp_path / "j.zarr", tmp_path / "once.zarr")


@pytest.mark.usefixtures("small_blocks")
def test_a_partial_merge_distinguishes_missing_from_damaged_pieces(tmp_path):
    """One shard of eight has lines in one of three blocks. The other blocks are not explored, and not damaged."""
    study().run(tmp_path / "one.zarr", shard="1/8")
    partial_results = merge(tmp_path / "j.zarr", [tmp_path / "one.zarr"], partial=True)
    assert repr(partial_results) == "Results(j.zarr: maze, dense; 3 of 24 explorations)"
    assert set(read_study(tmp_path / "j.zarr").explored.values()) == {1}  # positions before the first gap
    assert (
        np.isnan(partial_results.dataset["state"].values[1:]).all()
        and not np.isnan(partial_results.dataset["state"].values[0]).any()
    )
    study().run(tmp_path / "j.zarr")
    put_finished(tmp_path / "once.zarr")
    assert_same_store(tmp_path / "j.zarr", tmp_path / "once.zarr")


def test_an_interrupted_shard_is_detected(tmp_path, monkeypatch):
    one = parts(tmp_path, 2)[0]

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        study().run(tmp_path / "killed.zarr", shard="2/2", jobs=1)
    with raises(StoreError, "12 of 24", "missing", "Random in dense/000"):
        merge(tmp_path / "j.zarr", [one, tmp_path / "killed.zarr"])


def set_attribute(place, key, value):
    """Change the study of a store."""
    write_study(place, dataclasses.replace(read_study(place), **{key: value}))


@pytest.mark.parametrize(
    ("changes", "n", "names"),
    [
        ({"seed": 2}, 2, ("settings differ", "seed = 1", "seed = 2")),
        ({"n_worlds": 3}, 2, ("settings differ", "n_worlds = 4", "n_worlds = 3")),
        ({"strategies": ["Random"]}, 2, ("settings differ", "strategies = [")),
        (
            {"worlds": {**WORLDS, "dense": {"n_states": 5}}},
            2,
            ("settings differ", "worlds.dense.parameters.n_states = 4", "worlds.dense.parameters.n_states = 5"),
        ),
        (
            {"worlds": dict(reversed(WORLDS.items()))},
            2,
            ("settings", "different orders"),
        ),
        ({"measures": ["l1_distance"]}, 2, ("arrays differ", "shape or type")),
        (
            {},
            3,
            ("shard-1.zarr", "one of 2", "other.zarr", "one of 3", "must be equal", "see docs"),
        ),
    ],
)
def test_stores_of_other_studies_are_refused(tmp_path, changes, n, names):
    one = parts(tmp_path, 2)[0]
    put_finished(tmp_path / "other.zarr", f"2/{n}", **changes)
    with raises(StoreError, *names):
        merge(tmp_path / "j.zarr", [one, tmp_path / "other.zarr"])
    assert not (tmp_path / "j.zarr").exists()


def test_other_versions_are_refused(tmp_path):
    one, two = parts(tmp_path, 2)
    set_attribute(two, "versions", {**read_study(two).versions, "numpy": "9.9"})
    with raises(StoreError, "versions differ", 'numpy = "2.', 'numpy = "9.9"'):
        merge(tmp_path / "j.zarr", [one, two])


def test_nothing_twice_nothing_overwritten_nothing_damaged(tmp_path):
    one, two = parts(tmp_path, 2)
    with raises(StoreError, "shard-2.zarr", "both contain Random in dense/000"):
        merge(tmp_path / "j.zarr", [one, two, two])
    with raises(StoreError, "shard-1.zarr", "already exists", "not overwritten"):
        merge(one, [one, two])
    with raises(StoreError, "no results", "nothing.zarr"):
        merge(tmp_path / "j.zarr", [one, tmp_path / "nothing.zarr"])
    with raises(StoreError, "no shards to merge"):
        merge(tmp_path / "j.zarr", [])
    with raises(StoreError, f"directory {tmp_path / 'no'} does not exist", "j.zarr"):
        merge(tmp_path / "no" / "j.zarr", [one, two])
    chunk = two / "state" / "c.0.1.0"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    with raises(StoreError, "shard-2.zarr", "state of PIG(VI) in worlds", "damaged"):
        merge(tmp_path / "j.zarr", [one, two])
    assert sorted(f.name for f in tmp_path.iterdir()) == ["shard-1.zarr", "shard-2.zarr"]


def test_the_commands_do_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        'worlds = {dense = {n_states = 4}}\nstrategies = "Random"\nn_worlds = 5\nn_steps = 9'
    )
    for k in (1, 2):
        assert command("run", "s.toml", "--shard", f"{k}/2", "-o", f"part-{k}.zarr")[0] == 0
    code, output, errors = command("merge", "all.zarr", "part-1.zarr", "part-2.zarr")
    assert (code, output, errors) == (0, "Results(all.zarr: dense; 5 of 5 explorations)\n", "")
    assert command("run", "s.toml", "once.zarr")[0] == 0
    assert_same_store(tmp_path / "all.zarr", tmp_path / "once.zarr")
    assert open_results("part-1.zarr").dataset["area"].notnull().sum() == 3
    code, output, errors = command("run", "s.toml", "x.zarr", "--shard", "11/10")
    assert code == 1 and errors.startswith("berlyne: shard is '11/10'; it must be") and errors.count("\n") == 1
    code, output, errors = command("merge", "x.zarr", "part-1.zarr")
    assert code == 1 and errors.startswith("berlyne: 2 of 5 explorations are missing: shard 2 of 2") and not output
    assert command("merge", "some.zarr", "part-1.zarr", "--partial")[0] == 0


@pytest.mark.usefixtures("small_blocks")
def test_worlds_with_and_without_terminal_states_give_the_same_store_in_any_order(tmp_path):
    """Next states are stored in all of them."""
    worlds = {"tv": noisy_tv(), "lake": shore()}

    def make_study(n_runs=4):
        return Experiment(worlds=worlds, strategies=["Random", "PIG(VI)"], n_runs=n_runs, n_steps=15, seed=2)

    make_study().run(tmp_path / "once.zarr", jobs=1)
    make_study().run(tmp_path / "threads.zarr", jobs=2)
    places = [tmp_path / f"part-{k}.zarr" for k in (1, 2, 3)]
    for k, place in enumerate(places, start=1):
        make_study().run(place, shard=f"{k}/3", jobs=1)
    merge(tmp_path / "joined.zarr", places)
    make_study(1).run(tmp_path / "grown.zarr", jobs=1)
    results = make_study().run(tmp_path / "grown.zarr", jobs=2)
    for other in ("threads.zarr", "joined.zarr", "grown.zarr"):
        assert_same_store(tmp_path / "once.zarr", tmp_path / other)
    for name in worlds:
        assert results.of(name)["next_state"].isel(time=slice(15)).notnull().all()


def shore():
    """Two states of which the second ends episodes."""
    return World([[[0.5, 0.5], [0.0, 1.0]]], Dirichlet(1.0, n_states=2, n_actions=1), terminal=[1], start=0)
