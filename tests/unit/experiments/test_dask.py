"""Dask clients are always closed, because a half-built client can hang the whole process later.

`Client.__del__` waits for the lock of `LoopRunner`. If the garbage collector runs in a thread that holds this lock, as
it may while a loop is started, the process hangs. The scripts here collect garbage at that moment.
"""

import gc
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
import zarr

from amounts import amount
from berlyne.experiments import dask as dask_backend
from berlyne.serialization import StoreError
from messages import raises
from unit.experiments.dask_garbage import collect_dask_garbage, earlier_objects_frozen
from unit.experiments.studies import study

__all__ = ["collect_dask_garbage", "earlier_objects_frozen"]
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

CLIENT = distributed.Client
LIMIT = 150
"""Seconds for each script. Each takes less than ten on an idle machine; beside twelve busy loops, one took 88."""

COLLECT = """
import asyncio, faulthandler, gc, logging, os, socket, sys, threading, warnings
import distributed
from berlyne.experiments import dask as dask_backend
from berlyne.serialization import StoreError
from unit.experiments.studies import study

faulthandler.dump_traceback_later({limit}, exit=True)
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)  # Dask notes that the connection of such a client was not closed
gc.disable()  # only here:
start, collected = threading.Thread.start, []

def collect_and_start(thread):
    if distributed.utils.LoopRunner._lock.locked():
        collected.append(gc.collect())
    start(thread)

threading.Thread.start = collect_and_start
folder = sys.argv[1]

def unclosed():
    return [c.status for c in gc.get_objects() if type(c) is distributed.Client and c.status != "closed"]

def loops():
    return [thread for thread in threading.enumerate() if thread.name.startswith("IO loop")]
"""

REFUSED = """
def refused(address):
    try:
        study().run(folder + "/r.zarr", cluster=address, progress=False)
    except StoreError as error:
        print(error)
    print(unclosed(), len(loops()))
"""


def script(code, folder):
    """Run a script and return its output. A hang is a failure with the stacks of all threads."""
    python_path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", COLLECT.format(limit=LIMIT) + code, str(folder)],
        env={**os.environ, "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        timeout=LIMIT + 30,  # the script ends itself before, and tells more
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


NOT_CONSTRUCTED = """
with socket.create_server(("127.0.0.1", 0)) as server:
    address = f"tls://127.0.0.1:{server.getsockname()[1]}"
    for _ in range(3):
        refused(address)
print(len(collected) >= 3)
"""

NEVER_CLOSED = """
async def stand_still(client, fast=False):
    await asyncio.sleep(3600)

def fails(run):  # not for the first strategy, which is tried out here
    return 1 / (run.strategy.name != "Unembodied")

distributed.Client._close = stand_still
dask_backend.CLOSE_TIMEOUT = 0.5
local = distributed.LocalCluster(n_workers=1, processes=False, protocol='tcp', dashboard_address="127.0.0.1:0")
address, before = local.scheduler_address, len(loops())
collected.clear()
for i in range({n}):
    results = study().run(f"{{folder}}/{{i}}.zarr", cluster=address, progress=False)
    print(results.is_complete, unclosed(), len(loops()) - before)
print(len(collected) >= {n})
try:
    study(measures={{"mine": fails}}).run(f"{{folder}}/fails.zarr", cluster=address, progress=False)
except StoreError as error:
    print(error)
print(unclosed(), len(loops()) - before)
local.close()
"""
N = amount(1, 3)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What one process prints; it imports Dask once for all of this."""
    return script(REFUSED + NOT_CONSTRUCTED + NEVER_CLOSED.format(n=N), tmp_path_factory.mktemp("scripts"))


def test_a_client_whose_constructor_raises_leaves_nothing_to_collect(printed):
    """There are no certificates, so Dask's client raises a TypeError and does not close itself."""
    first, second, *more, collected = printed[:7]
    assert first.startswith("no Dask scheduler can be reached at tls://127.0.0.1:") and "TLS" in first
    assert [second, *more] == ["[] 0", first, "[] 0", first, "[] 0"]
    assert collected == "True"


def test_a_client_that_cannot_be_closed_in_time_is_no_error_and_leaves_nothing_to_collect(printed):
    assert printed[7:-2] == ["True [] 0"] * N + ["True"]


def test_errors_are_reported_even_if_the_client_cannot_be_closed(printed):
    errors, left = printed[-2:]
    assert errors.endswith("failed on the cluster: measures.mine: raised ZeroDivisionError: division by zero")
    assert left == "[] 0"


@pytest.fixture
def all_closed():
    """No test leaves a client that is not closed, or the thread of one."""
    before = set(_loops())
    yield
    assert [client.status for client in _instances(CLIENT) if client.status != "closed"] == []
    assert set(_loops()) <= before


def _loops():
    return [thread for thread in threading.enumerate() if thread.name.startswith("IO loop")]


@pytest.fixture
def built(monkeypatch, all_closed):
    """How many clients were built. They leave no open sockets."""
    made = []

    class Counted(distributed.Client):
        def __init__(self, *arguments, **options):
            made.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(distributed, "Client", Counted)
    zarr.group(zarr.storage.MemoryStore())  # starts the event loop of Zarr, which remains
    before = {id(one) for one in _sockets()}
    yield made
    assert [one for one in _sockets() if id(one) not in before] == []


def _sockets():
    return [one for one in _instances(socket.socket) if one.fileno() != -1]


def _instances(kind):
    """All objects of a class. There are millions of objects, so each class is looked at once."""
    objects = gc.get_objects()
    # `isinstance` would ask a dead weak proxy for its class, which raises
    kinds = {one for one in set(map(type, objects)) if issubclass(one, kind)}
    return [one for one in objects if type(one) in kinds] if kinds else []


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "127.0.0.1:9", "tcp://[::1]:9", "tcp://127.0.0.1:99999",
                "tcp://127.0.0.1:x", "nonsense", "tcp://", "tls://", "", f"tcp://{'a' * 300}:1"],
)  # fmt: skip
def test_no_client_is_created_if_nothing_listens(tmp_path, address, monkeypatch, built):
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 0.3 if address.startswith("tls") else 0.1)
    problem = "can be reached" if address == "tls://127.0.0.1:9" else "answers"  # there are no certificates
    with raises(StoreError, "no Dask scheduler", problem, f"at {address}"):
        study().run(tmp_path / "r.zarr", cluster=address)
    assert built == []


