"""Fig. 5: structure of the worlds, and how the embodiment index depends on run length (reading R12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.style import RC, panels
from berlyne.worlds import PAPER_WORLDS, WORLDS

if TYPE_CHECKING:
    from berlyne.reproduction.study import Study

CLASS_STYLE = {"dense": ("#4d4d4d", "s"), "maze": ("#d95f0e", "^"), "1-2-3": ("#2c7fb8", "o")}
PUBLISHED = {"dense": 0.02, "maze": 2.59, "1-2-3": 1.27}


def draw_structure(study: Study) -> Drawing:
    """(a) Embodiment index against structure index of every world; (b) controllability over time."""
    import matplotlib as mpl

    stage = study.stage("structure")
    with mpl.rc_context(RC):
        figure, (left, right) = panels(2, height=2.9)
        drawing = Drawing(figure, ("panel", "world_class", "x", "y", "sd"))
        for kind in [WORLDS[name] for name in PAPER_WORLDS]:
            colour, marker = CLASS_STYLE[kind.name]
            areas = study.results.areas(kind.name)
            greedy, free = (areas.sel(strategy=s).values for s in ("PIG(greedy)", "Unembodied"))
            index = greedy / free - 1.0
            si = stage["structure_index"].sel(world_class=kind.name).values
            style: Any = {"marker": marker, "color": colour, "label": kind.title}
            left.scatter(si, index, s=9, linewidths=0, alpha=0.75, **style)
            drawing.add(("a", kind.name, x, y, "") for x, y in zip(si, index, strict=True))
            reach = stage["controllability"].sel(world_class=kind.name)
            mean, sd = reach.mean("world").values, reach.std("world", ddof=1).values
            lag = reach["lag"].values
            right.errorbar(lag, mean, yerr=sd, markersize=4, linewidth=1.0, elinewidth=0.6, capsize=1.5, **style)
            drawing.add(("b", kind.name, *line) for line in zip(lag, mean, sd, strict=True))
        left.set(xlabel="structure index", ylabel="embodiment index", title="(a)")
        left.legend(loc="upper left", handletextpad=0.1)
        right.set(xlabel="time steps into the future", ylabel="controllability (bits)", title="(b)")
        right.set_ylim(bottom=0)
        right.set_xticks([1, 5, 10, 15, 20])
        right.legend(loc="upper right")
    return drawing


def draw_index_by_length(study: Study) -> Drawing:
    """The embodiment index for runs of any length; published value and the length we use as lines."""
    import matplotlib as mpl

    stage = study.stage("lengths")
    with mpl.rc_context(RC):
        figure, axes = panels(len(PAPER_WORLDS))
        drawing = Drawing(figure, ("world_class", "run_length", "embodiment_index", "standard_error"))
        for ax, kind in zip(axes, [WORLDS[name] for name in PAPER_WORLDS], strict=True):
            here = stage.sel(world_class=kind.name)
            length = here["length"].values
            index = (here["area"].sel(strategy="PIG(greedy)") / here["area"].sel(strategy="Unembodied") - 1.0).values
            mean, error = index.mean(axis=0), index.std(axis=0, ddof=1) / np.sqrt(len(index))
            ax.fill_between(length, mean - 1.96 * error, mean + 1.96 * error, color="0.85", linewidth=0)
            ax.plot(length, mean, color="black")
            ax.axhline(PUBLISHED[kind.name], color="#d7191c", linestyle="--", linewidth=0.9)
            ax.axvline(kind.n_steps, color="0.4", linestyle=":", linewidth=0.9)
            ax.set(title=kind.title, xlabel="run length (steps)", xlim=(0, length[-1]))
            drawing.add((kind.name, int(n), m, e) for n, m, e in zip(length, mean, error, strict=True))
        axes[0].set_ylabel("embodiment index")
        handles = [axes[0].lines[0], axes[0].lines[1], axes[0].lines[2]]
        axes[-1].legend(handles, ["mean, 95 % band", "published", "length used here"], loc="lower right")
    return drawing


STRUCTURE = FigureOfPaper(
    "fig5",
    "Quantifying the structure of the worlds",
    "Fig. 5, Sec. 3.4",
    "(a) The embodiment index correlates strongly with the structure index. (b) An action has more impact on future "
    "states in Mazes and 1-2-3 Worlds than in Dense Worlds, in Mazes far into the future.",
    draw_structure,
    ("explorations", "structure"),
)
LENGTHS = FigureOfPaper(
    "index-by-length",
    "Embodiment index against run length",
    "reading R12",
    "The paper does not give run lengths; its averages are 0.02, 2.59 and 1.27.",
    draw_index_by_length,
    ("lengths",),
)
