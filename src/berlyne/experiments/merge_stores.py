"""Merge the stores of shards into one, equal byte by byte to the store of an undivided run.

Every shard has the same blocks of worlds, with values in its own rows. They are merged chunk by chunk, and only if the
shards belong together: same settings, same versions, no exploration twice, and none missing unless that is allowed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.results import Results, load_results
from berlyne.experiments.schema import (
    Study,
    check_store_path,
    read_study,
    remove_partial_stores,
    write_derived_files,
    write_study,
)
from berlyne.experiments.settings import first_difference
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
    from berlyne.experiments.reading import open_checked  # imported here so that `import berlyne` stays fast

    place, shard_paths = Path(path), [Path(shard) for shard in shards]
    if not shard_paths:
        raise StoreError("there are no shards to merge; name at least one store")
    check_store_path(place)
    with exclusive_lock(place):
        remove_partial_stores(place)
        if place.exists() or place.is_symlink():
            raise StoreError(f"{place} already exists and is not overwritten; use another directory")
        studies = [_read_study(shard) for shard in shard_paths]
        for shard, study in zip(shard_paths[1:], studies[1:], strict=True):
            _check_same_study(shard_paths[0], studies[0], shard, study)
        groups = [open_checked(shard, study) for shard, study in zip(shard_paths, studies, strict=True)]
        done = np.stack([~np.isnan(group["area"][:]) for group in groups])
        _check_no_duplicates(shard_paths, studies[0], done)
        if not partial:
            _check_complete(studies, done)
        with atomic_folder(place, sync=True) as folder:
            _write_merged(folder, groups, studies[0], done)
            _copy_worlds(folder, shard_paths)
    return load_results(place, None)


def _read_study(shard: Path) -> Study:
    if not shard.is_dir():
        raise StoreError(f"there are no results at {shard}")
    return read_study(shard)


def _check_same_study(first: Path, first_study: Study, second: Path, second_study: Study) -> None:
    """Raise a `StoreError` that names the first difference between two shards that do not belong together."""
    described = first_study.describe(), second_study.describe()
    for key in ("settings", "versions", "earlier_versions"):
        values = [study.get(key, {}) for study in described]
        if json.dumps(values[0]) == json.dumps(values[1]):
            continue
        old, new = (text.removeprefix(".") for text in first_difference(*values))
        if old == new:
            problem = f"their {key} list classes, strategies or parameters in different orders"
        else:
            problem = f"their {key} differ, {old} vs {new}"
        raise StoreError(f"{first} and {second} do not belong together: {problem}")
    if first_study.layout != second_study.layout:
        raise StoreError(f"{first} and {second} do not belong together: their arrays differ in shape or type")
    n_parts = [study.shard.n_parts if study.shard else 1 for study in (first_study, second_study)]
    if n_parts[0] != n_parts[1]:
        raise StoreError(
            f"{first} is one of {n_parts[0]} shards and {second} one of {n_parts[1]}; the numbers of shards must be "
            f"equal{CLUSTERS}"
        )


def _check_no_duplicates(shard_paths: list[Path], study: Study, done: Any) -> None:
    duplicates = np.argwhere(done.sum(axis=0) > 1)
    if len(duplicates):
        position, column = map(int, duplicates[0])
        first, second = (shard_paths[i] for i in np.flatnonzero(done[:, position, column])[:2])
        name = _exploration_name(study, position, column)
        raise StoreError(f"{first} and {second} both contain {name}; it must be in only one shard{CLUSTERS}")


def _exploration_name(study: Study, position: int, column: int) -> str:
    return f"{study.settings.strategies[column]} in {study.settings.label(position)}"


def _check_complete(studies: list[Study], done: Any) -> None:
    """Raise a `StoreError` that names the missing shards, or else the first missing exploration."""
    gaps = np.argwhere(~done.any(axis=0))
    if not len(gaps):
        return
    shards = [study.shard for study in studies if study.shard]
    absent = sorted(set(range(1, shards[0].n_parts + 1)) - {shard.part for shard in shards}) if shards else []
    position, column = map(int, gaps[0])
    missing = f"the first is {_exploration_name(studies[0], position, column)}"
    if absent:
        listed = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
        noun, verb = ("shards", "are") if len(absent) > 1 else ("shard", "is")
        missing = f"{noun} {listed} of {shards[0].n_parts} {verb} not given"
    n = done.shape[1] * done.shape[2]
    raise StoreError(
        f"{len(gaps):,} of {n:,} explorations are missing: {missing}; run them, or use --partial "
        "(partial=True) to merge without them"
    )


def _write_merged(folder: Path, groups: list[Any], shard_study: Study, done: Any) -> None:
    """Write all files of the merged store except the user's own worlds."""
    from berlyne.experiments.manifests import ChunkFiles

    names, any_done = shard_study.settings.strategies, done.any(axis=0)
    gaps = [np.flatnonzero(~any_done[:, column]) for column in range(len(names))]
    explored = {name: int(gap[0]) if len(gap) else len(any_done) for name, gap in zip(names, gaps, strict=True)}
    study = replace(shard_study, explored=explored, shard=None)
    write_derived_files(folder, study)
    write_study(folder, study)
    target = ChunkFiles(folder, study)
    target.open_arrays()
    arrays = [{name: array for name, array in group.arrays() if array.ndim > 1} for group in groups]
    for first, column in product(range(0, len(any_done), target.block), range(len(names))):
        positions = first + np.flatnonzero(any_done[first : first + target.block, column])
        if len(positions):
            rows = _read_rows(arrays, done[:, :, column], positions, column)
            chunks = target.encode(positions.tolist(), column, rows)
            target.write(first // target.block, column, chunks, None)


def _read_rows(shards: list[dict[str, Any]], done: Any, positions: Any, column: int) -> dict[str, Any]:
    """Read the explorations of one strategy at some positions, each from the arrays of the shard that contains it."""
    rows: dict[str, Any] = {}
    for arrays, explored in zip(shards, done, strict=True):
        here = explored[positions]
        for name, array in arrays.items() if here.any() else ():
            values = array.oindex[positions[here], column]
            rows.setdefault(name, np.empty((len(positions), *values.shape[1:]), values.dtype))[here] = values
    return rows


def _copy_worlds(folder: Path, shard_paths: list[Path]) -> None:
    """Copy the user's own worlds from all shards."""
    for shard in shard_paths:
        for world_file in sorted((shard / FOLDER).glob("*.npz")):
            if (content := read_file(world_file)) is not None:
                write_store_file(folder / FOLDER / world_file.name, content)
