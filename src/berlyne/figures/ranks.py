"""Mean ranks in two tasks against each other, as in the paper's Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from berlyne.arrays import FloatArray
from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, look, panels
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

BOUND_LINES: tuple[Any, ...] = ("-", (0, (3, 2)))
BOUND_COLOURS = ("#1a9641", "#2b55c4")
"""Of vertical bounds, which are for the first task, and of horizontal ones, for the second."""


def draw_ranks(ranks: xr.Dataset, around: str, reaches: Sequence[float] = ()) -> Drawing:
    """Mean rank in one task against mean rank in another, with standard deviations.

    Parameters
    ----------
    ranks : two tasks, each (world_class, world, strategy): the rank of every strategy in every world.
    around : the strategy that significance bounds are drawn around.
    reaches : how far each pair of bounds lies from it; the first is drawn solid, the second dashed.
    """
    classes = [str(name) for name in ranks["world_class"].values]
    tasks = [str(task) for task in ranks.data_vars]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=3.25)
        columns = tuple(f"{task}_{part}" for task in tasks for part in ("rank", "sd"))
        drawing = Drawing(figure, ("world_class", "strategy", *columns))
        for ax, world_class in zip(axes, classes, strict=True):
            mean, sd = _mean_and_sd(ranks.sel(world_class=world_class), tasks)
            names = [str(name) for name in ranks["strategy"].values]
            _draw_points(ax, names, mean, sd, on_top=around)
            _draw_bounds(ax, mean[:, names.index(around)], reaches)
            for i, name in enumerate(names):
                drawing.add([(world_class, name, mean[0, i], sd[0, i], mean[1, i], sd[1, i])])
            ends = (0.5, len(names) + 0.5)
            ax.set(title=title(world_class), xlabel=f"rank in {tasks[0]} loss", xlim=ends, ylim=ends, aspect="equal")
        axes[0].set_ylabel(f"rank in {tasks[1]} loss")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, handletextpad=0.1, columnspacing=1.0)
    return drawing


def _mean_and_sd(ranks: xr.Dataset, tasks: list[str]) -> tuple[FloatArray, FloatArray]:
    """Over worlds, each (task, strategy)."""
    values = [ranks[task].transpose("world", "strategy").values for task in tasks]
    return np.stack([v.mean(axis=0) for v in values]), np.stack([v.std(axis=0, ddof=1) for v in values])


def _draw_points(ax: Axes, names: list[str], mean: FloatArray, sd: FloatArray, on_top: str) -> None:
    for name, (x, y), (sx, sy) in zip(names, mean.T, sd.T, strict=True):
        style = look(name)
        ax.errorbar(x, y, xerr=sx, yerr=sy, fmt="none", ecolor=style.colour, elinewidth=0.4, alpha=0.35)
        ax.plot(x, y, markersize=5.5, zorder=4 if name == on_top else 3, **style.point())


def _draw_bounds(ax: Axes, centre: FloatArray, reaches: Sequence[float]) -> None:
    for reach, line in zip(reaches, BOUND_LINES, strict=False):
        for sign in (-1, 1):
            ax.axvline(centre[0] + sign * reach, color=BOUND_COLOURS[0], linewidth=0.8, linestyle=line)
            ax.axhline(centre[1] + sign * reach, color=BOUND_COLOURS[1], linewidth=0.8, linestyle=line)
