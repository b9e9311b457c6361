"""The Zarr store of a study, for the one process that writes it.

The store opens in xarray as a dataset over `world`, `strategy` and `time`. A work unit is a block of worlds under one
strategy; it is one chunk of every array. Chunks are written to temporary files and renamed. `area` is written last, and
a work unit is done once its areas exist, so the store stays valid if a run is killed at any time. Every chunk ends in a
checksum, and a manifest binds it to its place.

Worlds of all classes take turns along the axis, so that new worlds and new strategies are appended. Readers take all
shapes from the metadata in the root, which is replaced last. The user's own worlds are stored beside the arrays (see
`stored_worlds`).
"""

from __future__ import annotations

import glob
import shutil
import stat
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import decode, encode, stored_checksum
from berlyne.experiments.manifests import ChunkFiles, Manifest
from berlyne.experiments.schema import (
    Root,
    check_same_measures,
    check_same_settings,
    check_same_shard,
    create_store,
    derived_files,
    layout_from_metadata,
    merge_settings,
    n_positions,
    read_root,
    read_settings,
    resize_metadata,
    root_attributes,
    run_coordinate,
    versions,
    write_changed_files,
    write_root,
)
from berlyne.experiments.shard import Shard
from berlyne.experiments.spec import Experiment
from berlyne.experiments.stored_worlds import FOLDER, write_world
from berlyne.experiments.work_unit import WorkUnit, world_at
from berlyne.serialization import PARTIAL_SUFFIX, StoreError, check_file_type, remove_store_file, write_store_file
from berlyne.validation import FloatArray

