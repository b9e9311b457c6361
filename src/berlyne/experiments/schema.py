"""The metadata of a store: arrays, settings and their checksum, and the creation of a store.

Shapes, types, labels and units follow the conventions of Zarr and xarray. The root contains settings, versions and the
metadata of all arrays. All other metadata files are derived from it.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import compression, encode_labels
from berlyne.experiments.measures import DEFAULT_MEANING, MEASURES, is_dim_name, is_measure_name
from berlyne.experiments.shard import Shard
from berlyne.experiments.spec import MAX_WORLDS, Experiment, SettingsError
from berlyne.experiments.work_unit import (
    COUNTS_LIMIT,
    DTYPE_MAX,
    MAX_VALUES,
    Layout,
    UnfinishedWorkUnitError,
    WorkUnit,
    compute_arrays,
)
from berlyne.experiments.worlds import MAX_STEPS, run_id
from berlyne.serialization import StoreError, atomic_folder, read_file, write_store_file
from berlyne.validation import RESUMING

LABELS = 4096
"""Number of labels in one chunk of a coordinate."""
NAN = "NaN"


def versions() -> dict[str, str]:
    """Return the installed versions of the software that may affect results."""
    import llvmlite
    import numba

    import berlyne

    return {
        "berlyne": berlyne.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "python": platform.python_version(),
    }


def array_metadata(
    settings: dict[str, Any], layout: Layout, block: int, custom_ndim: dict[str, int], measures: list[str]
) -> dict[str, dict[str, Any]]:
    """Return the metadata of every array of a study, by name: dimensions, units and meaning.

    Parameters
    ----------
    settings : dict
        Settings of the study.
    layout : Layout
        Shapes and types of the arrays of one exploration.
    block : int
        Number of positions in a block.
    custom_ndim : dict of str to int
        Number of dimensions of the custom measures without dims, including world and strategy.
    measures : list of str
        Names of the measures in `MEASURES` that are stored.
    """
    # the units and meanings are part of the format: a store with other texts is refused, so they must stay
    n, m = n_positions(settings), len(settings["strategies"])
    over_time, full = ("world", "strategy", "time"), (n, m, layout.n_times)
    arrays = {}
    for name in measures:
        measure = MEASURES[name]
        arrays[name] = _array(block, np.float32, full, over_time, NAN, measure.units, measure.meaning)
    for name, dtype, meaning in (
        ("state", layout.state_dtype, "state in which the action was taken"),
        ("action", layout.action_dtype, "action taken"),
        ("next_state", layout.state_dtype, "state it led to, where that is not the state of the next action"),
    ):
        missing = DTYPE_MAX[dtype]
        arrays[name] = _array(block, dtype, full, over_time, missing, "1", f"{meaning}; {missing} for none")
    if layout.n_transitions:
        shape = (n, m, len(settings["snapshots"]), layout.n_transitions)
        dims = ("world", "strategy", "snapshot", "transition")
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        arrays["counts"] = _array(block, layout.count_dtype, shape, dims, 0, "1", meaning)
    for name in settings["measures"]:
        described = settings.get("described measures", {}).get(name)
        if described is None:
            ndim = custom_ndim[name]
            arrays[name] = _array(block, np.float64, full[:ndim], over_time[:ndim], NAN, "", DEFAULT_MEANING)
        else:
            axes, sizes = (*over_time[:2], *described["dims"]), (n, m, *layout.sizes[name])
            arrays[name] = _array(block, np.float64, sizes, axes, NAN, described["units"], described["meaning"])
    meaning = "sum of missing information over all times"
    arrays["area"] = _array(block, np.float64, full[:2], over_time[:2], NAN, "bits", meaning)
    arrays["time"] = _coordinate("time", np.int32, layout.n_times, "steps", "steps made")
    if settings["snapshots"]:
        n_times, units = len(settings["snapshots"]), "steps, or share of the run"
        arrays["snapshot"] = _coordinate("snapshot", np.float64, n_times, units, "when counts were kept")
    for name, dim, n_labels, meaning in (
        ("world", "world", n, "id of the world"),
        ("world_class", "world", n, "class of the world"),
        ("strategy", "strategy", m, "strategy of the explorer"),
    ):
        arrays[name] = _labels(dim, n_labels, meaning)
    return {**arrays, **run_coordinate(settings)}


def run_coordinate(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the metadata of the coordinate `run`; empty if every world is explored once."""
    if settings.get("n_runs", 1) == 1:
        return {}
    n, codecs = n_positions(settings), [{"name": "bytes", "configuration": {"endian": "little"}}]
    return {"run": _metadata("int32", (n,), (n,), ("world",), 0, codecs, "", "number of the run in its world")}


