"""How far a run has come: bars in a terminal, a line every half minute where there is none."""

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
"""Seconds between two lines where there is no terminal."""


@contextmanager
def progress_reporter(
    experiment: Experiment, pieces: list[WorkUnit], progress: bool | None
) -> Iterator[ProgressCallback]:
    """A function that is told the position of every exploration that ends, from any thread.

    progress : True shows bars, False nothing; None shows bars in a terminal, and a line now and then elsewhere.
    """
    from rich.console import Console

    console = Console(stderr=True)
    totals = {kind.name: 0 for kind in experiment.classes}
    for piece in pieces:
        for position in piece.positions:
            totals[experiment.position(position)[0].name] += 1
    if progress or (progress is None and console.is_terminal):
        shown: Any = _bars(experiment, totals, console)
    elif progress is None:
        shown = _lines(sum(totals.values()))
    else:
        shown = _nothing()
    with shown as explored:
        yield explored


def format_rate(per_second: float) -> str:
    """A rate with its unit, such as "212 explorations/s", of at least two digits unless it is very slow."""
    if per_second >= 10:
        return f"{per_second:,.0f} explorations/s"
    if per_second >= 0.1:
        return f"{per_second:.1f} explorations/s"
    return f"{60 * per_second:.1f} explorations/min"


def format_duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds, such as "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def progress_line(done: int, total: int, seconds: float) -> str:
    """What is said of `done` explorations of `total` in so many seconds; the rest is taken to be as fast."""
    said = f"{done:,} of {total:,} explorations"
    if not done or seconds <= 0:
        return said
    return f"{said}, {format_rate(done / seconds)}, {format_duration((total - done) * seconds / done)} left"


@contextmanager
def _nothing() -> Iterator[ProgressCallback]:
    yield lambda position: None


@contextmanager
def _lines(total: int) -> Iterator[ProgressCallback]:
    """A line on standard error every half minute, by a thread of its own."""
    begin, lock, end, done = time.monotonic(), threading.Lock(), threading.Event(), [0]

    def explored(position: int) -> None:
        with lock:
            done[0] += 1

    def speak() -> None:
        while not end.wait(LINE_INTERVAL):
            print(f"berlyne: {progress_line(done[0], total, time.monotonic() - begin)}", file=sys.stderr, flush=True)

    speaker = threading.Thread(target=speak, name="berlyne-progress", daemon=True)
    speaker.start()
    try:
        yield explored
    finally:
        end.set()
        speaker.join()


@contextmanager
def _bars(experiment: Experiment, totals: dict[str, int], console: Any) -> Iterator[ProgressCallback]:
    """A bar per class of worlds, with how many explorations are done, how fast, and the time left."""
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

        def explored(position: int) -> None:
            bars.advance(tasks[experiment.position(position)[0].name])

        yield explored