@pytest.mark.parametrize("transport", ["tcp", "tls", "ws", "inproc", "ucx", "none"])
def test_an_address_without_a_scheduler_gives_an_error(tmp_path, transport, monkeypatch, built):
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{transport}://127.0.0.1:{server.getsockname()[1]}"
        with raises(StoreError, "no Dask scheduler", f"at {address}"):
            study().run(tmp_path / "r.zarr", cluster=address)
    assert built == []
    assert dask.config.get("scheduler", None) is None


def test_a_scheduler_that_begins_late_is_waited_for(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tried, answered = threading.Event(), []
    connect = distributed.comm.tcp.TCPConnector.connect

    async def recorded(*arguments, **options):
        try:
            return await connect(*arguments, **options)
        except OSError:
            tried.set()
            raise

    def wait():
        dask_backend.wait_for_scheduler(distributed, f"tcp://127.0.0.1:{port}")
        answered.append(True)

    monkeypatch.setattr(distributed.comm.tcp.TCPConnector, "connect", recorded)
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert tried.wait(LIMIT)
    with distributed.LocalCluster(n_workers=0, processes=False, scheduler_port=port, dashboard_address="127.0.0.1:0"):
        waiting.join(LIMIT)
        assert answered == [True]


def test_the_address_of_a_worker_gives_an_error(tmp_path, monkeypatch, all_closed):
    """It answers as a scheduler does, but does not accept clients."""
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 2.0)
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as local:
        address = local.workers[0].address
        with raises(StoreError, "no Dask scheduler", f"at {address}"):
            study().run(tmp_path / "r.zarr", cluster=address)


def test_local_processes_that_cannot_start_are_reported(tmp_path, monkeypatch, all_closed):
    async def fails(nanny):
        raise RuntimeError("no room for\nanother process")

    monkeypatch.setattr(distributed.Nanny, "start_unsafe", fails)
    with raises(StoreError, "local Dask workers could not be started", "no room for another process"):
        study().run(tmp_path / "r.zarr", workers=1)


def test_local_processes_end_if_their_start_is_interrupted(tmp_path, monkeypatch, all_closed):
    """As with Ctrl-C in a notebook, whose process goes on."""
    sync, before = distributed.LocalCluster.sync, set(psutil.Process().children(recursive=True))

    def interrupted(local, function, *arguments, **options):
        result = sync(local, function, *arguments, **options)
        if function.__name__ == "_correct_state":  # all have been started
            assert set(psutil.Process().children(recursive=True)) - before
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(distributed.LocalCluster, "sync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study().run(tmp_path / "r.zarr", workers=1)
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [process.cmdline() for process in left if any("spawn_main" in word for word in process.cmdline())]


@pytest.mark.parametrize("raised", amount([True], [False, True]))
def test_local_processes_that_do_not_end_are_reported_and_mask_no_error(
    tmp_path, monkeypatch, capfd, raised, all_closed
):
    close, tried = distributed.LocalCluster.close, []

    def late(local, timeout=None):
        tried.append(local)
        raise TimeoutError

    monkeypatch.setattr(distributed.LocalCluster, "close", late)
    asked = study(n_worlds=1, measures={"mine": lambda run: 1 / (not raised or run.strategy.name != "Unembodied")})
    try:
        if raised:
            with raises(StoreError, "mine", "ZeroDivisionError", "division by zero"):
                asked.run(tmp_path / "r.zarr", workers=1, progress=False)
        else:
            assert asked.run(tmp_path / "r.zarr", workers=1, progress=False).is_complete
    finally:
        for local in tried:
            close(local, timeout=60)
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("berlyne: ")]  # workers have logs
    assert errors == ["berlyne: the local Dask workers did not end within 30 s; they will end with this process"]
