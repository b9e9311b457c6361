"""Milliseconds to write one chunk of a store: encoded by hand or by Zarr, and the share of syncing.

    python benchmarks/chunks.py [N_ROUNDS]

One work unit of 192 mazes and 2,500 steps is encoded and written again and again into a temporary store. By hand means
Blosc and a checksum, called directly, as in format 3. Compare the columns of one run only: machines differ.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import google_crc32c
import numpy as np
from numcodecs import Blosc

import berlyne
from berlyne import serialization
from berlyne.experiments.manifests import ChunkFiles
from berlyne.experiments.store import Store
from berlyne.experiments.work_unit import compute_arrays


def encode_by_hand(arrays: dict[str, Any]) -> dict[str, bytes]:
    """Encode chunks as Zarr does, without Zarr."""
    chunks = {}
    for name, values in arrays.items():
        shuffle = Blosc.BITSHUFFLE if values.itemsize == 1 else Blosc.SHUFFLE
        content = bytes(Blosc(cname="lz4", clevel=5, shuffle=shuffle).encode(np.ascontiguousarray(values)))
        chunks[name] = content + int(google_crc32c.value(content)).to_bytes(4, "little")
    return chunks


def milliseconds(call: Callable[[], Any], n_rounds: int, n_chunks: int) -> float:
    """Median time of a call, for each of its chunks."""
    times = []
    for _ in range(n_rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * median(times) / n_chunks


def main() -> None:
    """Print a table."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    study = berlyne.Experiment("maze", ["PIG(VI)"], n_worlds=192)
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:  # not in memory, where syncing costs nothing
        store = Store.open(Path(folder) / "results.zarr", study)
        unit = store.missing()[0]
        arrays, files = compute_arrays(study, unit, store.study.layout), store.chunk_files
        n, positions = len(arrays), list(unit.positions)
        by_hand = encode_by_hand(arrays)
        by_zarr = files.encode(positions, 0, arrays)
        assert by_hand == by_zarr  # the same bytes

        def write(files: ChunkFiles = files) -> None:
            files.write(0, 0, by_zarr, None)

        hand = milliseconds(lambda: encode_by_hand(arrays), n_rounds, n)
        zarr = milliseconds(lambda: files.encode(positions, 0, arrays), n_rounds, n)
        written = milliseconds(write, n_rounds, n)
        serialization._sync = os.fsync = lambda handle: None  # type: ignore[assignment]  # to time a chunk without the disk
        unsynced = milliseconds(write, n_rounds, n)
    print(f"{n} chunks of {unit.size} worlds, {sum(map(len, by_zarr.values())) / n / 1024:.0f} KiB each")
    print(f"encode by hand {hand:.2f} ms, with Zarr {zarr:.2f} ms ({zarr / hand:.2f} times)")
    print(f"write {unsynced:.2f} ms, write and sync {written:.2f} ms")
    print(f"a chunk: by hand {hand + written:.2f} ms, with Zarr {zarr + written:.2f} ms, of which sync "
          f"{(written - unsynced) / (zarr + written):.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
