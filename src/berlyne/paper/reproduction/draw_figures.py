"""Draw the figures of a reproduction, in two processes if two jobs are allowed.

The second process runs `python -m berlyne.paper.reproduction.draw_figures FOLDER NAME ...`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun

MIN_FIGURES = 4
"""Draw in one process up to this many figures; starting a second one would take longer."""


def draw(paper_run: PaperRun, names: Sequence[str], jobs: int = 1) -> Iterator[str]:
    """Draw figures into the folder of a reproduction.

    If the second process fails, this process draws its figures, so that errors are raised here.

    Parameters
    ----------
    paper_run : PaperRun
        The reproduction.
    names : sequence of str
        Names of figures.
    jobs : int
        Number of processes; at most two are used.

    Yields
    ------
    str
        Name of a figure, once it is drawn.
    """
    mine, theirs = (list(names), []) if jobs < 2 or len(names) <= MIN_FIGURES else _split(names)
    worker = _start_worker(paper_run, theirs) if theirs else None
    try:
        for name in mine:
            _draw_one(paper_run, name)
            yield name
        if worker is not None and worker.wait() == 0:
            yield from theirs
            return
    finally:
        if worker is not None:
            worker.kill()
            worker.wait()
    for name in theirs:
        _draw_one(paper_run, name)
        yield name


def _split(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split figures between this process and a second one.

    This process draws the figure of variants, because the report needs the same verdicts and they are cached.
    """
    movable = [name for name in names if "sensitivity" not in FIGURES[name].needs]
    theirs = movable[::2]
    return [name for name in names if name not in theirs], theirs


def _start_worker(paper_run: PaperRun, names: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "berlyne.paper.reproduction.draw_figures", str(paper_run.folder), *names]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _draw_one(paper_run: PaperRun, name: str) -> None:
    FIGURES[name].draw(paper_run).save(paper_run.folder / "figures", name, locked=True)


def main(arguments: list[str]) -> None:
    """Draw figures; `arguments` are the folder of a reproduction and names of figures."""
    paper_run = PaperRun.open(Path(arguments[0]))
    for name in arguments[1:]:
        _draw_one(paper_run, name)


if __name__ == "__main__":
    main(sys.argv[1:])
