"""Running a study: what is missing, on all cores, into one store.

Pieces are computed by threads (the kernels release the GIL), by local processes or by a Dask
cluster, and come back to the one writer. Numbers depend on none of this.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from berlyne.experiments.manifests import REPAIR_HINT
from berlyne.experiments.progress import progress_reporter
from berlyne.experiments.results import Results, load_results
from berlyne.experiments.shard import Shard, parse_shard
from berlyne.experiments.spec import Experiment, SettingsError
from berlyne.experiments.store import Store, StoreError, WorkUnit, work_unit_name
from berlyne.experiments.work_unit import ProgressCallback, UnfinishedWorkUnitError, compute_chunks, split_work_units
from berlyne.serialization import exclusive_lock
from berlyne.validation import check_count

Computed = tuple[WorkUnit, dict[str, bytes]]

WRITERS = 4
"""Threads that wait for the disk, so that computing does not."""


def run_experiment(
    experiment: Experiment,
    path: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    repair: bool = False,
    progress: bool | None = None,
    shard: str | Shard | None = None,
) -> Results:
    """Run what the store at `path` lacks of a study, and open the results.

    Parameters
    ----------
    jobs : threads; by default as many as there are cores.
    workers : compute in this many local processes instead (the `cluster` extra).
    cluster : compute on the Dask scheduler at this address instead, such as "tcp://scheduler:8786".
    repair : compute damaged pieces again instead of refusing to go on.
    progress : show progress bars, or nothing; by default bars in a terminal, and elsewhere a line every half minute.
    shard : run only this part of the worlds, such as "3/10", into a store of its own; `merge` joins them.
    """
    if sum(way is not None for way in (jobs, workers, cluster)) > 1:
        raise SettingsError("only one of jobs, workers and cluster can be given")
    n_threads = _n_cores() if jobs is None else check_count("jobs", jobs, 1)
    n_processes = None if workers is None else check_count("workers", workers, 1)
    place = Path(path)
    if not place.name or not place.parent.is_dir():
        raise StoreError(f"there is no folder {place.parent} to put {place.name or 'results'} into")
    part = None if shard is None else parse_shard(shard)
    with exclusive_lock(place):
        store = Store.open(place, experiment, part)
        _check(store, repair)
        pieces = store.missing()
        with progress_reporter(store.experiment, pieces, progress) as explored:
            if n_processes is not None or cluster is not None:
                from berlyne.experiments.dask import compute_on_cluster

                elsewhere = compute_on_cluster(store.experiment, pieces, store.layout, n_processes, cluster)
                computed = _as_they_come(elsewhere, explored)
            else:
                computed = _compute_in_threads(store, pieces, explored, n_threads)
            with closing(computed):
                _write_as_they_come(store, computed)
        store.finish()
    return load_results(place, experiment)


def _as_they_come(computed: Generator[Computed], explored: ProgressCallback) -> Generator[Computed]:
    """Pieces from elsewhere, of which it is known only now that they are explored."""
    with closing(computed):
        for piece, chunks in computed:
            for position in piece.positions:
                explored(position)
            yield piece, chunks


def _n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(store: Store, repair: bool) -> None:
    """Notice damage; mend it only when asked."""
    damaged = list(store.iter_damaged())
    if damaged and not repair:
        piece, array, flaw = damaged[0]
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise StoreError(
            f"{store.path}: {array} of {work_unit_name(piece, store.experiment)}{more} {flaw}; {REPAIR_HINT}"
        )
    for piece, *_ in damaged:
        store.discard(piece)


def _compute_in_threads(
    store: Store, pieces: list[WorkUnit], explored: ProgressCallback, jobs: int
) -> Generator[Computed]:
    """Pieces in whatever order they are finished; never many more in memory than there are threads."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "berlyne-explore") as pool:
        running: dict[Future[dict[str, bytes]], WorkUnit] = {}
        waiting = iter(split_work_units(pieces, jobs))
        try:
            while True:
                for piece in waiting:
                    asked = store.experiment, piece, store.layout, stop, explored
                    running[pool.submit(compute_chunks, *asked)] = piece
                    if len(running) > jobs:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                ended = {future: running.pop(future) for future in list(running) if future in finished}
                for future, piece in ended.items():
                    yield from _computed(future, piece)
                for future in ended:  # failures last
                    _raise_failure(future)
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _computed(future: Future[dict[str, bytes]], piece: WorkUnit) -> Generator[Computed]:
    """A computed piece; if an environment failed in it, the explorations before that, if there are any."""
    failure = future.exception()
    if failure is None:
        yield piece, future.result()
    elif isinstance(failure, UnfinishedWorkUnitError) and failure.positions:
        yield replace(piece, positions=failure.positions), failure.chunks


def _raise_failure(future: Future[dict[str, bytes]]) -> None:
    failure = future.exception()
    if isinstance(failure, UnfinishedWorkUnitError):
        raise failure.error from failure.error.__cause__
    if failure is not None:
        raise failure


def _write_as_they_come(store: Store, computed: Iterable[Computed]) -> None:
    """Write pieces while the next ones are computed."""
    with ThreadPoolExecutor(WRITERS, "berlyne-write") as pool:
        writing: set[Future[None]] = set()
        for piece, chunks in computed:
            writing.add(pool.submit(store.write, piece, chunks))
            if len(writing) > WRITERS:
                _finish(writing, FIRST_COMPLETED)
        _finish(writing)


def _finish(writing: set[Future[None]], until: str = ALL_COMPLETED) -> None:
    for future in wait(writing, return_when=until).done:
        writing.remove(future)
        future.result()
