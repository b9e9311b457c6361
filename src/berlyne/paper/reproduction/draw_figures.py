"""Draw the figures of a reproduction, in several processes if this is useful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed

from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.processes import Workers

MIN_FIGURES = 4
"""Draw in this process up to this many figures; starting others would take longer."""


def draw(paper_run: PaperRun, names: Sequence[str], workers: Workers) -> Iterator[str]:
    """Draw figures into the folder of a reproduction.

    This process draws the figures of variants, because the report needs the same verdicts, which are cached.

    Parameters
    ----------
    paper_run : PaperRun
        The reproduction.
    names : sequence of str
        Names of figures.
    workers : Workers
        Processes to use.

    Yields
    ------
    str
        Name of a figure, once it is drawn.
    """
    others = [name for name in names if "sensitivity" not in FIGURES[name].needs]
    if workers.jobs < 2 or len(others) <= MIN_FIGURES:
        others = []
    futures = {workers.executor.submit(draw_figure, paper_run, name): name for name in others}
    try:
        for name in (name for name in names if name not in others):
            draw_figure(paper_run, name)
            yield name
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    finally:
        for future in futures:
            future.cancel()


def draw_figure(paper_run: PaperRun, name: str) -> None:
    """Draw one figure into the folder of a reproduction."""
    FIGURES[name].draw(paper_run).save(paper_run.folder / "figures", name, locked=True)
