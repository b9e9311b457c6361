"""Files are written completely or not at all, and existing files in their place do no harm."""

import os

from berlyne import serialization
from messages import raises


def test_files_are_replaced_as_a_whole(tmp_path, monkeypatch):
    """Whoever reads sees the old content or the new one; a failure leaves the old one and nothing else."""
    place = tmp_path / "deep" / "down" / "file"
    serialization.write_store_file(place, b"old")
    seen = []
    monkeypatch.setattr(serialization, "_sync", lambda fd: seen.append(place.read_bytes()))
    serialization.write_store_file(place, b"new")
    assert seen == [b"old"] and place.read_bytes() == b"new"

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(serialization, "_sync", full)
    with raises(OSError, "no space", "not changed") as caught:
        serialization.write_store_file(place, b"newer")
    assert (caught.value.filename, caught.value.errno) == (str(place), 28)
    assert [f.read_bytes() for f in place.parent.iterdir()] == [b"new"]


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events = []
    replace = os.replace
    monkeypatch.setattr(serialization, "_sync", lambda fd: events.append("sync"))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    serialization.write_store_file(tmp_path / "file", b"content")
    assert events == ["sync", "rename"]


def test_reading_a_missing_file_returns_none(tmp_path):
    assert serialization.read_file(tmp_path / "nothing") is None


def test_no_more_is_read_than_asked_for(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    assert serialization.read_file(tmp_path / "file", 4) == b"01234"
    assert serialization.read_file(tmp_path / "file" / "below") is None


def test_files_left_by_a_killed_run_are_overwritten(tmp_path):
    (tmp_path / "file.partial").write_bytes(b"half")
    serialization.write_store_file(tmp_path / "file", b"content")
    assert os.listdir(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() == b"content"


def test_links_are_replaced_and_not_followed(tmp_path):
    """In the place of a file; beside it, where the new content is to be written, they are refused."""
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "notes")
    serialization.write_store_file(tmp_path / "file", b"content")
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "file.partial").symlink_to(tmp_path / "notes")
    with raises(serialization.StoreError, "file.partial", "symbolic link"):
        serialization.write_store_file(tmp_path / "file", b"newer")
    assert (tmp_path / "file.partial").is_symlink() and (tmp_path / "notes").read_text() == "mine"
    assert (tmp_path / "file").read_bytes() == b"content"
