"""Joining the stores of shards into one, equal byte by byte to that of a run that was never divided.

Every shard holds the same blocks of worlds with its own lines filled. They are joined chunk by chunk, and only if the
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
    FORMAT,
    Root,
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
    """Join the stores of `shards` into a new one at `path`, and open it.

    partial : join what there is, even if explorations are missing; a run of the study adds them.
    """
    place, places = Path(path), [Path(shard) for shard in shards]
    if not places:
        raise StoreError("there are no shards to join; name at least one store")
    if not place.name or not place.parent.is_dir():
        raise StoreError(f"there is no folder {place.parent} to put {place.name or 'results'} into")
    with exclusive_lock(place):
        if place.exists() or place.is_symlink():
            raise StoreError(f"{place} is there already, and nothing is overwritten; use another place")
        roots = [_root(shard) for shard in places]
        for shard, root in zip(places[1:], roots[1:], strict=True):
            _refuse_strangers(places[0], roots[0], shard, root)
        parts = [ChunkFiles(shard, root) for shard, root in zip(places, roots, strict=True)]
        done = np.stack([_explored(part, root) for part, root in zip(parts, roots, strict=True)])
        _refuse_twice(places, roots[0], done)
        if not partial:
            _refuse_gaps(roots, done)
        _write(place, parts, roots, done)
    return load_results(place, None)


def _root(shard: Path) -> Root:
    if not shard.is_dir():
        raise StoreError(f"there are no results at {shard}")
    root = read_root(shard)
    if root["attributes"]["berlyne_format"] != FORMAT:
        raise StoreError(f"{shard} has an older format; run its shard again, which brings it up to date")
    return root


def _refuse_strangers(first: Path, ours: Root, other: Path, theirs: Root) -> None:
    """An error that names what differs between two shards that do not belong together."""
    for what in ("settings", "versions", "earlier_versions"):
        mine, yours = ours["attributes"].get(what, {}), theirs["attributes"].get(what, {})
        if json.dumps(mine) == json.dumps(yours):
            continue
        there, here = (said.removeprefix(".") for said in first_difference(mine, yours))
        if there == here:
            there, here = ("classes, strategies or parameters in one order", "the same in another")
        raise StoreError(f"{first} and {other} do not belong together: {there} there, {here} here ({what})")
    if ours["arrays"] != theirs["arrays"]:
        raise StoreError(f"{first} and {other} do not belong together: their arrays differ in shape or kind")
    of = [root["attributes"].get("shard", [1, 1])[1] for root in (ours, theirs)]
    if of[0] != of[1]:
        raise StoreError(
            f"{first} is one of {of[0]} shards and {other} one of {of[1]}; they must be of one division{CLUSTERS}"
        )


def _explored(part: ChunkFiles, root: Root) -> Any:
    """Which explorations a shard holds, (worlds, strategies)."""
    n_positions, n_names = root["arrays"]["area"]["shape"]
    done = np.zeros((n_positions, n_names), dtype=bool)
    for block in range(-(-n_positions // part.block)):
        for column in range(n_names):
            content = part.read_checked_chunk("area", block, column)
            if content is not None:
                there = done[block * part.block : (block + 1) * part.block, column]
                there[:] = ~np.isnan(_decoded(root, "area", content)[: len(there), 0])
    return done


def _decoded(root: Root, name: str, content: bytes) -> Any:
    array = root["arrays"][name]
    return decode(content, array["data_type"], tuple(array["chunk_grid"]["configuration"]["chunk_shape"]))


def _refuse_twice(places: list[Path], root: Root, done: Any) -> None:
    twice = np.argwhere(done.sum(axis=0) > 1)
    if len(twice):
        position, column = map(int, twice[0])
        first, second = (places[i] for i in np.flatnonzero(done[:, position, column])[:2])
        settings = root["attributes"]["settings"]
        what = f"{settings['strategies'][column]} in {run_label(settings, position)}"
        raise StoreError(f"{first} and {second} both hold {what}; an exploration may be in one shard only{CLUSTERS}")


def _refuse_gaps(roots: list[Root], done: Any) -> None:
    """An error that says which shards, or else which explorations, are missing."""
    gaps = np.argwhere(~done.any(axis=0))
    if not len(gaps):
        return
    marks = [Shard(*root["attributes"]["shard"]) for root in roots if "shard" in root["attributes"]]
    absent = sorted(set(range(1, marks[0].n_parts + 1)) - {mark.part for mark in marks}) if marks else []
    settings = roots[0]["attributes"]["settings"]
    position, column = map(int, gaps[0])
    first = f"{settings['strategies'][column]} in {run_label(settings, position)}"
    what = f"the first is {first}"
    if absent:
        listed = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
        what = f"shard{'s' * (len(absent) > 1)} {listed} of {marks[0].n_parts} {'are' if len(absent) > 1 else 'is'} not given"
    n = done.shape[1] * done.shape[2]
    raise StoreError(
        f"{len(gaps):,} of {n:,} explorations are missing: {what}; run what is missing, or join what there is with "
        "--partial (partial=True)"
    )


def _write(place: Path, parts: list[ChunkFiles], roots: list[Root], done: Any) -> None:
    """The joined store, complete or not at all."""
    with atomic_folder(place) as beside:
        attributes, arrays = roots[0]["attributes"], roots[0]["arrays"]
        settings, names = attributes["settings"], attributes["settings"]["strategies"]
        there = done.any(axis=0)
        gaps = [np.flatnonzero(~there[:, column]) for column in range(len(names))]
        explored = {name: int(gap[0]) if len(gap) else len(there) for name, gap in zip(names, gaps, strict=True)}
        before = {key: attributes[key] for key in ("earlier_format", "earlier_versions") if key in attributes}
        said = root_attributes(settings, attributes["versions"], {**before, "explored": explored})
        write_changed_files(beside, derived_files(settings, arrays))
        write_root(beside, said, arrays)
        target = ChunkFiles(beside, {"attributes": said, "arrays": arrays})
        for block in range(-(-len(there) // target.block)):
            for column in range(len(names)):
                lines = done[:, block * target.block : (block + 1) * target.block, column]
                _join(
                    target,
                    [(p, one) for p, one in zip(parts, lines, strict=True) if one.any()],
                    roots[0],
                    (block, column),
                )
        for shard in parts:
            for kept in sorted((shard.path / FOLDER).glob("*.npz")):
                if (content := read_file(kept)) is not None:
                    write_store_file(beside / FOLDER / kept.name, content)


def _join(target: ChunkFiles, parts: list[tuple[ChunkFiles, Any]], root: Root, where: tuple[int, int]) -> None:
    """Write one piece: each line of its chunks from the shard that explored it."""
    chunks: dict[str, bytes] = {}
    for name in target.arrays:
        found = [(part.read_checked_chunk(name, *where), lines) for part, lines in parts]
        there = [(content, lines) for content, lines in found if content is not None]
        if not there:
            continue
        whole = _decoded(root, name, there[0][0])
        for content, lines in there[1:]:
            whole[: len(lines)][lines] = _decoded(root, name, content)[: len(lines)][lines]
        chunks[name] = there[0][0] if len(there) == 1 else encode(whole)
    for name in sorted(chunks.keys() - {"area"}):
        write_store_file(target.chunk_path(name, *where), chunks[name])
    if chunks:
        target.write_manifest(*where, {name: [stored_checksum(content)] for name, content in chunks.items()})
        write_store_file(target.chunk_path("area", *where), chunks["area"])
