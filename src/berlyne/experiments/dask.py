"""Compute work units on a Dask cluster; results return to the single writer (the `cluster` extra).

All waiting has a time limit, and a message names the cause of a long wait.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from berlyne.experiments.layout import Layout
from berlyne.experiments.schema import versions
from berlyne.experiments.spec import Experiment
from berlyne.experiments.store import work_unit_name
from berlyne.experiments.work_unit import WorkUnit, compute_arrays, split_work_units
from berlyne.serialization import StoreError
from berlyne.validation import CLUSTERS

MAX_WORKER_LOSSES = 10
"""Number of workers that may be lost with a work unit before it fails, because it may be the cause."""
CONNECT_TIMEOUT = 20.0
"""Seconds to wait for a scheduler."""
CLOSE_TIMEOUT = 30.0
"""Seconds to wait for a client, or for local workers, to close."""
WORKER_TIMEOUT = 60.0
"""Seconds to wait for workers if there are none, and for their answers."""
NOTICE_DELAY = 3.0
"""Seconds of waiting before a notice is printed."""
POLL_INTERVAL = 1.0
"""Seconds between checks of scheduler and workers."""
UNITS_PER_WORKER = 3
"""Number of work units submitted to each worker ahead of time."""


def compute_on_cluster(
    experiment: Experiment, units: list[WorkUnit], layout: Layout, workers: int | None, address: str | None
) -> Generator[tuple[WorkUnit, dict[str, Any]]]:
    """Compute work units in local processes or on a cluster.

    Workers need no shared disk. If a worker is lost, Dask gives its work unit to another, so only time is lost.

    Parameters
    ----------
    experiment : Experiment
        The study.
    units : list of WorkUnit
        Work units to compute.
    layout : Layout
        Shapes and types of the arrays.
    workers : int or None
        Number of local processes, if `address` is None.
    address : str or None
        Address of a scheduler.

    Yields
    ------
    tuple of (WorkUnit, dict of str to ndarray)
        A finished work unit and its arrays by name.
    """
    if not units:
        return
    try:
        dask: Any = importlib.import_module("dask")
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise StoreError(f"this needs Dask; in a clone of berlyne: pip install '.[cluster]'{CLUSTERS}") from None
    settings = {
        "distributed.scheduler.allowed-failures": MAX_WORKER_LOSSES,
        "scheduler": dask.config.get("scheduler", None),
    }
    # "scheduler" is set only to restore it: a client that does not connect leaves its own value there.
    with _quiet(), dask.config.set(settings), contextlib.ExitStack() as stack:
        if address is None:
            address = str(stack.enter_context(_local_cluster(distributed, workers)).scheduler_address)
        cluster = _Cluster(stack.enter_context(_connected(distributed, address)), distributed.wait, address)
        cluster.wait_for_workers()
        cluster.check_workers()
        yield from cluster.as_finished(experiment, units, layout)


@contextmanager
def _local_cluster(distributed: Any, workers: int | None) -> Iterator[Any]:
    """Start a scheduler and workers as processes on this machine; they end with the context."""
    # separate from __init__, so that it can be closed if that raises
    local = distributed.LocalCluster.__new__(distributed.LocalCluster)
    try:
        local.__init__(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    except BaseException as error:
        with contextlib.suppress(Exception):
            local.close(timeout=CLOSE_TIMEOUT)
        if not isinstance(error, Exception):  # KeyboardInterrupt
            raise
        reason = _one_line(error.__cause__ or error)  # the error itself says only that a nanny failed to start
        raise StoreError(f"the local Dask workers could not be started: {reason}") from error
    try:
        yield local
    finally:
        try:
            local.close(timeout=CLOSE_TIMEOUT)
        except Exception as error:  # must not lose results or hide an earlier error
            late = f"did not end within {CLOSE_TIMEOUT:.0f} s"
            problem = late if isinstance(error, TimeoutError) else f"could not be closed ({_one_line(error)})"
            print(
                f"berlyne: the local Dask workers {problem}; they will end with this process",
                file=sys.stderr,
                flush=True,
            )


def wait_for_scheduler(address: str) -> None:
    """Wait until something accepts connections at `address`, for `CONNECT_TIMEOUT` seconds at most.

    A Dask client that cannot connect is not cleaned up completely, so call this before making one.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as "tcp://host:8786", "tls://host:8786" or "host:8786". Addresses of other
        transports are not checked here.

    Raises
    ------
    StoreError
        If nothing accepts connections there, or if `address` has no valid host and port.
    """
    comm: Any = importlib.import_module("distributed.comm")
    end = time.monotonic() + CONNECT_TIMEOUT
    try:
        transport, location = comm.parse_address(address)
        if transport not in ("tcp", "tls"):
            return
        host_and_port = comm.parse_host_port(location)
        while True:
            try:
                socket.create_connection(host_and_port, timeout=max(POLL_INTERVAL, end - time.monotonic())).close()
                return
            except OSError:  # it may not have started yet
                if time.monotonic() >= end:
                    raise
            time.sleep(min(POLL_INTERVAL / 10, CONNECT_TIMEOUT))
    except (OSError, ValueError, OverflowError):  # an invalid host or port raises the last two
        raise StoreError(f"no Dask scheduler answers at {address}") from None


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """Connect a client to the scheduler at `address`; it is always closed with the context."""
    wait_for_scheduler(address)
    # separate from __init__, so that it can be closed if that raises
    client = distributed.Client.__new__(distributed.Client)
    try:
        _connect(client, address)
        yield client
    finally:
        _close(client)


def _connect(client: Any, address: str) -> None:
    """Call the constructor of a client in a thread, because it has no time limit once its connection is accepted."""
    raised: list[BaseException] = []

    def construct() -> None:
        try:
            client.__init__(address, timeout=CONNECT_TIMEOUT)
        except BaseException as error:
            raised.append(error)

    constructor = threading.Thread(target=construct, name="berlyne-connect", daemon=True)
    constructor.start()
    constructor.join(timeout=2 * CONNECT_TIMEOUT)  # once for the connection, once for the first answer
    if constructor.is_alive() or (raised and isinstance(raised[0], OSError | ValueError)):
        raise StoreError(f"no Dask scheduler answers at {address}")
    if raised:  # for example, missing certificates of a TLS address
        raise StoreError(f"no Dask scheduler can be reached at {address}: {_one_line(raised[0])}")


def _close(client: Any) -> None:
    """Close a client, even if its constructor failed or if it does not close in time.

    The destructor of an open client waits for a lock. If the garbage collector calls it in a thread that holds this
    lock, as any thread does while it starts an event loop of Dask, the process hangs.
    """
    runner = getattr(client, "_loop_runner", None)
    loop = getattr(runner, "loop", None)
    try:
        with contextlib.suppress(Exception):  # must not lose results or hide an earlier error
            client.close(timeout=CLOSE_TIMEOUT)
    finally:
        client.status = "closed"  # so that the destructor returns at once
        if runner is not None:
            with contextlib.suppress(Exception):
                runner.stop()  # a failed client leaves the thread of its event loop
        if loop is not None and loop.asyncio_loop.is_closed():
            _close_sockets(loop)


def _close_sockets(loop: Any) -> None:
    """Close the sockets of an event loop that has ended; a WebSocket connection that was not answered leaves one."""
    for file, _ in list(loop.handlers.values()):
        file.close()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _Cluster:
    """A connection to a scheduler that checks that scheduler and workers are alive."""

    def __init__(self, client: Any, wait: Any, address: str) -> None:
        self.client, self.wait, self.address = client, wait, address
        self.idle_since: float | None = None
        self.has_notified = False

    def n_threads(self) -> int:
        """Return the number of threads of all workers; raise a `StoreError` if the scheduler does not answer."""
        try:
            cores = self.client.sync(self.client.scheduler.ncores, callback_timeout=WORKER_TIMEOUT)
        except Exception:
            raise self._lost_scheduler() from None
        if self.client.status != "running":
            raise self._lost_scheduler()
        return sum(cores.values())

    def _lost_scheduler(self) -> StoreError:
        return StoreError(
            f"the Dask scheduler at {self.address} does not answer any more; finished results are stored, run again to "
            "resume"
        )

    def poll(self) -> int:
        """Return the number of threads of all workers.

        If there are none, print a notice after `NOTICE_DELAY` and raise a `StoreError` after `WORKER_TIMEOUT`.
        """
        n, now = self.n_threads(), time.monotonic()
        if n:
            self.idle_since, self.has_notified = None, False
            return n
        self.idle_since = now if self.idle_since is None else self.idle_since
        if now - self.idle_since >= WORKER_TIMEOUT:
            raise StoreError(
                f"the Dask scheduler at {self.address} had no workers for {WORKER_TIMEOUT:.0f} s; start some, and run "
                "again"
            )
        if now - self.idle_since >= NOTICE_DELAY and not self.has_notified:
            self.has_notified = True
            notice = f"waiting for workers of the Dask scheduler at {self.address}"
            print(f"berlyne: {notice}, for {WORKER_TIMEOUT:.0f} s at most", file=sys.stderr, flush=True)
        return 0

    def wait_for_workers(self) -> None:
        """Wait until there is a worker."""
        while not self.poll():
            time.sleep(min(POLL_INTERVAL, WORKER_TIMEOUT / 10))

    def check_workers(self) -> None:
        """Raise a `StoreError` if a worker lacks berlyne or has other versions, which may change results."""

        def installed() -> Any:  # a local function is sent by value, so a worker need not have this module
            import importlib

            try:
                return importlib.import_module("berlyne.experiments.schema").versions()
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        try:
            answers = self.client.sync(self.client._run, installed, on_error="return", callback_timeout=WORKER_TIMEOUT)
        except Exception:
            raise StoreError(f"the workers of the Dask scheduler at {self.address} do not answer") from None
        for worker, answer in answers.items():
            if not isinstance(answer, dict):
                raise StoreError(f"the worker at {worker} cannot import berlyne ({answer}); install it there")
            _check_versions(f"the worker at {worker}", answer, versions())

    def as_finished(
        self, experiment: Experiment, units: list[WorkUnit], layout: Layout
    ) -> Generator[tuple[WorkUnit, dict[str, Any]]]:
        """Yield finished work units. Only a few are submitted ahead, so that results do not accumulate."""
        n_threads = self.n_threads()
        waiting, running, expected = iter(split_work_units(units, n_threads)), dict[Any, WorkUnit](), versions()
        while True:
            for unit in islice(waiting, max(0, UNITS_PER_WORKER * max(1, n_threads) - len(running))):
                running[self.client.submit(compute_on_worker, experiment, unit, layout, expected, pure=False)] = unit
            if not running:
                return
            for future in self._finished(list(running)):
                unit = running.pop(future)
                yield unit, self._result(future, work_unit_name(unit, experiment))
            n_threads = self.poll()

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Return the futures that are done, after waiting for at most `POLL_INTERVAL`."""
        with contextlib.suppress(Exception):  # a timeout or a cancelled future; `done` shows which are finished
            self.wait(futures, timeout=POLL_INTERVAL, return_when="FIRST_COMPLETED")
        return [future for future in futures if future.done()]

    def _result(self, future: Any, name: str) -> dict[str, Any]:
        """Return the arrays of a work unit. If its worker died, wait for another to compute it."""
        start = time.monotonic()
        while True:
            try:
                arrays: dict[str, Any] = future.result(timeout=2 * POLL_INTERVAL)
                return arrays
            except Exception as error:
                is_late = not isinstance(error, TimeoutError) and time.monotonic() - start > WORKER_TIMEOUT
                if future.status == "error" or is_late:
                    raise StoreError(f"{name} failed on the cluster: {_one_line(error)}") from error
            self.poll()  # raises an error if the scheduler or all workers are lost
            time.sleep(POLL_INTERVAL / 10)


def compute_on_worker(
    experiment: Experiment, unit: WorkUnit, layout: Layout, expected: dict[str, str]
) -> dict[str, Any]:
    """Compute a work unit on a worker. Its versions are checked, because it may have joined after the first check."""
    _check_versions("the worker", versions(), expected)
    return compute_arrays(experiment, unit, layout)


def _check_versions(worker: str, installed: dict[str, str], expected: dict[str, str]) -> None:
    for name, version in expected.items():
        if installed.get(name) != version:
            raise StoreError(
                f"{worker} has {name} {installed.get(name)}, but the writer has {version}; install the same versions"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log messages of Dask; errors that matter are raised here."""
    logging.getLogger("asyncio").addFilter(_is_not_dask)  # permanently: complaints about cancelled tasks come later
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in {"distributed", *names}]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _is_not_dask(record: logging.LogRecord) -> bool:
    return "distributed" not in record.getMessage()
