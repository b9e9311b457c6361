"""Read a store through Zarr: chunks are checked, and all other files are derived from the root.

Worlds are read, or drawn again from their random streams. Runs are restored from their stored paths.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr
from xarray.backends import BackendArray
from xarray.core import indexing
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, cpu, default_buffer_prototype
from zarr.storage import MemoryStore

from berlyne.experiments.manifests import ChunkFiles
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.schema import Study, derived_files
from berlyne.experiments.settings import Settings
from berlyne.experiments.spec import describe_strategy, snapshot_steps
from berlyne.experiments.stored_worlds import read_world
from berlyne.experiments.work_unit import world_at
from berlyne.experiments.worlds import WorldClass, function_name, world_id
from berlyne.exploration.run import Run
from berlyne.labels import Labels, label_array
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import OWN_UTILITY, FloatArray
from berlyne.worlds import World
from berlyne.worlds.registry import WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.experiments.results import Results


_CHUNK = re.compile(r"(\w+)/c\.(\d+)\.(\d+)(?:\.0)*")


class MaskedCounts(BackendArray):
    """Counts at snapshots, with NaN for explorations that are not done. They are read when they are needed.

    Parameters
    ----------
    counts : Variable over (world, strategy, snapshot, transition)
        Stored counts.
    area : ndarray of shape (world, strategy)
        Areas; NaN for explorations that are not done.
    """

    def __init__(self, counts: xr.Variable, area: FloatArray) -> None:
        self.counts, self.explored, self.shape = counts, ~np.isnan(area), counts.shape
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        counts, explored = np.asarray(self.counts[key].values, dtype=float), self.explored[key[:2]]
        mask = np.reshape(explored, np.shape(explored) + (1,) * (counts.ndim - np.ndim(explored)))
        return np.where(mask, counts, np.nan)


def mask_unexplored_counts(dataset: xr.Dataset, uncounted: list[str]) -> xr.Dataset:
    """Set counts to NaN if an exploration is not done or its class has no counts.

    Parameters
    ----------
    dataset : Dataset
        Dataset of a store.
    uncounted : list of str
        Classes without counts, because they have no transition table.

    Returns
    -------
    Dataset
        `dataset` itself if no count changes.
    """
    if "counts" not in dataset:
        return dataset
    try:
        area = np.array(dataset["area"].values)
    except StoreError:
        return dataset  # reading the areas will raise this error
    area[np.isin(np.array(dataset["world_class"].values.tolist()), uncounted)] = np.nan
    if not np.isnan(area).any():
        return dataset
    counts = dataset["counts"].variable
    lazy = xr.Variable(counts.dims, indexing.LazilyIndexedArray(MaskedCounts(counts, area)), counts.attrs)
    return dataset.assign(counts=lazy)


class CheckedStore(MemoryStore):
    """Read-only Zarr store: chunks of results are read from `path` and checked, all else is derived from the study."""

    def __init__(self, path: Path, study: Study) -> None:
        derived: dict[str, Buffer] = {
            key: cpu.Buffer.from_bytes(content) for key, content in derived_files(study).items()
        }
        super().__init__(derived, read_only=True)
        self.chunk_files = ChunkFiles(path, study)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return a file by its path within the store; None if it does not exist."""
        if self._is_chunk(key):
            return await asyncio.to_thread(self._read, key, prototype)
        return await super().get(key, prototype, byte_range)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return a file by its path within the store; None if it does not exist."""
        if self._is_chunk(key):
            return self._read(key, prototype)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def _is_chunk(self, key: str) -> bool:
        match = _CHUNK.fullmatch(key)
        return match is not None and match[1] in self.chunk_files.arrays

    def _read(self, key: str, prototype: BufferPrototype | None) -> Buffer | None:
        """Read a chunk completely: Zarr never requests parts, because no array is sharded."""
        array, block, column = _CHUNK.fullmatch(key).groups()  # type: ignore[union-attr]  # the caller has checked it
        content = self.chunk_files.read_checked_chunk(array, int(block), int(column))
        return None if content is None else (prototype or default_buffer_prototype()).buffer.from_bytes(content)

    def with_read_only(self, read_only: bool = False) -> Any:
        """Return the store itself, which is always read-only."""
        return self


def open_checked(path: Path, study: Study) -> Any:
    """Open the arrays of a store as a Zarr group whose chunks are checked when they are read."""
    return zarr.open_group(CheckedStore(path, study), mode="r", use_consolidated=False)


def restore_world(results: Results, label: str) -> World:
    """Return the world with an id, or of a run in it: draw it again, or read it."""
    parts = label.split("/")
    first = "/".join(parts[:2]) + ("/run-000" if len(parts) == 2 and results.settings.get("n_runs", 1) > 1 else "")
    results._check("world", first if len(parts) == 2 else label)
    name, index = parts[0], int(parts[1])
    if results.has_no_table(name):
        raise ValueError(
            f"worlds.{name} of {results.path} has no transition table, so there is no World and no Run of it; "
            "use history(world, strategy) or to_frame() to read its paths, and berlyne.explore_env to explore it"
        )
    if results.experiment is not None:
        kind = next(c for c in results.experiment.classes if c.name == name)
        if not kind.worlds or index < len(kind.worlds):
            return world_at(results.experiment, name, index)
    settings = results.settings["worlds"][name]
    functions = {function_name(kind.make): kind.make for kind in WORLDS.values()}
    if settings.get("make") not in functions or "first world" in settings:
        stored = read_world(results.path, Settings.from_json(results.settings), name, index)
        if stored is not None:
            return stored
        raise ValueError(
            f"worlds.{name} of {results.path} are your own, and {world_id(name, index)} is not stored there (it is too "
            "large, has labels that cannot be stored, is not explored yet, or its file was removed); "
            "use open_results(path, experiment)"
        )
    make, parameters = functions[settings["make"]], settings["parameters"]
    world_class = WorldClass(name, settings["n_steps"], make, parameters, horizon=settings.get("horizon"))
    world = world_class.world(results.settings["seed"], index)
    assert isinstance(world, World)  # berlyne's own classes contain no environments
    return world


def shared_labels(results: Results, name: str) -> tuple[Labels, Labels] | None:
    """Return the labels of states and actions that all worlds of a custom class share; None if they differ."""
    settings = results.settings["worlds"][name]
    if "worlds" not in settings and "first world" not in settings:
        return None
    worlds: list[World] = []
    for index in range(results.settings["n_worlds"]):
        try:
            worlds.append(restore_world(results, world_id(name, index)))
        except (ValueError, StoreError):  # not explored or not stored; `Results.world` raises this error
            continue
    distinct = {(w.n_states, w.n_actions, *map(_names, (w.state_labels, w.action_labels))) for w in worlds}
    if len(distinct) != 1 or all(labels.custom is None for labels in (worlds[0].state_labels, worlds[0].action_labels)):
        return None
    return worlds[0].state_labels, worlds[0].action_labels


def _names(labels: Labels) -> tuple[Any, ...] | None:
    return None if labels.custom is None else tuple(labels.custom)


def assign_labels(dataset: xr.Dataset, labels: tuple[Labels, Labels]) -> xr.Dataset:
    """Add labels of states and actions as coordinates, and cut axes after the last state or action.

    Custom measures may have the axes `a`, `s` and `s_next`. An entry of `transition` has a label for each of them.
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
    coordinates: dict[str, Any] = {dim: names for dim, names in named.items() if dim in dataset.dims}
    if "transition" in dataset.dims:
        grid = np.indices((actions.size, states.size, states.size)).reshape(3, -1)
        coordinates |= {
            f"transition_{dim}": ("transition", names[numbers])
            for (dim, names), numbers in zip(named.items(), grid, strict=True)
        }
    return dataset.assign_coords(coordinates)


