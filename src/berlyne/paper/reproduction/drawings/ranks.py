"""Ranks in tasks (Fig. 8 and reading R19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berlyne.figures.figure_data import Drawing
from berlyne.figures.ranks import draw_ranks, draw_ranks_by_time
from berlyne.paper.claims.published import FIGURE_POOLS, TASK_LEVELS
from berlyne.paper.claims.task_ranks import TASKS, ranks_at_times, task_critical_difference, task_ranks
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def ranks(paper_run: PaperRun) -> Drawing:
    """Draw mean ranks in both tasks."""
    ranked = task_ranks(paper_run.stage("tasks"), paper_run.assumptions["tasks.ranking"])
    return draw_ranks(ranked, "PIG(VI)", {alpha: task_critical_difference(ranked, alpha) for alpha in TASK_LEVELS})


def ranks_by_time(paper_run: PaperRun) -> Drawing:
    """Draw mean ranks at each time of testing."""
    import xarray as xr

    tasks = paper_run.stage("tasks")
    dims = ("world_class", "snapshot", "world", "strategy")
    ranked = {
        task: (dims, np.stack([ranks_at_times(tasks, name, task, FIGURE_POOLS["fig8"]) for name in PAPER_WORLDS]))
        for task in TASKS
    }
    labels = {"world_class": list(PAPER_WORLDS), "strategy": list(FIGURE_POOLS["fig8"])}
    return draw_ranks_by_time(xr.Dataset(ranked, {**labels, "snapshot": tasks["snapshot"].values}))
