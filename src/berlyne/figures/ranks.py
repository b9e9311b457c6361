"""Mean ranks in two tasks against each other, as in the paper's Fig. 8, and at each time point (reading R19)."""

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
"""Of vertical bounds, which are for the first task, and of horizontal ones, for the second."""
CROWD = 1.5
"""Strategies whose mean ranks in both tasks lie within so many ranks are a crowd, and are drawn again, enlarged."""


def draw_ranks(ranks: xr.Dataset, around: str, reaches: Mapping[float, xr.Dataset] | None = None) -> Drawing:
    """Mean rank in one task against mean rank in another, with standard deviations; below, the largest crowd enlarged.

    Parameters
    ----------
    ranks : two tasks, each (world_class, world, strategy): the rank of every strategy in every world.
    around : the strategy that significance bounds are drawn around.
    reaches : by level, how far bounds of that level lie from it: the two tasks, each (world_class,). Those of the
        lowest level are drawn solid, those of the next dashed.
    """
    classes, names = ([str(x) for x in ranks[dim].values] for dim in ("world_class", "strategy"))
    tasks = [str(task) for task in ranks.data_vars]
    levels = sorted(reaches or {})
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=6.0, rows=2)
        drawing = Drawing(figure, _header(tasks, levels))
        for world_class, ax, close in zip(classes, axes, axes[len(classes) :], strict=False):
            mean, sd = _mean_and_sd(ranks.sel(world_class=world_class), tasks)
            reach = _reach(reaches or {}, world_class, tasks)  # (level, task)
            _draw_points(ax, names, mean, sd, on_top=around)
            _fit(ax, mean, sd)
            _draw_crowd(ax, close, names, mean)
            for panel in (ax, close):
                _draw_bounds(panel, mean[:, names.index(around)], reach)
                panel.set_aspect("equal")
            for i, name in enumerate(names):
                parts = [mean[:, i], sd[:, i], *reach]
                drawing.add([(world_class, name, *(float(part[task]) for task in (0, 1) for part in parts))])
            ax.set_title(title(world_class), parse_math=False)
            ax.set_xlabel(f"mean rank in {tasks[0]} loss")
            close.set_xlabel(f"mean rank in {tasks[0]} loss")
        for left in axes[:: len(classes)]:
            left.set_ylabel(f"mean rank in {tasks[1]} loss")
        _explain(figure, axes[0], tasks, levels)
    return drawing


def _header(tasks: list[str], levels: list[float]) -> tuple[str, ...]:
    parts = ("rank", "sd", *(f"bound_{level:g}" for level in levels))
    return "world_class", "strategy", *(f"{task}_{part}" for task in tasks for part in parts)


def _reach(reaches: Mapping[float, xr.Dataset], world_class: str, tasks: list[str]) -> FloatArray:
    """How far bounds lie from the centre in one class, (level, task)."""
    found = [[float(reaches[level][task].sel(world_class=world_class)) for task in tasks] for level in sorted(reaches)]
    return np.array(found).reshape(-1, 2)


def _mean_and_sd(ranks: xr.Dataset, tasks: list[str]) -> tuple[FloatArray, FloatArray]:
    """Over worlds, each (task, strategy)."""
    values = [ranks[task].transpose("world", "strategy").values for task in tasks]
    return np.stack([v.mean(axis=0) for v in values]), np.stack([v.std(axis=0, ddof=1) for v in values])


def _draw_points(ax: Axes, names: list[str], mean: FloatArray, sd: FloatArray, on_top: str) -> None:
    for name, (x, y), (sx, sy) in zip(names, mean.T, sd.T, strict=True):
        style = look(name)
        ax.errorbar(x, y, xerr=sx, yerr=sy, fmt="none", ecolor=style.colour, elinewidth=0.8, alpha=0.4)
        ax.plot(x, y, zorder=_layer(name, on_top), **style.point())


def _layer(name: str, on_top: str = "") -> int:
    """Asterisks, which hide little, lie above other markers."""
    return 5 if name == on_top else 4 if look(name).is_asterisk else 3


def _fit(ax: Axes, mean: FloatArray, sd: FloatArray) -> None:
    """Room for all bars, the same in both tasks; whole ranks marked."""
    low, high = float((mean - sd).min()) - 0.4, float((mean + sd).max()) + 0.4
    ends = min(low, 0.5), max(high, mean.shape[1] + 0.5)
    ax.set(xlim=ends, ylim=ends)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(range(1, mean.shape[1] + 1, 3))


