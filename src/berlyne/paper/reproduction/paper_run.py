"""One reproduction of the paper: its settings, and the folder with its numbers.

In the folder, `results.zarr` contains the explorations, and `data/` one labelled dataset for each stage. Figures,
claims and the report are made from these alone.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from berlyne.experiments import Experiment, Results, open_results
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.store import StoreError, versions
from berlyne.experiments.work_unit import world_at
from berlyne.experiments.worlds import fingerprint
from berlyne.paper.reproduction.assumptions import DEFAULT, Assumptions
from berlyne.paper.reproduction.stages.base import Stage
from berlyne.serialization import NOT_KEPT, atomic_folder, read_file, report_write_errors, write_store_file
from berlyne.strategies.registry import Strategy
from berlyne.worlds import World

if TYPE_CHECKING:
    import xarray as xr

StageKind = TypeVar("StageKind", bound=Stage)

PRESETS = {"smoke": 4, "quick": 20, "paper": 200}
"""Number of worlds of each class. Presets differ only in size, never in what is run."""
MARKER_FILE = "reproduction.json"
"""File that marks the folder of a reproduction and contains its assumptions."""


@dataclass(frozen=True, eq=False)
class PaperRun:
    """One reproduction of the paper. Numbers that it reads or computes are cached.

    Parameters
    ----------
    folder : Path
        Folder of the reproduction.
    n_worlds : int
        Number of worlds of each class.
    seed : int
        Seed of the explorations and of all stages.
    assumptions : Assumptions
        Assumptions that it makes.
    """

    folder: Path
    n_worlds: int
    seed: int
    assumptions: Assumptions = DEFAULT

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings without cached numbers, which other processes read from the folder."""
        return PaperRun, (self.folder, self.n_worlds, self.seed, self.assumptions)

    @classmethod
    def open(cls, folder: Path) -> PaperRun:
        """Open the reproduction in `folder`, of any size."""
        if not (folder / "results.zarr").is_dir():
            raise StoreError(f"{folder} contains no reproduction; create one with: berlyne reproduce {folder}")
        settings = open_results(folder / "results.zarr").settings
        return cls(folder, int(settings["n_worlds"]), int(settings["seed"]), read_assumptions(folder) or DEFAULT)

    def has_more_worlds(self) -> bool:
        """Return whether the folder already contains more worlds than `n_worlds`."""
        path = self.folder / "results.zarr"
        return path.is_dir() and int(open_results(path).settings["n_worlds"]) > self.n_worlds

    @cached_property
    def experiment(self) -> Experiment:
        """Explorations of the paper, from which everything else is computed."""
        return self.assumptions.experiment(self.n_worlds, self.seed)

    def strategy(self, name: str) -> Strategy:
        """Return the strategy with this name in the paper, with the assumed parameters."""
        return self._strategies[name]

    @cached_property
    def _strategies(self) -> dict[str, Strategy]:
        return self.assumptions.strategies

    def replace(self, changes: Mapping[str, Any]) -> PaperRun:
        """Return the reproduction with some assumptions changed."""
        return replace(self, assumptions=self.assumptions.replace(changes))

    def configured(self, stage: StageKind) -> StageKind:
        """Return a stage with the assumed settings, whose keys begin with the name of the stage."""
        settings = {
            key.partition(".")[2]: value
            for key, value in self.assumptions.changed.items()
            if key.partition(".")[0] == stage.name
        }
        return replace(stage, **{key: value for key, value in settings.items() if key in vars(stage)})

    @cached_property
    def results(self) -> Results:
        """Stored explorations, with the strategy names of the paper."""
        names = {strategy.name: name for name, strategy in self._strategies.items()}
        return open_results(self.folder / "results.zarr").renamed(names)

    @cached_property
    def worlds_summary(self) -> dict[str, Any]:
        """Data that identify the worlds of this reproduction and the snapshots of its runs."""
        classes, settings = self.experiment.classes, self.experiment.describe()["worlds"]
        return {
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": self.experiment.snapshots,
            "worlds": {c.name: (settings[c.name], fingerprint(self.world(c.name, 0))) for c in classes},
        }

    def world(self, world_class: str, index: int) -> World:
        """Return world number `index` of a class, as explored."""
        return world_at(self.experiment, world_class, index)

    def stage(self, name: str) -> xr.Dataset:
        """Load the stored numbers of a stage into memory."""
        import xarray as xr

        path = self.folder / "data" / f"{name}.zarr"
        if not path.is_dir():
            raise StoreError(f"{self.folder} does not contain the stage {name}; run: berlyne reproduce {self.folder}")
        dataset: xr.Dataset = xr.open_zarr(path, chunks=None).load()
        return _with_labels(dataset, "T", lambda labels: np.array(labels.tolist(), dtype=str))

    def save_stage(self, stage: Stage, dataset: xr.Dataset) -> None:
        """Store the numbers of a stage atomically."""
        path = self.folder / "data" / f"{stage.name}.zarr"
        path.parent.mkdir(parents=True, exist_ok=True)
        dataset = dataset.assign_attrs(versions=json.dumps(versions()))
        dataset = _with_labels(dataset, "U", lambda labels: labels.astype(np.dtypes.StringDType()))
        with (
            atomic_folder(path, replace=True, sync=True) as partial,
            report_write_errors(path, NOT_KEPT, partial),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message=".*[Cc]onsolidated metadata.*")
            dataset.to_zarr(partial, mode="w", zarr_format=3, consolidated=True)


def read_assumptions(folder: Path) -> Assumptions | None:
    """Return the assumptions of the reproduction in `folder`; None if it has no marker file."""
    path = folder / MARKER_FILE
    content = read_file(path)
    if content is None:
        return None
    try:
        stored = json.loads(content.decode())["assumptions"]
        return Assumptions({str(key): tuple(v) if isinstance(v, list) else v for key, v in stored.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}); use another directory") from None


def write_marker(paper_run: PaperRun) -> None:
    """Write the assumptions of a reproduction into its folder.

    Raises
    ------
    SettingsError
        If the folder contains other files, or a reproduction with other assumptions.
    """
    folder, stored = paper_run.folder, read_assumptions(paper_run.folder)
    if stored is None:
        other_files = sorted(path.name for path in folder.iterdir() if not _is_reproduction_file(path.name))
        if other_files:
            raise SettingsError(f"{folder} contains other files ({other_files[0]}); use a new or empty directory")
        stored = DEFAULT if (folder / "results.zarr").is_dir() else paper_run.assumptions
    if stored != paper_run.assumptions:
        before, now = (
            ", ".join(f"{k} = {v}" for k, v in a.describe().items()) or "the default"
            for a in (stored, paper_run.assumptions)
        )
        raise SettingsError(f"{folder} was made with {before}, but you asked for {now}; use another directory")
    write_store_file(folder / MARKER_FILE, json.dumps({"assumptions": paper_run.assumptions.describe()}).encode())


def _is_reproduction_file(name: str) -> bool:
    """Return whether a file of this name can belong to a reproduction."""
    names = ("results.zarr", "data", "figures", "claims.json", "report.html", "seconds.json", "default")
    return name.startswith(".") or name.removesuffix(".partial").removesuffix(".lock") in (*names, "reproduction")


def _with_labels(dataset: xr.Dataset, kind: str, convert: Callable[[Any], Any]) -> xr.Dataset:
    """Convert labels of one kind, because Zarr has a stable format only for strings of variable length."""
    labels = {name: convert(c.values) for name, c in dataset.coords.items() if c.dtype.kind == kind}
    return dataset.assign_coords(labels)
