"""Predicted against realised information gain, as in the paper's Fig. 2."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.axes import Axes

from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, UTILITY_COLOURS, panels
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr


def draw_prediction(gains: xr.Dataset, above_only: Collection[str] = ()) -> Drawing:
    """Average PIG against average gain after 0, 1, ... observations, with standard deviations of both.

    Parameters
    ----------
    gains : `pig` and `gain` (world_class, world, n_obs), `sd_pig` and `sd_gain` (world_class, n_obs), in bits.
    above_only : classes whose standard deviations are drawn above the mean only.
    """
    classes = [str(name) for name in gains["world_class"].values]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.6)
        header = ("world_class", "n_obs", "mean_gain", "sd_gain", "mean_pig", "sd_pig")
        drawing = Drawing(figure, header)
        for ax, name in zip(axes, classes, strict=True):
            lines = _draw_class(ax, gains.sel(world_class=name), below=name not in above_only)
            ax.set(title=title(name), xlabel="realised gain (bits)")
            drawing.add((name, *line) for line in lines)
        axes[0].set_ylabel("predicted gain (bits)")
    return drawing


def _draw_class(ax: Axes, gains: xr.Dataset, below: bool) -> list[tuple[float, ...]]:
    """One panel; returns the numbers drawn."""
    gain, pig = gains["gain"].mean("world").values, gains["pig"].mean("world").values
    sd_gain, sd_pig = gains["sd_gain"].values, gains["sd_pig"].values
    top = 1.12 * max(gain.max(), pig.max())
    ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
    ax.errorbar(
        gain, pig, xerr=[below * sd_gain, sd_gain], yerr=[below * sd_pig, sd_pig], fmt="o", markersize=3.2,
        color=UTILITY_COLOURS["PIG"], ecolor="0.75", elinewidth=0.6, zorder=2,
    )  # fmt: skip
    ax.annotate(
        "more observations",
        xy=(0.16, 0.36), xytext=(0.52, 0.82), xycoords="axes fraction", ha="center", fontsize=6.5, color="0.3",
        arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.7},
    )  # fmt: skip
    ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    return list(zip(range(len(gain)), gain, sd_gain, pig, sd_pig, strict=True))
