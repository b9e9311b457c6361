"""Worlds of a user's own, kept beside the results: a file each, `worlds/<class>.<index>.npz`, with no code in it.

Worlds of berlyne's own classes are not kept: their seeds tell them. A file says which world of which study it is, and
how its transitions, prior, start and ends are told from others, so that it cannot be taken for another.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NoReturn

from berlyne.experiments.manifests import study_checksum
from berlyne.experiments.worlds import fingerprint, world_id
from berlyne.priors import PRIORS
from berlyne.serialization import StoreError, pack_archive, read_archive, read_file, write_store_file
from berlyne.sparse import Rows
from berlyne.worlds import World
from berlyne.worlds.io import FORMAT, deserialize_world, serialize_world

FOLDER = "worlds"
MAX_TRANSITIONS = 1 << 22
"""Worlds with more transitions than this are not kept: a file would be larger than most results."""


class UnavailablePrior:
    """Stands for a prior of a user's own, which is code, and says so when it is asked for anything."""

    def __init__(self, world: str, looks: str) -> None:
        self.world, self.looks = world, looks

    def __repr__(self) -> str:
        return f"UnavailablePrior({self.looks})"

    def check_rows(self, rows: Rows) -> None:
        """Nothing to refuse: the prior itself was asked when the world was made."""

    def estimate(self, counts: Any) -> NoReturn:
        """Refused in one sentence."""
        raise ValueError(
            f"the prior of world {self.world} is your own, {self.looks}, which results do not keep; "
            "open_results(path, experiment) knows it, or give it by world.with_prior(prior)"
        )


def write_world(path: Path, settings: dict[str, Any], name: str, index: int, world: World) -> None:
    """Put a world beside the results at `path`, unless it is there, or is too large or has labels of a strange kind."""
    content = None if len(world.rows.data) > MAX_TRANSITIONS else _content(settings, world_id(name, index), world)
    place = _place(path, settings, name, index)
    if content is not None and read_file(place, len(content)) != content:
        write_store_file(place, content)


def read_world(path: Path, settings: dict[str, Any], name: str, index: int) -> World | None:
    """A world that is kept beside the results at `path`; None if it is not, a `StoreError` if it is damaged."""
    place, label = _place(path, settings, name, index), world_id(name, index)
    content = read_file(place)
    if content is None:
        return None
    try:
        said, arrays = read_archive(io.BytesIO(content), "world", (FORMAT,))
        world = deserialize_world(said, arrays)
        told = dict(enumerate(settings["worlds"][name].get("worlds", [])))
        prints = {said["fingerprint"], told.get(index, said["fingerprint"])}
        prints |= set() if "own prior" in said else {fingerprint(world)}
        if len(prints) > 1 or said["of"] != _identity(settings, label):
            raise ValueError("it is another")
    except Exception as error:  # there is no end to what a damaged file can lead to
        raise StoreError(f"{place} is damaged, or another world; run the study again to put it right") from error
    return world.with_prior(UnavailablePrior(label, str(said["own prior"]))) if "own prior" in said else world


def _place(path: Path, settings: dict[str, Any], name: str, index: int) -> Path:
    return path / FOLDER / f"{list(settings['worlds']).index(name)}.{index}.npz"


def _identity(settings: dict[str, Any], label: str) -> dict[str, str]:
    return {"study": study_checksum(settings), "world": label}


def _content(settings: dict[str, Any], label: str, world: World) -> bytes | None:
    own_prior = type(world.prior) not in PRIORS.values()
    try:
        said, arrays = serialize_world(world.with_prior(None) if own_prior else world)
    except ValueError:  # labels that no file can hold
        return None
    said |= {"of": _identity(settings, label), "fingerprint": fingerprint(world)}
    said |= {"own prior": f"{world.prior!r:.60}"} if own_prior else {}
    file = io.BytesIO()
    pack_archive(file, said, arrays)
    return file.getvalue()
