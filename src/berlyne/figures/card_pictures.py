"""Small SVG pictures for notebooks: a few kilobytes each, made without matplotlib figures.

Lines use `currentColor` and colours are partly transparent, so that a picture fits light and dark pages. All texts that
come from a user are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from matplotlib.path import Path

from berlyne.figures.map_layout import Map, short_label
from berlyne.figures.maps import colour_limits
from berlyne.figures.style import thinned
from berlyne.validation import FloatArray

SIZE = 170
"""Length of the longer side of a map, in pixels."""
WARM = "#c56000"
MAX_SQUARES = 900
MAX_MATRIX_CELLS = 64
"""Largest number of rows of a matrix."""
MAX_STRIP_CELLS = 85
"""Largest number of cells of a strip of states."""
CROWDED, FAINT = 5, 0.25
"""If there are more arrows per state than `CROWDED`, only those with at least the probability `FAINT` have heads."""
HEAD_SIZE = 7.0
"""Size of arrow heads in pixels; a head is 3/4 as long."""
AGENT, BLUE = "#a05fd6", "#3b7dd8"
"""Lighter than in figures, so that they are visible on white and on black."""


def svg(parts: Iterable[str], box: Sequence[float], size: tuple[float, float], alt_text: str) -> str:
    """Return an SVG element; `box` is its view box: left, top, width and height."""
    view = " ".join(f"{value:g}" for value in np.round(box, 3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'role="img" aria-label="{escape(alt_text)}" fill="none" stroke="currentColor" style="flex:none">'
        f"{''.join(parts)}</svg>"
    )


def map_picture(
    world_map: Map, values: FloatArray | None = None, agent_state: int | None = None, alt_text: str = ""
) -> str | None:
    """Return a map, optionally coloured by one value for each state and with the agent.

    A coloured matrix is replaced by a strip of states. None if there are too many rooms or squares.
    """
    if world_map.kind == "matrix":
        return _matrix(world_map, alt_text) if values is None else _strip(values, agent_state, alt_text)
    if world_map.n_states > MAX_SQUARES:
        return None
    left, right, top, bottom = world_map.frame
    scale = SIZE / max(right - left, bottom - top, 1e-9)
    line = 1.0 / scale  # one pixel
    parts = [*_arrows(world_map, line), *_states(world_map, values, line), *_walls(world_map, line)]
    if agent_state is not None:
        x, y = world_map.places[agent_state]
        ring = world_map.kind == "graph"
        colour = f'fill="none" stroke="{AGENT}"' if ring else f'fill="{AGENT}" stroke="white"'
        radius = 1.25 * world_map.radius if ring else 0.25
        parts.append(f'<circle {_centre(x, y)} r="{radius:.3f}" {colour} stroke-width="{2 * line:.3f}"/>')
    box = (left, top, right - left, bottom - top)
    return svg(parts, box, (scale * box[2], scale * box[3]), alt_text)


def _centre(x: float, y: float) -> str:
    return f'cx="{x:.2f}" cy="{y:.2f}"'


def _states(world_map: Map, values: FloatArray | None, line: float) -> Iterable[str]:
    """Yield squares or nodes, more strongly coloured for larger values, and labels if there is room."""
    strength = np.zeros(world_map.n_states) if values is None else _strength(values)
    size = world_map.radius
    for s, (x, y) in enumerate(world_map.places.tolist()):
        fill = f' fill="{WARM}" fill-opacity="{strength[s]:.2f}"' if strength[s] >= 0.005 else ""
        if world_map.kind == "graph":
            yield f'<circle {_centre(x, y)} r="{size:.3f}"{fill} stroke-width="{0.8 * line:.3f}"/>'
        elif fill:
            yield f'<rect x="{x - 0.5:g}" y="{y - 0.5:g}" width="1" height="1"{fill} stroke="none"/>'
        for mark, colour in ((world_map.starts, BLUE), (world_map.ends, "currentColor")):
            if s in mark:
                yield _mark(world_map, x, y, colour, line)
    if world_map.kind == "graph" and 2 * size / line > 13:
        yield from _names(world_map, line)


def _strength(values: FloatArray) -> FloatArray:
    """Return values scaled to 0 to 1 with the limits of figures; 0 for NaN."""
    low, high = colour_limits(values)
    return np.asarray(np.clip(np.nan_to_num((values - low) / (high - low)), 0.0, 1.0))


def _mark(world_map: Map, x: float, y: float, colour: str, line: float) -> str:
    style = f'stroke="{colour}" stroke-width="{line:.3f}"'
    if world_map.kind == "graph":
        return f'<circle {_centre(x, y)} r="{0.75 * world_map.radius:.3f}" {style}/>'
    return f'<rect x="{x - 0.38:g}" y="{y - 0.38:g}" width="0.76" height="0.76" {style}/>'


def _names(world_map: Map, line: float) -> Iterable[str]:
    room = 2 * world_map.radius / line
    longest = max(2, int(0.95 * room / (0.56 * 8)))
    size = 8 * line
    for s, (x, y) in enumerate(world_map.places.tolist()):
        name = escape(short_label(world_map.states, s, longest))
        style = f'font-size="{size:.3f}" text-anchor="middle" fill="currentColor" stroke="none"'
        yield f'<text x="{x:.2f}" y="{y + 0.35 * size:.2f}" {style}>{name}</text>'


def _walls(world_map: Map, line: float) -> Iterable[str]:
    """Yield walls, transporters and base of a maze, or the edges of a grid."""
    width = f'stroke-width="{1.4 * line:.3f}"'
    if world_map.kind == "grid":
        edges = "".join(f"M{x - 0.5:g} {y - 0.5:g}h1v1h-1z" for x, y in world_map.places.tolist())
        yield f'<path d="{edges}" stroke-width="{0.6 * line:.3f}" stroke-opacity="0.6"/>'
    if world_map.geometry is None:
        return
    walls, transporters = [], []
    for s, (x, y) in enumerate(world_map.places.tolist()):
        for direction, (dx, dy) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
            along = "h1" if dy else "v1"
            x0, y0 = x - 0.5 + (dx > 0), y - 0.5 + (dy > 0)
            if not world_map.geometry.passages[s, direction]:
                walls.append(f"M{x0:g} {y0:g}{along}")
            if world_map.geometry.transporters[s, direction]:
                x0, y0 = x0 + (0.15 if dy else -0.09 * dx), y0 + (0.15 if dx else -0.09 * dy)
                transporters.append(f"M{x0:.2f} {y0:.2f}{along[0]}.7")
    yield f'<path d="{"".join(dict.fromkeys(walls))}" {width} stroke-linecap="round"/>'
    yield f'<path d="{"".join(transporters)}" stroke="{BLUE}" stroke-width="{2 * line:.3f}"/>'
    x, y = world_map.places[world_map.geometry.base]
    for radius, fill in ((0.3, "none"), (0.12, BLUE)):
        yield f'<circle {_centre(x, y)} r="{radius}" fill="{fill}" stroke="{BLUE}" {width}/>'


def _arrows(world_map: Map, line: float) -> Iterable[str]:
    """Yield the transitions of a graph, fainter if less probable; in crowded graphs only probable ones have heads."""
    if world_map.kind != "graph":
        return
    crowded, heads = len(world_map.drawn_transitions) > CROWDED * world_map.n_states, []
    for i in world_map.drawn_transitions:
        p = float(world_map.p[i])
        arrow = world_map.arrow(int(world_map.begin[i]), int(world_map.end[i]), p, HEAD_SIZE * line)
        yield f'<path d="{_curve(arrow.headless())}" stroke-opacity="{0.15 + 0.75 * p:.2f}" stroke-width="{line:.3f}"/>'
        if not crowded or p >= FAINT:
            corners = " ".join(f"{x:.2f} {y:.2f}" for x, y in arrow.head.tolist())
            heads.append(f"M{corners}z")
    yield f'<path d="{"".join(heads)}" fill="currentColor" fill-opacity="0.7" stroke="none"/>'


def _curve(path: Path) -> str:
    """Return the SVG path data of one Bézier curve."""
    points = [f"{x:.2f} {y:.2f}" for x, y in np.asarray(path.vertices).tolist()]
    return f"M{points[0]}{'Q' if len(points) == 3 else 'C'}{' '.join(points[1:])}"


def _matrix(world_map: Map, alt_text: str) -> str:
    """Return the transitions as squares of a coarse matrix, state by next state."""
    n, cells = world_map.n_states, min(MAX_MATRIX_CELLS, world_map.n_states)
    pairs = np.unique(np.stack([world_map.begin, world_map.end], axis=1) * cells // n, axis=0)
    squares = "".join(f"M{z} {s}h1v1h-1z" for s, z in pairs.tolist())
    frame = f'<rect width="{cells}" height="{cells}" stroke-width="0.4"/>'
    return svg(
        [f'<path d="{squares}" fill="currentColor" stroke="none"/>', frame], (0, 0, cells, cells), (130, 130), alt_text
    )


def _strip(values: FloatArray, agent_state: int | None, alt_text: str) -> str:
    """Return a strip with one value for each state in order; if there are too many states, means of neighbours."""
    n, cells, height = len(values), min(len(values), MAX_STRIP_CELLS), 26
    cell = np.arange(n) * cells // n
    strength = _strength(np.bincount(cell, np.nan_to_num(values)) / np.bincount(cell))
    width = SIZE / cells
    parts = [
        f'<rect x="{width * i:.2f}" width="{width:.2f}" height="{height}" fill="{WARM}" fill-opacity="{share:.2f}" '
        'stroke="none" shape-rendering="crispEdges"/>'
        for i, share in enumerate(strength.tolist())
        if share >= 0.005
    ]
    parts.append(f'<rect width="{SIZE}" height="{height}" stroke-width="0.6"/>')
    if agent_state is not None:
        parts.append(
            f'<path d="M{SIZE * (agent_state + 0.5) / n:.2f} -3v{height + 6}" stroke="{AGENT}" stroke-width="1.6"/>'
        )
    style = 'fill="currentColor" stroke="none" font-size="10"'
    parts.append(f'<text x="0" y="{height + 13}" {style}>state 0</text>')
    parts.append(f'<text x="{SIZE}" y="{height + 13}" text-anchor="end" {style}>{n - 1:,}</text>')
    return svg(parts, (-2, -4, SIZE + 4, height + 21), (SIZE + 4, height + 21), alt_text)


def curve_picture(curves: Sequence[tuple[Any, str]], alt_text: str, label: str = "") -> str:
    """Return learning curves, given as (values, colour), with the largest value and the number of steps as text."""
    width, height, top = 230, 110, max(max(float(np.nanmax(values)) for values, _ in curves), 1e-12)
    last = max(len(values) for values, _ in curves) - 1
    parts = []
    for values, colour in curves:
        times = thinned(len(values), 160)
        y = height - (height - 14) * np.asarray(values, dtype=float)[times] / top
        x = width * times / max(last, 1)
        valid = ~np.isnan(y)
        points = " ".join(f"{a:.1f} {b:.1f}" for a, b in zip(x[valid], y[valid], strict=True))
        parts.append(f'<polyline points="{points}" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"/>')
    parts.append(f'<path d="M0 4V{height}H{width}" stroke-width="0.8"/>')
    style = 'fill="currentColor" stroke="none" font-size="10"'
    parts.append(f'<text x="5" y="11" {style}>{top:{",.0f" if top >= 1000 else ".3g"}} {escape(label)}</text>')
    parts.append(f'<text x="{width}" y="{height + 13}" text-anchor="end" {style}>{last:,} steps</text>')
    return svg(parts, (-2, 0, width + 4, height + 18), (width + 4, height + 18), alt_text)


def dots_picture(rows: Sequence[str], colours: Sequence[str], alt_text: str) -> str:
    """Return a dot for each class of worlds (rows) and strategy (columns) of an experiment."""
    step = 13
    parts = []
    for i, name in enumerate(rows):
        text = escape(name if len(name) <= 9 else f"{name[:8]}…")
        style = 'font-size="10" fill="currentColor" stroke="none"'
        parts.append(f'<text x="0" y="{step * i + 11}" {style}>{text}</text>')
        for j, colour in enumerate(colours):
            centre = _centre(62 + step * j, step * i + 7.5)
            parts.append(f'<circle {centre} r="4" fill="{colour}" stroke="currentColor" stroke-width="0.3"/>')
    width, height = 62 + step * len(colours), step * len(rows) + 4
    return svg(parts, (0, 0, width, height), (width, height), alt_text)
