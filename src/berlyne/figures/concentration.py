"""Exploration while the concentration of the prior is learned, as in the paper's Fig. S5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from berlyne.figures.curves import mean_and_error
from berlyne.figures.figure_data import Drawing
from berlyne.figures.style import ERROR_LINE, RC, UNCLIPPED, format_log_axis, panels, thinned
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

KNOWN_STYLE = ("black", "-", "^")
START_STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#1a9641", (0, (5, 1.5)), "o"),
    ("#c51b9b", (0, (8, 1.5, 2, 1.5)), "s"),
    ("#f07f13", (0, (11, 2)), "D"),
    ("#2b55c4", (0, (5, 1.5, 2, 1.5, 2, 1.5)), "v"),
)
"""Colour, line and marker for the given concentration, and for each start of learning."""
BAND = (16.0, 84.0)
"""Percentiles over worlds that limit the shaded band of concentrations."""
HEADER = (
    "quantity", "world_class", "prior", "start", "time", "mean", "standard_error", "median", "percentile_16",
    "percentile_84",
)  # fmt: skip


def draw_concentration(learned: xr.Dataset) -> Drawing:
    """Draw learning curves with the true and with learned concentrations, and below them the learned concentrations.

    Parameters
    ----------
    learned : Dataset
        `given` (world_class, world, time), `learned` and `alpha` (world_class, world, start, time), and `true_alpha`
        (world_class,). `start` is the concentration that learning starts from.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    classes = [str(name) for name in learned["world_class"].values]
    starts = [float(start) for start in learned["start"].values]
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=4.7, rows=2, sharex="col")
        drawing = Drawing(figure, HEADER)
        for name, above, below in zip(classes, axes, axes[len(classes) :], strict=False):
            selected = learned.sel(world_class=name)
            true = float(selected["true_alpha"])
            lines = _draw_curve(above, _values(selected["given"]), KNOWN_STYLE, "given")
            drawing.add(("missing_information", name, "given", true, *line) for line in lines)
            for i, start in enumerate(starts):
                style, of_start = START_STYLES[i % len(START_STYLES)], selected.isel(start=i)
                lines = _draw_curve(above, _values(of_start["learned"]), style, f"learned from {start:g}")
                drawing.add(("missing_information", name, "learned", start, *line) for line in lines)
                lines = _draw_alpha(below, _values(of_start["alpha"]), style)
                drawing.add(("alpha", name, "learned", start, *line) for line in lines)
            below.axhline(true, color="black", linewidth=0.9, zorder=1)
            _label(above, below, name, len(lines))
        axes[0].set_ylabel("missing information (bits)")
        axes[len(classes)].set_ylabel("concentration")
        handles, labels = axes[0].get_legend_handles_labels()
        handles += [Patch(color="0.8", linewidth=0), axes[-1].lines[-1]]
        labels += ["central 68 % of worlds", "true concentration"]
        figure.legend(handles, labels, loc="outside lower center", ncols=6, handlelength=3.2, columnspacing=1.2)
    return drawing


def _values(values: xr.DataArray) -> FloatArray:
    """Return the values of one class, (world, time), cut to the length of its runs."""
    return np.asarray(values.transpose("world", "time").dropna("time", how="all").values, dtype=float)


def _label(above: Axes, below: Axes, name: str, n_times: int) -> None:
    above.set_title(title(name), parse_math=False)
    above.set(xscale="symlog", xlim=(0, n_times - 1))
    above.set_ylim(bottom=0)
    below.set(xlabel="time (steps)", yscale="log")
    format_log_axis(above.xaxis, [0, 1, 10, 100, 1000, 10_000])
    format_log_axis(below.yaxis)


def _draw_curve(ax: Axes, curve: FloatArray, style: tuple[str, Any, str], label: str) -> list[tuple[float, ...]]:
    """Draw a mean learning curve with its standard errors, and return its lines of the table."""
    colour = style[0]
    mean, error = mean_and_error(curve)
    times = thinned(len(mean))
    for sign in (-1, 1):
        ax.plot(times, (mean + sign * error)[times], color=colour, **ERROR_LINE)
    ax.plot(times, mean[times], label=label, **_marked(style, times))
    return _lines(curve)


def _draw_alpha(ax: Axes, alpha: FloatArray, style: tuple[str, Any, str]) -> list[tuple[float, ...]]:
    """Draw the median of the learned concentrations and a band of most of them, and return their lines of the table."""
    lines = _lines(alpha)
    times = thinned(len(lines))
    median, low, high = np.array(lines)[times, 3:].T
    ax.fill_between(times, low, high, color=style[0], alpha=0.22, linewidth=0)
    ax.plot(times, median, **_marked(style, times))
    return lines


def _marked(style: tuple[str, Any, str], times: IntArray) -> dict[str, Any]:
    """Return keywords for a line with a few markers, spaced evenly on a logarithmic axis."""
    colour, line, marker = style
    shift = {"^": 0.0, "o": 0.25, "s": 0.5}.get(marker, 0.75)
    at = np.searchsorted(times, times[-1] ** ((np.arange(5) + shift) / 5))
    return {
        "color": colour, "linestyle": line, "marker": marker, "markevery": np.unique(at).tolist(), **UNCLIPPED,
        "markerfacecolor": colour if marker == "^" else "white",
    }  # fmt: skip


def _lines(values: FloatArray) -> list[tuple[float, ...]]:
    """Return time, mean, standard error, median and percentiles over worlds, for each time."""
    mean, error = mean_and_error(values)
    low, median, high = np.percentile(values, (BAND[0], 50.0, BAND[1]), axis=0)
    columns = (mean, error, median, low, high)
    return list(zip(range(len(mean)), *(column.tolist() for column in columns), strict=True))
