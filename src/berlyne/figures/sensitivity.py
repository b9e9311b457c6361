"""Verdicts under other readings side by side, and how far the numbers behind them move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import RC, WIDTH
from berlyne.validation import FloatArray, IntArray

if TYPE_CHECKING:
    import xarray as xr

MARKS: dict[str, dict[str, Any]] = {
    "holds": {"marker": "o", "color": "#157a35", "markersize": 4.5},
    "does not hold": {"marker": "X", "color": "#c4161a", "markersize": 5.2, "markeredgewidth": 0.3},
    "undecided": {"marker": "_", "color": "#222222", "markersize": 5.5, "markeredgewidth": 1.4},
}
"""Marker of every verdict."""
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
SHADES = ("#ffffff", "#eef0f6", "#d8deed", "#bcc8e2", "#9db0d6", "#7d98ca")
"""Changes at which the ground of a cell becomes darker, and these grounds."""
FLIPS: dict[str, dict[str, Any]] = {
    "company": {"linewidth": 0.9, "linestyle": (0, (0.8, 1.3)), "edgecolor": "black"},
    "hair": {"linewidth": 0.9, "linestyle": (0, (2.6, 1.4)), "edgecolor": "black"},
    "effect": {"linewidth": 1.7, "linestyle": "-", "edgecolor": "black"},
}
"""Frames of verdicts that differ from those of the first variant."""
EDGE: dict[str, Any] = {"edgecolor": "0.75", "linewidth": 0.4}
UNKNOWN: dict[str, Any] = {"facecolor": "white", "hatch": "/////"}
"""Edge of a cell, and ground of one without a change to show."""
CELL = 0.205
"""Side of a cell, in inches."""


def draw_sensitivity(cells: xr.Dataset, claims: Mapping[str, str], variants: Mapping[str, str]) -> Drawing:
    """A row per claim, a column per variant: its verdict, how far its effect moved, and whether the verdict flipped.

    Parameters
    ----------
    cells : (variant, claim), of which the first variant is what the others are compared with: `verdict` ("holds",
        "does not hold", "undecided"); `change`, the largest change of an effect as a share, NaN if there is none to
        compare; `flip`, "" for the same verdict, "company" for another one though the effect is the same, "hair" for
        another one though it hardly moved, "effect" for another one because it did.
    claims, variants : what to write beside their rows and columns.
    """
    rows, columns = ([str(x) for x in cells[dim].values] for dim in ("claim", "variant"))
    verdict, change, flip = (cells[part].transpose("variant", "claim").values for part in ("verdict", "change", "flip"))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, CELL * len(rows) + 2.6))
        ax = figure.subplots()
        drawing = Drawing(figure, ("variant", "claim", "verdict", "change", "flip"))
        for x, y in np.ndindex(verdict.shape):
            drawing.add([(columns[x], rows[y], str(verdict[x, y]), float(change[x, y]), str(flip[x, y]))])
        _draw_grounds(ax, np.vstack([np.zeros((1, len(rows))), change[1:]]))
        for word, mark in MARKS.items():
            ax.plot(*np.nonzero(verdict == word), linestyle="none", zorder=3, label=word, clip_on=False, **mark)
        for kind, frame in FLIPS.items():
            ax.add_collection(_squares(np.argwhere(flip == kind), 0.84, facecolor="none", zorder=4, gid=kind, **frame))
        ax.set_xticks(range(len(columns)), [fill(variants[name], 34) for name in columns], rotation=90)
        ax.set_yticks(range(len(rows)), [fill(claims[name], 52) for name in rows])
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        ax.tick_params(length=0, labelsize=6.5, pad=2)
        ax.spines[:].set_visible(False)
        ax.axvline(0.5, color="black", linewidth=0.9, zorder=2)
        figure.legend(handles=list(_key()), loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.4)
    return drawing


def _draw_grounds(ax: Axes, change: FloatArray) -> None:
    """The ground of every cell (variant, claim), darker for larger changes and hatched for unknown ones."""
    shade = np.where(np.isnan(change), -1, np.searchsorted(STEPS, change, side="right"))
    for kind in np.unique(shade):
        ground = UNKNOWN if kind < 0 else {"facecolor": SHADES[kind]}
        ax.add_collection(_squares(np.argwhere(shade == kind), 1.0, zorder=1, **ground, **EDGE))


def _squares(centres: IntArray, side: float, **style: Any) -> PolyCollection:
    corners = side / 2 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return PolyCollection(list(centres[:, None, :] + corners), **style)


def _key() -> Iterator[Any]:
    for verdict, mark in MARKS.items():
        yield Line2D([], [], linestyle="none", label=verdict, **mark)
    yield Patch(fill=False, label="flips, effect the same", **FLIPS["company"])
    yield Patch(fill=False, label="flips, effect hardly moves", **FLIPS["hair"])
    yield Patch(fill=False, label="flips, effect moves", **FLIPS["effect"])
    limits = [f"{100 * step:g}" for step in STEPS]
    words = [f"change < {limits[0]} %", *(f"{a} to {b} %" for a, b in pairwise(limits))]
    for shade, word in zip(SHADES, [*words, f"{limits[-1]} % or more"], strict=True):
        yield Patch(facecolor=shade, label=word, **EDGE)
    yield Patch(label="not asked again", **UNKNOWN, **EDGE)
