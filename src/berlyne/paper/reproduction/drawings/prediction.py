"""Predicted against realised gain (Fig. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berlyne.figures.figure_data import Drawing
from berlyne.figures.prediction import draw_prediction

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def prediction(paper_run: PaperRun) -> Drawing:
    """Draw predicted against realised gain."""
    return draw_prediction(paper_run.stage("gains"), above_only=("1-2-3",))
