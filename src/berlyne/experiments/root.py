"""The root of a store: settings, versions, the metadata of all arrays, and a checksum over them.

It is one file, `zarr.json`, and is replaced as a whole, so readers see one state or the next. Nothing of it
is believed as it stands: the arrays must be those that the settings ask for, and they are worked out anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from berlyne.experiments.files import StoreError, put, read
from berlyne.experiments.measures import MEASURES, is_dim, is_measure
from berlyne.experiments.metadata import array_metadata, as_json, n_positions
from berlyne.experiments.piece import COUNTS_LIMIT, MOST, MOST_VALUES, Layout
from berlyne.experiments.settings import MOST_WORLDS, SettingsError
from berlyne.experiments.world_classes import MOST_STEPS
from berlyne.pages import RESUMING

FORMAT = 3
UNSEALED = 2
"""The format before: no checksum of the root, and no seals, so that chunks can change places unnoticed."""
MOST_IN_A_BLOCK = 1 << 20

Root = dict[str, Any]
"""The `attributes` of a store without their checksum, and the metadata of its `arrays`."""


def read_root(path: Path) -> Root:
    """The root of a store; an error if it is no store of ours, a newer one, or a damaged one."""
    content = read(path / "zarr.json")
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


def publish(path: Path, attributes: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Show readers the shapes and settings, all at once."""
    put(path / "zarr.json", root_content(attributes, arrays))


def root_content(attributes: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """The file that says all this."""
    everything = {"kind": "inline", "must_understand": False, "metadata": arrays}
    root = {"zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": everything}
    if attributes["berlyne_format"] == FORMAT:
        root["attributes"] = {**attributes, "checksum": checksum(root)}
    return as_json(root)


def checksum(value: Any) -> str:
    """Of plain data: of its text, in which the order of keys counts."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def layout_of(settings: dict[str, Any], arrays: dict[str, Any]) -> Layout:
    """The layout that the arrays of a store have."""
    counts = arrays.get("counts")
    return Layout(
        max(said["n_steps"] for said in settings["worlds"].values()) + 1,
        _one_of(MOST, arrays["state"]["data_type"]),
        _one_of(MOST, arrays["action"]["data_type"]),
        _one_of(MOST, counts["data_type"]) if counts else "uint8",
        _int(counts["shape"][-1], 1, COUNTS_LIMIT) if counts else 0,
        tuple(name for name in MEASURES if name in arrays),
        {name: _sizes(arrays[name]["shape"], said) for name, said in settings.get("described measures", {}).items()},
    )


def _sizes(shape: list[int], said: dict[str, Any]) -> tuple[int, ...]:
    """The axes of a measure that says its dims."""
    sizes = tuple(_int(n, 1, MOST_VALUES) for n in shape[2:])
    if len(sizes) != len(said["dims"]) or math.prod(sizes) > MOST_VALUES:
        raise ValueError(shape)
    return sizes


def block_of(arrays: dict[str, Any]) -> int:
    """Worlds in one piece."""
    return _int(arrays["area"]["chunk_grid"]["configuration"]["chunk_shape"][0], 1, MOST_IN_A_BLOCK)


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
        _int(part, 1, _int(of, 1, MOST_WORLDS))
    described = settings.get("described measures", {})
    own = {name: _int(len(said[name]["shape"]), 2, 3) for name in settings["measures"] if name not in described}
    layout = layout_of(settings, said)
    arrays = array_metadata(settings, layout, block_of(said), own, list(layout.kept))
    if arrays != said:
        raise ValueError("other arrays than the settings ask for")
    return arrays


def _check_settings(settings: dict[str, Any]) -> None:
    """A ValueError, or one of its kin, if settings cannot be those of a store."""
    _int(settings["n_worlds"], 1, MOST_WORLDS)
    _int(settings["seed"], 0, 2**63 - 1)
    _check_texts(dict.fromkeys(settings["strategies"], ""))
    _check_texts(settings.get("own strategies", {}))
    _check_texts(dict.fromkeys(settings["worlds"], ""))
    for said in settings["worlds"].values():
        _int(said["n_steps"], 1, MOST_STEPS)
        _check_texts(dict.fromkeys(said.get("worlds", ()), ""))
    distinct = len(set(settings["strategies"])) == len(settings["strategies"]) > 0 < len(settings["worlds"])
    lists = all(isinstance(settings[key], list) for key in ("strategies", "snapshots", "measures"))
    times = all(type(t) in (int, float) and 0 <= t <= MOST_STEPS for t in settings["snapshots"])
    if not (distinct and lists and times and all(map(is_measure, settings["measures"]))):
        raise ValueError("settings that no experiment has")
    _int(settings["n_worlds"] * _int(settings.get("n_runs", 1), 1, MOST_WORLDS), 1, MOST_WORLDS)
    if settings.get("common_random_numbers", True) is not True:
        raise ValueError("settings that no experiment has")
    for name, said in settings.get("described measures", {}).items():
        _one_of(settings["measures"], name)
        _check_texts({said["units"]: said["meaning"]})
        if not isinstance(said["dims"], list) or not all(map(is_dim, said["dims"])):
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


def refuse_differences(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
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
