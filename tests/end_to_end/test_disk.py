"""A disk that is full or read-only: one sentence, a non-zero exit code, and no data loss."""

import errno
import os
import re
import resource
import shutil
import subprocess

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import berlyne
from berlyne import Dirichlet, Explorer, LabBook, World
from berlyne.experiments import store
from berlyne.figures.figure_data import Drawing
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.stages.base import Stage
from messages import raises
from unit.experiments.studies import assert_same_store, files
from waiting import LIMIT

from .conftest import run as run_command

STUDY = """
worlds = {maze = {side = 4, n_transporters = 6}}
strategies = ["Random", "LTA", "CB", "PIG(greedy)", "PIG(VI)", "Unembodied"]
n_worlds = 20
n_steps = 800
snapshots = [0.5, 1.0]
"""
N_UNITS = 30
"""Blocks of four worlds for each strategy; few of them are being written at any time."""
PAGE = 4096
"""Bytes of a small disk that each begun 4 KiB of a file take."""
NO_SPACE = ": no space left on the device; the file was not changed"
GOES_ON = "; finished runs are kept; fix the problem, then run the same command again\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study where there is room."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "study.toml").write_text(STUDY)
    assert run(folder, "whole.zarr").returncode == 0
    return folder / "whole.zarr"


@pytest.fixture(autouse=True)
def write_study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)


def run(folder, place):
    return run_command("run", "study.toml", str(place), "--jobs", "1", cwd=folder)


def kept(place):
    """The files of a store without those of unfinished work units, whose areas did not fit: they are computed again."""
    content = files(place)
    units = {name: re.search(r"/(?:c|manifest)\.(\d+)\.(\d+)", name) for name in content}
    finished = {unit.groups() for name, unit in units.items() if unit and name.startswith("area/c.")}
    return {name: content[name] for name, unit in units.items() if unit is None or unit.groups() in finished}


