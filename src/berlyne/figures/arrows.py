"""Arrows between states: bent, so that the way there is not the way back, and loops out of a state and into it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.path import Path

from berlyne.arrays import FloatArray


class Arrow(NamedTuple):
    """The path of an arrow, the three corners of its head, and its probability."""

    path: Path
    head: FloatArray
    p: float

    def headless(self) -> Path:
        """The path without a head, which reaches as far as the head would."""
        return Path(np.vstack([np.asarray(self.path.vertices)[:-1], self.head[0]]), self.path.codes)


def bent(begin: FloatArray, end: FloatArray, radius: float, p: float, bend: float) -> Arrow:
    """From the rim of one state to the rim of another; `bend` is a share of the length, positive to one side."""
    across, middle = np.array([begin[1] - end[1], end[0] - begin[0]]), (begin + end) / 2
    by = middle + bend * across
    start, tip = begin + radius * _unit(by - begin), end + radius * _unit(by - end)
    head, neck = _head(tip, _unit(tip - by), radius)
    return Arrow(Path([start, by, neck], [Path.MOVETO, Path.CURVE3, Path.CURVE3]), head, p)


def loop(centre: FloatArray, radius: float, p: float, towards: FloatArray, size: float = 1.0) -> Arrow:
    """Out of a state and back into it, on the side of a direction; up if there is none."""
    out = _unit(towards) if np.any(towards) else np.array([0.0, 1.0])
    side = np.array([-out[1], out[0]])
    start, tip = (centre + radius * _unit(out + sign * 0.6 * side) for sign in (1, -1))
    far = [centre + radius * ((1 + 2.4 * size) * out + sign * 1.9 * size * side) for sign in (1, -1)]
    head, neck = _head(tip, _unit(tip - far[1]), radius)
    return Arrow(Path([start, *far, neck], [Path.MOVETO, *[Path.CURVE4] * 3]), head, p)


def _head(tip: FloatArray, along: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """The corners of a head that points along a direction, and the middle of its back."""
    neck, across = tip - 0.75 * radius * along, 0.32 * radius * np.array([-along[1], along[0]])
    return np.array([tip, neck - across, neck + across]), neck


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))
