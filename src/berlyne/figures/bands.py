"""Mean curves with bands of one standard error, of any measure over time in any classes of worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from berlyne.figures.legends import legend_below
from berlyne.figures.style import RC, Look, check_axes, look, panels, thinned, verbatim
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

BAND = 0.2
"""How much of its colour a band has."""
OTHERS = ("#1b6ca8", "#d1495b", "#2e933c", "#8d5fb5", "#e08e1b", "#00798c", "#7a5230", "#c51b9b", "#5c677d", "#9a9a00")
"""Colours of strategies whose usual looks are the same, such as those of a parameter sweep, in turn."""
CLOSE = 0.32
"""Colours that are not farther apart in RGB, each part from 0 to 1, are hard to tell apart in thin lines."""


def draw_bands(curves: Mapping[str, xr.Dataset], measure: str, units: str = "", ax: Any = None) -> list[Axes]:
    """Draw `mean` (strategy, time) with a band of `sem` around it, one panel per class of worlds.

    curves : by class. ax : an `Axes`, or one for each class; by default a new figure.
    """
    with mpl.rc_context(RC):
        axes, legend = _axes(list(curves), ax)
        names = [str(name) for name in next(iter(curves.values()))["strategy"].values]
        looks = looks_apart(names)
        for where, (world_class, curve) in zip(axes, curves.items(), strict=True):
            for name in names:
                _draw(where, looks[name], curve.sel(strategy=name))
            _label(where, title(world_class), curve.sizes["time"] - 1)
        axes[0].set_ylabel(measure.replace("_", " ") + (f" ({units})" if units not in ("", "1") else ""))
        if legend and names:
            figure = axes[0].get_figure(root=True)
            assert figure is not None
            legend_below(figure, *axes[0].get_legend_handles_labels())
        elif names:
            verbatim(*axes[0].legend(frameon=False).get_texts())
    return axes


def looks_apart(names: Sequence[str]) -> dict[str, Look]:
    """The looks of strategies; of those that would look the same, all but one are given colours of their own.

    The one that keeps its look is the first without parameters in its name, or else the first.
    """
    usual = {name: look(name) for name in names}
    alike: dict[tuple[Any, ...], list[str]] = {}
    for name, one in usual.items():
        alike.setdefault((one.colour, one.marker, one.line), []).append(name)
    keep = {next((name for name in group if "=" not in name), group[0]) for group in alike.values()}
    used = [usual[name].colour for name in usual if name in keep]
    for name, one in usual.items():
        if name not in keep:
            used.append(_another(used))
            usual[name] = replace(one, colour=used[-1])
    return usual


def _another(used: Sequence[str]) -> str:
    """The first colour that is not close to any in use; if all are, the farthest of those used least often."""
    room = {colour: min(_apart(colour, other) for other in used) for colour in OTHERS}
    free = [colour for colour in OTHERS if room[colour] > CLOSE]
    return free[0] if free else max(OTHERS, key=lambda colour: (-used.count(colour), room[colour]))


def _apart(one: str, other: str) -> float:
    """The distance of two colours in RGB, where each part goes from 0 to 1."""
    return float(np.linalg.norm(np.subtract(to_rgb(one), to_rgb(other))))


def _axes(classes: list[str], ax: Any) -> tuple[list[Axes], bool]:
    """A panel for each class, and whether they are of a figure of ours, which has one legend below."""
    if ax is None:
        return panels(len(classes), height=3.2)[1], True
    axes = list(np.ravel(np.array(ax, dtype=object))) if isinstance(ax, list | tuple | np.ndarray) else [ax]
    for each in axes:
        check_axes(each, optional=False)
    if len(axes) != len(classes):
        raise ValueError(f"ax holds {len(axes)} axes for {len(classes)} classes; give one for each, or say world_class")
    return axes, False


def _draw(ax: Axes, style: Look, curve: xr.Dataset) -> None:
    """One curve and its band; nothing of a strategy that has explored nothing."""
    mean, error = curve["mean"].values, curve["sem"].values
    if np.isnan(mean).all():
        return
    times = thinned(len(mean))
    if not np.isnan(error).all():
        low, high = (mean - error)[times], (mean + error)[times]
        ax.fill_between(times, low, high, color=style.colour, alpha=BAND, linewidth=0)
    ax.plot(times, mean[times], **style.curve(times))


def _label(ax: Axes, name: str, last: int) -> None:
    ax.set(title=name, xlabel="time (steps)", xlim=(0, last))
    verbatim(ax.title)
    lowest = min((float(np.nanmin(line.get_ydata())) for line in ax.lines), default=0.0)
    ax.set_ylim(bottom=min(0.0, lowest))
    ax.locator_params(axis="x", nbins=5)
