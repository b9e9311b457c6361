"""Computing pieces on a Dask cluster; results come back to the one writer (the `cluster` extra).

Nothing here waits for ever: it is said what is waited for, and after a while it is given up.
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

from berlyne.experiments.schema import versions
from berlyne.experiments.spec import Experiment
from berlyne.experiments.store import work_unit_name
from berlyne.experiments.work_unit import Layout, WorkUnit, compute_chunks, split_work_units
from berlyne.serialization import StoreError
from berlyne.validation import CLUSTERS

MAX_WORKER_LOSSES = 10
"""How many workers may be lost with a piece before it is given up: it may be what kills them."""
CONNECT_TIMEOUT = 20.0
"""Seconds to wait for a scheduler."""
CLOSE_TIMEOUT = 30.0
"""Seconds to wait for a client, or for local workers, to close."""
WORKER_TIMEOUT = 60.0
"""Seconds to wait for workers, where there are none, and for their answers."""
NOTICE_DELAY = 3.0
"""Seconds of waiting before it is said what for."""
POLL_INTERVAL = 1.0
"""Seconds between looks at whether scheduler and workers are still there."""
UNITS_PER_WORKER = 3
"""Pieces given to each worker ahead of time."""


def compute_on_cluster(
    experiment: Experiment, pieces: list[WorkUnit], layout: Layout, workers: int | None, address: str | None
) -> Generator[tuple[WorkUnit, dict[str, bytes]]]:
    """Pieces as they are finished, by local processes (`workers`) or by the scheduler at `address`.

    Workers need no shared disk. A lost worker costs the time of its piece: Dask gives it to another.
    """
    if not pieces:
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
    # The setting of the scheduler too: a client that does not connect leaves its own there.
    with _quiet(), dask.config.set(settings), contextlib.ExitStack() as opened:
        if address is None:
            address = str(opened.enter_context(_local_cluster(distributed, workers)).scheduler_address)
        there = _Cluster(opened.enter_context(_connected(distributed, address)), distributed.wait, address)
        there.wait_for_workers()
        there.check_workers()
        yield from there.as_finished(experiment, pieces, layout)


@contextmanager
def _local_cluster(distributed: Any, workers: int | None) -> Iterator[Any]:
    """A scheduler and its workers as processes on this machine; they end with the context."""
    local = distributed.LocalCluster.__new__(distributed.LocalCluster)  # first, to have it if the constructor raises
    try:
        local.__init__(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    except BaseException as error:
        with contextlib.suppress(Exception):
            local.close(timeout=CLOSE_TIMEOUT)
        if not isinstance(error, Exception):  # control-C
            raise
        why = _one_line(error.__cause__ or error)  # Dask itself says only that a nanny failed to start
        raise StoreError(f"the local Dask workers could not be started: {why}") from error
    try:
        yield local
    finally:
        try:
            local.close(timeout=CLOSE_TIMEOUT)
        except Exception as error:  # no reason to lose the results, or to hide an error that was raised before
            late = f"did not end within {CLOSE_TIMEOUT:.0f} s"
            why = late if isinstance(error, TimeoutError) else f"could not be closed ({_one_line(error)})"
            print(
                f"berlyne: the local Dask workers {why}; they will end with this process", file=sys.stderr, flush=True
            )


def wait_for_scheduler(address: str) -> None:
    """Wait until something accepts connections at `address`, for `CONNECT_TIMEOUT` seconds at most.

    A client of Dask that cannot connect leaves parts of itself behind, so none is built before this.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as "tcp://host:8786", "tls://host:8786" or "host:8786". Only the client can check
        addresses of other transports.

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
    except (OSError, ValueError, OverflowError):  # the last two: no port, no number, too large, no name of a host
        raise StoreError(f"no Dask scheduler answers at {address}") from None


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """A client of the scheduler at `address`; it is closed with the context, whatever happens."""
    wait_for_scheduler(address)
    client = distributed.Client.__new__(distributed.Client)  # first, to have it if the constructor raises
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
    if raised:  # whatever the transport that the address names is missing, such as certificates
        raise StoreError(f"no Dask scheduler can be reached at {address}: {_one_line(raised[0])}")