def _draw_crowd(ax: Axes, close: Axes, names: list[str], mean: FloatArray) -> None:
    """The strategies that lie closest together once more, large; a frame shows where they were."""
    there = _crowd(mean)
    low, high = mean[:, there].min(axis=1), mean[:, there].max(axis=1)
    half = max(0.62 * float((high - low).max()), 0.4)
    x, y = (low + high) / 2 - half
    close.set(xlim=(x, x + 2 * half), ylim=(y, y + 2 * half))
    ax.add_patch(Rectangle((x, y), 2 * half, 2 * half, fill=False, edgecolor="0.35", linewidth=0.9, zorder=5))
    inside = (np.abs(mean - np.array([[x + half], [y + half]])) <= half).all(axis=0)
    for name, (along, up), shown in zip(names, mean.T, inside, strict=True):
        if shown:
            close.plot(along, up, zorder=_layer(name), **look(name).point())
    close.locator_params(nbins=5)


def _crowd(mean: FloatArray) -> BoolArray:
    """Which strategies lie in the square of that size that holds most of them; of equal ones, the tightest."""
    k = mean.shape[1]
    corners = [(mean[0, i], mean[1, j]) for i in range(k) for j in range(k)]
    held = [((mean[0] >= x) & (mean[0] <= x + CROWD) & (mean[1] >= y) & (mean[1] <= y + CROWD)) for x, y in corners]
    return max(held, key=lambda inside: (inside.sum(), -np.ptp(mean[:, inside], axis=1).max() if inside.any() else 0.0))


def _draw_bounds(ax: Axes, centre: FloatArray, reach: FloatArray) -> None:
    """Pairs of lines at each level, as far as they lie in the panel."""
    limits = (ax.get_xlim(), ax.get_ylim())
    for of_level, line in zip(reach, BOUND_LINES, strict=False):
        for task, draw in enumerate((ax.axvline, ax.axhline)):
            for sign in (-1, 1):
                at = centre[task] + sign * of_level[task]
                if limits[task][0] <= at <= limits[task][1]:
                    draw(at, color=BOUND_COLOURS[task], linewidth=0.8, linestyle=line, zorder=1)


def _explain(figure: Figure, ax: Axes, tasks: list[str], levels: list[float]) -> None:
    """A legend of strategies and bounds below all panels."""
    handles, labels = ax.get_legend_handles_labels()
    for level, line in zip(levels, BOUND_LINES, strict=False):
        handles.append(Line2D([], [], color="0.3", linewidth=0.9, linestyle=line))
        labels.append(f"p = {level:g}")
    if levels:
        for task, colour, lie in zip(tasks, BOUND_COLOURS, ("vertical", "horizontal"), strict=True):
            handles.append(Line2D([], [], color=colour, linewidth=0.9))
            labels.append(f"{task} ({lie})")
    figure.legend(handles, labels, loc="outside lower center", ncols=6, handlelength=2.0, columnspacing=1.2)


def draw_ranks_by_time(ranks: xr.Dataset) -> Drawing:
    """Mean rank of every strategy at each time point: a row of panels per task, a column per class.

    `ranks` holds tasks (world_class, world, strategy, snapshot); `snapshot` is the share of the run that was over.
    """
    classes, names = ([str(x) for x in ranks[dim].values] for dim in ("world_class", "strategy"))
    shares = [float(share) for share in ranks["snapshot"].values]
    tasks = [str(task) for task in ranks.data_vars]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.8 * len(tasks) + 0.5, rows=len(tasks), sharex=True)
        drawing = Drawing(figure, ("task", "world_class", "strategy", "snapshot", "mean_rank", "sd"))
        for i, (task, world_class) in enumerate((task, name) for task in tasks for name in classes):
            here = ranks[task].sel(world_class=world_class).transpose("strategy", "snapshot", "world").values
            mean, sd = here.mean(axis=2), here.std(axis=2, ddof=1)
            for s, name in enumerate(names):
                _draw_course(axes[i], name, mean[s], (s + 0.5) / len(names) - 0.5)
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


def _draw_course(ax: Axes, name: str, mean: FloatArray, shift: float) -> None:
    """One strategy over time, a little to the side, so that equal ranks do not hide each other."""
    style = look(name)
    at = np.arange(len(mean)) + 0.62 * shift
    ax.plot(at, mean, color=style.colour, linestyle=style.line, linewidth=0.7, alpha=0.55)
    ax.plot(at, mean, **{**style.point(), "markersize": style.size(4.2), "markeredgewidth": 0.8})
