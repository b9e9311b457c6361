"""One look for all figures: colour belongs to the utility, marker to the coordination method.

Paper: caption of Fig. 8. To tell curves apart in grey, line styles follow the method too, and the filling of
markers follows the utility.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import matplotlib as mpl
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
METHOD_LOOKS: dict[str, tuple[str, Any]] = {
    "greedy": ("s", (0, (4, 1.5))),
    "VI": ("o", "-"),
    "VI+": ("D", (0, (6, 1.5, 1, 1.5))),
    "Q": ("v", (0, (1, 1.2))),
}
HEURISTIC_LOOK: tuple[str, Any] = ("*", (0, (3, 1, 1, 1)))
CONTROL_LOOKS: dict[str, tuple[str, Any]] = {"Unembodied": ("x", "-"), "Random": ("+", "-")}
"""Marker and line by coordination method; of heuristics; and of the two controls drawn with every other strategy."""
CLASS_LOOKS = {"dense": ("#4d4d4d", "s"), "maze": ("#d95f0e", "^"), "1-2-3": ("#2c7fb8", "o")}
OTHER_CLASS_LOOKS = (("#7b3294", "D"), ("#1b7837", "v"), ("#a6611a", "P"), ("#c51b7d", "X"))
"""Colour and marker by class of worlds; of classes that are not the paper's, in turn."""

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
    if head in CONTROL_LOOKS:
        marker, line = CONTROL_LOOKS[head]
    elif method in METHOD_LOOKS:
        marker, line = METHOD_LOOKS[method]
    else:
        marker, line = HEURISTIC_LOOK
    return Look(colour, marker, line, strategy)


def class_looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of classes of worlds, whatever their names."""
    others = cycle(OTHER_CLASS_LOOKS)
    return {name: CLASS_LOOKS[name] if name in CLASS_LOOKS else next(others) for name in names}


def panels(n: int, height: float = 2.5, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of full width with `n` panels side by side."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, height))
        axes = figure.subplots(1, n, squeeze=False, **options)[0]
    return figure, list(axes)
