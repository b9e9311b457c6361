"""Running a study: what is missing, on all cores, into one store.

Pieces are computed by threads (the kernels release the GIL), by local processes or by a Dask
cluster, and come back to the one writer. Numbers depend on none of this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from berlyne.experiments.lock import only_writer
from berlyne.experiments.piece import compute_piece
from berlyne.experiments.results import Results, open_results
from berlyne.experiments.settings import Experiment
from berlyne.experiments.store import Piece, Store, StoreError, piece_name

Done = Callable[[Piece], None]


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
    place = Path(path)
    if not place.parent.is_dir():
        raise StoreError(f"there is no folder {place.parent} to put {place.name} into")
    with only_writer(place):
        store = Store.open(place, experiment)
        _check(store, repair)
        pieces = store.missing()
        with _bars(experiment, pieces, progress) as done:
            if workers is not None or cluster is not None:
                from berlyne.experiments.cluster import compute_on_cluster

                for piece, computed in compute_on_cluster(experiment, pieces, workers, cluster):
                    store.write(piece, computed)
                    done(piece)
            else:
                for piece, computed in _compute_in_threads(experiment, pieces, jobs or os.cpu_count() or 1):
                    store.write(piece, computed)
                    done(piece)
    return open_results(place)


def _check(store: Store, repair: bool) -> None:
    """Notice damage; mend it only when asked."""
    damaged = list(store.damaged())
    if damaged and not repair:
        piece, array = damaged[0]
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise StoreError(
            f"{store.path}: {array} of {piece_name(piece, store.experiment)}{more} is damaged "
            f"(its checksum does not fit); run again with --repair (repair=True) to compute it again"
        )
    for piece, _ in damaged:
        store.discard(piece)


def _compute_in_threads(
    experiment: Experiment, pieces: list[Piece], jobs: int
) -> Iterator[tuple[Piece, dict[str, Any]]]:
    """Pieces in whatever order they are finished; never many more in memory than there are threads."""
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[dict[str, Any]], Piece] = {}
        waiting = iter(pieces)
        try:
            while True:
                for piece in waiting:
                    running[pool.submit(compute_piece, experiment, list(piece.positions), piece.strategy)] = piece
                    if len(running) > jobs:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()


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
        TextColumn("{task.description}"),
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