def n_positions(settings: dict[str, Any]) -> int:
    """Return the number of runs in worlds of all classes together."""
    return int(settings["n_worlds"]) * int(settings.get("n_runs", 1)) * len(settings["worlds"])


def locate_run(settings: dict[str, Any], position: int) -> tuple[str, int, int]:
    """Return the class, world and run at a position: classes take turns, then worlds, then runs."""
    index, class_index = divmod(position, len(settings["worlds"]))
    run, world = divmod(index, settings["n_worlds"])
    return list(settings["worlds"])[class_index], world, run


def run_label(settings: dict[str, Any], position: int) -> str:
    """Return the id of the run at a position; if each world is explored once, the id of its world."""
    return run_id(*locate_run(settings, position), settings.get("n_runs", 1))


def derived_files(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, bytes]:
    """Return all files except chunks of results, manifests and the root: content by path within the store."""
    files = {f"{name}/zarr.json": encode_json(array) for name, array in arrays.items()}
    files["time/c.0"] = np.arange(arrays["time"]["shape"][0], dtype="<i4").tobytes()
    if settings["snapshots"]:
        files["snapshot/c.0"] = np.array(settings["snapshots"], dtype="<f8").tobytes()
    classes, n, n_runs = list(settings["worlds"]), settings["n_worlds"], settings.get("n_runs", 1)
    if n_runs > 1:
        files["run/c.0"] = np.repeat(np.arange(n_runs, dtype="<i4"), n * len(classes)).tobytes()
    labels = {
        "world": [run_id(name, i, run, n_runs) for run in range(n_runs) for i in range(n) for name in classes],
        "world_class": classes * n * n_runs,
        "strategy": settings["strategies"],
    }
    for name, values in labels.items():
        for i in range(0, len(values), LABELS):
            files[f"{name}/c.{i // LABELS}"] = encode_labels(values[i : i + LABELS], LABELS)
    return files


def write_changed_files(path: Path, files: dict[str, bytes]) -> None:
    """Write the files that are missing or whose content differs."""
    for name, content in files.items():
        if read_file(path / name, len(content)) != content:
            write_store_file(path / name, content)


