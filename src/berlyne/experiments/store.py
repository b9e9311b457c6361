"""Where results are kept: one Zarr store, written in whole pieces.

The store opens in xarray as a dataset over `world`, `strategy` and `time`. A piece is a block of worlds
under one strategy; it is one chunk of every array. Chunks are written beside their place and
renamed into it, `area` comes last, and a piece counts as done once its areas are there: whatever kills
a run, what is in the store is whole. Every chunk ends in a checksum.

Worlds of all classes take turns along the axis, so more worlds are added behind those that are
there, and so are more strategies. What readers see of shapes is the metadata in the root, which is
replaced last.
"""

from __future__ import annotations

import glob
import os
import shutil
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.chunks import PARTIAL, decode, encode, is_sound, put, read
from berlyne.experiments.metadata import (
    FORMAT,
    StoreError,
    array_metadata,
    derived_files,
    layout_of,
    publish,
    put_right,
    read_root,
    read_settings,
    refuse_differences,
    versions,
)
from berlyne.experiments.piece import Layout, Piece
from berlyne.experiments.settings import Experiment, world_id

__all__ = ["BLOCK", "Piece", "Store", "StoreError", "piece_name", "read_settings", "versions"]

BLOCK = 192
"""Most worlds in one piece of a new store."""
PIECE_BYTES = 1 << 25
"""Most memory for one piece; where explorations are long or worlds large, it holds fewer worlds."""


class Store:
    """The arrays of one experiment on disk, for the one process that may write them.

    experiment : what is asked for, its classes in the order of the store.
    names : strategies in the store, in order.
    area : (worlds, strategies), what is done; NaN where nothing is.
    """

    def __init__(self, path: Path, experiment: Experiment, root: dict[str, Any]) -> None:
        self.path = path
        self.attributes: dict[str, Any] = root["attributes"]
        self.metadata: dict[str, Any] = root["consolidated_metadata"]["metadata"]
        self.experiment = experiment.in_order(list(self.attributes["settings"]["worlds"]))
        self.names: list[str] = list(self.attributes["settings"]["strategies"])
        self.block: int = self._chunk_shape("area")[0]
        self.layout = layout_of(self.metadata)
        self.arrays = [name for name, said in self.metadata.items() if "strategy" in said["dimension_names"][1:]]
        self.unsound: list[Piece] = []
        self.lost: dict[tuple[int, str], tuple[int, ...]] = {}
        self.busy: defaultdict[tuple[int, int], threading.Lock] = defaultdict(threading.Lock)
        self.area = self._read_area()

    @classmethod
    def open(cls, path: Path, experiment: Experiment) -> Store:
        """Open the store at `path`, made or grown as the experiment asks; an error names any other difference."""
        for left in path.parent.glob(f"{glob.escape(path.name)}.[0-9]*{PARTIAL}"):  # of a run killed as it began
            shutil.rmtree(left, ignore_errors=True)
        if not path.exists():
            _create(path, experiment)
        root = read_root(path)
        refuse_differences(path, root["attributes"]["settings"], experiment.describe())
        store = cls(path, experiment, root)
        store._clean()
        store._grow()
        return store

    def _clean(self) -> None:
        """Remove what killed runs were writing."""
        for left in self.path.rglob(f"*{PARTIAL}"):
            left.unlink()

    def _grow(self) -> None:
        """Make room for more worlds and strategies; done again if it was interrupted."""
        for kind in self.experiment.classes:
            for index, world in enumerate(kind.given[: self.experiment.n_worlds]):
                self.layout.check(world, kind.name, index)
        kept, asked = self.attributes["settings"], self.experiment.describe()
        n_worlds = max(int(kept["n_worlds"]), self.experiment.n_worlds)
        self.names += [name for name in self.experiment.strategy_names if name not in self.names]
        grown = np.full((n_worlds * len(self.experiment.classes), len(self.names)), np.nan)
        grown[: self.area.shape[0], : self.area.shape[1]] = self.area
        self.area = grown
        arrays = {name: _resized(said, *grown.shape) for name, said in self.metadata.items()}
        put_right(self.path, derived_files(self.experiment, self.names, n_worlds, arrays))
        now = versions() if self.missing() else self.attributes["versions"]
        attributes = _attributes(_union(kept, asked, self.names, n_worlds), now, self.attributes)
        if (attributes, arrays) != (self.attributes, self.metadata):
            publish(self.path, attributes, arrays)
            self.attributes, self.metadata = attributes, arrays

    def missing(self) -> list[Piece]:
        """What the experiment asks for and the store does not hold, block by block."""
        pieces = []
        n = self.experiment.n_positions
        for first in range(0, len(self.area), self.block):
            for name in self.experiment.strategy_names:
                column = self.area[first : min(first + self.block, n), self.names.index(name)]
                absent = {first + int(i) for i in np.flatnonzero(np.isnan(column))}
                positions = tuple(sorted(absent.union(filter(self._can_make, self.lost.get((first, name), ())))))
                if positions:
                    pieces.append(Piece(first, self.block, name, positions))
        return pieces

    def write(self, piece: Piece, chunks: dict[str, bytes]) -> None:
        """Put a computed piece into place, its areas last. Several threads may call it."""
        column = self.names.index(piece.strategy)
        for name in self.experiment.measures:
            self._check_size(name, chunks[name])
        with self.busy[piece.first, column]:
            areas = self.area[piece.first : piece.first + self.block, column]
            if not np.all(np.isnan(areas)):  # others of this block are there already: the chunks are written with them
                chunks = {name: self._merged(name, piece, content) for name, content in chunks.items()}
            for name in sorted(chunks, key=lambda name: name == "area"):
                put(self._place(name, piece.first, column), chunks[name])
            areas[:] = self._decode("area", chunks["area"])[: len(areas), 0]

    def damaged(self) -> Iterator[tuple[Piece, str]]:
        """Pieces that are done but of which a chunk is gone or fails its checksum, and the array concerned.

        Only strategies of the experiment: others could not be computed again.
        """
        for piece in self.unsound:
            if piece.strategy in self.experiment.strategy_names:
                yield piece, "area"
        for name in self.experiment.strategy_names:
            column = self.names.index(name)
            for first in range(0, len(self.area), self.block):
                done = first + np.flatnonzero(~np.isnan(self.area[first : first + self.block, column]))
                if not len(done):
                    continue
                for array in self.arrays:
                    content = read(self._place(array, first, column))
                    expected = array != "next_state" or self.experiment.strategy(name).relocates
                    if (content is None and expected) or (content is not None and not is_sound(content)):
                        yield Piece(first, self.block, name, tuple(done.tolist())), array
                        break

    def discard(self, piece: Piece) -> None:
        """Forget a piece, so that it is computed again, even those of its worlds that are not asked for."""
        column = self.names.index(piece.strategy)
        for array in sorted(self.arrays, key=lambda name: name != "area"):
            self._place(array, piece.first, column).unlink(missing_ok=True)
        self.area[piece.first : piece.first + self.block, column] = np.nan
        self.lost[piece.first, piece.strategy] = piece.positions

    def _can_make(self, position: int) -> bool:
        kind, index = self.experiment.position(position)
        return not kind.given or index < len(kind.given)

    def _read_area(self) -> FloatArray:
        n_positions, n_names = self.metadata["area"]["shape"]
        area = np.full((n_positions, n_names), np.nan)
        for column, name in enumerate(self.names):
            for first in range(0, n_positions, self.block):
                content = read(self._place("area", first, column))
                there = area[first : first + self.block, column]
                if content is not None and is_sound(content):
                    there[:] = self._decode("area", content)[: len(there), 0]
                elif content is not None:
                    positions = range(first, min(first + self.block, n_positions))
                    self.unsound.append(Piece(first, self.block, name, tuple(positions)))
        return area

    def _merged(self, name: str, piece: Piece, content: bytes) -> bytes:
        """A chunk with the lines of `piece` from `content`, and all others as they are in the store."""
        old = read(self._place(name, piece.first, self.names.index(piece.strategy)))
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

    def _place(self, name: str, first: int, column: int) -> Path:
        """Where the chunk of a piece is kept."""
        zeros = ".0" * (len(self.metadata[name]["shape"]) - 2)
        return self.path / f"{name}/c.{first // self.block}.{column}{zeros}"


