"""Only one process writes at a time, and a lock of a dead process is released."""

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from berlyne import serialization
from berlyne.serialization import StoreError, WriteError, exclusive_lock
from messages import raises
from unit.experiments.studies import study
from waiting import LIMIT, Lines

HOLD = """
import sys, time
from pathlib import Path
from berlyne.serialization import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the store, and its place."""
    place = tmp_path / "results.zarr"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert Lines(process.stdout.fileno()).next() == "held\n"
    yield process, place
    process.kill()
    process.wait(timeout=LIMIT)
    process.stdout.close()


def test_the_error_of_a_second_run_names_the_holder(holder):
    process, place = holder
    with pytest.raises(StoreError) as caught:
        study().run(place)
    message = str(caught.value)
    assert message.startswith(f"{place} is being written by process {process.pid} on {socket.gethostname()} since 20")
    assert message.endswith("; wait for it, or use another path")
    assert not place.exists()


def test_a_dead_holder_does_not_block(holder):
    process, place = holder
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=LIMIT)
    assert json.loads(place.with_name("results.zarr.lock").read_text())["pid"] == process.pid
    assert study().run(place).is_complete
    assert os.listdir(place.parent) == ["results.zarr"]


def test_a_forked_child_does_not_keep_the_lock_of_a_dead_parent(tmp_path):
    place = tmp_path / "results.zarr"
    forks = HOLD.replace("import sys", "import os, sys").replace('print("held"', "if not os.fork(): print(os.getpid()")
    process = subprocess.Popen([sys.executable, "-c", forks, str(place)], stdout=subprocess.PIPE, text=True)
    child = int(Lines(process.stdout.fileno()).next())
    try:
        process.kill()
        process.wait(timeout=LIMIT)
        os.kill(child, 0)  # it is alive
        with exclusive_lock(place):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_nothing_is_left_behind(tmp_path):
    place = tmp_path / "results.zarr"
    with exclusive_lock(place):
        lock_content = json.loads(place.with_name("results.zarr.lock").read_text())
        assert lock_content["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []
    with raises(RuntimeError, "mine"), exclusive_lock(place):
        raise RuntimeError("mine")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_meanwhile_is_taken_again(tmp_path, monkeypatch):
    """A holder removes the file as it ends. Who opened it before that must not keep the nameless one:

    a third process would make a new file, and both would write.
    """
    place, beside = tmp_path / "results.zarr", tmp_path / "results.zarr.lock"
    take = fcntl.flock
    removed = []

    def slowly(handle, operation):
        if not removed:  # between opening and locking, the last holder ends
            removed.append(beside.unlink())
        return take(handle, operation)

    monkeypatch.setattr(fcntl, "flock", slowly)
    with exclusive_lock(place):
        assert removed and beside.exists()
        monkeypatch.setattr(fcntl, "flock", take)
        with raises(StoreError, str(place), "written", f"process {os.getpid()} on"), exclusive_lock(place):
            pass


def test_the_file_is_removed_before_the_lock_is_released(tmp_path, monkeypatch):
    """Or else it could be the file of the next holder, and a third process would lock a new one."""
    place, existed, flock = tmp_path / "results.zarr", [], fcntl.flock

    def recorded(handle, operation):
        if operation == fcntl.LOCK_UN:
            existed.append((tmp_path / "results.zarr.lock").exists())
        return flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", recorded)
    with exclusive_lock(place):
        pass
    assert existed == [False]


def test_never_two_at_once(tmp_path):
    """Eight threads take and leave the lock as fast as they can; flock tells threads apart by their files."""
    place, inside, most, taken = tmp_path / "results.zarr", [], [], []

    def take_turns(me):
        for _ in range(300):
            with contextlib.suppress(StoreError), exclusive_lock(place):
                inside.append(me)
                most.append(len(inside))
                taken.append(threading.get_ident())
                inside.remove(me)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take_turns, range(8)))
    assert set(most) == {1} and len(taken) > 8
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path):
    place, held, errors = tmp_path / "results.zarr", threading.Event(), []

    def wait():
        held.wait(LIMIT)
        try:
            with exclusive_lock(place, timeout=LIMIT):
                pass
        except StoreError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    with exclusive_lock(place):
        held.set()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(LIMIT)
    assert not waiting.is_alive() and errors == [] and list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_lock(tmp_path, monkeypatch):
    """The file is created, but the name of the holder does not fit."""
    place, write = tmp_path / "results.zarr", os.write

    def full(handle, content):
        if os.readlink(f"/proc/self/fd/{handle}").endswith("results.zarr.lock"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, content)

    monkeypatch.setattr(os, "write", full)
    with raises(WriteError, "results.zarr.lock", "no space left", "nothing was changed"), exclusive_lock(place):
        pass
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    with exclusive_lock(place):
        pass