def encode_json(value: Any) -> bytes:
    """Encode plain data as in the files of a store."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _array(
    block: int, dtype: Any, shape: tuple[int, ...], dims: tuple[str, ...], fill_value: Any, units: str, meaning: str
) -> dict[str, Any]:
    """Return the metadata of an array over worlds and strategies. Each of its chunks belongs to one work unit."""
    dtype = np.dtype(dtype)
    codecs: list[dict[str, Any]] = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration": compression(dtype.itemsize)},
        {"name": "crc32c"},
    ]
    return _metadata(dtype.name, shape, (block, 1, *shape[2:]), dims, fill_value, codecs, units, meaning)


def _coordinate(name: str, dtype: Any, n: int, units: str, meaning: str) -> dict[str, Any]:
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    return _metadata(np.dtype(dtype).name, (n,), (n,), (name,), 0, codecs, units, meaning)


def _labels(dim: str, n: int, meaning: str) -> dict[str, Any]:
    return _metadata("string", (n,), (LABELS,), (dim,), "", [{"name": "vlen-utf8"}], "", meaning)


def _metadata(
    dtype: str, shape: tuple[int, ...], chunk: tuple[int, ...], dims: tuple[str, ...], fill_value: Any,
    codecs: list[dict[str, Any]], units: str, meaning: str,
) -> dict[str, Any]:  # fmt: skip
    return {
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": fill_value,
        "codecs": codecs,
        "attributes": {**({"units": units} if units else {}), "long_name": meaning},
        "dimension_names": list(dims),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


FORMAT = 3
"""Number of the store format. Stores of other formats cannot be read."""
MAX_BLOCK_SIZE = 1 << 20

Root = dict[str, Any]
"""The root of a store: its `attributes` without their checksum, and the metadata of its `arrays`."""


def read_root(path: Path) -> Root:
    """Read the root of a store; raise a `StoreError` if it is not a store, has another format, or is damaged."""
    content = read_file(path / "zarr.json")
    if content is None:
        raise StoreError(f"{path} is not a store of results")
    try:
        root = json.loads(content.decode())
        attributes = root["attributes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{path} is not a store of results, or its root (zarr.json) is damaged") from None
    if not isinstance(attributes, dict) or "berlyne_format" not in attributes:
        raise StoreError(f"{path} is not a store of results made by berlyne")
    _check_format(path, attributes)
    stated = attributes.pop("checksum", None)
    try:
        if stated != checksum(root):
            raise _damaged(path, "the checksum of its root is wrong")
        metadata = root["consolidated_metadata"]["metadata"]
        unknown = metadata.keys() - _array_names(attributes["settings"])
        if unknown:
            raise StoreError(f"{path} has an array {min(unknown)!r:.40}, which this version of berlyne does not know")
        return {"attributes": attributes, "arrays": _checked_metadata(attributes, metadata)}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise _damaged(path, "the parts of its root contradict each other") from None


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings of a store."""
    settings: dict[str, Any] = read_root(path)["attributes"]["settings"]
    return settings


