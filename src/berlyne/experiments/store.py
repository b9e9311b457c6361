"""The Zarr store of a study, for the one process that writes it.

The store opens in xarray as a dataset over `world`, `strategy` and `time`. A work unit is a block of worlds under one
strategy; it is one chunk of every array. Zarr encodes the chunks, and `manifests` writes them so that the store stays
valid if a run is killed, or the power fails, at any time.

Worlds of all classes take turns along the axis, so that new worlds and new strategies are appended. Readers take all
shapes from the study file, which is replaced last. The user's own worlds are stored beside their labels (see
`stored_worlds`).
"""

from __future__ import annotations

import re
import stat
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.manifests import ChunkFiles, Manifest
from berlyne.experiments.schema import (
    Study,
    check_same_measures,
    check_same_shard,
    create_store,
    derived_files,
    read_study,
    remove_partial_stores,
    versions,
    write_derived_files,
    write_study,
)
from berlyne.experiments.settings import check_same_settings
from berlyne.experiments.shard import Shard
from berlyne.experiments.spec import Experiment
from berlyne.experiments.stored_worlds import write_world
from berlyne.experiments.work_unit import WorkUnit, world_at
from berlyne.serialization import PARTIAL_SUFFIX, StoreError, check_file_type, remove_store_file
from berlyne.validation import FloatArray

__all__ = ["BLOCK", "Store", "StoreError", "WorkUnit", "versions", "work_unit_name"]

BLOCK = 192
"""Maximum number of positions in a block of a new store."""
WORK_UNIT_BYTES = 1 << 25
"""Maximum memory of a work unit. If explorations are long or worlds are large, it has fewer worlds."""


