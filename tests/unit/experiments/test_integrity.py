"""Any damage to the files of a store gives correct values or an error that names the problem."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne.experiments.store import StoreError
from unit.experiments.studies import assert_same_store, command, count_explorations, files, study

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
    assert str(caught.value) == (
        f"{place}: {array} of Unembodied in worlds maze/003 to dense/003 is missing; "
        "run again with --repair (repair=True) to compute it again"
    )


def test_a_deleted_folder_is_not_a_study_that_was_never_run(place, healthy):
    shutil.rmtree(place / "area")
    with pytest.raises(StoreError, match=r"area of .* in worlds .* is missing; run again with --repair"):
        repr(berlyne.open_results(place))
    with pytest.raises(StoreError, match="area of Random in worlds maze/000 to maze/001 and 8 more is missing"):
        study().run(place)
    study().run(place, repair=True)
    assert_same_store(place, healthy)


def test_every_chunk_in_the_place_of_every_other_is_detected(place):
    """Those of one array between worlds and strategies, and those of arrays that have the same type."""
    n = 0
    for arrays in (["area"], ["state", "action", "next_state"], ["missing_information", "l1_distance"], ["counts"]):
        paths = [path for array in arrays for path in chunks(place, array)]
        for one in paths:
            for other in paths:
                sound = one.read_bytes()
                if other.read_bytes() == sound:
                    continue
                one.write_bytes(other.read_bytes())
                with pytest.raises(
                    StoreError, match=f"{one.parent.name} of .* is damaged \\(it does not match its manifest"
                ):
                    berlyne.open_results(place).dataset[one.parent.name].values  # noqa: B018
                one.write_bytes(sound)
                n += 1
            if n > 60:
                break
    assert n > 60


def test_a_whole_piece_in_the_place_of_another_is_detected(place):
    for path in [p for p in place.rglob("*.0.0*") if p.name.startswith(("c.0.0", "seal.0.0"))]:
        other = path.with_name(path.name.replace(".0.0", ".0.1", 1))
        if other.exists():
            a, b = path.read_bytes(), other.read_bytes()
            path.write_bytes(b)
            other.write_bytes(a)
    for use in (study().run, everything):
        with pytest.raises(StoreError, match=r"of (Random|PIG\(VI\)) in worlds maze/000 to maze/001.* is damaged"):
            use(place)


def test_a_piece_of_another_study_is_detected(place, tmp_path):
    study(seed=2).run(tmp_path / "other")
    for path in place.rglob("*.0.1*"):
        shutil.copy(tmp_path / "other" / path.relative_to(place), path)
    for use in (study().run, everything):
        with pytest.raises(StoreError, match=r"of PIG\(VI\) in worlds maze/000 to maze/001 is damaged"):
            use(place)


def test_a_missing_manifest_is_detected_even_if_the_run_was_interrupted(place):
    root = json.loads((place / "zarr.json").read_text())
    del root["attributes"]["explored"]
    forge(place, root)
    everything(place)
    (place / "area" / "seal.0.0").unlink()
    for array in ("area", "state"):
        with pytest.raises(StoreError, match=f"{array} of Random in .* is damaged .its manifest is missing"):
            berlyne.open_results(place).dataset[array].values  # noqa: B018


def forge(place, root):
    """Write a root with a checksum that fits."""
    from berlyne.experiments.schema import checksum

    root["attributes"].pop("checksum", None)
    root["attributes"]["checksum"] = checksum(root)
    (place / "zarr.json").write_text(json.dumps(root))


def test_every_flipped_byte_is_detected_or_harmless(place, healthy):
    """The root, coordinates and labels: reading returns the same values, or an error of one sentence."""
    rng, expected, refused = np.random.default_rng(0), everything(place), []
    paths = [place / "zarr.json", *(place / name / "c.0" for name in ("time", "snapshot", "world", "strategy"))]
    for i in range(200):
        path = paths[i % 2 * rng.integers(len(paths))]
        sound = path.read_bytes()
        content = bytearray(sound)
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        try:
            assert everything(place) == expected
        except StoreError as error:
            refused.append((path.name, str(error).startswith(f"{place} ") and "\n" not in str(error)))
        path.write_bytes(sound)
    assert set(refused) == {("zarr.json", True)} and len(refused) > 80


def test_a_run_does_not_go_on_from_a_damaged_root(place):
    text = (place / "zarr.json").read_text()
    (place / "zarr.json").write_text(text.replace('"seed": 1', '"seed": 3', 1))
    before = files(place)
    message = f"^{place} is damaged: the checksum of its root is wrong; restore its zarr.json from a copy, or use"
    for use in (study(seed=3).run, study().run, everything):
        with pytest.raises(StoreError, match=message):
            use(place)
    assert files(place) == before


HOSTILE = ["../../stolen", "/tmp/stolen-by-berlyne", "state/../../stolen", ".", ""]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_lead_outside_are_refused(place, name):
    root = json.loads((place / "zarr.json").read_text())
    arrays = root["consolidated_metadata"]["metadata"]
    arrays[name] = arrays["state"]
    forge(place, root)
    before = files(place.parent)
    for use in (study().run, lambda p: study().run(p, repair=True), everything):
        with pytest.raises(StoreError, match="which this version of berlyne does not know"):
            use(place)
    assert files(place.parent) == before


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("attributes", "settings", "n_worlds"), 10**18),
        (("attributes", "settings", "worlds", "maze", "n_steps"), 10**8),
        (("attributes", "settings", "snapshots"), None),
        (("attributes", "settings", "measures"), ["../../x"]),
        (("attributes", "settings", "strategies"), ["Random", "Random", "Random"]),
        (("attributes", "settings"), []),
        (("attributes", "versions"), 7),
        (("attributes", "explored"), {"Random": 10**9}),
        (("consolidated_metadata",), None),
        (("consolidated_metadata", "metadata", "area", "shape"), [2**62, 3]),
        (("consolidated_metadata", "metadata", "area", "chunk_grid"), {}),
        (("consolidated_metadata", "metadata", "state", "data_type"), "float64"),
        (("consolidated_metadata", "metadata", "counts", "codecs"), []),
        (("consolidated_metadata", "metadata", "time"), "x"),
    ],
)
def test_a_root_that_contradicts_itself_is_refused_though_its_checksum_fits(place, way, value):
    root = json.loads((place / "zarr.json").read_text())
    holder = root
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = value
    forge(place, root)
    for use in (study().run, everything):
        with pytest.raises(
            StoreError, match=f"^{place} is damaged: the parts of its root contradict each other; restore"
        ):
            use(place)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"attributes": {"berlyne_format": 3}}', "\0" * 50, "null"])
def test_invalid_roots_are_refused(place, text):
    (place / "zarr.json").write_text(text)
    for use in (study().run, everything):
        with pytest.raises(StoreError, match=f"^{place} is (not a store of results|damaged: )"):
            use(place)


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
TIMED = """
import sys, berlyne
sys.path.insert(0, sys.argv[1])
from unit.experiments.studies import study
for place in sys.argv[2:]:
    for use in (lambda: berlyne.open_results(place).dataset.load(), lambda: study().run(place)):
        try:
            use()
            print("nothing")
        except Exception as error:
            print(type(error).__name__, error, flush=True)
