"""Rewrite world and explorer files with other contents and a valid checksum, to test later validation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.serialization import write_archive


def rewrite_archive(
    path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object], to: Path | None = None
) -> None:
    """Write a file again after `change` has changed its settings and arrays, in place or as another file."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings = json.loads(str(arrays.pop("settings")))
    del settings["members"], arrays["checksum"]
    change(settings, arrays)
    write_archive(to or path, settings, arrays)
