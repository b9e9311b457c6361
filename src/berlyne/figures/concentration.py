"""Exploring while the concentration of the prior is learned, as in the paper's Fig. S5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, panels
from berlyne.worlds import title

if TYPE_CHECKING:
    import xarray as xr

GREEN = "#1a9641"
PRIORS: dict[str, tuple[str, Any]] = {"given": ("black", "-"), "learned": (GREEN, (0, (4, 1.5)))}


def draw_concentration(learned: xr.Dataset) -> Drawing:
    """Learning curves with the true and with the learned concentration, and the concentration learned.

    `learned` holds `missing_information` (world_class, world, prior, time) of the priors "given" and "learned",
    `alpha` (world_class, world, time) and `true_alpha` (world_class,).
    """
    classes = [str(name) for name in learned["world_class"].values]
    with mpl.rc_context(RC):
        figure, axes = panels(2 * len(classes), height=2.3)
        drawing = Drawing(figure, ("quantity", "world_class", "prior", "time", "mean", "standard_error"))
        for left, right, name in zip(axes[::2], axes[1::2], classes, strict=True):
            here = learned.sel(world_class=name)
            for prior in PRIORS:
                lines = _draw_curve(left, here, prior)
                drawing.add(("missing_information", name, prior, *line) for line in lines)
            drawing.add(("alpha", name, "learned", *line) for line in _draw_alpha(right, here))
            left.set_ylim(bottom=0)
            for ax in (left, right):
                ax.set(title=title(name), xlabel="time (steps)", xlim=(0, len(lines) - 1))
        axes[0].set_ylabel("missing information (bits)")
        axes[0].legend(loc="upper right", handlelength=2.2)
        axes[1].legend(loc="upper right", handlelength=1.6)
    return drawing


def _draw_curve(ax: Axes, learned: xr.Dataset, prior: str) -> list[tuple[Any, ...]]:
    """A mean learning curve; returns time, mean and standard error."""
    colour, line = PRIORS[prior]
    curve = learned["missing_information"].sel(prior=prior).dropna("time", how="all").values
    mean, error = curve.mean(axis=0), curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
    ax.plot(mean, color=colour, linestyle=line, label=f"{prior} prior")
    for sign in (-1, 1):
        ax.plot(mean + sign * error, color=colour, linestyle=":", linewidth=0.6)
    return list(zip(range(len(mean)), mean, error, strict=True))


def _draw_alpha(ax: Axes, learned: xr.Dataset) -> list[tuple[Any, ...]]:
    """The concentration learned, and the true one; returns time, mean and standard deviation."""
    alpha, true = learned["alpha"].dropna("time", how="all").values, float(learned["true_alpha"])
    mean, sd = alpha.mean(axis=0), alpha.std(axis=0, ddof=1)
    ax.fill_between(range(len(mean)), mean - sd, mean + sd, color=GREEN, alpha=0.25, linewidth=0)
    ax.plot(mean, color=GREEN, label="learned")
    ax.axhline(true, color="black", linewidth=0.8, label="true")
    ax.set(ylim=(0, 2.5 * true), ylabel="concentration")
    return list(zip(range(len(mean)), mean, sd, strict=True))
