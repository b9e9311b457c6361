"""A power cut loses whatever was not synced, in any order; the store is then resumed as if the run had been killed.

`Disk` records what is on the disk for certain: the content of a file when it was synced, and the names in a folder when
the folder was synced. At the power cut, each other change of a name is kept or lost at random, because renames in
different folders have no order.
"""

import os
import threading

import numpy as np
import pytest

from amounts import amount
from berlyne.experiments import store
from berlyne.experiments.merge_stores import merge
from unit.experiments.studies import assert_same_store, count_explorations, put_finished, study

N_CUTS = amount(8, 24)
"""Number of power cuts in each test, at moments from the first sync to the last."""


class PowerCut(BaseException):
    """The power has failed; no process goes on."""


class Disk:
    """Records syncs of files and folders below `root`, and fails at sync number `n_syncs`."""

    def __init__(self, root, monkeypatch, n_syncs):
        self.root, self.n_left, self.lock = root, n_syncs, threading.Lock()
        self.files, self.folders, self.handles = {}, {}, []
        for folder, _, names in os.walk(root):
            self._record(folder)
            for name in names:
                self._record(os.path.join(folder, name))
        for sync in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, sync, self._sync)
        monkeypatch.setattr("berlyne.serialization._sync", self._sync)

    def _sync(self, handle):
        with self.lock:
            if self.n_left == 0:
                raise PowerCut
            self.n_left -= 1
            self._record(f"/proc/self/fd/{handle}")

    def _record(self, path):
        inode = os.stat(path).st_ino
        if inode not in self.files.keys() | self.folders.keys():
            self.handles.append(os.open(path, os.O_RDONLY))  # or else its inode could become that of another file
        if os.path.isdir(path):
            self.folders[inode] = self._names(path)
        else:
            with open(path, "rb") as file:
                self.files[inode] = file.read()

    @staticmethod
    def _names(path):
        return {entry.name: (entry.inode(), entry.is_dir(follow_symlinks=False)) for entry in os.scandir(path)}

    def restore(self, target, rng):
        """Write what the disk contains when the power is back."""
        self._restore_folder(os.stat(self.root).st_ino, self.root, target, rng)
        self.close()

    def close(self):
        for handle in self.handles:
            os.close(handle)

    def _restore_folder(self, inode, path, target, rng):
        durable = self.folders.get(inode, {})
        current = self._names(path) if path is not None and os.path.isdir(path) else {}
        target.mkdir()
        for name in sorted(durable.keys() | current.keys()):
            entry = (current if rng.random() < 0.5 else durable).get(name)
            if entry is None:
                continue
            here = os.path.join(path, name) if path is not None and current.get(name) == entry else None
            if entry[1]:
                self._restore_folder(entry[0], here, target / name, rng)
            else:
                (target / name).write_bytes(self.files.get(entry[0], b""))


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setattr(store, "BLOCK", 3)


SMALL = {"n_worlds": 3, "strategies": ["Random", "Unembodied"], "snapshots": (1.0,)}


def small(**changes):
    return study(**{**SMALL, **changes})


def count_syncs(folder, use):
    """The number of syncs that `use` makes."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(folder, patch, 10**9)
        use(folder)
        disk.close()
        return 10**9 - disk.n_left


def cut_power(folder, use, n_syncs, rng):
    """Return the folder as it is after a power cut at sync `n_syncs`, and the explorations that were written before."""
    folder.mkdir(exist_ok=True)
    written, write = [], store.Store.write

    def recorded(opened, unit, arrays):
        write(opened, unit, arrays)
        written.extend(unit.positions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.Store, "write", recorded)
        disk = Disk(folder, patch, n_syncs)
        with pytest.raises(PowerCut):
            use(folder)
        restored = folder.with_name(f"{folder.name} restored")
        disk.restore(restored, rng)
    return restored, written


def cut_power_after(folder, use, rng):
    """Return the folder as it is after a power cut as soon as `use` has returned."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(folder, patch, 10**9)
        use(folder)
        disk.restore(folder.with_name(f"{folder.name} restored"), rng)
    return folder.with_name(f"{folder.name} restored")


