"""Files appear whole or not at all, and whatever lies in their place does no harm."""

import os

import pytest

from berlyne.experiments import files


def test_files_are_replaced_as_a_whole(tmp_path, monkeypatch):
    """Whoever reads sees the old content or the new one; a failure leaves the old one and nothing else."""
    place = tmp_path / "deep" / "down" / "file"
    files.put(place, b"old")
    seen = []
    monkeypatch.setattr(files, "_sync", lambda fd: seen.append(place.read_bytes()))
    files.put(place, b"new")
    assert seen == [b"old"] and place.read_bytes() == b"new"

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_sync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        files.put(place, b"newer")
    assert caught.value.filename == str(place)
    assert [f.read_bytes() for f in place.parent.iterdir()] == [b"new"]


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events = []
    replace = os.replace
    monkeypatch.setattr(files, "_sync", lambda fd: events.append("sync"))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    files.put(tmp_path / "file", b"content")
    assert events == ["sync", "rename"]


def test_what_is_not_there_is_none(tmp_path):
    assert files.read(tmp_path / "nothing") is None
