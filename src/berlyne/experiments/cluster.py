"""Computing pieces on a Dask cluster; results come back to the one writer (the `cluster` extra)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from berlyne.experiments.piece import compute_piece
from berlyne.experiments.settings import Experiment
from berlyne.experiments.store import Piece, StoreError

RETRIES = 10
"""How often a piece is tried again after its worker was lost or failed."""
PER_WORKER = 3
"""Pieces given to each worker ahead of time."""


def compute_on_cluster(
    experiment: Experiment, pieces: list[Piece], workers: int | None, address: str | None
) -> Iterator[tuple[Piece, dict[str, Any]]]:
    """Pieces as they are finished, by local processes (`workers`) or by the scheduler at `address`.

    Workers need no shared disk. A lost worker costs the time of its piece: Dask gives it to another.
    """
    if not pieces:
        return
    try:
        dask: Any = importlib.import_module("dask")
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise StoreError("this needs Dask; install the cluster extra: pip install 'berlyne[cluster]'") from None
    with dask.config.set({"distributed.scheduler.allowed-failures": RETRIES}):
        local = None
        if address is None:
            local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        try:
            client = distributed.Client(local or address, timeout="20s")
        except OSError:
            raise StoreError(f"no Dask scheduler answers at {address}") from None
        try:
            yield from _as_finished(client, distributed.as_completed(), experiment, pieces)
        finally:
            client.close()
            if local is not None:
                local.close()


def _as_finished(
    client: Any, finished: Any, experiment: Experiment, pieces: list[Piece]
) -> Iterator[tuple[Piece, dict[str, Any]]]:
    """Keep a few pieces ahead of the workers, so that results never pile up."""
    waiting = iter(pieces)
    running: dict[str, Piece] = {}

    def submit_next() -> None:
        for piece in waiting:
            where = list(piece.positions)
            future = client.submit(compute_piece, experiment, where, piece.strategy, pure=False, retries=RETRIES)
            running[future.key] = piece
            finished.add(future)
            return

    for _ in range(PER_WORKER * max(1, len(client.scheduler_info()["workers"]))):
        submit_next()
    for future in finished:
        yield running.pop(future.key), future.result()
        submit_next()
