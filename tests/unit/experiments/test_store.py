"""The store: complete or absent, extended without changes to existing results, and never silently wrong."""

import json
import os
import shutil

import numpy as np
import pytest
import xarray as xr

import berlyne
from amounts import amount
from berlyne import Strategy, maze
from berlyne.experiments import manifests, schema, store
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.store import Store
from berlyne.serialization import StoreError
from berlyne.strategies.coordination import ValueIteration
from messages import raises
from unit.experiments.studies import STEPS, WORLDS, assert_same_store, count_explorations, files, put_finished, study

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "results.zarr"


def test_dataset_is_labelled(place):
    study(measures={"last": lambda run: run.missing_information[-1]}).run(place)
    with xr.open_zarr(place) as dataset:
        assert dict(dataset.sizes) == {"world": 8, "strategy": 3, "time": 31, "snapshot": 4, "transition": 324}
        assert dataset["missing_information"].dims == ("world", "strategy", "time")
        assert dataset["area"].dims == dataset["last"].dims == ("world", "strategy")
        assert dataset["counts"].dims == ("world", "strategy", "snapshot", "transition")
        assert list(dataset["strategy"].values) == ["Random", "PIG(VI)", "Unembodied"]
        assert list(dataset["world"].values[:3]) == ["maze/000", "dense/000", "maze/001"]
        assert list(dataset["world_class"].values[:3]) == ["maze", "dense", "maze"]
        assert "world_class" in dataset.coords
        assert np.array_equal(dataset["time"], np.arange(31)) and list(dataset["snapshot"].values) == [0.5, 0, 7, 1.0]
        units = {name: dataset[name].attrs.get("units") for name in dataset.variables}
        assert units["missing_information"] == units["area"] == "bits"
        assert units["time"] == "steps" and units["snapshot"] == "steps, or share of the run"
        assert all(dataset[name].attrs["long_name"] for name in dataset.variables)


def test_attributes_hold_everything(place):
    put_finished(place)
    with xr.open_zarr(place) as dataset:
        assert dataset.attrs["berlyne_format"] == schema.FORMAT
        assert dataset.attrs["settings"] == study().describe()
        assert dataset.attrs["settings"]["seed"] == 1
        assert set(dataset.attrs["versions"]) == {"berlyne", "numpy", "numba", "llvmlite", "python"}
        assert dataset.attrs["versions"]["berlyne"] == berlyne.__version__
        assert dataset.attrs["versions"]["numpy"] == np.__version__


def test_plain_zarr_opens_it_with_and_without_the_metadata_in_the_root(place):
    import zarr

    put_finished(place)
    together, alone = zarr.open_group(place, mode="r"), zarr.open_group(place, mode="r", use_consolidated=False)
    assert sorted(together.array_keys()) == sorted(alone.array_keys())
    for name, array in together.arrays():
        np.testing.assert_array_equal(array[:], alone[name][:])


