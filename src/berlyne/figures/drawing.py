"""A figure together with the numbers it draws."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from berlyne.figures.style import DPI, RC
from berlyne.figures.theme import dark

FILES = ("{name}.png", "{name}-dark.png", "{name}.svg", "{name}.csv")
"""What a drawing is saved as."""


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
        """Write `name`.png, its dark copy `name`-dark.png, `name`.svg and `name`.csv, each whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        light_png, dark_png, light_svg, table = (folder / file.format(name=name) for file in FILES)
        with mpl.rc_context(RC), _laid_out(self.figure):
            pixels = _painted(self.figure)
            with _whole(light_svg) as partial:
                svg: Any = FigureCanvasSVG(self.figure)
                svg.print_svg(partial, metadata={"Date": None})
        for path, shown in ((light_png, pixels), (dark_png, dark(pixels))):
            with _whole(path) as partial:
                Image.fromarray(shown).save(partial, "png", dpi=(DPI, DPI), compress_level=3)
        with _whole(table) as partial, partial.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.header)
            writer.writerows(self.lines)


def _painted(figure: Figure) -> NDArray[np.uint8]:
    """The figure on white paper, (height, width, 3)."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when all is written."""
    partial = path.with_name(f".{path.name}.partial")
    yield partial
    os.replace(partial, path)


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay the figure out once, and not again for every file; afterwards it is as it was."""
    engine, canvas, dpi = figure.get_layout_engine(), figure.canvas, figure.dpi
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_canvas(canvas)
        figure.set_dpi(dpi)
