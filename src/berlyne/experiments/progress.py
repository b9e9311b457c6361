"""Report progress of a run: bars in a terminal, a line every half minute elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from berlyne.experiments.spec import Experiment
from berlyne.experiments.work_unit import ProgressCallback, WorkUnit

LINE_INTERVAL = 30.0
"""Seconds between two lines if there is no terminal."""


@contextmanager
def progress_reporter(
    experiment: Experiment, units: list[WorkUnit], progress: bool | None
) -> Iterator[ProgressCallback]:
    """Yield a function to call with the position of every finished exploration, from any thread.

    Parameters
    ----------
    experiment : Experiment
        The study.
    units : list of WorkUnit
        Work units that will be computed.
    progress : bool or None
        True shows bars and False shows nothing. None shows bars in a terminal, and a line every half minute elsewhere.

    Yields
    ------
    ProgressCallback
        The function to call.
    """
    from rich.console import Console

    console = Console(stderr=True)
    totals = {kind.name: 0 for kind in experiment.classes}
    for unit in units:
        for position in unit.positions:
            totals[experiment.position(position)[0].name] += 1
    if progress or (progress is None and console.is_terminal):
        display: Any = _bars(experiment, totals, console)
    elif progress is None:
        display = _lines(sum(totals.values()))
    else:
        display = _silent()
    with display as on_explored:
        yield on_explored


def format_rate(per_second: float) -> str:
    """Format a rate, such as "212 explorations/s", with at least two digits unless it is very slow."""
    if per_second >= 10:
        return f"{per_second:,.0f} explorations/s"
    if per_second >= 0.1:
        return f"{per_second:.1f} explorations/s"
    return f"{60 * per_second:.1f} explorations/min"


def format_duration(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds, such as "1:02:03"."""
    minutes, remaining_seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{remaining_seconds:02d}"


def progress_line(done: int, total: int, seconds: float) -> str:
    """Return the progress after `done` of `total` explorations, with the time left at the mean rate so far."""
    progress = f"{done:,} of {total:,} explorations"
    if not done or seconds <= 0:
        return progress
    return f"{progress}, {format_rate(done / seconds)}, {format_duration((total - done) * seconds / done)} left"


@contextmanager
def _silent() -> Iterator[ProgressCallback]:
    yield lambda position: None


@contextmanager
def _lines(total: int) -> Iterator[ProgressCallback]:
    """Print a line on standard error every half minute, from a separate thread."""
    start, lock, end, done = time.monotonic(), threading.Lock(), threading.Event(), [0]

    def on_explored(position: int) -> None:
        with lock:
            done[0] += 1

    def print_lines() -> None:
        while not end.wait(LINE_INTERVAL):
            print(f"berlyne: {progress_line(done[0], total, time.monotonic() - start)}", file=sys.stderr, flush=True)

    printer = threading.Thread(target=print_lines, name="berlyne-progress", daemon=True)
    printer.start()
    try:
        yield on_explored
    finally:
        end.set()
        printer.join()


@contextmanager
def _bars(experiment: Experiment, totals: dict[str, int], console: Any) -> Iterator[ProgressCallback]:
    """Show a bar per class of worlds: explorations done, their rate, and the time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(format_rate(speed) if speed else "")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console) as bars:
        tasks = {name: bars.add_task(name, total=total) for name, total in totals.items() if total}

        def on_explored(position: int) -> None:
            bars.advance(tasks[experiment.position(position)[0].name])

        yield on_explored
