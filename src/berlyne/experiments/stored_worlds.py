"""Files of the user's own worlds, stored beside their labels as `world/<class>.<index>.npz`. They contain no code.

Worlds of berlyne's own classes are not stored, because their seeds determine them. A file contains the id of its
world, the checksum of its study, and the fingerprint of its transitions, prior, start and terminal states, so that it
cannot be mistaken for another.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NoReturn

from berlyne.experiments.settings import Settings
from berlyne.experiments.worlds import fingerprint, world_id
from berlyne.priors.registry import can_be_saved
from berlyne.serialization import StoreError, pack_archive, read_archive, read_file, write_store_file
from berlyne.sparse import Rows
from berlyne.worlds import World
from berlyne.worlds.io import FORMAT, deserialize_world, serialize_world

FOLDER = "world"
"""The folder of the labels, because Zarr warns of files in a group that are not its own."""
MAX_TRANSITIONS = 1 << 22
"""Worlds with more transitions than this are not stored: a file would be larger than most results."""


class UnavailablePrior:
    """Placeholder for a prior of the user's own, which is code and is not stored. It raises an error when it is used.

    Parameters
    ----------
    world : str
        Id of the world.
    description : str
        The repr of the prior.
    """

    def __init__(self, world: str, description: str) -> None:
        self.world, self.description = world, description

    def __repr__(self) -> str:
        return f"UnavailablePrior({self.description})"

    def check_rows(self, rows: Rows) -> None:
        """Accept all rows: the prior itself has checked them when the world was made."""

    def estimate(self, counts: Any) -> NoReturn:
        """Raise a ValueError."""
        raise ValueError(
            f"the prior of world {self.world} is user-defined ({self.description}) and not stored; "
            "use open_results(path, experiment), or set it with world.with_prior(prior)"
        )


def write_world(path: Path, settings: Settings, name: str, index: int, world: World) -> None:
    """Write a world to the store at `path`, unless it is there, is too large, or has labels that cannot be stored."""
    is_too_large = len(world.rows.data) > MAX_TRANSITIONS
    content = None if is_too_large else _encode_world(settings, world_id(name, index), world)
    file = _world_path(path, settings, name, index)
    if content is not None and read_file(file, len(content)) != content:
        write_store_file(file, content)


def read_world(path: Path, settings: Settings, name: str, index: int) -> World | None:
    """Read a world from the store at `path`; None if it is not stored, a `StoreError` if its file is damaged."""
    file, label = _world_path(path, settings, name, index), world_id(name, index)
    content = read_file(file)
    if content is None:
        return None
    try:
        header, arrays = read_archive(io.BytesIO(content), "world", (FORMAT,))
        world = deserialize_world(header, arrays)
        expected = dict(enumerate(settings.worlds[name].get("worlds", [])))
        fingerprints = {header["fingerprint"], expected.get(index, header["fingerprint"])}
        fingerprints |= set() if "own prior" in header else {fingerprint(world)}
        if len(fingerprints) > 1 or header["of"] != _identity(settings, label):
            raise ValueError("not the expected world")
    except Exception as error:  # a damaged file may raise any error
        raise StoreError(
            f"{file} is damaged or belongs to another world; run the study again to write it again"
        ) from error
    return world.with_prior(UnavailablePrior(label, str(header["own prior"]))) if "own prior" in header else world


def _world_path(path: Path, settings: Settings, name: str, index: int) -> Path:
    return path / FOLDER / f"{list(settings.worlds).index(name)}.{index}.npz"


def _identity(settings: Settings, label: str) -> dict[str, str]:
    return {"study": settings.study, "world": label}


def _encode_world(settings: Settings, label: str, world: World) -> bytes | None:
    has_custom_prior = not can_be_saved(world.prior)
    try:
        header, arrays = serialize_world(world.with_prior(None) if has_custom_prior else world)
    except ValueError:  # labels that cannot be stored
        return None
    header |= {"of": _identity(settings, label), "fingerprint": fingerprint(world)}
    header |= {"own prior": f"{world.prior!r:.60}"} if has_custom_prior else {}
    file = io.BytesIO()
    pack_archive(file, header, arrays)
    return file.getvalue()
