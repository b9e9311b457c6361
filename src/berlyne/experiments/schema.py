"""The files of a store that are not results: the study, and what Zarr derives from it.

`world/study.json` contains settings, layout and versions, with a checksum. It alone is read. Metadata and coordinates
of Zarr are derived from it, and written again if they are damaged. So tools that rewrite the metadata of Zarr, or add
arrays, do no harm. The file is inside the folder of an array, because Zarr warns of other files that it finds in a
group.
"""

from __future__ import annotations

import functools
import glob
import json
import platform
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.experiments.layout import PATH, ArraySpec, Layout
from berlyne.experiments.settings import Settings, checksum
from berlyne.experiments.shard import Shard
from berlyne.experiments.spec import Experiment, SettingsError
from berlyne.experiments.work_unit import make_layout
from berlyne.serialization import PARTIAL_SUFFIX, StoreError, atomic_folder, read_file, write_store_file
from berlyne.validation import RESUMING

FORMAT = 4
"""Number of the store format. Stores of other formats cannot be read."""
STUDY_FILE = "world/study.json"
LABELS = 4096
"""Number of labels in one chunk of a coordinate."""


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


@dataclass(frozen=True)
class Study:
    """The description of a store.

    Attributes
    ----------
    settings : Settings
        Settings of the study.
    layout : Layout
        Its arrays.
    versions : dict of str to str
        Versions of the software that wrote the last results.
    earlier_versions : list of dict
        Other versions that wrote results.
    explored : dict of str to int
        Number of positions that each strategy has explored without a gap, so that a missing one is detected.
    shard : Shard or None
        The part of the study in this store; None for the whole study.
    """

    settings: Settings
    layout: Layout
    versions: dict[str, str]
    earlier_versions: list[dict[str, str]] = field(default_factory=list)
    explored: dict[str, int] = field(default_factory=dict)
    shard: Shard | None = None

    def __hash__(self) -> int:
        return hash(json.dumps(self.describe()))

    def describe(self) -> dict[str, Any]:
        """Return the study as plain data."""
        described: dict[str, Any] = {"settings": self.settings.describe(), "versions": self.versions}
        described |= {"earlier_versions": self.earlier_versions} if self.earlier_versions else {}
        described |= {"explored": self.explored} if self.explored else {}
        described |= {"shard": list(self.shard)} if self.shard else {}
        return described

    def with_versions(self, current: dict[str, str]) -> Study:
        """Return the study with present versions; if they differ, the previous ones become earlier ones."""
        earlier = list(self.earlier_versions)
        if self.versions != current and self.versions not in earlier:
            earlier.append(self.versions)
        return replace(self, versions=current, earlier_versions=earlier)


def read_study(path: Path) -> Study:
    """Read the study of a store; raise a `StoreError` if it is not a store, has another format, or is damaged."""
    content = read_file(path / STUDY_FILE)
    if content is None:
        _check_other_format(path, _read_json(path / "zarr.json").get("attributes"))
        raise StoreError(f"{path} is not a store of results: it has no {STUDY_FILE}")
    try:
        stored = json.loads(content.decode())
        _check_other_format(path, stored)
        stated = stored.pop("checksum")
        if stated != checksum(stored):
            raise ValueError("wrong checksum")
        layout, settings = Layout.from_json(stored.pop("layout")), Settings.from_json(stored.pop("settings"))
        del stored["berlyne_format"]
        shard = stored.pop("shard", None)
        return Study(settings, layout, shard=None if shard is None else Shard(*shard), **stored)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreError(
            f"{path} is damaged: the checksum of {STUDY_FILE} is wrong; restore this file from a copy, or use another "
            "directory"
        ) from None


