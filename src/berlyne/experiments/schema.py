"""The metadata of a store: its arrays, its settings, their checksum, and how a store is created.

Shapes, types, labels and units are written as Zarr and xarray read them. The root holds settings, versions and the
metadata of all arrays. All other metadata files follow from it.
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
"""Labels in one chunk of a coordinate."""
NAN = "NaN"


def versions() -> dict[str, str]:
    """Versions of everything that numbers may depend on."""
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
    settings: dict[str, Any], layout: Layout, block: int, own: dict[str, int], measures: list[str]
) -> dict[str, dict[str, Any]]:
    """Every array of a study, by name, with its dimensions, units and meaning.

    own : dimensions of those of the user's own measures that do not say theirs.
    measures : those of `MEASURES` that are kept.
    """
    n, m = n_positions(settings), len(settings["strategies"])
    over_time, full = ("world", "strategy", "time"), (n, m, layout.n_times)
    arrays = {}
    for name in measures:
        measure = MEASURES[name]
        arrays[name] = _array(block, np.float32, full, over_time, NAN, measure.units, measure.meaning)
    for name, kind, meaning in (
        ("state", layout.state, "state in which the action was taken"),
        ("action", layout.action, "action taken"),
        ("next_state", layout.state, "state it led to, where that is not the state of the next action"),
    ):
        nothing = DTYPE_MAX[kind]
        arrays[name] = _array(block, kind, full, over_time, nothing, "1", f"{meaning}; {nothing} for none")
    if layout.n_transitions:
        shape = (n, m, len(settings["snapshots"]), layout.n_transitions)
        dims = ("world", "strategy", "snapshot", "transition")
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        arrays["counts"] = _array(block, layout.count, shape, dims, 0, "1", meaning)
    for name in settings["measures"]:
        said = settings.get("described measures", {}).get(name)
        if said is None:
            arrays[name] = _array(
                block, np.float64, full[: own[name]], over_time[: own[name]], NAN, "", DEFAULT_MEANING
            )
        else:
            axes, sizes = (*over_time[:2], *said["dims"]), (n, m, *layout.sizes[name])
            arrays[name] = _array(block, np.float64, sizes, axes, NAN, said["units"], said["meaning"])
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
    """The array `run`, over worlds, of a study in which every world is explored more than once."""
    if settings.get("n_runs", 1) == 1:
        return {}
    n, codecs = n_positions(settings), [{"name": "bytes", "configuration": {"endian": "little"}}]
    return {"run": _metadata("int32", (n,), (n,), ("world",), 0, codecs, "", "number of the run in its world")}


def n_positions(settings: dict[str, Any]) -> int:
    """Runs in worlds of all classes together."""
    return int(settings["n_worlds"]) * int(settings.get("n_runs", 1)) * len(settings["worlds"])


def locate_run(settings: dict[str, Any], position: int) -> tuple[str, int, int]:
    """Class, world and run at a position: classes take turns, then worlds, then runs."""
    index, which = divmod(position, len(settings["worlds"]))
    run, world = divmod(index, settings["n_worlds"])
    return list(settings["worlds"])[which], world, run


def run_label(settings: dict[str, Any], position: int) -> str:
    """The id of the run at a position; that of its world, if each is explored once."""
    return run_id(*locate_run(settings, position), settings.get("n_runs", 1))


def derived_files(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, bytes]:
    """All files but chunks of results, their seals and the root: content by path within the store."""
    files = {f"{name}/zarr.json": encode_json(array) for name, array in arrays.items()}
    files["time/c.0"] = np.arange(arrays["time"]["shape"][0], dtype="<i4").tobytes()
    if settings["snapshots"]:
        files["snapshot/c.0"] = np.array(settings["snapshots"], dtype="<f8").tobytes()
    kinds, n, n_runs = list(settings["worlds"]), settings["n_worlds"], settings.get("n_runs", 1)
    if n_runs > 1:
        files["run/c.0"] = np.repeat(np.arange(n_runs, dtype="<i4"), n * len(kinds)).tobytes()
    labels = {
        "world": [run_id(kind, i, run, n_runs) for run in range(n_runs) for i in range(n) for kind in kinds],
        "world_class": kinds * n * n_runs,
        "strategy": settings["strategies"],
    }
    for name, values in labels.items():
        for i in range(0, len(values), LABELS):
            files[f"{name}/c.{i // LABELS}"] = encode_labels(values[i : i + LABELS], LABELS)
    return files


def write_changed_files(path: Path, files: dict[str, bytes]) -> None:
    """Write those files that are not there, or not as they should be."""
    for name, content in files.items():
        if read_file(path / name, len(content)) != content:
            write_store_file(path / name, content)


def encode_json(value: Any) -> bytes:
    """As the files of a store have it."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _array(
    block: int, kind: Any, shape: tuple[int, ...], dims: tuple[str, ...], nothing: Any, units: str, meaning: str
) -> dict[str, Any]:
    """An array over worlds and strategies. Its chunks are pieces."""
    kind = np.dtype(kind)
    codecs: list[dict[str, Any]] = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration": compression(kind.itemsize)},
        {"name": "crc32c"},
    ]
    return _metadata(kind.name, shape, (block, 1, *shape[2:]), dims, nothing, codecs, units, meaning)


