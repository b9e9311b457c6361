"""Chunks of a Zarr store as bytes: compressed, with a checksum.

Written here rather than through Zarr, which takes some milliseconds for each. Zarr reads them: the
codecs are those that the metadata names (bytes, blosc, crc32c; vlen-utf8 for labels).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

OVERHEAD = 20
"""Most bytes that a chunk has more than its values: the header of Blosc and the checksum."""


def compression(itemsize: int) -> dict[str, Any]:
    """How an array is compressed, as its metadata say. Half the time of zstd for a sixth more space."""
    shuffle = "bitshuffle" if itemsize == 1 else "shuffle"
    return {"typesize": itemsize, "cname": "lz4", "clevel": 5, "shuffle": shuffle, "blocksize": 0}


def encode(values: Any) -> bytes:
    """An array as the content of its chunk."""
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    content = bytes(_blosc(values.itemsize).encode(values))
    return content + _checksum(content)


def decode(content: bytes, kind: Any, shape: tuple[int, ...]) -> Any:
    """The array that a chunk holds, for writing into."""
    kind = np.dtype(kind)
    values = np.frombuffer(_blosc(kind.itemsize).decode(content[:-4]), dtype=kind.newbyteorder("<"))
    return values.astype(kind).reshape(shape)


def encode_labels(labels: list[str], size: int) -> bytes:
    """Labels as the content of a chunk of `size` of them."""
    from numcodecs import VLenUTF8

    padded = np.full(size, "", dtype=object)
    padded[: len(labels)] = labels
    return bytes(VLenUTF8().encode(padded))


def has_valid_checksum(content: bytes) -> bool:
    """Whether the checksum fits."""
    return len(content) > 4 and _checksum(content[:-4]) == content[-4:]


def has_n_bytes(content: bytes, n_bytes: int) -> bool:
    """Whether a sound chunk has so many bytes of values, as the header of Blosc says."""
    return len(content) >= OVERHEAD and int.from_bytes(content[4:8], "little") == n_bytes


def stored_checksum(content: bytes) -> str:
    """The checksum that a chunk ends in."""
    return content[-4:].hex()


@cache
def _blosc(itemsize: int) -> Any:
    from numcodecs import Blosc  # here, so that `import berlyne` stays quick

    how = compression(itemsize)
    shuffle = {"bitshuffle": Blosc.BITSHUFFLE, "shuffle": Blosc.SHUFFLE}[how["shuffle"]]
    return Blosc(cname=how["cname"], clevel=how["clevel"], shuffle=shuffle)


def _checksum(content: bytes) -> bytes:
    import google_crc32c

    return int(google_crc32c.value(content)).to_bytes(4, "little")
