"""Results are bitwise equal on one thread, several threads and processes, also if a worker is lost."""

import gc
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from functools import partial

import pytest

from amounts import amount
from berlyne.experiments import dask as dask_backend
from berlyne.experiments import store, work_unit
from berlyne.experiments.schema import versions
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments.dask_garbage import collect_dask_garbage, earlier_objects_frozen
from unit.experiments.studies import assert_same_store, command, forget_worlds, study
from waiting import LIMIT, wait_until

__all__ = ["collect_dask_garbage", "earlier_objects_frozen"]
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


LOCAL = []
"""The cluster of `local`, if it runs."""


@pytest.fixture(autouse=True)
def all_closed(collect_dask_garbage):
    """No test leaves a client that is not closed: its destructor could stop a later test for ever."""
    yield
    assert [c.status for c in gc.get_objects() if type(c) is distributed.Client and c.status != "closed"] == []


@pytest.fixture
def blocks(monkeypatch):
    """Pieces of four worlds: fifteen or thirty-nine of them below."""
    monkeypatch.setattr(store, "BLOCK", 4)


def larger(**changes):
    return study(n_worlds=amount(9, 25), strategies=["Random", "PIG(VI)", "Unembodied"], **changes)


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
@pytest.mark.parametrize("whose", amount(["a cluster's"], ["a cluster's", "our own"]))
def test_a_worker_that_is_killed_costs_time_but_no_result(tmp_path, request, whose):
    """One of two processes is killed with SIGKILL as soon as it has work; its nanny starts another."""
    waiting = larger(measures={"waited": partial(_wait_for, str(tmp_path / "a process was killed"))})
    killed = []
    if whose == "our own":
        options, working = {"workers": 2}, _spawned
    else:
        local = request.getfixturevalue("local")
        options = {"cluster": local.scheduler_address}

        def working():
            # not the default one: two that take turns as such leave neither, and a mark that says there is one
            with distributed.Client(local, set_as_default=False) as watcher:
                busy = watcher.processing()
            return [worker.pid for worker in local.workers.values() if busy.get(worker.worker_address)]

    def kill_one():
        pids = []
        wait_until(
            lambda: (any(tmp_path.glob("killed/area/c.*")) and pids.extend(working())) or pids, "work", pause=0.02
        )
        killed.append(pids[0])
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "a process was killed").touch()

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting.run(tmp_path / "killed", **options)
    killer.join(timeout=LIMIT)
    assert len(killed) == 1 and not _is_alive(killed[0])
    waiting.run(tmp_path / "one", jobs=2)
    assert_same_store(tmp_path / "one", tmp_path / "killed")


def _spawned():
    """Processes of this one that are workers; those of `local` are not ours to kill."""
    import psutil

    others = [worker.pid for worker in LOCAL[0].workers.values()] if LOCAL else []
    mine = psutil.Process().children(recursive=True)
    return [p.pid for p in mine if p.pid not in others and any("spawn_main" in word for word in p.cmdline())]


def _wait_for(path, run):
    """A measure that is there once the file at `path` is; the first strategy does not wait for it."""
    wait_until(lambda: run.strategy.name == "Random" or os.path.exists(path), "the kill")
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
    failure = ("failed on the cluster", "measures.mine", "ZeroDivisionError", "of mine")
    with raises(StoreError, "in worlds", "/001 to", "/001", *failure) as caught:
        own.run(tmp_path / "r.zarr", cluster=local.scheduler_address)
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)
    assert study(measures={"mine": lambda run: 0.0}, n_worlds=2).run(tmp_path / "r.zarr").is_complete


def test_workers_with_other_versions_are_refused(tmp_path, local, monkeypatch):
    names = ("has numba", versions()["numba"], "the writer has", "0.1", "install the same versions")
    with raises(StoreError, "the worker", *names):
        dask_backend.compute_on_worker(study(), None, None, {"numba": "0.1"})  # on one that came late
    monkeypatch.setattr(dask_backend, "versions", lambda: {"numba": "0.1"})
    with raises(StoreError, "the worker at tcp://", *names):
        study().run(tmp_path / "r.zarr", cluster=local.scheduler_address)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "nonsense", "tcp://", "inproc://", "inproc://a/1/2", "tls://"]
)
def test_a_scheduler_that_does_not_answer(tmp_path, address, monkeypatch):
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 1.0)
    with raises(StoreError, "no Dask scheduler answers", f"at {address}"):
        study().run(tmp_path / "r.zarr", cluster=address)
    assert dask.config.get("scheduler", None) is None  # or else nothing that Dask does here would work any more


@pytest.mark.parametrize("address", ["tls://127.0.0.1:9", "ucx://a:1"])
def test_a_scheduler_that_needs_more_than_an_address(tmp_path, address, monkeypatch):
    """Certificates, or a transport that is not installed."""
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 1.0)
    with raises(StoreError, "no Dask scheduler", f"at {address}"):
        study().run(tmp_path / "r.zarr", cluster=address)