def test_a_lock_creates_no_folder(tmp_path):
    with raises(WriteError, str(tmp_path / "away" / "r.lock"), "does not exist"), exclusive_lock(tmp_path / "away/r"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", [b"", b"[]", b"{", b'{"pid": 1}', b"null", b"\xff", b"[" * 4096])
def test_a_lock_without_a_holder_name(written):
    assert serialization._lock_holder(written) == "another process"


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK])
def test_a_folder_without_locks_is_reported(tmp_path, monkeypatch, number):
    """Also if the system has no flock at all: the file alone would lock the store after its process was killed."""

    def unsupported(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with raises(StoreError, "results.zarr.lock", "cannot be locked", os.strerror(number), "another disk"):
        study().run(tmp_path / "results.zarr")
    assert not (tmp_path / "results.zarr").exists()


def test_two_names_of_a_store_share_one_lock(tmp_path):
    """A link to the store, and a link to the folder it is in."""
    place = tmp_path / "real" / "results.zarr"
    place.parent.mkdir()
    study(n_worlds=1).run(place)
    (tmp_path / "link.zarr").symlink_to(place)
    (tmp_path / "folder").symlink_to(place.parent)
    for other in (tmp_path / "link.zarr", tmp_path / "folder" / "results.zarr"):
        with (
            exclusive_lock(place),
            raises(StoreError, str(other), "written", f"process {os.getpid()}"),
        ):
            study(n_worlds=1).run(other)
        with (
            exclusive_lock(other),
            raises(StoreError, str(place), "written", f"process {os.getpid()}"),
        ):
            study(n_worlds=1).run(place)
    assert study(n_worlds=2).run(tmp_path / "link.zarr").is_complete
    assert sorted(os.listdir(tmp_path)) == ["folder", "link.zarr", "real"]
    assert os.listdir(place.parent) == ["results.zarr"]


@pytest.mark.parametrize("kind", ["link", "link to nothing", "folder", "pipe"])
def test_files_that_are_not_locks_are_not_changed(tmp_path, kind):
    place, beside, notes = tmp_path / "results.zarr", tmp_path / "results.zarr.lock", tmp_path / "notes"
    notes.write_text("mine")
    if kind.startswith("link"):
        beside.symlink_to(notes if kind == "link" else tmp_path / "nothing")
    else:
        os.mkdir(beside) if kind == "folder" else os.mkfifo(beside)
    with raises(StoreError, str(beside), {"folder": "directory", "pipe": "pipe"}.get(kind, "symbolic link"), "a file"):
        study().run(place)
    assert sorted(os.listdir(tmp_path)) == ["notes", "results.zarr.lock"] and notes.read_text() == "mine"


def test_a_foreign_file_is_not_used_as_a_lock(tmp_path):
    (tmp_path / "results.zarr.lock").write_text("combination: 1 2 3")
    with raises(StoreError, "results.zarr.lock", "not a lock of berlyne", "overwritten"):
        study().run(tmp_path / "results.zarr")
    assert (tmp_path / "results.zarr.lock").read_text() == "combination: 1 2 3"
