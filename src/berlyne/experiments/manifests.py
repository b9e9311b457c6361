"""The chunks of a store as they are on the disk, each checked to be whole and in its place.

A chunk ends in a checksum of its content, but a chunk of another array, another strategy or other worlds
has one that fits just as well. So each piece has a seal, `area/seal.<block>.<column>`, which names the study,
the strategy and the first world, and the checksum of every chunk. It is written after the chunks
and before the areas, which make the piece count as done. While chunks are replaced by larger ones, the
seal names the checksums of both.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import OVERHEAD, has_n_bytes, has_valid_checksum, stored_checksum
from berlyne.experiments.schema import FORMAT, Root, block_size, checksum, n_positions, run_label
from berlyne.serialization import StoreError, read_file, remove_store_file, write_store_file

PAUSES = (0.0, 0.01, 0.1)
"""Seconds before each look: a writer may be about to put the rest of a piece into place."""
REPAIR_HINT = "run again with --repair (repair=True) to compute it again"
MISSING = "is missing"
BROKEN = "is damaged (its checksum does not fit)"
MISPLACED = "is damaged (it belongs elsewhere)"
UNSEALED = "is damaged (its seal is gone)"
SEAL_BROKEN = "is damaged (its seal does not fit)"

Manifest = dict[str, list[str]]
"""The checksums that the chunk of each array may have."""


class ChunkFiles:
    """Places and contents of chunks. A piece is told by its block of worlds and its column, the strategy."""

    def __init__(self, path: Path, root: Root) -> None:
        attributes, arrays = root["attributes"], root["arrays"]
        self.path, self.settings, self.block = path, attributes["settings"], block_size(arrays)
        self.names: list[str] = list(self.settings["strategies"])
        self.explored: dict[str, int] = dict(attributes.get("explored", {}))
        self.sealed = attributes["berlyne_format"] == FORMAT
        self.study = study_checksum(self.settings)
        results = {name: said for name, said in arrays.items() if "strategy" in said["dimension_names"][1:]}
        self.arrays = list(results)
        self.n_dims = {name: len(said["shape"]) for name, said in results.items()}
        self.n_bytes = {name: _n_bytes(said) for name, said in results.items()}

    def chunk_path(self, array: str, block: int, column: int) -> Path:
        """Where a chunk is kept."""
        return self.path / array / f"c.{block}.{column}{'.0' * (self.n_dims[array] - 2)}"

    def _manifest_path(self, block: int, column: int) -> Path:
        return self.path / "area" / f"seal.{block}.{column}"

    def read_chunk(self, array: str, block: int, column: int) -> bytes | None:
        """What is in the place of a chunk."""
        return read_file(self.chunk_path(array, block, column), self.n_bytes[array] + OVERHEAD)

    def read_manifest(self, block: int, column: int) -> Manifest | None:
        """The seal of a piece, None if there is none; a ValueError if it is not a seal of this very piece."""
        content = read_file(self._manifest_path(block, column))
        if content is None:
            return None
        try:
            said = json.loads(content.decode())
            checksums, expected = said.pop("checksums"), self._identity(block, column)
            if said != expected or not all(isinstance(these, list) for these in checksums.values()):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(SEAL_BROKEN) from None
        return {str(name): these for name, these in checksums.items()}

    def write_manifest(self, block: int, column: int, seal: Manifest) -> None:
        """Write the seal of a piece."""
        said = {**self._identity(block, column), "checksums": dict(sorted(seal.items()))}
        write_store_file(self._manifest_path(block, column), json.dumps(said).encode())

    def remove_manifest(self, block: int, column: int) -> None:
        """Remove the seal of a piece that is not there, or no longer."""
        remove_store_file(self._manifest_path(block, column))

    def _identity(self, block: int, column: int) -> dict[str, Any]:
        return {"study": self.study, "strategy": self.names[column], "first": block * self.block}

    def read_checked_chunk(self, array: str, block: int, column: int) -> bytes | None:
        """The chunk for a reader: None if its piece is not done, an error if it is not as it was written."""
        flaw: str | None = None
        for pause in PAUSES:
            time.sleep(pause)
            content = self.read_chunk(array, block, column)
            try:
                seal = self.read_manifest(block, column) if self.sealed else None
                flaw = self.find_flaw(array, block, column, content, seal)
            except ValueError as error:
                flaw = str(error)
            if flaw is None:
                return content if seal is not None or not self.sealed else None
        raise StoreError(f"{self.path}: {array} of {self.unit_name(block, column)} {flaw}; {REPAIR_HINT}")

    def find_flaw(
        self, array: str, block: int, column: int, content: bytes | None, seal: Manifest | None
    ) -> str | None:
        """What is wrong with a chunk; None if nothing is, or if its piece is not done."""
        known = None if seal is None else seal.get(array)
        if content is None:
            if seal is None or array == "area":
                expected = array != "next_state" and self._counts_as_done(array, block, column)
            else:
                expected = known is not None
            return MISSING if expected else None
        if self.sealed and seal is None:
            return UNSEALED if array == "area" or self._counts_as_done(array, block, column) else None
        if not has_valid_checksum(content):
            return BROKEN
        if self.sealed and (known is None or stored_checksum(content) not in known):
            return MISPLACED
        return None if has_n_bytes(content, self.n_bytes[array]) else MISPLACED

    def _counts_as_done(self, array: str, block: int, column: int) -> bool:
        """Whether the root, or for other arrays the areas, say that a piece is done."""
        by_root = block * self.block < self.explored.get(self.names[column], 0)
        return by_root or (array != "area" and self.chunk_path("area", block, column).exists())

    def unit_name(self, block: int, column: int) -> str:
        """How messages name a piece."""
        first, last = block * self.block, min((block + 1) * self.block, n_positions(self.settings)) - 1
        ends = [run_label(self.settings, position) for position in (first, last)]
        return f"{self.names[column]} in worlds {ends[0]} to {ends[1]}"


def study_checksum(settings: dict[str, Any]) -> str:
    """What tells the pieces of this study from those of others, whatever it grows by."""
    worlds = {name: {k: v for k, v in said.items() if k != "worlds"} for name, said in settings["worlds"].items()}
    said = [worlds, *(settings[key] for key in ("seed", "snapshots", "measures"))]
    more = [settings[key] for key in ("common_random_numbers", "described measures") if key in settings]
    return checksum([*said, *more])


def _n_bytes(array: dict[str, Any]) -> int:
    shape: list[int] = array["chunk_grid"]["configuration"]["chunk_shape"]
    return int(math.prod(shape) * np.dtype(array["data_type"]).itemsize)
