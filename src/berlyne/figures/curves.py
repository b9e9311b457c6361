"""Draw learning curves: of one run, means over worlds as in the paper's Figs. 3, 4, 6, 7, S3 and S4, and with bands.

A band is one standard error wide on each side. Bands can show any measure over time in any class of worlds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from berlyne.appearance import distinct_looks
from berlyne.figures.figure_data import Drawing
from berlyne.figures.legends import legend_below
from berlyne.figures.style import (
    BELOW_BOUND,
    BOUND_LINE,
    ERROR_LINE,
    RC,
    Look,
    check_axes,
    disable_math,
    format_log_axis,
    look,
    panels,
    thinned,
)
from berlyne.validation import OWN_PRIOR, FloatArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.bounds import FluidBound
    from berlyne.experiments import Results
    from berlyne.exploration.run import Run


MAX_COLUMNS = 4
"""Largest number of panels in a row; more classes are wrapped into rows."""
LABELS = {"missing_information": "missing information (bits)", "l1_distance": "L1 distance"}
UNITS = {"missing_information": " (bits)"}
LINEAR_THRESHOLD = 1.0
"""The axis of differences is linear up to this distance from zero, and logarithmic beyond."""


def draw_bound(ax: Axes, curve: ArrayLike) -> None:
    """Draw the line below which no explorer can stay on average, and shade the area below it.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    curve : array_like of shape (n_steps + 1,)
        The bound before the first and after every step, such as `FluidBound.curve`.
    """
    values = np.asarray(curve, dtype=float)
    times = thinned(len(values))
    ax.fill_between(times, 0.0, values[times], **BELOW_BOUND)
    ax.plot(times, values[times], **BOUND_LINE)


def draw_run(run: Run, ax: Axes | None = None, *, bound: FluidBound | None = None, **style: Any) -> Axes:
    """Draw the learning curve of one run in the look of its strategy: missing information in bits over time.

    It is the expected missing information if the true world is unknown.

    Parameters
    ----------
    run : Run
        The exploration.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    bound : FluidBound, optional
        Bound of the missing information, which is drawn as a line.
    **style : Any
        Keywords of `Axes.plot` that override the look.

    Returns
    -------
    Axes
        The axes of the curve.
    """
    check_axes(ax)
    curve, label = run.learning_curve, LABELS["missing_information"]
    if np.all(np.isnan(curve)):
        raise ValueError(
            f"{type(run.prior).__name__} does not define expected missing information; give it a method "
            f"expected_missing_information(counts) that returns bits [a, s]{OWN_PRIOR}"
        )
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    if bound is not None:
        draw_bound(ax, bound.curve)
    usual = look(str(run.strategy)).curve(range(run.n_steps + 1))
    ax.plot(curve, **{**usual, **style})
    known = {"ylabel": f"expected {label}"} if run.world is None else {"ylabel": label, "title": run.world.name}
    ax.set(xlabel="time (steps)", **known)
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    disable_math(ax.title, *ax.legend(frameon=False).get_texts())
    return ax


def draw_curves(
    results: Results,
    strategies: Sequence[str] | None = None,
    measure: str = "missing_information",
    minus: str | None = None,
    bounds: Mapping[str, ArrayLike] | None = None,
) -> Drawing:
    """Draw mean curves over worlds, one panel per class, with dotted standard errors as in the paper.

    The values are those of `Results.curves`: a world counts with the mean of its runs, and if there is only one world,
    its runs count.

    Parameters
    ----------
    results : Results
        Results of an experiment.
    strategies : sequence of str, optional
        Strategies to draw; by default all.
    measure : str
        Measure to draw.
    minus : str, optional
        Strategy that the others are compared with. A second row of panels shows the mean over worlds of their
        differences from it, with standard errors.
    bounds : mapping of str to array_like of shape (n_steps + 1,), optional
        Bound of the measure by class, averaged over its worlds, such as `FluidBound.curve`.

    Returns
    -------
    Drawing
        The figure and its numbers.
    """
    names = results.strategies if strategies is None else list(strategies)
    classes, rows = results.classes, 1 if minus is None else 2
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.7 + 2.2 * (rows - 1), rows=rows, sharex="col")
        looks = distinct_looks(names)
        extra = () if minus is None else ("mean_difference", "standard_error_of_difference")
        drawing = Drawing(figure, ("world_class", "strategy", "time", "mean", "standard_error", *extra))
        for i, world_class in enumerate(classes):
            ax, values = axes[i], _by_strategy(results, world_class, measure, names)
            if bounds is not None and world_class in bounds:
                draw_bound(ax, bounds[world_class])
                drawing.add(
                    (world_class, "bound", t, *line)
                    for t, line in enumerate(_bound_lines(bounds[world_class], drawing))
                )
            for name in names:
                columns = [*_draw(ax, looks[name], values[name])]
                if minus is not None:
                    columns += _draw(axes[i + len(classes)], looks[name], values[name] - values[minus], name != minus)
                lines = zip(*(column.tolist() for column in columns), strict=True)
                drawing.add((world_class, name, t, *line) for t, line in enumerate(lines))
            ax.set(title=title(world_class), xlim=(0, len(columns[0]) - 1))
            disable_math(ax.title)
            _fit(ax)
            if minus is not None:
                _fit_differences(axes[i + len(classes)])
            axes[i - len(classes)].set_xlabel("time (steps)")
        axes[0].set_ylabel(LABELS.get(measure, measure))
        if minus is not None:
            axes[len(classes)].set_ylabel(f"difference from {minus}{UNITS.get(measure, '')}", parse_math=False)
        legend_below(figure, *axes[0].get_legend_handles_labels())
    return drawing


def _bound_lines(curve: ArrayLike, drawing: Drawing) -> list[tuple[float, ...]]:
    """Return the lines of a bound in the table of a drawing: its values, and NaN in all columns that follow."""
    return [(value, *[np.nan] * (len(drawing.header) - 4)) for value in np.asarray(curve, dtype=float).tolist()]


def _by_strategy(results: Results, world_class: str, measure: str, names: list[str]) -> dict[str, FloatArray]:
    """Return the measure of each strategy, (world, time), averaged over the runs of each world."""
    table = results.by_world(world_class, measure)
    return {name: np.asarray(table.sel(strategy=name).values, dtype=float) for name in names}


def _draw(ax: Axes, style: Look, values: FloatArray, visible: bool = True) -> tuple[FloatArray, FloatArray]:
    """Draw the mean over worlds and its standard error, and return both."""
    mean, error = mean_and_error(values)
    if visible:
        times = thinned(len(mean))
        for sign in (-1, 1):
            ax.plot(times, (mean + sign * error)[times], color=style.colour, **ERROR_LINE)
        ax.plot(times, mean[times], **style.curve(times))
    return mean, error


def mean_and_error(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over worlds and its standard error; `values` is (world, time), worlds with NaN are left out."""
    valid = values[~np.isnan(values).any(axis=1)]
    if not len(valid):
        return values.mean(axis=0), values.mean(axis=0)
    error = valid.std(axis=0, ddof=1) / np.sqrt(len(valid)) if len(valid) > 1 else np.full(valid.shape[1], np.nan)
    return valid.mean(axis=0), error


