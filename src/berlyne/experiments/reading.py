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

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype

from berlyne.experiments.metadata import derived_files
from berlyne.experiments.pieces import Pieces
from berlyne.experiments.root import Root, root_content

_CHUNK = re.compile(r"(\w+)/c\.(\d+)\.(\d+)(?:\.0)*")


class CheckedStore(Store):
    """The store at `path` with this root, for reading only."""

    supports_writes, supports_deletes, supports_listing = False, False, True

    def __init__(self, path: Path, root: Root) -> None:
        super().__init__(read_only=True)
        self.path, self.pieces = path, Pieces(path, root)
        self.files = derived_files(root["attributes"]["settings"], root["arrays"])
        self.files["zarr.json"] = root_content(root["attributes"], root["arrays"])

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
