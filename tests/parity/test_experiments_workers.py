"""Who computes changes no bit: one thread, several, processes; and a lost worker costs time only."""

import os
import signal
import threading
import time
import warnings

import pytest

from berlyne.experiments import cluster as dask_cluster
from berlyne.experiments import piece, store
from berlyne.experiments.files import StoreError
from unit.experiments.studies import assert_same_store, forget_worlds, study

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


LOCAL = []
"""The cluster of `local`, if it runs."""


@pytest.fixture
def blocks(monkeypatch):
    """Pieces of four worlds: thirty-nine of them below."""
    monkeypatch.setattr(store, "BLOCK", 4)


def larger(**changes):
    return study(n_worlds=25, strategies=["Random", "PIG(VI)", "Unembodied"], **changes)


@pytest.fixture(scope="module")
def local():
    """A real cluster of two processes."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as running:
        LOCAL.append(running)
        yield running
        LOCAL.clear()


@pytest.mark.usefixtures("blocks")
def test_threads_and_processes_give_the_same_bits(tmp_path, local):
    larger().run(tmp_path / "one", jobs=1)
    forget_worlds()
    larger().run(tmp_path / "two", jobs=2)
    forget_worlds()
    larger().run(tmp_path / "eight", jobs=8)
    larger().run(tmp_path / "cluster", cluster=local.scheduler_address)
    for other in ("two", "eight", "cluster"):
        assert_same_store(tmp_path / "one", tmp_path / other)


def test_local_processes_of_our_own(tmp_path):
    """`workers` starts a cluster and ends it; few pieces are divided among the processes."""
    study(n_worlds=8, strategies=["PIG(VI)"]).run(tmp_path / "processes", workers=2)
    study(n_worlds=8, strategies=["PIG(VI)"]).run(tmp_path / "thread", jobs=1)
    assert_same_store(tmp_path / "thread", tmp_path / "processes")


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("whose", ["a cluster's", "our own"])
def test_a_worker_that_is_killed_costs_time_but_no_result(tmp_path, request, whose):
    """One of two processes is killed with SIGKILL as soon as it has work; its nanny starts another."""
    slow, killed = larger(measures={"slept": _sleep}), []
    if whose == "our own":
        how, working = {"workers": 2}, _spawned
    else:
        local = request.getfixturevalue("local")
        how = {"cluster": local.scheduler_address}

        def working():
            with distributed.Client(local) as watcher:
                busy = watcher.processing()
            return [worker.pid for worker in local.workers.values() if busy.get(worker.worker_address)]

    def kill_one():
        while not any(tmp_path.glob("killed/area/c.*")) or not working():
            time.sleep(0.02)
        killed.append(working()[0])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slow.run(tmp_path / "killed", **how)
    killer.join(timeout=30)
    assert len(killed) == 1 and not _is_alive(killed[0])
    slow.run(tmp_path / "one", jobs=2)
    assert_same_store(tmp_path / "one", tmp_path / "killed")


def _spawned():
    """Processes of this one that are workers; those of `local` are not ours to kill."""
    import psutil

    others = [worker.pid for worker in LOCAL[0].workers.values()] if LOCAL else []
    mine = psutil.Process().children(recursive=True)
    return [p.pid for p in mine if p.pid not in others and any("spawn_main" in word for word in p.cmdline())]


def _sleep(run):
    """A measure that takes its time, so that there is time to be killed."""
    time.sleep(0.01)
    return 0.0


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_error_of_a_piece_comes_back_with_its_name(tmp_path, local):
    def fails(run):
        raise ZeroDivisionError("of mine")

    own = study(measures={"mine": lambda run: 0.0}, n_worlds=1)
    own.run(tmp_path / "r.zarr")
    own = study(measures={"mine": fails}, n_worlds=2)
    message = r"^\S+ in worlds \S+/001 to \S+/001 failed on the cluster: of mine$"
    with pytest.raises(StoreError, match=message) as caught:
        own.run(tmp_path / "r.zarr", cluster=local.scheduler_address)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert study(measures={"mine": lambda run: 0.0}, n_worlds=2).run(tmp_path / "r.zarr").is_complete


def test_workers_with_other_versions_are_refused(tmp_path, local, monkeypatch):
    monkeypatch.setattr(dask_cluster, "versions", lambda: {"numba": "0.1"})
    with pytest.raises(
        StoreError, match=r"failed on the cluster: the worker has numba \S+, and 0\.1 is wanted; install"
    ):
        study().run(tmp_path / "r.zarr", cluster=local.scheduler_address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "tcp://"])
def test_a_scheduler_that_does_not_answer(tmp_path, address, monkeypatch):
    monkeypatch.setattr(dask_cluster, "PATIENCE", "1s")
    with pytest.raises(StoreError, match=f"^no Dask scheduler answers at {address}$"):
        study().run(tmp_path / "r.zarr", cluster=address)


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(
        StoreError, match=r"^this needs Dask; install the cluster extra: pip install 'berlyne\[cluster\]'$"
    ):
        study().run(tmp_path / "r.zarr", workers=2)
    assert study().run(tmp_path / "r.zarr").is_complete


def test_nothing_to_compute_needs_no_cluster(tmp_path):
    study().run(tmp_path / "r.zarr")
    assert study().run(tmp_path / "r.zarr", cluster="tcp://127.0.0.1:9").is_complete


@pytest.mark.usefixtures("blocks")
def test_threads_share_worlds_or_not(tmp_path, monkeypatch):
    """Worlds that are forgotten at once and drawn again give the same bits."""
    larger().run(tmp_path / "kept", jobs=2)
    monkeypatch.setattr(piece, "_RECENT", piece._RecentWorlds(most=1))
    larger().run(tmp_path / "drawn again", jobs=2)
    assert_same_store(tmp_path / "kept", tmp_path / "drawn again")
