"""Draw the verdicts of claims under several variants, and how much their effects change."""

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
"""Marker of each verdict."""
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
SHADES = ("#ffffff", "#eef0f6", "#d8deed", "#bcc8e2", "#9db0d6", "#7d98ca")
"""Changes at which the background of a cell becomes darker, and the background colours."""
FLIPS: dict[str, dict[str, Any]] = {
    "pool": {"linewidth": 0.9, "linestyle": (0, (0.8, 1.3)), "edgecolor": "black"},
    "marginal": {"linewidth": 0.9, "linestyle": (0, (2.6, 1.4)), "edgecolor": "black"},
    "effect": {"linewidth": 1.7, "linestyle": "-", "edgecolor": "black"},
}
"""Frames of verdicts that differ from the verdict under the first variant, by the reason; see `draw_sensitivity`."""
EDGE: dict[str, Any] = {"edgecolor": "0.75", "linewidth": 0.4}
UNKNOWN: dict[str, Any] = {"facecolor": "white", "hatch": "/////"}
"""Edge of a cell, and background of a cell without a known change."""
CELL = 0.205
"""Side of a cell, in inches."""


def draw_sensitivity(cells: xr.Dataset, claims: Mapping[str, str], variants: Mapping[str, str]) -> Drawing:
    """Draw the verdict of each claim (rows) under each variant (columns), with changes of effects and verdicts.

    Parameters
    ----------
    cells : Dataset
        Arrays (variant, claim). The first variant is the one that others are compared with. `verdict` is "holds", "does
        not hold" or "undecided". `change` is the largest relative change of an effect, NaN if there is nothing to
        compare. `flip` is "" if the verdict is the same; "pool" if it changed but the effect is the same; "marginal" if
        it changed but the effect hardly moved; "effect" if it changed because the effect moved.
    claims : mapping of str to str
        Text for the row of each claim.
    variants : mapping of str to str
        Text for the column of each variant.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    rows, columns = ([str(x) for x in cells[dim].values] for dim in ("claim", "variant"))
    verdict, change, flip = (cells[part].transpose("variant", "claim").values for part in ("verdict", "change", "flip"))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, CELL * len(rows) + 2.6))
        ax = figure.subplots()
        drawing = Drawing(figure, ("variant", "claim", "verdict", "change", "flip"))
        for x, y in np.ndindex(verdict.shape):
            drawing.add([(columns[x], rows[y], str(verdict[x, y]), float(change[x, y]), str(flip[x, y]))])
        _draw_backgrounds(ax, np.vstack([np.zeros((1, len(rows))), change[1:]]))
        for name, mark in MARKS.items():
            ax.plot(*np.nonzero(verdict == name), linestyle="none", zorder=3, label=name, clip_on=False, **mark)
        for kind, frame in FLIPS.items():
            ax.add_collection(_squares(np.argwhere(flip == kind), 0.84, facecolor="none", zorder=4, gid=kind, **frame))
        ax.set_xticks(range(len(columns)), [fill(variants[name], 34) for name in columns], rotation=90)
        ax.set_yticks(range(len(rows)), [fill(claims[name], 52) for name in rows])
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        ax.tick_params(length=0, labelsize=6.5, pad=2)
        ax.spines[:].set_visible(False)
        ax.axvline(0.5, color="black", linewidth=0.9, zorder=2)
        figure.legend(
            handles=list(_legend_handles()), loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.4
        )
    return drawing


def _draw_backgrounds(ax: Axes, change: FloatArray) -> None:
    """Draw the background of every cell (variant, claim), darker for larger changes and hatched for unknown ones."""
    shade = np.where(np.isnan(change), -1, np.searchsorted(STEPS, change, side="right"))
    for kind in np.unique(shade):
        background = UNKNOWN if kind < 0 else {"facecolor": SHADES[kind]}
        ax.add_collection(_squares(np.argwhere(shade == kind), 1.0, zorder=1, **background, **EDGE))


def _squares(centres: IntArray, side: float, **style: Any) -> PolyCollection:
    corners = side / 2 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return PolyCollection(list(centres[:, None, :] + corners), **style)


def _legend_handles() -> Iterator[Any]:
    for verdict, mark in MARKS.items():
        yield Line2D([], [], linestyle="none", label=verdict, **mark)
    yield Patch(fill=False, label="verdict changes, effect same", **FLIPS["pool"])
    yield Patch(fill=False, label="verdict changes, effect nearly same", **FLIPS["marginal"])
    yield Patch(fill=False, label="verdict and effect change", **FLIPS["effect"])
    limits = [f"{100 * step:g}" for step in STEPS]
    labels = [f"change < {limits[0]} %", *(f"{a} to {b} %" for a, b in pairwise(limits))]
    for shade, label in zip(SHADES, [*labels, f"{limits[-1]} % or more"], strict=True):
        yield Patch(facecolor=shade, label=label, **EDGE)
    yield Patch(label="not re-evaluated", **UNKNOWN, **EDGE)
