"""Run the missing explorations of a study on all cores, into one store.

Work units are computed by local processes or by a Dask cluster, and returned to the single writer. Threads of this
process compute small studies, because starting processes takes a second, and studies that cannot be pickled. Results do
not depend on this choice.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from berlyne import processes
from berlyne.experiments.manifests import REPAIR_HINT
from berlyne.experiments.progress import progress_reporter
from berlyne.experiments.results import Results, load_results
from berlyne.experiments.schema import check_store_path
from berlyne.experiments.shard import Shard, parse_shard
from berlyne.experiments.spec import Experiment, SettingsError
from berlyne.experiments.store import Store, StoreError, WorkUnit, work_unit_name
from berlyne.experiments.work_unit import ProgressCallback, UnfinishedWorkUnitError, compute_arrays, split_work_units
from berlyne.processes import Workers, n_cores
from berlyne.serialization import exclusive_lock
from berlyne.validation import check_count

ComputedUnit = tuple[WorkUnit, dict[str, Any]]

N_WRITERS = 4
"""Number of threads that write to disk, so that computing does not wait for it."""
THREAD_SECONDS = 2.0
"""Seconds of a run before processes are started; until then, threads of this process compute."""


def run_experiment(
    experiment: Experiment,
    path: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    workers: int | Executor | None = None,
    cluster: str | None = None,
    repair: bool = False,
    progress: bool | None = None,
    shard: str | Shard | None = None,
) -> Results:
    """Run the explorations of a study that the store at `path` lacks, and open the results.

    Parameters
    ----------
    experiment : Experiment
        The study.
    path : path-like
        Directory of the store; it is created if it does not exist.
    jobs : int, optional
        Number of processes; by default the number of cores. A run of less than two seconds is computed by as many
        threads of this process, and so is a study with objects that cannot be pickled, such as a measure that is a
        lambda or a function of your script.
    workers : int or Executor, optional
        Compute with this number of local Dask workers instead (the `cluster` extra), which are started again if they
        are killed, or with an executor of processes.
    cluster : str, optional
        Compute on the Dask scheduler at this address instead, such as "tcp://scheduler:8786".
    repair : bool
        Whether to compute damaged work units again. If False, they raise an error.
    progress : bool, optional
        Whether to show progress bars; by default bars in a terminal, and a line every half minute elsewhere.
    shard : str or Shard, optional
        Run only this part of the worlds, such as "3/10", into a separate store; `merge` joins the stores.

    Returns
    -------
    Results
        The results in the store.
    """
    if sum(option is not None for option in (jobs, workers, cluster)) > 1:
        raise SettingsError("only one of jobs, workers and cluster can be given")
    n_jobs = n_cores() if jobs is None else check_count("jobs", jobs, 1)
    n_workers = None if workers is None or isinstance(workers, Executor) else check_count("workers", workers, 1)
    place = Path(path)
    check_store_path(place)
    part = None if shard is None else parse_shard(shard)
    with exclusive_lock(place):
        store = Store.open(place, experiment, part)
        _check_damage(store, repair)
        units = store.missing()
        with progress_reporter(store.experiment, units, progress) as on_explored:
            if isinstance(workers, Executor):
                sent = pickle.dumps((store.experiment, store.study.layout))
                computed = _report_progress(_compute_with(workers, n_cores(), sent, units), on_explored)
            elif n_workers is not None or cluster is not None:
                from berlyne.experiments.dask import compute_on_cluster

                remote = compute_on_cluster(store.experiment, units, store.study.layout, n_workers, cluster)
                computed = _report_progress(remote, on_explored)
            else:
                computed = _compute_locally(store, units, on_explored, n_jobs)
            with closing(computed):
                _write_units(store, computed)
        store.finish()
    return load_results(place, experiment)


def _report_progress(computed: Generator[ComputedUnit], on_explored: ProgressCallback) -> Generator[ComputedUnit]:
    """Yield work units from other processes, and report their explorations as they arrive."""
    with closing(computed):
        for unit, arrays in computed:
            for position in unit.positions:
                on_explored(position)
            yield unit, arrays


def _check_damage(store: Store, repair: bool) -> None:
    """Discard damaged work units, so that they are computed again; without `repair`, raise a `StoreError`."""
    damaged = list(store.iter_damaged())
    if damaged and not repair:
        unit, array, flaw = damaged[0]
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise StoreError(
            f"{store.path}: {array} of {work_unit_name(unit, store.experiment)}{more} {flaw}; {REPAIR_HINT}"
        )
    for unit, *_ in damaged:
        store.discard(unit)


def _compute_locally(
    store: Store, units: list[WorkUnit], on_explored: ProgressCallback, jobs: int
) -> Generator[ComputedUnit]:
    """Yield work units as threads finish them and, after `THREAD_SECONDS`, processes."""
    waiting = iter(split_work_units(units, jobs))
    first = waiting if jobs == 1 else _until(time.monotonic() + THREAD_SECONDS, waiting)
    yield from _compute_in_threads(store, first, on_explored, jobs)
    rest = list(waiting)
    if not rest:
        return
    pickled = _pickled(store) if len(rest) > 1 else None
    if pickled is None:
        yield from _compute_in_threads(store, iter(rest), on_explored, jobs)
    else:
        with Workers(min(jobs, len(rest))) as workers:
            computed = _compute_with(workers.executor, workers.jobs, pickled, rest)
            yield from _report_progress(computed, on_explored)


def _until(end: float, units: Iterator[WorkUnit]) -> Iterator[WorkUnit]:
    """Yield work units until a time of the monotonic clock; the rest stays in `units`."""
    while time.monotonic() < end:
        try:
            yield next(units)
        except StopIteration:
            return


def _pickled(store: Store) -> bytes | None:
    """Return the study and its layout for other processes; None if these cannot have all of its objects."""
    try:
        pickled = pickle.dumps((store.experiment, store.study.layout))
    except Exception:  # any object may raise any error
        return None
    return None if b"__main__" in pickled else pickled  # other processes do not run the user's script


def _compute_pickled(pickled: bytes, unit: WorkUnit) -> dict[str, Any]:
    """Compute a work unit in another process."""
    experiment, layout = processes.unpickle(pickled)
    return compute_arrays(experiment, unit, layout, processes.STOP)


def _compute_with(executor: Executor, jobs: int, pickled: bytes, units: list[WorkUnit]) -> Generator[ComputedUnit]:
    """Yield work units as the processes of an executor finish them."""
    waiting = iter(split_work_units(units, jobs))
    yield from _as_finished(lambda unit: executor.submit(_compute_pickled, pickled, unit), waiting, 2 * jobs)


def _compute_in_threads(
    store: Store, units: Iterator[WorkUnit], on_explored: ProgressCallback, jobs: int
) -> Generator[ComputedUnit]:
    """Yield work units as threads finish them."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "berlyne-explore") as pool:

        def submit(unit: WorkUnit) -> Future[dict[str, Any]]:
            return pool.submit(compute_arrays, store.experiment, unit, store.study.layout, stop, on_explored)

        try:
            yield from _as_finished(submit, units, jobs + 1)
        finally:
            stop.set()


