"""Where results are kept: one Zarr store, written in whole pieces.

The store opens in xarray as a dataset over `world`, `strategy` and `time`. A piece is a block of worlds
under one strategy; it is one chunk of every array. Chunks are written beside their place and
renamed into it, `area` comes last, and a piece counts as done once its areas are there: whatever kills
a run, what is in the store is whole. Every chunk ends in a checksum.

Worlds of all classes take turns along the axis, so more worlds are added behind those that are
there, and so are more strategies. What readers see of shapes is the metadata in the root, which is
replaced last.
"""

from __future__ import annotations

import os
import platform
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.piece import Layout, compute_piece
from berlyne.experiments.settings import Experiment, SettingsError, world_id

FORMAT = 1
BLOCK = 48
"""Worlds in one piece."""
LABELS = 4096
"""Labels in one chunk of a coordinate."""


class StoreError(RuntimeError):
    """A store that cannot be used as asked: says which and why."""


@dataclass(frozen=True)
class Piece:
    """Worlds at some positions of one block, under one strategy: what is still to be computed together."""

    block: int
    strategy: str
    positions: tuple[int, ...]


class Store:
    """The arrays of one experiment on disk."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path, self.experiment = path, experiment
        self.group = _open(path)
        self.names = [str(name) for name in self.group["strategy"][:]]
        self.arrays = {name: array for name, array in self.group.arrays() if "world" in _dims(array) and array.ndim > 1}
        self.area: FloatArray = self.group["area"][:]

    @classmethod
    def create(cls, path: Path, experiment: Experiment) -> Store:
        """Make an empty store, complete or not at all."""
        import zarr

        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            group = zarr.create_group(str(partial), zarr_format=3)
            _make_arrays(group, experiment)
            _write_labels(group, experiment, experiment.strategy_names)
            _publish(group, experiment.describe())
            os.rename(partial, path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return cls(path, experiment)

    @classmethod
    def open(cls, path: Path, experiment: Experiment) -> Store:
        """Open the store at `path`, made or grown as the experiment asks; an error names any other difference."""
        if not path.exists():
            return cls.create(path, experiment)
        kept = read_settings(path)
        _refuse_differences(path, kept, experiment.describe())
        store = cls(path, experiment)
        store._grow(kept)
        return store

    def _grow(self, kept: dict[str, Any]) -> None:
        """Make room for more worlds and strategies; done again if it was interrupted."""
        n_worlds = max(int(kept["n_worlds"]), self.experiment.n_worlds)
        names = [*self.names, *(n for n in self.experiment.strategy_names if n not in self.names)]
        n_positions = n_worlds * len(self.experiment.classes)
        settings = {**self.experiment.describe(), "strategies": names, "n_worlds": n_worlds}
        if settings == kept and all(array.shape[:2] == (n_positions, len(names)) for array in self.arrays.values()):
            return
        for array in self.arrays.values():
            array.resize((n_positions, len(names), *array.shape[2:]))
        _write_labels(self.group, self.experiment, names, n_worlds)
        _publish(self.group, settings)
        self.names, self.area = names, self.group["area"][:]

    def missing(self) -> list[Piece]:
        """What the experiment asks for and the store does not hold, block by block."""
        pieces = []
        n = self.experiment.n_positions
        for first in range(0, n, BLOCK):
            for name in self.experiment.strategy_names:
                column = self.area[first : min(first + BLOCK, n), self.names.index(name)]
                positions = tuple((first + np.flatnonzero(np.isnan(column))).tolist())
                if positions:
                    pieces.append(Piece(first // BLOCK, name, positions))
        return pieces

    def write(self, piece: Piece, computed: dict[str, Any]) -> None:
        """Put a computed piece into place, its areas last."""
        column = self.names.index(piece.strategy)
        first = piece.block * BLOCK
        last = min(first + BLOCK, self.group["area"].shape[0])
        where = np.array(piece.positions) - first
        for name in sorted(computed, key=lambda name: name == "area"):
            array = self.arrays[name]
            lines = computed[name]
            if len(where) < last - first:  # others of this block are there already: the chunk is written with them
                whole = array[first:last, column]
                whole[where] = lines
                lines = whole
            array[first:last, column] = lines
        self.area[first:last, column] = self.group["area"][first:last, column]

    def damaged(self) -> Iterator[tuple[Piece, str]]:
        """Pieces that are done but of which a chunk is gone or fails its checksum, and the array concerned."""
        for column, name in enumerate(self.names):
            for first in range(0, len(self.area), BLOCK):
                done = np.flatnonzero(~np.isnan(self.area[first : first + BLOCK, column]))
                if not len(done):
                    continue
                for key, array in self.arrays.items():
                    if key == "next_state":  # only of strategies that relocate
                        continue
                    zeros = "/0" * (array.ndim - 2)
                    if not _is_sound(self.path / key / f"c/{first // BLOCK}/{column}{zeros}"):
                        yield Piece(first // BLOCK, name, tuple((first + done).tolist())), key
                        break

    def discard(self, piece: Piece) -> None:
        """Forget a piece, so that it is computed again."""
        column, first = self.names.index(piece.strategy), piece.block * BLOCK
        for key, array in self.arrays.items():
            zeros = "/0" * (array.ndim - 2)
            (self.path / key / f"c/{piece.block}/{column}{zeros}").unlink(missing_ok=True)
        self.area[first : first + BLOCK, column] = np.nan


def piece_name(piece: Piece, experiment: Experiment) -> str:
    """How messages name a piece."""
    ends = [world_id(kind.name, i) for kind, i in map(experiment.position, (piece.positions[0], piece.positions[-1]))]
    return f"{piece.strategy} in worlds {ends[0]} to {ends[1]}"


def read_settings(path: Path) -> dict[str, Any]:
    """The settings that a store was made with; an error if it is no store of ours, or a newer one."""
    import zarr

    try:
        attributes: dict[str, Any] = dict(zarr.open_group(str(path), mode="r").attrs)
    except Exception as error:  # zarr raises many kinds for what is not a group
        raise StoreError(f"{path} is not a store of results") from error
    if "berlyne_format" not in attributes:
        raise StoreError(f"{path} is not a store of results made by berlyne")
    if attributes["berlyne_format"] != FORMAT:
        raise StoreError(
            f"{path} has format {attributes['berlyne_format']}; this version of berlyne reads format {FORMAT}, "
            f"use the version that wrote it ({attributes.get('versions', {}).get('berlyne', 'unknown')})"
        )
    settings: dict[str, Any] = attributes["settings"]
    return settings


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


def _refuse_differences(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    """Only more worlds and more strategies may be asked of a store that exists."""
    for key in ("worlds", "seed", "snapshots", "measures"):
        if kept.get(key) != asked[key]:
            was, wanted = _first_difference(kept.get(key), asked[key])
            raise SettingsError(
                f"{path} was made with {key} {was}, and {wanted} is asked for; "
                f"use another place, or the same settings (more worlds or strategies can be added)"
            )


def _first_difference(kept: Any, asked: Any) -> tuple[str, str]:
    if isinstance(kept, dict) and isinstance(asked, dict):
        for key in {**kept, **asked}:
            if kept.get(key) != asked.get(key):
                was, wanted = _first_difference(kept.get(key), asked.get(key))
                return f"{key}: {was}", f"{key}: {wanted}"
    return repr(kept), repr(asked)


def _make_arrays(group: Any, experiment: Experiment) -> None:
    """Every array, empty, with its dimensions, units and meaning."""
    layout = Layout.of(experiment)
    n, m = experiment.n_positions, len(experiment.strategy_names)
    over_time = ("world", "strategy", "time")
    for measure in MEASURES.values():
        _array(group, measure.name, "f4", (n, m, layout.n_times), over_time, np.nan, measure.units, measure.meaning)
    for name, kind, meaning in (
        ("state", layout.state, "state in which the action was taken"),
        ("action", layout.action, "action taken"),
        ("next_state", layout.state, "state it led to, where that is not the state of the next action"),
    ):
        nothing = np.iinfo(kind).max
        _array(group, name, kind, (n, m, layout.n_times), over_time, nothing, "1", f"{meaning}; {nothing} for none")
    if experiment.snapshots and layout.n_transitions:
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        _array(
            group, "counts", layout.count, (n, m, len(experiment.snapshots), layout.n_transitions),
            ("world", "strategy", "snapshot", "transition"), 0, "1", meaning,
        )  # fmt: skip
        _coordinate(group, "snapshot", np.array(experiment.snapshots, dtype=float), "steps, or share of the run")
    for name, values in compute_shapes(experiment).items():
        n_dims = 3 if values.ndim == 2 else 2
        shape = (n, m, layout.n_times)[:n_dims]
        _array(group, name, "f8", shape, over_time[:n_dims], np.nan, "", "a measure of the user's own")
    meaning = "sum of missing information over all times"
    _array(group, "area", "f8", (n, m), ("world", "strategy"), np.nan, "bits", meaning)
    _coordinate(group, "time", np.arange(layout.n_times, dtype=np.int32), "steps")


def compute_shapes(experiment: Experiment) -> dict[str, Any]:
    """The user's own measures of the first exploration, which tell their shapes."""
    if not experiment.measures:
        return {}
    computed = compute_piece(experiment, [0], experiment.strategy_names[0])
    return {name: computed[name] for name in experiment.measures}


