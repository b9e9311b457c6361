"""Which verdicts depend on how the paper is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berlyne.claims.verdict import FAILS, HOLDS, OPEN
from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.style import RC, WIDTH
from berlyne.reproduction.sensitivity import VARIANTS, verdicts

if TYPE_CHECKING:
    from berlyne.reproduction.study import Study

MARKS = {HOLDS: ("o", "#1a9641"), FAILS: ("X", "#d7191c"), OPEN: ("_", "#777777")}


def draw_sensitivity(study: Study) -> Drawing:
    """A line per variant, a column per claim; verdicts that differ from those as read are boxed."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    found = verdicts(study)
    claims = list(found["as read"])
    texts = {"as read": "as read", **{v.id: f"{v.text} ({v.reading})" for v in VARIANTS}}
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH, 4.2))
        ax = figure.subplots()
        drawing = Drawing(figure, ("variant", "claim", "verdict", "changed"))
        for y, (variant, row) in enumerate(found.items()):
            for x, claim in enumerate(claims):
                marker, colour = MARKS[row[claim]]
                changed = row[claim] != found["as read"][claim]
                ax.plot(x, y, marker=marker, color=colour, markersize=5.5, linestyle="none")
                if changed:
                    ax.add_patch(Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, fill=False, linewidth=0.9))
                drawing.add([(variant, claim, row[claim], changed)])
        for word, (marker, colour) in MARKS.items():
            ax.plot([], [], marker=marker, color=colour, linestyle="none", label=word)
        ax.plot([], [], marker="s", color="black", markerfacecolor="none", linestyle="none", label="differs")
        ax.set_xticks(range(len(claims)), claims, rotation=55, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(found)), [texts[variant] for variant in found])
        ax.invert_yaxis()
        ax.set_xlim(-0.6, len(claims) - 0.4)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.axhline(0.5, color="0.7", linewidth=0.6)
        figure.legend(loc="outside upper right", ncols=4)
    return drawing


SENSITIVITY = FigureOfPaper(
    "sensitivity",
    "What depends on how the paper is read",
    "readings R3 to R16",
    "The paper leaves these choices open, or prints something else.",
    draw_sensitivity,
    ("explorations", "sensitivity"),
)
