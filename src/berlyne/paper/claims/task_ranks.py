"""Checks of the claims about tasks: navigation and reward (Fig. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from berlyne.paper.claims.compare import MIN_WORLDS, p_text
from berlyne.paper.claims.evidence import Evidence, PoolTest, Ranking
from berlyne.paper.claims.published import ALPHA, FIGURE_POOLS, POSITIVE_CONTROLS, TASK_LEVELS, D, M, O
from berlyne.paper.claims.verdict import Finding
from berlyne.stats import Friedman, ranks, reach_of_ranks
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.validation import FloatArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

TASKS = ("navigation", "reward")
FIG8_STRATEGIES = FIGURE_POOLS["fig8"]
NON_CONTROLS = tuple(name for name in FIG8_STRATEGIES if name not in POSITIVE_CONTROLS)
CONDITIONS = tuple((world_class, task) for world_class in (D, M, O) for task in TASKS)


def ranks_at_times(
    tasks: xr.Dataset, world_class: str, task: str, strategies: tuple[str, ...], ranking: Ranking = "each time"
) -> FloatArray:
    """Rank strategies by task loss in each world (reading R19).

    Parameters
    ----------
    tasks : Dataset
        Losses of the stage "tasks".
    world_class : str
        Class of worlds.
    task : {"navigation", "reward"}
        Name of the task.
    strategies : tuple of str
        Strategies to rank.
    ranking : {"each time", "average loss"}
        Rank at each time of testing, or once by the average loss over times.

    Returns
    -------
    ndarray of shape (n_times, n_worlds, n_strategies)
        Ranks; 1 is the smallest loss. With "average loss", the first axis has length 1.
    """
    table = tasks[f"{task}_loss"].sel(world_class=world_class, strategy=list(strategies))
    losses = table.transpose("snapshot", "world", "strategy").values
    if ranking == "average loss":
        losses = losses.mean(axis=0, keepdims=True)
    return np.stack([ranks(at_time) for at_time in losses])


def task_ranks(tasks: xr.Dataset, ranking: Ranking = "each time") -> xr.Dataset:
    """Return ranks of the strategies of Fig. 8, averaged over times of testing.

    Each task has one array with dimensions (world_class, world, strategy).
    """
    import xarray as xr

    classes = [str(name) for name in tasks["world_class"].values]
    dims = ("world_class", "world", "strategy")
    by_task = {
        task: (
            dims,
            np.stack([ranks_at_times(tasks, name, task, FIG8_STRATEGIES, ranking).mean(axis=0) for name in classes]),
        )
        for task in TASKS
    }
    return xr.Dataset(by_task, {"world_class": classes, "strategy": list(FIG8_STRATEGIES)})


def task_critical_difference(ranks: xr.Dataset, alpha: float) -> xr.Dataset:
    """Return the difference of mean ranks that has a p-value of `alpha`, by task and class.

    `ranks` is the result of `task_ranks`. Each task has one array with dimension (world_class,).
    """
    import xarray as xr

    differences = {
        task: ("world_class", [reach_of_ranks(in_class, alpha) for in_class in by_class.values])
        for task, by_class in ranks.items()
    }
    return xr.Dataset(differences, {"world_class": ranks["world_class"].values})


def compare_in_task(e: Evidence, world_class: str, task: str) -> PoolTest:
    """Compare all pairs of the strategies that are tested in a task; the result is cached."""
    pool = PAPER_STRATEGIES if e.pool == "all" else FIG8_STRATEGIES
    return e.tested(
        (world_class, task),
        pool,
        lambda: ranks_at_times(e.stages["tasks"], world_class, task, pool, e.ranking).mean(axis=0),
    )


class Rival(NamedTuple):
    """Comparison of a strategy with the best other strategy that is not a control.

    Attributes
    ----------
    best : str
        Name of the best other strategy.
    behind : float
        Mean rank of the strategy minus that of `best`; negative if the strategy is better.
    p : float
        p-value of this difference.
    friedman : Friedman
        Friedman's test of the whole pool.
    """

    best: str
    behind: float
    p: float
    friedman: Friedman

    def beats(self, alpha: float) -> bool:
        """Return whether `best` is significantly better: both Friedman's test and the pair are significant."""
        return self.friedman.p < alpha and self.behind > 0 and self.p < alpha


