"""What is worked out beyond the explorations: one class per stage, one labelled dataset each.

Fields are settings, and nothing else that could be chosen may decide a number: a stage is kept as long as they stay.
Every stage goes through the worlds of the study with `each`, which spreads them over threads; numbers
depend on seeds derived from ids, never on order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne import tasks
from berlyne.experiments.settings import stream, world_id
from berlyne.explore import explore
from berlyne.gains import pig_against_gain
from berlyne.learned_prior import BOUNDS, USUAL, Schedule, explore_learning_alpha
from berlyne.reproduction.sensitivity import Sensitivity
from berlyne.reproduction.stage import Each, Stage, WorldAt
from berlyne.rows import Counts
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS, WORLDS
from berlyne.worlds.structure import controllability, structure_index

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.reproduction.study import Study


@dataclass(frozen=True)
class Structure(Stage):
    """Structure index and controllability of every world (Sec. 3.4)."""

    name: ClassVar[str] = "structure"
    horizon: int = 20

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        def of_world(at: WorldAt) -> tuple[float, Any]:
            world = study.world(*at)
            return structure_index(world), controllability(world, self.horizon)

        found = each("structure", _every_world(study), of_world)
        shape = (len(PAPER_WORLDS), study.n_worlds)
        index = np.array([f[0] for f in found]).reshape(shape)
        reach = np.array([f[1] for f in found]).reshape(*shape, self.horizon)
        return xr.Dataset(
            {
                "structure_index": (("world_class", "world"), index),
                "controllability": (("world_class", "world", "lag"), reach, {"units": "bits"}),
            },
            {"world_class": list(PAPER_WORLDS), "lag": np.arange(1, self.horizon + 1)},
        )


@dataclass(frozen=True)
class Gains(Stage):
    """Predicted against realised gain after 0 to 19 observations of every row (Fig. 2)."""

    name: ClassVar[str] = "gains"
    n_obs: int = 20
    n_trials: int = 50

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        def of_world(at: WorldAt) -> Any:
            seed = stream(study.seed, f"{world_id(*at)}/gains")
            return pig_against_gain(study.world(*at), self.n_obs, self.n_trials, seed)

        found = each("predicted and realised gain", _every_world(study), of_world)
        shape = (len(PAPER_WORLDS), study.n_worlds, self.n_obs)
        arrays = {
            name: np.array([getattr(f, name) for f in found]).reshape(shape)
            for name in ("pig", "gain", "pig_sq", "gain_sq")
        }
        dims = ("world_class", "world", "n_obs")
        data: dict[str, Any] = {name: (dims, arrays[name], {"units": "bits"}) for name in ("pig", "gain")}
        for name in ("pig", "gain"):  # over all rows and trials of all worlds
            variance = arrays[f"{name}_sq"].mean(axis=1) - arrays[name].mean(axis=1) ** 2
            data[f"sd_{name}"] = (("world_class", "n_obs"), np.sqrt(np.maximum(variance, 0.0)), {"units": "bits"})
        return xr.Dataset(data, {"world_class": list(PAPER_WORLDS), "n_obs": np.arange(self.n_obs)})


@dataclass(frozen=True)
class Tasks(Stage):
    """Navigation and reward loss of every strategy at every snapshot (Sec. 3.7)."""

    name: ClassVar[str] = "tasks"
    n_rewards: int = tasks.N_REWARDS
    horizon: int = tasks.HORIZON
    cap_per_state: int = tasks.CAP_PER_STATE
    ties: tasks.Ties = "uniform"

    def explorers(self) -> tuple[str, ...]:
        """All of the paper's."""
        return PAPER_STRATEGIES

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        counts = {name: _counts(study, name) for name in PAPER_WORLDS}

        def of_world(at: WorldAt) -> Any:
            world = study.world(*at)
            seed = stream(study.seed, f"{world_id(*at)}/rewards")
            rewards = tasks.draw_rewards(world.n_states, seed, self.n_rewards)
            cap = self.cap_per_state * world.n_states
            judge = tasks.Tasks(world, rewards, cap=cap, horizon=self.horizon, ties=self.ties)
            shape = (-1, world.n_actions, world.n_states, world.n_states)
            models = [Counts.from_dense(c) for c in counts[at[0]][at[1]].reshape(shape)]
            return np.stack([judge.navigation_loss(models), judge.reward_loss(models)], axis=-1)

        found = each("tasks", _every_world(study), of_world)
        times = list(study.experiment.snapshots)
        losses = np.array(found).reshape(len(PAPER_WORLDS), study.n_worlds, len(PAPER_STRATEGIES), len(times), 2)
        dims = ("world_class", "world", "strategy", "snapshot")
        return xr.Dataset(
            {
                "navigation_loss": (dims, losses[..., 0], {"units": "steps"}),
                "reward_loss": (dims, losses[..., 1], {"units": "reward"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES), "snapshot": times},
        )


@dataclass(frozen=True)
class Learned(Stage):
    """Exploring with a concentration learned on the way, against one that is given (Fig. S5)."""

    name: ClassVar[str] = "learned"
    strategy: str = "PIG(VI)"
    start_alpha: float = 1.0
    bounds: tuple[float, float] = BOUNDS
    refit: Schedule = USUAL

    def explorers(self) -> tuple[str, ...]:
        """The one that explores with either prior."""
        return (self.strategy,)

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        kinds = [WORLDS["dense"], WORLDS["maze"]]

        def of_world(at: WorldAt) -> Any:
            seed = stream(study.seed, f"{world_id(*at)}/learned prior")
            how: dict[str, Any] = {"start_alpha": self.start_alpha, "bounds": self.bounds, "refit": self.refit}
            return explore_learning_alpha(study.world(*at), self.strategy, WORLDS[at[0]].n_steps, seed, **how)

        worlds = [(kind.name, i) for kind in kinds for i in range(study.n_worlds)]
        found = each("learned prior", worlds, of_world)
        n_times = max(kind.n_steps for kind in kinds) + 1
        missing = np.full((2, study.n_worlds, 2, n_times), np.nan, dtype=np.float32)
        alpha = np.full((2, study.n_worlds, n_times), np.nan, dtype=np.float32)
        for c, kind in enumerate(kinds):
            given = study.results.of(kind.name)["missing_information"].sel(strategy=self.strategy).values
            missing[c, :, 0, : kind.n_steps + 1] = given[: study.n_worlds]
            for i in range(study.n_worlds):
                run = found[c * study.n_worlds + i]
                missing[c, i, 1, : kind.n_steps + 1] = run.missing_information
                alpha[c, i, : kind.n_steps + 1] = run.alpha
        return xr.Dataset(
            {
                "missing_information": (("world_class", "world", "prior", "time"), missing, {"units": "bits"}),
                "alpha": (("world_class", "world", "time"), alpha),
                "true_alpha": (("world_class",), [1.0, 0.25]),
            },
            {"world_class": [kind.name for kind in kinds], "prior": ["given", "learned"]},
        )


@dataclass(frozen=True)
class Lengths(Stage):
    """Areas of PIG(greedy) and Unembodied for runs of any length up to three times ours (reading R12)."""

    name: ClassVar[str] = "lengths"
    strategies: tuple[str, ...] = ("PIG(greedy)", "Unembodied")
    shortest: float = 0.02
    longest: float = 3.0
    n_lengths: int = 150

    def explorers(self) -> tuple[str, ...]:
        """Those whose areas make the embodiment index."""
        return self.strategies

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        import xarray as xr

        relative = np.linspace(self.shortest, self.longest, self.n_lengths)  # length of a run, in ours

        def of_world(at: WorldAt) -> Any:
            n_steps = WORLDS[at[0]].n_steps
            last = np.round(relative * n_steps).astype(int)
            areas = []
            for name in self.strategies:
                seed = stream(study.seed, f"{world_id(*at)}/{name}")  # the stored runs, gone on with
                run = explore(study.world(*at), name, n_steps=int(last[-1]), seed=seed)
                areas.append(np.cumsum(run.missing_information)[last])
            return np.array(areas)

        found = each("longer runs", _every_world(study), of_world)
        areas = np.array(found).reshape(len(PAPER_WORLDS), study.n_worlds, len(self.strategies), len(relative))
        steps = np.array([np.round(relative * WORLDS[name].n_steps) for name in PAPER_WORLDS])
        return xr.Dataset(
            {
                "area": (("world_class", "world", "strategy", "share"), areas, {"units": "bits"}),
                "length": (("world_class", "share"), steps, {"units": "steps"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(self.strategies), "share": relative},
        )


def _counts(study: Study, world_class: str) -> Any:
    """Counts at the snapshots of all worlds of a class, (world, strategy, snapshot, transition): read at once."""
    world = study.world(world_class, 0)
    size = world.n_actions * world.n_states**2
    return (
        study.results.of(world_class)["counts"]
        .sel(strategy=list(PAPER_STRATEGIES))
        .isel(transition=slice(0, size))
        .values
    )


def _every_world(study: Study) -> list[WorldAt]:
    """Class and index of every world."""
    return [(name, i) for name in PAPER_WORLDS for i in range(study.n_worlds)]


STAGES: dict[str, Stage] = {
    stage.name: stage for stage in (Structure(), Gains(), Tasks(), Learned(), Lengths(), Sensitivity())
}
"""What is worked out after the explorations, in this order."""
