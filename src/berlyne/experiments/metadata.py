"""What a store says about itself: arrays, labels, settings and versions, as Zarr and xarray read them.

The root's `zarr.json` holds the metadata of all arrays and is replaced as a whole, so readers see one
state or the next. All the rest here (the arrays' own `zarr.json`, labels) can be worked out from
it, and is put right again whenever a run begins.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.chunks import compression, encode_labels, put, read
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.piece import MOST, Layout, Piece, compute_piece
from berlyne.experiments.settings import Experiment, SettingsError, world_id

FORMAT = 2
LABELS = 4096
"""Labels in one chunk of a coordinate."""
NAN = "NaN"


class StoreError(RuntimeError):
    """A store that cannot be used as asked: says which and why."""


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


def read_root(path: Path) -> dict[str, Any]:
    """The root of a store; an error if it is no store of ours, or a newer one."""
    try:
        root: dict[str, Any] = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        attributes = root["attributes"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        raise StoreError(f"{path} is not a store of results") from None
    if not isinstance(attributes, dict) or "berlyne_format" not in attributes:
        raise StoreError(f"{path} is not a store of results made by berlyne")
    if attributes["berlyne_format"] != FORMAT:
        raise StoreError(
            f"{path} has format {attributes['berlyne_format']}; this version of berlyne reads format {FORMAT}, "
            f"use the version that wrote it ({attributes.get('versions', {}).get('berlyne', 'unknown')})"
        )
    return root


def read_settings(path: Path) -> dict[str, Any]:
    """The settings that a store was made with."""
    settings: dict[str, Any] = read_root(path)["attributes"]["settings"]
    return settings


def refuse_differences(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    """Only more worlds and more strategies may be asked of a store that exists."""
    kept, asked = _comparable(kept, asked), _comparable(asked, kept)
    for key in ("worlds", "seed", "snapshots", "measures", "own strategies"):
        if _text(kept[key]) != _text(asked[key]):
            was, wanted = _first_difference(kept[key], asked[key])
            raise SettingsError(
                f"{path} was made with {key}{was}, and {key}{wanted} is asked for; "
                f"use another place, or the same settings (more worlds or strategies can be added)"
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


def _first_difference(kept: Any, asked: Any) -> tuple[str, str]:
    """Where two settings differ first: how each goes on from there, such as ".maze.n_steps = 20"."""
    if isinstance(kept, dict) and isinstance(asked, dict):
        for key in {**kept, **asked}:
            if key not in kept or key not in asked:
                return tuple(f".{key} = {_text(x[key])}" if key in x else f" without {key}" for x in (kept, asked))  # type: ignore[return-value]
            if _text(kept[key]) != _text(asked[key]):
                was, wanted = _first_difference(kept[key], asked[key])
                return f".{key}{was}", f".{key}{wanted}"
    return f" = {_text(kept)}", f" = {_text(asked)}"


def array_metadata(experiment: Experiment, layout: Layout, block: int) -> dict[str, dict[str, Any]]:
    """Every array of a study, by name, with its dimensions, units and meaning."""
    n, m = experiment.n_positions, len(experiment.strategy_names)
    over_time, full = ("world", "strategy", "time"), (n, m, layout.n_times)
    arrays = {}
    for measure in MEASURES.values():
        arrays[measure.name] = _array(block, np.float32, full, over_time, NAN, measure.units, measure.meaning)
    for name, kind, meaning in (
        ("state", layout.state, "state in which the action was taken"),
        ("action", layout.action, "action taken"),
        ("next_state", layout.state, "state it led to, where that is not the state of the next action"),
    ):
        nothing = MOST[kind]
        arrays[name] = _array(block, kind, full, over_time, nothing, "1", f"{meaning}; {nothing} for none")
    if layout.n_transitions:
        shape = (n, m, len(experiment.snapshots), layout.n_transitions)
        dims = ("world", "strategy", "snapshot", "transition")
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        arrays["counts"] = _array(block, layout.count, shape, dims, 0, "1", meaning)
    for name, n_dims in _own_measures(experiment, layout).items():
        arrays[name] = _array(block, np.float64, full[:n_dims], over_time[:n_dims], NAN, "", "a measure of one's own")
    meaning = "sum of missing information over all times"
    arrays["area"] = _array(block, np.float64, full[:2], over_time[:2], NAN, "bits", meaning)
    for name, values, units, meaning in _coordinates(experiment, layout.n_times):
        arrays[name] = _coordinate(name, values.dtype, values.shape, units, meaning)
    for name, dim, n_labels, meaning in (
        ("world", "world", n, "id of the world"),
        ("world_class", "world", n, "class of the world"),
        ("strategy", "strategy", m, "strategy of the explorer"),
    ):
        arrays[name] = _labels(dim, n_labels, meaning)
    return arrays


def layout_of(arrays: dict[str, Any]) -> Layout:
    """The layout that the arrays of a store have."""
    counts = arrays.get("counts")
    return Layout(
        arrays["time"]["shape"][0],
        arrays["state"]["data_type"],
        arrays["action"]["data_type"],
        counts["data_type"] if counts else "uint8",
        counts["shape"][-1] if counts else 0,
    )


def _own_measures(experiment: Experiment, layout: Layout) -> dict[str, int]:
    """Dimensions of the user's own measures, as told by the first exploration."""
    if not experiment.measures:
        return {}
    computed = compute_piece(experiment, Piece(0, 1, experiment.strategy_names[0], (0,)), layout)
    return {name: computed[name].ndim + 1 for name in experiment.measures}


def _coordinates(experiment: Experiment, n_times: int) -> list[tuple[str, Any, str, str]]:
    time = ("time", np.arange(n_times, dtype=np.int32), "steps", "steps made")
    if not experiment.snapshots:
        return [time]
    snapshots = np.array(experiment.snapshots, dtype=np.float64)
    return [time, ("snapshot", snapshots, "steps, or share of the run", "when counts were kept")]


def derived_files(experiment: Experiment, names: list[str], n_worlds: int, arrays: dict[str, Any]) -> dict[str, bytes]:
    """All files but chunks of results and the root: content by path within the store."""
    files = {f"{name}/zarr.json": _json(array) for name, array in arrays.items()}
    for name, values, _, _ in _coordinates(experiment, arrays["time"]["shape"][0]):
        files[f"{name}/c.0"] = values.astype(values.dtype.newbyteorder("<")).tobytes()
    worlds = [experiment.position(i) for i in range(n_worlds * len(experiment.classes))]
    labels = {
        "world": [world_id(kind.name, i) for kind, i in worlds],
        "world_class": [kind.name for kind, _ in worlds],
        "strategy": names,
    }
    for name, values in labels.items():
        for i in range(0, len(values), LABELS):
            files[f"{name}/c.{i // LABELS}"] = encode_labels(values[i : i + LABELS], LABELS)
    return files


def put_right(path: Path, files: dict[str, bytes]) -> None:
    """Write those files that are not there, or not as they should be."""
    for name, content in files.items():
        if read(path / name) != content:
            put(path / name, content)


def publish(path: Path, attributes: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Show readers the shapes and settings, all at once."""
    everything = {"kind": "inline", "must_understand": False, "metadata": arrays}
    root = {"zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": everything}
    put(path / "zarr.json", _json(root))


def _json(value: Any) -> bytes:
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


def _coordinate(name: str, kind: Any, shape: tuple[int, ...], units: str, meaning: str) -> dict[str, Any]:
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    return _metadata(kind.name, shape, shape, (name,), 0, codecs, units, meaning)


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
