"""One legend below all panels of a figure, with as many columns as fit."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.legend import Legend

from berlyne.figures.style import disable_math

MAX_COLUMNS = 7
MAX_WIDTH_SHARE = 0.98
"""Largest share of the figure's width that a legend may take; letters are a little wider at some resolutions."""
MIN_LINE_LENGTH = 20
"""Names are not broken into lines shorter than this, in characters."""
RESERVED_HEIGHT = 0.6
"""Height in inches that figures reserve for a legend; figures with a higher legend grow."""


def legend_below(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> Legend:
    """Add a legend below the panels of a figure; the figure grows if the legend is high.

    Names are shown verbatim, without math. A name that is too long for one column has several lines.
    """
    max_width, columns = MAX_WIDTH_SHARE * figure.bbox.width, min(max(len(names), 1), MAX_COLUMNS)
    longest = max(map(len, names), default=0)
    legend = _legend(figure, handles, names, columns)
    while (width := legend.get_window_extent().width) > max_width and (columns > 1 or longest > MIN_LINE_LENGTH):
        legend.remove()
        if columns > 1:
            columns -= 1
        else:
            longest = max(MIN_LINE_LENGTH, int(0.95 * longest * max_width / width))
        lines = [name if len(name) <= longest else "\n".join(wrap(name, longest)) for name in names]
        legend = _legend(figure, handles, lines, columns)
    height = legend.get_window_extent().height / figure.dpi
    figure.set_figheight(figure.get_figheight() + max(0.0, height - RESERVED_HEIGHT))
    return legend


def _legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], columns: int) -> Legend:
    legend = figure.legend(handles, names, loc="outside lower center", ncols=columns, handlelength=3.4)
    disable_math(*legend.get_texts())
    return legend
