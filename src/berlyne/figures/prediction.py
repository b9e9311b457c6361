"""Fig. 2: predicted against realised information gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.style import RC, UTILITY_COLOURS, panels
from berlyne.worlds import PAPER_WORLDS, WORLDS

if TYPE_CHECKING:
    from berlyne.reproduction.study import Study


def draw_gains(study: Study) -> Drawing:
    """Average PIG against average gain after 0 to 19 observations, with standard deviations of both.

    As in the paper, those of 1-2-3 Worlds are drawn above the mean only.
    """
    import matplotlib as mpl

    gains = study.stage("gains")
    with mpl.rc_context(RC):
        figure, axes = panels(len(PAPER_WORLDS), height=2.6)
        header = ("world_class", "n_obs", "mean_gain", "sd_gain", "mean_pig", "sd_pig")
        drawing = Drawing(figure, header)
        for ax, kind in zip(axes, [WORLDS[name] for name in PAPER_WORLDS], strict=True):
            here = gains.sel(world_class=kind.name)
            gain, pig = here["gain"].mean("world").values, here["pig"].mean("world").values
            sd_gain, sd_pig = here["sd_gain"].values, here["sd_pig"].values
            low = 0.0 if kind.name == "1-2-3" else 1.0
            top = 1.12 * max(gain.max(), pig.max())
            ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8, zorder=0)
            ax.errorbar(
                gain, pig, xerr=[low * sd_gain, sd_gain], yerr=[low * sd_pig, sd_pig], fmt="o", markersize=3.2,
                color=UTILITY_COLOURS["PIG"], ecolor="0.75", elinewidth=0.6, zorder=2,
            )  # fmt: skip
            ax.annotate(
                "more observations",
                xy=(0.16, 0.36), xytext=(0.52, 0.82), xycoords="axes fraction", ha="center", fontsize=6.5, color="0.3",
                arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.7},
            )  # fmt: skip
            ax.set(title=kind.title, xlabel="realised gain (bits)", xlim=(0, top), ylim=(0, top), aspect="equal")
            lines = zip(range(len(gain)), gain, sd_gain, pig, sd_pig, strict=True)
            drawing.add((kind.name, *line) for line in lines)
        axes[0].set_ylabel("predicted gain (bits)")
    return drawing


GAINS = FigureOfPaper(
    "fig2",
    "Accuracy of predicted information gain",
    "Fig. 2, Sec. 3.1",
    "Average PIG lies on the unity line against the average realised gain, and falls with every observation "
    "(none at the top right, 19 at the bottom left).",
    draw_gains,
    ("gains",),
)
