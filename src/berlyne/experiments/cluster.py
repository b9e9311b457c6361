"""Computing pieces on a Dask cluster; results come back to the one writer (the `cluster` extra)."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from itertools import islice
from typing import Any

from berlyne.experiments.files import StoreError
from berlyne.experiments.metadata import versions
from berlyne.experiments.piece import Layout, Piece, compute_chunks, divided
from berlyne.experiments.settings import Experiment
from berlyne.experiments.store import piece_name

LOSSES = 10
"""How many workers may be lost with a piece before it is given up: it may be what kills them."""
PATIENCE = "20s"
"""How long to wait for a scheduler."""
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
        raise StoreError("this needs Dask; install the cluster extra: pip install 'berlyne[cluster]'") from None
    with dask.config.set({"distributed.scheduler.allowed-failures": LOSSES}):
        local = None
        if address is None:
            local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
        try:
            client = distributed.Client(local or address, timeout=PATIENCE)
        except (OSError, ValueError):
            raise StoreError(f"no Dask scheduler answers at {address}") from None
        try:
            yield from _as_finished(client, distributed.as_completed(), experiment, pieces, layout)
        finally:
            client.close()
            if local is not None:
                local.close()


def _as_finished(
    client: Any, finished: Any, experiment: Experiment, pieces: list[Piece], layout: Layout
) -> Generator[tuple[Piece, dict[str, bytes]]]:
    """Keep a few pieces ahead of the workers, who may come and go, so that results never pile up."""
    waiting = iter(divided(pieces, len(client.nthreads())))
    running: dict[str, Piece] = {}
    here = versions()

    def submit_some() -> None:
        room = PER_WORKER * max(1, len(client.nthreads())) - len(running)
        for piece in islice(waiting, max(0, room)):
            future = client.submit(compute_elsewhere, experiment, piece, layout, here, pure=False)
            running[future.key] = piece
            finished.add(future)

    submit_some()
    for future in finished:
        piece = running.pop(future.key)
        try:
            computed = future.result()
        except Exception as error:
            raise StoreError(f"{piece_name(piece, experiment)} failed on the cluster: {error}") from error
        yield piece, computed
        submit_some()


def compute_elsewhere(
    experiment: Experiment, piece: Piece, layout: Layout, expected: dict[str, str]
) -> dict[str, bytes]:
    """Compute a piece on a worker, if it has the versions of the writer: others may give other bits."""
    mine = versions()
    for name, wanted in expected.items():
        if mine[name] != wanted:
            raise StoreError(f"the worker has {name} {mine[name]}, and {wanted} is wanted; install the same versions")
    return compute_chunks(experiment, piece, layout)
