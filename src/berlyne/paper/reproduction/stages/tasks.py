"""Losses in navigation and reward acquisition with the learned models, in every world (Sec. 3.7, Fig. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from berlyne import tasks
from berlyne.experiments.worlds import stream, world_id
from berlyne.paper.reproduction.explorations import load_counts
from berlyne.paper.reproduction.stages.base import MapFunction, Stage
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS, World

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


@dataclass(frozen=True)
class Tasks(Stage):
    """Navigation and reward loss of every strategy at every snapshot (Sec. 3.7).

    Parameters
    ----------
    n_rewards : int
        Number of reward structures of each world.
    horizon : int
        Number of steps in which to collect reward.
    cap_per_state : int
        Cap on the expected steps of navigation, per state (reading R18).
    ties : str
        Which of several best actions a policy takes.
    paid : {"entering", "leaving"}
        Whether a state pays its reward when it is entered or when it is left (reading R20). No policy can change the
        reward for leaving the first state, and the last state is never left. So reward on leaving equals reward on
        entering with one step less.
    """

    name: ClassVar[str] = "tasks"
    needs: ClassVar[tuple[str, ...]] = ("explorations",)
    n_rewards: int = tasks.N_REWARDS
    horizon: int = tasks.HORIZON
    cap_per_state: int = tasks.CAP_PER_STATE
    ties: tasks.Ties = "uniform"
    paid: Literal["entering", "leaving"] = "entering"

    def strategies_needed(self) -> tuple[str, ...]:
        """Return all strategies of the paper."""
        return PAPER_STRATEGIES

    def world_tasks(self, paper_run: PaperRun, world_class: str, index: int) -> tasks.Tasks:
        """Return the tasks of one world, with their objective optimum; those of the last worlds are cached."""
        return _cached_tasks(self, paper_run.world(world_class, index), paper_run.seed, world_id(world_class, index))

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        jobs = [
            (world_class, i, counts)
            for world_class in PAPER_WORLDS
            for i, counts in enumerate(load_counts(paper_run, world_class))
        ]
        results = map_items("tasks", jobs, partial(_losses, self, paper_run))
        times = list(paper_run.experiment.snapshots)
        losses = np.array(results).reshape(len(PAPER_WORLDS), paper_run.n_worlds, len(PAPER_STRATEGIES), len(times), 2)
        dims = ("world_class", "world", "strategy", "snapshot")
        return xr.Dataset(
            {
                "navigation_loss": (dims, losses[..., 0], {"units": "steps"}),
                "reward_loss": (dims, losses[..., 1], {"units": "reward"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES), "snapshot": times},
        )


@lru_cache(maxsize=16)
def _cached_tasks(stage: Tasks, world: World, seed: int, id_: str) -> tasks.Tasks:
    rewards = tasks.draw_rewards(world.n_states, stream(seed, f"{id_}/rewards"), stage.n_rewards)
    horizon = stage.horizon - (stage.paid == "leaving")
    return tasks.Tasks(world, rewards, cap=stage.cap_per_state * world.n_states, horizon=horizon, ties=stage.ties)


def _losses(stage: Tasks, paper_run: PaperRun, job: tuple[str, int, Any]) -> Any:
    """Return both losses of the models with some counts in one world, (model, task)."""
    world_class, index, counts = job
    world = paper_run.world(world_class, index)
    models = counts.reshape(-1, world.n_actions, world.n_states, world.n_states)
    return stage.world_tasks(paper_run, world_class, index).losses(models)
