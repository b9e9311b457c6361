"""Table of the figures of the paper and a few of ours, drawn from the numbers of a reproduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berlyne.figures.figure_data import Drawing
from berlyne.paper.reproduction.drawings import concentration, prediction, ranks, sensitivity, structure, worlds
from berlyne.paper.reproduction.drawings.curves import curves
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.paper_text import FIGURE_TEXTS, FigureText


@dataclass(frozen=True)
class FigureOfPaper:
    """One figure: its texts, and the function that draws it.

    Parameters
    ----------
    name : str
        Name of its files.
    text : FigureText
        Title, place in the paper, caption and other texts.
    draw : callable
        Function of a `PaperRun` that returns the drawing.
    needs : tuple of str
        Parts whose numbers it shows.
    """

    name: str
    text: FigureText
    draw: Callable[[PaperRun], Drawing]
    needs: tuple[str, ...] = ()


_EXPLORATIONS = ("explorations",)
_DRAWINGS: dict[str, tuple[Callable[[PaperRun], Drawing], tuple[str, ...]]] = {
    "fig1": (worlds.example_maze, ()),
    "fig2": (prediction.prediction, ("gains",)),
    "fig3": (curves("fig3"), _EXPLORATIONS),
    "fig4": (curves("fig4"), _EXPLORATIONS),
    "fig5": (structure.structure, ("explorations", "structure")),
    "fig6": (curves("fig6"), _EXPLORATIONS),
    "fig7": (curves("fig7", minus="PIG(VI)"), _EXPLORATIONS),
    "fig8": (ranks.ranks, ("tasks",)),
    "fig8-times": (ranks.ranks_by_time, ("tasks",)),
    "figS1": (worlds.dense_world, ()),
    "figS2": (worlds.one_two_three_world, ()),
    "figS3": (curves("figS3"), _EXPLORATIONS),
    "figS4": (curves("figS4", "l1_distance", "PIG(VI)"), _EXPLORATIONS),
    "figS5": (concentration.concentration, ("learned",)),
    "index-by-length": (structure.index_by_length, ("lengths",)),
    "sensitivity": (sensitivity.sensitivity, ("explorations", "structure", "tasks", "sensitivity")),
}
"""Function and needed parts of every figure."""

FIGURES: dict[str, FigureOfPaper] = {
    name: FigureOfPaper(name, FIGURE_TEXTS[name], draw, needs) for name, (draw, needs) in _DRAWINGS.items()
}
"""Figures of the paper and a few of ours, by name."""
