"""Draw mean ranks in two tasks, as in the paper's Fig. 8, and mean ranks at each time point (reading R19)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import RC, look, panels
from berlyne.validation import BoolArray, FloatArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

BOUND_LINES: tuple[Any, ...] = ("-", (0, (4, 2)))
BOUND_COLOURS = ("#1a9641", "#2b55c4")
"""Colours of vertical bounds, for the first task, and of horizontal bounds, for the second."""
CLUSTER_SIZE = 1.5
"""Strategies whose mean ranks in both tasks differ by at most this many ranks are a cluster, which is enlarged."""


def draw_ranks(ranks: xr.Dataset, around: str, reaches: Mapping[float, xr.Dataset] | None = None) -> Drawing:
    """Draw the mean rank in one task against that in another, with standard deviations; below, enlarge a cluster.

    The lower panels show the largest group of strategies with similar mean ranks.

    Parameters
    ----------
    ranks : Dataset
        Two tasks, each (world_class, world, strategy): the rank of every strategy in every world.
    around : str
        Strategy that significance bounds are drawn around.
    reaches : mapping of float to Dataset, optional
        Distance of the bounds from this strategy by significance level: the two tasks, each (world_class,). Bounds of
        the lowest level are solid, those of the next level are dashed.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes, names = ([str(x) for x in ranks[dim].values] for dim in ("world_class", "strategy"))
    tasks = [str(task) for task in ranks.data_vars]
    levels = sorted(reaches or {})
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=6.0, rows=2)
        drawing = Drawing(figure, _header(tasks, levels))
        for world_class, ax, close in zip(classes, axes, axes[len(classes) :], strict=False):
            mean, sd = _mean_and_sd(ranks.sel(world_class=world_class), tasks)
            distances = _bound_distances(reaches or {}, world_class, tasks)  # (level, task)
            _draw_points(ax, names, mean, sd, on_top=around)
            _fit(ax, mean, sd)
            _draw_cluster(ax, close, names, mean)
            for panel in (ax, close):
                _draw_bounds(panel, mean[:, names.index(around)], distances)
                panel.set_aspect("equal")
            for i, name in enumerate(names):
                parts = [mean[:, i], sd[:, i], *distances]
                drawing.add([(world_class, name, *(float(part[task]) for task in (0, 1) for part in parts))])
            ax.set_title(title(world_class), parse_math=False)
            ax.set_xlabel(f"mean rank in {tasks[0]} loss")
            close.set_xlabel(f"mean rank in {tasks[0]} loss")
        for left in axes[:: len(classes)]:
            left.set_ylabel(f"mean rank in {tasks[1]} loss")
        _draw_legend(figure, axes[0], tasks, levels)
    return drawing


def _header(tasks: list[str], levels: list[float]) -> tuple[str, ...]:
    parts = ("rank", "sd", *(f"bound_{level:g}" for level in levels))
    return "world_class", "strategy", *(f"{task}_{part}" for task in tasks for part in parts)


def _bound_distances(reaches: Mapping[float, xr.Dataset], world_class: str, tasks: list[str]) -> FloatArray:
    """Return the distances of bounds from the centre in one class, (level, task)."""
    by_level = [reaches[level].sel(world_class=world_class) for level in sorted(reaches)]
    return np.array([[float(distances[task]) for task in tasks] for distances in by_level]).reshape(-1, 2)


