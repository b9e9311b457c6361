"""Colours for strategies that would look the same, such as those of a parameter sweep."""

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
"""Colours of strategies whose usual looks are the same, such as those of a parameter sweep, in turn."""
MIN_COLOUR_DISTANCE = 0.32
"""Colours that are not farther apart in RGB, each part from 0 to 1, are hard to tell apart in thin lines."""


def distinct_looks(names: Sequence[str]) -> dict[str, Look]:
    """The looks of strategies; of those that would look the same, all but one are given colours of their own.

    The one that keeps its look is the first without parameters in its name, or else the first.
    """
    usual = {name: look(name) for name in names}
    alike: dict[tuple[Any, ...], list[str]] = {}
    for name, one in usual.items():
        alike.setdefault((one.colour, one.marker, one.line), []).append(name)
    keep = {next((name for name in group if "=" not in name), group[0]) for group in alike.values()}
    used = [usual[name].colour for name in usual if name in keep]
    for name, one in usual.items():
        if name not in keep:
            used.append(_another(used))
            usual[name] = replace(one, colour=used[-1])
    return usual


def _another(used: Sequence[str]) -> str:
    """The first colour that is not close to any in use; if all are, the farthest of those used least often."""
    room = {colour: min(_apart(colour, other) for other in used) for colour in SPARE_COLOURS}
    free = [colour for colour in SPARE_COLOURS if room[colour] > MIN_COLOUR_DISTANCE]
    return free[0] if free else max(SPARE_COLOURS, key=lambda colour: (-used.count(colour), room[colour]))


def _apart(one: str, other: str) -> float:
    """The distance of two colours in RGB, where each part goes from 0 to 1."""
    return float(np.linalg.norm(np.subtract(to_rgb(one), to_rgb(other))))