def test_a_store_is_made_complete_or_not_at_all(place, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(schema, "write_study", fail)
    with raises(OSError, "No space left"):
        study().run(place)
    assert list(place.parent.iterdir()) == []


def test_files_left_by_killed_runs_are_removed(place):
    put_finished(place)
    untouched = files(place)
    beside = place.with_name("results.zarr.4711.partial")
    (beside / "area").mkdir(parents=True)
    (beside / "area" / "zarr.json").write_text("{}")
    (place / "area" / "c.0.0.partial").write_bytes(b"half")
    (place / "zarr.json.partial").write_bytes(b"half")
    other = place.with_name("results.zarr.backup.partial")
    other.touch()
    study().run(place)
    assert files(place) == untouched
    assert sorted(f.name for f in place.parent.iterdir()) == ["results.zarr", "results.zarr.backup.partial"]


def test_finished_pieces_are_not_computed_again(place, monkeypatch):
    made = count_explorations(monkeypatch)
    study().run(place)
    assert len(made) == 24
    before = files(place)
    study().run(place)
    assert len(made) == 24 and files(place) == before


@pytest.mark.parametrize(
    "fewer", [{"n_worlds": 2}, {"strategies": ["Unembodied", "Random"]}, {"strategies": "PIG(VI)"}]
)
def test_asking_for_less_changes_nothing(place, monkeypatch, fewer):
    put_finished(place)
    before, made = files(place), count_explorations(monkeypatch)
    results = study(**fewer).run(place)
    assert made == [] and files(place) == before
    assert results.strategies == study().strategy_names


def test_classes_in_another_order_are_the_same_study(place, monkeypatch):
    put_finished(place)
    before, made = files(place), count_explorations(monkeypatch)
    turned = dict(reversed(WORLDS.items()))
    study(worlds=turned).run(place)
    assert made == [] and files(place) == before
    study(worlds=turned, n_worlds=6).run(place)
    assert len(made) == 12
    put_finished(place.with_name("at once"), n_worlds=6)
    assert_same_store(place, place.with_name("at once"))


def mine(seed):
    return maze(seed, side=3, n_transporters=4)


@pytest.mark.parametrize(
    ("stored", "asked", "message"),
    [
        ({}, {"seed": 2}, "made with seed = 1, but you asked for seed = 2;"),
        (
            {},
            {"n_steps": {**STEPS, "maze": 31}},
            "made with worlds.maze.n_steps = 30, but you asked for worlds.maze.n_steps = 31;",
        ),
        (
            {},
            {"worlds": {**WORLDS, "maze": {"side": 4, "n_transporters": 4}}},
            "made with worlds.maze.parameters.side = 3, but you asked for worlds.maze.parameters.side = 4;",
        ),
        (
            {},
            {"worlds": {**WORLDS, "dense": {}}},
            "made with worlds.dense.parameters.n_states = 4, but you asked for worlds.dense.parameters without "
            "n_states;",
        ),
        ({}, {"worlds": {"maze": WORLDS["maze"]}, "n_steps": 30}, "made with worlds.dense = {"),
        ({}, {"snapshots": (0.5,)}, "made with snapshots = [0.5, 0, 7, 1.0], but you asked for snapshots = [0.5];"),
        ({"snapshots": (1,)}, {"snapshots": (1.0,)}, "made with snapshots = [1], but you asked for snapshots = [1.0];"),
        (
            {},
            {"measures": {"mine": lambda run: 0.0}},
            'made with measures = [], but you asked for measures = ["mine"];',
        ),
        (
            {"worlds": {"mine": mine}, "n_steps": 30},
            {"worlds": {"mine": lambda seed: mine(seed)}, "n_steps": 30},
            'made with worlds.mine.make = "mine", but you asked for worlds.mine.make = ',
        ),
        (
            {"worlds": {"mine": lambda seed: maze(seed, side=3, n_transporters=1)}, "n_steps": 30},
            {"worlds": {"mine": lambda seed: maze(seed, side=3, n_transporters=2)}, "n_steps": 30},
            "made with worlds.mine.first world = ",
        ),
        (
            {"worlds": {"mine": [mine(i) for i in range(4)]}, "n_steps": 30},
            {"worlds": {"mine": [mine(i) for i in (0, 1, 3, 2)]}, "n_steps": 30},
            "made with worlds.mine.worlds = [",
        ),
        (
            {},
            {"strategies": [Strategy("PIG(VI)", ValueIteration(steps_back=2), "PIG")]},
            'own strategies.PIG(VI) = "the standard strategy", but you asked for own strategies.PIG(VI) = '
            '"ValueIteration(steps_back=2',
        ),
    ],
)  # fmt: skip
def test_other_settings_are_an_error_that_names_the_difference(place, stored, asked, message):
    study(**stored).run(place) if stored else put_finished(place)
    before = files(place)
    with pytest.raises(SettingsError) as caught:
        study(**{**stored, **asked}).run(place)
    assert message in str(caught.value) and str(caught.value).startswith(f"{place} was made with")
    assert str(caught.value).endswith("(you can add worlds, strategies or runs); see docs/how-to/resume.md")
    assert files(place) == before
    assert [f.name for f in place.parent.iterdir()] == ["results.zarr"]


def test_own_worlds_may_be_added_to(place, monkeypatch):
    worlds = [mine(i) for i in range(7)]
    own = {"n_steps": 30, "strategies": ["Random"]}
    study(worlds={"mine": worlds[:4]}, n_worlds=4, **own).run(place)
    made = count_explorations(monkeypatch)
    study(worlds={"mine": worlds}, n_worlds=7, **own).run(place)
    assert len(made) == 3
    study(worlds={"mine": worlds[:2]}, n_worlds=2, **own).run(place)
    assert len(made) == 3
    study(worlds={"mine": worlds}, n_worlds=7, **own).run(place.with_name("at once"))
    assert_same_store(place, place.with_name("at once"))


def test_own_worlds_that_do_not_fit_are_refused_before_anything_changes(place):
    own = {"n_steps": 30, "strategies": ["Random"], "snapshots": ()}
    study(worlds={"mine": [mine(0)]}, n_worlds=1, **own).run(place)
    before = files(place)
    with raises(SettingsError, "worlds.mine", "world 1", "289 states", "4 actions", "more"):
        study(worlds={"mine": [mine(0), maze(0, side=17)]}, n_worlds=2, **own).run(place)
    assert files(place) == before


@pytest.mark.parametrize("made", ["file", "folder", "other zarr", "no json", "no attributes"])
def test_folders_that_are_not_stores_are_not_changed(place, made):
    import zarr

    if made == "file":
        place.write_text("my notes")
    elif made == "other zarr":
        zarr.create_group(place, attributes={"title": "mine"})
    else:
        place.mkdir()
        (place / "zarr.json").write_text({"no json": "{", "no attributes": "[]"}.get(made, "{}"))
        if made == "folder":
            (place / "zarr.json").unlink()
            (place / "notes").write_text("mine")
    before = files(place.parent)
    with raises(StoreError, str(place), "not a store of results"):
        study().run(place)
    with raises(StoreError, str(place)):
        berlyne.open_results(place)
    assert files(place.parent) == before


def test_a_newer_format_is_reported(place):
    put_finished(place)
    content = json.loads((place / schema.STUDY_FILE).read_text())
    content["berlyne_format"] = schema.FORMAT + 1
    content["versions"]["berlyne"] = "9.8.7"
    (place / schema.STUDY_FILE).write_text(json.dumps(content))
    before = files(place)
    names = (str(place), f"format {schema.FORMAT + 1}", f"format {schema.FORMAT}", "9.8.7")
    for use in (study(n_worlds=9).run, berlyne.open_results):
        with raises(StoreError, *names):
            use(place)
    assert files(place) == before


ARRAYS = ["missing_information", "l1_distance", "state", "action", "counts", "area"]


def chunk_of(place, array, block=0, column=0):
    (path,) = (place / array).glob(f"c.{block}.{column}*")
    return path


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)