def _coordinate(name: str, kind: Any, n: int, units: str, meaning: str) -> dict[str, Any]:
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    return _metadata(np.dtype(kind).name, (n,), (n,), (name,), 0, codecs, units, meaning)


def _labels(dim: str, n: int, meaning: str) -> dict[str, Any]:
    return _metadata("string", (n,), (LABELS,), (dim,), "", [{"name": "vlen-utf8"}], "", meaning)


def _metadata(
    kind: str, shape: tuple[int, ...], chunk: tuple[int, ...], dims: tuple[str, ...], nothing: Any,
    codecs: list[dict[str, Any]], units: str, meaning: str,
) -> dict[str, Any]:  # fmt: skip
    return {
        "shape": list(shape),
        "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": nothing,
        "codecs": codecs,
        "attributes": {**({"units": units} if units else {}), "long_name": meaning},
        "dimension_names": list(dims),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


FORMAT = 3
UNSEALED = 2
"""The format before: no checksum of the root, and no seals, so that chunks can change places unnoticed."""
MAX_BLOCK_SIZE = 1 << 20

Root = dict[str, Any]
"""The `attributes` of a store without their checksum, and the metadata of its `arrays`."""


def read_root(path: Path) -> Root:
    """The root of a store; an error if it is no store of ours, a newer one, or a damaged one."""
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
    _refuse_format(path, attributes)
    stated = attributes.pop("checksum", None)
    try:
        if stated != (checksum(root) if attributes["berlyne_format"] == FORMAT else None):
            raise _damaged(path, "the checksum of its root does not fit")
        said = root["consolidated_metadata"]["metadata"]
        unknown = said.keys() - _names(attributes["settings"])
        if unknown:
            raise StoreError(f"{path} holds {min(unknown)!r:.40}, which this version of berlyne does not know")
        return {"attributes": attributes, "arrays": _arrays(attributes, said)}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise _damaged(path, "the parts of its root do not fit together") from None


def read_settings(path: Path) -> dict[str, Any]:
    """The settings that a store was made with."""
    settings: dict[str, Any] = read_root(path)["attributes"]["settings"]
    return settings


def write_root(path: Path, attributes: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Show readers the shapes and settings, all at once."""
    write_store_file(path / "zarr.json", encode_root(attributes, arrays))


def encode_root(attributes: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """The file that says all this."""
    everything = {"kind": "inline", "must_understand": False, "metadata": arrays}
    root = {"zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": everything}
    if attributes["berlyne_format"] == FORMAT:
        root["attributes"] = {**attributes, "checksum": checksum(root)}
    return encode_json(root)


def checksum(value: Any) -> str:
    """Of plain data: of its text, in which the order of keys counts."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def layout_from_metadata(settings: dict[str, Any], arrays: dict[str, Any]) -> Layout:
    """The layout that the arrays of a store have."""
    counts = arrays.get("counts")
    return Layout(
        max(said["n_steps"] for said in settings["worlds"].values()) + 1,
        _one_of(DTYPE_MAX, arrays["state"]["data_type"]),
        _one_of(DTYPE_MAX, arrays["action"]["data_type"]),
        _one_of(DTYPE_MAX, counts["data_type"]) if counts else "uint8",
        _int(counts["shape"][-1], 1, COUNTS_LIMIT) if counts else 0,
        tuple(name for name in MEASURES if name in arrays),
        {name: _sizes(arrays[name]["shape"], said) for name, said in settings.get("described measures", {}).items()},
    )


def _sizes(shape: list[int], said: dict[str, Any]) -> tuple[int, ...]:
    """The axes of a measure that says its dims."""
    sizes = tuple(_int(n, 1, MAX_VALUES) for n in shape[2:])
    if len(sizes) != len(said["dims"]) or math.prod(sizes) > MAX_VALUES:
        raise ValueError(shape)
    return sizes


def block_size(arrays: dict[str, Any]) -> int:
    """Worlds in one piece."""
    return _int(arrays["area"]["chunk_grid"]["configuration"]["chunk_shape"][0], 1, MAX_BLOCK_SIZE)


def _refuse_format(path: Path, attributes: dict[str, Any]) -> None:
    said, wrote = attributes["berlyne_format"], attributes.get("versions")
    if type(said) is not int or said not in (UNSEALED, FORMAT):
        by = wrote.get("berlyne", "unknown") if isinstance(wrote, dict) else "unknown"
        raise StoreError(
            f"{path} has format {said!r:.40}; this version of berlyne reads formats {UNSEALED} and {FORMAT}, "
            f"use the version that wrote it ({by!s:.40})"
        )


def _damaged(path: Path, why: str) -> StoreError:
    return StoreError(f"{path} is damaged: {why}; put a copy of its zarr.json back, or use another place")


def _names(settings: Any) -> set[str]:
    """What the arrays of a store may be called."""
    _check_settings(settings)
    fixed = ("state", "action", "next_state", "counts", "area", "time", "snapshot", "world", "world_class", "strategy")
    return {*MEASURES, *fixed, *settings["measures"], *(("run",) if settings.get("n_runs", 1) > 1 else ())}


def _arrays(attributes: dict[str, Any], said: Any) -> dict[str, dict[str, Any]]:
    """The metadata of all arrays, worked out; a ValueError if what is said is anything else."""
    settings = attributes["settings"]
    _check_texts(attributes["versions"])
    for earlier in attributes.get("earlier_versions", []):
        _check_texts(earlier)
    for name, n in attributes.get("explored", {}).items():
        _one_of(settings["strategies"], name)
        _int(n, 0, n_positions(settings))
    if "shard" in attributes:
        part, of = attributes["shard"]
        _int(part, 1, _int(of, 1, MAX_WORLDS))
    described = settings.get("described measures", {})
    own = {name: _int(len(said[name]["shape"]), 2, 3) for name in settings["measures"] if name not in described}
    layout = layout_from_metadata(settings, said)
    arrays = array_metadata(settings, layout, block_size(said), own, list(layout.measures))
    if arrays != said:
        raise ValueError("other arrays than the settings ask for")
    return arrays


def _check_settings(settings: dict[str, Any]) -> None:
    """A ValueError, or one of its kin, if settings cannot be those of a store."""
    _int(settings["n_worlds"], 1, MAX_WORLDS)
    _int(settings["seed"], 0, 2**63 - 1)
    _check_texts(dict.fromkeys(settings["strategies"], ""))
    _check_texts(settings.get("own strategies", {}))
    _check_texts(dict.fromkeys(settings["worlds"], ""))
    for said in settings["worlds"].values():
        _int(said["n_steps"], 1, MAX_STEPS)
        _check_texts(dict.fromkeys(said.get("worlds", ()), ""))
    distinct = len(set(settings["strategies"])) == len(settings["strategies"]) > 0 < len(settings["worlds"])
    lists = all(isinstance(settings[key], list) for key in ("strategies", "snapshots", "measures"))
    times = all(type(t) in (int, float) and 0 <= t <= MAX_STEPS for t in settings["snapshots"])
    if not (distinct and lists and times and all(map(is_measure_name, settings["measures"]))):
        raise ValueError("settings that no experiment has")
    _int(settings["n_worlds"] * _int(settings.get("n_runs", 1), 1, MAX_WORLDS), 1, MAX_WORLDS)
    if settings.get("common_random_numbers", True) is not True:
        raise ValueError("settings that no experiment has")
    for name, said in settings.get("described measures", {}).items():
        _one_of(settings["measures"], name)
        _check_texts({said["units"]: said["meaning"]})
        if not isinstance(said["dims"], list) or not all(map(is_dim_name, said["dims"])):
            raise ValueError("dimensions that no measure has")


def _check_texts(said: dict[str, str]) -> None:
    if not all(isinstance(text, str) for pair in said.items() for text in pair):
        raise ValueError("something else than texts")


def _one_of(these: Any, value: str) -> str:
    if value not in these:
        raise ValueError(value)
    return value


def _int(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(value)
    return value


COMPARED = ("worlds", "seed", "snapshots", "measures", "own strategies", "common_random_numbers", "described measures")
"""Settings that must be the same for a store to be gone on with."""


def check_same_settings(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    """Only more worlds, more strategies or more runs may be asked of a store that exists."""
    runs = kept.get("n_runs", 1), asked.get("n_runs", 1)
    ours, theirs = _comparable(kept, asked), _comparable(asked, kept)
    for key in COMPARED:
        if _text(ours.get(key)) != _text(theirs.get(key)):
            was, wanted = first_difference(ours.get(key), theirs.get(key))
            raise SettingsError(
                f"{path} was made with {key}{was}, and {key}{wanted} is asked for; "
                f"use another place, or the same settings (more worlds or strategies can be added)"
            )
    if runs[1] < runs[0]:
        raise SettingsError(
            f"{path} holds n_runs = {runs[0]}, and n_runs = {runs[1]} is asked for; it can only grow{RESUMING}"
        )
    if max(runs) > 1 and kept["n_worlds"] != asked["n_worlds"]:
        raise SettingsError(
            f"{path} was made with n_worlds = {kept['n_worlds']}, and n_worlds = {asked['n_worlds']} is asked for; "
            "where worlds have several runs, only runs and strategies can be added"
        )


def _comparable(these: dict[str, Any], those: dict[str, Any]) -> dict[str, Any]:
    """Settings without what may differ: worlds behind those of the other, strategies that it does not have."""
    worlds = {name: dict(said) for name, said in these["worlds"].items()}
    for name, said in worlds.items():
        others = those["worlds"].get(name, {})
        if "worlds" in said and "worlds" in others:
            said["worlds"] = said["worlds"][: len(others["worlds"])]
    own, common = these.get("own strategies", {}), set(these["strategies"]) & set(those["strategies"])
    return {**these, "worlds": worlds, "own strategies": {name: own.get(name, "the usual one") for name in common}}


def _text(value: Any) -> str:
    """As JSON, which tells the step 1 from the share 1.0; the order of keys does not matter."""
    return json.dumps(value, sort_keys=True)


def first_difference(kept: Any, asked: Any) -> tuple[str, str]:
    """Where two settings differ first: how each goes on from there, such as ".maze.n_steps = 20"."""
    if isinstance(kept, dict) and isinstance(asked, dict):
        for key in {**kept, **asked}:
            if key not in kept or key not in asked:
                was, wanted = (f".{key} = {_text(x[key])}" if key in x else f" without {key}" for x in (kept, asked))
                return was, wanted
            if _text(kept[key]) != _text(asked[key]):
                was, wanted = first_difference(kept[key], asked[key])
                return f".{key}{was}", f".{key}{wanted}"
    return f" = {_text(kept)}", f" = {_text(asked)}"


KEYS = (
    "worlds", "strategies", "n_worlds", "seed", "snapshots", "measures",
    "own strategies", "n_runs", "common_random_numbers", "described measures",
)  # fmt: skip
"""Settings in the order in which an experiment describes itself."""
KEPT = ("earlier_format", "explored", "shard")
"""What a root goes on saying."""


def create_store(path: Path, experiment: Experiment, block: int, work_unit_bytes: int, shard: Shard | None) -> None:
    """Make an empty store, complete or not at all; a piece has at most `block` worlds and `work_unit_bytes` bytes."""
    if path.is_symlink():
        raise StoreError(f"{path} is a symbolic link to nothing; remove it, or use another place")
    with atomic_folder(path) as partial:
        layout, settings = Layout.for_experiment(experiment), experiment.describe()
        fit = work_unit_bytes // layout.n_bytes(len(experiment.snapshots), len(experiment.own))
        own = _own_measures(experiment, layout)
        arrays = array_metadata(settings, layout, max(1, min(block, fit)), own, list(experiment.kept))
        write_changed_files(partial, derived_files(settings, arrays))
        write_root(partial, root_attributes(settings, versions(), {"shard": list(shard)} if shard else {}), arrays)


def _own_measures(experiment: Experiment, layout: Layout) -> dict[str, int]:
    """Dimensions of the user's own measures that do not say theirs, as told by the first exploration."""
    if not experiment.own:
        return {}
    try:
        computed = compute_arrays(experiment, WorkUnit(0, 1, experiment.strategy_names[0], (0,)), layout)
    except UnfinishedWorkUnitError as failure:
        raise failure.error from failure.error.__cause__
    return {name: computed[name].ndim + 1 for name, measure in experiment.own.items() if measure.dims is None}


def resize_metadata(array: dict[str, Any], n_positions: int, n_names: int) -> dict[str, Any]:
    """The metadata of an array with other numbers of worlds and strategies."""
    sizes = {"world": n_positions, "strategy": n_names}
    shape = [sizes.get(dim, n) for dim, n in zip(array["dimension_names"], array["shape"], strict=True)]
    return {**array, "shape": shape}


def root_attributes(settings: dict[str, Any], now: dict[str, str], before: dict[str, Any]) -> dict[str, Any]:
    """What the root says; versions that computed some of the results before are kept."""
    earlier = list(before.get("earlier_versions", []))
    if "versions" in before and before["versions"] != now and before["versions"] not in earlier:
        earlier.append(before["versions"])
    labels = "world_class" if settings.get("n_runs", 1) == 1 else "world_class run"
    said = {"berlyne_format": FORMAT, "settings": settings, "versions": now, "coordinates": labels}
    kept: dict[str, Any] = {key: before[key] for key in KEPT if key in before}
    return {**said, **({"earlier_versions": earlier} if earlier else {}), **kept}


def merge_settings(kept: dict[str, Any], asked: dict[str, Any], names: list[str], n_worlds: int) -> dict[str, Any]:
    """Settings of a store that holds what is kept and what is asked for."""
    worlds = {}
    for name, said in kept["worlds"].items():
        wanted = asked["worlds"][name]
        worlds[name] = max(said, wanted, key=lambda one: len(one.get("worlds", ())))
    own = {**kept.get("own strategies", {}), **asked.get("own strategies", {})}
    n_runs = max(kept.get("n_runs", 1), asked.get("n_runs", 1))
    both = {**kept, "worlds": worlds, "strategies": names, "n_worlds": n_worlds}
    both |= {"own strategies": own} if own else {}
    both |= {"n_runs": n_runs} if n_runs > 1 else {}
    return {key: both[key] for key in (*KEYS, *(both.keys() - set(KEYS))) if key in both}


def check_same_measures(path: Path, root: Root, experiment: Experiment) -> None:
    """A store keeps the usual measures that it was made with."""
    there = [name for name in MEASURES if name in root["arrays"]]
    for name in experiment.kept:
        if name not in there:
            raise SettingsError(
                f"{path} was made without the measure {name}, which is kept now; use another place{RESUMING}"
            )
    for name in there:
        if name not in experiment.kept:
            raise SettingsError(
                f"{path} was made with the measure {name}, which is not asked for; use another place{RESUMING}"
            )


def check_same_shard(path: Path, root: Root, asked: Shard | None) -> None:
    """A store of a shard is gone on with as that shard, and a whole one as a whole."""
    said = root["attributes"].get("shard")
    kept = None if said is None else Shard(*said)
    if kept != asked:
        was, wanted = (f"shard {one}" if one else "the whole study" for one in (kept, asked))
        raise SettingsError(f"{path} was made for {was}, and {wanted} is asked for; use another place{RESUMING}")
