"""Arrows between states: curved, so that both directions stay visible, and loops for transitions to the same state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.path import Path

from berlyne.validation import BoolArray, FloatArray, IntArray


class Arrow(NamedTuple):
    """An arrow that stands for a transition.

    Attributes
    ----------
    path : Path
        Curve from the start to the back of the head.
    head : ndarray of shape (3, 2)
        Corners of the head, the tip first.
    p : float
        Probability of the transition.
    """

    path: Path
    head: FloatArray
    p: float

    def extent(self) -> FloatArray:
        """Return the start, middle and end of the path, (3, 2), whose bounding box is about that of the path."""
        corners = np.asarray(self.path.vertices)
        weights = np.array([0.25, 0.5, 0.25] if len(corners) == 3 else [0.125, 0.375, 0.375, 0.125])
        return np.stack([corners[0], weights @ corners, corners[-1]])

    def headless(self) -> Path:
        """Return the path without a head, extended to the tip."""
        return Path(np.vstack([np.asarray(self.path.vertices)[:-1], self.head[0]]), self.path.codes)


BENDS = (0.12, 0.24, 0.38, -0.24, -0.38, 0.55)
"""Bends to try for an arrow, as shares of its length; the first that avoids all other states is used."""


def curved_arrow(
    begin: FloatArray, end: FloatArray, radius: float, p: float, bend: float, head_size: float | None = None
) -> Arrow:
    """Return an arrow from the rim of one state to the rim of another.

    Parameters
    ----------
    begin, end : ndarray of shape (2,)
        Centres of the two states.
    radius : float
        Radius of the states.
    p : float
        Probability of the transition.
    bend : float
        Distance of the control point from the straight line, as a share of its length. The sign selects the side.
    head_size : float, optional
        The head is 3/4 as long as this. By default the radius of the states.

    Returns
    -------
    Arrow
        The arrow.
    """
    across, middle = np.array([begin[1] - end[1], end[0] - begin[0]]), (begin + end) / 2
    control = middle + bend * across
    start, tip = begin + radius * _unit(control - begin), end + radius * _unit(control - end)
    head, neck = _head(tip, _unit(tip - control), radius if head_size is None else head_size)
    return Arrow(Path([start, control, neck], [Path.MOVETO, Path.CURVE3, Path.CURVE3]), head, p)


def loop_arrow(
    centre: FloatArray,
    radius: float,
    p: float,
    towards: FloatArray,
    size: float = 1.0,
    head_size: float | None = None,
) -> Arrow:
    """Return an arrow from a state to itself, on the side that `towards` points to; up if `towards` is zero."""
    outward = _unit(towards) if np.any(towards) else np.array([0.0, 1.0])
    side = np.array([-outward[1], outward[0]])
    start, tip = (centre + radius * _unit(outward + sign * 0.6 * side) for sign in (1, -1))
    controls = [centre + radius * ((1 + 2.4 * size) * outward + sign * 1.9 * size * side) for sign in (1, -1)]
    head, neck = _head(tip, _unit(tip - controls[1]), radius if head_size is None else head_size)
    return Arrow(Path([start, *controls, neck], [Path.MOVETO, *[Path.CURVE4] * 3]), head, p)


def choose_bends(places: FloatArray, begin: IntArray, end: IntArray, radius: float) -> FloatArray:
    """Return for each arrow the first of `BENDS` that avoids all other states, or `BENDS[0]` if none does.

    Parameters
    ----------
    places : ndarray of shape (N, 2)
        Centres of the states.
    begin, end : ndarray of int, shape (E,)
        States that the arrows connect.
    radius : float
        Radius of the states.

    Returns
    -------
    ndarray of shape (E,)
        A bend for each arrow.
    """
    origin, target = places[begin], places[end]
    across = np.stack([origin[:, 1] - target[:, 1], target[:, 0] - origin[:, 0]], axis=1)
    middle = (origin + target) / 2
    u = np.linspace(0.08, 0.92, 15)[:, None, None]
    other_states = np.arange(len(places)) != begin[:, None]
    other_states &= np.arange(len(places)) != end[:, None]
    bends, chosen = np.full(len(begin), BENDS[0]), np.zeros(len(begin), dtype=bool)
    for bend in BENDS:
        curve = (1 - u) ** 2 * origin + 2 * u * (1 - u) * (middle + bend * across) + u**2 * target  # (15, E, 2)
        distance = np.linalg.norm(curve[:, :, None] - places, axis=3).min(axis=0)  # (E, N)
        clear = ~chosen & np.all((distance > 1.3 * radius) | ~other_states, axis=1)
        bends[clear], chosen = bend, chosen | clear
    return bends


def least_crowded_direction(centre: FloatArray, others: FloatArray, connected: BoolArray) -> FloatArray:
    """Return the direction from a state in which there is most room, as a unit vector.

    Downward directions are penalised, because the label may be there.

    Parameters
    ----------
    centre : ndarray of shape (2,)
        Position of the state.
    others : ndarray of shape (n, 2)
        Positions of the other states.
    connected : ndarray of bool, shape (n,)
        Whether an arrow connects the state to each of the others. Unconnected states count half.

    Returns
    -------
    ndarray of shape (2,)
        One of 16 directions.
    """
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False) - np.pi / 2
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    away = others - centre
    length = np.linalg.norm(away, axis=1)
    near = np.where(connected, 1.0, 0.5) / length
    crowd = np.sum(near * np.maximum(directions @ (away / length[:, None]).T, 0.0) ** 3, axis=1)
    crowd += 0.15 * np.maximum(directions[:, 1], 0.0) / (length.min() if len(length) else 1.0)
    return np.asarray(directions[int(np.argmin(np.round(crowd, 9)))])


def _head(tip: FloatArray, direction: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a head that points in a direction, and the middle of its back."""
    neck, across = tip - 0.75 * size * direction, 0.32 * size * np.array([-direction[1], direction[0]])
    return np.array([tip, neck - across, neck + across]), neck


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))