@pytest.mark.parametrize(
    "use",
    [lambda folder, shards: small().run(folder / "r", jobs=1), lambda folder, shards: merge(folder / "r", shards)],
)
def test_results_are_on_the_disk_when_a_run_or_a_merge_returns(tmp_path, use):
    shards = [tmp_path / f"shard-{k}" for k in (1, 2)]
    for k, shard in enumerate(shards, start=1):
        put_finished(shard, f"{k}/2", **SMALL)
    put_finished(tmp_path / "whole", **SMALL)
    for seed in range(amount(2, 3)):
        folder = cut_power_after(tmp_path / str(seed), lambda folder: use(folder, shards), _rng(seed))
        assert_same_store(folder / "r", tmp_path / "whole")


@pytest.mark.parametrize("jobs", amount([1], [1, 3]))
def test_a_run_is_resumed_after_a_power_cut(tmp_path, monkeypatch, jobs):
    put_finished(tmp_path / "whole", **SMALL)
    n_syncs, rng = count_syncs(tmp_path / "counted", lambda folder: small().run(folder / "r", jobs=jobs)), _rng(jobs)
    n_written = []
    for cut in np.linspace(0, n_syncs - 1, N_CUTS, dtype=int).tolist():
        folder, written = cut_power(tmp_path / str(cut), lambda folder: small().run(folder / "r", jobs=jobs), cut, rng)
        with monkeypatch.context() as patch:
            made = count_explorations(patch)
            small().run(folder / "r", jobs=1)  # without a complaint
        assert len(made) <= 12 - len(written)  # what was written is not computed again
        assert_same_store(folder / "r", tmp_path / "whole")
        n_written.append(len(written))
    assert len(set(n_written)) > 2


def test_a_block_that_grows_is_resumed_after_a_power_cut(tmp_path):
    """Chunks are replaced by larger ones: each is the old or the new one, and either is valid."""

    def begin(folder):
        folder.mkdir(exist_ok=True)
        small(n_worlds=2).run(folder / "r", jobs=1)

    put_finished(tmp_path / "whole", **SMALL)
    begin(tmp_path / "begun")
    n_syncs = count_syncs(tmp_path / "counted", lambda folder: (begin(folder), small().run(folder / "r", jobs=1)))
    n_syncs -= count_syncs(tmp_path / "counted begin", begin)
    rng = _rng(7)
    for cut in np.linspace(0, n_syncs - 1, N_CUTS, dtype=int).tolist():
        begin(tmp_path / str(cut))
        folder, _ = cut_power(tmp_path / str(cut), lambda folder: small().run(folder / "r", jobs=1), cut, rng)
        small().run(folder / "r", jobs=1)
        assert_same_store(folder / "r", tmp_path / "whole")


def test_a_merge_is_there_completely_or_not_at_all_after_a_power_cut(tmp_path):
    shards = [tmp_path / f"shard-{k}" for k in (1, 2)]
    for k, shard in enumerate(shards, start=1):
        put_finished(shard, f"{k}/2", **SMALL)
    put_finished(tmp_path / "whole", **SMALL)
    n_syncs, rng = count_syncs(tmp_path / "counted", lambda folder: merge(folder / "m", shards)), _rng(3)
    for cut in np.linspace(0, n_syncs - 1, N_CUTS, dtype=int).tolist():
        folder, _ = cut_power(tmp_path / str(cut), lambda folder: merge(folder / "m", shards), cut, rng)
        if not (folder / "m").exists():
            merge(folder / "m", shards)
        assert_same_store(folder / "m", tmp_path / "whole")


def _rng(seed):
    return np.random.default_rng(seed)
