"""Dask clients are always closed, because a half-built client can hang the whole process later.

`Client.__del__` waits for the lock of `LoopRunner`. If the garbage collector runs in a thread that holds this lock, as
it may while a loop is started, the process hangs. The scripts here collect garbage at that moment.
"""

import gc
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from berlyne.experiments import dask as dask_backend
from berlyne.serialization import StoreError
from unit.experiments.dask_garbage import collect_dask_garbage
from unit.experiments.studies import study

__all__ = ["collect_dask_garbage"]
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


def test_a_client_whose_constructor_raises_leaves_nothing_to_collect(tmp_path):
    """There are no certificates, so Dask's client raises a TypeError and does not close itself."""
    code = """
with socket.create_server(("127.0.0.1", 0)) as server:
    address = f"tls://127.0.0.1:{server.getsockname()[1]}"
    for _ in range(3):
        refused(address)
print(len(collected) >= 3)
"""
    first, second, *more, collected = script(REFUSED + code, tmp_path)
    assert first.startswith("no Dask scheduler can be reached at tls://127.0.0.1:") and "TLS" in first
    assert [second, *more] == ["[] 0", first, "[] 0", first, "[] 0"]
    assert collected == "True"


NEVER_CLOSED = """
async def stand_still(client, fast=False):
    await asyncio.sleep(3600)

def fails(run):  # not for the first strategy, which is tried out here
    return 1 / (run.strategy.name != "Unembodied")

distributed.Client._close = stand_still
dask_backend.CLOSE_TIMEOUT = 0.5
local = distributed.LocalCluster(n_workers=1, processes=False, protocol='tcp', dashboard_address=None)
address, before = local.scheduler_address, len(loops())
"""


def test_a_client_that_cannot_be_closed_in_time_is_no_error_and_leaves_nothing_to_collect(tmp_path):
    code = """
for i in range(3):
    results = study().run(f"{folder}/{i}.zarr", cluster=address, progress=False)
    print(results.is_complete, unclosed(), len(loops()) - before)
print(len(collected) >= 3)
local.close()
"""
    assert script(NEVER_CLOSED + code, tmp_path) == ["True [] 0"] * 3 + ["True"]


def test_errors_are_reported_even_if_the_client_cannot_be_closed(tmp_path):
    code = """
try:
    study(measures={"mine": fails}).run(f"{folder}/r.zarr", cluster=address, progress=False)
except StoreError as error:
    print(error)
print(unclosed(), len(loops()) - before)
local.close()
"""
    errors, left = script(NEVER_CLOSED + code, tmp_path)
    assert errors.endswith("failed on the cluster: measures.mine: raised ZeroDivisionError: division by zero")
    assert left == "[] 0"


@pytest.fixture
def all_closed():
    """No test leaves a client that is not closed, or the thread of one."""
    before = set(_loops())
    yield
    assert [c.status for c in gc.get_objects() if issubclass(type(c), CLIENT) and c.status != "closed"] == []
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
    before = {id(one) for one in _sockets()}
    yield made
    assert [one for one in _sockets() if id(one) not in before] == []


def _sockets():
    return [one for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() != -1]


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "127.0.0.1:9", "tcp://[::1]:9", "tcp://127.0.0.1:99999",
                "tcp://127.0.0.1:x", "nonsense", "tcp://", "tls://", "", f"tcp://{'a' * 300}:1"],
)  # fmt: skip
def test_no_client_is_created_if_nothing_listens(tmp_path, address, monkeypatch, built):
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 0.3)
    with pytest.raises(StoreError, match=f"^no Dask scheduler answers at {re.escape(address)}$"):
        study().run(tmp_path / "r.zarr", cluster=address)
    assert built == []


@pytest.mark.parametrize("transport", ["tcp", "tls", "ws", "inproc", "ucx", "none"])
def test_an_address_without_a_scheduler_gives_an_error(tmp_path, transport, monkeypatch, built):
    monkeypatch.setattr(dask_backend, "CONNECT_TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{transport}://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"^no Dask scheduler (answers|can be reached) at {address}"):
            study().run(tmp_path / "r.zarr", cluster=address)
    assert len(built) == 1
    assert dask.config.get("scheduler", None) is None


def test_a_scheduler_that_begins_late_is_waited_for(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tried = threading.Event()
    connect = socket.create_connection

    def create_connection(*arguments, **options):
        try:
            return connect(*arguments, **options)
        except OSError:
            tried.set()
            raise

    monkeypatch.setattr(socket, "create_connection", create_connection)
    waiting = threading.Thread(target=dask_backend.wait_for_scheduler, args=(f"tcp://127.0.0.1:{port}",), daemon=True)
    waiting.start()
    assert tried.wait(timeout=10)
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(10)
        server.accept()[0].close()
        waiting.join(timeout=10)
        assert not waiting.is_alive()


def test_local_processes_that_cannot_start_are_reported(tmp_path, monkeypatch, all_closed):
    async def fails(nanny):
        raise RuntimeError("no room for\nanother process")

    monkeypatch.setattr(distributed.Nanny, "start_unsafe", fails)
    with pytest.raises(StoreError, match=r"^the local Dask workers could not be started: no room for another process$"):
        study().run(tmp_path / "r.zarr", workers=1)


@pytest.mark.parametrize("raised", [False, True])
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
            with pytest.raises(StoreError, match=r"raised ZeroDivisionError: division by zero$"):
                asked.run(tmp_path / "r.zarr", workers=1, progress=False)
        else:
            assert asked.run(tmp_path / "r.zarr", workers=1, progress=False).is_complete
    finally:
        for local in tried:
            close(local, timeout=60)
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("berlyne: ")]  # workers have logs
    assert errors == ["berlyne: the local Dask workers did not end within 30 s; they will end with this process"]
