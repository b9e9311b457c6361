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

from berlyne.figures.style import DPI, RC
from berlyne.serialization import atomic_write

FILES = ("{name}.png", "{name}.svg", "{name}.csv")
"""Names of the files of a drawing."""


@dataclass
class Drawing:
    """A figure, and its numbers as a table.

    Parameters
    ----------
    figure : Figure
        The figure.
    header : tuple of str
        Column names of the table.
    lines : list of tuple
        Lines of the table, with one value for each column.
    """

    figure: Figure
    header: tuple[str, ...]
    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, lines: Iterable[tuple[Any, ...]]) -> None:
        """Add lines to the table."""
        self.lines.extend(lines)

    def save(self, folder: Path, name: str, *, locked: bool = False) -> None:
        """Write `name`.png, `name`.svg and `name`.csv, each atomically.

        Parameters
        ----------
        folder : Path
            The directory, which is created if it does not exist.
        name : str
            Name of the files, without suffix.
        locked : bool
            See `atomic_write`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        png, svg_path, table = (folder / file.format(name=name) for file in FILES)
        with mpl.rc_context(RC), _fixed_layout(self.figure):
            pixels = _rendered_pixels(self.figure)
            svg: Any = FigureCanvasSVG(self.figure)
            atomic_write(svg_path, lambda file: svg.print_svg(file, metadata={"Date": None}), locked=locked)
        atomic_write(png, _png(pixels), locked=locked)
        text = io.StringIO(newline="")
        csv.writer(text).writerows([self.header, *self.lines])
        atomic_write(table, text.getvalue().encode(), locked=locked)


def _rendered_pixels(figure: Figure) -> NDArray[np.uint8]:
    """Return the pixels of the figure on a white background, (height, width, 3)."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def _png(pixels: NDArray[np.uint8]) -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "png", dpi=(DPI, DPI), compress_level=3)
    return content.getvalue()


@contextmanager
def _fixed_layout(figure: Figure) -> Iterator[None]:
    """Compute the layout once for all files, and restore the figure afterwards."""
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
