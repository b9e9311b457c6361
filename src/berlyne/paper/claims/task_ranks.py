"""Claims about what learning is good for: Fig. 8."""

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
PLACES = tuple((world_class, task) for world_class in (D, M, O) for task in TASKS)


def ranks_at_times(
    tasks: xr.Dataset, world_class: str, task: str, strategies: tuple[str, ...], ranking: Ranking = "each time"
) -> FloatArray:
    """Ranks of strategies in each world, (time, world, strategy), 1 for the least loss (reading R19).

    At each time of testing; or, ranked by average loss, once.
    """
    table = tasks[f"{task}_loss"].sel(world_class=world_class, strategy=list(strategies))
    losses = table.transpose("snapshot", "world", "strategy").values
    if ranking == "average loss":
        losses = losses.mean(axis=0, keepdims=True)
    return np.stack([ranks(at_time) for at_time in losses])


def task_ranks(tasks: xr.Dataset, ranking: Ranking = "each time") -> xr.Dataset:
    """Rank of every strategy of Fig. 8, by task, (world_class, world, strategy), averaged over times of testing."""
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
    """The difference of mean ranks that has a p-value of `alpha`, by task, (world_class,), among `task_ranks`."""
    import xarray as xr

    reach = {task: ("world_class", [reach_of_ranks(here, alpha) for here in of.values]) for task, of in ranks.items()}
    return xr.Dataset(reach, {"world_class": ranks["world_class"].values})


def compared(e: Evidence, world_class: str, task: str) -> PoolTest:
    """All strategies that take part in a task, compared with each other; worked out once."""
    pool = PAPER_STRATEGIES if e.pool == "all" else FIG8_STRATEGIES
    return e.tested(
        (world_class, task),
        pool,
        lambda: ranks_at_times(e.stages["tasks"], world_class, task, pool, e.ranking).mean(axis=0),
    )


class Rival(NamedTuple):
    """How a strategy compares with the best other one that is no control.

    best : the other one.
    behind : ranks by which the strategy comes after it, negative if it comes before; p : of this difference.
    friedman : the test of the whole pool.
    """

    best: str
    behind: float
    p: float
    friedman: Friedman

    def beats(self, alpha: float) -> bool:
        """Whether the other is significantly better: in a pool that is not all alike, by more than chance."""
        return self.friedman.p < alpha and self.behind > 0 and self.p < alpha


def best_rival(e: Evidence, world_class: str, task: str, strategy: str) -> Rival:
    """The best strategy that is no control, `strategy` aside."""
    test = compared(e, world_class, task)
    rank = test.mean_rank
    best = min((s for s in test.strategies if s not in (*POSITIVE_CONTROLS, strategy)), key=rank.__getitem__)
    return Rival(best, rank[strategy] - rank[best], test.p_value(strategy, best), test.friedman)


def tasks_top(e: Evidence) -> tuple[Finding, ...]:
    """PIG(VI) is among the best, in every class and task."""
    return tuple(_among_the_best(e, *place) for place in PLACES)


def _among_the_best(e: Evidence, world_class: str, task: str) -> Finding:
    in_text, in_caption = TASK_LEVELS
    rival = best_rival(e, world_class, task, "PIG(VI)")
    test = compared(e, world_class, task)
    rank, reach = test.mean_rank, reach_of_ranks(test.ranked, 0.05)  # all differences are this sure at once
    number = 1 + sum(rank[name] < rank["PIG(VI)"] for name in NON_CONTROLS)
    where = "behind" if rival.behind > 0 else "ahead of"
    measured = (
        f"mean rank {rank['PIG(VI)']:.2f} of {len(test.strategies)}, number {number} without controls; "
        f"{abs(rival.behind):.2f} ranks {where} {rival.best} (p {p_text(rival.p)})"
    )
    if rival.beats(in_text) and not rival.beats(in_caption):
        measured += f", beaten at p < {in_text:g} and not at p < {in_caption:g}"
    return Finding(
        f"{title(world_class)}, {task}",
        f"PIG(VI) among the best (p > {in_text:g})",
        measured,
        False if rival.beats(in_text) else True if e.n_worlds >= MIN_WORLDS else None,
        effect=rival.behind,
        low=rival.behind - reach,
        high=rival.behind + reach,
        unit="ranks",
        p=rival.p,
        friedman=rival.friedman,
    )


def tasks_only(e: Evidence) -> tuple[Finding, ...]:
    """No other strategy is among the best everywhere."""
    return tuple(_beaten_somewhere(e, name) for name in NON_CONTROLS)


def _beaten_somewhere(e: Evidence, strategy: str) -> Finding:
    """A strategy where it is worst off: PIG(VI) should be beaten nowhere, any other somewhere."""
    rivals = {place: best_rival(e, *place, strategy) for place in PLACES}
    lost = [place for place, rival in rivals.items() if rival.beats(ALPHA)]
    world_class, task = max(lost or PLACES, key=lambda place: rivals[place].behind)
    rival = rivals[world_class, task]
    alone, many = strategy == "PIG(VI)", e.n_worlds >= MIN_WORLDS
    at = f"{title(world_class)}, {task}: {rival.behind:+.2f} ranks behind {rival.best} (p {p_text(rival.p)})"
    return Finding(
        f"{strategy}, where it is worst off",
        "among the best everywhere (p > 0.001)" if alone else "not among the best everywhere",
        f"{'beaten in' if lost else 'beaten nowhere; worst in'} {at}",
        bool(lost) != alone if lost or many else None,
        "" if alone else f"beaten somewhere at p < {ALPHA:g}",
        rival.behind,
        unit="ranks",
        p=rival.p,
        friedman=rival.friedman,
    )
