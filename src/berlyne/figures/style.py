"""One style for all figures: colour stands for the utility, marker for the coordination method.

Paper: caption of Fig. 8. To distinguish curves in greyscale, line styles depend on the method too, and the filling of
markers on the utility. Everything is drawn for white paper; the report inverts the lightness of figures on dark
screens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray, IntArray

WIDTH = 7.2
"""Width of a two-column figure, in inches."""
DPI = 200

UTILITY_COLOURS = {
    "PIG": "#1a9641",
    "PEIG": "#c51b9b",
    "PMC": "#2b55c4",
    "PLC": "#18b3c9",
    "parameter_gain": "#7a5230",
    "BEB": "#8d5fb5",
    "1/√n": "#5c677d",
    "R-max": "#a6611a",
    "RF-UCRL": "#00798c",
    "RF-Express": "#1b6ca8",
    "MaxEnt": "#d1495b",
    "FW-AME": "#9a9a00",
    "PSRL": "#e08e1b",
    "Generative": "#4d4d4d",
    "LTA": "#f07f13",
    "CB": "#d9b90d",
    "Unembodied": "#000000",
    "Random": "#d7191c",
}
FILLINGS = {"PEIG": "full", "PMC": "left", "PLC": "bottom", "parameter_gain": "right", "BEB": "top"}
"""Filled part of the marker by utility; markers of PIG are not filled."""
METHOD_LOOKS: dict[str, tuple[Any, Any]] = {
    "greedy": ("s", (0, (4, 1.5))),
    "VI": ("o", "-"),
    "VI+": ("D", (0, (7, 1.5, 2, 1.5))),
    "Q": ("v", (0, (10, 2.5))),
}
HEURISTIC_LOOKS: dict[str, tuple[Any, Any]] = {"CB": ((8, 2, 0), (0, (5, 1.5, 5, 1.5, 2, 1.5)))}
HEURISTIC_LOOK: tuple[Any, Any] = ((6, 2, 0), (0, (5, 1.5, 2, 1.5, 2, 1.5)))
CONTROL_LOOKS: dict[str, tuple[Any, Any]] = {"Unembodied": ("^", "-"), "Random": ("P", "-")}
"""Marker and line by coordination method, of heuristics, which have asterisks, and of the two controls.

