"""Drawing the figures of a study, by two processes if there are two to be had: drawing keeps one busy throughout.

The second is this module, run: `python -m berlyne.paper.reproduction.draw_figures FOLDER NAME ...`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun

MIN_FIGURES = 4
"""So many figures are drawn sooner than a second process has started."""


def draw(paper_run: PaperRun, names: Sequence[str], jobs: int = 1) -> Iterator[str]:
    """Draw figures into the folder of a study; yields the name of each when it is drawn.

    What a second process does not manage is drawn here, so that what went wrong is seen here.
    """
    here, there = (list(names), []) if jobs < 2 or len(names) <= MIN_FIGURES else _shared(names)
    helper = _helper(paper_run, there) if there else None
    try:
        for name in here:
            _draw_one(paper_run, name)
            yield name
        if helper is not None and helper.wait() == 0:
            yield from there
            return
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()
    for name in there:
        _draw_one(paper_run, name)
        yield name


def _shared(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two shares. What is judged for the figure of variants is judged for the report too, so this process keeps it."""
    free = [name for name in names if "sensitivity" not in FIGURES[name].needs]
    there = free[::2]
    return [name for name in names if name not in there], there


def _helper(paper_run: PaperRun, names: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "berlyne.paper.reproduction.draw_figures", str(paper_run.folder), *names]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _draw_one(paper_run: PaperRun, name: str) -> None:
    FIGURES[name].draw(paper_run).save(paper_run.folder / "figures", name, locked=True)


def main(arguments: list[str]) -> None:
    """Draw the figures that were named."""
    paper_run = PaperRun.open(Path(arguments[0]))
    for name in arguments[1:]:
        _draw_one(paper_run, name)


if __name__ == "__main__":
    main(sys.argv[1:])