def restore_run(results: Results, label: str, name: str) -> Run:
    """Restore a run from its stored path and curves."""
    history = results.history(label, name)
    world, n_steps = restore_world(results, label), len(history)
    stored = results.dataset.sel(world=label, strategy=name)
    states = stored["state"].values[: n_steps + 1].astype(np.int32)
    curves = {
        measure: stored[measure].values[: n_steps + 1].astype(np.float64) for measure in MEASURES if measure in stored
    }
    times = sorted(set(snapshot_steps(results.settings["snapshots"], n_steps)))
    path = states, history[:, 1].astype(np.int32), history[:, 2].astype(np.int32)
    snapshots = {t: results.counts(label, name, t, world.n_states, world.n_actions) for t in times}
    return Run.in_world(world, _strategy(results, name), path, curves, snapshots)


def _strategy(results: Results, label: str) -> Strategy:
    """Return the strategy with a label; raise a ValueError if it is the user's own and the experiment is not known."""
    name = results.settings["strategies"][results.strategies.index(label)]
    if results.experiment is not None and name in results.experiment.strategy_names:
        return results.experiment.strategy(name)
    descriptions = results.settings.get("own strategies", {})
    try:
        registered = get_strategy(name)
        if name not in descriptions or describe_strategy(registered) == descriptions[name]:
            return registered
    except ValueError:
        if name not in descriptions:  # its name was enough when it was stored
            raise ValueError(
                f"the strategy {name!r} of {results.path} is not defined here; import the module that registers its "
                f"utility or method{OWN_UTILITY}"
            ) from None
    raise ValueError(
        f"the strategy {name!r} of {results.path} is user-defined and not stored; use open_results(path, experiment)"
    )
