"""Encode and decode the chunks of a Zarr store: compressed bytes that end in a checksum.

Chunks are encoded here because Zarr takes some milliseconds for each. Zarr can read them, since they use the codecs
that the metadata names (bytes, blosc, crc32c; vlen-utf8 for labels).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

OVERHEAD = 20
"""Maximum number of bytes in a chunk besides its values: the Blosc header and the checksum."""


def compression(itemsize: int) -> dict[str, Any]:
    """Return the Blosc settings of an array. LZ4 takes half the time of zstd and a sixth more space."""
    shuffle = "bitshuffle" if itemsize == 1 else "shuffle"
    return {"typesize": itemsize, "cname": "lz4", "clevel": 5, "shuffle": shuffle, "blocksize": 0}


def encode(values: Any) -> bytes:
    """Encode an array as a chunk."""
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    content = bytes(_blosc(values.itemsize).encode(values))
    return content + _checksum(content)


def decode(content: bytes, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Decode a chunk to a writable array."""
    dtype = np.dtype(dtype)
    values = np.frombuffer(_blosc(dtype.itemsize).decode(content[:-4]), dtype=dtype.newbyteorder("<"))
    return values.astype(dtype).reshape(shape)


def encode_labels(labels: list[str], size: int) -> bytes:
    """Encode labels as a chunk of `size` labels; missing labels are empty."""
    from numcodecs import VLenUTF8

    padded = np.full(size, "", dtype=object)
    padded[: len(labels)] = labels
    return bytes(VLenUTF8().encode(padded))


def has_valid_checksum(content: bytes) -> bool:
    """Whether a chunk ends in the checksum of its content."""
    return len(content) > 4 and _checksum(content[:-4]) == content[-4:]


def has_n_bytes(content: bytes, n_bytes: int) -> bool:
    """Whether a chunk with a valid checksum has `n_bytes` bytes of values, according to its Blosc header."""
    return len(content) >= OVERHEAD and int.from_bytes(content[4:8], "little") == n_bytes


def stored_checksum(content: bytes) -> str:
    """Return the checksum at the end of a chunk."""
    return content[-4:].hex()


@cache
def _blosc(itemsize: int) -> Any:
    from numcodecs import Blosc  # imported here so that `import berlyne` stays fast

    config = compression(itemsize)
    shuffle = {"bitshuffle": Blosc.BITSHUFFLE, "shuffle": Blosc.SHUFFLE}[config["shuffle"]]
    return Blosc(cname=config["cname"], clevel=config["clevel"], shuffle=shuffle)


def _checksum(content: bytes) -> bytes:
    import google_crc32c

    return int(google_crc32c.value(content)).to_bytes(4, "little")
