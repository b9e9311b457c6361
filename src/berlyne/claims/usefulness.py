"""Claims about what learning is good for: Fig. 8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.claims.compare import ENOUGH
from berlyne.claims.evidence import Evidence
from berlyne.claims.published import ALPHA, FIGURE_POOLS, POSITIVE_CONTROLS, TASK_LEVELS, D, M, O
from berlyne.claims.verdict import Finding
from berlyne.stats import Friedman, friedman, mean_rank_p_values, ranks
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

TASKS = ("navigation", "reward")
DRAWN = FIGURE_POOLS["fig8"]
RIVALS = tuple(name for name in DRAWN if name not in POSITIVE_CONTROLS)


def loss(tasks: xr.Dataset, world_class: str, task: str, strategies: tuple[str, ...]) -> FloatArray:
    """Average loss over the times of testing, (world, strategy)."""
    table = tasks[f"{task}_loss"].sel(world_class=world_class, strategy=list(strategies))
    return np.asarray(table.mean("snapshot").transpose("world", "strategy").values)


def task_ranks(tasks: xr.Dataset) -> xr.Dataset:
    """Rank of every strategy of Fig. 8 in each world, by task, (world_class, world, strategy); 1 for the least loss."""
    import xarray as xr

    classes = [str(name) for name in tasks["world_class"].values]
    dims = ("world_class", "world", "strategy")
    by_task = {task: (dims, np.stack([ranks(loss(tasks, name, task, DRAWN)) for name in classes])) for task in TASKS}
    return xr.Dataset(by_task, {"world_class": classes, "strategy": list(DRAWN)})


def pooled(e: Evidence) -> tuple[str, ...]:
    """The strategies that are compared with each other."""
    return PAPER_STRATEGIES if e.pool_all else DRAWN


def whole_pool(e: Evidence, world_class: str, task: str) -> Friedman:
    """Friedman's test of no difference between any of the strategies."""
    return friedman(loss(e.stages["tasks"], world_class, task, pooled(e)))


def beaten(e: Evidence, world_class: str, task: str, alpha: float = ALPHA) -> dict[str, str]:
    """Strategies that are no controls and that some other such strategy beats, and which one does.

    None if Friedman's test finds no difference in the whole pool.
    """
    if whole_pool(e, world_class, task).p >= alpha:
        return {}
    pool = pooled(e)
    p_values, mean_ranks = mean_rank_p_values(loss(e.stages["tasks"], world_class, task, pool))
    rivals = [i for i, name in enumerate(pool) if name not in POSITIVE_CONTROLS]
    found = {}
    for i in rivals:
        by = [j for j in rivals if mean_ranks[j] < mean_ranks[i] and p_values[i, j] < alpha]
        if by:
            found[pool[i]] = pool[min(by, key=lambda j: mean_ranks[j])]
    return found


def tasks_top(e: Evidence) -> tuple[Finding, ...]:
    """PIG(VI) is among the best, in every class and task."""
    return tuple(_among_the_best(e, name, task) for name in (D, M, O) for task in TASKS)


def _among_the_best(e: Evidence, world_class: str, task: str) -> Finding:
    in_text, in_caption = TASK_LEVELS
    by = beaten(e, world_class, task, in_text).get("PIG(VI)")
    _, mean_ranks = mean_rank_p_values(loss(e.stages["tasks"], world_class, task, DRAWN))
    rank = dict(zip(DRAWN, mean_ranks, strict=True))
    number = 1 + sum(rank[name] < rank["PIG(VI)"] for name in RIVALS)
    at = f"mean rank {rank['PIG(VI)']:.2f} of {len(DRAWN)}, number {number} without controls"
    measured = f"{at}; beaten by {by}" if by else f"{at}; no other is significantly better"
    if by and "PIG(VI)" not in beaten(e, world_class, task, in_caption):
        measured += f" (at p < {in_text:g}; not at p < {in_caption:g})"
    ok = False if by else True if e.n_worlds >= ENOUGH else None
    about, test = f"{title(world_class)}, {task}", whole_pool(e, world_class, task)
    return Finding(about, f"PIG(VI) among the best (p > {in_text:g})", measured, ok, friedman=test)


def tasks_only(e: Evidence) -> tuple[Finding, ...]:
    """No other strategy is among the best everywhere."""
    pairs = [(world_class, task) for world_class in (D, M, O) for task in TASKS]
    lost = {name for pair in pairs for name in beaten(e, *pair)}
    everywhere = [name for name in RIVALS if name not in lost]
    others = [name for name in everywhere if name != "PIG(VI)"]
    ok = False if others and e.n_worlds >= ENOUGH else None if others else "PIG(VI)" in everywhere
    measured = f"among the best everywhere: {', '.join(everywhere) or 'none'}"
    about, expected = "All classes and tasks", "PIG(VI) and no other is among the best everywhere"
    weakest = min((whole_pool(e, *pair) for pair in pairs), key=lambda test: test.statistic)
    return (Finding(about, expected, measured, ok, friedman=weakest),)
