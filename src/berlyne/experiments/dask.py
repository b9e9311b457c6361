"""Compute work units on a Dask cluster; results return to the single writer (the `cluster` extra).

All waiting has a time limit, and a message names the cause of a long wait.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
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
    # separate from __init__, so that it can be closed if that is interrupted; Dask itself does this for errors only
    local = distributed.LocalCluster.__new__(distributed.LocalCluster)
    try:
        local.__init__(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    except KeyboardInterrupt:
        with contextlib.suppress(Exception):
            local.close(timeout=CLOSE_TIMEOUT)
        raise
    except Exception as error:
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
            _notify(f"the local Dask workers {problem}; they will end with this process")


def wait_for_scheduler(distributed: Any, address: str) -> None:
    """Wait until a Dask server answers at `address`; Dask tries again for `CONNECT_TIMEOUT` seconds.

    A client that cannot connect is not cleaned up completely, so call this before making one.

    Parameters
    ----------
    distributed : module
        The package distributed.
    address : str
        Address of the scheduler, such as "tcp://host:8786", "tls://host:8786" or "host:8786".

    Raises
    ------
    StoreError
        If no Dask server answers there, or if `address` is not valid.
    """

    async def connect() -> None:
        security = distributed.Security().get_connection_args("client")
        (await distributed.comm.connect(address, timeout=CONNECT_TIMEOUT, **security)).abort()

    runner = distributed.utils.LoopRunner()
    runner.start()
    try:  # the second time limit is for the first answer, for which Dask would wait without end
        distributed.utils.sync(runner.loop, connect, callback_timeout=2 * CONNECT_TIMEOUT)
    except Exception as error:
        raise _no_scheduler(address, error) from None
    finally:
        _stop(runner)


def _no_scheduler(address: str, error: Exception) -> StoreError:
    if isinstance(error, OSError | ValueError | OverflowError):  # an invalid host or port raises the last two
        return StoreError(f"no Dask scheduler answers at {address}")
    # for example, missing certificates of a TLS address
    return StoreError(f"no Dask scheduler can be reached at {address}: {_one_line(error)}")


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """Connect a client to the scheduler at `address`; it is always closed with the context."""
    wait_for_scheduler(distributed, address)
    # separate from __init__, so that it can be closed if that raises
    client = distributed.Client.__new__(distributed.Client)
    try:
        try:
            client.__init__(address, timeout=CONNECT_TIMEOUT)
        except Exception as error:  # for example, the address of a worker
            raise _no_scheduler(address, error) from error
        yield client
    finally:
        _close(client)


def _close(client: Any) -> None:
    """Close a client, even if its constructor failed or if it does not close in time.

    The destructor of an open client waits for a lock. If the garbage collector calls it in a thread that holds this
    lock, as any thread does while it starts an event loop of Dask, the process hangs.
    """
    try:
        with contextlib.suppress(Exception):  # must not lose results or hide an earlier error
            client.close(timeout=CLOSE_TIMEOUT)
    finally:
        client.status = "closed"  # so that the destructor returns at once
        _stop(client._loop_runner)


def _stop(runner: Any) -> None:
    """End the thread of an event loop, and close the sockets of connections that were not answered."""
    with contextlib.suppress(Exception):
        loop = runner.loop
        runner.stop()
        for file, _ in list(loop.handlers.values()):
            file.close()


def _notify(message: str) -> None:
    print(f"berlyne: {message}", file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _Cluster:
    """A connection to a scheduler that checks that scheduler and workers are alive."""

    def __init__(self, client: Any, wait: Any, address: str) -> None:
        self.client, self.wait, self.scheduler = client, wait, f"the Dask scheduler at {address}"

    def n_threads(self) -> int:
        """Return the number of threads of all workers; raise a `StoreError` if the scheduler does not answer."""
        try:
            cores = self.client.sync(self.client.scheduler.ncores, callback_timeout=WORKER_TIMEOUT)
        except Exception:
            raise self._lost() from None
        if self.client.status != "running":
            raise self._lost()
        return sum(cores.values())

    def _lost(self) -> StoreError:
        return StoreError(
            f"{self.scheduler} does not answer any more; finished results are stored, run again to resume"
        )

    def wait_for_workers(self) -> int:
        """Return the number of threads of all workers, as soon as there are any.

        Print a notice after `NOTICE_DELAY` without workers, and raise a `StoreError` after `WORKER_TIMEOUT`.
        """
        if (n_threads := self.n_threads()) or self._has_worker(NOTICE_DELAY):
            return n_threads or self.n_threads()
        _notify(f"waiting for workers of {self.scheduler}, for {WORKER_TIMEOUT:.0f} s at most")
        if not self._has_worker(WORKER_TIMEOUT - NOTICE_DELAY):
            raise StoreError(f"{self.scheduler} had no workers for {WORKER_TIMEOUT:.0f} s; start some, and run again")
        return self.n_threads()

    def _has_worker(self, timeout: float) -> bool:
        """Return whether there is a worker within `timeout` seconds."""
        try:
            # Dask does not limit the time for an answer of the scheduler
            self.client.sync(self.client._wait_for_workers, 1, timeout, callback_timeout=timeout + WORKER_TIMEOUT)
        except TimeoutError:
            return False
        except Exception:
            raise self._lost() from None
        return True

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
            raise StoreError(f"the workers of {self.scheduler} do not answer") from None
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
            with contextlib.suppress(Exception):  # a timeout or a cancelled future; `done` shows which are finished
                self.wait(list(running), timeout=POLL_INTERVAL, return_when="FIRST_COMPLETED")
            for future in [future for future in running if future.done()]:
                unit = running.pop(future)
                yield unit, self._result(future, work_unit_name(unit, experiment))
            n_threads = self.wait_for_workers()

    def _result(self, future: Any, name: str) -> dict[str, Any]:
        """Return the arrays of a work unit. If its worker died, wait for another to compute it."""
        end = time.monotonic() + WORKER_TIMEOUT
        while True:
            try:
                arrays: dict[str, Any] = future.result(timeout=2 * POLL_INTERVAL)
                return arrays
            except Exception as error:
                is_late = not isinstance(error, TimeoutError) and time.monotonic() > end
                if future.status == "error" or is_late:
                    raise StoreError(f"{name} failed on the cluster: {_one_line(error)}") from error
            self.wait_for_workers()  # raises an error if the scheduler or all workers are lost
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