class Store:
    """The arrays of one experiment on disk, for the one process that may write them.

    Parameters
    ----------
    path : Path
        Directory of the store.
    experiment : Experiment
        The requested study.
    study : Study
        Study of the store.

    Attributes
    ----------
    experiment : Experiment
        The requested study, with its classes in the order of the store.
    area : ndarray of shape (positions, strategies)
        Areas of the finished explorations; NaN for all others.
    damaged_areas : list of (WorkUnit, str)
        Work units whose areas or manifests are damaged, and the flaw.
    discarded : dict
        Positions of discarded work units by first position and strategy; they are computed again.
    manifests : dict
        Manifests of the finished work units by block and column.
    """

    def __init__(self, path: Path, experiment: Experiment, study: Study) -> None:
        self.path, self.study = path, study
        self.chunk_files = ChunkFiles(path, study)
        self.experiment = experiment.in_order(list(study.settings.worlds))
        self.damaged_areas: list[tuple[WorkUnit, str]] = []
        self.discarded: dict[tuple[int, str], tuple[int, ...]] = {}
        self.unit_locks: defaultdict[tuple[int, int], threading.Lock] = defaultdict(threading.Lock)
        self.manifests: dict[tuple[int, int], Manifest] = {}
        self.written_worlds: set[tuple[str, int]] = set()
        self.worlds_lock = threading.Lock()
        self.area = self._read_area()

    @property
    def names(self) -> list[str]:
        """Strategies in the store, in order."""
        return self.study.settings.strategies

    @property
    def block(self) -> int:
        """Number of positions in a block."""
        return self.study.layout.block

    @classmethod
    def open(cls, path: Path, experiment: Experiment, shard: Shard | None = None) -> Store:
        """Open the store at `path`; it is created or extended for the experiment.

        Raises
        ------
        SettingsError
            If the store was made with other settings, measures or another shard.
        StoreError
            If it is not a store, or if its root is damaged.
        """
        remove_partial_stores(path)
        if not path.exists():
            create_store(path, experiment, BLOCK, WORK_UNIT_BYTES, shard)
        study = read_study(path)
        check_same_settings(path, study.settings, experiment.settings)
        check_same_measures(path, study, experiment)
        check_same_shard(path, study.shard, shard)
        _clean(path, derived_files(study))
        store = cls(path, experiment, study)
        store._grow()
        return store

    def _grow(self) -> None:
        """Extend the arrays for more worlds and strategies; an interrupted extension is repeated."""
        for kind in self.experiment.classes:
            for index, world in enumerate(kind.worlds[: self.experiment.n_worlds]):
                self.study.layout.check_world(world, kind.name, index)
        stored = self.study
        self.study = replace(stored, settings=stored.settings.merge(self.experiment.settings))
        grown = np.full((self.study.settings.n_positions, len(self.names)), np.nan)
        grown[: self.area.shape[0], : self.area.shape[1]] = self.area
        self.area = grown
        if self.missing():
            self.study = self.study.with_versions(versions())
        self._write_study(stored)
        self.chunk_files = ChunkFiles(self.path, self.study)
        self.chunk_files.open_arrays()

    def _write_study(self, stored: Study) -> None:
        """Write the derived files that differ, then the study if it is not as stored."""
        write_derived_files(self.path, self.study)
        if self.study != stored:
            write_study(self.path, self.study)

    def _write_worlds(self, positions: Iterable[int]) -> None:
        """Store the user's own worlds at these positions, unless this run has already checked them."""
        for position in positions:
            kind, index = self.experiment.position(position)
            if not kind.is_custom or kind.no_table or not self._can_make(position):
                continue
            with self.worlds_lock:
                if (kind.name, index) not in self.written_worlds:
                    world = world_at(self.experiment, kind.name, index)
                    write_world(self.path, self.study.settings, kind.name, index, world)
                    self.written_worlds.add((kind.name, index))

    def finish(self) -> None:
        """Write the number of explored worlds of each strategy to the study, so that a missing world is detected later.

        Missing or damaged files of the user's own worlds are written again.
        """
        explored_positions = np.flatnonzero(~np.isnan(self.area[: self.experiment.n_positions]).all(axis=1))
        self._write_worlds(explored_positions.tolist())
        explored, stored = dict(self.study.explored), self.study
        for name in self.experiment.strategy_names:
            gaps = np.flatnonzero(np.isnan(self.area[:, self.names.index(name)]))
            explored[name] = int(gaps[0]) if len(gaps) else len(self.area)
        in_order = {name: explored[name] for name in self.names if name in explored}
        self.study = replace(stored, explored=in_order)
        if self.study != stored:
            self._write_study(stored)

    def missing(self) -> list[WorkUnit]:
        """Return the work units that the experiment needs and the store does not contain, block by block."""
        units = []
        n = self.experiment.n_positions
        for first in range(0, len(self.area), self.block):
            for name in self.experiment.strategy_names:
                column = self.area[first : min(first + self.block, n), self.names.index(name)]
                absent = {p for p in (first + np.flatnonzero(np.isnan(column))).tolist() if self._in_shard(p)}
                discarded = filter(self._can_make, self.discarded.get((first, name), ()))
                positions = tuple(sorted(absent.union(discarded)))
                if positions:
                    units.append(WorkUnit(first, self.block, name, positions))
        return units

    def write(self, unit: WorkUnit, arrays: dict[str, Any]) -> None:
        """Write a computed work unit; other explorations of its block are kept. Several threads may call this."""
        block, column = unit.first // self.block, self.names.index(unit.strategy)
        rows = np.array(unit.positions) - unit.first
        self._write_worlds(unit.positions)
        with self.unit_locks[block, column]:
            chunks = self.chunk_files.encode(unit.positions, column, {name: arrays[name][rows] for name in arrays})
            before = self.manifests.get((block, column))
            self.manifests[block, column] = self.chunk_files.write(block, column, chunks, before)
            self.area[rows + unit.first, column] = arrays["area"][rows]

    def iter_damaged(self) -> Iterator[tuple[WorkUnit, str, str]]:
        """Find work units that are done but have a damaged or missing chunk.

        Only strategies of the experiment are checked, because others could not be computed again.

        Yields
        ------
        tuple of (WorkUnit, str, str)
            The work unit, the name of the array, and the flaw.
        """
        for unit, flaw in self.damaged_areas:
            if unit.strategy in self.experiment.strategy_names:
                yield unit, "area", flaw
        for (block, column), manifest in sorted(self.manifests.items()):
            name, first = self.names[column], block * self.block
            if name not in self.experiment.strategy_names:
                continue
            done = first + np.flatnonzero(~np.isnan(self.area[first : first + self.block, column]))
            for array in self.chunk_files.arrays:
                content = self.chunk_files.read_chunk(array, block, column)
                chunk_flaw = self.chunk_files.find_flaw(array, block, column, content, manifest)
                if chunk_flaw is not None:
                    yield WorkUnit(first, self.block, name, tuple(done.tolist())), array, chunk_flaw
                    break

    def discard(self, unit: WorkUnit) -> None:
        """Remove a work unit, so that it is computed again, including worlds that the experiment does not need."""
        block, column = unit.first // self.block, self.names.index(unit.strategy)
        self.chunk_files.remove(block, column)
        self.manifests.pop((block, column), None)
        self.area[unit.first : unit.first + self.block, column] = np.nan
        self.discarded[unit.first, unit.strategy] = unit.positions

    def _in_shard(self, position: int) -> bool:
        shard = self.study.shard
        return shard is None or shard.contains(position, len(self.experiment.classes))

    def _can_make(self, position: int) -> bool:
        """Whether the experiment has the world at a position."""
        kind, index = self.experiment.position(position)
        return not kind.worlds or index < len(kind.worlds)

    def _read_area(self) -> FloatArray:
        """Read the areas and manifests of all finished work units; damaged ones are added to `damaged_areas`.

        Chunks that a killed run has left of other work units are removed.
        """
        n_positions, sound, damaged = self.study.settings.n_positions, dict[str, bytes](), set[tuple[int, int]]()
        for column, block in np.ndindex(len(self.names), -(-n_positions // self.block)):
            content = self.chunk_files.read_chunk("area", block, column)
            try:
                manifest = self.chunk_files.read_manifest(block, column)
                flaw = self.chunk_files.find_flaw("area", block, column, content, manifest)
            except ValueError as error:
                manifest, flaw = None, str(error)
            if flaw is not None:
                first = block * self.block
                positions = tuple(range(first, min(first + self.block, n_positions)))
                self.damaged_areas.append((WorkUnit(first, self.block, self.names[column], positions), flaw))
                damaged.add((block, column))
            elif content is not None and manifest is not None:
                self.manifests[block, column] = self.chunk_files.settle(block, column, manifest)
                sound[self.chunk_files.key("area", block, column)] = content
            elif manifest is not None:  # left by a run that was killed before it wrote the areas
                self.chunk_files.remove(block, column)
        self._remove_unfinished({*self.manifests, *damaged})
        return _decode_area(self.study, sound)

    def _remove_unfinished(self, finished: set[tuple[int, int]]) -> None:
        """Remove the chunks of all other work units: new rows would be added to them."""
        for array in self.chunk_files.arrays:
            for file in (self.path / array).glob("c.*"):
                match = re.match(r"c\.(\d+)\.(\d+)(\.0)*$", file.name)
                if match and (int(match[1]), int(match[2])) not in finished:
                    remove_store_file(file)


def _clean(path: Path, files: Iterable[str]) -> None:
    """Remove temporary files of killed runs; raise a `StoreError` if the folder of an array is not a folder."""
    folders = {(path / name).parent for name in files}
    for folder in sorted(folders):
        if folder != path:  # which may be a link
            check_file_type(folder, stat.S_IFDIR)
        for leftover in folder.glob(f"*{PARTIAL_SUFFIX}"):
            remove_store_file(leftover)


def _decode_area(study: Study, chunks: dict[str, bytes]) -> FloatArray:
    """Decode chunks of areas with Zarr, (positions, strategies); areas that are not there are NaN."""
    import zarr
    from zarr.core.buffer import cpu
    from zarr.storage import MemoryStore

    files = {"area/zarr.json": derived_files(study)["area/zarr.json"], **chunks}
    store = MemoryStore({key: cpu.Buffer.from_bytes(content) for key, content in files.items()})
    return np.asarray(zarr.open_array(store, path="area", mode="r")[:], dtype=np.float64)


def work_unit_name(unit: WorkUnit, experiment: Experiment) -> str:
    """Return the name of a work unit for messages."""
    ends = [experiment.id_at(position) for position in (unit.positions[0], unit.positions[-1])]
    return f"{unit.strategy} in worlds {ends[0]} to {ends[1]}"
