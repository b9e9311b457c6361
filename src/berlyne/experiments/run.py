"""Running a study: what is missing, on all cores, into one store.

Pieces are computed by threads (the kernels release the GIL), by local processes or by a Dask
cluster, and come back to the one writer. Numbers depend on none of this.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from pathlib import Path

from berlyne.arrays import check_count
from berlyne.experiments.lock import only_writer
from berlyne.experiments.piece import Layout, compute_chunks, divided
from berlyne.experiments.pieces import REPAIR
from berlyne.experiments.results import Results, open_results
from berlyne.experiments.settings import Experiment, SettingsError
from berlyne.experiments.store import Piece, Store, StoreError, piece_name

Done = Callable[[Piece], None]
Computed = tuple[Piece, dict[str, bytes]]

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
) -> Results:
    """Run what the store at `path` lacks of a study, and open the results.

    Parameters
    ----------
    jobs : threads; by default as many as there are cores.
    workers : compute in this many local processes instead (the `cluster` extra).
    cluster : compute on the Dask scheduler at this address instead, such as "tcp://scheduler:8786".
    repair : compute damaged pieces again instead of refusing to go on.
    progress : show progress bars; by default only in a terminal.
    """
    if sum(way is not None for way in (jobs, workers, cluster)) > 1:
        raise SettingsError("only one of jobs, workers and cluster can be given")
    n_threads = _n_cores() if jobs is None else check_count("jobs", jobs, 1)
    n_processes = None if workers is None else check_count("workers", workers, 1)
    place = Path(path)
    if not place.name or not place.parent.is_dir():
        raise StoreError(f"there is no folder {place.parent} to put {place.name or 'results'} into")
    with only_writer(place):
        store = Store.open(place, experiment)
        _check(store, repair)
        pieces = store.missing()
        if n_processes is not None or cluster is not None:
            from berlyne.experiments.cluster import compute_on_cluster

            computed = compute_on_cluster(store.experiment, pieces, store.layout, n_processes, cluster)
        else:
            computed = _compute_in_threads(store.experiment, pieces, store.layout, n_threads)
        with _bars(store.experiment, pieces, progress) as done, closing(computed):
            _write_as_they_come(store, computed, done)
        store.finish()
    return open_results(place)


def _n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(store: Store, repair: bool) -> None:
    """Notice damage; mend it only when asked."""
    damaged = list(store.damaged())
    if damaged and not repair:
        piece, array, flaw = damaged[0]
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise StoreError(f"{store.path}: {array} of {piece_name(piece, store.experiment)}{more} {flaw}; {REPAIR}")
    for piece, *_ in damaged:
        store.discard(piece)


def _compute_in_threads(experiment: Experiment, pieces: list[Piece], layout: Layout, jobs: int) -> Generator[Computed]:
    """Pieces in whatever order they are finished; never many more in memory than there are threads."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "berlyne-explore") as pool:
        running: dict[Future[dict[str, bytes]], Piece] = {}
        waiting = iter(divided(pieces, jobs))
        try:
            while True:
                for piece in waiting:
                    running[pool.submit(compute_chunks, experiment, piece, layout, stop)] = piece
                    if len(running) > jobs:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda one: one.exception() is not None):  # failures last
                    yield running.pop(future), future.result()
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _write_as_they_come(store: Store, computed: Iterable[Computed], done: Done) -> None:
    """Write pieces while the next ones are computed."""
    with ThreadPoolExecutor(WRITERS, "berlyne-write") as pool:
        writing: dict[Future[None], Piece] = {}
        for piece, chunks in computed:
            writing[pool.submit(store.write, piece, chunks)] = piece
            if len(writing) > WRITERS:
                _finish(writing, done, FIRST_COMPLETED)
        _finish(writing, done)


def _finish(writing: dict[Future[None], Piece], done: Done, until: str = ALL_COMPLETED) -> None:
    for future in wait(writing, return_when=until).done:
        future.result()
        done(writing.pop(future))


@contextmanager
def _bars(experiment: Experiment, pieces: list[Piece], progress: bool | None) -> Iterator[Done]:
    """A progress bar per class of worlds, counting explorations; silent unless in a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    shown = console.is_terminal if progress is None else progress
    totals = {kind.name: 0 for kind in experiment.classes}
    for piece in pieces:
        for position in piece.positions:
            totals[experiment.position(position)[0].name] += 1
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not shown) as bars:
        tasks = {name: bars.add_task(name, total=total, rate="") for name, total in totals.items() if total}

        def done(piece: Piece) -> None:
            for position in piece.positions:
                task = tasks[experiment.position(position)[0].name]
                bars.advance(task)
            for task in tasks.values():
                speed = bars.tasks[task].speed
                bars.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield done
