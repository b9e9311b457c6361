"""Structure index and controllability of every world (Sec. 3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.paper.reproduction.stages.base import N_LAGS, MapFunction, Stage, WorldKey, all_worlds
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

        results = map_items("structure", all_worlds(paper_run), partial(_structure, paper_run, self.horizon))
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


def _structure(paper_run: PaperRun, horizon: int, at: WorldKey) -> tuple[float, Any]:
    world = paper_run.world(*at)
    return structure_index(world), controllability(world, horizon)
