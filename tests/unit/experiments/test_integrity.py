"""Any damage to the files of a store gives correct values or an error that names the problem."""

import dataclasses
import json
import os
import shutil
import socket
from itertools import product

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne.experiments import manifests
from berlyne.experiments.schema import FORMAT, STUDY_FILE, read_study, write_study
from berlyne.experiments.store import StoreError
from messages import raises
from unit.experiments.studies import assert_same_store, command, count_explorations, files, put_finished, study

pytestmark = pytest.mark.usefixtures("small_blocks")
TOML = """
strategies = ["Random", "PIG(VI)", "Unembodied"]
n_worlds = 4
seed = 1
snapshots = [0.5, 0, 7, 1.0]
worlds = {maze = {side = 3, n_transporters = 4}, dense = {n_states = 4}}
n_steps = {maze = 30, dense = 20}
"""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A finished study, pieces of three worlds."""
    place = tmp_path_factory.mktemp("healthy") / "results.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("berlyne.experiments.store.BLOCK", 3)
        study().run(place)
    return place


@pytest.fixture
def place(tmp_path, healthy):
    shutil.copytree(healthy, tmp_path / "results.zarr")
    return tmp_path / "results.zarr"


def everything(place):
    """All values that are read of a store."""
    results = berlyne.open_results(place)
    return {name: results.dataset[name].values.tobytes() for name in results.dataset.variables if name != "world_class"}


def chunks(place, array):
    return sorted((place / array).glob("c.*"))


@pytest.mark.parametrize("array", ["missing_information", "state", "next_state", "counts", "area"])
def test_a_deleted_chunk_is_named_when_it_is_read(place, array):
    path = chunks(place, array)[-1]
    path.unlink()
    with pytest.raises(StoreError) as caught:
        berlyne.open_results(place).dataset[array].values  # noqa: B018
    for named in (str(place), array, "Unembodied", "maze/003", "dense/003", "missing", "--repair"):
        assert named in str(caught.value)


def test_a_deleted_folder_is_not_a_study_that_was_never_run(place, healthy):
    shutil.rmtree(place / "area")
    with raises(StoreError, "area of", "in worlds", "missing"):
        repr(berlyne.open_results(place))
    with raises(StoreError, "area of Random in worlds maze/000 to maze/001", "8 more", "missing"):
        study().run(place)
    study().run(place, repair=True)
    assert_same_store(place, healthy)


def test_every_chunk_in_the_place_of_every_other_is_detected(place):
    """Those of one array between worlds and strategies, and those of arrays that have the same type."""
    n, most = 0, amount(20, 60)
    for arrays in (["area"], ["state", "action", "next_state"], ["missing_information", "l1_distance"], ["counts"]):
        paths = [path for array in arrays for path in chunks(place, array)]
        for one in paths:
            for other in paths[:: amount(3, 1)]:
                sound = one.read_bytes()
                if other.read_bytes() == sound:
                    continue
                one.write_bytes(other.read_bytes())
                with raises(StoreError, f"{one.parent.name} of", "damaged", "manifest"):
                    berlyne.open_results(place).dataset[one.parent.name].values  # noqa: B018
                one.write_bytes(sound)
                n += 1
            if n > most:
                break
    assert n > most


def test_a_whole_piece_in_the_place_of_another_is_detected(place):
    for path in [p for p in place.rglob("*.0.0*") if p.name.startswith(("c.0.0", "manifest.0.0"))]:
        other = path.with_name(path.name.replace(".0.0", ".0.1", 1))
        if other.exists():
            a, b = path.read_bytes(), other.read_bytes()
            path.write_bytes(b)
            other.write_bytes(a)
    for use in (study().run, everything):
        with raises(StoreError, "in worlds maze/000 to maze/001", "damaged"):
            use(place)


def test_a_piece_of_another_study_is_detected(place, tmp_path):
    put_finished(tmp_path / "other", seed=2)
    for path in place.rglob("*.0.1*"):
        shutil.copy(tmp_path / "other" / path.relative_to(place), path)
    for use in (study().run, everything):
        with raises(StoreError, "PIG(VI) in worlds maze/000 to maze/001", "damaged"):
            use(place)


def test_a_missing_manifest_is_detected_even_if_the_run_was_interrupted(place):
    write_study(place, dataclasses.replace(read_study(place), explored={}))
    everything(place)
    (place / "area" / "manifest.0.0").unlink()
    for array in ("area", "state"):
        with raises(StoreError, f"{array} of Random", "manifest", "missing"):
            berlyne.open_results(place).dataset[array].values  # noqa: B018


def test_every_flipped_byte_is_detected_or_harmless(place):
    """The study, metadata, coordinates and labels: reading returns the same values, or an error of one sentence."""
    rng, expected, refused = np.random.default_rng(0), everything(place), []
    others = ["zarr.json", "state/zarr.json", *(f"{name}/c.0" for name in ("time", "snapshot", "world", "strategy"))]
    n = amount(40, 200)
    for i in range(n):
        path = place / (STUDY_FILE if i % 2 else others[rng.integers(len(others))])
        sound = path.read_bytes()
        content = bytearray(sound)
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        try:
            assert everything(place) == expected
        except StoreError as error:
            refused.append((path.name, str(error).startswith(f"{place} ") and "\n" not in str(error)))
        path.write_bytes(sound)
    assert set(refused) == {("study.json", True)} and len(refused) > 0.4 * n


def test_a_run_does_not_go_on_from_a_damaged_study(place):
    text = (place / STUDY_FILE).read_text()
    (place / STUDY_FILE).write_text(text.replace('"seed": 1', '"seed": 3', 1))
    before = files(place)
    for use in (study(seed=3).run, study().run, everything):
        with raises(StoreError, str(place), "damaged", "checksum", STUDY_FILE):
            use(place)
    assert files(place) == before


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"berlyne_format": 4}', "\0" * 50, "null"])
def test_invalid_studies_are_refused(place, text):
    (place / STUDY_FILE).write_text(text)
    for use in (study().run, everything):
        with raises(StoreError, str(place), "damaged", STUDY_FILE):
            use(place)


def test_a_damaged_root_of_zarr_is_written_again(place, healthy):
    """All that is in it can be derived from the study."""
    for text in ("", "{", "null", '{"attributes": 3}'):
        (place / "zarr.json").write_text(text)
        everything(place)
        study().run(place)
        assert_same_store(place, healthy)


def socket_at(path):
    with pytest.MonkeyPatch.context() as patch, socket.socket(socket.AF_UNIX) as listening:
        patch.chdir(path.parent)  # the name of a socket must be short
        listening.bind(path.name)


SPECIAL_FILES = {
    "pipe": os.mkfifo,
    "directory": os.mkdir,
    "socket": socket_at,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.timeout(90)
def test_pipes_and_folders_are_refused_without_waiting(healthy, tmp_path):
    names = [STUDY_FILE, "state/c.0.0.0", "area/c.0.0", "area/manifest.0.0", "world/c.0", "zarr.json"]
    for (kind, make), name in product(SPECIAL_FILES.items(), names):
        place = tmp_path / kind / name.replace("/", " ")
        shutil.copytree(healthy, place)
        (place / name).unlink()
        make(place / name)
        with raises(StoreError, f"{place / name} is a {kind}; it must be a file"):
            study().run(place)
        if name in ("world/c.0", "zarr.json"):  # labels and metadata are computed, so reading does not use the files
            everything(place)
        else:
            with raises(StoreError, f"{place / name} is a {kind}; it must be a file"):
                everything(place)


def test_folders_that_are_links_are_not_written_through(place, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(place / "state", outside)
    (place / "state").symlink_to(outside)
    before = files(outside)
    with raises(StoreError, str(place / "state"), "symbolic link", "directory"):
        study(n_worlds=9).run(place)
    assert files(outside) == before


@pytest.mark.parametrize("name", ["zarr.json.partial", "state/c.0.0.0.partial", "area/manifest.0.0.partial"])
def test_links_in_the_place_of_partial_files_are_refused(place, tmp_path, name):
    (tmp_path / "notes").write_text("mine")
    (place / name).symlink_to(tmp_path / "notes")
    with raises(StoreError, str(place / name), "symbolic link", "a file"):
        study(n_worlds=5).run(place)
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_link_to_nothing_is_no_place(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with raises(StoreError, "link", "broken symbolic link"):
        study().run(tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]


def test_the_command_prints_one_sentence_for_damage(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML)
    for harm in (
        lambda: (place / STUDY_FILE).write_text("{"),
        lambda: (place / STUDY_FILE).unlink(),
        lambda: os.mkfifo(place / STUDY_FILE),
    ):
        harm()
        code, output, errors = command("run", "study.toml", "results.zarr")
        assert (code, output) == (1, "") and errors.startswith("berlyne: results.zarr") and errors.count("\n") == 1


@pytest.mark.parametrize("old", [2, 3])
def test_stores_of_older_formats_are_refused(place, old):
    """They have no study file, and the format is an attribute of the root."""
    (place / STUDY_FILE).unlink()
    root = json.loads((place / "zarr.json").read_text())
    root["attributes"]["berlyne_format"] = old
    (place / "zarr.json").write_text(json.dumps(root))
    before = files(place)
    for use in (study().run, lambda p: study().run(p, repair=True), everything):
        with raises(StoreError, str(place), f"format {old}", f"format {FORMAT}", "(0.1.0)"):
            use(place)
    assert files(place) == before


def test_a_run_that_is_killed_while_it_replaces_chunks_leaves_nothing_damaged(place, monkeypatch, tmp_path):
    """More worlds come into a block that was not full: old or new, each chunk fits its manifest."""
    expected, write_store_file = everything(place), manifests.write_store_file
    for i in range(1, 12, amount(3, 1)):
        shutil.rmtree(place)
        put_finished(place, n_worlds=4)
        written_paths = []

        def killed(path, content, written_paths=written_paths, i=i, **options):
            written_paths.append(path)
            if len(written_paths) == i:
                raise KeyboardInterrupt
            write_store_file(path, content, **options)

        with monkeypatch.context() as patch:
            patch.setattr(manifests, "write_store_file", killed)
            with pytest.raises(KeyboardInterrupt):
                study(n_worlds=5).run(place, jobs=1)
        parsed = everything(place)
        assert len(parsed["area"]) > len(expected["area"])  # and no complaint
        made = count_explorations(monkeypatch)
        study(n_worlds=5).run(place, jobs=1)
        assert made
    put_finished(tmp_path / "at once", n_worlds=5)
    assert_same_store(place, tmp_path / "at once")


def test_a_run_that_is_killed_before_it_writes_the_last_manifest_is_completed(place, monkeypatch, tmp_path):
    """All chunks are replaced, and old and new ones are valid; the next run forgets the old ones."""
    written, write_store_file = [], manifests.write_store_file

    def killed(path, content, **options):
        if path in written and path.name.startswith("manifest."):
            raise KeyboardInterrupt
        written.append(path)
        write_store_file(path, content, **options)

    asked = {"n_worlds": 5, "strategies": ["Random"]}
    shutil.rmtree(place)
    put_finished(place, n_worlds=4, strategies=["Random"])
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "write_store_file", killed)
        with pytest.raises(KeyboardInterrupt):
            study(**asked).run(place, jobs=1)
    study(**asked).run(place, jobs=1)
    put_finished(tmp_path / "at once", **asked)
    assert_same_store(place, tmp_path / "at once")
