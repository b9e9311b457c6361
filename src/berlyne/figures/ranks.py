"""Fig. 8: mean ranks in navigation and reward loss. Fig. S5: exploring with a learned prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berlyne.claims.evidence import Evidence
from berlyne.claims.usefulness import DRAWN, loss
from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.style import RC, look, panels
from berlyne.stats import critical_difference, ranks
from berlyne.worlds import PAPER_WORLDS, WORLDS

if TYPE_CHECKING:
    from berlyne.reproduction.study import Study

BOUNDS = {0.001: "-", 0.0001: (0, (3, 2))}
"""Levels of the significance bounds around PIG(VI): text and caption of the paper differ (R17)."""


def draw_tasks(study: Study) -> Drawing:
    """Mean rank in reward loss against mean rank in navigation loss, with significance bounds around PIG(VI)."""
    import matplotlib as mpl

    evidence = Evidence({}, stages={"tasks": study.stage("tasks")})
    with mpl.rc_context(RC):
        figure, axes = panels(len(PAPER_WORLDS), height=3.25)
        header = ("world_class", "strategy", "navigation_rank", "navigation_sd", "reward_rank", "reward_sd")
        drawing = Drawing(figure, header)
        for ax, kind in zip(axes, [WORLDS[name] for name in PAPER_WORLDS], strict=True):
            by_task = [ranks(loss(evidence, kind.name, task, DRAWN)) for task in ("navigation", "reward")]
            (x, y), (sx, sy) = ([f(r) for r in by_task] for f in (_mean, _sd))
            for i, name in enumerate(DRAWN):
                style = look(name)
                ax.errorbar(
                    x[i], y[i], xerr=sx[i], yerr=sy[i], fmt="none", ecolor=style.colour, elinewidth=0.4, alpha=0.35
                )
                ax.plot(x[i], y[i], markersize=5.5, zorder=4 if name == "PIG(VI)" else 3, **style.point())
                drawing.add([(kind.name, name, x[i], sx[i], y[i], sy[i])])
            centre = DRAWN.index("PIG(VI)")
            for alpha, line in BOUNDS.items():
                reach = critical_difference(len(DRAWN), by_task[0].shape[0], alpha)
                for sign in (-1, 1):
                    ax.axvline(x[centre] + sign * reach, color="#1a9641", linewidth=0.8, linestyle=line)
                    ax.axhline(y[centre] + sign * reach, color="#2b55c4", linewidth=0.8, linestyle=line)
            most = len(DRAWN) + 0.5
            ax.set(
                title=kind.title, xlabel="rank in navigation loss", xlim=(0.5, most), ylim=(0.5, most), aspect="equal"
            )
        axes[0].set_ylabel("rank in reward loss")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, handletextpad=0.1, columnspacing=1.0)
    return drawing


def _mean(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.mean(axis=0))


def _sd(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.std(axis=0, ddof=1))


def draw_learned(study: Study) -> Drawing:
    """Learning curves with the true and with the learned concentration, and the concentration learned."""
    import matplotlib as mpl

    stage = study.stage("learned")
    with mpl.rc_context(RC):
        figure, axes = panels(4, height=2.3)
        drawing = Drawing(figure, ("quantity", "world_class", "prior", "time", "mean", "standard_error"))
        for (left, right), name in zip((axes[:2], axes[2:]), ("dense", "maze"), strict=True):
            here = stage.sel(world_class=name)
            for prior, colour, line in (("given", "black", "-"), ("learned", "#1a9641", (0, (4, 1.5)))):
                curve = here["missing_information"].sel(prior=prior).dropna("time", how="all").values
                mean, error = curve.mean(axis=0), curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
                left.plot(mean, color=colour, linestyle=line, label=f"{prior} prior")
                for sign in (-1, 1):
                    left.plot(mean + sign * error, color=colour, linestyle=":", linewidth=0.6)
                lines = enumerate(zip(mean, error, strict=True))
                drawing.add(("missing_information", name, prior, t, m, e) for t, (m, e) in lines)
            alpha = here["alpha"].dropna("time", how="all").values
            mean, sd = alpha.mean(axis=0), alpha.std(axis=0, ddof=1)
            right.fill_between(range(len(mean)), mean - sd, mean + sd, color="#1a9641", alpha=0.25, linewidth=0)
            right.plot(mean, color="#1a9641", label="learned")
            right.axhline(float(here["true_alpha"]), color="black", linewidth=0.8, label="true")
            drawing.add(("alpha", name, "learned", t, m, s) for t, (m, s) in enumerate(zip(mean, sd, strict=True)))
            left.set(title=WORLDS[name].title, xlabel="time (steps)", xlim=(0, len(mean) - 1))
            right.set(title=WORLDS[name].title, xlabel="time (steps)", xlim=(0, len(mean) - 1), ylabel="concentration")
            left.set_ylim(bottom=0)
            right.set_ylim(0, 2.5 * float(here["true_alpha"]))
        axes[0].set_ylabel("missing information (bits)")
        axes[0].legend(loc="upper right", handlelength=2.2)
        axes[1].legend(loc="upper right", handlelength=1.6)
    return drawing


TASKS = FigureOfPaper(
    "fig8",
    "Demonstration of generalized utility",
    "Fig. 8, Sec. 3.7",
    "PIG(VI) always groups with the top performers in navigation and reward, positive controls excepted, and is the "
    "only strategy to do so. Vertical bounds around PIG(VI) are for navigation, horizontal ones for reward; "
    "solid for p = 0.001 (text), dashed for p = 0.0001 (caption).",
    draw_tasks,
    ("tasks",),
)
LEARNED = FigureOfPaper(
    "figS5",
    "Exploring while learning the prior",
    "Fig. S5, Sec. 4.1",
    "Maximum-likelihood estimation of the concentration enables exploration that quickly matches that of agents "
    "given accurate priors.",
    draw_learned,
    ("learned",),
)