def _array(
    group: Any, name: str, kind: Any, shape: tuple[int, ...], dims: tuple[str, ...], fill: Any, units: str, meaning: str
) -> None:
    from zarr.codecs import BloscCodec, Crc32cCodec

    group.create_array(
        name,
        shape=shape,
        chunks=(BLOCK, 1, *shape[2:]),
        dtype=kind,
        fill_value=fill,
        compressors=[BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec()],
        dimension_names=dims,
        attributes={"units": units, "long_name": meaning},
        config={"write_empty_chunks": True},
    )


def _coordinate(group: Any, name: str, values: Any, units: str) -> None:
    array = group.create_array(
        name, shape=values.shape, chunks=values.shape, dtype=values.dtype, dimension_names=(name,)
    )
    array[:] = values
    array.attrs["units"] = units


def _write_labels(group: Any, experiment: Experiment, names: list[str], n_worlds: int | None = None) -> None:
    """Labels of worlds and strategies; a longer list replaces a shorter one."""
    n = (n_worlds or experiment.n_worlds) * len(experiment.classes)
    places = [experiment.position(i) for i in range(n)]
    labels = {
        "world": ("world", [world_id(kind.name, i) for kind, i in places]),
        "world_class": ("world", [kind.name for kind, _ in places]),
        "strategy": ("strategy", names),
    }
    for name, (dim, values) in labels.items():
        if name not in group:
            group.create_array(name, shape=(len(values),), chunks=(LABELS,), dtype=str, dimension_names=(dim,))
        array = group[name]
        array.resize((len(values),))
        array[:] = np.array(values, dtype=object)


def _publish(group: Any, settings: dict[str, Any]) -> None:
    """Show readers the shapes and settings, all at once."""
    import zarr

    group.attrs.update(
        {"berlyne_format": FORMAT, "settings": settings, "versions": versions(), "coordinates": "world_class"}
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Cc]onsolidated metadata.*")
        zarr.consolidate_metadata(group.store)


def _is_sound(chunk: Path) -> bool:
    """Whether a chunk is there and its checksum fits."""
    import google_crc32c

    try:
        content = chunk.read_bytes()
    except FileNotFoundError:
        return False
    return len(content) > 4 and google_crc32c.value(content[:-4]) == int.from_bytes(content[-4:], "little")


def _open(path: Path) -> Any:
    """The group at `path`, for writing."""
    import zarr

    return zarr.open_group(str(path), mode="r+", use_consolidated=False)


def _dims(array: Any) -> tuple[str, ...]:
    return tuple(array.metadata.dimension_names or ())