"""


@pytest.mark.parametrize("kind", SPECIAL_FILES)
def test_pipes_and_folders_are_refused_without_waiting(healthy, tmp_path, kind):
    names = ["zarr.json", "state/c.0.0.0", "area/c.0.0", "area/seal.0.0", "world/c.0"]
    places = [tmp_path / str(i) for i in range(len(names))]
    for place, name in zip(places, names, strict=True):
        shutil.copytree(healthy, place)
        (place / name).unlink()
        SPECIAL_FILES[kind](place / name)
    asked = [sys.executable, "-c", TIMED, str(Path(__file__).parents[2]), *map(str, places)]
    errors = subprocess.run(asked, capture_output=True, text=True, timeout=90)
    expected = [f"StoreError {p / name} is a {kind}; it must be a file" for p, name in zip(places, names, strict=True)]
    both = [line for line in expected for _ in range(2)]
    both[-2] = "nothing"  # labels are computed, so reading does not use it
    assert errors.stdout.splitlines() == both, errors.stderr


def test_folders_that_are_links_are_not_written_through(place, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(place / "state", outside)
    (place / "state").symlink_to(outside)
    before = files(outside)
    with pytest.raises(
        StoreError, match=f"^{place / 'state'} is a symbolic link, but berlyne needs a directory there; nothing"
    ):
        study(n_worlds=9).run(place)
    assert files(outside) == before


@pytest.mark.parametrize("name", ["zarr.json.partial", "state/c.0.0.0.partial", "area/seal.0.0.partial"])
def test_links_in_the_place_of_partial_files_are_refused(place, tmp_path, name):
    (tmp_path / "notes").write_text("mine")
    (place / name).symlink_to(tmp_path / "notes")
    with pytest.raises(
        StoreError, match=f"^{place / name} is a symbolic link, but berlyne needs a file there; nothing was"
    ):
        study(n_worlds=5).run(place)
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_link_to_nothing_is_no_place(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(StoreError, match=r"link is a broken symbolic link; remove it, or use another directory$"):
        study().run(tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]


def test_the_command_prints_one_sentence_for_damage(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TOML)
    for harm in (
        lambda: (place / "zarr.json").write_text("{"),
        lambda: (place / "zarr.json").unlink(),
        lambda: os.mkfifo(place / "zarr.json"),
    ):
        harm()
        code, output, errors = command("run", "study.toml", "results.zarr")
        assert (code, output) == (1, "") and errors.startswith("berlyne: results.zarr") and errors.count("\n") == 1


def test_a_store_of_an_older_format_is_refused_like_an_unknown_one(place):
    root = json.loads((place / "zarr.json").read_text())
    root["attributes"]["berlyne_format"] = 2
    forge(place, root)
    before = files(place)
    message = (
        rf"^{place} has format 2; this version of berlyne reads format 3, use the version that wrote it \(0\.1\.0\)$"
    )
    for use in (study().run, lambda p: study().run(p, repair=True), everything):
        with pytest.raises(StoreError, match=message):
            use(place)
    assert files(place) == before


def test_a_run_that_is_killed_while_it_replaces_chunks_leaves_nothing_damaged(place, monkeypatch, tmp_path):
    """More worlds come into a block that was not full: old or new, each chunk fits its seal."""
    from berlyne.experiments import store

    expected, write_store_file = everything(place), store.write_store_file
    for i in range(1, 9):
        shutil.rmtree(place)
        study(n_worlds=4).run(place)
        written_paths = []

        def killed(path, content, written_paths=written_paths, i=i):
            written_paths.append(path)
            if len(written_paths) == i:
                raise KeyboardInterrupt
            write_store_file(path, content)

        with monkeypatch.context() as patch:
            patch.setattr(store, "write_store_file", killed)
            with pytest.raises(KeyboardInterrupt):
                study(n_worlds=5).run(place, jobs=1)
        parsed = everything(place)
        assert len(parsed["area"]) > len(expected["area"])  # and no complaint
        made = count_explorations(monkeypatch)
        study(n_worlds=5).run(place, jobs=1)
        assert made
    study(n_worlds=5).run(tmp_path / "at once")
    assert_same_store(place, tmp_path / "at once")
