"""World and explorer files list their members and contain a checksum of all of them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from berlyne import Explorer, World, load_world, maze, serialization
from messages import raises

THETA = np.array([[[0.5, 0.5], [0.0, 1.0]]])
DAMAGED = "w.npz", "not a world", "damaged"


def members(path):
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def test_a_file_lists_its_members_and_has_a_reproducible_checksum(tmp_path):
    World(THETA, start=[0.25, 0.75]).save(tmp_path / "w.npz")
    members_found = members(tmp_path / "w.npz")
    checksum = str(members_found.pop("checksum"))
    listed = json.loads(str(members_found["settings"]))["members"]
    assert listed == {
        name: [array.dtype.str, list(array.shape)] for name, array in members_found.items() if name != "settings"
    }
    assert set(listed) == {"indptr", "indices", "data", "start"}
    text = b""
    for name in sorted(members_found):
        header = json.dumps([name, members_found[name].dtype.str, list(members_found[name].shape)])
        text += header.encode() + b"\n" + members_found[name].tobytes()
    assert checksum == hashlib.sha256(text).hexdigest()


def rewritten(path, change):
    """Other members under the old checksum, each with a sound checksum of its own."""
    members_found = members(path)
    change(members_found)
    np.savez(path, **members_found)


CHANGES = {
    "an optional part is gone": lambda members_found: members_found.pop("start"),
    "there is one part more": lambda members_found: members_found.update(positions=np.zeros((2, 2))),
    "another number": lambda members_found: members_found.update(start=np.array([0.5, 0.5])),
    "another type": lambda members_found: members_found.update(start=members_found["start"].astype("f4")),
    "another shape": lambda members_found: members_found.update(start=members_found["start"].reshape(1, 2)),
    "no checksum": lambda members_found: members_found.pop("checksum"),
    "another checksum": lambda members_found: members_found.update(checksum=np.array("0" * 64)),
    "another name": lambda members_found: members_found.update(
        settings=np.array(str(members_found["settings"]).replace('"name": "world"', '"name": "other"'))
    ),
}


@pytest.mark.parametrize("damage", CHANGES)
def test_any_change_is_refused(damage, tmp_path):
    World(THETA, start=[0.25, 0.75], name="world").save(tmp_path / "w.npz")
    before = members(tmp_path / "w.npz")
    assert load_world(tmp_path / "w.npz").name == "world"
    rewritten(tmp_path / "w.npz", CHANGES[damage])
    after = members(tmp_path / "w.npz")
    assert (
        before.keys() != after.keys()
        or any(before[name].tobytes() != after[name].tobytes() for name in before)
        or (before["start"].shape != after["start"].shape)
    )
    with raises(ValueError, *DAMAGED):
        load_world(tmp_path / "w.npz")


def test_the_cause_names_the_array_that_is_missing(tmp_path):
    World(THETA, start=[0.25, 0.75]).save(tmp_path / "w.npz")
    rewritten(tmp_path / "w.npz", CHANGES["an optional part is gone"])
    with raises(ValueError, *DAMAGED) as caught:
        load_world(tmp_path / "w.npz")
    assert str(caught.value.__cause__) == "the array start is None; it must be ['<f8', [2]]"


def test_memory_order_of_an_array_does_not_matter():
    wide = np.arange(6.0).reshape(2, 3)
    for array in (wide, np.asfortranarray(wide), wide[:, ::-1], np.empty((0, 2)), np.array(3), wide.astype(">f8")):
        file = io.BytesIO()
        serialization.pack_archive(file, {"format": 7, "kind": "test"}, {"it": array})
        file.seek(0)
        settings, arrays = serialization.read_archive(file, "test", (7,))
        assert settings == {"format": 7, "kind": "test"}
        assert np.array_equal(arrays["it"], array) and arrays["it"].dtype == array.dtype


def test_equal_content_gives_equal_bytes():
    files = io.BytesIO(), io.BytesIO()
    for file in files:
        serialization.pack_archive(file, {"format": 7}, {"it": np.arange(5)})
    assert files[0].getvalue() == files[1].getvalue()
    assert [entry.filename for entry in zipfile.ZipFile(files[0]).infolist()] == [
        "settings.npy", "it.npy", "checksum.npy",
    ]  # fmt: skip


def test_explorer_and_world_files_are_not_confused(tmp_path):
    maze(0).save(tmp_path / "w.npz")
    with raises(ValueError, "w.npz", "not an explorer", "damaged"):
        Explorer.load(tmp_path / "w.npz")
    Explorer(maze(0).prior).save(tmp_path / "w.npz")
    with raises(ValueError, *DAMAGED):
        load_world(tmp_path / "w.npz")


@pytest.mark.parametrize("version", [1, 2])
def test_explorers_of_earlier_formats_are_refused_by_number(version, tmp_path):
    Explorer(maze(0).prior).save(tmp_path / "e.npz")
    members_found = members(tmp_path / "e.npz")
    settings = {**json.loads(str(members_found["settings"])), "format": version}
    if version == 1:  # without kind, list of arrays and checksum
        del settings["kind"], settings["members"], members_found["checksum"]
    members_found["settings"] = np.array(json.dumps(settings))
    np.savez(tmp_path / "e.npz", **members_found)
    with raises(ValueError, "e.npz", version, "3"):
        Explorer.load(tmp_path / "e.npz")
