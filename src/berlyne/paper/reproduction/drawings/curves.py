"""Learning curves (Figs. 3, 4, 6, 7, S3 and S4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from berlyne.figures.curves import draw_curves
from berlyne.figures.figure_data import Drawing
from berlyne.paper.claims.published import FIGURE_POOLS

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def curves(name: str, measure: str = "missing_information", minus: str | None = None) -> Callable[[PaperRun], Drawing]:
    """Return the function that draws the learning curves of a figure."""

    def draw(paper_run: PaperRun) -> Drawing:
        return draw_curves(paper_run.results, FIGURE_POOLS[name], measure, minus)

    return draw
