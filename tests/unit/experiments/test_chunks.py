"""Chunks are equal to those that Zarr writes, and damage is detected."""

import threading

import numpy as np
import pytest

from berlyne import serialization
from berlyne.experiments import chunks
from waiting import LIMIT

ARRAYS = [
    np.linspace(5.0, 0.0, 300, dtype=np.float32).reshape(3, 100),
    np.arange(60, dtype=np.uint8).reshape(3, 20),
    np.arange(24, dtype=np.uint16).reshape(3, 2, 4),
    np.array([1.5, np.nan, -0.0]),
]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: values.dtype.name)
def test_zarr_reads_what_is_encoded_here(tmp_path, values):
    import zarr

    shape = (len(values), 1, *values.shape[1:])
    codecs = chunks.compression(values.itemsize)
    array = zarr.create_array(
        tmp_path / "a",
        shape=shape,
        chunks=shape,
        dtype=values.dtype,
        compressors=[zarr.codecs.BloscCodec(**codecs), zarr.codecs.Crc32cCodec()],
    )
    place = tmp_path / "a" / "c" / "/".join("0" * len(shape))
    serialization.write_store_file(place, chunks.encode(values))
    assert array[:].tobytes() == values.tobytes()
    array[:] = values.reshape(shape)
    assert place.read_bytes() == chunks.encode(values)
    assert chunks.decode(place.read_bytes(), values.dtype, values.shape).tobytes() == values.tobytes()


def test_zarr_reads_the_labels(tmp_path):
    import zarr

    labels = ["maze/000", "", "Häuser/1", "a much longer label"]
    array = zarr.create_array(tmp_path / "a", shape=(4,), chunks=(6,), dtype=str, compressors=None)
    serialization.write_store_file(tmp_path / "a" / "c" / "0", chunks.encode_labels(labels, 6))
    assert array[:].tolist() == labels


def test_bytes_do_not_depend_on_the_thread():
    values = np.sin(np.arange(200_000)).astype(np.float32)
    encoded = []
    thread = threading.Thread(target=lambda: encoded.append(chunks.encode(values)))
    thread.start()
    thread.join(timeout=LIMIT)
    assert encoded == [chunks.encode(values)]


def test_every_flipped_bit_is_detected():
    content = chunks.encode(ARRAYS[1])
    assert chunks.has_valid_checksum(content)
    for i in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[i // 8] ^= 1 << i % 8
        assert not chunks.has_valid_checksum(bytes(damaged))


@pytest.mark.parametrize("n", [0, 1, 4, 10, -1])
def test_cut_and_empty_chunks_are_detected(n):
    assert not chunks.has_valid_checksum(chunks.encode(ARRAYS[1])[:n])
