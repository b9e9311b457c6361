"""A disk that is full or cannot be written: one sentence, a non-zero exit, nothing lost."""

import os
import resource
import shutil
import subprocess
import sys

import pytest

from unit.experiments.studies import assert_same_store, files
from waiting import LIMIT

STUDY = """
worlds = {maze = {side = 4, n_transporters = 6}}
strategies = ["Random", "LTA", "CB", "PIG(greedy)", "PIG(VI)", "Unembodied"]
n_worlds = 60
n_steps = 800
snapshots = [0.5, 1.0]
"""
GOES_ON = "; what is finished is kept, run the same command again once this is mended\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study where there is room."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "study.toml").write_text(STUDY)
    assert run(folder, "whole.zarr").returncode == 0
    return folder / "whole.zarr"


@pytest.fixture(autouse=True)
def asked(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)


def run(folder, place, **options):
    command = [sys.executable, "-m", "berlyne", "run", "study.toml", str(place), "--jobs", "1"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **options, timeout=LIMIT)


def size(place):
    return sum(len(content) for content in files(place).values())


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a tmpfs of so many bytes, if this user may; call it again to change its size."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(options):
        how = (
            ["-o", f"remount,{options}", str(folder)]
            if mounted
            else ["-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        )
        if os.geteuid() != 0 or not shutil.which("mount"):
            pytest.skip("only root may mount a small disk")
        done = subprocess.run(["mount", *how], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode and not mounted:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        mounted.append(options)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True, timeout=LIMIT)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_full_disk(tmp_path, whole, small_disk, share):
    """Whether not even the labels fit, or most of the study does."""
    room = 8192 + int(share * size(whole))
    disk = small_disk(f"size={room}")
    full = run(tmp_path, disk / "r.zarr")
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.startswith("berlyne: No space left on device: ") and full.stderr.endswith(GOES_ON)
    assert full.stderr.count("\n") == 1
    assert not [name for name in files(disk) if "partial" in name or name.endswith("lock")]
    if share == 0.0:
        assert list(disk.iterdir()) == []
    else:
        found = list((disk / "r.zarr" / "area").glob("c.*"))
        assert len(found) < 6
        kept = files(disk)
        assert run(tmp_path, disk / "r.zarr").returncode == 1  # again, in vain
        assert kept.items() <= files(disk).items()
    small_disk("size=50m")
    assert run(tmp_path, disk / "r.zarr").returncode == 0
    assert_same_store(whole, disk / "r.zarr")


def test_a_limit_on_the_size_of_files(tmp_path, whole):
    """As any user can have it: what is written beyond the limit fails, as on a full disk."""
    largest = max(len(content) for content in files(whole).values())
    limit = largest // 2

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    full = run(tmp_path, "r.zarr", preexec_fn=limited)
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.startswith("berlyne: File too large: r.zarr/") and full.stderr.endswith(GOES_ON)
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
        told = run(tmp_path, disk / name)
        assert (told.returncode, told.stdout) == (1, "")
        assert told.stderr in {
            f"berlyne: {why}: {disk / name}.lock{GOES_ON}" for why in ("Read-only file system", "Permission denied")
        }
    assert files(disk) == before
    reads = "import berlyne, sys; print(berlyne.open_results(sys.argv[1]))"
    read = subprocess.run(
        [sys.executable, "-c", reads, str(disk / "there.zarr")], capture_output=True, text=True, timeout=LIMIT
    )
    assert read.stdout == "Results(there.zarr: maze; 360 of 360 explorations)\n"  # reading needs no lock
    if os.geteuid() != 0:
        disk.chmod(0o700)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "taken").write_text("mine")
    told = run(tmp_path, "taken/r.zarr")
    assert (told.returncode, told.stderr) == (1, "berlyne: there is no folder taken to put r.zarr into\n")
    told = run(tmp_path, "taken")
    assert (told.returncode, told.stderr) == (1, "berlyne: taken is not a store of results\n")
    assert (tmp_path / "taken").read_text() == "mine"