def _fit(ax: Axes) -> None:
    """Start the y axis at zero, or at the lowest value if that is negative."""
    lowest = min(float(np.nanmin(line.get_ydata())) for line in ax.lines)
    ax.set_ylim(bottom=min(0.0, lowest))
    ax.locator_params(axis="x", nbins=5)


def _fit_differences(ax: Axes) -> None:
    """Make the y axis linear for small differences and logarithmic for large ones, with a line at zero."""
    ax.set_yscale("symlog", linthresh=LINEAR_THRESHOLD, linscale=1.0)
    ax.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)
    ax.margins(y=0.08)
    marks = [sign * mark for mark in (0.5, 1, 3, 10, 30, 100, 1000) for sign in (-1, 1)]
    format_log_axis(ax.yaxis, sorted([0.0, *marks]))


BAND_ALPHA = 0.2
"""Opacity of a band."""


def draw_bands(
    curves: Mapping[str, xr.Dataset],
    measure: str | Mapping[str, str],
    units: str = "",
    ax: Any = None,
    bounds: Mapping[str, ArrayLike] | None = None,
) -> list[Axes]:
    """Draw mean curves with bands of one standard error, one panel per class of worlds.

    Five classes or more are drawn in several rows.

    Parameters
    ----------
    curves : mapping of str to Dataset
        `mean` and `sem` (strategy, time) by class.
    measure : str or mapping of str to str
        Name of the measure, or its name by class.
    units : str
        Unit of the measure; "" or "1" for none.
    ax : Axes or sequence of Axes, optional
        Axes to draw on, one for each class; by default those of a new figure.
    bounds : mapping of str to array_like of shape (n_steps + 1,), optional
        Bound of the measure by class, such as `FluidBound.curve`.

    Returns
    -------
    list of Axes
        One for each class.
    """
    with mpl.rc_context(RC):
        axes, legend = _axes(list(curves), ax)
        names = [str(name) for name in next(iter(curves.values()))["strategy"].values]
        looks = distinct_looks(names)
        label = ""
        for panel, (world_class, curve) in zip(axes, curves.items(), strict=True):
            if bounds is not None and world_class in bounds:
                draw_bound(panel, bounds[world_class])
            for name in names:
                _draw_band(panel, looks[name], curve.sel(strategy=name))
            _label(panel, title(world_class), curve.sizes["time"] - 1)
            previous, label = label, measure if isinstance(measure, str) else measure[world_class]
            grid = panel.get_subplotspec()
            begins_row = legend and grid is not None and grid.is_first_col()
            if label != previous or begins_row:  # a panel without a label shows the same measure as the one before it
                panel.set_ylabel(label.replace("_", " ") + (f" ({units})" if units not in ("", "1") else ""))
        if legend and names:
            figure = axes[0].get_figure(root=True)
            assert figure is not None
            legend_below(figure, *axes[0].get_legend_handles_labels())
        elif names:
            disable_math(*axes[0].legend(frameon=False).get_texts())
    return axes