OWN = {"measures": {"mine": lambda run: run.missing_information[-1]}}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A finished study with a measure of ours, in pieces of three worlds."""
    folder = tmp_path_factory.mktemp("healthy") / "results.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "BLOCK", 3)
        study(**OWN).run(folder)
    return folder


@pytest.mark.parametrize("array", amount(["state", "counts", "area", "mine"], [*ARRAYS, "next_state", "mine"]))
@pytest.mark.parametrize("harm", ["bit", "cut", "empty", "gone"])
def test_damage_is_detected_named_and_repaired_on_request(place, healthy, monkeypatch, array, harm):
    shutil.copytree(healthy, place)
    sound = files(place)
    path = chunk_of(place, array, block=1, column=2)
    if harm == "bit":
        flip(path, 1234567)
    elif harm == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-7] if harm == "cut" else b"")
    made, damaged = count_explorations(monkeypatch), files(place)
    problem = "is missing" if harm == "gone" else "is damaged (its checksum is wrong)"
    message = (
        f"{place}: {array} of Unembodied in worlds dense/001 to dense/002 {problem}; "
        "run again with --repair (repair=True) to compute it again"
    )
    with pytest.raises(StoreError) as caught:
        study(**OWN).run(place)
    assert str(caught.value) == message and made == [] and files(place) == damaged
    with pytest.raises(StoreError) as caught:  # readers get the error, too
        berlyne.open_results(place).dataset[array].load()
    assert str(caught.value) == message
    study(**OWN).run(place, repair=True)
    assert len(made) == 3 and {name for _, name, _ in made} == {"Unembodied"}
    assert files(place) == sound


def test_all_damage_is_counted_and_repaired_at_once(place, monkeypatch):
    put_finished(place)
    sound = files(place)
    for column, array in enumerate(["state", "area", "next_state"]):
        flip(chunk_of(place, array, 0, column), 99)
    with raises(StoreError, "2 more", "damaged"):
        study().run(place)
    made = count_explorations(monkeypatch)
    study().run(place, repair=True)
    assert len(made) == 9 and files(place) == sound


def test_repairing_a_part_of_a_block_restores_all_of_it(place):
    """A block is one chunk: the worlds beyond those that are asked for were damaged with it."""
    put_finished(place)
    sound = files(place)
    flip(chunk_of(place, "area", 0, 1), 5)
    study(n_worlds=1).run(place, repair=True)
    assert files(place) == sound


def test_damage_of_strategies_that_are_not_requested_is_repaired_later(place):
    put_finished(place)
    flip(chunk_of(place, "state", 0, 1), 5)
    damaged = files(place)
    study(strategies=["Random"]).run(place, repair=True)
    assert files(place) == damaged
    with raises(StoreError, "state of PIG(VI) in worlds maze/000 to maze/001", "damaged"):
        study().run(place)


def test_repairing_own_worlds_when_fewer_are_at_hand(place):
    worlds, own = [mine(i) for i in range(4)], {"n_steps": 30, "strategies": ["Random"]}
    study(worlds={"mine": worlds}, **own).run(place)
    sound = files(place)
    flip(chunk_of(place, "state"), 5)
    results = study(worlds={"mine": worlds[:2]}, n_worlds=2, **own).run(place, repair=True)
    assert int(results.dataset["area"].notnull().sum()) == 3  # the third world of the block was not at hand
    study(worlds={"mine": worlds}, **own).run(place)
    assert files(place) == sound


@pytest.mark.parametrize("name", ["world", "strategy", "world_class", "time", "snapshot"])
def test_labels_and_metadata_are_repaired(place, name):
    """They can be computed from the root, so any damage to them is repaired without a message."""
    put_finished(place)
    sound = files(place)
    (place / name / "c.0").write_bytes(b"")
    (place / name / "zarr.json").unlink()
    study().run(place)
    assert files(place) == sound


def killed(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("more", [{"n_worlds": 9}, {"strategies": ["CB", "Random", "PIG(VI)", "Unembodied"]}])
@pytest.mark.parametrize("when", ["before the labels", "before the study"])
def test_interrupted_growth_is_completed(place, monkeypatch, more, when):
    put_finished(place)
    areas = berlyne.open_results(place).dataset["area"].values

    with monkeypatch.context() as patch:
        patch.setattr(
            store, {"before the labels": "write_derived_files", "before the study": "write_study"}[when], killed
        )
        with pytest.raises(KeyboardInterrupt):
            study(**more).run(place)
    between = berlyne.open_results(place)  # readers see the study as it was
    assert between.settings == study().describe() and between.is_complete
    np.testing.assert_array_equal(between.dataset["area"].values, areas)
    assert between.strategies == study().strategy_names
    study(**more).run(place)
    if "strategies" in more:
        more = {"strategies": ["Random", "PIG(VI)", "Unembodied", "CB"]}
    put_finished(place.with_name("at once"), **more)
    assert_same_store(place, place.with_name("at once"))


def test_chunks_of_unfinished_work_units_are_removed(place, monkeypatch):
    """A run is killed after its chunks and before its manifest. Then fewer worlds of the same block are run."""
    large, small = study(strategies=["Random"]), study(strategies=["Random"], n_worlds=1)
    for name, owner, method in (("left", manifests.ChunkFiles, "_write_manifest"), ("not begun", Store, "write")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, killed)
            with pytest.raises(KeyboardInterrupt):
                large.run(place.with_name(name), jobs=1)
        small.run(place.with_name(name), jobs=1)
    assert_same_store(place.with_name("left"), place.with_name("not begun"))


def test_interrupted_growth_may_be_abandoned(place, monkeypatch):
    """The smaller study goes on as if nothing had been asked."""
    put_finished(place)
    sound = files(place)
    with monkeypatch.context() as patch:
        patch.setattr(store, "write_study", killed)
        with pytest.raises(KeyboardInterrupt):
            study(n_worlds=9).run(place)
    study().run(place)
    assert files(place) == sound


def test_all_versions_that_wrote_parts_are_stored(place, monkeypatch):
    put_finished(place)
    earlier = schema.versions()
    later = {**earlier, "berlyne": "99.0"}
    monkeypatch.setattr(store, "versions", lambda: later)
    study().run(place)  # nothing to compute: nothing to say
    assert json.loads((place / "zarr.json").read_text())["attributes"]["versions"] == earlier
    study(n_worlds=5).run(place)
    attributes = json.loads((place / "zarr.json").read_text())["attributes"]
    assert attributes["versions"] == later and attributes["earlier_versions"] == [earlier]
    study(n_worlds=6).run(place)
    assert json.loads((place / "zarr.json").read_text())["attributes"]["earlier_versions"] == [earlier]


def test_a_piece_is_done_only_when_its_areas_are_there(place, monkeypatch):
    """`area` is written last, also if the name of another array (`zz`) sorts after it."""
    write_store_file, order = manifests.write_store_file, []

    def write(path, content, **options):
        order.append(path.parent.name)
        write_store_file(path, content, **options)

    monkeypatch.setattr(manifests, "write_store_file", write)
    own = study(measures={"zz": lambda run: 0.0}, strategies=["Unembodied"], n_worlds=1)
    own.run(place, jobs=1)
    assert order[-2:] == ["area", "area"]  # the manifest and the areas
    assert sorted(order[:-2]) == sorted([*{*ARRAYS, "next_state", "zz"} - {"area"}])
    opened = Store.open(place, own)
    (place / "area" / "c.0.0").unlink()
    assert opened.missing() == [] and len(Store.open(place, own).missing()) == 1


def test_long_explorations_and_large_worlds_come_in_smaller_pieces(place, monkeypatch):
    """One takes 31 times of 4 + 4 + 1 + 1 + 1 bytes, 324 counts of one byte at 4 snapshots, and an area: 1645 bytes."""
    monkeypatch.setattr(store, "WORK_UNIT_BYTES", 2 * 1645 + 1644)
    study().run(place)
    assert Store.open(place, study()).block == 2
    monkeypatch.setattr(store, "WORK_UNIT_BYTES", 1)
    study(n_worlds=5).run(place)  # a store keeps the size it was made with
    assert Store.open(place, study()).block == 2


def test_measures_that_change_their_shape_between_strategies_are_refused(place):
    odd = study(measures={"odd": lambda run: run.l1_distance if run.strategy.name == "Random" else 0.0})
    with raises(ValueError, "measures.odd", "a single number", "one per time"):
        odd.run(place)


def test_many_labels_take_several_chunks(place, monkeypatch):
    monkeypatch.setattr(schema, "LABELS", 3)
    results = study().run(place)
    assert sorted(f.name for f in (place / "world").glob("c.*")) == ["c.0", "c.1", "c.2"]
    assert list(results.dataset["world"].values) == [f"{c}/{i:03d}" for c in WORLDS for i in range(4)]


def test_names_of_folders_may_be_patterns(tmp_path):
    place = tmp_path / "a[1]*.zarr"
    place.with_name("a[1]*.zarr.12.partial").mkdir()
    place.with_name("a1x.zarr.12.partial").mkdir()
    study().run(place)
    assert sorted(os.listdir(tmp_path)) == ["a1x.zarr.12.partial", "a[1]*.zarr"]
