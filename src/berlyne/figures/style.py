"""One style for all figures: colour stands for the utility, marker for the coordination method.

Paper: caption of Fig. 8. To distinguish curves in greyscale, line styles depend on the method too, and the filling of
markers on the utility. Everything is drawn for white paper; the report inverts the lightness of figures on dark
screens. `berlyne.appearance` defines the colours and lines that figures share with the page of `berlyne.watch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from string import ascii_lowercase
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from berlyne.appearance import AGENT as AGENT
from berlyne.appearance import BLUE as BLUE
from berlyne.appearance import SHADE_STOPS
from berlyne.appearance import UNCLIPPED as UNCLIPPED
from berlyne.appearance import UTILITY_COLOURS as UTILITY_COLOURS
from berlyne.appearance import Look as Look
from berlyne.appearance import look as look
from berlyne.validation import IntArray

WIDTH = 7.2
"""Width of a two-column figure, in inches."""
DPI = 200

ERROR_LINE: dict[str, Any] = {"linestyle": ":", "linewidth": 0.7}
"""Keywords for the lines one standard error above and below a curve."""
BOUND_LINE: dict[str, Any] = {"color": "0.25", "linestyle": "-", "linewidth": 2.0, "zorder": 1.5, "label": "bound"}
"""Keywords for the line below which no explorer can stay on average."""
BELOW_BOUND: dict[str, Any] = {"color": "0.92", "linewidth": 0, "zorder": 0.5}
"""Keywords for the area below that line."""
CLASS_LOOKS = {"dense": ("#4d4d4d", "s"), "maze": ("#d95f0e", "^"), "1-2-3": ("#2c7fb8", "o")}
OTHER_CLASS_LOOKS = (("#7b3294", "D"), ("#1b7837", "v"), ("#a6611a", "P"), ("#c51b7d", "X"))
"""Colour and marker by class of worlds; classes that are not in the paper use the others in turn."""
PROBABILITY = LinearSegmentedColormap.from_list("probability", ["0.84", "0.0"])
"""Light grey for the probability 0, black for 1."""
SHADES = LinearSegmentedColormap.from_list(
    "shades",
    list(SHADE_STOPS["light"]),
)
"""Nearly white to dark amber, ever darker in equal steps of CIELAB; black and blue lines stay visible on it."""
RC: Any = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.titley": 1.0,
    "axes.labelsize": 8.0,
    "legend.fontsize": 7.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": DPI,
    "savefig.dpi": "figure",
    "savefig.facecolor": "auto",
    "svg.hashsalt": "berlyne",
    "svg.fonttype": "none",
}
"""Matplotlib settings of all figures; use `with matplotlib.rc_context(RC):`."""


def class_looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of classes of worlds; names may be unknown."""
    others = cycle(OTHER_CLASS_LOOKS)
    return {name: CLASS_LOOKS[name] if name in CLASS_LOOKS else next(others) for name in names}


def check_axes(ax: Any, *, optional: bool = True) -> None:
    """Raise a `ValueError` if `ax` is not a matplotlib `Axes`; None is valid if `optional`."""
    if not isinstance(ax, Axes) and not (optional and ax is None):
        raise ValueError(f"ax is {ax!r:.60}; it must be one matplotlib Axes, such as plt.subplots()[1]")


def disable_math(*texts: Text) -> None:
    """Show texts verbatim; dollar signs do not start a formula."""
    for text in texts:
        text.set_parse_math(False)


def panels(columns: int, height: float = 2.5, rows: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure of full width and its panels, which have letters if there are several.

    Parameters
    ----------
    columns : int
        Number of columns.
    height : float
        Height of the figure in inches.
    rows : int
        Number of rows.
    **options : Any
        Passed to `Figure.subplots`.

    Returns
    -------
    figure : Figure
        The figure.
    axes : list of Axes
        The panels, row by row.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, height))
        axes = list(figure.subplots(rows, columns, squeeze=False, **options).ravel())
        letter_panels(axes)
    return figure, axes


def letter_panels(axes: Sequence[Axes]) -> None:
    """Write a, b, c ... at the upper left of panels, if there are several."""
    if len(axes) > 1:
        for ax, name in zip(axes, ascii_lowercase, strict=False):
            ax.set_title(name, loc="left", fontweight="bold")


def thinned(n: int, most: int = 320) -> IntArray:
    """Return some of the times 0 to n - 1, enough to draw a falling curve in a panel.

    Parameters
    ----------
    n : int
        Number of times.
    most : int
        Approximate number of times to return. If n is not larger, all times are returned.

    Returns
    -------
    ndarray of int
        Ascending times, including all of the first few, 0 and n - 1.
    """
    if n <= most:
        return np.arange(n)
    early, even = np.geomspace(1, n, most // 2) - 1, np.linspace(0, n - 1, most // 2)
    return np.unique(np.round(np.concatenate([early, even])).astype(np.int64))


def format_log_axis(axis: Axis, marks: Iterable[float] | None = None) -> None:
    """Write numbers on a logarithmic axis as 0.01 or 100, only at `marks` if given."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}")))
    axis.set_minor_formatter(NullFormatter())
    if marks is not None:
        axis.set_major_locator(FixedLocator(list(marks)))
        axis.set_minor_locator(NullLocator())
