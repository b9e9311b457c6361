"""One look for all figures: colour belongs to the utility, marker to the coordination method.

Paper: caption of Fig. 8. To tell curves apart in grey, line styles follow the method too, and the filling of
markers follows the utility.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Width of a two-column figure, in inches."""

UTILITY_COLOURS = {
    "PIG": "#1a9641",
    "PEIG": "#c51b9b",
    "PMC": "#2b55c4",
    "PLC": "#18b3c9",
    "novelty": "#7a5230",
    "LTA": "#f07f13",
    "CB": "#d9b90d",
    "Unembodied": "#000000",
    "Random": "#d7191c",
}
FILLINGS = {"PEIG": "full", "PMC": "left", "PLC": "bottom", "novelty": "right"}
"""Which part of a marker is filled; none for PIG."""
METHODS: dict[str, tuple[str, Any]] = {
    "greedy": ("s", (0, (4, 1.5))),
    "VI": ("o", "-"),
    "VI+": ("D", (0, (6, 1.5, 1, 1.5))),
    "Q": ("v", (0, (1, 1.2))),
}
HEURISTIC: tuple[str, Any] = ("*", (0, (3, 1, 1, 1)))
CONTROLS: dict[str, tuple[str, Any]] = {"Unembodied": ("x", "-"), "Random": ("+", "-")}

RC: Any = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
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
    "savefig.facecolor": "white",
    "svg.hashsalt": "berlyne",
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Look:
    """How a strategy is drawn."""

    colour: str
    marker: str
    line: Any
    name: str

    def curve(self, n_times: int) -> dict[str, Any]:
        """Keywords for a learning curve, marked at a few times."""
        stagger = {"o": 0.5, "s": 0.3, "D": 0.7, "v": 0.1, "*": 0.9, "x": 0.0, "+": 0.4}[self.marker]
        every = max(n_times // 6, 1)
        return {
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markevery": (int(stagger * every), every),
            "label": self.name,
            **self.filling(),
        }

    def filling(self) -> dict[str, Any]:
        """Keywords for the inside of the marker."""
        part = FILLINGS.get(re.split(r"[(]", self.name)[0])
        if self.marker not in "osDv" or part == "full":
            return {"markerfacecolor": self.colour}
        if part is None:
            return {"markerfacecolor": "white"}
        return {"markerfacecolor": self.colour, "markerfacecoloralt": "white", "fillstyle": part}

    def point(self) -> dict[str, Any]:
        """Keywords for one point."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": "none",
            "markeredgewidth": 1.2,
            "label": self.name,
            **self.filling(),
        }


def look(strategy: str) -> Look:
    """The look of a strategy of any name."""
    match = re.match(r"([^(]+)(?:\(([^,)]+))?", strategy)
    head, method = (match[1], match[2]) if match else (strategy, None)
    colour = UTILITY_COLOURS.get(head, "#777777")
    if head in CONTROLS:
        marker, line = CONTROLS[head]
    elif method in METHODS:
        marker, line = METHODS[method]
    else:
        marker, line = HEURISTIC
    return Look(colour, marker, line, strategy)


def panels(n: int, height: float = 2.5, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of full width with `n` panels side by side."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure

    with mpl.rc_context(RC):
        figure = NewFigure(figsize=(WIDTH, height))
        axes = figure.subplots(1, n, squeeze=False, **options)[0]
    return figure, list(axes)
