"""World and explorer files: settings and arrays in one `.npz`, without code in it.

The settings list every array of the file with its type and shape. A SHA-256 checksum covers the settings and all
arrays: the zip format has a checksum for each member, but none for the names and the number of members. A file is
written whole or not at all. Whoever asked for a file checks what its content means.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Collection
from typing import IO, Any

import numpy as np

from berlyne.labels import Labels, from_plain, plain_value
from berlyne.priors import KINDS
from berlyne.priors.prior import Description, Prior
from berlyne.serialization import atomic_write

LARGEST = 1 << 30
"""Most bytes that a file may unpack to."""


class OtherFormatError(ValueError):
    """A sound file of a format that is not read."""

    def __init__(self, version: object) -> None:
        super().__init__(f"it has format {version}")
        self.version = version


def write_packed(path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write settings that JSON can hold, and arrays."""
    atomic_write(path, lambda file: pack(file, settings, arrays))


def pack(file: IO[bytes], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write them into an open file; equal content gives equal bytes."""
    arrays = {name: np.asarray(values) for name, values in arrays.items()}
    text = json.dumps({**settings, "members": _members(arrays)}, default=np.generic.item)
    members = {"settings": np.array(text), **arrays}
    np.savez_compressed(file, **members, checksum=np.array(_checksum(members)))


def unpacked(
    file: IO[bytes], kind: str, formats: Collection[int], unsealed: Collection[int] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the settings and arrays of a packed file, and verify them.

    Parameters
    ----------
    file : binary file
        The open file.
    kind : str
        What it must hold: "world" or "explorer".
    formats : collection of int
        Formats that are read.
    unsealed : collection of int
        Formats that are read and are older than checksums.

    Raises
    ------
    OtherFormatError
        If it has another format.
    Exception
        Of any type, if the file is damaged or holds something else.
    """
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST:
        raise ValueError(f"it unpacks to {size} bytes; that is more than {LARGEST}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings: dict[str, Any] = json.loads(str(arrays["settings"]))
    version, holds = settings["format"], settings.get("kind", "explorer")  # the first explorer files do not say it
    if holds != kind:
        raise ValueError(f"it holds a {holds}; it must hold a {kind}")
    if version not in (*formats, *unsealed):
        raise OtherFormatError(version)
    if version not in unsealed:
        _verify(settings.pop("members"), arrays, str(arrays.pop("checksum")))
    del arrays["settings"]
    return settings, arrays


def _verify(members: dict[str, Any], arrays: dict[str, Any], checksum: str) -> None:
    """Refuse a file that lacks an array, has one more, or of which anything changed."""
    there = _members({name: values for name, values in arrays.items() if name != "settings"})
    for name in sorted(members.keys() | there.keys()):
        if members.get(name) != there.get(name):
            raise ValueError(f"the array {name} is {there.get(name)}; it must be {members.get(name)}")
    if checksum != _checksum(arrays):
        raise ValueError(f"the checksum is {_checksum(arrays)}; it must be {checksum}")


def _members(arrays: dict[str, Any]) -> dict[str, Any]:
    """Type and shape of each array, as JSON gives them back."""
    return {name: [values.dtype.str, list(values.shape)] for name, values in arrays.items()}


def _checksum(members: dict[str, Any]) -> str:
    """SHA-256 of the name, type, shape and content of all members, in the order of their names."""
    digest = hashlib.sha256()
    for name, values in sorted(members.items()):
        digest.update(json.dumps([name, values.dtype.str, values.shape]).encode() + b"\n")
        digest.update(values.tobytes())
    return digest.hexdigest()


def saved_labels(labels: Labels) -> list[Any] | None:
    """Labels as JSON holds them, None for numbers."""
    return None if labels.given is None else [plain_value(label) for label in labels.given]


def read_labels(stored: list[Any] | None) -> list[Any] | None:
    """The inverse, for the constructor of `Labels`."""
    return None if stored is None else [from_plain(value) for value in stored]


def prior_from(said: dict[str, Any], arrays: dict[str, Any]) -> Prior:
    """The prior that described itself so: its kind, sizes and parameters, and arrays that begin with `support_`."""
    parameters = {name: value for name, value in said.items() if name not in ("kind", "n_states", "n_actions")}
    own = {name: values for name, values in arrays.items() if name.startswith("support_")}
    description = Description(said["kind"], parameters, own)
    found: Prior = KINDS[said["kind"]].described(said["n_states"], said["n_actions"], description)
    return found
