"""Learning curves: of one run, and averages over worlds as in the paper's Figs. 3, 4, 6, 7, S3 and S4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, look, panels
from berlyne.worlds import title

if TYPE_CHECKING:
    from berlyne.experiments import Results
    from berlyne.explore import Run

LABELS = {"missing_information": "missing information (bits)", "l1_distance": "L1 distance"}


def draw_run(run: Run, ax: Axes | None = None, **style: Any) -> Axes:
    """The learning curve of one run: missing information against time, in the look of its strategy."""
    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    usual = look(str(run.strategy)).curve(run.n_steps + 1)
    ax.plot(run.missing_information, **{**usual, **style})
    ax.set(xlabel="time (steps)", ylabel=LABELS["missing_information"], title=run.world.name)
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    ax.legend(frameon=False)
    return ax


def draw_curves(
    results: Results, strategies: Sequence[str] | None = None, measure: str = "missing_information"
) -> Drawing:
    """Mean curves over worlds, one panel per class; standard errors dotted above and below, as in the paper."""
    names = results.strategies if strategies is None else list(strategies)
    with mpl.rc_context(RC):
        figure, axes = panels(len(results.classes))
        drawing = Drawing(figure, ("world_class", "strategy", "time", "mean", "standard_error"))
        for ax, world_class in zip(axes, results.classes, strict=True):
            curves = results.curves(world_class, measure, names)
            for name in names:
                mean, sem = (curves[part].sel(strategy=name).values for part in ("mean", "sem"))
                style = look(name)
                ax.plot(mean, **style.curve(len(mean)))
                for sign in (-1, 1):
                    ax.plot(mean + sign * sem, color=style.colour, linestyle=":", linewidth=0.6)
                drawing.add((world_class, name, t, m, e) for t, (m, e) in enumerate(zip(mean, sem, strict=True)))
            ax.set(title=title(world_class), xlabel="time (steps)", xlim=(0, curves.sizes["time"] - 1))
            ax.set_ylim(bottom=0)
            ax.ticklabel_format(axis="x", style="plain")
        axes[0].set_ylabel(LABELS.get(measure, measure))
        axes[-1].legend(loc="upper right", handlelength=3.2)
    return drawing
