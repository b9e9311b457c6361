"""What the reproduction consists of, and where its numbers are.

A reproduction is a folder. `results.zarr` holds the explorations; `data/` holds what was worked out
beyond them, one labelled dataset per stage; figures, claims and the report are made from these alone.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.claims import Evidence
from berlyne.experiments import Experiment, Results, open_results
from berlyne.experiments.piece import world_at
from berlyne.experiments.store import StoreError, versions
from berlyne.experiments.world_classes import fingerprint
from berlyne.reproduction.evidence import gather
from berlyne.reproduction.stage import Stage
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS, World

if TYPE_CHECKING:
    import xarray as xr

PRESETS = {"smoke": 4, "quick": 20, "paper": 200}
"""Worlds of each class. Presets differ in size only, never in what is run."""
SNAPSHOTS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Fractions of the run at which tasks are set (reading R19)."""


@dataclass(frozen=True, eq=False)
class Study:
    """One reproduction: its folder, size and seed. What was read or worked out for it is kept with it."""

    folder: Path
    n_worlds: int
    seed: int

    @classmethod
    def open(cls, folder: Path) -> Study:
        """The reproduction that `folder` holds, whatever its size."""
        if not (folder / "results.zarr").is_dir():
            raise StoreError(f"there is no reproduction in {folder}; make one with: berlyne reproduce {folder}")
        settings = open_results(folder / "results.zarr").settings
        return cls(folder, int(settings["n_worlds"]), int(settings["seed"]))

    def holds_more(self) -> bool:
        """Whether the folder holds more worlds than this study asks for."""
        path = self.folder / "results.zarr"
        return path.is_dir() and int(open_results(path).settings["n_worlds"]) > self.n_worlds

    @cached_property
    def experiment(self) -> Experiment:
        """The explorations of the paper: fifteen strategies in three classes of worlds."""
        return Experiment(
            worlds=PAPER_WORLDS,
            strategies=PAPER_STRATEGIES,
            n_worlds=self.n_worlds,
            seed=self.seed,
            snapshots=SNAPSHOTS,
        )

    @cached_property
    def results(self) -> Results:
        """The stored explorations."""
        return open_results(self.folder / "results.zarr")

    @cached_property
    def evidence(self) -> Evidence:
        """All that claims are checked on, read once."""
        return gather(self.results, _ReadOnce(self.stage))

    @cached_property
    def worlds_in_short(self) -> dict[str, Any]:
        """What tells the worlds of this study, and the times of its runs, from those of another."""
        classes = self.experiment.classes
        return {
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": self.experiment.snapshots,
            "worlds": {c.name: (c.n_steps, fingerprint(self.world(c.name, 0))) for c in classes},
        }

    def world(self, world_class: str, index: int) -> World:
        """World number `index` of a class, as the explorations met it."""
        return world_at(self.experiment, world_class, index)

    def stage(self, name: str) -> xr.Dataset:
        """The stored numbers of a stage, in memory."""
        import xarray as xr

        path = self.folder / "data" / f"{name}.zarr"
        if not path.is_dir():
            raise StoreError(f"{self.folder} holds no {name} yet; run: berlyne reproduce {self.folder}")
        dataset: xr.Dataset = xr.open_zarr(path, chunks=None).load()
        return _with_labels(dataset, "T", lambda labels: np.array(labels.tolist(), dtype=str))

    def has(self, stage: Stage) -> bool:
        """Whether a stage was worked out for this very study, with these very settings."""
        try:
            return bool(self.stage(stage.name).attrs.get("stamp") == stage.stamp(self))
        except (StoreError, KeyError, ValueError, OSError):
            return False

    def keep(self, stage: Stage, dataset: xr.Dataset) -> None:
        """Store the numbers of a stage, whole or not at all."""
        path = self.folder / "data" / f"{stage.name}.zarr"
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        dataset = dataset.assign_attrs(stamp=stage.stamp(self), versions=json.dumps(versions()))
        dataset = _with_labels(dataset, "U", lambda labels: labels.astype(np.dtypes.StringDType()))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*[Cc]onsolidated metadata.*")
            dataset.to_zarr(partial, mode="w", zarr_format=3, consolidated=True)
        if path.exists():
            shutil.rmtree(path)
        os.rename(partial, path)


class _ReadOnce(dict[str, Any]):
    """Stages by name, each read when it is first asked for."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, name: str) -> Any:
        self[name] = self._read(name)
        return self[name]


def _with_labels(dataset: xr.Dataset, kind: str, convert: Callable[[Any], Any]) -> xr.Dataset:
    """Convert labels of one kind: Zarr has a lasting format for strings of any length only."""
    found = {name: convert(c.values) for name, c in dataset.coords.items() if c.dtype.kind == kind}
    return dataset.assign_coords(found)