def best_rival(e: Evidence, world_class: str, task: str, strategy: str) -> Rival:
    """Compare `strategy` with the best other strategy that is not a control."""
    test = compare_in_task(e, world_class, task)
    rank = test.mean_rank
    best = min((s for s in test.strategies if s not in (*POSITIVE_CONTROLS, strategy)), key=rank.__getitem__)
    return Rival(best, rank[strategy] - rank[best], test.p_value(strategy, best), test.friedman)


def tasks_top(e: Evidence) -> tuple[Finding, ...]:
    """Check that PIG(VI) is among the best in every class and task."""
    return tuple(_among_the_best(e, *condition) for condition in CONDITIONS)


def _among_the_best(e: Evidence, world_class: str, task: str) -> Finding:
    """Check that PIG(VI) is among the best in one class and task."""
    in_text, in_caption = TASK_LEVELS
    rival = best_rival(e, world_class, task, "PIG(VI)")
    test = compare_in_task(e, world_class, task)
    rank, critical = test.mean_rank, reach_of_ranks(test.ranked, 0.05)  # simultaneous interval of all differences
    place = 1 + sum(rank[name] < rank["PIG(VI)"] for name in NON_CONTROLS)
    direction = "behind" if rival.behind > 0 else "ahead of"
    measured = (
        f"mean rank {rank['PIG(VI)']:.2f} of {len(test.strategies)}, place {place} without controls; "
        f"{abs(rival.behind):.2f} ranks {direction} {rival.best} (p {p_text(rival.p)})"
    )
    if rival.beats(in_text) and not rival.beats(in_caption):
        measured += f", significantly worse at p < {in_text:g} but not at p < {in_caption:g}"
    return Finding(
        f"{title(world_class)}, {task}",
        f"PIG(VI) among the best (p > {in_text:g})",
        measured,
        False if rival.beats(in_text) else True if e.n_worlds >= MIN_WORLDS else None,
        effect=rival.behind,
        low=rival.behind - critical,
        high=rival.behind + critical,
        unit="ranks",
        p=rival.p,
        friedman=rival.friedman,
    )


def tasks_only(e: Evidence) -> tuple[Finding, ...]:
    """Check that only PIG(VI) is among the best in every class and task."""
    return tuple(_beaten_somewhere(e, name) for name in NON_CONTROLS)


def _beaten_somewhere(e: Evidence, strategy: str) -> Finding:
    """Check a strategy in its worst class and task: PIG(VI) should never be beaten, any other should be once."""
    rivals = {condition: best_rival(e, *condition, strategy) for condition in CONDITIONS}
    lost = [condition for condition, rival in rivals.items() if rival.beats(ALPHA)]
    world_class, task = max(lost or CONDITIONS, key=lambda condition: rivals[condition].behind)
    rival = rivals[world_class, task]
    is_pig_vi, enough = strategy == "PIG(VI)", e.n_worlds >= MIN_WORLDS
    worst = f"{title(world_class)}, {task}: {rival.behind:+.2f} ranks behind {rival.best} (p {p_text(rival.p)})"
    return Finding(
        f"{strategy}, in its worst class and task",
        "among the best everywhere (p > 0.001)" if is_pig_vi else "not among the best everywhere",
        f"{'beaten in' if lost else 'not beaten in any class or task; worst in'} {worst}",
        bool(lost) != is_pig_vi if lost or enough else None,
        "" if is_pig_vi else f"beaten in some class and task at p < {ALPHA:g}",
        rival.behind,
        unit="ranks",
        p=rival.p,
        friedman=rival.friedman,
        strategies=(strategy,),
    )
