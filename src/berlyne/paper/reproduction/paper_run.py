"""What the reproduction consists of, and where its numbers are.

A reproduction is a folder. `results.zarr` holds the explorations; `data/` holds what was worked out
beyond them, one labelled dataset per stage; figures, claims and the report are made from these alone.
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
from berlyne.paper.claims import CLAIMS, Evidence, Verdict
from berlyne.paper.reproduction.assumptions import DEFAULT, Assumptions
from berlyne.paper.reproduction.gather import gather_evidence
from berlyne.paper.reproduction.stage import Stage
from berlyne.serialization import NOT_KEPT, atomic_folder, read_file, report_write_errors, write_store_file
from berlyne.strategies.registry import Strategy
from berlyne.worlds import World

if TYPE_CHECKING:
    import xarray as xr

StageKind = TypeVar("StageKind", bound=Stage)

PRESETS = {"smoke": 4, "quick": 20, "paper": 200}
"""Worlds of each class. Presets differ in size only, never in what is run."""
MARKER_FILE = "reproduction.json"
"""The file that tells a reproduction from any other folder, and says what is assumed in it."""


@dataclass(frozen=True, eq=False)
class PaperRun:
    """One reproduction: its folder, size, seed and assumptions. What was read or worked out for it is kept with it."""

    folder: Path
    n_worlds: int
    seed: int
    assumptions: Assumptions = DEFAULT

    @classmethod
    def open(cls, folder: Path) -> PaperRun:
        """The reproduction that `folder` holds, whatever its size."""
        if not (folder / "results.zarr").is_dir():
            raise StoreError(f"there is no reproduction in {folder}; make one with: berlyne reproduce {folder}")
        settings = open_results(folder / "results.zarr").settings
        return cls(folder, int(settings["n_worlds"]), int(settings["seed"]), read_assumptions(folder) or DEFAULT)

    def has_more_worlds(self) -> bool:
        """Whether the folder holds more worlds than this study asks for."""
        path = self.folder / "results.zarr"
        return path.is_dir() and int(open_results(path).settings["n_worlds"]) > self.n_worlds

    @cached_property
    def experiment(self) -> Experiment:
        """The explorations that all else rests on."""
        return self.assumptions.experiment(self.n_worlds, self.seed)

    def strategy(self, name: str) -> Strategy:
        """The strategy that the paper calls by this name, as it is assumed."""
        return self._strategies[name]

    @cached_property
    def _strategies(self) -> dict[str, Strategy]:
        return self.assumptions.strategies

    def replace(self, changes: Mapping[str, Any]) -> PaperRun:
        """The study of the same worlds under other assumptions."""
        return replace(self, assumptions=self.assumptions.replace(changes))

    def configured(self, stage: StageKind) -> StageKind:
        """A stage with the settings that are assumed: those whose keys begin with its name."""
        mine = {
            key.partition(".")[2]: value
            for key, value in self.assumptions.changed.items()
            if key.partition(".")[0] == stage.name
        }
        return replace(stage, **{key: value for key, value in mine.items() if key in vars(stage)})

    @cached_property
    def results(self) -> Results:
        """The stored explorations, by the names that strategies have in the paper."""
        names = {strategy.name: name for name, strategy in self._strategies.items()}
        return open_results(self.folder / "results.zarr").renamed(names)

    @cached_property
    def evidence(self) -> Evidence:
        """All that claims are checked on, read once."""
        return gather_evidence(self, _ReadOnce(self.stage))

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """What comes of every claim."""
        return {id_: claim.verdict(self.evidence) for id_, claim in CLAIMS.items()}

    @cached_property
    def worlds_summary(self) -> dict[str, Any]:
        """What tells the worlds of this study, and the times of its runs, from those of another."""
        classes, said = self.experiment.classes, self.experiment.describe()["worlds"]
        return {
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": self.experiment.snapshots,
            "worlds": {c.name: (said[c.name], fingerprint(self.world(c.name, 0))) for c in classes},
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

    def is_current(self, stage: Stage) -> bool:
        """Whether a stage was worked out for this very study, with these very settings."""
        import xarray as xr

        path = self.folder / "data" / f"{stage.name}.zarr"
        try:
            return path.is_dir() and xr.open_zarr(path, chunks=None).attrs.get("stamp") == self.configured(stage).stamp(
                self
            )
        except (StoreError, KeyError, ValueError, OSError):
            return False

    def save_stage(self, stage: Stage, dataset: xr.Dataset) -> None:
        """Store the numbers of a stage, whole or not at all."""
        path = self.folder / "data" / f"{stage.name}.zarr"
        path.parent.mkdir(parents=True, exist_ok=True)
        dataset = dataset.assign_attrs(stamp=self.configured(stage).stamp(self), versions=json.dumps(versions()))
        dataset = _with_labels(dataset, "U", lambda labels: labels.astype(np.dtypes.StringDType()))
        with (
            atomic_folder(path, replace=True, sync=True) as partial,
            report_write_errors(path, NOT_KEPT, partial),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message=".*[Cc]onsolidated metadata.*")
            dataset.to_zarr(partial, mode="w", zarr_format=3, consolidated=True)


def read_assumptions(folder: Path) -> Assumptions | None:
    """What the reproduction in `folder` assumes; None if it does not say."""
    place = folder / MARKER_FILE
    content = read_file(place)
    if content is None:
        return None
    try:
        said = json.loads(content.decode())["assumptions"]
        return Assumptions({str(key): tuple(v) if isinstance(v, list) else v for key, v in said.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{place} is damaged ({error}); use another folder") from None


def write_marker(paper_run: PaperRun) -> None:
    """Say in its folder what the study assumes; an error if the folder assumes something else, or is no such folder."""
    folder, there = paper_run.folder, read_assumptions(paper_run.folder)
    if there is None:
        others = sorted(path.name for path in folder.iterdir() if not _is_ours(path.name))
        if others:
            raise SettingsError(f"{folder} holds something else ({others[0]}); use a folder that is new or empty")
        there = DEFAULT if (folder / "results.zarr").is_dir() else paper_run.assumptions
    if there != paper_run.assumptions:
        was, asked = (
            ", ".join(f"{k} = {v}" for k, v in a.describe().items()) or "the default"
            for a in (there, paper_run.assumptions)
        )
        raise SettingsError(f"{folder} was made with {was}, and {asked} is asked for; use another folder for this")
    write_store_file(folder / MARKER_FILE, json.dumps({"assumptions": paper_run.assumptions.describe()}).encode())


def _is_ours(name: str) -> bool:
    """Whether a reproduction has files of this name."""
    ours = ("results.zarr", "data", "figures", "claims.json", "report.html", "seconds.json", "default")
    return name.startswith(".") or name.removesuffix(".partial").removesuffix(".lock") in (*ours, "reproduction")


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