def write_root(path: Path, attributes: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Replace the root, so that readers see all new shapes and settings at once."""
    write_store_file(path / "zarr.json", encode_root(attributes, arrays))


def encode_root(attributes: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Encode the root as the content of its file, with a checksum."""
    consolidated = {"kind": "inline", "must_understand": False, "metadata": arrays}
    root = {"zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": consolidated}
    root["attributes"] = {**attributes, "checksum": checksum(root)}
    return encode_json(root)


def checksum(value: Any) -> str:
    """Return the checksum of plain data, encoded as JSON. It depends on the order of keys."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def layout_from_metadata(settings: dict[str, Any], arrays: dict[str, Any]) -> Layout:
    """Return the layout of the arrays of a store."""
    counts = arrays.get("counts")
    return Layout(
        max(world_class["n_steps"] for world_class in settings["worlds"].values()) + 1,
        _check_member(DTYPE_MAX, arrays["state"]["data_type"]),
        _check_member(DTYPE_MAX, arrays["action"]["data_type"]),
        _check_member(DTYPE_MAX, counts["data_type"]) if counts else "uint8",
        _check_int(counts["shape"][-1], 1, COUNTS_LIMIT) if counts else 0,
        tuple(name for name in MEASURES if name in arrays),
        {
            name: _check_sizes(arrays[name]["shape"], described["dims"])
            for name, described in settings.get("described measures", {}).items()
        },
    )


def _check_sizes(shape: list[int], dims: list[str]) -> tuple[int, ...]:
    """Return the sizes of the axes of a measure; raise a ValueError if they do not match its dims."""
    sizes = tuple(_check_int(n, 1, MAX_VALUES) for n in shape[2:])
    if len(sizes) != len(dims) or math.prod(sizes) > MAX_VALUES:
        raise ValueError(shape)
    return sizes


def block_size(arrays: dict[str, Any]) -> int:
    """Return the number of positions in a block."""
    return _check_int(arrays["area"]["chunk_grid"]["configuration"]["chunk_shape"][0], 1, MAX_BLOCK_SIZE)


def _check_format(path: Path, attributes: dict[str, Any]) -> None:
    store_format, writer = attributes["berlyne_format"], attributes.get("versions")
    if type(store_format) is not int or store_format != FORMAT:
        version = writer.get("berlyne", "unknown") if isinstance(writer, dict) else "unknown"
        raise StoreError(
            f"{path} has format {store_format!r:.40}; this version of berlyne reads format {FORMAT}, use the version "
            f"that wrote it ({version!s:.40})"
        )


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged: {reason}; restore its zarr.json from a copy, or use another directory")


def _array_names(settings: Any) -> set[str]:
    """Return the names that the arrays of a store may have."""
    _check_settings(settings)
    fixed = ("state", "action", "next_state", "counts", "area", "time", "snapshot", "world", "world_class", "strategy")
    return {*MEASURES, *fixed, *settings["measures"], *(("run",) if settings.get("n_runs", 1) > 1 else ())}


def _checked_metadata(attributes: dict[str, Any], stored: Any) -> dict[str, dict[str, Any]]:
    """Return the metadata of all arrays as computed from the settings; raise a ValueError if `stored` differs."""
    settings = attributes["settings"]
    _check_strings(attributes["versions"])
    for earlier in attributes.get("earlier_versions", []):
        _check_strings(earlier)
    for name, n in attributes.get("explored", {}).items():
        _check_member(settings["strategies"], name)
        _check_int(n, 0, n_positions(settings))
    if "shard" in attributes:
        part, n_parts = attributes["shard"]
        _check_int(part, 1, _check_int(n_parts, 1, MAX_WORLDS))
    described = settings.get("described measures", {})
    custom_ndim = {
        name: _check_int(len(stored[name]["shape"]), 2, 3) for name in settings["measures"] if name not in described
    }
    layout = layout_from_metadata(settings, stored)
    arrays = array_metadata(settings, layout, block_size(stored), custom_ndim, list(layout.measures))
    if arrays != stored:
        raise ValueError("the arrays do not match the settings")
    return arrays


def _check_settings(settings: dict[str, Any]) -> None:
    """Raise a ValueError, KeyError, TypeError or AttributeError if settings are not those of a study."""
    _check_int(settings["n_worlds"], 1, MAX_WORLDS)
    _check_int(settings["seed"], 0, 2**63 - 1)
    _check_strings(dict.fromkeys(settings["strategies"], ""))
    _check_strings(settings.get("own strategies", {}))
    _check_strings(dict.fromkeys(settings["worlds"], ""))
    for world_class in settings["worlds"].values():
        _check_int(world_class["n_steps"], 1, MAX_STEPS)
        _check_int(world_class.get("horizon", 1), 1, MAX_STEPS)
        _check_strings(dict.fromkeys(world_class.get("worlds", ()), ""))
    distinct = len(set(settings["strategies"])) == len(settings["strategies"]) > 0 < len(settings["worlds"])
    lists = all(isinstance(settings[key], list) for key in ("strategies", "snapshots", "measures"))
    times = all(type(t) in (int, float) and 0 <= t <= MAX_STEPS for t in settings["snapshots"])
    if not (distinct and lists and times and all(map(is_measure_name, settings["measures"]))):
        raise ValueError("invalid settings")
    _check_int(settings["n_worlds"] * _check_int(settings.get("n_runs", 1), 1, MAX_WORLDS), 1, MAX_WORLDS)
    if settings.get("common_random_numbers", True) is not True:
        raise ValueError("invalid settings")
    for name, described in settings.get("described measures", {}).items():
        _check_member(settings["measures"], name)
        _check_strings({described["units"]: described["meaning"]})
        if not isinstance(described["dims"], list) or not all(map(is_dim_name, described["dims"])):
            raise ValueError("invalid dimensions")


def _check_strings(mapping: dict[str, str]) -> None:
    if not all(isinstance(text, str) for pair in mapping.items() for text in pair):
        raise ValueError("not a string")


def _check_member(allowed: Any, value: str) -> str:
    if value not in allowed:
        raise ValueError(value)
    return value


def _check_int(value: Any, at_least: int, at_most: int) -> int:
    if type(value) is not int or not at_least <= value <= at_most:
        raise ValueError(value)
    return value


COMPARED = ("worlds", "seed", "snapshots", "measures", "own strategies", "common_random_numbers", "described measures")
"""Settings that must be equal to resume a store."""


def check_same_settings(path: Path, stored: dict[str, Any], requested: dict[str, Any]) -> None:
    """Raise a `SettingsError` unless the requested settings only add worlds, strategies or runs to the stored ones."""
    n_runs = stored.get("n_runs", 1), requested.get("n_runs", 1)
    comparable = _comparable(stored, requested), _comparable(requested, stored)
    for key in COMPARED:
        old_value, new_value = (settings.get(key) for settings in comparable)
        if _sorted_json(old_value) != _sorted_json(new_value):
            old, new = first_difference(old_value, new_value)
            raise SettingsError(
                f"{path} was made with {key}{old}, but you asked for {key}{new}; "
                f"use another directory, or the same settings (you can add worlds, strategies or runs){RESUMING}"
            )
    if n_runs[1] < n_runs[0]:
        raise SettingsError(
            f"{path} has n_runs = {n_runs[0]}, but you asked for n_runs = {n_runs[1]}; n_runs cannot decrease{RESUMING}"
        )
    if max(n_runs) > 1 and stored["n_worlds"] != requested["n_worlds"]:
        raise SettingsError(
            f"{path} was made with n_worlds = {stored['n_worlds']}, but you asked for n_worlds = "
            f"{requested['n_worlds']}; if worlds have several runs, you can only add runs and strategies{RESUMING}"
        )


def _comparable(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Return settings without allowed differences: worlds after those of `others`, strategies not in `others`."""
    worlds = {name: dict(world_class) for name, world_class in settings["worlds"].items()}
    for name, world_class in worlds.items():
        other_class = others["worlds"].get(name, {})
        if "worlds" in world_class and "worlds" in other_class:
            world_class["worlds"] = world_class["worlds"][: len(other_class["worlds"])]
    own, common = settings.get("own strategies", {}), set(settings["strategies"]) & set(others["strategies"])
    strategies = {name: own.get(name, "the standard strategy") for name in common}
    return {**settings, "worlds": worlds, "own strategies": strategies}


def _sorted_json(value: Any) -> str:
    """Encode as JSON with sorted keys. JSON distinguishes the step 1 from the share 1.0."""
    return json.dumps(value, sort_keys=True)


def first_difference(first: Any, second: Any) -> tuple[str, str]:
    """Return the first difference of two settings as the rest of each key and value, such as ".maze.n_steps = 20"."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in {**first, **second}:
            if key not in first or key not in second:
                old, new = (
                    f".{key} = {_sorted_json(x[key])}" if key in x else f" without {key}" for x in (first, second)
                )
                return old, new
            if _sorted_json(first[key]) != _sorted_json(second[key]):
                old, new = first_difference(first[key], second[key])
                return f".{key}{old}", f".{key}{new}"
    return f" = {_sorted_json(first)}", f" = {_sorted_json(second)}"


KEYS = (
    "worlds", "strategies", "n_worlds", "seed", "snapshots", "measures",
    "own strategies", "n_runs", "common_random_numbers", "described measures",
)  # fmt: skip
"""Keys of the settings, in the order of `Experiment.describe`."""
COPIED_ATTRIBUTES = ("explored", "shard")
"""Attributes that are copied to a new root."""


def check_store_path(path: Path) -> None:
    """Raise a `StoreError` if `path` cannot be the directory of a store."""
    if not path.name:
        raise StoreError(f"{path} cannot be a store; give the name of a new directory, such as results.zarr")
    if not path.parent.is_dir():
        raise StoreError(
            f"directory {path.parent} does not exist, so {path.name} cannot be created in it; create it first"
        )


def create_store(path: Path, experiment: Experiment, block: int, work_unit_bytes: int, shard: Shard | None) -> None:
    """Create an empty store completely or not at all.

    Parameters
    ----------
    path : Path
        Directory of the store.
    experiment : Experiment
        The study.
    block : int
        Maximum number of positions in a block.
    work_unit_bytes : int
        Maximum memory of a work unit, in bytes.
    shard : Shard or None
        The part of the study to store; None for the whole study.
    """
    if path.is_symlink():
        raise StoreError(f"{path} is a broken symbolic link; remove it, or use another directory")
    with atomic_folder(path) as partial:
        layout, settings = Layout.for_experiment(experiment), experiment.describe()
        n_fitting = work_unit_bytes // layout.n_bytes(len(experiment.snapshots), len(experiment.custom_measures))
        custom_ndim = _custom_ndim(experiment, layout)
        block = max(1, min(block, n_fitting))
        arrays = array_metadata(settings, layout, block, custom_ndim, list(experiment.standard_measures))
        write_changed_files(partial, derived_files(settings, arrays))
        write_root(partial, root_attributes(settings, versions(), {"shard": list(shard)} if shard else {}), arrays)


def _custom_ndim(experiment: Experiment, layout: Layout) -> dict[str, int]:
    """Return the number of dimensions of custom measures without dims, as in the first exploration."""
    if not experiment.custom_measures:
        return {}
    try:
        computed = compute_arrays(experiment, WorkUnit(0, 1, experiment.strategy_names[0], (0,)), layout)
    except UnfinishedWorkUnitError as failure:
        raise failure.error from failure.error.__cause__
    return {
        name: computed[name].ndim + 1 for name, measure in experiment.custom_measures.items() if measure.dims is None
    }


def resize_metadata(array: dict[str, Any], n_positions: int, n_strategies: int) -> dict[str, Any]:
    """Return the metadata of an array with other numbers of positions and strategies."""
    sizes = {"world": n_positions, "strategy": n_strategies}
    shape = [sizes.get(dim, n) for dim, n in zip(array["dimension_names"], array["shape"], strict=True)]
    return {**array, "shape": shape}


def root_attributes(settings: dict[str, Any], current: dict[str, str], previous: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of the root.

    Parameters
    ----------
    settings : dict
        Settings of the study.
    current : dict of str to str
        Present versions.
    previous : dict
        Previous attributes. Their versions are kept as earlier versions if they differ.
    """
    earlier = list(previous.get("earlier_versions", []))
    if "versions" in previous and previous["versions"] != current and previous["versions"] not in earlier:
        earlier.append(previous["versions"])
    coordinates = "world_class" if settings.get("n_runs", 1) == 1 else "world_class run"
    attributes = {"berlyne_format": FORMAT, "settings": settings, "versions": current, "coordinates": coordinates}
    copied: dict[str, Any] = {key: previous[key] for key in COPIED_ATTRIBUTES if key in previous}
    return {**attributes, **({"earlier_versions": earlier} if earlier else {}), **copied}


def merge_settings(
    stored: dict[str, Any], requested: dict[str, Any], names: list[str], n_worlds: int
) -> dict[str, Any]:
    """Return the settings of a store that contains both the stored and the requested explorations."""
    worlds = {}
    for name, world_class in stored["worlds"].items():
        candidates = world_class, requested["worlds"][name]
        worlds[name] = max(candidates, key=lambda candidate: len(candidate.get("worlds", ())))
    own = {**stored.get("own strategies", {}), **requested.get("own strategies", {})}
    n_runs = max(stored.get("n_runs", 1), requested.get("n_runs", 1))
    merged = {**stored, "worlds": worlds, "strategies": names, "n_worlds": n_worlds}
    merged |= {"own strategies": own} if own else {}
    merged |= {"n_runs": n_runs} if n_runs > 1 else {}
    return {key: merged[key] for key in (*KEYS, *(merged.keys() - set(KEYS))) if key in merged}


def check_same_measures(path: Path, root: Root, experiment: Experiment) -> None:
    """Raise a `SettingsError` unless a store has the standard measures of an experiment."""
    stored = [name for name in MEASURES if name in root["arrays"]]
    for name in experiment.standard_measures:
        if name not in stored:
            raise SettingsError(
                f"{path} was made without the measure {name}, which you asked for; use another directory{RESUMING}"
            )
    for name in stored:
        if name not in experiment.standard_measures:
            raise SettingsError(
                f"{path} was made with the measure {name}, which you did not ask for; use another directory{RESUMING}"
            )


def check_same_shard(path: Path, root: Root, requested: Shard | None) -> None:
    """Raise a `SettingsError` unless a store was made for this shard, or for the whole study."""
    attribute = root["attributes"].get("shard")
    stored = None if attribute is None else Shard(*attribute)
    if stored != requested:
        old, new = (f"shard {shard}" if shard else "the whole study" for shard in (stored, requested))
        raise SettingsError(f"{path} was made for {old}, but you asked for {new}; use another directory{RESUMING}")
