"""Learning curves: of one run, and of many in Figs. 3, 4, 6, 7, S3 and S4. Mean missing information over time, and its standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.style import RC, look, panels
from berlyne.worlds import PAPER_WORLDS, WORLDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from berlyne.explore import Run
    from berlyne.reproduction.study import Study

CONTROLS = ("Unembodied", "Random")


def draw_run(run: Run, ax: Axes | None = None, **style: Any) -> Axes:
    """The learning curve of one run: missing information against time, in the look of its strategy."""
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.subplots(layout="constrained")[1]
    usual = look(str(run.strategy)).curve(run.n_steps + 1)
    ax.plot(run.missing_information, **{**usual, **style})
    ax.set(xlabel="time (steps)", ylabel="missing information (bits)", title=run.world.name)
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    ax.legend(frameon=False)
    return ax


def draw_curves(study: Study, strategies: tuple[str, ...], measure: str = "missing_information") -> Drawing:
    """One panel per class; standard errors dotted above and below, as in the paper."""
    import matplotlib as mpl

    with mpl.rc_context(RC):
        figure, axes = panels(len(PAPER_WORLDS))
        label = "missing information (bits)" if measure == "missing_information" else "L1 distance"
        drawing = Drawing(figure, ("world_class", "strategy", "time", "mean", "standard_error"))
        for ax, kind in zip(axes, [WORLDS[name] for name in PAPER_WORLDS], strict=True):
            curves = study.results.curves(kind.name, measure, list(strategies))
            for name in strategies:
                mean, sem = (curves[part].sel(strategy=name).values for part in ("mean", "sem"))
                style = look(name)
                ax.plot(mean, **style.curve(len(mean)))
                for sign in (-1, 1):
                    ax.plot(mean + sign * sem, color=style.colour, linestyle=":", linewidth=0.6)
                drawing.add((kind.name, name, t, m, e) for t, (m, e) in enumerate(zip(mean, sem, strict=True)))
            ax.set(title=kind.title, xlabel="time (steps)", xlim=(0, len(mean) - 1))
            ax.set_ylim(bottom=0)
            ax.ticklabel_format(axis="x", style="plain")
        axes[0].set_ylabel(label)
        axes[-1].legend(loc="upper right", handlelength=3.2)
    return drawing


def _curves(name: str, title: str, place: str, says: str, strategies: tuple[str, ...], **options: str) -> FigureOfPaper:
    def draw(study: Study) -> Drawing:
        return draw_curves(study, strategies, **options)

    return FigureOfPaper(name, title, place, says, draw, ("explorations",))


LEARNING_CURVES = (
    _curves(
        "fig3",
        "Learning curves for control strategies",
        "Fig. 3, Sec. 3.2",
        "Random action is as good as the unembodied control in Dense Worlds, and far from it in the others.",
        CONTROLS,
    ),
    _curves(
        "fig4",
        "Coordinating exploration using predicted information gain",
        "Fig. 4, Sec. 3.3",
        "Greedy PIG helps in 1-2-3 Worlds only; value iteration helps most in Mazes, moderately in 1-2-3 Worlds, and "
        "knowing the true world (VI+) adds little, in Mazes only.",
        (*CONTROLS, "PIG(greedy)", "PIG(VI)", "PIG(VI+)"),
    ),
    _curves(
        "fig6",
        "Comparison to previous exploration strategies",
        "Fig. 6, Sec. 3.5",
        "PIG(VI) outperforms least taken action, counter-based exploration and PEIG(Q) in structured worlds.",
        (*CONTROLS, "LTA", "CB", "PEIG(Q)", "PIG(VI)"),
    ),
    _curves(
        "fig7",
        "Comparison between utility functions",
        "Fig. 7, Sec. 3.6",
        "PIG(VI) is the best overall: better than PMC(VI) in all worlds and than PLC(VI) in 1-2-3 Worlds.",
        (*CONTROLS, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
    ),
    _curves(
        "figS3",
        "Crossing utilities and coordination: PIG(Q) and PEIG(VI)",
        "Fig. S3, Sec. 3.5",
        "PIG(Q) is like PEIG(Q), short of PIG(VI); PEIG(VI) matches PIG(VI) in Mazes but not in 1-2-3 Worlds.",
        (*CONTROLS, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)"),
    ),
    _curves(
        "figS4",
        "Utility functions measured by L1 distance",
        "Fig. S4, Sec. 3.6",
        "Measured by L1 distance, PIG(VI) still outperforms PMC(VI) and PLC(VI) in 1-2-3 Worlds.",
        (*CONTROLS, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
        measure="l1_distance",
    ),
)
