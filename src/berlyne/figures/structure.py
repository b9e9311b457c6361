"""Structure and embodiment of worlds, as in the paper's Fig. 5, and the index by run length (reading R12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import RC, class_looks, panels
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

HOLLOW = ("o", "D", "v")
"""Markers that are not filled."""


def draw_structure(structure: xr.Dataset) -> Drawing:
    """Draw (a) the embodiment index against the structure index of every world, and (b) controllability over time.

    Parameters
    ----------
    structure : Dataset
        `structure_index` and `embodiment_index` (world_class, world), and `controllability` (world_class, world, lag),
        in bits.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes = [str(name) for name in structure["world_class"].values]
    with mpl.rc_context(RC):
        figure, (left, right) = panels(2, height=2.8)
        drawing = Drawing(figure, ("panel", "world_class", "x", "y", "sd"))
        for name, (colour, marker) in class_looks(classes).items():
            style: Any = {"marker": marker, "color": colour, "label": title(name)}
            selected = structure.sel(world_class=name)
            x, y = selected["structure_index"].values, selected["embodiment_index"].values
            left.scatter(x, y, s=11, linewidths=0.5, alpha=0.8, clip_on=False, **_hollow(style))
            drawing.add(("a", name, *point, "") for point in zip(x.tolist(), y.tolist(), strict=True))
            bits = selected["controllability"]
            lag, mean, sd = bits["lag"].values, bits.mean("world").values, bits.std("world", ddof=1).values
            drawing.add(("b", name, *line) for line in zip(lag.tolist(), mean.tolist(), sd.tolist(), strict=True))
            right.errorbar(
                lag, mean, yerr=sd, markersize=4, linewidth=1.0, elinewidth=0.8, capsize=2, clip_on=False,
                markerfacecolor="white" if marker in HOLLOW else colour, **style,
            )  # fmt: skip
        left.set(xlabel="structure index", ylabel="embodiment index")
        left.legend(loc="upper left", handletextpad=0.1)
        right.set(xlabel="time steps into the future", ylabel="controllability (bits)")
        right.set_ylim(bottom=min(0.0, right.dataLim.y0))
        right.set_xticks([1, 5, 10, 15, 20])
        right.legend(loc="upper right")
    return drawing


def _hollow(style: dict[str, Any]) -> dict[str, Any]:
    """Return keywords for a scatter plot; some markers are not filled, so that classes differ in greyscale."""
    if style["marker"] not in HOLLOW:
        return style
    return {**{key: style[key] for key in style if key != "color"}, "edgecolors": style["color"], "facecolors": "none"}


def draw_index_by_length(lengths: xr.Dataset, published: Mapping[str, float], used: Mapping[str, int]) -> Drawing:
    """Draw the embodiment index by run length; lines show the published index and the run length used.

    Parameters
    ----------
    lengths : Dataset
        `length` (world_class, share) in steps, and `embodiment_index` (world_class, world, share).
    published : mapping of str to float
        Published index of each class.
    used : mapping of str to int
        Run length used for each class.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes = [str(name) for name in lengths["world_class"].values]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.6)
        drawing = Drawing(figure, ("world_class", "run_length", "embodiment_index", "standard_error"))
        for ax, name in zip(axes, classes, strict=True):
            selected = lengths.sel(world_class=name)
            length, index = selected["length"].values, selected["embodiment_index"].values
            mean, error = index.mean(axis=0), index.std(axis=0, ddof=1) / np.sqrt(len(index))
            band = ax.fill_between(length, mean - 1.96 * error, mean + 1.96 * error, color="0.85", linewidth=0)
            ax.plot(length, mean, color="black")
            ax.axhline(published[name], color="#d7191c", linestyle=(0, (5, 2)), linewidth=1.0)
            ax.axvline(used[name], color="0.4", linestyle=(0, (8, 2, 2, 2)), linewidth=0.9)
            ax.set_title(title(name), parse_math=False)
            ax.set(xlabel="run length (steps)", xlim=(0, length[-1]))
            drawing.add((name, int(n), m, e) for n, m, e in zip(length, mean.tolist(), error.tolist(), strict=True))
        axes[0].set_ylabel("embodiment index")
        names = ["mean", "95 % confidence band", "published", "length used here"]
        handles = [axes[0].lines[0], band, axes[0].lines[1], axes[0].lines[2]]
        figure.legend(handles, names, loc="outside lower center", ncols=4, handlelength=3.4)
    return drawing
