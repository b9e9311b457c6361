"""Exploration while the prior is learned (Fig. S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berlyne.figures.concentration import draw_concentration
from berlyne.figures.figure_data import Drawing

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def concentration(paper_run: PaperRun) -> Drawing:
    """Draw missing information and the learned concentration."""
    return draw_concentration(paper_run.stage("learned"))