def size(place):
    """Bytes that a store takes on a small disk."""
    return sum(-(-len(content) // PAGE) * PAGE for content in files(place).values())


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a tmpfs of a given size in bytes, if permitted. A second call changes its size."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(options):
        options = (
            ["-o", f"remount,{options}", str(folder)]
            if mounted
            else ["-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        )
        if os.geteuid() != 0 or not shutil.which("mount"):
            pytest.skip("only root may mount a small disk")
        done = subprocess.run(["mount", *options], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode and not mounted:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        mounted.append(options)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True, timeout=LIMIT)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_full_disk(tmp_path, small_disk, share, monkeypatch):
    """Whether not even the labels fit, or half of the study does."""
    monkeypatch.setattr(store, "BLOCK", 4)
    whole = tmp_path / "whole.zarr"
    assert run(tmp_path, whole).returncode == 0
    assert len(list((whole / "area").glob("c.*"))) == N_UNITS
    room = 2 * PAGE + int(share * size(whole))
    disk = small_disk(f"size={room}")
    full = run(tmp_path, disk / "r.zarr")
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.startswith(f"berlyne: cannot write {disk}/r.zarr") and full.stderr.endswith(
        f"{NO_SPACE}{GOES_ON}"
    )
    assert full.stderr.count("\n") == 1
    assert not [name for name in files(disk) if "partial" in name or name.endswith("lock")]
    if share == 0.0:
        assert list(disk.iterdir()) == []
    else:
        chunks = list((disk / "r.zarr" / "area").glob("c.*"))
        assert 0 < len(chunks) < N_UNITS
        before = kept(disk / "r.zarr")
        assert run(tmp_path, disk / "r.zarr").returncode == 1  # again, in vain
        assert before.items() <= files(disk / "r.zarr").items()
    small_disk("size=50m")
    assert run(tmp_path, disk / "r.zarr").returncode == 0
    assert_same_store(whole, disk / "r.zarr")


def test_a_limit_on_the_size_of_files(tmp_path, whole):
    """As any user can have it: what is written beyond the limit fails, as on a full disk."""
    largest = max(len(content) for content in files(whole).values())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest // 2, before[1]))
        full = run(tmp_path, "r.zarr")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.startswith("berlyne: cannot write r.zarr/")
    assert full.stderr.endswith(f": the file is larger than the system allows; the file was not changed{GOES_ON}")
    assert not [name for name in files(tmp_path / "r.zarr") if "partial" in name]
    assert run(tmp_path, "r.zarr").returncode == 0
    assert_same_store(whole, tmp_path / "r.zarr")


def test_a_folder_that_cannot_be_written(tmp_path, whole, small_disk):
    if os.geteuid() == 0:  # whom permissions do not stop
        disk = small_disk("size=50m")
    else:
        disk = tmp_path / "locked"
        disk.mkdir()
    shutil.copytree(whole, disk / "there.zarr")
    before = files(disk)
    if os.geteuid() == 0:
        small_disk("ro")
    else:
        disk.chmod(0o500)
    for name in ("new.zarr", "there.zarr"):
        message = run(tmp_path, disk / name)
        assert (message.returncode, message.stdout) == (1, "")
        assert message.stderr in {
            f"berlyne: cannot write {disk / name}.lock: {why}; nothing was changed{GOES_ON}"
            for why in ("the file system is read-only", "permission denied")
        }
    assert files(disk) == before
    read = repr(berlyne.open_results(disk / "there.zarr"))
    assert read == "Results(there.zarr: maze; 120 of 120 explorations)"  # reading needs no lock
    if os.geteuid() != 0:
        disk.chmod(0o700)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "taken").write_text("mine")
    message = run(tmp_path, "taken/r.zarr")
    assert (message.returncode, message.stderr) == (
        1,
        "berlyne: directory taken does not exist, so r.zarr cannot be created in it; create it first\n",
    )
    message = run(tmp_path, "taken")
    assert message.returncode == 1 and message.stderr.startswith("berlyne: taken is not a store of results")
    assert (tmp_path / "taken").read_text() == "mine"


def fill(disk, keep=0):
    """Leave `keep` bytes of a disk, or no more than that."""
    with open(disk / "filler", "wb", buffering=0) as file:
        room = os.statvfs(disk)
        file.write(b"x" * max(room.f_bavail * room.f_frsize - keep, 0))


def others(disk):
    return {name: content for name, content in files(disk).items() if name != "filler"}


def world():
    return World(np.random.default_rng(0).dirichlet(np.ones(60), size=(4, 60)), name="large")


def explorer():
    return Explorer(Dirichlet(1.0, support=np.random.default_rng(0).random((4, 200, 200)) < 0.5))


def save_drawing(place):
    figure = Figure(figsize=(2, 2))
    Drawing(figure, ("x",), [(i,) for i in range(50_000)]).save(place.parent, place.stem)


def save_stage(place):
    paper_run = PaperRun(place.parents[1], 1, 0)
    paper_run.save_stage(Kept(), xr.Dataset({"x": ("n", np.random.default_rng(0).random(100_000))}))


class Kept(Stage):
    """A stage of nothing."""

    name = "kept"

    def compute(self, paper_run, map_items):
        raise NotImplementedError


SAVED = {
    "w.npz": lambda place: world().save(place),
    "w.csv": lambda place: world().save(place),
    "w.parquet": lambda place: world().save(place),
    "e.npz": lambda place: explorer().save(place),
    "page.html": lambda place: berlyne.watch(berlyne.explore(berlyne.maze(0), "Random", n_steps=50), place),
    "drawing.csv": save_drawing,
}


@pytest.mark.parametrize("keep", [0, 4096, 16384])
@pytest.mark.parametrize("name", SAVED)
def test_a_file_that_does_not_fit_is_named_and_the_old_file_stays(name, keep, small_disk):
    disk = small_disk("size=4m")
    place = disk / name
    place.write_bytes(b"old")
    fill(disk, keep)
    with raises(OSError, "cannot write") as caught:
        SAVED[name](place)
    message = str(caught.value)
    assert caught.value.errno == errno.ENOSPC and message.endswith(NO_SPACE) and message.count("\n") == 0
    assert message.startswith(f"cannot write {disk / place.stem}") and place.read_bytes() == b"old"
    assert not [left for left in others(disk) if "partial" in left]
    (disk / "filler").unlink()
    SAVED[name](place)
    assert place.stat().st_size > 16384


def test_a_stage_that_does_not_fit_is_named_and_leaves_no_files(small_disk):
    disk = small_disk("size=2m")
    (disk / "data").mkdir()
    fill(disk, 65536)
    before = others(disk)
    with raises(
        OSError, os.path.join("data", "kept.zarr"), "no space left on the device", "no part of it was kept"
    ) as caught:
        save_stage(disk / "data" / "kept.zarr")
    assert caught.value.errno == errno.ENOSPC and others(disk) == before and os.listdir(disk / "data") == []
    (disk / "filler").unlink()
    save_stage(disk / "data" / "kept.zarr")
    assert os.listdir(disk / "data") == ["kept.zarr"]


COMMANDS = {
    "study.toml": ("init",),
    "curves.png": ("plot", "whole.zarr", "-o"),
    "curves.svg": ("plot", "whole.zarr", "-o"),
    "page.html": ("watch", "maze", "--steps", "20", "-o"),
    "rats.lab": ("lab", "new", "--states", "2", "--actions", "2"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_on_a_full_disk_print_one_sentence(name, request, tmp_path, small_disk):
    folder = request.getfixturevalue("whole").parent if name.startswith("curves") else tmp_path
    disk = small_disk("size=1m")
    fill(disk)
    message = run_command(*COMMANDS[name], str(disk / name), cwd=folder)
    assert (message.returncode, message.stdout) == (1, "")
    lock = f"berlyne: cannot write {disk / name}.lock: no space left on the device; nothing was changed\n"
    assert message.stderr == (lock if name == "rats.lab" else f"berlyne: cannot write {disk / name}{NO_SPACE}\n")
    assert others(disk) == {}


def test_a_line_that_does_not_fit_a_lab_book_is_not_added(small_disk):
    disk = small_disk("size=1m")
    book = LabBook.new(disk / "rats.lab", Dirichlet(1.0, n_states=3, n_actions=2))
    fill(disk, 4096)  # for the lock
    with raises(
        OSError, str(disk / "rats.lab"), "no space left", "the line was not added"
    ):  # it is not known which line does not fit
        for _ in range(1000):
            book.tell(0, 0, 1)
    n_told = book.explorer.n_obs
    assert 0 < n_told < 1000 and LabBook(disk / "rats.lab").explorer.n_obs == n_told
    (disk / "filler").unlink()
    book.tell(0, 0, 2)
    assert LabBook(disk / "rats.lab").explorer.n_obs == n_told + 1
