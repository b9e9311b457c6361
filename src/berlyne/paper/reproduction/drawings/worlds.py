"""Examples of worlds (Figs. 1, S1 and S2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berlyne.figures.figure_data import Drawing
from berlyne.figures.graph import draw_graph
from berlyne.figures.maze import draw_maze_and_rows, example_rows

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def example_maze(paper_run: PaperRun) -> Drawing:
    """Draw a maze and some of its transition distributions."""
    world = paper_run.world("maze", 0)
    return draw_maze_and_rows(world, example_rows(world))


def dense_world(paper_run: PaperRun) -> Drawing:
    """Draw a Dense World."""
    return draw_graph(paper_run.world("dense", 0))


def one_two_three_world(paper_run: PaperRun) -> Drawing:
    """Draw a 1-2-3 World."""
    return draw_graph(paper_run.world("1-2-3", 0), marked=0, centred=0)
