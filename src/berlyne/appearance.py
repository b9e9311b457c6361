"""Colours and lines that figures and the page of `berlyne.watch` share.

Paper: caption of Fig. 8. Colour stands for the utility of a strategy, the line style for its coordination method. To
distinguish curves in greyscale, the filling of markers depends on the utility, too. Every colour has a lighter twin for
dark screens. Nothing here imports matplotlib, because the page does not need it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray

UTILITY_COLOURS = {
    "PIG": "#1a9641",
    "PEIG": "#c51b9b",
    "PMC": "#2b55c4",
    "PLC": "#18b3c9",
    "parameter_gain": "#7a5230",
    "BEB": "#875aa5",
    "1/√n": "#4b6978",
    "R-max": "#b45a0f",
    "RF-UCRL": "#00798c",
    "RF-Express": "#0078e1",
    "MaxEnt": "#c35a69",
    "FW-AME": "#969600",
    "PSRL": "#c3964b",
    "Generative": "#3c3c3c",
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
    "hopeful VI": ("d", (0, (12, 2, 2, 2))),
    "fluid": ("H", (0, (3, 1.5))),
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
N_MARKERS = 6
STAGGER = {"o": 0.5, "s": 0.3, "D": 0.7, "v": 0.1, "d": 0.25, "H": 0.95, "^": 0.0, "P": 0.4,
           (6, 2, 0): 0.8, (8, 2, 0): 0.6, "h": 0.2, "<": 0.35, ">": 0.65, "p": 0.55, "X": 0.75, "*": 0.85}  # fmt: skip
UTILITY_STAGGER = {"PEIG": 0.25, "PMC": 0.3, "PLC": 0.65, "parameter_gain": 0.8, "BEB": 0.15}
"""Number of markers on a curve, and their shift by marker and by utility, so that those of different curves differ."""
AGENT = "#5b2a86"
"""Colour of the agent and its trail."""
BLUE = "#1f5fbf"
"""Colour of transporters, the base of a maze, and start states."""
DARK_COLOURS = {
    "#1a9641": "#5bd67f",
    "#c51b9b": "#f27ad6",
    "#2b55c4": "#86a8ff",
    "#18b3c9": "#52d9ea",
    "#7a5230": "#d3a98a",
    "#f07f13": "#ffa552",
    "#d9b90d": "#ffe04d",
    "#000000": "#ffffff",
    "#d7191c": "#ff7a70",
    "#5b2a86": "#cf9dff",
    "#1f5fbf": "#8ab8ff",
}
"""Twins of colours for dark screens; other colours are mixed with white (`dark_twin`)."""
SHADE_STOPS = {
    "light": ("#fff5eb", "#fee8cb", "#fcdcab", "#f8ce8a", "#f3bf6a", "#ebae47", "#e09720", "#d27b00", "#c56000"),
    "dark": ("#3b2115", "#562b11", "#73380d", "#934c0b", "#b66d1d", "#d29145", "#e2af6f", "#ebc799", "#f1ddc2"),
}
"""Shades of states from small to large values, in equal steps of CIELAB; the first is close to the background."""
SPARE_COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#2e933c",
    "#8d5fb5",
    "#e08e1b",
    "#00798c",
    "#7a5230",
    "#c51b9b",
    "#5c677d",
    "#9a9a00",
)
"""Colours for strategies that share a look, in the order of use."""
SPARE_LINES: tuple[Any, ...] = (
    (0, (6, 1.5)),
    (0, (6, 1.5, 2, 1.5)),
    (0, (12, 2)),
    (0, (4, 1.2, 4, 1.2, 2, 1.2)),
    "-",
)
"""Lines for strategies that share a marker, so that they also differ in grey; used in turn."""
MIN_COLOUR_DISTANCE = 0.32
"""Colours at most this far apart in RGB, with channels from 0 to 1, are hard to distinguish in thin lines."""


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
        if self.marker not in ("o", "s", "D", "v", "d", "H") or part == "full":
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


def distinct_looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a distinct look for each strategy; if several share a look, all but one get another colour and line.

    The strategy that keeps its look is the first without parameters in its name, or else the first.
    """
    looks = {name: look(name) for name in names}
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, usual in looks.items():
        groups.setdefault((usual.colour, usual.marker, usual.line), []).append(name)
    unchanged = {next((name for name in group if "=" not in name), group[0]) for group in groups.values()}
    used = [looks[name].colour for name in looks if name in unchanged]
    for name, usual in looks.items():
        if name not in unchanged:
            used.append(_next_colour(used))
            lines = [
                other.line for other in looks.values() if other.marker == usual.marker and other.fill == usual.fill
            ]
            line = min(SPARE_LINES, key=lines.count)
            looks[name] = replace(usual, colour=used[-1], line=line)
    return looks


def _next_colour(used: Sequence[str]) -> str:
    """Return the first colour far from all used ones; if there is none, the farthest of those used least often."""
    distance = {colour: min(_distance(colour, other) for other in used) for colour in SPARE_COLOURS}
    free = [colour for colour in SPARE_COLOURS if distance[colour] > MIN_COLOUR_DISTANCE]
    return free[0] if free else max(SPARE_COLOURS, key=lambda colour: (-used.count(colour), distance[colour]))


def _distance(colour: str, other: str) -> float:
    """Return the distance of two colours in RGB, with channels from 0 to 1."""
    return float(np.linalg.norm(np.subtract(_channels(colour), _channels(other))))


def dark_twin(colour: str) -> str:
    """Return the colour that replaces a colour on dark screens, as "#rrggbb"."""
    mixed = [round(255 * (c + 0.45 * (1.0 - c))) for c in _channels(colour)]
    return DARK_COLOURS.get(colour, "#{:02x}{:02x}{:02x}".format(*mixed))


def _channels(colour: str) -> tuple[float, ...]:
    """Return red, green and blue of "#rrggbb", from 0 to 1."""
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
