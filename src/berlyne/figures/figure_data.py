"""A figure together with the numbers it draws."""

from __future__ import annotations

import csv
import io
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

from berlyne.figures.dark_mode import dark
from berlyne.figures.style import DPI, RC
from berlyne.serialization import atomic_write

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

    def save(self, folder: Path, name: str, *, locked: bool = False) -> None:
        """Write `name`.png, its dark copy `name`-dark.png, `name`.svg and `name`.csv, each whole or not at all.

        Parameters
        ----------
        folder : Path
            The folder, which is made if it does not exist.
        name : str
            The name of the files, without suffix.
        locked : bool
            As in `atomic_write`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        light_png, dark_png, light_svg, table = (folder / file.format(name=name) for file in FILES)
        with mpl.rc_context(RC), _laid_out(self.figure):
            pixels = _painted(self.figure)
            svg: Any = FigureCanvasSVG(self.figure)
            atomic_write(light_svg, lambda file: svg.print_svg(file, metadata={"Date": None}), locked=locked)
        for path, shown in ((light_png, pixels), (dark_png, dark(pixels))):
            atomic_write(path, _png(shown), locked=locked)
        lines = io.StringIO(newline="")
        csv.writer(lines).writerows([self.header, *self.lines])
        atomic_write(table, lines.getvalue().encode(), locked=locked)


def _painted(figure: Figure) -> NDArray[np.uint8]:
    """The figure on white paper, (height, width, 3)."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def _png(pixels: NDArray[np.uint8]) -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "png", dpi=(DPI, DPI), compress_level=3)
    return content.getvalue()


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
