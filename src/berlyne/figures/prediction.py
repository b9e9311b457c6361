"""Predicted against realised information gain, as in the paper's Fig. 2."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import RC, UTILITY_COLOURS, format_log_axis, panels
from berlyne.validation import FloatArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr


def draw_prediction(gains: xr.Dataset, above_only: Collection[str] = ()) -> Drawing:
    """Draw mean PIG against mean gain after 0, 1, ... observations, with standard deviations of both.

    Axes are logarithmic, because the standard deviations of the realised gain are large. An error bar that would reach
    below zero cannot be drawn on them, so it is drawn above the mean only.

    Parameters
    ----------
    gains : Dataset
        `pig` and `gain` (world_class, world, n_obs), `sd_pig` and `sd_gain` (world_class, n_obs), in bits.
    above_only : collection of str
        Classes whose error bars are all drawn above the mean only.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes = [str(name) for name in gains["world_class"].values]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.75)
        header = ("world_class", "n_obs", "mean_gain", "sd_gain", "mean_pig", "sd_pig")
        drawing = Drawing(figure, header)
        for ax, name in zip(axes, classes, strict=True):
            lines = _draw_class(ax, gains.sel(world_class=name), below=name not in above_only)
            ax.set_title(title(name), parse_math=False)
            ax.set(xlabel="realised gain (bits)")
            drawing.add((name, *line) for line in lines)
        axes[0].set_ylabel("predicted gain (bits)")
    return drawing


def _draw_class(ax: Axes, gains: xr.Dataset, below: bool) -> list[tuple[float, ...]]:
    """Draw one panel, and return its numbers."""
    gain, pig = gains["gain"].mean("world").values, gains["pig"].mean("world").values
    sd_gain, sd_pig = gains["sd_gain"].values, gains["sd_pig"].values
    limits = 0.42 * min(gain.min(), pig.min()), 1.4 * max((gain + sd_gain).max(), (pig + sd_pig).max())
    ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal")
    ax.plot(limits, limits, color="0.6", linewidth=0.8, zorder=0)
    ax.errorbar(
        gain, pig, xerr=_error_bars(gain, sd_gain, below), yerr=_error_bars(pig, sd_pig, below), fmt="o",
        markersize=3.2, color=UTILITY_COLOURS["PIG"], ecolor="0.6", elinewidth=0.7, zorder=2,
    )  # fmt: skip
    small: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5}
    ax.annotate("no observation", (gain[0], pig[0]), (-5, 2), ha="right", **small)
    ax.annotate(f"{len(gain) - 1} observations", (gain[-1], pig[-1]), (4, -3), ha="left", va="top", **small)
    decades = np.arange(-12.0, 7.0)
    marks = [10**decades] if limits[1] > 2000 * limits[0] else [10**decades, 3 * 10**decades]
    for axis in (ax.xaxis, ax.yaxis):
        format_log_axis(axis, np.sort(np.concatenate(marks)))
    return list(zip(range(len(gain)), *(x.tolist() for x in (gain, sd_gain, pig, sd_pig)), strict=True))


def _error_bars(mean: FloatArray, sd: FloatArray, below: bool) -> FloatArray:
    """Return the lengths of error bars below and above the mean, (2, n)."""
    return np.stack([np.where(below & (sd < 0.9 * mean), sd, 0.0), sd])
