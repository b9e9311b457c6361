"""Files are written completely or not at all, and disk errors are one sentence that names the file."""

from __future__ import annotations

import ast
import errno
import os
import pickle
import resource
import threading
from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, Explorer, World, serialization
from berlyne.serialization import WriteError, atomic_folder, atomic_write, report_write_errors
from messages import raises
from waiting import LIMIT

THETA = np.array([[[0.5, 0.5], [0.0, 1.0]]])
SENTENCES = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than the system allows",
    errno.EIO: "the device reported an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EMFILE: "too many open files",
}


def failing(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


def test_bytes_or_a_function_that_writes_them(tmp_path):
    atomic_write(tmp_path / "a", b"content")
    atomic_write(str(tmp_path / "b"), lambda file: file.write(b"content"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"content"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_the_order_is_file_then_name_then_folder(tmp_path, monkeypatch):
    events, replace, sync = [], os.replace, os.fsync
    monkeypatch.setattr(serialization, "_sync", lambda fd: events.append(("sync", os.fstat(fd).st_size)))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd)))
    atomic_write(tmp_path / "file", b"content")
    assert events == [("sync", 7), "rename", str(tmp_path)]
    events.clear()
    atomic_write(tmp_path / "file", b"content", sync_folder=False)
    assert events == [("sync", 7), "rename"]


@pytest.mark.parametrize("number", SENTENCES)
@pytest.mark.parametrize("reason", ["_sync", "os.replace", "os.open", "fill"])
@pytest.mark.parametrize("locked", [True, False])
def test_a_failing_disk_gives_one_sentence_and_keeps_the_file(number, reason, locked, tmp_path, monkeypatch):
    place = tmp_path / "maze.csv"
    place.write_bytes(b"old")
    content = failing(number) if reason == "fill" else b"new"
    if reason != "fill":
        where, name = (os, reason[3:]) if reason.startswith("os.") else (serialization, reason)
        monkeypatch.setattr(where, name, failing(number))
    with pytest.raises(OSError) as caught:  # noqa: PT011  # the message is compared below
        atomic_write(place, content, locked=locked)
    monkeypatch.undo()
    assert str(caught.value) == f"cannot write {place}: {SENTENCES[number]}; the file was not changed"
    assert (caught.value.errno, caught.value.filename) == (number, str(place))
    assert os.listdir(tmp_path) == ["maze.csv"] and place.read_bytes() == b"old"


def test_the_error_survives_a_journey_between_processes():
    error = pickle.loads(pickle.dumps(WriteError(28, "no space left on the device; the file was not changed", "a.csv")))
    assert type(error) is WriteError and error.errno == 28
    assert str(error) == "cannot write a.csv: no space left on the device; the file was not changed"


def test_an_unsynced_folder_is_reported_only_if_the_disk_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))  # as file systems without this do
    atomic_write(tmp_path / "file", b"one")
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with raises(WriteError, "file", "input/output error", "was written", "power"):
        atomic_write(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_bytes() == b"two"


def test_errors_of_other_files_and_other_errors_stay_what_they_are(tmp_path):
    def reads(file):
        (tmp_path / "file.source").read_bytes()

    with raises(FileNotFoundError, "No such file", "file.source"):
        atomic_write(tmp_path / "file", reads)
    with pytest.raises(ZeroDivisionError):
        atomic_write(tmp_path / "file", lambda file: 1 / 0)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path / "file", lambda file: (file.write(b"half"), (_ for _ in ()).throw(KeyboardInterrupt)))
    assert os.listdir(tmp_path) == []


def test_links_are_replaced_and_never_followed(tmp_path):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "file").symlink_to("notes")
    atomic_write(tmp_path / "file", b"content")
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "file.partial").symlink_to("notes")
    with pytest.raises(FileExistsError):
        atomic_write(tmp_path / "file", b"newer", locked=True)
    assert (tmp_path / "file").read_bytes() == b"content" and (tmp_path / "notes").read_text() == "mine"


def test_folders_pipes_and_devices_are_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with raises(OSError, "folder", "directory of this name"):
        atomic_write(tmp_path / "folder", b"x")
    with raises(FileExistsError, "pipe is a pipe", "name of a file"):
        atomic_write(tmp_path / "pipe", b"x")
    with raises(FileExistsError, "/dev/null", "device"):
        atomic_write("/dev/null", b"x")
    with raises(FileNotFoundError, "x", "away", "create"):
        atomic_write(tmp_path / "away" / "x", b"x")
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]
    atomic_write(tmp_path / "away" / "x", b"x", locked=True, parents=True)
    assert (tmp_path / "away" / "x").read_bytes() == b"x"


