"""Structure of worlds, and the embodiment index (Fig. 5 and reading R12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berlyne.figures.figure_data import Drawing
from berlyne.figures.structure import draw_index_by_length, draw_structure
from berlyne.paper.claims.published import PUBLISHED_INDEX
from berlyne.stats import embodiment_index
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def structure(paper_run: PaperRun) -> Drawing:
    """Draw structure index, embodiment index and controllability."""
    stage = paper_run.stage("structure")
    areas = [paper_run.results.areas(str(name)) for name in stage["world_class"].values]
    greedy, unembodied = (np.stack([a.sel(strategy=s).values for a in areas]) for s in ("PIG(greedy)", "Unembodied"))
    return draw_structure(
        stage.assign(embodiment_index=(("world_class", "world"), embodiment_index(greedy, unembodied)))
    )


def index_by_length(paper_run: PaperRun) -> Drawing:
    """Draw the embodiment index against the run length."""
    stage = paper_run.stage("lengths")
    greedy, unembodied = (stage["area"].sel(strategy=s) for s in ("PIG(greedy)", "Unembodied"))
    index = greedy.copy(data=embodiment_index(greedy.values, unembodied.values))
    n_steps = {name: paper_run.assumptions.n_steps(name) for name in PAPER_WORLDS}
    return draw_index_by_length(stage.assign(embodiment_index=index), PUBLISHED_INDEX, n_steps)