__all__ = ["BLOCK", "Store", "StoreError", "WorkUnit", "read_settings", "versions", "work_unit_name"]

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
    root : Root
        Root of the store.

    Attributes
    ----------
    experiment : Experiment
        The requested study, with its classes in the order of the store.
    attributes, metadata : dict
        Attributes of the root, and metadata of the arrays by name.
    names : list of str
        Strategies in the store, in order.
    block : int
        Number of positions in a block.
    area : ndarray of shape (positions, strategies)
        Areas of the finished explorations; NaN for all others.
    shard : Shard or None
        The part of the study in this store; None for the whole study.
    damaged_areas : list of (WorkUnit, str)
        Work units whose areas or manifests are damaged, and the flaw.
    discarded : dict
        Positions of discarded work units by first position and strategy; they are computed again.
    manifests : dict
        Manifests of the finished work units by block and column.
    """

    def __init__(self, path: Path, experiment: Experiment, root: Root) -> None:
        self.path = path
        self.attributes: dict[str, Any] = root["attributes"]
        self.metadata: dict[str, Any] = root["arrays"]
        self.chunk_files = ChunkFiles(path, root)
        self.experiment = experiment.in_order(list(self.attributes["settings"]["worlds"]))
        self.names, self.block, self.arrays = self.chunk_files.names, self.chunk_files.block, self.chunk_files.arrays
        self.shard = Shard(*self.attributes["shard"]) if "shard" in self.attributes else None
        self.layout = layout_from_metadata(self.attributes["settings"], self.metadata)
        self.damaged_areas: list[tuple[WorkUnit, str]] = []
        self.discarded: dict[tuple[int, str], tuple[int, ...]] = {}
        self.unit_locks: defaultdict[tuple[int, int], threading.Lock] = defaultdict(threading.Lock)
        self.manifests: dict[tuple[int, int], Manifest] = {}
        self.written_worlds: set[tuple[str, int]] = set()
        self.worlds_lock = threading.Lock()
        self._clean()
        self.area = self._read_area()

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
        # left by runs that were killed while they created a store
        for leftover in path.parent.glob(f"{glob.escape(path.name)}.[0-9]*{PARTIAL_SUFFIX}"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not path.exists():
            create_store(path, experiment, BLOCK, WORK_UNIT_BYTES, shard)
        root = read_root(path)
        check_same_settings(path, root["attributes"]["settings"], experiment.describe())
        check_same_measures(path, root, experiment)
        check_same_shard(path, root, shard)
        for name in root["arrays"]:
            check_file_type(path / name, stat.S_IFDIR)
        store = cls(path, experiment, root)
        store._grow()
        return store

    def _clean(self) -> None:
        """Remove temporary files of killed runs."""
        for folder in (self.path, *(self.path / name for name in (*self.metadata, FOLDER))):
            for leftover in folder.glob(f"*{PARTIAL_SUFFIX}"):
                remove_store_file(leftover)

    def _n_blocks(self) -> int:
        return -(-int(self.metadata["area"]["shape"][0]) // self.block)

    def _grow(self) -> None:
        """Extend the arrays for more worlds and strategies; an interrupted extension is repeated."""
        for kind in self.experiment.classes:
            for index, world in enumerate(kind.worlds[: self.experiment.n_worlds]):
                self.layout.check_world(world, kind.name, index)
        stored, requested = self.attributes["settings"], self.experiment.describe()
        n_worlds = max(int(stored["n_worlds"]), self.experiment.n_worlds)
        self.names += [name for name in self.experiment.strategy_names if name not in self.names]
        settings = merge_settings(stored, requested, self.names, n_worlds)
        grown = np.full((n_positions(settings), len(self.names)), np.nan)
        grown[: self.area.shape[0], : self.area.shape[1]] = self.area
        self.area = grown
        arrays = {name: resize_metadata(array, *grown.shape) for name, array in self.metadata.items()}
        arrays |= run_coordinate(settings)
        write_changed_files(self.path, derived_files(settings, arrays))
        current = versions() if self.missing() else self.attributes["versions"]
        self._write_root(root_attributes(settings, current, self.attributes), arrays)

    def _write_worlds(self, positions: Iterable[int]) -> None:
        """Store the user's own worlds at these positions, unless this run has already checked them."""
        for position in positions:
            kind, index = self.experiment.position(position)
            if not kind.is_custom or kind.no_table or not self._can_make(position):
                continue
            with self.worlds_lock:
                if (kind.name, index) not in self.written_worlds:
                    world = world_at(self.experiment, kind.name, index)
                    write_world(self.path, self.attributes["settings"], kind.name, index, world)
                    self.written_worlds.add((kind.name, index))

    def finish(self) -> None:
        """Write the number of explored worlds of each strategy to the root, so that a missing world is detected later.

        Missing or damaged files of the user's own worlds are written again.
        """
        explored_positions = np.flatnonzero(~np.isnan(self.area[: self.experiment.n_positions]).all(axis=1))
        self._write_worlds(explored_positions.tolist())
        explored = dict(self.attributes.get("explored", {}))
        for name in self.experiment.strategy_names:
            gaps = np.flatnonzero(np.isnan(self.area[:, self.names.index(name)]))
            explored[name] = int(gaps[0]) if len(gaps) else len(self.area)
        in_order = {name: explored[name] for name in self.names if name in explored}
        self._write_root({**self.attributes, "explored": in_order}, self.metadata)

    def _write_root(self, attributes: dict[str, Any], arrays: dict[str, Any]) -> None:
        if (attributes, arrays) != (self.attributes, self.metadata):
            write_root(self.path, attributes, arrays)
            self.attributes, self.metadata = attributes, arrays

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

    def write(self, unit: WorkUnit, chunks: dict[str, bytes]) -> None:
        """Write a computed work unit, its areas last. Several threads may call this."""
        block, column = unit.first // self.block, self.names.index(unit.strategy)
        for name in self.experiment.custom_measures:
            self._check_size(name, chunks[name])
        self._write_worlds(unit.positions)
        with self.unit_locks[block, column]:
            areas = self.area[unit.first : unit.first + self.block, column]
            before = self.manifests.get((block, column))
            if before is not None:  # the block already contains other explorations, which the new chunks must include
                chunks = {**self._blank_chunks(before, chunks, block, column), **chunks}
                chunks = {name: self._merge_chunk(name, unit, content) for name, content in chunks.items()}
            after = {name: [stored_checksum(content)] for name, content in chunks.items()}
            if before is not None:
                both = {name: list(dict.fromkeys([*before.get(name, []), *after[name]])) for name in after}
                self.chunk_files.write_manifest(block, column, both)
            for name in sorted(chunks.keys() - {"area"}):
                write_store_file(self.chunk_files.chunk_path(name, block, column), chunks[name])
            if before is None:
                self.chunk_files.write_manifest(block, column, after)
            write_store_file(self.chunk_files.chunk_path("area", block, column), chunks["area"])
            if before is not None:
                self.chunk_files.write_manifest(block, column, after)
            self.manifests[block, column] = after
            areas[:] = self._decode("area", chunks["area"])[: len(areas), 0]

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
            for array in self.arrays:
                content = self.chunk_files.read_chunk(array, block, column)
                chunk_flaw = self.chunk_files.find_flaw(array, block, column, content, manifest)
                if chunk_flaw is not None:
                    yield WorkUnit(first, self.block, name, tuple(done.tolist())), array, chunk_flaw
                    break

    def discard(self, unit: WorkUnit) -> None:
        """Remove a work unit, so that it is computed again, including worlds that the experiment does not need."""
        block, column = unit.first // self.block, self.names.index(unit.strategy)
        remove_store_file(self.chunk_files.chunk_path("area", block, column))
        self.chunk_files.remove_manifest(block, column)
        for array in self.arrays:
            remove_store_file(self.chunk_files.chunk_path(array, block, column))
        self.manifests.pop((block, column), None)
        self.area[unit.first : unit.first + self.block, column] = np.nan
        self.discarded[unit.first, unit.strategy] = unit.positions

    def _in_shard(self, position: int) -> bool:
        return self.shard is None or self.shard.contains(position, len(self.experiment.classes))

    def _can_make(self, position: int) -> bool:
        """Whether the experiment has the world at a position."""
        kind, index = self.experiment.position(position)
        return not kind.worlds or index < len(kind.worlds)

    def _read_area(self) -> FloatArray:
        """Read the areas and manifests of all finished work units; damaged ones are added to `damaged_areas`."""
        n_positions, n_strategies = self.metadata["area"]["shape"]
        area = np.full((n_positions, n_strategies), np.nan)
        for column, block in np.ndindex(n_strategies, self._n_blocks()):
            first = block * self.block
            block_area = area[first : first + self.block, column]
            content = self.chunk_files.read_chunk("area", block, column)
            try:
                manifest = self.chunk_files.read_manifest(block, column)
                flaw = self.chunk_files.find_flaw("area", block, column, content, manifest)
            except ValueError as error:
                manifest, flaw = None, str(error)
            if flaw is not None:
                positions = tuple(range(first, first + len(block_area)))
                self.damaged_areas.append((WorkUnit(first, self.block, self.names[column], positions), flaw))
            elif content is not None and manifest is not None:
                self.manifests[block, column] = self._settle_manifest(block, column, manifest)
                block_area[:] = self._decode("area", content)[: len(block_area), 0]
            elif manifest is not None:  # left by a run that was killed before it wrote the areas
                self.chunk_files.remove_manifest(block, column)
        return area

    def _settle_manifest(self, block: int, column: int, manifest: Manifest) -> Manifest:
        """Reduce a manifest with two checksums per chunk, left by a killed run, to the chunks on disk."""
        if all(len(checksums) < 2 for checksums in manifest.values()):
            return manifest
        chunks = {name: self.chunk_files.read_chunk(name, block, column) for name in manifest.keys() & set(self.arrays)}
        flaws = [self.chunk_files.find_flaw(name, block, column, chunk, manifest) for name, chunk in chunks.items()]
        if any(flaws):
            return manifest
        settled = {name: [stored_checksum(chunk)] for name, chunk in chunks.items() if chunk is not None}
        self.chunk_files.write_manifest(block, column, settled)
        return settled

    def _blank_chunks(self, manifest: Manifest, chunks: dict[str, bytes], block: int, column: int) -> dict[str, bytes]:
        """Return blank chunks of arrays that the block has and `chunks` does not: `next_state` if episodes end."""
        stored = {name: self.chunk_files.read_chunk(name, block, column) for name in manifest.keys() - chunks.keys()}
        blank = self.layout.empty_arrays(self.block, 0, True)
        return {name: encode(blank[name]) for name, chunk in stored.items() if chunk is not None and name in blank}

    def _merge_chunk(self, name: str, unit: WorkUnit, content: bytes) -> bytes:
        """Return a chunk with the rows of `unit` from `content`, and all other rows from the store."""
        stored = self.chunk_files.read_chunk(name, unit.first // self.block, self.names.index(unit.strategy))
        if stored is None:
            return content
        rows = np.array(unit.positions) - unit.first
        merged = self._decode(name, stored)
        merged[rows] = self._decode(name, content)[rows]
        return encode(merged)

    def _decode(self, name: str, content: bytes) -> Any:
        return decode(content, self.metadata[name]["data_type"], self._chunk_shape(name))

    def _check_size(self, name: str, content: bytes) -> None:
        try:
            self._decode(name, content)
        except ValueError:
            raise ValueError(
                f"measures.{name}: returned a single number in one run and one per time in another; it must return the "
                "same shape in all runs"
            ) from None

    def _chunk_shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.metadata[name]["chunk_grid"]["configuration"]["chunk_shape"])


def work_unit_name(unit: WorkUnit, experiment: Experiment) -> str:
    """Return the name of a work unit for messages."""
    ends = [experiment.id_at(position) for position in (unit.positions[0], unit.positions[-1])]
    return f"{unit.strategy} in worlds {ends[0]} to {ends[1]}"
