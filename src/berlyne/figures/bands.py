"""Mean curves with bands of one standard error, of any measure over time in any classes of worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from berlyne.figures.apart import looks_apart
from berlyne.figures.legends import legend_below
from berlyne.figures.style import RC, Look, check_axes, panels, thinned, verbatim
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

BAND = 0.2
"""How much of its colour a band has."""


def draw_bands(
    curves: Mapping[str, xr.Dataset], measure: str | Mapping[str, str], units: str = "", ax: Any = None
) -> list[Axes]:
    """Draw `mean` (strategy, time) with a band of `sem` around it, one panel per class of worlds.

    curves : by class. measure : what they show, or what they show by class. ax : an `Axes`, or one for each class; by
    default a new figure.
    """
    with mpl.rc_context(RC):
        axes, legend = _axes(list(curves), ax)
        names = [str(name) for name in next(iter(curves.values()))["strategy"].values]
        looks = looks_apart(names)
        said = ""
        for where, (world_class, curve) in zip(axes, curves.items(), strict=True):
            for name in names:
                _draw(where, looks[name], curve.sel(strategy=name))
            _label(where, title(world_class), curve.sizes["time"] - 1)
            before, said = said, measure if isinstance(measure, str) else measure[world_class]
            if said != before:  # a panel without a label shows what the one before it does
                where.set_ylabel(said.replace("_", " ") + (f" ({units})" if units not in ("", "1") else ""))
        if legend and names:
            figure = axes[0].get_figure(root=True)
            assert figure is not None
            legend_below(figure, *axes[0].get_legend_handles_labels())
        elif names:
            verbatim(*axes[0].legend(frameon=False).get_texts())
    return axes


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