@pytest.mark.parametrize("links", [True, False])
def test_nothing_is_overwritten_on_request(links, tmp_path, monkeypatch):
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    atomic_write(tmp_path / "file", b"one", overwrite=False)
    with pytest.raises(FileExistsError):
        atomic_write(tmp_path / "file", b"two", overwrite=False)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        atomic_write(tmp_path / "link", b"two", overwrite=False)
    assert sorted(os.listdir(tmp_path)) == ["file", "link"] and (tmp_path / "file").read_bytes() == b"one"


def test_one_of_several_threads_that_write_a_file_wins(tmp_path):
    """Each has a partial file of its own: none is taken for what a killed process left."""
    contents, failures = [bytes([k]) * 200_000 for k in range(8)], []

    def write(content):
        try:
            for _ in range(5):
                atomic_write(tmp_path / "file", content, sync_folder=False)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if (tmp_path / "file").exists():
            assert (tmp_path / "file").read_bytes() in contents
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    assert failures == [] and os.listdir(tmp_path) == ["file"]


def test_a_folder_is_written_completely_or_not_at_all(tmp_path):
    place = tmp_path / "it"
    with atomic_folder(place, sync=True) as partial:
        (partial / "below").mkdir()
        (partial / "below" / "file").write_bytes(b"one")
        assert not place.exists()
    with raises(OSError, "it", "no space", "none") as caught:  # noqa: SIM117
        with atomic_folder(place, replace=True) as partial, report_write_errors(place, "none", partial):
            raise OSError(28, "No space left on device", str(partial / "below"))
    assert caught.value.errno == 28 and (place / "below" / "file").read_bytes() == b"one"
    with atomic_folder(place, replace=True) as partial:
        (partial / "file").write_bytes(b"two")
    assert os.listdir(tmp_path) == ["it"] and os.listdir(place) == ["file"]
    with raises(OSError, "it", "not empty", "no part"), atomic_folder(place):
        pass
    assert os.listdir(tmp_path) == ["it"] and os.listdir(place) == ["file"]


def large_world():
    """Some 100,000 bytes in any format: more than what files gather before they write."""
    rng = np.random.default_rng(0)
    return World(rng.dirichlet(np.ones(60), size=(4, 60)))


def large_explorer():
    return Explorer(Dirichlet(1.0, support=np.random.default_rng(0).random((4, 200, 200)) < 0.5))


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", "explorer"])
def test_a_limit_on_the_size_of_files_gives_one_sentence(suffix, tmp_path):
    """The system itself refuses to write more, as it does on a full disk."""
    thing = large_explorer() if suffix == "explorer" else large_world()
    place = tmp_path / f"it{suffix}"
    place.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError) as caught:  # noqa: PT011  # the message is compared below
            thing.save(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    message = f"cannot write {place}: the file is larger than the system allows; the file was not changed"
    assert (str(caught.value), caught.value.errno) == (message, errno.EFBIG)
    assert os.listdir(tmp_path) == [place.name] and place.read_bytes() == b"old"
    thing.save(place)
    assert place.stat().st_size > 20_000


def called(tree):
    """Names of all functions and methods that a module calls, with the mode if a file is opened.

    `to_csv` without arguments writes no file, but returns a text.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not ast.unparse(node).endswith(".to_csv()"):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield name, texts


def test_nothing_else_in_the_package_writes_whole_files():
    """Lock files and lines added to a lab book are no whole files; they are opened with r+."""
    package = Path(berlyne.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.name == "serialization.py":
            continue
        for name, texts in called(ast.parse(path.read_text(encoding="utf-8"))):
            assert name not in ("write_bytes", "mkstemp", "to_csv", "fsync", "link"), path
            assert name != "write_text" or path.name == "paper.py", path  # Click's, for a page of help
            assert name != "open" or not any(mode[:1] in "wxa" and len(mode) <= 3 for mode in texts if mode), path


def test_a_failed_folder_is_removed_although_another_thread_goes_on_writing(tmp_path):
    """As threads of Zarr do for a moment after one of them has failed."""
    writing, stop = threading.Event(), threading.Event()

    def write_on(folder: Path) -> None:
        for i in range(1000):
            if stop.is_set():
                return
            (folder / f"{i}").mkdir(parents=True, exist_ok=True)
            writing.set()

    def fail_while_writing() -> None:
        with atomic_folder(tmp_path / "data") as partial:
            thread = threading.Thread(target=write_on, args=(partial,))
            thread.start()
            assert writing.wait(LIMIT)
            threading.Timer(0.05, stop.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_while_writing()
    assert stop.wait(LIMIT) and not list(tmp_path.iterdir())


def test_a_synced_folder_is_durable_with_all_its_names(tmp_path, monkeypatch):
    """Its folders are synced before it gets its name, and the folder around it after that."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(os.readlink(f"/proc/self/fd/{handle}")), fsync(handle))
    )
    with atomic_folder(tmp_path / "place", sync=True) as partial:
        (partial / "inner").mkdir()
        (partial / "inner" / "file").write_text("content")
    assert {*synced[:-1]} >= {str(partial), str(partial / "inner")} and synced[-1] == str(tmp_path)