def _axes(classes: list[str], ax: Any) -> tuple[list[Axes], bool]:
    """Return a panel for each class, and whether the figure is new and needs one legend below all panels."""
    if ax is None:
        rows = math.ceil(len(classes) / MAX_COLUMNS)
        columns = math.ceil(len(classes) / rows)
        axes = panels(columns, height=3.2 if rows == 1 else 2.6 * rows, rows=rows)[1]
        for unused in axes[len(classes) :]:
            unused.remove()
        return axes[: len(classes)], True
    axes = list(np.ravel(np.array(ax, dtype=object))) if isinstance(ax, list | tuple | np.ndarray) else [ax]
    for panel in axes:
        check_axes(panel, optional=False)
    if len(axes) != len(classes):
        raise ValueError(
            f"ax holds {len(axes)} axes for {len(classes)} classes; give one for each, or select a world_class"
        )
    return axes, False


def _draw_band(ax: Axes, style: Look, curve: xr.Dataset) -> None:
    """Draw one curve and its band; nothing if the strategy has no results."""
    mean, error = curve["mean"].values, curve["sem"].values
    if np.isnan(mean).all():
        return
    times = thinned(len(mean))
    if not np.isnan(error).all():
        low, high = (mean - error)[times], (mean + error)[times]
        ax.fill_between(times, low, high, color=style.colour, alpha=BAND_ALPHA, linewidth=0)
    ax.plot(times, mean[times], **style.curve(times))


def _label(ax: Axes, name: str, last: int) -> None:
    ax.set(title=name, xlabel="time (steps)", xlim=(0, last))
    disable_math(ax.title)
    lowest = min((float(np.nanmin(line.get_ydata())) for line in ax.lines), default=0.0)
    ax.set_ylim(bottom=min(0.0, lowest))
    ax.locator_params(axis="x", nbins=5)
