"""Predicted and realised gain of observations of every row (Fig. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.experiments.worlds import stream, world_id
from berlyne.exploration.predicted_gain import pig_against_gain
from berlyne.paper.reproduction.stages.base import MapFunction, Stage, WorldKey, all_worlds
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


@dataclass(frozen=True)
class Gains(Stage):
    """Predicted and realised gain after 0 to 19 observations of every row (Fig. 2)."""

    name: ClassVar[str] = "gains"
    n_obs: int = 20
    n_trials: int = 50

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        import xarray as xr

        gains = map_items("predicted and realised gain", all_worlds(paper_run), partial(_gains, self, paper_run))
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


def _gains(stage: Gains, paper_run: PaperRun, at: WorldKey) -> Any:
    seed = stream(paper_run.seed, f"{world_id(*at)}/gains")
    return pig_against_gain(paper_run.world(*at), stage.n_obs, stage.n_trials, seed)
