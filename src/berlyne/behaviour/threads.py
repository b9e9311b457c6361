"""Work in threads, with a progress bar on terminals: kernels run without the GIL, so replays and fits use all cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from berlyne.behaviour.data import Data
from berlyne.behaviour.terms import Model
from berlyne.validation import check_count

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(jobs: int | None) -> int:
    """Return a checked number of threads; None is the number of cores that this process may use."""
    if jobs is not None:
        return check_count("jobs", jobs, 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_items(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    jobs: int | None,
    title: str = "",
    progress: bool | None = False,
) -> list[Result]:
    """Return the function of each item, computed by up to `jobs` threads; the order is that of the items."""
    listed, jobs = list(items), n_threads(jobs)
    with progress_bar(title, len(listed), progress) as advance:

        def counted(item: Item) -> Result:
            result = function(item)
            advance()
            return result

        if jobs == 1 or len(listed) < 2:
            return [counted(item) for item in listed]
        with ThreadPoolExecutor(min(jobs, len(listed))) as pool:
            try:
                return list(pool.map(counted, listed))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@contextmanager
def progress_bar(title: str, total: int, progress: bool | None) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error, and return a function that advances it by one; None shows it on terminals only."""
    if total < 2 or not (sys.stderr.isatty() if progress is None else progress):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def replay_on_grids(data: Data, models: Iterable[Model], jobs: int | None, progress: bool | None = False) -> None:
    """Compute the values of all terms of some models with all settings on their grids, once each; `data` keeps them."""
    terms = {term: None for model in models for term in model.terms}
    pairs = [(term, settings) for term in terms for settings in term.on_grid()]
    map_items(lambda pair: pair[0].cached_values(data, pair[1]), pairs, jobs, "replays", progress)