def _mean_and_sd(ranks: xr.Dataset, tasks: list[str]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over worlds, each (task, strategy)."""
    values = [ranks[task].transpose("world", "strategy").values for task in tasks]
    return np.stack([v.mean(axis=0) for v in values]), np.stack([v.std(axis=0, ddof=1) for v in values])


def _draw_points(ax: Axes, names: list[str], mean: FloatArray, sd: FloatArray, on_top: str) -> None:
    for name, (x, y), (sx, sy) in zip(names, mean.T, sd.T, strict=True):
        style = look(name)
        ax.errorbar(x, y, xerr=sx, yerr=sy, fmt="none", ecolor=style.colour, elinewidth=0.8, alpha=0.4)
        ax.plot(x, y, zorder=_layer(name, on_top), **style.point())


def _layer(name: str, on_top: str = "") -> int:
    """Return the z-order of a marker; asterisks, which hide little, lie above other markers."""
    return 5 if name == on_top else 4 if look(name).is_asterisk else 3


def _fit(ax: Axes, mean: FloatArray, sd: FloatArray) -> None:
    """Set limits that fit all error bars, the same in both tasks, with ticks at whole ranks."""
    low, high = float((mean - sd).min()) - 0.4, float((mean + sd).max()) + 0.4
    limits = min(low, 0.5), max(high, mean.shape[1] + 0.5)
    ax.set(xlim=limits, ylim=limits)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(range(1, mean.shape[1] + 1, 3))


def _draw_cluster(ax: Axes, close: Axes, names: list[str], mean: FloatArray) -> None:
    """Enlarge the largest cluster of strategies in the panel `close`, and frame it in the panel `ax`."""
    cluster = _largest_cluster(mean)
    low, high = mean[:, cluster].min(axis=1), mean[:, cluster].max(axis=1)
    half = max(0.62 * float((high - low).max()), 0.4)
    x, y = (low + high) / 2 - half
    close.set(xlim=(x, x + 2 * half), ylim=(y, y + 2 * half))
    ax.add_patch(Rectangle((x, y), 2 * half, 2 * half, fill=False, edgecolor="0.35", linewidth=0.9, zorder=5))
    inside = (np.abs(mean - np.array([[x + half], [y + half]])) <= half).all(axis=0)
    for name, (rank_x, rank_y), shown in zip(names, mean.T, inside, strict=True):
        if shown:
            close.plot(rank_x, rank_y, zorder=_layer(name), **look(name).point())
    close.locator_params(nbins=5)


def _largest_cluster(mean: FloatArray) -> BoolArray:
    """Return the strategies in the square of side `CLUSTER_SIZE` that has most of them; if tied, the tightest group."""
    k = mean.shape[1]
    corners = [(mean[0, i], mean[1, j]) for i in range(k) for j in range(k)]
    size = CLUSTER_SIZE
    groups = [((mean[0] >= x) & (mean[0] <= x + size) & (mean[1] >= y) & (mean[1] <= y + size)) for x, y in corners]
    return max(groups, key=lambda group: (group.sum(), -np.ptp(mean[:, group], axis=1).max() if group.any() else 0.0))


def _draw_bounds(ax: Axes, centre: FloatArray, distances: FloatArray) -> None:
    """Draw a pair of lines for each level and task, if they lie in the panel."""
    limits = (ax.get_xlim(), ax.get_ylim())
    for of_level, line in zip(distances, BOUND_LINES, strict=False):
        for task, draw in enumerate((ax.axvline, ax.axhline)):
            for sign in (-1, 1):
                rank = centre[task] + sign * of_level[task]
                if limits[task][0] <= rank <= limits[task][1]:
                    draw(rank, color=BOUND_COLOURS[task], linewidth=0.8, linestyle=line, zorder=1)


def _draw_legend(figure: Figure, ax: Axes, tasks: list[str], levels: list[float]) -> None:
    """Draw a legend of strategies and bounds below all panels."""
    handles, labels = ax.get_legend_handles_labels()
    for level, line in zip(levels, BOUND_LINES, strict=False):
        handles.append(Line2D([], [], color="0.3", linewidth=0.9, linestyle=line))
        labels.append(f"p = {level:g}")
    if levels:
        for task, colour, direction in zip(tasks, BOUND_COLOURS, ("vertical", "horizontal"), strict=True):
            handles.append(Line2D([], [], color=colour, linewidth=0.9))
            labels.append(f"{task} ({direction})")
    figure.legend(handles, labels, loc="outside lower center", ncols=6, handlelength=2.0, columnspacing=1.2)


def draw_ranks_by_time(ranks: xr.Dataset) -> Drawing:
    """Draw the mean rank of every strategy at each time point, with a row of panels per task and a column per class.

    Parameters
    ----------
    ranks : Dataset
        Tasks, each (world_class, world, strategy, snapshot). `snapshot` is the completed share of the run.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes, names = ([str(x) for x in ranks[dim].values] for dim in ("world_class", "strategy"))
    shares = [float(share) for share in ranks["snapshot"].values]
    tasks = [str(task) for task in ranks.data_vars]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.8 * len(tasks) + 0.5, rows=len(tasks), sharex=True)
        drawing = Drawing(figure, ("task", "world_class", "strategy", "snapshot", "mean_rank", "sd"))
        for i, (task, world_class) in enumerate((task, name) for task in tasks for name in classes):
            values = ranks[task].sel(world_class=world_class).transpose("strategy", "snapshot", "world").values
            mean, sd = values.mean(axis=2), values.std(axis=2, ddof=1)
            for s, name in enumerate(names):
                _draw_over_time(axes[i], name, mean[s], (s + 0.5) / len(names) - 0.5)
                lines = zip(shares, mean[s].tolist(), sd[s].tolist(), strict=True)
                drawing.add((task, world_class, name, *line) for line in lines)
            if i < len(classes):
                axes[i].set_title(title(world_class), parse_math=False)
            if i % len(classes) == 0:
                axes[i].set_ylabel(f"mean rank in {task} loss")
        for ax in axes[-len(classes) :]:
            ax.set_xticks(range(len(shares)), [f"{100 * share:g} %" for share in shares])
            ax.set_xlabel("share of the run")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, handlelength=2.6, columnspacing=1.0)
    return drawing


def _draw_over_time(ax: Axes, name: str, mean: FloatArray, shift: float) -> None:
    """Draw one strategy over time, shifted a little so that equal ranks do not hide each other."""
    style = look(name)
    x = np.arange(len(mean)) + 0.62 * shift
    ax.plot(x, mean, color=style.colour, linestyle=style.line, linewidth=0.7, alpha=0.55)
    ax.plot(x, mean, **{**style.point(), "markersize": style.size(4.2), "markeredgewidth": 0.8})
