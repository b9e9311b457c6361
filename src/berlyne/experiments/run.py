"""Run the missing explorations of a study on all cores, into one store.

Work units are computed by threads (the kernels release the GIL), by local processes or by a Dask cluster, and returned
to the single writer. Results do not depend on this choice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from berlyne.experiments.manifests import REPAIR_HINT
from berlyne.experiments.progress import progress_reporter
from berlyne.experiments.results import Results, load_results
from berlyne.experiments.schema import check_store_path
from berlyne.experiments.shard import Shard, parse_shard
from berlyne.experiments.spec import Experiment, SettingsError
from berlyne.experiments.store import Store, StoreError, WorkUnit, work_unit_name
from berlyne.experiments.work_unit import ProgressCallback, UnfinishedWorkUnitError, compute_arrays, split_work_units
from berlyne.serialization import exclusive_lock
from berlyne.validation import check_count

ComputedUnit = tuple[WorkUnit, dict[str, Any]]

N_WRITERS = 4
"""Number of threads that write to disk, so that computing does not wait for it."""


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
        Number of threads; by default the number of cores.
    workers : int or Executor, optional
        Compute in this number of local processes instead (the `cluster` extra), or with an executor of processes.
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
    n_threads = _n_cores() if jobs is None else check_count("jobs", jobs, 1)
    n_processes = None if workers is None or isinstance(workers, Executor) else check_count("workers", workers, 1)
    place = Path(path)
    check_store_path(place)
    part = None if shard is None else parse_shard(shard)
    with exclusive_lock(place):
        store = Store.open(place, experiment, part)
        _check_damage(store, repair)
        units = store.missing()
        with progress_reporter(store.experiment, units, progress) as on_explored:
            if isinstance(workers, Executor):
                in_processes = _compute_with_executor(store, units, workers)
                computed = _report_progress(in_processes, on_explored)
            elif n_processes is not None or cluster is not None:
                from berlyne.experiments.dask import compute_on_cluster

                remote = compute_on_cluster(store.experiment, units, store.study.layout, n_processes, cluster)
                computed = _report_progress(remote, on_explored)
            else:
                computed = _compute_in_threads(store, units, on_explored, n_threads)
            with closing(computed):
                _write_units(store, computed)
        store.finish()
    return load_results(place, experiment)


def _report_progress(computed: Generator[ComputedUnit], on_explored: ProgressCallback) -> Generator[ComputedUnit]:
    """Yield work units from a cluster, and report their explorations as they arrive."""
    with closing(computed):
        for unit, arrays in computed:
            for position in unit.positions:
                on_explored(position)
            yield unit, arrays


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _compute_in_threads(
    store: Store, units: list[WorkUnit], on_explored: ProgressCallback, jobs: int
) -> Generator[ComputedUnit]:
    """Yield work units as they are finished, with few more in memory than there are threads."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs, "berlyne-explore") as pool:
        running: dict[Future[dict[str, Any]], WorkUnit] = {}
        waiting = iter(split_work_units(units, jobs))
        try:
            while True:
                for unit in waiting:
                    arguments = store.experiment, unit, store.study.layout, stop, on_explored
                    running[pool.submit(compute_arrays, *arguments)] = unit
                    if len(running) > jobs:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                ended = {future: running.pop(future) for future in list(running) if future in finished}
                for future, unit in ended.items():
                    yield from _finished_part(future, unit)
                for future in ended:  # failures last
                    _raise_failure(future)
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _compute_with_executor(store: Store, units: list[WorkUnit], executor: Executor) -> Generator[ComputedUnit]:
    """Yield work units as the processes of an executor finish them, with few more in memory than there are cores."""
    running: dict[Future[dict[str, Any]], WorkUnit] = {}
    n_cores = _n_cores()
    waiting = iter(split_work_units(units, n_cores))
    try:
        while True:
            for unit in islice(waiting, 2 * n_cores - len(running)):
                running[executor.submit(compute_arrays, store.experiment, unit, store.study.layout)] = unit
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
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
