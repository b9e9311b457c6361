"""Stages computed after the explorations: one class per stage, which returns one labelled dataset.

The fields of a stage are its settings. A number may depend on no other choice, because a stage is not recomputed while
its settings stay the same. Every stage maps over the worlds with `map_items`, which uses several cores. Seeds are
derived from ids, so the numbers do not depend on the order of computation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.experiments.spec import stream, world_id
from berlyne.exploration.explore import explore
from berlyne.exploration.predicted_gain import pig_against_gain
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.gather import stored_explorations
from berlyne.paper.reproduction.stage import N_LAGS, MapFunction, Stage, WorldKey, all_worlds
from berlyne.paper.reproduction.task_losses import Tasks
from berlyne.paper.reproduction.variants import Sensitivity
from berlyne.priors import Dirichlet, Refit
from berlyne.priors.refit import EVERY_STEP
from berlyne.worlds import PAPER_WORLDS
from berlyne.worlds.structure import controllability, structure_index

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


@dataclass(frozen=True)
class Structure(Stage):
    """Structure index and controllability of every world (Sec. 3.4)."""

    name: ClassVar[str] = "structure"
    horizon: int = N_LAGS

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        def compute_world(at: WorldKey) -> tuple[float, Any]:
            world = paper_run.world(*at)
            return structure_index(world), controllability(world, self.horizon)

        results = map_items("structure", all_worlds(paper_run), compute_world)
        shape = (len(PAPER_WORLDS), paper_run.n_worlds)
        index = np.array([result[0] for result in results]).reshape(shape)
        influence = np.array([result[1] for result in results]).reshape(*shape, self.horizon)
        return xr.Dataset(
            {
                "structure_index": (("world_class", "world"), index),
                "controllability": (("world_class", "world", "lag"), influence, {"units": "bits"}),
            },
            {"world_class": list(PAPER_WORLDS), "lag": np.arange(1, self.horizon + 1)},
        )


@dataclass(frozen=True)
class Gains(Stage):
    """Predicted and realised gain after 0 to 19 observations of every row (Fig. 2)."""

    name: ClassVar[str] = "gains"
    n_obs: int = 20
    n_trials: int = 50

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        def compute_world(at: WorldKey) -> Any:
            seed = stream(paper_run.seed, f"{world_id(*at)}/gains")
            return pig_against_gain(paper_run.world(*at), self.n_obs, self.n_trials, seed)

        gains = map_items("predicted and realised gain", all_worlds(paper_run), compute_world)
        shape = (len(PAPER_WORLDS), paper_run.n_worlds, self.n_obs)
        arrays = {
            name: np.array([getattr(gain, name) for gain in gains]).reshape(shape)
            for name in ("pig", "gain", "pig_sq", "gain_sq")
        }
        dims = ("world_class", "world", "n_obs")
        data: dict[str, Any] = {name: (dims, arrays[name], {"units": "bits"}) for name in ("pig", "gain")}
        for name in ("pig", "gain"):  # over all rows and trials of all worlds
            variance = arrays[f"{name}_sq"].mean(axis=1) - arrays[name].mean(axis=1) ** 2
            data[f"sd_{name}"] = (("world_class", "n_obs"), np.sqrt(np.maximum(variance, 0.0)), {"units": "bits"})
        return xr.Dataset(data, {"world_class": list(PAPER_WORLDS), "n_obs": np.arange(self.n_obs)})


@dataclass(frozen=True)
class Learned(Stage):
    """Exploration with a concentration learned during exploration, and with the true concentration (Fig. S5).

    Parameters
    ----------
    strategy : str
        Strategy that explores with either prior.
    starts : tuple of float
        Concentrations that learning starts from; none of them is true in both classes.
    bounds : tuple of float
        Smallest and largest concentration.
    refit : Refit
        When the concentration is fitted again, and when the new one is used.
    """

    name: ClassVar[str] = "learned"
    version: ClassVar[int] = 2
    strategy: str = "PIG(VI)"
    starts: tuple[float, ...] = KEYS["learned.starts"].default
    bounds: tuple[float, float] = (1e-3, 1e3)
    refit: Refit = EVERY_STEP

    def strategies_needed(self) -> tuple[str, ...]:
        """Return the strategy that explores with either prior."""
        return (self.strategy,)

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        classes, strategy = ("dense", "maze"), paper_run.strategy(self.strategy)
        n_steps = {name: paper_run.assumptions.n_steps(name) for name in classes}

        def compute_world(at: tuple[str, int, float]) -> Any:
            seed = stream(paper_run.seed, f"{world_id(*at[:2])}/learned prior")
            world: Any = paper_run.world(*at[:2])
            prior = Dirichlet("ml", world.prior.support, start=at[2], bounds=self.bounds, schedule=self.refit)
            return explore(world.with_prior(prior), strategy, n_steps[at[0]], seed)

        jobs = [(name, i, start) for name in classes for i in range(paper_run.n_worlds) for start in self.starts]
        shape = (len(classes), paper_run.n_worlds, len(self.starts), max(n_steps.values()) + 1)
        learned, alpha = np.full((2, *shape), np.nan, dtype=np.float32)
        with_true = np.full((*shape[:2], shape[3]), np.nan, dtype=np.float32)
        for (name, i, start), run in zip(jobs, map_items("learned prior", jobs, compute_world), strict=True):
            position = classes.index(name), i, self.starts.index(start), slice(0, n_steps[name] + 1)
            learned[position], alpha[position] = run.missing_information, run.learned
        for c, name in enumerate(classes):
            missing = stored_explorations(paper_run, name)["missing_information"].sel(strategy=self.strategy).values
            with_true[c, :, : n_steps[name] + 1] = missing
        dims = ("world_class", "world", "start", "time")
        true = [paper_run.world(name, 0).prior.alpha for name in classes]  # type: ignore[union-attr]  # Dirichlet
        return xr.Dataset(
            {
                "given": (("world_class", "world", "time"), with_true, {"units": "bits"}),
                "learned": (dims, learned, {"units": "bits"}),
                "alpha": (dims, alpha),
                "true_alpha": (("world_class",), true),
            },
            {"world_class": list(classes), "start": list(self.starts)},
        )


@dataclass(frozen=True)
class Lengths(Stage):
    """Areas of PIG(greedy) and Unembodied for run lengths up to three times ours (reading R12).

    Parameters
    ----------
    strategies : tuple of str
        Strategies whose areas give the embodiment index.
    shortest, longest : float
        Smallest and largest run length, relative to ours.
    n_lengths : int
        Number of run lengths.
    """

    name: ClassVar[str] = "lengths"
    strategies: tuple[str, ...] = ("PIG(greedy)", "Unembodied")
    shortest: float = 0.02
    longest: float = 3.0
    n_lengths: int = 150

    def strategies_needed(self) -> tuple[str, ...]:
        """Return the strategies whose areas give the embodiment index."""
        return self.strategies

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        relative = np.linspace(self.shortest, self.longest, self.n_lengths)  # run lengths, relative to ours

        def compute_world(at: WorldKey) -> Any:
            last = np.round(relative * paper_run.assumptions.n_steps(at[0])).astype(int)
            areas = []
            for name in self.strategies:
                strategy = paper_run.strategy(name)
                seed = stream(paper_run.seed, f"{world_id(*at)}/{strategy.name}")  # continues the stored runs
                run = explore(paper_run.world(*at), strategy, n_steps=int(last[-1]), seed=seed)
                areas.append(np.cumsum(run.missing_information)[last])
            return np.array(areas)

        results = map_items("longer runs", all_worlds(paper_run), compute_world)
        areas = np.array(results).reshape(len(PAPER_WORLDS), paper_run.n_worlds, len(self.strategies), len(relative))
        steps = np.array([np.round(relative * paper_run.assumptions.n_steps(name)) for name in PAPER_WORLDS])
        return xr.Dataset(
            {
                "area": (("world_class", "world", "strategy", "share"), areas, {"units": "bits"}),
                "length": (("world_class", "share"), steps, {"units": "steps"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(self.strategies), "share": relative},
        )


STAGES: dict[str, Stage] = {
    stage.name: stage for stage in (Structure(), Gains(), Tasks(), Learned(), Lengths(), Sensitivity())
}
"""Stages computed after the explorations, in this order."""
