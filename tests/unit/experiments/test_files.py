"""Files appear whole or not at all, and whatever lies in their place does no harm."""

import os

import pytest

from berlyne import serialization
from berlyne import serialization as files


def test_files_are_replaced_as_a_whole(tmp_path, monkeypatch):
    """Whoever reads sees the old content or the new one; a failure leaves the old one and nothing else."""
    place = tmp_path / "deep" / "down" / "file"
    files.put(place, b"old")
    seen = []
    monkeypatch.setattr(serialization, "_sync", lambda fd: seen.append(place.read_bytes()))
    files.put(place, b"new")
    assert seen == [b"old"] and place.read_bytes() == b"new"

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(serialization, "_sync", full)
    with pytest.raises(
        OSError, match=r"cannot write \S+: no space left on the device; the file was not changed$"
    ) as caught:
        files.put(place, b"newer")
    assert (caught.value.filename, caught.value.errno) == (str(place), 28)
    assert [f.read_bytes() for f in place.parent.iterdir()] == [b"new"]


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events = []
    replace = os.replace
    monkeypatch.setattr(serialization, "_sync", lambda fd: events.append("sync"))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    files.put(tmp_path / "file", b"content")
    assert events == ["sync", "rename"]


def test_what_is_not_there_is_none(tmp_path):
    assert files.read(tmp_path / "nothing") is None


def test_no_more_is_read_than_asked_for(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    assert files.read(tmp_path / "file", 4) == b"01234"
    assert files.read(tmp_path / "file" / "below") is None


def test_what_a_killed_run_left_is_written_over(tmp_path):
    (tmp_path / "file.partial").write_bytes(b"half")
    files.put(tmp_path / "file", b"content")
    assert os.listdir(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() == b"content"


def test_links_are_replaced_and_not_followed(tmp_path):
    """In the place of a file; beside it, where the new content is to be written, they are refused."""
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "notes")
    files.put(tmp_path / "file", b"content")
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "file.partial").symlink_to(tmp_path / "notes")
    with pytest.raises(files.StoreError, match=r"file\.partial is a symbolic link, not a file of berlyne, so nothing"):
        files.put(tmp_path / "file", b"newer")
    assert (tmp_path / "file.partial").is_symlink() and (tmp_path / "notes").read_text() == "mine"
    assert (tmp_path / "file").read_bytes() == b"content"
