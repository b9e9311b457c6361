"""Computing pieces on a Dask cluster; results come back to the one writer (the `cluster` extra).

Nothing here waits for ever: it is said what is waited for, and after a while it is given up.
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

from berlyne.experiments.files import StoreError
from berlyne.experiments.metadata import versions
from berlyne.experiments.piece import Layout, Piece, compute_chunks, divided
from berlyne.experiments.settings import Experiment
from berlyne.experiments.store import piece_name
from berlyne.pages import CLUSTERS

LOSSES = 10
"""How many workers may be lost with a piece before it is given up: it may be what kills them."""
PATIENCE = "20s"
"""How long to wait for a scheduler."""
WAIT = 60.0
"""Seconds to wait for workers, where there are none, and for their answers."""
SAY = 3.0
"""Seconds of waiting before it is said what for."""
LOOK = 1.0
"""Seconds between looks at whether scheduler and workers are still there."""
PER_WORKER = 3
"""Pieces given to each worker ahead of time."""


def compute_on_cluster(
    experiment: Experiment, pieces: list[Piece], layout: Layout, workers: int | None, address: str | None
) -> Generator[tuple[Piece, dict[str, bytes]]]:
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
    settings = {"distributed.scheduler.allowed-failures": LOSSES, "scheduler": dask.config.get("scheduler", None)}
    with _quiet(), dask.config.set(settings):  # the scheduler too: a client that does not connect leaves its own there
        local = None
        if address is None:
            local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
        try:
            with _connected(distributed, local, address) as client:
                there = _Cluster(client, distributed.wait, address or client.scheduler.address)
                there.wait_for_workers()
                there.check_workers()
                yield from there.as_finished(experiment, pieces, layout)
        finally:
            if local is not None:
                local.close()


@contextmanager
def _connected(distributed: Any, local: Any, address: str | None) -> Iterator[Any]:
    try:
        client = distributed.Client(local or address, timeout=PATIENCE)
    except (OSError, ValueError):
        raise StoreError(f"no Dask scheduler answers at {address}") from None
    except Exception as error:  # whatever the transport that the address names is missing, such as certificates
        raise StoreError(f"no Dask scheduler can be reached at {address}: {error}") from None
    try:
        yield client
    finally:
        client.close(timeout=2)


class _Cluster:
    """A scheduler and its workers, watched for being there."""

    def __init__(self, client: Any, wait: Any, address: str) -> None:
        self.client, self.wait, self.address = client, wait, address
        self.since: float | None = None
        self.said = False

    def n_threads(self) -> int:
        """Threads of all workers; an error if the scheduler is gone."""
        try:
            cores = self.client.sync(self.client.scheduler.ncores, callback_timeout=WAIT)
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
        if now - self.since >= WAIT:
            raise StoreError(
                f"the Dask scheduler at {self.address} had no workers for {WAIT:.0f} s; start some, and run again"
            )
        if now - self.since >= SAY and not self.said:
            self.said = True
            waited = f"waiting for workers of the Dask scheduler at {self.address}"
            print(f"berlyne: {waited}, for {WAIT:.0f} s at most", file=sys.stderr, flush=True)
        return 0

    def wait_for_workers(self) -> None:
        """Return once there is a worker."""
        while not self.look():
            time.sleep(min(LOOK, WAIT / 10))

    def check_workers(self) -> None:
        """An error that names a worker without berlyne, or with other versions: these may give other bits."""

        def installed() -> Any:  # inside, so that it is sent as it is: a worker need not have this module
            import importlib

            try:
                return importlib.import_module("berlyne.experiments.metadata").versions()
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        try:
            found = self.client.sync(self.client._run, installed, on_error="return", callback_timeout=WAIT)
        except Exception:
            raise StoreError(f"the workers of the Dask scheduler at {self.address} do not answer") from None
        for worker, has in found.items():
            if not isinstance(has, dict):
                raise StoreError(f"the worker at {worker} cannot import berlyne ({has}); install it there")
            _refuse_versions(f"the worker at {worker}", has, versions())

    def as_finished(
        self, experiment: Experiment, pieces: list[Piece], layout: Layout
    ) -> Generator[tuple[Piece, dict[str, bytes]]]:
        """Keep a few pieces ahead of the workers, who may come and go, so that results never pile up."""
        n_threads = self.n_threads()
        waiting, running, here = iter(divided(pieces, n_threads)), dict[Any, Piece](), versions()
        while True:
            for piece in islice(waiting, max(0, PER_WORKER * max(1, n_threads) - len(running))):
                running[self.client.submit(compute_elsewhere, experiment, piece, layout, here, pure=False)] = piece
            if not running:
                return
            for future in self._finished(list(running)):
                piece = running.pop(future)
                yield piece, self._result(future, piece_name(piece, experiment))
            n_threads = self.look()

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Those futures that have come to an end, if any did within the time between two looks."""
        with contextlib.suppress(Exception):  # no time left, or something was cancelled: the futures tell
            self.wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED")
        return [future for future in futures if future.done()]

    def _result(self, future: Any, name: str) -> dict[str, bytes]:
        """What came of a piece; if its worker died with it, another works it out, if there is one."""
        begin = time.monotonic()
        while True:
            try:
                computed: dict[str, bytes] = future.result(timeout=2 * LOOK)
                return computed
            except Exception as error:
                late = not isinstance(error, TimeoutError) and time.monotonic() - begin > WAIT
                if future.status == "error" or late:
                    said = " ".join(str(error).split())
                    raise StoreError(f"{name} failed on the cluster: {said}") from error
            self.look()  # an error if the scheduler is gone, or all workers are
            time.sleep(LOOK / 10)


def compute_elsewhere(
    experiment: Experiment, piece: Piece, layout: Layout, expected: dict[str, str]
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
