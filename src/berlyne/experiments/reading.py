"""A store as Zarr reads it here: chunks are checked, and all the rest is worked out from the root.

Labels, coordinates and the metadata of arrays are never read from their own files, so nothing that
happened to these can be mistaken for results.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype

from berlyne.arrays import FloatArray
from berlyne.experiments.files import StoreError
from berlyne.experiments.metadata import derived_files
from berlyne.experiments.pieces import Pieces
from berlyne.experiments.root import Root, root_content

PATH = ("state", "action", "next_state")
"""Arrays of whole numbers in which the largest stands for nothing."""
_CHUNK = re.compile(r"(\w+)/c\.(\d+)\.(\d+)(?:\.0)*")


def _masked(array: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an array, which tell xarray to read what stands for nothing as NaN."""
    meaning, nothing = array["attributes"]["long_name"], array["fill_value"]
    said = {**array["attributes"], "long_name": meaning.removesuffix(f"; {nothing} for none"), "_FillValue": nothing}
    return {**array, "attributes": said}


class Counts(BackendArray):
    """Counts at snapshots as they are read, NaN of what is not explored yet.

    counts : (world, strategy, snapshot, transition), read when it is needed; area : (world, strategy).
    """

    def __init__(self, counts: xr.Variable, area: FloatArray) -> None:
        self.counts, self.explored, self.shape = counts, ~np.isnan(area), counts.shape
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._some)

    def _some(self, key: tuple[Any, ...]) -> Any:
        counts, explored = np.asarray(self.counts[key].values, dtype=float), self.explored[key[:2]]
        there = np.reshape(explored, np.shape(explored) + (1,) * (counts.ndim - np.ndim(explored)))
        return np.where(there, counts, np.nan)


def without_unexplored(dataset: xr.Dataset, uncounted: list[str]) -> xr.Dataset:
    """A dataset whose counts are NaN where nothing was explored, or nothing counted; as it is if all was.

    uncounted : classes without counts, since nobody knows how many states they have.
    """
    if "counts" not in dataset:
        return dataset
    try:
        area = np.array(dataset["area"].values)
    except StoreError:
        return dataset  # whoever reads it is told
    area[np.isin(np.array(dataset["world_class"].values.tolist()), uncounted)] = np.nan
    if not np.isnan(area).any():
        return dataset
    counts = dataset["counts"].variable
    lazy = xr.Variable(counts.dims, indexing.LazilyIndexedArray(Counts(counts, area)), counts.attrs)
    return dataset.assign(counts=lazy)


class CheckedStore(Store):
    """The store at `path` with this root, for reading only."""

    supports_writes, supports_deletes, supports_listing = False, False, True

    def __init__(self, path: Path, root: Root) -> None:
        super().__init__(read_only=True)
        self.path, self.pieces = path, Pieces(path, root)
        arrays = {name: _masked(array) if name in PATH else array for name, array in root["arrays"].items()}
        self.files = derived_files(root["attributes"]["settings"], arrays)
        self.files["zarr.json"] = root_content(root["attributes"], arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedStore) and (self.path, self.files) == (other.path, other.files)

    def _content(self, key: str) -> bytes | None:
        chunk = _CHUNK.fullmatch(key)
        if key in self.files or chunk is None or chunk[1] not in self.pieces.arrays:
            return self.files.get(key)
        return self.pieces.chunk(chunk[1], int(chunk[2]), int(chunk[3]))

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:  # parts of files are never asked for: no array is sharded
        """A file by its path within the store, None if it is not there."""
        content = await asyncio.to_thread(self._content, key)
        return None if content is None else prototype.buffer.from_bytes(content)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Several files."""
        return [await self.get(key, prototype) for key, _ in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether there is such a file."""
        return await asyncio.to_thread(self._content, key) is not None

    async def list(self) -> AsyncIterator[str]:
        """All files that are worked out."""
        for key in self.files:
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Those that begin so."""
        for key in self.files:
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Files and folders of a folder."""
        inside = f"{prefix.rstrip('/')}/" if prefix else ""
        for name in {key.removeprefix(inside).split("/")[0] for key in self.files if key.startswith(inside)}:
            yield name

    async def set(self, key: str, value: Buffer) -> None:
        """Refused: results are written by runs."""
        raise PermissionError(f"{self.path} is open for reading only")

    async def delete(self, key: str) -> None:
        """Refused: results are written by runs."""
        raise PermissionError(f"{self.path} is open for reading only")

    def with_read_only(self, read_only: bool = False) -> Any:
        """Itself: there is no other way to have it."""
        return self
