"""The chunks of a store on disk: Zarr encodes them, and they are written durably, checked, and bound to their place.

A chunk ends in a checksum of its content (Zarr's `Crc32cCodec`), so a changed bit is noticed. But a chunk of another
array, another strategy or other worlds has a valid checksum too. So each work unit has a manifest,
`area/manifest.<block>.<column>`, which contains the study, the strategy, the first world, and the checksum of every
chunk. A missing or misplaced chunk does not match it.

`area` is written last, and a work unit is done once its areas exist. A file is synced before it is renamed into place.
The new name is durable only after its folder is synced, and renames in different folders have no order. So the folders
of all other chunks are synced before the manifest is written, and the manifest before the areas. While chunks are
replaced by larger ones, the manifest contains the checksums of both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import zarr
from zarr.core.buffer import Buffer
from zarr.storage import LocalStore

from berlyne.experiments.schema import Study
from berlyne.serialization import StoreError, read_file, remove_store_file, sync_folders, write_store_file

PAUSES = (0.0, 0.01, 0.1)
"""Seconds before each attempt to read: a writer may be about to write the rest of a work unit."""
REPAIR_HINT = "run again with --repair (repair=True) to compute it again"
MISSING = "is missing"
INVALID_CHECKSUM = "is damaged (its checksum is wrong)"
NOT_IN_MANIFEST = "is damaged (it does not match its manifest, so the file may be misplaced)"
MISSING_MANIFEST = "is damaged (its manifest is missing)"
INVALID_MANIFEST = "is damaged (its manifest is invalid)"
CHECKSUM_BYTES = 4

Manifest = dict[str, list[str]]
"""The checksums that the chunk of each array may have."""


class DurableStore(LocalStore):
    """Zarr's store of a directory, with durable writes.

    Zarr encodes chunks and sets them. They stay in memory until `write` writes them, because a manifest needs the
    checksums of all chunks of a work unit before the first of them is on the disk.
    """

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self.encoded: dict[str, bytes] = {}

    async def set(self, key: str, value: Buffer) -> None:
        """Keep an encoded chunk until `write`."""
        self.encoded[key] = value.to_bytes()

    def set_sync(self, key: str, value: Buffer) -> None:
        """Keep an encoded chunk until `write`."""
        self.encoded[key] = value.to_bytes()

    def write(self, contents: dict[str, bytes]) -> None:
        """Write complete files, and return when they and their names are on the disk."""
        for key, content in contents.items():
            write_store_file(self.root / key, content, sync_folder=False)
        sync_folders({(self.root / key).parent for key in contents})


class ChunkFiles:
    """The chunks and manifests of a store.

    A work unit is identified by its block of worlds and its column, which is the index of its strategy.

    Parameters
    ----------
    path : Path
        Directory of the store.
    study : Study
        Its study.

    Attributes
    ----------
    block : int
        Number of positions in a block.
    names : list of str
        Names of the strategies.
    arrays : list of str
        Names of the arrays over worlds and strategies.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study
        self.block, self.names = study.layout.block, study.settings.strategies
        self.arrays = list(study.layout.arrays)
        self.identity = study.settings.study
        self.store = DurableStore(path)
        self._zarr_arrays: dict[str, Any] = {}

    def key(self, array: str, block: int, column: int) -> str:
        """Return the path of a chunk within the store."""
        return f"{array}/c.{block}.{column}{'.0' * len(self.study.layout.arrays[array].shape)}"

    def chunk_path(self, array: str, block: int, column: int) -> Path:
        """Return the path of a chunk."""
        return self.path / self.key(array, block, column)

    def open_arrays(self) -> None:
        """Open the arrays for `encode`. Their metadata must be on the disk."""
        with zarr.config.set({"array.write_empty_chunks": True}):  # a chunk of zeros is not a missing chunk
            self._zarr_arrays = {name: zarr.open_array(self.store, path=name, mode="r+") for name in self.arrays}

    def encode(self, positions: Sequence[int], column: int, rows: dict[str, Any]) -> dict[str, bytes]:
        """Return the chunks of one work unit with new rows; other rows are those on the disk.

        Parameters
        ----------
        positions : sequence of int
            Positions of the rows, all in one block.
        column : int
            Index of the strategy.
        rows : dict of str to ndarray
            Values of each array, a row for each position.
        """
        chunks = {}
        for name, array in self._zarr_arrays.items():
            array.oindex[np.array(positions), column] = rows[name]
            chunks[name] = self.store.encoded.pop(self.key(name, positions[0] // self.block, column))
        return chunks

    def write(self, block: int, column: int, chunks: dict[str, bytes], before: Manifest | None) -> Manifest:
        """Write the chunks of a work unit and its manifest, and return the manifest.

        Parameters
        ----------
        block, column : int
            The work unit.
        chunks : dict of str to bytes
            Its chunks, by array.
        before : Manifest or None
            Its manifest on the disk. Until all chunks are replaced, old and new ones are valid.
        """
        after = {name: [stored_checksum(content)] for name, content in chunks.items()}
        if before is not None:
            self._write_manifest(
                block, column, {name: list(dict.fromkeys(before[name] + after[name])) for name in after}
            )
        self.store.write({self.key(name, block, column): chunks[name] for name in chunks if name != "area"})
        if before is None:
            self._write_manifest(block, column, after)
        self.store.write({self.key("area", block, column): chunks["area"]})
        if before is not None:
            self._write_manifest(block, column, after)
        return after

    def remove(self, block: int, column: int) -> None:
        """Remove a work unit: first its areas, which mark it as done."""
        remove_store_file(self.chunk_path("area", block, column))
        sync_folders({self.path / "area"})
        remove_store_file(self._manifest_path(block, column))
        for array in self.arrays:
            remove_store_file(self.chunk_path(array, block, column))

    def settle(self, block: int, column: int, manifest: Manifest) -> Manifest:
        """Reduce a manifest with two checksums per chunk, left by a killed run, to the chunks on disk."""
        if all(len(checksums) < 2 for checksums in manifest.values()):
            return manifest
        chunks = {name: self.read_chunk(name, block, column) for name in self.arrays}
        if any(self.find_flaw(name, block, column, chunk, manifest) for name, chunk in chunks.items()):
            return manifest
        settled = {name: [stored_checksum(chunk)] for name, chunk in chunks.items() if chunk is not None}
        self._write_manifest(block, column, settled)
        return settled

    def _manifest_path(self, block: int, column: int) -> Path:
        return self.path / "area" / f"manifest.{block}.{column}"

    def read_chunk(self, array: str, block: int, column: int) -> bytes | None:
        """Read a chunk without checking it; None if there is no file."""
        return read_file(self.chunk_path(array, block, column))

    def read_manifest(self, block: int, column: int) -> Manifest | None:
        """Read the manifest of a work unit; None if there is none, a ValueError if it is not that of this work unit."""
        content = read_file(self._manifest_path(block, column))
        if content is None:
            return None
        try:
            identity = json.loads(content.decode())
            checksums = identity.pop("checksums")
            if identity != self._identity(block, column) or not checksums.keys() >= set(self.arrays):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(INVALID_MANIFEST) from None
        return {str(name): list(listed) for name, listed in checksums.items()}

    def _write_manifest(self, block: int, column: int, manifest: Manifest) -> None:
        content = {**self._identity(block, column), "checksums": dict(sorted(manifest.items()))}
        write_store_file(self._manifest_path(block, column), json.dumps(content).encode())

    def _identity(self, block: int, column: int) -> dict[str, Any]:
        return {"study": self.identity, "strategy": self.names[column], "first": block * self.block}

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
        is_done = self._is_done(array, block, column)
        if content is None:
            return MISSING if is_done or (manifest is not None and array != "area") else None
        if manifest is None:
            return MISSING_MANIFEST if is_done or array == "area" else None
        if not has_valid_checksum(content):
            return INVALID_CHECKSUM
        return None if stored_checksum(content) in manifest[array] else NOT_IN_MANIFEST

    def _is_done(self, array: str, block: int, column: int) -> bool:
        """Whether a work unit is done according to the study or, for arrays other than `area`, to its areas."""
        by_study = block * self.block < self.study.explored.get(self.names[column], 0)
        return by_study or (array != "area" and self.chunk_path("area", block, column).exists())

    def unit_name(self, block: int, column: int) -> str:
        """Return the name of a work unit for messages."""
        settings = self.study.settings
        first, last = block * self.block, min((block + 1) * self.block, settings.n_positions) - 1
        return f"{self.names[column]} in worlds {settings.label(first)} to {settings.label(last)}"


def has_valid_checksum(content: bytes) -> bool:
    """Whether a chunk ends in the checksum of its content."""
    body, stored = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return len(body) > 0 and int(google_crc32c.value(body)) == int.from_bytes(stored, "little")


def stored_checksum(content: bytes) -> str:
    """Return the checksum at the end of a chunk."""
    return content[-CHECKSUM_BYTES:].hex()
