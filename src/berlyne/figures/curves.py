"""Learning curves: of one run, averages over worlds as in the paper's Figs. 3, 4, 6, 7, S3 and S4, and with bands.

A band is one standard error, for any measure over time in any class of worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from berlyne.figures.figure_data import Drawing
from berlyne.figures.legends import legend_below
from berlyne.figures.palette import distinct_looks
from berlyne.figures.style import ERROR_LINE, RC, Look, check_axes, disable_math, format_log_axis, look, panels, thinned
from berlyne.validation import OWN_PRIOR, FloatArray
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.experiments import Results
    from berlyne.exploration.env_run import EnvRun
    from berlyne.exploration.run import Run


LABELS = {"missing_information": "missing information (bits)", "l1_distance": "L1 distance"}
UNITS = {"missing_information": " (bits)"}
LINEAR = 1.0
"""Differences are drawn on an axis that is linear as far as this from zero, and logarithmic beyond."""


def draw_run(run: Run, ax: Axes | None = None, **style: Any) -> Axes:
    """The learning curve of one run: missing information against time, in the look of its strategy."""
    check_axes(ax)
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    usual = look(str(run.strategy)).curve(range(run.n_steps + 1))
    ax.plot(run.missing_information, **{**usual, **style})
    ax.set(xlabel="time (steps)", ylabel=LABELS["missing_information"], title=run.world.name)
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    disable_math(ax.title, *ax.legend(frameon=False).get_texts())
    return ax


def draw_env_run(run: EnvRun, ax: Axes | None = None, **style: Any) -> Axes:
    """The learning curve of an exploration of an environment: expected missing information against time."""
    check_axes(ax)
    left = run.expected_missing_information
    if np.all(np.isnan(left)):
        raise ValueError(
            f"{type(run.explorer.prior).__name__} does not say what is expected to be missing; give it a method "
            f"expected_missing_information(counts) that returns bits [a, s]{OWN_PRIOR}"
        )
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    usual = look(str(run.explorer.strategy)).curve(range(run.n_steps + 1))
    ax.plot(left, **{**usual, **style})
    ax.set(xlabel="time (steps)", ylabel="expected missing information (bits)")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    disable_math(*ax.legend(frameon=False).get_texts())
    return ax


def draw_curves(
    results: Results,
    strategies: Sequence[str] | None = None,
    measure: str = "missing_information",
    minus: str | None = None,
) -> Drawing:
    """Mean curves over worlds, one panel per class; standard errors dotted above and below, as in the paper.

    They are those of `Results.curves`: a world counts with the mean of its runs, and one world alone by its runs.

    minus : a strategy that the others are compared with in a second row of panels, which has the mean of their
        differences from it, world by world, with the standard errors of these.
    """
    names = results.strategies if strategies is None else list(strategies)
    classes, rows = results.classes, 1 if minus is None else 2
    with mpl.rc_context(RC):
        figure, axes = panels(len(classes), height=2.7 + 2.2 * (rows - 1), rows=rows, sharex="col")
        looks = distinct_looks(names)
        more = () if minus is None else ("mean_difference", "standard_error_of_difference")
        drawing = Drawing(figure, ("world_class", "strategy", "time", "mean", "standard_error", *more))
        for i, world_class in enumerate(classes):
            ax, values = axes[i], _by_strategy(results, world_class, measure, names)
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


def _by_strategy(results: Results, world_class: str, measure: str, names: list[str]) -> dict[str, FloatArray]:
    """What was measured in the worlds that were explored, (world, time); each counts once, however many its runs."""
    table = results.by_world(world_class, measure)
    return {name: np.asarray(table.sel(strategy=name).values, dtype=float) for name in names}


def _draw(ax: Axes, style: Look, values: FloatArray, shown: bool = True) -> tuple[FloatArray, FloatArray]:
    """The mean over worlds and its standard error; returns both."""
    mean, error = mean_and_error(values)
    if shown:
        times = thinned(len(mean))
        for sign in (-1, 1):
            ax.plot(times, (mean + sign * error)[times], color=style.colour, **ERROR_LINE)
        ax.plot(times, mean[times], **style.curve(times))
    return mean, error


def mean_and_error(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean over worlds and its standard error, of the worlds that are there; `values` is (world, time)."""
    there = values[~np.isnan(values).any(axis=1)]
    if not len(there):
        return values.mean(axis=0), values.mean(axis=0)
    error = there.std(axis=0, ddof=1) / np.sqrt(len(there)) if len(there) > 1 else np.full(there.shape[1], np.nan)
    return there.mean(axis=0), error


def _fit(ax: Axes) -> None:
    """From nothing to the largest."""
    lowest = min(float(np.nanmin(line.get_ydata())) for line in ax.lines)
    ax.set_ylim(bottom=min(0.0, lowest))
    ax.locator_params(axis="x", nbins=5)


def _fit_differences(ax: Axes) -> None:
    """Small differences on a linear part of the axis, large ones on logarithmic parts; a line at none."""
    ax.set_yscale("symlog", linthresh=LINEAR, linscale=1.0)
    ax.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)
    ax.margins(y=0.08)
    marks = [sign * mark for mark in (0.5, 1, 3, 10, 30, 100, 1000) for sign in (-1, 1)]
    format_log_axis(ax.yaxis, sorted([0.0, *marks]))


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
        looks = distinct_looks(names)
        said = ""
        for where, (world_class, curve) in zip(axes, curves.items(), strict=True):
            for name in names:
                _draw_band(where, looks[name], curve.sel(strategy=name))
            _label(where, title(world_class), curve.sizes["time"] - 1)
            before, said = said, measure if isinstance(measure, str) else measure[world_class]
            if said != before:  # a panel without a label shows what the one before it does
                where.set_ylabel(said.replace("_", " ") + (f" ({units})" if units not in ("", "1") else ""))
        if legend and names:
            figure = axes[0].get_figure(root=True)
            assert figure is not None
            legend_below(figure, *axes[0].get_legend_handles_labels())
        elif names:
            disable_math(*axes[0].legend(frameon=False).get_texts())
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


def _draw_band(ax: Axes, style: Look, curve: xr.Dataset) -> None:
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
    disable_math(ax.title)
    lowest = min((float(np.nanmin(line.get_ydata())) for line in ax.lines), default=0.0)
    ax.set_ylim(bottom=min(0.0, lowest))
    ax.locator_params(axis="x", nbins=5)
