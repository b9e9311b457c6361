"""Merge the stores of shards into one, equal byte by byte to the store of an undivided run.

Every shard has the same blocks of worlds, with values in its own rows. They are merged chunk by chunk, and only if the
shards belong together: same settings, same versions, no exploration twice, and none missing unless that is allowed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import decode, encode, stored_checksum
from berlyne.experiments.manifests import ChunkFiles
from berlyne.experiments.results import Results, load_results
from berlyne.experiments.schema import (
    Root,
    check_store_path,
    derived_files,
    first_difference,
    read_root,
    root_attributes,
    run_label,
    write_changed_files,
    write_root,
)
from berlyne.experiments.shard import Shard
from berlyne.experiments.stored_worlds import FOLDER
from berlyne.serialization import StoreError, atomic_folder, exclusive_lock, read_file, write_store_file
from berlyne.validation import CLUSTERS


def merge(path: str | os.PathLike[str], shards: Sequence[str | os.PathLike[str]], *, partial: bool = False) -> Results:
    """Merge the stores of `shards` into a new one at `path`, and open it.

    Parameters
    ----------
    path : path-like
        Directory of the new store.
    shards : sequence of path-like
        Stores of the shards.
    partial : bool
        Whether explorations may be missing. If you run the study afterwards, they are added.

    Returns
    -------
    Results
        The merged results.

    Raises
    ------
    StoreError
        If the shards do not belong together, contain an exploration twice, lack explorations, or are damaged.
    """
    place, shard_paths = Path(path), [Path(shard) for shard in shards]
    if not shard_paths:
        raise StoreError("there are no shards to merge; name at least one store")
    check_store_path(place)
    with exclusive_lock(place):
        if place.exists() or place.is_symlink():
            raise StoreError(f"{place} already exists and is not overwritten; use another directory")
        roots = [_read_root(shard) for shard in shard_paths]
        for shard, root in zip(shard_paths[1:], roots[1:], strict=True):
            _check_same_study(shard_paths[0], roots[0], shard, root)
        stores = [ChunkFiles(shard, root) for shard, root in zip(shard_paths, roots, strict=True)]
        done = np.stack([_explored(store, root) for store, root in zip(stores, roots, strict=True)])
        _check_no_duplicates(shard_paths, roots[0], done)
        if not partial:
            _check_complete(roots, done)
        _write_merged(place, stores, roots, done)
    return load_results(place, None)


def _read_root(shard: Path) -> Root:
    if not shard.is_dir():
        raise StoreError(f"there are no results at {shard}")
    return read_root(shard)


def _check_same_study(first: Path, first_root: Root, second: Path, second_root: Root) -> None:
    """Raise a `StoreError` that names the first difference between two shards that do not belong together."""
    for key in ("settings", "versions", "earlier_versions"):
        values = [root["attributes"].get(key, {}) for root in (first_root, second_root)]
        if json.dumps(values[0]) == json.dumps(values[1]):
            continue
        old, new = (text.removeprefix(".") for text in first_difference(*values))
        if old == new:
            problem = f"their {key} list classes, strategies or parameters in different orders"
        else:
            problem = f"their {key} differ, {old} vs {new}"
        raise StoreError(f"{first} and {second} do not belong together: {problem}")
    if first_root["arrays"] != second_root["arrays"]:
        raise StoreError(f"{first} and {second} do not belong together: their arrays differ in shape or type")
    n_parts = [root["attributes"].get("shard", [1, 1])[1] for root in (first_root, second_root)]
    if n_parts[0] != n_parts[1]:
        raise StoreError(
            f"{first} is one of {n_parts[0]} shards and {second} one of {n_parts[1]}; the numbers of shards must be "
            f"equal{CLUSTERS}"
        )


def _explored(store: ChunkFiles, root: Root) -> Any:
    """Return a mask of the explorations in a shard, (positions, strategies)."""
    n_positions, n_strategies = root["arrays"]["area"]["shape"]
    done = np.zeros((n_positions, n_strategies), dtype=bool)
    for block in range(-(-n_positions // store.block)):
        for column in range(n_strategies):
            content = store.read_checked_chunk("area", block, column)
            if content is not None:
                rows = done[block * store.block : (block + 1) * store.block, column]
                rows[:] = ~np.isnan(_decode(root, "area", content)[: len(rows), 0])
    return done


def _decode(root: Root, name: str, content: bytes) -> Any:
    array = root["arrays"][name]
    return decode(content, array["data_type"], tuple(array["chunk_grid"]["configuration"]["chunk_shape"]))


def _check_no_duplicates(shard_paths: list[Path], root: Root, done: Any) -> None:
    duplicates = np.argwhere(done.sum(axis=0) > 1)
    if len(duplicates):
        position, column = map(int, duplicates[0])
        first, second = (shard_paths[i] for i in np.flatnonzero(done[:, position, column])[:2])
        name = _exploration_name(root, position, column)
        raise StoreError(f"{first} and {second} both contain {name}; it must be in only one shard{CLUSTERS}")


def _exploration_name(root: Root, position: int, column: int) -> str:
    settings = root["attributes"]["settings"]
    return f"{settings['strategies'][column]} in {run_label(settings, position)}"


def _check_complete(roots: list[Root], done: Any) -> None:
    """Raise a `StoreError` that names the missing shards, or else the first missing exploration."""
    gaps = np.argwhere(~done.any(axis=0))
    if not len(gaps):
        return
    shards = [Shard(*root["attributes"]["shard"]) for root in roots if "shard" in root["attributes"]]
    absent = sorted(set(range(1, shards[0].n_parts + 1)) - {shard.part for shard in shards}) if shards else []
    position, column = map(int, gaps[0])
    missing = f"the first is {_exploration_name(roots[0], position, column)}"
    if absent:
        listed = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
        noun, verb = ("shards", "are") if len(absent) > 1 else ("shard", "is")
        missing = f"{noun} {listed} of {shards[0].n_parts} {verb} not given"
    n = done.shape[1] * done.shape[2]
    raise StoreError(
        f"{len(gaps):,} of {n:,} explorations are missing: {missing}; run them, or use --partial "
        "(partial=True) to merge without them"
    )


def _write_merged(place: Path, stores: list[ChunkFiles], roots: list[Root], done: Any) -> None:
    """Write the merged store completely or not at all."""
    with atomic_folder(place) as folder:
        attributes, arrays = roots[0]["attributes"], roots[0]["arrays"]
        settings, names = attributes["settings"], attributes["settings"]["strategies"]
        any_done = done.any(axis=0)
        gaps = [np.flatnonzero(~any_done[:, column]) for column in range(len(names))]
        explored = {name: int(gap[0]) if len(gap) else len(any_done) for name, gap in zip(names, gaps, strict=True)}
        previous = {key: attributes[key] for key in ("earlier_versions",) if key in attributes}
        merged = root_attributes(settings, attributes["versions"], {**previous, "explored": explored})
        write_changed_files(folder, derived_files(settings, arrays))
        write_root(folder, merged, arrays)
        target = ChunkFiles(folder, {"attributes": merged, "arrays": arrays})
        for block in range(-(-len(any_done) // target.block)):
            for column in range(len(names)):
                rows = done[:, block * target.block : (block + 1) * target.block, column]
                sources = [(store, mask) for store, mask in zip(stores, rows, strict=True) if mask.any()]
                _merge_unit(target, sources, roots[0], (block, column))
        for store in stores:
            for world_file in sorted((store.path / FOLDER).glob("*.npz")):
                if (content := read_file(world_file)) is not None:
                    write_store_file(folder / FOLDER / world_file.name, content)


def _merge_unit(target: ChunkFiles, sources: list[tuple[ChunkFiles, Any]], root: Root, unit: tuple[int, int]) -> None:
    """Write one work unit, given as block and column: each row of its chunks from the shard that explored it."""
    chunks: dict[str, bytes] = {}
    for name in target.arrays:
        contents = [(store.read_checked_chunk(name, *unit), rows) for store, rows in sources]
        stored = [(content, rows) for content, rows in contents if content is not None]
        if not stored:
            continue
        merged = _decode(root, name, stored[0][0])
        for content, rows in stored[1:]:
            merged[: len(rows)][rows] = _decode(root, name, content)[: len(rows)][rows]
        chunks[name] = stored[0][0] if len(stored) == 1 else encode(merged)
    for name in sorted(chunks.keys() - {"area"}):
        write_store_file(target.chunk_path(name, *unit), chunks[name])
    if chunks:
        target.write_manifest(*unit, {name: [stored_checksum(content)] for name, content in chunks.items()})
        write_store_file(target.chunk_path("area", *unit), chunks["area"])