def _check_other_format(path: Path, attributes: Any) -> None:
    """Raise a `StoreError` if a store has another format."""
    if not isinstance(attributes, dict) or attributes.get("berlyne_format", FORMAT) == FORMAT:
        return
    writer = attributes.get("versions")
    version = writer.get("berlyne", "unknown") if isinstance(writer, dict) else "unknown"
    raise StoreError(
        f"{path} has format {attributes['berlyne_format']!r:.40}; this version of berlyne reads format {FORMAT}, use "
        f"the version that wrote it ({version!s:.40})"
    )


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of Zarr; an empty dict if there is none, or if it is damaged."""
    try:
        content = json.loads((read_file(path) or b"").decode())
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_study(path: Path, study: Study) -> None:
    """Replace the study file, so that readers see all new shapes and settings at once."""
    content = {"berlyne_format": FORMAT, **study.describe(), "layout": study.layout.describe()}
    content = json.loads(json.dumps(content))  # tuples become lists, as they are read
    content["checksum"] = checksum(content)
    write_store_file(path / STUDY_FILE, json.dumps(content, indent=1, ensure_ascii=False).encode())


def derived_files(study: Study) -> dict[str, bytes]:
    """Return metadata and coordinates of a store as Zarr writes them: content by path within the store."""
    return dict(_derived_files(study))


@functools.lru_cache(maxsize=4)  # a run needs them six times, and its study changes once
def _derived_files(study: Study) -> dict[str, bytes]:
    """Compute the derived files of a study."""
    import zarr
    from zarr.storage import MemoryStore

    files: dict[str, Any] = {}
    settings, layout = study.settings, study.layout
    attributes = {"berlyne_format": FORMAT, **study.describe()}
    coordinates = "world_class" if settings.n_runs == 1 else "world_class run"
    root = zarr.create_group(MemoryStore(files), attributes={**attributes, "coordinates": coordinates})
    for name, spec in layout.arrays.items():
        _create_results(root, name, spec, study)
    for name, (dim, values, units, meaning) in _coordinates(study).items():
        is_label = values.dtype.kind == "O"
        array = root.create_array(
            name,
            shape=values.shape,
            chunks=(LABELS if is_label else len(values),),
            dtype=str if is_label else values.dtype,
            compressors=None,
            dimension_names=(dim,),
            chunk_key_encoding={"name": "default", "separator": "."},
            attributes={**({"units": units} if units else {}), "long_name": meaning},
        )
        array[:] = values
    return {name: content.to_bytes() for name, content in files.items()}


def _create_results(root: Any, name: str, spec: ArraySpec, study: Study) -> None:
    """Create an array over worlds and strategies. Each of its chunks belongs to one work unit."""
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec

    itemsize = np.dtype(spec.dtype).itemsize
    # LZ4 takes half the time of zstd and a sixth more space
    compression = BloscCodec(
        typesize=itemsize, cname="lz4", clevel=5, shuffle="bitshuffle" if itemsize == 1 else "shuffle"
    )
    units = {"units": spec.units} if spec.units else {}
    masked = {"_FillValue": spec.missing} if name in PATH else {}
    root.create_array(
        name,
        shape=(study.settings.n_positions, len(study.settings.strategies), *spec.shape),
        chunks=(study.layout.block, 1, *spec.shape),
        dtype=spec.dtype,
        fill_value=spec.fill_value,
        serializer=BytesCodec(endian="little"),
        compressors=[compression, Crc32cCodec()],
        dimension_names=("world", "strategy", *spec.dims),
        chunk_key_encoding={"name": "default", "separator": "."},
        attributes={**units, "long_name": spec.meaning, **masked},
    )


def _coordinates(study: Study) -> dict[str, tuple[str, Any, str, str]]:
    """Return dimension, values, units and meaning of every coordinate, by name."""
    settings = study.settings
    positions = [settings.locate(position) for position in range(settings.n_positions)]
    coordinates: dict[str, tuple[str, Any, str, str]] = {
        "time": ("time", np.arange(study.layout.n_times, dtype=np.int32), "steps", "steps made"),
        "world": ("world", _labels(map(settings.label, range(settings.n_positions))), "", "id of the world"),
        "world_class": ("world", _labels(name for name, _, _ in positions), "", "class of the world"),
        "strategy": ("strategy", _labels(settings.strategies), "", "strategy of the explorer"),
    }
    if settings.snapshots:
        times = np.array(settings.snapshots, dtype=np.float64)
        coordinates["snapshot"] = ("snapshot", times, "steps, or share of the run", "when counts were kept")
    if settings.n_runs > 1:
        runs = np.array([run for _, _, run in positions], dtype=np.int32)
        coordinates["run"] = ("world", runs, "", "number of the run in its world")
    return coordinates


def _labels(names: Any) -> Any:
    return np.array([*names], dtype=object)


def write_derived_files(path: Path, study: Study) -> None:
    """Write the metadata and coordinates that are missing or differ, the root last.

    The root contains a copy of the metadata of all arrays, which xarray reads. Attributes of the root and arrays that
    others have added are kept. If the study has grown, their arrays no longer fit, and xarray could not open the store.
    So the copy does not contain these, but they stay on the disk.
    """
    files = derived_files(study)
    root = json.loads(files.pop("zarr.json"))
    for name, content in files.items():
        if read_file(path / name, len(content)) != content:
            write_store_file(path / name, content)
    stored = _read_json(path / "zarr.json")
    attributes = stored.get("attributes")
    ours = root["attributes"]
    root["attributes"] = {**ours, **(attributes if isinstance(attributes, dict) else {}), **ours}  # ours come first
    nodes = {str(file.parent.relative_to(path)): _read_json(file) for file in sorted(path.rglob("*/zarr.json"))}
    sizes = dict(pair for name in study.layout.arrays for pair in _sizes(nodes[name]))
    metadata = {name: node for name, node in nodes.items() if all(sizes.get(dim, n) == n for dim, n in _sizes(node))}
    root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": metadata}
    if stored != root:
        write_store_file(path / "zarr.json", json.dumps(root, indent=2, ensure_ascii=False).encode())


def _sizes(node: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the names and sizes of the axes of an array, from its metadata; nothing for a group."""
    return list(zip(node.get("dimension_names") or (), node.get("shape") or (), strict=False))


def check_same_measures(path: Path, study: Study, experiment: Experiment) -> None:
    """Raise a `SettingsError` unless a store has the standard measures of an experiment."""
    others = {*PATH, "counts", "area", *study.settings.measures}
    stored = [name for name in study.layout.arrays if name not in others]
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


def check_same_shard(path: Path, stored: Shard | None, requested: Shard | None) -> None:
    """Raise a `SettingsError` unless a store was made for this shard, or for the whole study."""
    if stored != requested:
        old, new = (f"shard {shard}" if shard else "the whole study" for shard in (stored, requested))
        raise SettingsError(f"{path} was made for {old}, but you asked for {new}; use another directory{RESUMING}")


def check_store_path(path: Path) -> None:
    """Raise a `StoreError` if `path` cannot be the directory of a store."""
    if not path.name:
        raise StoreError(f"{path} cannot be a store; give the name of a new directory, such as results.zarr")
    if not path.parent.is_dir():
        raise StoreError(
            f"directory {path.parent} does not exist, so {path.name} cannot be created in it; create it first"
        )


def remove_partial_stores(path: Path) -> None:
    """Remove what runs and merges have left that were killed while they created the store at `path`."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.[0-9]*{PARTIAL_SUFFIX}"):
        shutil.rmtree(leftover, ignore_errors=True)


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
    with atomic_folder(path, sync=True) as partial:
        layout = make_layout(experiment, block, work_unit_bytes)
        study = Study(experiment.settings, layout, versions(), shard=shard)
        write_derived_files(partial, study)
        write_study(partial, study)
