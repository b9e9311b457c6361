"""Small pictures for notebooks, written as SVG by hand: a few kilobytes, no figure, and the colour of the text around.

Lines have `currentColor`, and what is coloured is more or less transparent, so a picture fits a light page and a dark
one. Every text that comes from a user is escaped.
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
"""Pixels of the longer side of a map."""
WARM = "#c56000"
MOST_SQUARES = 900
CELLS = 64
"""Lines of a matrix in a picture."""
STRIP = 85
"""Most cells of a strip of states."""
CROWDED, FAINT = 5, 0.25
"""Arrows per state from which on only those at least so probable have heads."""
HEAD = 7.0
"""Pixels; a head is 3/4 as long."""
AGENT, BLUE = "#a05fd6", "#3b7dd8"
"""Lighter than in figures: seen on white and on black."""


def svg(inside: Iterable[str], box: Sequence[float], size: tuple[float, float], about: str) -> str:
    """A picture; `box` is what it shows: left, top, width and height."""
    view = " ".join(f"{value:g}" for value in np.round(box, 3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'role="img" aria-label="{escape(about)}" fill="none" stroke="currentColor" style="flex:none">'
        f"{''.join(inside)}</svg>"
    )


def map_picture(drawn: Map, values: FloatArray | None = None, here: int | None = None, about: str = "") -> str | None:
    """A map, coloured by one number for each state, with the agent.

    Of a matrix coloured, a strip of states. None if there are too many rooms or squares.
    """
    if drawn.kind == "matrix":
        return _matrix(drawn, about) if values is None else _strip(values, here, about)
    if drawn.n_states > MOST_SQUARES:
        return None
    left, right, top, bottom = drawn.frame
    scale = SIZE / max(right - left, bottom - top, 1e-9)
    line = 1.0 / scale  # one pixel
    inside = [*_arrows(drawn, line), *_states(drawn, values, line), *_walls(drawn, line)]
    if here is not None:
        x, y = drawn.places[here]
        ring = drawn.kind == "graph"
        colour = f'fill="none" stroke="{AGENT}"' if ring else f'fill="{AGENT}" stroke="white"'
        radius = 1.25 * drawn.radius if ring else 0.25
        inside.append(f'<circle {_at(x, y)} r="{radius:.3f}" {colour} stroke-width="{2 * line:.3f}"/>')
    box = (left, top, right - left, bottom - top)
    return svg(inside, box, (scale * box[2], scale * box[3]), about)


def _at(x: float, y: float) -> str:
    return f'cx="{x:.2f}" cy="{y:.2f}"'


def _states(drawn: Map, values: FloatArray | None, line: float) -> Iterable[str]:
    """Squares or nodes, the warmer the larger their values; names where there is room."""
    strength = np.zeros(drawn.n_states) if values is None else _strength(values)
    size = drawn.radius
    for s, (x, y) in enumerate(drawn.places.tolist()):
        fill = f' fill="{WARM}" fill-opacity="{strength[s]:.2f}"' if strength[s] >= 0.005 else ""
        if drawn.kind == "graph":
            yield f'<circle {_at(x, y)} r="{size:.3f}"{fill} stroke-width="{0.8 * line:.3f}"/>'
        elif fill:
            yield f'<rect x="{x - 0.5:g}" y="{y - 0.5:g}" width="1" height="1"{fill} stroke="none"/>'
        for mark, colour in ((drawn.starts, BLUE), (drawn.ends, "currentColor")):
            if s in mark:
                yield _mark(drawn, x, y, colour, line)
    if drawn.kind == "graph" and 2 * size / line > 13:
        yield from _names(drawn, line)


def _strength(values: FloatArray) -> FloatArray:
    """Shares between 0 and 1, on the scale of figures; 0 where there is no number."""
    low, high = colour_limits(values)
    return np.asarray(np.clip(np.nan_to_num((values - low) / (high - low)), 0.0, 1.0))


def _mark(drawn: Map, x: float, y: float, colour: str, line: float) -> str:
    style = f'stroke="{colour}" stroke-width="{line:.3f}"'
    if drawn.kind == "graph":
        return f'<circle {_at(x, y)} r="{0.75 * drawn.radius:.3f}" {style}/>'
    return f'<rect x="{x - 0.38:g}" y="{y - 0.38:g}" width="0.76" height="0.76" {style}/>'


def _names(drawn: Map, line: float) -> Iterable[str]:
    room = 2 * drawn.radius / line
    longest = max(2, int(0.95 * room / (0.56 * 8)))
    size = 8 * line
    for s, (x, y) in enumerate(drawn.places.tolist()):
        name = escape(short_label(drawn.states, s, longest))
        style = f'font-size="{size:.3f}" text-anchor="middle" fill="currentColor" stroke="none"'
        yield f'<text x="{x:.2f}" y="{y + 0.35 * size:.2f}" {style}>{name}</text>'


def _walls(drawn: Map, line: float) -> Iterable[str]:
    """Walls, transporters and base of a maze; the edges of a grid."""
    width = f'stroke-width="{1.4 * line:.3f}"'
    if drawn.kind == "grid":
        edges = "".join(f"M{x - 0.5:g} {y - 0.5:g}h1v1h-1z" for x, y in drawn.places.tolist())
        yield f'<path d="{edges}" stroke-width="{0.6 * line:.3f}" stroke-opacity="0.6"/>'
    if drawn.geometry is None:
        return
    walls, doors = [], []
    for s, (x, y) in enumerate(drawn.places.tolist()):
        for direction, (dx, dy) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
            along = "h1" if dy else "v1"
            x0, y0 = x - 0.5 + (dx > 0), y - 0.5 + (dy > 0)
            if not drawn.geometry.passages[s, direction]:
                walls.append(f"M{x0:g} {y0:g}{along}")
            if drawn.geometry.transporters[s, direction]:
                x0, y0 = x0 + (0.15 if dy else -0.09 * dx), y0 + (0.15 if dx else -0.09 * dy)
                doors.append(f"M{x0:.2f} {y0:.2f}{along[0]}.7")
    yield f'<path d="{"".join(dict.fromkeys(walls))}" {width} stroke-linecap="round"/>'
    yield f'<path d="{"".join(doors)}" stroke="{BLUE}" stroke-width="{2 * line:.3f}"/>'
    x, y = drawn.places[drawn.geometry.base]
    for radius, fill in ((0.3, "none"), (0.12, BLUE)):
        yield f'<circle {_at(x, y)} r="{radius}" fill="{fill}" stroke="{BLUE}" {width}/>'


def _arrows(drawn: Map, line: float) -> Iterable[str]:
    """The transitions of a graph, the fainter the less probable, with heads where one can follow them."""
    if drawn.kind != "graph":
        return
    crowded, heads = len(drawn.drawn_transitions) > CROWDED * drawn.n_states, []
    for i in drawn.drawn_transitions:
        p = float(drawn.p[i])
        arrow = drawn.arrow(int(drawn.begin[i]), int(drawn.end[i]), p, HEAD * line)
        yield f'<path d="{_curve(arrow.headless())}" stroke-opacity="{0.15 + 0.75 * p:.2f}" stroke-width="{line:.3f}"/>'
        if not crowded or p >= FAINT:
            corners = " ".join(f"{x:.2f} {y:.2f}" for x, y in arrow.head.tolist())
            heads.append(f"M{corners}z")
    yield f'<path d="{"".join(heads)}" fill="currentColor" fill-opacity="0.7" stroke="none"/>'


def _curve(path: Path) -> str:
    """A path of one curve as SVG says it."""
    points = [f"{x:.2f} {y:.2f}" for x, y in np.asarray(path.vertices).tolist()]
    return f"M{points[0]}{'Q' if len(points) == 3 else 'C'}{' '.join(points[1:])}"


def _matrix(drawn: Map, about: str) -> str:
    """Which states lead to which, as squares of a coarse matrix."""
    n, cells = drawn.n_states, min(CELLS, drawn.n_states)
    pairs = np.unique(np.stack([drawn.begin, drawn.end], axis=1) * cells // n, axis=0)
    squares = "".join(f"M{z} {s}h1v1h-1z" for s, z in pairs.tolist())
    frame = f'<rect width="{cells}" height="{cells}" stroke-width="0.4"/>'
    return svg(
        [f'<path d="{squares}" fill="currentColor" stroke="none"/>', frame], (0, 0, cells, cells), (130, 130), about
    )


def _strip(values: FloatArray, here: int | None, about: str) -> str:
    """One number for each state as a strip in the order of their numbers; of very many states, means of neighbours."""
    n, cells, high = len(values), min(len(values), STRIP), 26
    which = np.arange(n) * cells // n
    strength = _strength(np.bincount(which, np.nan_to_num(values)) / np.bincount(which))
    wide = SIZE / cells
    inside = [
        f'<rect x="{wide * i:.2f}" width="{wide:.2f}" height="{high}" fill="{WARM}" fill-opacity="{share:.2f}" '
        'stroke="none" shape-rendering="crispEdges"/>'
        for i, share in enumerate(strength.tolist())
        if share >= 0.005
    ]
    inside.append(f'<rect width="{SIZE}" height="{high}" stroke-width="0.6"/>')
    if here is not None:
        inside.append(f'<path d="M{SIZE * (here + 0.5) / n:.2f} -3v{high + 6}" stroke="{AGENT}" stroke-width="1.6"/>')
    style = 'fill="currentColor" stroke="none" font-size="10"'
    inside.append(f'<text x="0" y="{high + 13}" {style}>state 0</text>')
    inside.append(f'<text x="{SIZE}" y="{high + 13}" text-anchor="end" {style}>{n - 1:,}</text>')
    return svg(inside, (-2, -4, SIZE + 4, high + 21), (SIZE + 4, high + 21), about)


def curve_picture(curves: Sequence[tuple[Any, str]], about: str, label: str = "") -> str:
    """Learning curves (values over time from 0, and their colour), with the largest value and the last time written."""
    wide, high, top = 230, 110, max(max(float(np.nanmax(values)) for values, _ in curves), 1e-12)
    last = max(len(values) for values, _ in curves) - 1
    inside = []
    for values, colour in curves:
        times = thinned(len(values), 160)
        y = high - (high - 14) * np.asarray(values, dtype=float)[times] / top
        x = wide * times / max(last, 1)
        there = ~np.isnan(y)
        points = " ".join(f"{a:.1f} {b:.1f}" for a, b in zip(x[there], y[there], strict=True))
        inside.append(f'<polyline points="{points}" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"/>')
    inside.append(f'<path d="M0 4V{high}H{wide}" stroke-width="0.8"/>')
    style = 'fill="currentColor" stroke="none" font-size="10"'
    inside.append(f'<text x="5" y="11" {style}>{top:{",.0f" if top >= 1000 else ".3g"}} {escape(label)}</text>')
    inside.append(f'<text x="{wide}" y="{high + 13}" text-anchor="end" {style}>{last:,} steps</text>')
    return svg(inside, (-2, 0, wide + 4, high + 18), (wide + 4, high + 18), about)


def dots_picture(rows: Sequence[str], colours: Sequence[str], about: str) -> str:
    """A dot for each class of worlds (rows) and strategy (columns): what a study will run."""
    step = 13
    inside = []
    for i, name in enumerate(rows):
        text = escape(name if len(name) <= 9 else f"{name[:8]}…")
        style = 'font-size="10" fill="currentColor" stroke="none"'
        inside.append(f'<text x="0" y="{step * i + 11}" {style}>{text}</text>')
        for j, colour in enumerate(colours):
            at = _at(62 + step * j, step * i + 7.5)
            inside.append(f'<circle {at} r="4" fill="{colour}" stroke="currentColor" stroke-width="0.3"/>')
    wide, high = 62 + step * len(colours), step * len(rows) + 4
    return svg(inside, (0, 0, wide, high), (wide, high), about)