Only standard errors have dotted lines.
"""
OTHER_LOOKS: dict[str, tuple[Any, str, Any]] = {
    "1/√n(VI)": ("h", "none", "-"),
    "R-max(VI)": ("h", "full", (0, (9, 1.5))),
    "RF-UCRL": ("<", "none", (0, (6, 1.5))),
    "RF-Express": (">", "none", (0, (4, 1.2, 2, 1.2))),
    "MaxEnt": ("p", "none", (0, (8, 2))),
    "MaxEnt(states)": ("p", "full", (0, (8, 2, 2, 2))),
    "FW-AME": ("X", "full", (0, (5, 1.5, 2, 1.5))),
    "PSRL(PIG)": ("*", "full", (0, (10, 2, 2, 2))),
    "Generative": ("^", "none", "-"),
}
"""Marker, its filling, and line of explorers of other literatures, by name without parameters."""
UNCLIPPED: dict[str, Any] = {"clip_on": False, "in_layout": False}
"""Keywords for markers at the edge of a panel: they are not clipped, and the layout ignores them."""
ERROR_LINE: dict[str, Any] = {"linestyle": ":", "linewidth": 0.7}
"""Keywords for the lines one standard error above and below a curve."""
BOUND_LINE: dict[str, Any] = {"color": "0.25", "linestyle": "-", "linewidth": 2.0, "zorder": 1.5, "label": "bound"}
"""Keywords for the line below which no explorer can stay on average."""
BELOW_BOUND: dict[str, Any] = {"color": "0.92", "linewidth": 0, "zorder": 0.5}
"""Keywords for the area below that line."""
N_MARKERS = 6
STAGGER = {"o": 0.5, "s": 0.3, "D": 0.7, "v": 0.1, "^": 0.0, "P": 0.4, (6, 2, 0): 0.8, (8, 2, 0): 0.6,
           "h": 0.2, "<": 0.35, ">": 0.65, "p": 0.55, "X": 0.75, "*": 0.85}  # fmt: skip
UTILITY_STAGGER = {"PEIG": 0.25, "PMC": 0.3, "PLC": 0.65, "parameter_gain": 0.8, "BEB": 0.15}
"""Number of markers on a curve, and their shift by marker and by utility, so that those of different curves differ."""
CLASS_LOOKS = {"dense": ("#4d4d4d", "s"), "maze": ("#d95f0e", "^"), "1-2-3": ("#2c7fb8", "o")}
OTHER_CLASS_LOOKS = (("#7b3294", "D"), ("#1b7837", "v"), ("#a6611a", "P"), ("#c51b7d", "X"))
"""Colour and marker by class of worlds; classes that are not in the paper use the others in turn."""
PROBABILITY = LinearSegmentedColormap.from_list("probability", ["0.84", "0.0"])
"""Light grey for the probability 0, black for 1."""
SHADES = LinearSegmentedColormap.from_list(
    "shades",
    ["#fff5eb", "#fee8cb", "#fcdcab", "#f8ce8a", "#f3bf6a", "#ebae47", "#e09720", "#d27b00", "#c56000"],
)
"""Nearly white to dark amber, ever darker in equal steps of CIELAB; black and blue lines stay visible on it."""
AGENT = "#5b2a86"
"""Colour of the agent and its trail."""
BLUE = "#1f5fbf"
"""Colour of transporters, the base of a maze, and start states."""

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


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of a strategy.

    Attributes
    ----------
    colour : str
        Colour of line and marker.
    marker : str or tuple
        Matplotlib marker.
    line : str or tuple
        Matplotlib line style.
    name : str
        Name of the strategy, used as the label.
    fill : str
        Filling of the marker, "none" or "full"; by default that of the utility.
    """

    colour: str
    marker: Any
    line: Any
    name: str
    fill: str = ""

    def curve(self, times: ArrayLike) -> dict[str, Any]:
        """Return keywords of `Axes.plot` for a learning curve at these times, with a few unclipped markers."""
        return {
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markersize": self.size(4.0),
            "markevery": self._marker_indices(np.asarray(times, dtype=float)),
            **UNCLIPPED,
            "label": self.name,
            **self.filling(),
        }

    @property
    def utility(self) -> str:
        """The part of the name before the method."""
        return self.name.split("(")[0]

    @property
    def is_asterisk(self) -> bool:
        """Whether the marker is an asterisk, which has no area."""
        return isinstance(self.marker, tuple)

    def size(self, of_others: float) -> float:
        """Return the marker size beside markers of this size; asterisks are larger, because they look smaller."""
        return 1.5 * of_others if self.is_asterisk else of_others

    def _marker_indices(self, times: FloatArray) -> list[int]:
        """Return the indices of times with a marker, spaced evenly, and shifted differently for each kind of marker."""
        shift = (STAGGER.get(self.marker, 0.9) + UTILITY_STAGGER.get(self.utility, 0.0)) % 1.0
        wanted = times[0] + (times[-1] - times[0]) * (np.arange(N_MARKERS) + shift) / N_MARKERS
        return [int(i) for i in np.unique(np.searchsorted(times, wanted))]

    def filling(self) -> dict[str, Any]:
        """Return keywords for the filling of the marker."""
        if self.fill:
            return {"markerfacecolor": "white" if self.fill == "none" else self.colour}
        part = FILLINGS.get(self.utility)
        if self.marker not in ("o", "s", "D", "v") or part == "full":
            return {"markerfacecolor": self.colour}
        if part is None:
            return {"markerfacecolor": "white"}
        return {"markerfacecolor": self.colour, "markerfacecoloralt": "white", "fillstyle": part}

    def point(self) -> dict[str, Any]:
        """Return keywords of `Axes.plot` for one point."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": "none",
            "markersize": self.size(5.5),
            "markeredgewidth": 0.8 if self.is_asterisk else 1.0,
            **UNCLIPPED,
            "label": self.name,
            **self.filling(),
        }


def look(strategy: str) -> Look:
    """Return the look of a strategy.

    Parameters
    ----------
    strategy : str
        Name of the strategy, such as "PIG(VI)". Unknown utilities are grey, and unknown methods have asterisks.

    Returns
    -------
    Look
        Colour, marker and line.
    """
    match = re.match(r"([^(]+)(?:\(([^,)]+))?", strategy)
    head, method = (match[1], match[2]) if match else (strategy, None)
    colour = UTILITY_COLOURS.get(head, "#777777")
    plain = head if method is None or "=" in method else f"{head}({method})"
    if plain in OTHER_LOOKS:
        marker, fill, line = OTHER_LOOKS[plain]
        return Look(colour, marker, line, strategy, fill)
    if head in CONTROL_LOOKS:
        marker, line = CONTROL_LOOKS[head]
    elif method in METHOD_LOOKS:
        marker, line = METHOD_LOOKS[method]
    else:
        marker, line = HEURISTIC_LOOKS.get(head, HEURISTIC_LOOK)
    return Look(colour, marker, line, strategy)


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
