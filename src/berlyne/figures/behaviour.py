"""Figures of people's choices: recovery, confusion, weights, differences, frequencies, profiles and predictions.

Everything is drawn in black, grey and one colour, so that it can be read without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from berlyne.figures.style import RC, WIDTH
from berlyne.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from berlyne.behaviour import Comparison, Confusion, Fit, ModelFrequencies, Predictive, Recovery, Separation

POINT: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": "#1f5fbf", "markersize": 3.5}
BOUND: dict[str, Any] = {**POINT, "marker": "x", "color": "black"}
ZERO: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
LONG_NAME = 8
"""Longer names below an axis are turned."""
PER_ROW = 4
"""Panels in a row, at most."""


def _name_ticks(ax: Axes, names: Iterable[Any]) -> None:
    """Write names below the axis, turned if they are long."""
    texts = [str(name) for name in names]
    turned: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(texts)), texts, **(turned if max(map(len, texts)) > LONG_NAME else {}))


def _panels(n: int, height: float = 1.8) -> tuple[Figure, list[Axes]]:
    """Return a figure with `n` panels in rows, in the style of all figures."""
    columns = min(n, PER_ROW)
    rows = -(-n // columns)
    width = WIDTH * columns / PER_ROW if n > 1 else WIDTH / 2
    figure, axes = plt.subplots(rows, columns, figsize=(max(width, WIDTH / 2), height * rows), squeeze=False)
    for ax in axes.flat[n:]:
        ax.set_axis_off()
    return figure, list(axes.flat[:n])


def draw_recovery(recovery: Recovery) -> Figure:
    """Draw estimated against true parameters; crosses are at a bound, the line is equality.

    Parameters
    ----------
    recovery : Recovery
        Result of `bb.recover`.

    Returns
    -------
    Figure
        A panel for each parameter, with the correlation, the bias and the share at bounds.
    """
    with mpl.rc_context(RC):
        figure, axes = _panels(len(recovery.true.columns))
        for ax, name in zip(axes, recovery.true, strict=True):
            true, estimated = recovery.true[name].to_numpy(), recovery.estimated[name].to_numpy()
            at_bound = recovery.at_bound[name].to_numpy(bool)
            ends = [float(np.nanmin([true, estimated])), float(np.nanmax([true, estimated]))]
            ax.plot(ends, ends, **ZERO)
            ax.plot(true[~at_bound], estimated[~at_bound], **POINT)
            ax.plot(true[at_bound], estimated[at_bound], **BOUND)
            line = recovery.table.loc[name]
            ax.set_title(f"r {line['r']:.2f}, bias {line['bias']:+.2g}, at bound {line['at_bound']:.0%}", fontsize=6)
            ax.set_xlabel(str(name))
            ax.margins(0.08)
        figure.supxlabel("true value", fontsize=8)
        figure.supylabel("estimate", fontsize=8)
    return figure


def draw_confusion(confusion: Confusion) -> Figure:
    """Draw a confusion matrix and its inverse; darker is more probable.

    Parameters
    ----------
    confusion : Confusion
        Result of `bb.confuse`.

    Returns
    -------
    Figure
        Two matrices with their numbers.
    """
    with mpl.rc_context(RC):
        figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 1.5 + 0.35 * len(confusion.table)))
        _matrix(axes[0], confusion.table, "p(best | simulated)")
        _matrix(axes[1], confusion.inverse, "p(simulated | best)")
        axes[0].set_ylabel("simulated")
        figure.supxlabel(f"best by {confusion.criterion}", fontsize=8)
    return figure


def _matrix(ax: Axes, table: pd.DataFrame, title: str) -> None:
    """Draw a matrix of probabilities with numbers."""
    values = table.to_numpy(float)
    ax.imshow(values, cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "none" if np.isnan(value) else f"{value:.2f}"
        ax.text(j, i, text, ha="center", va="center", color="white" if value > 0.5 else "black", fontsize=7)
    _name_ticks(ax, table.columns)
    ax.set_yticks(range(values.shape[0]), [str(name) for name in table.index])
    ax.set_title(title)


def draw_weights(fit: Fit) -> Figure:
    """Draw the estimates of each person with standard errors, sorted, and the line of zero.

    Parameters
    ----------
    fit : Fit
        A fit.

    Returns
    -------
    Figure
        A panel for each parameter; crosses are at a bound.
    """
    with mpl.rc_context(RC):
        figure, axes = _panels(len(fit.names))
        bounds = np.broadcast_to(fit.logit.at_bound, fit.estimates.shape)
        for i, (ax, name) in enumerate(zip(axes, fit.names, strict=True)):
            order = np.argsort(fit.estimates[:, i])
            estimate, error, at_bound = fit.estimates[order, i], fit.standard_errors[order, i], bounds[order, i]
            x = np.arange(len(order))
            ax.axhline(0.0, **ZERO)
            ax.errorbar(x, estimate, np.nan_to_num(error), fmt="none", ecolor="0.7", elinewidth=0.7)
            ax.plot(x[~at_bound], estimate[~at_bound], **POINT)
            ax.plot(x[at_bound], estimate[at_bound], **BOUND)
            ax.set_title(name)
            ax.set_xticks([])
        figure.supxlabel("people, sorted", fontsize=8)
        figure.supylabel("estimate ± standard error", fontsize=8)
    return figure


def draw_profile(fit: Fit) -> Figure:
    """Draw the score of a fit against each setting that was tried; the line connects the best for each value.

    Parameters
    ----------
    fit : Fit
        A fit with settings.

    Returns
    -------
    Figure
        A panel for each setting with several values.
    """
    names = [name for name in fit.settings.columns if name != "score" and fit.settings[name].nunique() > 1]
    if not names:
        raise ValueError("the fit has no settings with several values, so there is no profile")
    with mpl.rc_context(RC):
        figure, axes = _panels(len(names))
        for ax, name in zip(axes, names, strict=True):
            best = fit.settings.groupby(name)["score"].max()
            ax.plot(fit.settings[name], fit.settings["score"], marker=".", linestyle="none", color="0.7", markersize=3)
            ax.plot(best.index, best.to_numpy(), color="#1f5fbf", marker="o", markersize=3)
            if name.endswith((": c", ": d")) and best.index.min() > 0:
                ax.set_xscale("log")
            ax.set_xlabel(name)
        axes[0].set_ylabel("nats")
    return figure


def draw_frequencies(selection: ModelFrequencies) -> Figure:
    """Draw expected frequencies of models and their protected exceedance probabilities.

    Parameters
    ----------
    selection : ModelFrequencies
        Result of `bb.bms`.

    Returns
    -------
    Figure
        Bars for frequencies, points for probabilities.
    """
    with mpl.rc_context(RC):
        figure, ax = plt.subplots(figsize=(WIDTH / 2, 2.2))
        x = np.arange(len(selection.names))
        ax.bar(x, selection.frequency, color="0.75", width=0.6, label="expected frequency")
        ax.plot(x, selection.protected_exceedance, **POINT, label="protected exceedance")
        ax.axhline(1.0 / len(x), linestyle="--", **ZERO)
        _name_ticks(ax, selection.names)
        ax.set_ylim(0.0, 1.05)
        ax.set_title(f"prior count {selection.prior_count:g}, omnibus risk {selection.omnibus_risk:.2g}", fontsize=7)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def draw_differences(comparison: Comparison, first: str, second: str, by: str | None = None) -> Figure:
    """Draw the difference between two models for each person, sorted.

    Parameters
    ----------
    comparison : Comparison
        Result of `bb.compare`.
    first, second : str
        Names of the models.
    by : str, optional
        Criterion; the first one by default.

    Returns
    -------
    Figure
        A bar for each person; positive if the first model is better.
    """
    total, scores = comparison.difference(first, second, by), comparison.scores(by)
    with mpl.rc_context(RC):
        figure, ax = plt.subplots(figsize=(WIDTH / 2, 2.2))
        d = np.sort((scores[first] - scores[second]).to_numpy())
        ax.bar(np.arange(len(d)), d, color=np.where(d > 0, "#1f5fbf", "0.6"), width=0.85)
        ax.axhline(0.0, color="black", linewidth=0.7)
        ax.set_xticks([])
        ax.set_xlabel(f"people, sorted ({total.criterion})")
        ax.set_ylabel("nats")
        ax.set_title(f"{first} minus {second}\n{total.nats:+.1f} ± {total.se:.1f} nats in all", fontsize=7)
    return figure


def draw_predictive(predictive: Predictive) -> Figure:
    """Draw statistics of real people (black) and of simulated people (median, and the middle 95 % of medians).

    Parameters
    ----------
    predictive : Predictive
        Result of `bb.predictive`.

    Returns
    -------
    Figure
        A panel for each statistic.
    """
    with mpl.rc_context(RC):
        figure, axes = _panels(len(predictive.observed), 2.0)
        for ax, (name, observed) in zip(axes, predictive.observed.items(), strict=True):
            x = np.arange(observed.shape[1])
            low, high = predictive.median_range(name)
            median: FloatArray = np.nanmedian(predictive.simulated[name], axis=0)
            ax.errorbar(x, median, [median - low, high - median], **POINT, ecolor="#1f5fbf", label="simulated")
            ax.plot(x, np.nanmedian(observed, axis=0), "k_", markersize=11, markeredgewidth=1.6, label="people")
            ax.set_title(name)
            ax.set_xticks(x, [str(i + 1) for i in x] if len(x) > 1 else [""])
            ax.set_xlim(-0.6, len(x) - 0.4)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def draw_separation(separation: Separation) -> Figure:
    """Draw nats per choice for each world: the pair hardest to tell apart, and the mean of all pairs.

    Parameters
    ----------
    separation : Separation
        Result of `bb.separate`.

    Returns
    -------
    Figure
        A line for each world, best first.
    """
    table = separation.table
    with mpl.rc_context(RC):
        figure, ax = plt.subplots(figsize=(WIDTH / 2, 0.9 + 0.28 * len(table)))
        y = np.arange(len(table))
        ax.barh(y, table["hardest pair"], color="#1f5fbf", height=0.6, label="hardest pair")
        ax.plot(table["mean"], y, "k|", markersize=9, markeredgewidth=1.5, label="mean of all pairs")
        ax.set_yticks(y, [str(name) for name in table.index])
        ax.invert_yaxis()
        ax.set_xlabel("expected log Bayes factor (nats per choice)")
        figure.legend(loc="outside lower center", ncols=2)
    return figure
