"""Read the chunks of a store from disk, and check that each is complete and in its place.

A chunk ends in a checksum of its content. But a chunk of another array, another strategy or other worlds has a valid
checksum too. So each work unit has a manifest, `area/seal.<block>.<column>`, which contains the study, the strategy,
the first world, and the checksum of every chunk. It is written after the chunks and before the areas, which mark the
work unit as done. While chunks are replaced by larger ones, the manifest contains the checksums of both.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import OVERHEAD, has_n_bytes, has_valid_checksum, stored_checksum
from berlyne.experiments.schema import Root, block_size, checksum, n_positions, run_label
from berlyne.serialization import StoreError, read_file, remove_store_file, write_store_file

PAUSES = (0.0, 0.01, 0.1)
"""Seconds before each attempt to read: a writer may be about to write the rest of a work unit."""
REPAIR_HINT = "run again with --repair (repair=True) to compute it again"
MISSING = "is missing"
INVALID_CHECKSUM = "is damaged (its checksum is wrong)"
NOT_IN_MANIFEST = "is damaged (it does not match its manifest, so the file may be misplaced)"
MISSING_MANIFEST = "is damaged (its manifest is missing)"
INVALID_MANIFEST = "is damaged (its manifest is invalid)"

Manifest = dict[str, list[str]]
"""The checksums that the chunk of each array may have."""


class ChunkFiles:
    """Paths and contents of the chunks of a store.

    A work unit is identified by its block of worlds and its column, which is the index of its strategy.

    Parameters
    ----------
    path : Path
        Directory of the store.
    root : Root
        Its root.

    Attributes
    ----------
    block : int
        Number of positions in a block.
    names : list of str
        Names of the strategies.
    explored : dict of str to int
        Number of positions that each strategy has explored, according to the root.
    study : str
        Checksum of the study.
    arrays : list of str
        Names of the arrays over worlds and strategies.
    n_dims, n_bytes : dict of str to int
        Number of dimensions of each array, and of bytes in each of its chunks.
    """

    def __init__(self, path: Path, root: Root) -> None:
        attributes, metadata = root["attributes"], root["arrays"]
        self.path, self.settings, self.block = path, attributes["settings"], block_size(metadata)
        self.names: list[str] = list(self.settings["strategies"])
        self.explored: dict[str, int] = dict(attributes.get("explored", {}))
        self.study = study_checksum(self.settings)
        results = {name: array for name, array in metadata.items() if "strategy" in array["dimension_names"][1:]}
        self.arrays = list(results)
        self.n_dims = {name: len(array["shape"]) for name, array in results.items()}
        self.n_bytes = {name: _n_bytes(array) for name, array in results.items()}

    def chunk_path(self, array: str, block: int, column: int) -> Path:
        """Return the path of a chunk."""
        return self.path / array / f"c.{block}.{column}{'.0' * (self.n_dims[array] - 2)}"

    def _manifest_path(self, block: int, column: int) -> Path:
        return self.path / "area" / f"seal.{block}.{column}"

    def read_chunk(self, array: str, block: int, column: int) -> bytes | None:
        """Read a chunk without checking it; None if there is no file."""
        return read_file(self.chunk_path(array, block, column), self.n_bytes[array] + OVERHEAD)

    def read_manifest(self, block: int, column: int) -> Manifest | None:
        """Read the manifest of a work unit; None if there is none, a ValueError if it is not that of this work unit."""
        content = read_file(self._manifest_path(block, column))
        if content is None:
            return None
        try:
            identity = json.loads(content.decode())
            checksums, expected = identity.pop("checksums"), self._identity(block, column)
            if identity != expected or not all(isinstance(listed, list) for listed in checksums.values()):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(INVALID_MANIFEST) from None
        return {str(name): listed for name, listed in checksums.items()}

    def write_manifest(self, block: int, column: int, manifest: Manifest) -> None:
        """Write the manifest of a work unit."""
        content = {**self._identity(block, column), "checksums": dict(sorted(manifest.items()))}
        write_store_file(self._manifest_path(block, column), json.dumps(content).encode())

    def remove_manifest(self, block: int, column: int) -> None:
        """Remove the manifest of a work unit, if there is one."""
        remove_store_file(self._manifest_path(block, column))

    def _identity(self, block: int, column: int) -> dict[str, Any]:
        return {"study": self.study, "strategy": self.names[column], "first": block * self.block}

    def read_checked_chunk(self, array: str, block: int, column: int) -> bytes | None:
        """Read and check a chunk.

        Returns
        -------
        bytes or None
            The chunk; None if its work unit is not done.

        Raises
        ------
        StoreError
            If the chunk is missing, damaged or misplaced.
        """
        flaw: str | None = None
        for pause in PAUSES:
            time.sleep(pause)
            content = self.read_chunk(array, block, column)
            try:
                manifest = self.read_manifest(block, column)
                flaw = self.find_flaw(array, block, column, content, manifest)
            except ValueError as error:
                flaw = str(error)
            if flaw is None:
                return content if manifest is not None else None
        raise StoreError(f"{self.path}: {array} of {self.unit_name(block, column)} {flaw}; {REPAIR_HINT}")

    def find_flaw(
        self, array: str, block: int, column: int, content: bytes | None, manifest: Manifest | None
    ) -> str | None:
        """Return what is wrong with a chunk; None if it is valid, or if its work unit is not done."""
        checksums = None if manifest is None else manifest.get(array)
        if content is None:
            if manifest is None or array == "area":
                is_expected = array != "next_state" and self._is_done(array, block, column)
            else:
                is_expected = checksums is not None
            return MISSING if is_expected else None
        if manifest is None:
            return MISSING_MANIFEST if array == "area" or self._is_done(array, block, column) else None
        if not has_valid_checksum(content):
            return INVALID_CHECKSUM
        if checksums is None or stored_checksum(content) not in checksums:
            return NOT_IN_MANIFEST
        return None if has_n_bytes(content, self.n_bytes[array]) else NOT_IN_MANIFEST

    def _is_done(self, array: str, block: int, column: int) -> bool:
        """Whether a work unit is done according to the root or, for arrays other than `area`, to its areas."""
        by_root = block * self.block < self.explored.get(self.names[column], 0)
        return by_root or (array != "area" and self.chunk_path("area", block, column).exists())

    def unit_name(self, block: int, column: int) -> str:
        """Return the name of a work unit for messages."""
        first, last = block * self.block, min((block + 1) * self.block, n_positions(self.settings)) - 1
        ends = [run_label(self.settings, position) for position in (first, last)]
        return f"{self.names[column]} in worlds {ends[0]} to {ends[1]}"


def study_checksum(settings: dict[str, Any]) -> str:
    """Return a checksum that identifies a study. It stays the same if worlds, strategies or runs are added."""
    worlds = {
        name: {key: value for key, value in world_class.items() if key != "worlds"}
        for name, world_class in settings["worlds"].items()
    }
    required = [worlds, *(settings[key] for key in ("seed", "snapshots", "measures"))]
    optional = [settings[key] for key in ("common_random_numbers", "described measures") if key in settings]
    return checksum([*required, *optional])


def _n_bytes(array: dict[str, Any]) -> int:
    shape: list[int] = array["chunk_grid"]["configuration"]["chunk_shape"]
    return int(math.prod(shape) * np.dtype(array["data_type"]).itemsize)
