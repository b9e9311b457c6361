"""Every figure, in the order of the paper."""

from __future__ import annotations

from berlyne.figures.drawing import FigureOfPaper
from berlyne.figures.graph import EXAMPLES
from berlyne.figures.learning_curves import LEARNING_CURVES
from berlyne.figures.prediction import GAINS
from berlyne.figures.ranks import LEARNED, TASKS
from berlyne.figures.structure import LENGTHS, STRUCTURE
from berlyne.figures.verdicts import SENSITIVITY

_ORDER = (
    "fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8",
    "figS1", "figS2", "figS3", "figS4", "figS5", "index-by-length", "sensitivity",
)  # fmt: skip
_ALL = {f.name: f for f in (*EXAMPLES, GAINS, *LEARNING_CURVES, STRUCTURE, TASKS, LEARNED, LENGTHS, SENSITIVITY)}

FIGURES: dict[str, FigureOfPaper] = {name: _ALL[name] for name in _ORDER}