SCHEDULER = "from distributed.cli.dask_scheduler import main; main(['--port', '{}', '--no-dashboard'])"
WORKER = (
    "from distributed.cli.dask_worker import main; "
    "main(['tcp://127.0.0.1:{}', '--no-nanny', '--no-dashboard', '--nthreads', '1'])"
)
WITHOUT_US = "import sys; sys.modules['berlyne'] = None; "
STUDY = """
worlds = {maze = {side = 3, n_transporters = 4}}
strategies = ["Random", "PIG(VI)"]
n_worlds = 3000
n_steps = 100
"""


@pytest.fixture
def start():
    """Starts processes of a cluster, which end with the test."""
    started = []

    def start(code):
        asked = [sys.executable, "-c", code]
        started.append(subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(timeout=LIMIT)


def wait_for(address, n_workers):
    """Wait until the scheduler answers and has `n_workers` workers."""
    with distributed.Client(address, timeout=120, set_as_default=False) as watcher:
        if n_workers:
            watcher.wait_for_workers(n_workers, timeout=120)


@pytest.fixture
def use(tmp_path, monkeypatch):
    """The command that uses the scheduler at an address."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return lambda address: command("run", "study.toml", "r.zarr", "--cluster", address)


@pytest.fixture
def no_workers():
    """The address of a scheduler in this process that has no workers."""
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as running:
        yield running.scheduler_address


def test_waiting_for_workers_has_a_limit(no_workers, use, monkeypatch):
    monkeypatch.setattr(dask_backend, "WORKER_TIMEOUT", 2.0)
    monkeypatch.setattr(dask_backend, "NOTICE_DELAY", 0.5)
    code, _, errors = use(no_workers)
    assert code == 1
    assert errors.splitlines() == [
        f"berlyne: waiting for workers of the Dask scheduler at {no_workers}, for 2 s at most",
        f"berlyne: the Dask scheduler at {no_workers} had no workers for 2 s; start some, and run again",
    ]


def test_workers_without_berlyne_are_named_before_work_begins(no_workers, use, start):
    start(WITHOUT_US + WORKER.format(no_workers.rsplit(":", 1)[1]))
    wait_for(no_workers, 1)
    code, _, errors = use(no_workers)
    assert code == 1
    *waited, last = errors.splitlines()
    assert re.fullmatch(r"berlyne: the worker at tcp://\S+ cannot import berlyne \(.*\); install it there", last), (
        errors
    )
    assert len(waited) <= 1 and all("waiting for workers" in line for line in waited)


def test_lost_workers_and_schedulers_are_reported(start, use, tmp_path, monkeypatch):
    """The only worker is killed after the first piece, and in a second run the scheduler."""
    monkeypatch.setattr(store, "BLOCK", 2)
    monkeypatch.setattr(dask_backend, "NOTICE_DELAY", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, scheduler = f"tcp://127.0.0.1:{port}", start(SCHEDULER.format(port))

    def run_and_kill(process, timeout):
        """Run until a process is killed when there are new pieces; what is printed."""
        before = n_pieces()

        def kill():
            wait_until(lambda: n_pieces() > before, "a piece", pause=0.02)
            monkeypatch.setattr(dask_backend, "WORKER_TIMEOUT", timeout)  # only now: workers take a while to begin
            process.kill()

        monkeypatch.setattr(dask_backend, "WORKER_TIMEOUT", LIMIT)
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        code, _, errors = use(address)
        killer.join(timeout=LIMIT)
        *waited, last = errors.splitlines()
        assert code == 1 and all("waiting for workers" in line for line in waited), errors
        assert before < n_pieces() < 3000
        assert not (tmp_path / "r.zarr.lock").exists()
        return last

    def n_pieces():
        return len(list(tmp_path.glob("r.zarr/area/c.*")))

    ends = {
        "worker": "had no workers for 1 s; start some, and run again",
        "scheduler": "does not answer any more; finished results are stored, run again to resume",
    }
    for who, end in ends.items():
        worker = start(WORKER.format(port))
        wait_for(address, 1)
        last = run_and_kill(worker, 1.0) if who == "worker" else run_and_kill(scheduler, LIMIT)
        assert last == f"berlyne: the Dask scheduler at {address} {end}", who


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with raises(StoreError, "this needs Dask", "pip install '.[cluster]'", "see docs"):
        study().run(tmp_path / "r.zarr", workers=2)
    assert study().run(tmp_path / "r.zarr").is_complete


def test_nothing_to_compute_needs_no_cluster(tmp_path):
    study().run(tmp_path / "r.zarr")
    assert study().run(tmp_path / "r.zarr", cluster="tcp://127.0.0.1:9").is_complete


@pytest.mark.usefixtures("blocks")
def test_threads_share_worlds_or_not(tmp_path, monkeypatch):
    """Worlds that are forgotten at once and drawn again give the same bits."""
    larger().run(tmp_path / "kept", jobs=2)
    monkeypatch.setattr(work_unit, "_WORLD_CACHE", work_unit._WorldCache(max_worlds=1))
    larger().run(tmp_path / "drawn again", jobs=2)
    assert_same_store(tmp_path / "kept", tmp_path / "drawn again")
