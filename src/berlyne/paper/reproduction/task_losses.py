"""What was learned, put to use: navigation and reward acquisition in every world (Sec. 3.7, Fig. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from berlyne import tasks
from berlyne.experiments.spec import stream, world_id
from berlyne.paper.reproduction.gather import stored_explorations
from berlyne.paper.reproduction.stage import MapFunction, Stage, WorldKey, all_worlds
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS, World

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


@dataclass(frozen=True)
class Tasks(Stage):
    """Navigation and reward loss of every strategy at every snapshot (Sec. 3.7).

    paid : whether a state pays its reward when it is entered or left (reading R20). What the first state pays on being
        left no policy can change, and the last one is not left: reward on leaving is reward on entering, in one
        step less.
    """

    name: ClassVar[str] = "tasks"
    n_rewards: int = tasks.N_REWARDS
    horizon: int = tasks.HORIZON
    cap_per_state: int = tasks.CAP_PER_STATE
    ties: tasks.Ties = "uniform"
    paid: Literal["entering", "leaving"] = "entering"

    def strategies_needed(self) -> tuple[str, ...]:
        """All of the paper's."""
        return PAPER_STRATEGIES

    def world_tasks(self, paper_run: PaperRun, world_class: str, index: int) -> tasks.Tasks:
        """The tasks of one world of a study, which know their objective optimum; those of the last worlds are kept."""
        return _judge(self, paper_run.world(world_class, index), paper_run.seed, world_id(world_class, index))

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        counts = {name: load_counts(paper_run, name) for name in PAPER_WORLDS}

        def of_world(at: WorldKey) -> Any:
            world = paper_run.world(*at)
            models = counts[at[0]][at[1]].reshape(-1, world.n_actions, world.n_states, world.n_states)
            return self.world_tasks(paper_run, *at).losses(models)

        found = map_items("tasks", all_worlds(paper_run), of_world)
        times = list(paper_run.experiment.snapshots)
        losses = np.array(found).reshape(len(PAPER_WORLDS), paper_run.n_worlds, len(PAPER_STRATEGIES), len(times), 2)
        dims = ("world_class", "world", "strategy", "snapshot")
        return xr.Dataset(
            {
                "navigation_loss": (dims, losses[..., 0], {"units": "steps"}),
                "reward_loss": (dims, losses[..., 1], {"units": "reward"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES), "snapshot": times},
        )


@lru_cache(maxsize=16)
def _judge(how: Tasks, world: World, seed: int, id_: str) -> tasks.Tasks:
    rewards = tasks.draw_rewards(world.n_states, stream(seed, f"{id_}/rewards"), how.n_rewards)
    horizon = how.horizon - (how.paid == "leaving")
    return tasks.Tasks(world, rewards, cap=how.cap_per_state * world.n_states, horizon=horizon, ties=how.ties)


def load_counts(paper_run: PaperRun, world_class: str) -> Any:
    """Counts at the snapshots of all worlds of a class, (world, strategy, snapshot, transition): read at once."""
    world = paper_run.world(world_class, 0)
    size = world.n_actions * world.n_states**2
    return stored_explorations(paper_run, world_class)["counts"].isel(transition=slice(0, size)).values
