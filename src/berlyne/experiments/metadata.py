"""What a store says about its arrays: shapes, types, labels and units, as Zarr and xarray read them.

All of it follows from the settings and a `Layout`, so readers work it out rather than trust the files:
what is here is put right again whenever a run begins.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import compression, encode_labels
from berlyne.experiments.files import put, read
from berlyne.experiments.measures import MEASURES, OWN
from berlyne.experiments.piece import MOST, Layout
from berlyne.experiments.world_classes import run_id

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
        nothing = MOST[kind]
        arrays[name] = _array(block, kind, full, over_time, nothing, "1", f"{meaning}; {nothing} for none")
    if layout.n_transitions:
        shape = (n, m, len(settings["snapshots"]), layout.n_transitions)
        dims = ("world", "strategy", "snapshot", "transition")
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        arrays["counts"] = _array(block, layout.count, shape, dims, 0, "1", meaning)
    for name in settings["measures"]:
        said = settings.get("described measures", {}).get(name)
        if said is None:
            arrays[name] = _array(block, np.float64, full[: own[name]], over_time[: own[name]], NAN, "", OWN)
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
    return {**arrays, **run_numbers(settings)}


def run_numbers(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The array `run`, over worlds, of a study in which every world is explored more than once."""
    if settings.get("n_runs", 1) == 1:
        return {}
    n, codecs = n_positions(settings), [{"name": "bytes", "configuration": {"endian": "little"}}]
    return {"run": _metadata("int32", (n,), (n,), ("world",), 0, codecs, "", "number of the run in its world")}


def n_positions(settings: dict[str, Any]) -> int:
    """Runs in worlds of all classes together."""
    return int(settings["n_worlds"]) * int(settings.get("n_runs", 1)) * len(settings["worlds"])


def place_of(settings: dict[str, Any], position: int) -> tuple[str, int, int]:
    """Class, world and run at a position: classes take turns, then worlds, then runs."""
    index, which = divmod(position, len(settings["worlds"]))
    run, world = divmod(index, settings["n_worlds"])
    return list(settings["worlds"])[which], world, run


def label_of(settings: dict[str, Any], position: int) -> str:
    """The id of the run at a position; that of its world, if each is explored once."""
    return run_id(*place_of(settings, position), settings.get("n_runs", 1))


def derived_files(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, bytes]:
    """All files but chunks of results, their seals and the root: content by path within the store."""
    files = {f"{name}/zarr.json": as_json(array) for name, array in arrays.items()}
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


def put_right(path: Path, files: dict[str, bytes]) -> None:
    """Write those files that are not there, or not as they should be."""
    for name, content in files.items():
        if read(path / name, len(content)) != content:
            put(path / name, content)


def as_json(value: Any) -> bytes:
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
