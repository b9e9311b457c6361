"""Colours and lines for strategies that would otherwise look the same, such as those of a parameter sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from berlyne.figures.style import Look, look

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
    return float(np.linalg.norm(np.subtract(to_rgb(colour), to_rgb(other))))
