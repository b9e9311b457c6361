"""Reading results: the labelled dataset and a few helpers. Nothing here runs anything."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.files import StoreError
from berlyne.experiments.root import FORMAT, read_root
from berlyne.rows import Counts

if TYPE_CHECKING:
    import xarray as xr


class Results:
    """Stored results of a study.

    Attributes
    ----------
    dataset : `missing_information`, `l1_distance`, `area`, paths and counts over `world`, `strategy`, `time`;
        worlds in the order of their classes. Arrays are read from disk when they are needed.
    settings : what was run.
    """

    def __init__(self, path: Path, dataset: xr.Dataset, settings: dict[str, Any], store_format: int = FORMAT) -> None:
        self.path, self.dataset, self.settings, self._format = path, dataset, settings, store_format

    def __repr__(self) -> str:
        done, asked = int(self.dataset["area"].notnull().sum()), self.dataset["area"].size
        note = f"; {self.unchecked}" if self.unchecked else ""
        return f"Results({self.path.name}: {', '.join(self.classes)}; {done:,} of {asked:,} explorations{note})"

    def renamed(self, names: Mapping[str, str]) -> Results:
        """The same with other names for some strategies."""
        labels = [names.get(name, name) for name in self.strategies]
        return Results(self.path, self.dataset.assign_coords(strategy=labels), self.settings, self._format)

    @property
    def unchecked(self) -> str:
        """What a store of an older format cannot tell; empty for one of today."""
        if self._format == FORMAT:
            return ""
        return (
            f"format {self._format} has no checksum of settings and does not tell whether chunks are in their "
            "places; running the study again adds both"
        )

    @property
    def classes(self) -> list[str]:
        """Classes of worlds, in the order of the study."""
        return list(self.settings["worlds"])

    @property
    def strategies(self) -> list[str]:
        """Names of the strategies, in order."""
        return [str(name) for name in self.dataset["strategy"].values]

    @property
    def is_complete(self) -> bool:
        """Whether every exploration is there."""
        return bool(self.dataset["area"].notnull().all())

    def of(self, world_class: str) -> xr.Dataset:
        """The dataset of one class, its time axis as long as its runs."""
        if world_class not in self.classes:
            raise ValueError(f"there is no class {world_class!r} in {self.path}; there are {', '.join(self.classes)}")
        n_steps = self.settings["worlds"][world_class]["n_steps"]
        where = np.flatnonzero(self.dataset["world_class"].values == world_class)
        return self.dataset.isel(world=where, time=slice(0, n_steps + 1))

    def curves(
        self, world_class: str, measure: str = "missing_information", strategies: list[str] | None = None
    ) -> xr.Dataset:
        """Mean learning curve and its standard error over worlds, `mean` and `sem` (strategy, time)."""
        values = self.of(world_class)[measure]
        if strategies is not None:
            values = values.sel(strategy=strategies)
        values = values.astype(float)
        n = values.notnull().sum("world")
        sem = values.std("world", ddof=1) / np.sqrt(n)
        return values.mean("world").to_dataset(name="mean").assign(sem=sem)

    def areas(self, world_class: str) -> xr.DataArray:
        """Area under each learning curve, in bits, (world, strategy)."""
        return self.of(world_class)["area"]

    def ranks(self, world_class: str, strategies: list[str] | None = None) -> xr.DataArray:
        """Rank of each strategy in each world by area, 1 for the least, (world, strategy)."""
        from scipy.stats import rankdata

        areas = self.areas(world_class)
        if strategies is not None:
            areas = areas.sel(strategy=strategies)
        return areas.copy(data=rankdata(areas.values, axis=1))

    def history(self, world: str, strategy: str) -> Any:
        """The path of one exploration: (n_steps, 3) lines (s, a, s_next)."""
        self._check("world", world)
        self._check("strategy", strategy)
        run = self.dataset.sel(world=world, strategy=strategy)
        if np.isnan(run["area"].item()):
            raise ValueError(f"{strategy} has not explored {world} yet; run the study again to go on")
        n_steps = self.settings["worlds"][world.rsplit("/", 1)[0]]["n_steps"]
        states = run["state"].values[: n_steps + 1].astype(np.int64)
        outcomes = run["next_state"].values[:n_steps]
        relocated = outcomes != np.iinfo(outcomes.dtype).max
        s_next = np.where(relocated, outcomes, states[1:])
        return np.stack([states[:-1], run["action"].values[:n_steps].astype(np.int64), s_next], axis=1)

    def _check(self, dim: str, label: str) -> None:
        if label not in self.dataset[dim].values:
            near = difflib.get_close_matches(label, self.dataset[dim].values.tolist(), n=1, cutoff=0.0)
            raise ValueError(f"there is no {dim} {label!r} in {self.path}; the nearest is {near[0]!r}")

    def counts(self, world: str, strategy: str, n_steps: int, n_states: int, n_actions: int) -> Counts:
        """Transitions observed in the first `n_steps` of one exploration, from its path."""
        s, a, s_next = self.history(world, strategy)[:n_steps].T
        keys, n = np.unique((s * n_actions + a) * n_states + s_next, return_counts=True)
        return Counts.from_keys(n_actions, n_states, keys, n)

    def area_ratios(self, world_class: str, over: str = "Unembodied") -> FloatArray:
        """Mean area of every strategy relative to that of another, (strategy,)."""
        areas = self.areas(world_class)
        return np.asarray((areas / areas.sel(strategy=over)).mean("world").values)


def open_results(path: str | os.PathLike[str]) -> Results:
    """Open stored results for reading.

    Chunks are checked as they are read: a `StoreError` names what is missing, damaged or in a wrong place.
    """
    import xarray as xr

    from berlyne.experiments.reading import CheckedStore

    place = Path(path)
    if not place.is_dir():
        raise StoreError(f"there are no results at {place}")
    root = read_root(place)
    settings = root["attributes"]["settings"]
    dataset = xr.open_zarr(CheckedStore(place, root), chunks=None)
    labels = {name: np.array(dataset[name].values.tolist(), dtype=str) for name in ("world", "world_class", "strategy")}
    dataset = dataset.assign_coords(
        world=labels["world"], world_class=("world", labels["world_class"]), strategy=labels["strategy"]
    )
    order = {name: i for i, name in enumerate(settings["worlds"])}
    by_class = np.argsort([order[name] for name in labels["world_class"]], kind="stable")
    return Results(place, dataset.isel(world=by_class), settings, root["attributes"]["berlyne_format"])
