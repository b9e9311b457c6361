"""Arrows between states: bent, so that the way there is not the way back, and loops out of a state and into it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.path import Path

from berlyne.validation import BoolArray, FloatArray, IntArray


class Arrow(NamedTuple):
    """The path of an arrow, the three corners of its head, and its probability."""

    path: Path
    head: FloatArray
    p: float

    def extent(self) -> FloatArray:
        """Beginning, middle and end of the path, (3, 2): about as far as it goes."""
        corners = np.asarray(self.path.vertices)
        weights = np.array([0.25, 0.5, 0.25] if len(corners) == 3 else [0.125, 0.375, 0.375, 0.125])
        return np.stack([corners[0], weights @ corners, corners[-1]])

    def headless(self) -> Path:
        """The path without a head, which reaches as far as the head would."""
        return Path(np.vstack([np.asarray(self.path.vertices)[:-1], self.head[0]]), self.path.codes)


BENDS = (0.12, 0.24, 0.38, -0.24, -0.38, 0.55)
"""How far an arrow may bend, as a share of its length; the first that stays clear of other states is taken."""


def curved_arrow(
    begin: FloatArray, end: FloatArray, radius: float, p: float, bend: float, head_size: float | None = None
) -> Arrow:
    """From the rim of one state to the rim of another; `bend` is a share of the length, positive to one side.

    The head is as long as 3/4 of `head_size`, by default the radius of the states.
    """
    across, middle = np.array([begin[1] - end[1], end[0] - begin[0]]), (begin + end) / 2
    by = middle + bend * across
    start, tip = begin + radius * _unit(by - begin), end + radius * _unit(by - end)
    head, neck = _head(tip, _unit(tip - by), radius if head_size is None else head_size)
    return Arrow(Path([start, by, neck], [Path.MOVETO, Path.CURVE3, Path.CURVE3]), head, p)


def loop_arrow(
    centre: FloatArray,
    radius: float,
    p: float,
    towards: FloatArray,
    size: float = 1.0,
    head_size: float | None = None,
) -> Arrow:
    """Out of a state and back into it, on the side of a direction; up if there is none."""
    out = _unit(towards) if np.any(towards) else np.array([0.0, 1.0])
    side = np.array([-out[1], out[0]])
    start, tip = (centre + radius * _unit(out + sign * 0.6 * side) for sign in (1, -1))
    far = [centre + radius * ((1 + 2.4 * size) * out + sign * 1.9 * size * side) for sign in (1, -1)]
    head, neck = _head(tip, _unit(tip - far[1]), radius if head_size is None else head_size)
    return Arrow(Path([start, *far, neck], [Path.MOVETO, *[Path.CURVE4] * 3]), head, p)


def choose_bends(places: FloatArray, begin: IntArray, end: IntArray, radius: float) -> FloatArray:
    """The least bend of each of some arrows that keeps it away from other states, (E,); the first if there is none.

    places : (N, 2); begin, end : (E,), numbers of states.
    """
    one, other = places[begin], places[end]
    across, middle = np.stack([one[:, 1] - other[:, 1], other[:, 0] - one[:, 0]], axis=1), (one + other) / 2
    u = np.linspace(0.08, 0.92, 15)[:, None, None]
    in_the_way = np.arange(len(places)) != begin[:, None]
    in_the_way &= np.arange(len(places)) != end[:, None]
    found, free = np.full(len(begin), BENDS[0]), np.zeros(len(begin), dtype=bool)
    for bend in BENDS:
        curve = (1 - u) ** 2 * one + 2 * u * (1 - u) * (middle + bend * across) + u**2 * other  # (15, E, 2)
        distance = np.linalg.norm(curve[:, :, None] - places, axis=3).min(axis=0)  # (E, N)
        clear = ~free & np.all((distance > 1.3 * radius) | ~in_the_way, axis=1)
        found[clear], free = bend, free | clear
    return found


def least_crowded_direction(here: FloatArray, others: FloatArray, joined: BoolArray) -> FloatArray:
    """The direction out of a state in which there is most room, not too gladly down, where its label may be.

    others : (n, 2), where other states lie; joined : (n,), whether an arrow leads to or from them.
    """
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False) - np.pi / 2
    towards = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    away = others - here
    length = np.linalg.norm(away, axis=1)
    near = np.where(joined, 1.0, 0.5) / length
    crowd = np.sum(near * np.maximum(towards @ (away / length[:, None]).T, 0.0) ** 3, axis=1)
    crowd += 0.15 * np.maximum(towards[:, 1], 0.0) / (length.min() if len(length) else 1.0)
    return np.asarray(towards[int(np.argmin(np.round(crowd, 9)))])


def _head(tip: FloatArray, along: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """The corners of a head that points along a direction, and the middle of its back."""
    neck, across = tip - 0.75 * radius * along, 0.32 * radius * np.array([-along[1], along[0]])
    return np.array([tip, neck - across, neck + across]), neck


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))
