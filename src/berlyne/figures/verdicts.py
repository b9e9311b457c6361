"""Words about many things side by side, and where they differ from those of the first line."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from berlyne.figures.drawing import Drawing
from berlyne.figures.style import RC, WIDTH


def draw_verdicts(
    verdicts: Mapping[str, Mapping[str, str]], labels: Mapping[str, str], marks: Mapping[str, tuple[str, str]]
) -> Drawing:
    """A line per variant, a column per claim; verdicts that differ from those of the first line are boxed.

    Parameters
    ----------
    verdicts : the verdict on every claim, by variant.
    labels : what to write beside the line of a variant.
    marks : marker and colour of every verdict.
    """
    first = next(iter(verdicts.values()))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 4.2))
        ax = figure.subplots()
        drawing = Drawing(figure, ("variant", "claim", "verdict", "changed"))
        for y, (variant, row) in enumerate(verdicts.items()):
            for x, claim in enumerate(first):
                marker, colour = marks[row[claim]]
                changed = row[claim] != first[claim]
                ax.plot(x, y, marker=marker, color=colour, markersize=5.5, linestyle="none")
                if changed:
                    ax.add_patch(Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, fill=False, linewidth=0.9))
                drawing.add([(variant, claim, row[claim], changed)])
        for word, (marker, colour) in marks.items():
            ax.plot([], [], marker=marker, color=colour, linestyle="none", label=word)
        ax.plot([], [], marker="s", color="black", markerfacecolor="none", linestyle="none", label="differs")
        ax.set_xticks(range(len(first)), list(first), rotation=55, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(verdicts)), [labels[variant] for variant in verdicts])
        ax.invert_yaxis()
        ax.set_xlim(-0.6, len(first) - 0.4)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.axhline(0.5, color="0.7", linewidth=0.6)
        figure.legend(loc="outside upper right", ncols=4)
    return drawing
