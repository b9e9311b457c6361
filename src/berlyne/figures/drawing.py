"""A figure together with the numbers it draws."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from berlyne.figures.style import RC


@dataclass
class Drawing:
    """A drawn figure, and its numbers as the lines of a table."""

    figure: Figure
    header: tuple[str, ...]
    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, lines: Iterable[tuple[Any, ...]]) -> None:
        """Note numbers that were drawn."""
        self.lines.extend(lines)

    def save(self, folder: Path, name: str) -> None:
        """Write `name`.png, `name`.svg and `name`.csv, each whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(RC):
            for kind, options in (("png", {"dpi": 200}), ("svg", {"metadata": {"Date": None}})):
                partial = folder / f".{name}.{kind}.partial"
                self.figure.savefig(partial, format=kind, **options)
                os.replace(partial, folder / f"{name}.{kind}")
        partial = folder / f".{name}.csv.partial"
        with partial.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.header)
            writer.writerows([_plain(value) for value in line] for line in self.lines)
        os.replace(partial, folder / f"{name}.csv")


def _plain(value: Any) -> Any:
    """Floats in full precision but no longer than needed."""
    return repr(float(value)) if hasattr(value, "dtype") and value.dtype.kind == "f" else value
