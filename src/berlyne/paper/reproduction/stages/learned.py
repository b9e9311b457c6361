"""Exploration with a concentration learned during exploration (Fig. S5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.experiments.worlds import stream, world_id
from berlyne.exploration.explore import explore
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.explorations import stored_explorations
from berlyne.paper.reproduction.stages.base import MapFunction, Stage
from berlyne.priors import Dirichlet, Refit
from berlyne.priors.refit import EVERY_STEP

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


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
    needs: ClassVar[tuple[str, ...]] = ("explorations",)
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

        classes, work = ("dense", "maze"), partial(_explore, self, paper_run)
        n_steps = {name: paper_run.assumptions.n_steps(name) for name in classes}
        jobs = [(name, i, start) for name in classes for i in range(paper_run.n_worlds) for start in self.starts]
        shape = (len(classes), paper_run.n_worlds, len(self.starts), max(n_steps.values()) + 1)
        learned, alpha = np.full((2, *shape), np.nan, dtype=np.float32)
        with_true = np.full((*shape[:2], shape[3]), np.nan, dtype=np.float32)
        results = map_items("learned prior", jobs, work)
        for (name, i, start), (missing, concentration) in zip(jobs, results, strict=True):
            position = classes.index(name), i, self.starts.index(start), slice(0, n_steps[name] + 1)
            learned[position], alpha[position] = missing, concentration
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


def _explore(stage: Learned, paper_run: PaperRun, at: tuple[str, int, float]) -> tuple[Any, Any]:
    """Return missing information and learned concentration of one exploration, after every step."""
    world_class, index, start = at
    world: Any = paper_run.world(world_class, index)
    prior = Dirichlet("ml", world.prior.support, start=start, bounds=stage.bounds, schedule=stage.refit)
    seed = stream(paper_run.seed, f"{world_id(world_class, index)}/learned prior")
    n_steps = paper_run.assumptions.n_steps(world_class)
    run = explore(world.with_prior(prior), paper_run.strategy(stage.strategy), n_steps, seed)
    return run.missing_information, run.learned
