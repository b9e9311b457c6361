"""A store as Zarr reads it: chunks are checked, and everything else is derived from the root.

Worlds are read, or drawn again from their random streams. Runs are rebuilt from their stored paths.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype

from berlyne.experiments.manifests import ChunkFiles
from berlyne.experiments.schema import Root, derived_files, encode_root
from berlyne.experiments.spec import describe_strategy, snapshot_steps
from berlyne.experiments.stored_worlds import read_world
from berlyne.experiments.work_unit import world_at
from berlyne.experiments.worlds import WorldClass, function_name, world_id
from berlyne.exploration.run import Run
from berlyne.labels import Labels, label_array
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import FloatArray
from berlyne.worlds import World
from berlyne.worlds.registry import WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.experiments.results import Results


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


def mask_unexplored_counts(dataset: xr.Dataset, uncounted: list[str]) -> xr.Dataset:
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
        self.path, self.chunk_files = path, ChunkFiles(path, root)
        arrays = {name: _masked(array) if name in PATH else array for name, array in root["arrays"].items()}
        self.files = derived_files(root["attributes"]["settings"], arrays)
        self.files["zarr.json"] = encode_root(root["attributes"], arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedStore) and (self.path, self.files) == (other.path, other.files)

    def _content(self, key: str) -> bytes | None:
        chunk = _CHUNK.fullmatch(key)
        if key in self.files or chunk is None or chunk[1] not in self.chunk_files.arrays:
            return self.files.get(key)
        return self.chunk_files.read_checked_chunk(chunk[1], int(chunk[2]), int(chunk[3]))

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


def restore_world(results: Results, label: str) -> World:
    """The world of an id, or of a run in it."""
    parts = label.split("/")
    first = "/".join(parts[:2]) + ("/run-000" if len(parts) == 2 and results.settings.get("n_runs", 1) > 1 else "")
    results._check("world", first if len(parts) == 2 else label)
    name, index = parts[0], int(parts[1])
    if results.has_no_table(name):
        raise ValueError(
            f"worlds.{name} of {results.path} shows no transition table, so there is no World and no Run of it; "
            "history(world, strategy) and to_frame() have what was done there, and berlyne.explore_env explores it"
        )
    if results.experiment is not None:
        kind = next(c for c in results.experiment.classes if c.name == name)
        if not kind.worlds or index < len(kind.worlds):
            return world_at(results.experiment, name, index)
    said = results.settings["worlds"][name]
    makes = {function_name(kind.make): kind.make for kind in WORLDS.values()}
    if said.get("make") not in makes or "first world" in said:
        kept = read_world(results.path, results.settings, name, index)
        if kept is not None:
            return kept
        raise ValueError(
            f"worlds.{name} of {results.path} are your own, and {world_id(name, index)} is not kept there (too large, "
            "with labels that no file can hold, not explored yet, or run by an older version); "
            "open_results(path, experiment) knows it"
        )
    made = WorldClass(name, said["n_steps"], makes[said["make"]], said["parameters"])
    world = made.world(results.settings["seed"], index)
    assert isinstance(world, World)  # as all classes of ours give
    return world


def shared_labels(results: Results, name: str) -> tuple[Labels, Labels] | None:
    """What states and actions are called in all worlds of a class of a user's own; None if not, or not alike."""
    said = results.settings["worlds"][name]
    if "worlds" not in said and "first world" not in said:
        return None
    found: list[World] = []
    for index in range(results.settings["n_worlds"]):
        try:
            found.append(restore_world(results, world_id(name, index)))
        except (ValueError, StoreError):  # not explored, or not kept; `Results.world` says what is wrong
            continue
    every = {(one.n_states, one.n_actions, *map(_names, (one.state_labels, one.action_labels))) for one in found}
    if len(every) != 1 or all(labels.custom is None for labels in (found[0].state_labels, found[0].action_labels)):
        return None
    return found[0].state_labels, found[0].action_labels


def _names(labels: Labels) -> tuple[Any, ...] | None:
    return None if labels.custom is None else tuple(labels.custom)


def assign_labels(dataset: xr.Dataset, labels: tuple[Labels, Labels]) -> xr.Dataset:
    """Arrays over states or actions with their labels as coordinates; axes end with the last state or action.

    Measures of one's own have the axes `a`, `s` and `s_next`. An entry of `transition` has all three.
    """
    states, actions = labels
    sizes = {"a": actions.size, "s": states.size, "s_next": states.size}
    sizes["transition"] = actions.size * states.size**2
    dataset = dataset.isel({dim: slice(n) for dim, n in sizes.items() if dim in dataset.dims})
    named = {
        "a": label_array(list(actions.all)),
        "s": label_array(list(states.all)),
        "s_next": label_array(list(states.all)),
    }
    found: dict[str, Any] = {dim: names for dim, names in named.items() if dim in dataset.dims}
    if "transition" in dataset.dims:
        grid = np.indices((actions.size, states.size, states.size)).reshape(3, -1)
        found |= {
            f"transition_{dim}": ("transition", names[numbers])
            for (dim, names), numbers in zip(named.items(), grid, strict=True)
        }
    return dataset.assign_coords(found)


def restore_run(results: Results, label: str, name: str) -> Run:
    """One exploration as it is stored."""
    history = results.history(label, name)
    world, n_steps = restore_world(results, label), len(history)
    stored = results.dataset.sel(world=label, strategy=name)
    states = stored["state"].values[: n_steps + 1].astype(np.int32)

    def curve(measure: str) -> FloatArray:
        kept = stored[measure].values[: n_steps + 1] if measure in stored else np.full(n_steps + 1, np.nan)
        return np.asarray(kept, dtype=np.float64)

    times = sorted(set(snapshot_steps(results.settings["snapshots"], n_steps)))
    return Run(
        world,
        _strategy(results, name),
        curve("missing_information"),
        curve("l1_distance"),
        states,
        history[:, 1].astype(np.int32),
        history[:, 2].astype(np.int32),
        {t: results.counts(label, name, t, world.n_states, world.n_actions) for t in times},
    )


def _strategy(results: Results, label: str) -> Strategy:
    """The strategy that goes by a label, if it can be told what it does."""
    name = results.settings["strategies"][results.strategies.index(label)]
    if results.experiment is not None and name in results.experiment.strategy_names:
        return results.experiment.strategy(name)
    said = results.settings.get("own strategies", {})
    try:
        known = get_strategy(name)
        if name not in said or describe_strategy(known) == said[name]:
            return known
    except ValueError:
        pass
    raise ValueError(
        f"the strategy {name!r} of {results.path} is your own; "
        "open_results(path, experiment) knows it from the experiment"
    )