def _create(path: Path, experiment: Experiment) -> None:
    """Make an empty store, complete or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        layout = Layout.of(experiment)
        fit = PIECE_BYTES // layout.n_bytes(len(experiment.snapshots), len(experiment.measures))
        arrays = array_metadata(experiment, layout, max(1, min(BLOCK, fit)))
        put_right(partial, derived_files(experiment, experiment.strategy_names, experiment.n_worlds, arrays))
        publish(partial, _attributes(experiment.describe(), versions(), {}), arrays)
        os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _resized(array: dict[str, Any], n_positions: int, n_names: int) -> dict[str, Any]:
    sizes = {"world": n_positions, "strategy": n_names}
    shape = [sizes.get(dim, n) for dim, n in zip(array["dimension_names"], array["shape"], strict=True)]
    return {**array, "shape": shape}


def _attributes(settings: dict[str, Any], now: dict[str, str], before: dict[str, Any]) -> dict[str, Any]:
    """What the root says; versions that computed some of the results before are kept."""
    earlier = list(before.get("earlier_versions", []))
    if before and before["versions"] != now and before["versions"] not in earlier:
        earlier.append(before["versions"])
    said = {"berlyne_format": FORMAT, "settings": settings, "versions": now, "coordinates": "world_class"}
    return {**said, **({"earlier_versions": earlier} if earlier else {})}


def _union(kept: dict[str, Any], asked: dict[str, Any], names: list[str], n_worlds: int) -> dict[str, Any]:
    """Settings of a store that holds what is kept and what is asked for."""
    worlds = {}
    for name, said in kept["worlds"].items():
        wanted = asked["worlds"][name]
        worlds[name] = max(said, wanted, key=lambda one: len(one.get("worlds", ())))
    own = {**kept.get("own strategies", {}), **asked.get("own strategies", {})}
    united = {**kept, "worlds": worlds, "strategies": names, "n_worlds": n_worlds}
    return {**united, "own strategies": own} if own else united


def piece_name(piece: Piece, experiment: Experiment) -> str:
    """How messages name a piece."""
    ends = [world_id(kind.name, i) for kind, i in map(experiment.position, (piece.positions[0], piece.positions[-1]))]
    return f"{piece.strategy} in worlds {ends[0]} to {ends[1]}"
