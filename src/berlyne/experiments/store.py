"""Where results are kept: one Zarr store, written in whole pieces.

The store opens in xarray as a dataset over `world`, `strategy` and `time`. A piece is a block of worlds
under one strategy; it is one chunk of every array. Chunks are written beside their place and
renamed into it, `area` comes last, and a piece counts as done once its areas are there: whatever kills
a run, what is in the store is whole. Every chunk ends in a checksum, and a seal binds it to its place.

Worlds of all classes take turns along the axis, so more worlds are added behind those that are
there, and so are more strategies. What readers see of shapes is the metadata in the root, which is
replaced last. Worlds of a user's own are kept beside the arrays (`stored_worlds`).
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
from berlyne.experiments.manifests import MISSING, ChunkFiles, Manifest
from berlyne.experiments.schema import (
    FORMAT,
    UNSEALED,
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
"""Most worlds in one piece of a new store."""
WORK_UNIT_BYTES = 1 << 25
"""Most memory for one piece; where explorations are long or worlds large, it holds fewer worlds."""


class Store:
    """The arrays of one experiment on disk, for the one process that may write them.

    experiment : what is asked for, its classes in the order of the store.
    names : strategies in the store, in order.
    area : (worlds, strategies), what is done; NaN where nothing is.
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
        self.unsound: list[tuple[WorkUnit, str]] = []
        self.lost: dict[tuple[int, str], tuple[int, ...]] = {}
        self.busy: defaultdict[tuple[int, int], threading.Lock] = defaultdict(threading.Lock)
        self.manifests: dict[tuple[int, int], Manifest] = {}
        self.worlds: set[tuple[str, int]] = set()
        self.keeping = threading.Lock()
        self._clean()
        self._adopt()
        self.area = self._read_area()

    @classmethod
    def open(cls, path: Path, experiment: Experiment, shard: Shard | None = None) -> Store:
        """Open the store at `path`, made or grown as the experiment asks; an error names any other difference."""
        for left in path.parent.glob(f"{glob.escape(path.name)}.[0-9]*{PARTIAL_SUFFIX}"):  # of a run killed as it began
            shutil.rmtree(left, ignore_errors=True)
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
        """Remove what killed runs were writing."""
        for folder in (self.path, *(self.path / name for name in (*self.metadata, FOLDER))):
            for left in folder.glob(f"*{PARTIAL_SUFFIX}"):
                remove_store_file(left)

    def _adopt(self) -> None:
        """Manifest what a version without manifests has written: from here on it cannot change places unnoticed."""
        if self.chunk_files.sealed:
            return
        for column, block in np.ndindex(len(self.names), self._n_blocks()):
            if self.chunk_files.chunk_path("area", block, column).exists():
                found = {name: self.chunk_files.read_chunk(name, block, column) for name in self.arrays}
                there = {name: [stored_checksum(content)] for name, content in found.items() if content is not None}
                expected: Manifest = {name: [] for name in self.arrays if name != "next_state"}  # for what is gone
                self.chunk_files.write_manifest(block, column, {**expected, **there})
        self.attributes = {**self.attributes, "berlyne_format": FORMAT, "earlier_format": UNSEALED}
        write_root(self.path, self.attributes, self.metadata)
        self.chunk_files.sealed = True

    def _n_blocks(self) -> int:
        return -(-int(self.metadata["area"]["shape"][0]) // self.block)

    def _grow(self) -> None:
        """Make room for more worlds and strategies; done again if it was interrupted."""
        for kind in self.experiment.classes:
            for index, world in enumerate(kind.worlds[: self.experiment.n_worlds]):
                self.layout.check_world(world, kind.name, index)
        kept, asked = self.attributes["settings"], self.experiment.describe()
        n_worlds = max(int(kept["n_worlds"]), self.experiment.n_worlds)
        self.names += [name for name in self.experiment.strategy_names if name not in self.names]
        settings = merge_settings(kept, asked, self.names, n_worlds)
        grown = np.full((n_positions(settings), len(self.names)), np.nan)
        grown[: self.area.shape[0], : self.area.shape[1]] = self.area
        self.area = grown
        arrays = {name: resize_metadata(said, *grown.shape) for name, said in self.metadata.items()} | run_coordinate(
            settings
        )
        write_changed_files(self.path, derived_files(settings, arrays))
        now = versions() if self.missing() else self.attributes["versions"]
        self._write_root(root_attributes(settings, now, self.attributes), arrays)

    def _keep_worlds(self, positions: Iterable[int]) -> None:
        """Keep the worlds of a user's own at these positions, those that this run has not put right yet."""
        for position in positions:
            kind, index = self.experiment.position(position)
            if not kind.is_custom or kind.no_table or not self._can_make(position):
                continue
            with self.keeping:
                if (kind.name, index) not in self.worlds:
                    world = world_at(self.experiment, kind.name, index)
                    write_world(self.path, self.attributes["settings"], kind.name, index, world)
                    self.worlds.add((kind.name, index))

    def finish(self) -> None:
        """Note in the root how many worlds each strategy has explored: from here on, none of them may be missing.

        Worlds of a user's own that are not kept, or not as they should be, are put right.
        """
        there = np.flatnonzero(~np.isnan(self.area[: self.experiment.n_positions]).all(axis=1))
        self._keep_worlds(there.tolist())
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
        """What the experiment asks for and the store does not hold, block by block."""
        pieces = []
        n = self.experiment.n_positions
        for first in range(0, len(self.area), self.block):
            for name in self.experiment.strategy_names:
                column = self.area[first : min(first + self.block, n), self.names.index(name)]
                absent = {p for p in (first + np.flatnonzero(np.isnan(column))).tolist() if self._is_ours(p)}
                positions = tuple(sorted(absent.union(filter(self._can_make, self.lost.get((first, name), ())))))
                if positions:
                    pieces.append(WorkUnit(first, self.block, name, positions))
        return pieces

    def write(self, piece: WorkUnit, chunks: dict[str, bytes]) -> None:
        """Put a computed piece into place, its areas last. Several threads may call it."""
        block, column = piece.first // self.block, self.names.index(piece.strategy)
        for name in self.experiment.own:
            self._check_size(name, chunks[name])
        self._keep_worlds(piece.positions)
        with self.busy[block, column]:
            areas = self.area[piece.first : piece.first + self.block, column]
            before = self.manifests.get((block, column))
            if before is not None:  # others of this block are there already: the chunks are written with them
                chunks = {**self._others(before, chunks, block, column), **chunks}
                chunks = {name: self._merged(name, piece, content) for name, content in chunks.items()}
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
        """ChunkFiles that are done but of which a chunk is not as it was written, the array concerned, and what is wrong.

        Only strategies of the experiment: others could not be computed again.
        """
        for piece, flaw in self.unsound:
            if piece.strategy in self.experiment.strategy_names:
                yield piece, "area", flaw
        for (block, column), seal in sorted(self.manifests.items()):
            name, first = self.names[column], block * self.block
            if name not in self.experiment.strategy_names:
                continue
            done = first + np.flatnonzero(~np.isnan(self.area[first : first + self.block, column]))
            for array in self.arrays:
                content = self.chunk_files.read_chunk(array, block, column)
                why = self.chunk_files.find_flaw(array, block, column, content, seal)
                if (
                    content is None
                    and array == "next_state"
                    and (self.experiment.strategy(name).relocates or any(map(self._ends, done.tolist())))
                ):
                    why = MISSING  # whatever the seal says, which may have been made without it
                if why is not None:
                    yield WorkUnit(first, self.block, name, tuple(done.tolist())), array, why
                    break

    def discard(self, piece: WorkUnit) -> None:
        """Forget a piece, so that it is computed again, even those of its worlds that are not asked for."""
        block, column = piece.first // self.block, self.names.index(piece.strategy)
        remove_store_file(self.chunk_files.chunk_path("area", block, column))
        self.chunk_files.remove_manifest(block, column)
        for array in self.arrays:
            remove_store_file(self.chunk_files.chunk_path(array, block, column))
        self.manifests.pop((block, column), None)
        self.area[piece.first : piece.first + self.block, column] = np.nan
        self.lost[piece.first, piece.strategy] = piece.positions

    def _is_ours(self, position: int) -> bool:
        return self.shard is None or self.shard.contains(position, len(self.experiment.classes))

    def _ends(self, position: int) -> bool:
        """Whether episodes end in the world at a position; of a function of a user's own its first world tells."""
        kind, index = self.experiment.position(position)
        if not kind.is_custom or kind.no_table or not self._can_make(position):
            return kind.no_table
        return bool(len(world_at(self.experiment, kind.name, index if kind.worlds else 0).terminal))

    def _can_make(self, position: int) -> bool:
        kind, index = self.experiment.position(position)
        return not kind.worlds or index < len(kind.worlds)

    def _read_area(self) -> FloatArray:
        """Areas of all pieces that are done, and their manifests; those that are not as they should be are noted."""
        n_positions, n_names = self.metadata["area"]["shape"]
        area = np.full((n_positions, n_names), np.nan)
        for column, block in np.ndindex(n_names, self._n_blocks()):
            first = block * self.block
            there = area[first : first + self.block, column]
            content = self.chunk_files.read_chunk("area", block, column)
            try:
                seal = self.chunk_files.read_manifest(block, column)
                flaw = self.chunk_files.find_flaw("area", block, column, content, seal)
            except ValueError as error:
                seal, flaw = None, str(error)
            if flaw is not None:
                positions = tuple(range(first, first + len(there)))
                self.unsound.append((WorkUnit(first, self.block, self.names[column], positions), flaw))
            elif content is not None and seal is not None:
                self.manifests[block, column] = self._settled(block, column, seal)
                there[:] = self._decode("area", content)[: len(there), 0]
            elif seal is not None:  # of a run that was killed before it came to the areas
                self.chunk_files.remove_manifest(block, column)
        return area

    def _settled(self, block: int, column: int, seal: Manifest) -> Manifest:
        """The seal of a piece whose chunks were being replaced by a run that was killed: as they are now."""
        if all(len(these) < 2 for these in seal.values()):
            return seal
        found = {name: self.chunk_files.read_chunk(name, block, column) for name in seal.keys() & set(self.arrays)}
        flaws = [self.chunk_files.find_flaw(name, block, column, content, seal) for name, content in found.items()]
        if any(flaws):
            return seal
        now = {name: [stored_checksum(content)] for name, content in found.items() if content is not None}
        self.chunk_files.write_manifest(block, column, now)
        return now

    def _others(self, seal: Manifest, chunks: dict[str, bytes], block: int, column: int) -> dict[str, bytes]:
        """Chunks of arrays that others of this block have and these do not: where actions led, if episodes end."""
        found = {name: self.chunk_files.read_chunk(name, block, column) for name in seal.keys() - chunks.keys()}
        blank = self.layout.empty_arrays(self.block, 0, True)
        return {name: encode(blank[name]) for name, content in found.items() if content is not None and name in blank}

    def _merged(self, name: str, piece: WorkUnit, content: bytes) -> bytes:
        """A chunk with the lines of `piece` from `content`, and all others as they are in the store."""
        old = self.chunk_files.read_chunk(name, piece.first // self.block, self.names.index(piece.strategy))
        if old is None:
            return content
        lines = np.array(piece.positions) - piece.first
        whole = self._decode(name, old)
        whole[lines] = self._decode(name, content)[lines]
        return encode(whole)

    def _decode(self, name: str, content: bytes) -> Any:
        return decode(content, self.metadata[name]["data_type"], self._chunk_shape(name))

    def _check_size(self, name: str, content: bytes) -> None:
        try:
            self._decode(name, content)
        except ValueError:
            raise ValueError(
                f"measures.{name}: gave one number here and one per time there; it must always be alike"
            ) from None

    def _chunk_shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.metadata[name]["chunk_grid"]["configuration"]["chunk_shape"])


def work_unit_name(piece: WorkUnit, experiment: Experiment) -> str:
    """How messages name a piece."""
    ends = [experiment.id_at(position) for position in (piece.positions[0], piece.positions[-1])]
    return f"{piece.strategy} in worlds {ends[0]} to {ends[1]}"
