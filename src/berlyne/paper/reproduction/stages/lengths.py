"""Areas for other run lengths (reading R12)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.experiments.worlds import stream, world_id
from berlyne.exploration.explore import explore
from berlyne.paper.reproduction.stages.base import MapFunction, Stage, WorldKey, all_worlds
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


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
        work = partial(_areas, self.strategies, relative, paper_run)
        results = map_items("longer runs", all_worlds(paper_run), work)
        areas = np.array(results).reshape(len(PAPER_WORLDS), paper_run.n_worlds, len(self.strategies), len(relative))
        steps = np.array([np.round(relative * paper_run.assumptions.n_steps(name)) for name in PAPER_WORLDS])
        return xr.Dataset(
            {
                "area": (("world_class", "world", "strategy", "share"), areas, {"units": "bits"}),
                "length": (("world_class", "share"), steps, {"units": "steps"}),
            },
            {"world_class": list(PAPER_WORLDS), "strategy": list(self.strategies), "share": relative},
        )


def _areas(strategies: tuple[str, ...], relative: Any, paper_run: PaperRun, at: WorldKey) -> Any:
    """Return the areas of one world, (strategy, length)."""
    last = np.round(relative * paper_run.assumptions.n_steps(at[0])).astype(int)
    areas = []
    for name in strategies:
        strategy = paper_run.strategy(name)
        seed = stream(paper_run.seed, f"{world_id(*at)}/{strategy.name}")  # continues the stored runs
        run = explore(paper_run.world(*at), strategy, n_steps=int(last[-1]), seed=seed)
        areas.append(np.cumsum(run.missing_information)[last])
    return np.array(areas)
