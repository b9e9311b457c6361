"""Files of berlyne's own: plain settings and arrays, packed into one `.npz` without code in it.

A file is written whole or not at all. What is read is looked at by whoever asked for it.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import IO, Any

import numpy as np

from berlyne.labels import Labels, from_plain, plain_value
from berlyne.priors import KINDS
from berlyne.priors.prior import Description, Prior
from berlyne.serialization import atomic_write

LARGEST = 1 << 30
"""Most bytes that a file may unpack to."""


def write_packed(path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write settings that JSON can hold, and arrays."""
    atomic_write(path, lambda file: pack(file, settings, arrays))


def pack(file: IO[bytes], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """The same into a file that is open; what is written depends on nothing else."""
    np.savez_compressed(file, settings=np.array(json.dumps(settings, default=np.generic.item)), **arrays)


def unpacked(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and arrays of a packed file."""
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST:
        raise ValueError(f"it unpacks to {size} bytes; that is more than {LARGEST}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings: dict[str, Any] = json.loads(str(arrays.pop("settings")))
    return settings, arrays


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
