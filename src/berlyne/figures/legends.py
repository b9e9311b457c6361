"""One legend below all panels of a figure, with as many columns as its width has room for."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.legend import Legend

from berlyne.figures.style import disable_math

MOST_COLUMNS = 7
FITS = 0.98
"""How much of the width a legend may take: letters are a little wider at some resolutions."""
SHORTEST = 20
"""Characters of a line of a name, at least."""
USUAL = 0.6
"""The height in inches that figures leave for a legend; if it is higher they grow."""


def legend_below(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> Legend:
    """Put a legend below the panels of a figure, which grows if the legend is high; names are shown as they are.

    A name that is too long for a column of its own has several lines.
    """
    wide, columns = FITS * figure.bbox.width, min(max(len(names), 1), MOST_COLUMNS)
    longest = max(map(len, names), default=0)
    found = _legend(figure, handles, names, columns)
    while (width := found.get_window_extent().width) > wide and (columns > 1 or longest > SHORTEST):
        found.remove()
        if columns > 1:
            columns -= 1
        else:
            longest = max(SHORTEST, int(0.95 * longest * wide / width))
        lines = [name if len(name) <= longest else "\n".join(wrap(name, longest)) for name in names]
        found = _legend(figure, handles, lines, columns)
    high = found.get_window_extent().height / figure.dpi
    figure.set_figheight(figure.get_figheight() + max(0.0, high - USUAL))
    return found


def _legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], columns: int) -> Legend:
    found = figure.legend(handles, names, loc="outside lower center", ncols=columns, handlelength=3.4)
    disable_math(*found.get_texts())
    return found