def _close(client: Any) -> None:
    """Close a client for certain, also one that is half-built or that does not close in time.

    The destructor of a client that is not closed waits for a lock. If the garbage collector calls it in a thread that
    holds this lock, as any thread does while it starts a loop of Dask, the process hangs.
    """
    try:
        with contextlib.suppress(
            Exception
        ):  # no reason to lose the results, or to hide an error that was raised before
            client.close(timeout=CLOSE_TIMEOUT)
    finally:
        client.status = "closed"  # the destructor returns at once
        runner = getattr(client, "_loop_runner", None)
        if runner is not None:
            with contextlib.suppress(Exception):
                runner.stop()  # a client that raised or that timed out leaves the thread of its loop


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _Cluster:
    """A scheduler and its workers, watched for being there."""

    def __init__(self, client: Any, wait: Any, address: str) -> None:
        self.client, self.wait, self.address = client, wait, address
        self.since: float | None = None
        self.said = False

    def n_threads(self) -> int:
        """Threads of all workers; an error if the scheduler is gone."""
        try:
            cores = self.client.sync(self.client.scheduler.ncores, callback_timeout=WORKER_TIMEOUT)
        except Exception:
            raise self._gone() from None
        if self.client.status != "running":
            raise self._gone()
        return sum(cores.values())

    def _gone(self) -> StoreError:
        return StoreError(
            f"the Dask scheduler at {self.address} went away; what is finished is kept, run again to go on"
        )

    def look(self) -> int:
        """Threads of all workers; if there are none, say so after a while, and give up after a longer one."""
        n, now = self.n_threads(), time.monotonic()
        if n:
            self.since, self.said = None, False
            return n
        self.since = now if self.since is None else self.since
        if now - self.since >= WORKER_TIMEOUT:
            raise StoreError(
                f"the Dask scheduler at {self.address} had no workers for {WORKER_TIMEOUT:.0f} s; start some, and run again"
            )
        if now - self.since >= NOTICE_DELAY and not self.said:
            self.said = True
            waited = f"waiting for workers of the Dask scheduler at {self.address}"
            print(f"berlyne: {waited}, for {WORKER_TIMEOUT:.0f} s at most", file=sys.stderr, flush=True)
        return 0

    def wait_for_workers(self) -> None:
        """Return once there is a worker."""
        while not self.look():
            time.sleep(min(POLL_INTERVAL, WORKER_TIMEOUT / 10))

    def check_workers(self) -> None:
        """An error that names a worker without berlyne, or with other versions: these may give other bits."""

        def installed() -> Any:  # inside, so that it is sent as it is: a worker need not have this module
            import importlib

            try:
                return importlib.import_module("berlyne.experiments.schema").versions()
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        try:
            found = self.client.sync(self.client._run, installed, on_error="return", callback_timeout=WORKER_TIMEOUT)
        except Exception:
            raise StoreError(f"the workers of the Dask scheduler at {self.address} do not answer") from None
        for worker, has in found.items():
            if not isinstance(has, dict):
                raise StoreError(f"the worker at {worker} cannot import berlyne ({has}); install it there")
            _refuse_versions(f"the worker at {worker}", has, versions())

    def as_finished(
        self, experiment: Experiment, pieces: list[WorkUnit], layout: Layout
    ) -> Generator[tuple[WorkUnit, dict[str, bytes]]]:
        """Keep a few pieces ahead of the workers, who may come and go, so that results never pile up."""
        n_threads = self.n_threads()
        waiting, running, here = iter(split_work_units(pieces, n_threads)), dict[Any, WorkUnit](), versions()
        while True:
            for piece in islice(waiting, max(0, UNITS_PER_WORKER * max(1, n_threads) - len(running))):
                running[self.client.submit(compute_on_worker, experiment, piece, layout, here, pure=False)] = piece
            if not running:
                return
            for future in self._finished(list(running)):
                piece = running.pop(future)
                yield piece, self._result(future, work_unit_name(piece, experiment))
            n_threads = self.look()

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Those futures that have come to an end, if any did within the time between two looks."""
        with contextlib.suppress(Exception):  # no time left, or something was cancelled: the futures tell
            self.wait(futures, timeout=POLL_INTERVAL, return_when="FIRST_COMPLETED")
        return [future for future in futures if future.done()]

    def _result(self, future: Any, name: str) -> dict[str, bytes]:
        """What came of a piece; if its worker died with it, another works it out, if there is one."""
        begin = time.monotonic()
        while True:
            try:
                computed: dict[str, bytes] = future.result(timeout=2 * POLL_INTERVAL)
                return computed
            except Exception as error:
                late = not isinstance(error, TimeoutError) and time.monotonic() - begin > WORKER_TIMEOUT
                if future.status == "error" or late:
                    raise StoreError(f"{name} failed on the cluster: {_one_line(error)}") from error
            self.look()  # an error if the scheduler is gone, or all workers are
            time.sleep(POLL_INTERVAL / 10)


def compute_on_worker(
    experiment: Experiment, piece: WorkUnit, layout: Layout, expected: dict[str, str]
) -> dict[str, bytes]:
    """Compute a piece on a worker, if it has the versions of the writer: it may have come after the others."""
    _refuse_versions("the worker", versions(), expected)
    return compute_chunks(experiment, piece, layout)


def _refuse_versions(who: str, has: dict[str, str], expected: dict[str, str]) -> None:
    for name, wanted in expected.items():
        if has.get(name) != wanted:
            raise StoreError(f"{who} has {name} {has.get(name)}, and {wanted} is wanted; install the same versions")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the messages of Dask: what matters in them is told here."""
    logging.getLogger("asyncio").addFilter(_of_others)  # for good: what was given up is complained of much later
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


def _of_others(record: logging.LogRecord) -> bool:
    return "distributed" not in record.getMessage()