def _as_finished(
    submit: Callable[[WorkUnit], Future[dict[str, Any]]], units: Iterator[WorkUnit], n_submitted: int
) -> Generator[ComputedUnit]:
    """Yield work units as they are finished; only a few are submitted ahead, so that results do not accumulate."""
    running: dict[Future[dict[str, Any]], WorkUnit] = {}
    try:
        while True:
            for unit in islice(units, n_submitted - len(running)):
                running[submit(unit)] = unit
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            ended = {future: running.pop(future) for future in list(running) if future in finished}
            for future, unit in ended.items():
                yield from _finished_part(future, unit)
            for future in ended:  # failures last
                _raise_failure(future)
    finally:
        for future in running:
            future.cancel()


def _finished_part(future: Future[dict[str, Any]], unit: WorkUnit) -> Generator[ComputedUnit]:
    """Yield a computed work unit; if an environment failed, only the explorations before, if there are any."""
    failure = future.exception()
    if failure is None:
        yield unit, future.result()
    elif isinstance(failure, UnfinishedWorkUnitError) and failure.positions:
        yield replace(unit, positions=failure.positions), failure.arrays


def _raise_failure(future: Future[dict[str, Any]]) -> None:
    failure = future.exception()
    if isinstance(failure, UnfinishedWorkUnitError):
        raise failure.error from failure.error.__cause__
    if failure is not None:
        raise failure


def _write_units(store: Store, computed: Iterable[ComputedUnit]) -> None:
    """Write work units while the next ones are computed."""
    with ThreadPoolExecutor(N_WRITERS, "berlyne-write") as pool:
        writing: set[Future[None]] = set()
        for unit, arrays in computed:
            writing.add(pool.submit(store.write, unit, arrays))
            if len(writing) > N_WRITERS:
                _wait_for_writes(writing, FIRST_COMPLETED)
        _wait_for_writes(writing)


def _wait_for_writes(writing: set[Future[None]], return_when: str = ALL_COMPLETED) -> None:
    for future in wait(writing, return_when=return_when).done:
        writing.remove(future)
        future.result()
