"""What the paper printed and drew, as far as claims and figures rest on it; each fact once."""

from __future__ import annotations

from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES
from berlyne.worlds import PAPER_WORLDS

D, M, O = PAPER_WORLDS  # noqa: E741 - Dense Worlds, Mazes, 1-2-3 Worlds: the letters of the list of claims

ALPHA = 0.001
"""The paper's level of significance."""
TASK_LEVELS = (ALPHA, 0.0001)
"""Levels of the bounds around PIG(VI) in Fig. 8: that of the text and that of the caption (reading R17)."""
PUBLISHED_INDEX = {D: 0.02, M: 2.59, O: 1.27}
"""Average embodiment index of each class (Sec. 3.3)."""

BASELINES = ("Unembodied", "Random")
"""The two control strategies of Fig. 3, drawn with every other learning curve."""
FIGURE_POOLS: dict[str, tuple[str, ...]] = {
    "fig3": BASELINES,
    "fig4": (*BASELINES, "PIG(greedy)", "PIG(VI)", "PIG(VI+)"),
    "fig6": (*BASELINES, "LTA", "CB", "PEIG(Q)", "PIG(VI)"),
    "fig7": (*BASELINES, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
    "fig8": tuple(name for name in PAPER_STRATEGIES if not name.endswith("(Q)")),
    "figS3": (*BASELINES, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)"),
    "figS4": (*BASELINES, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
}
"""Strategies drawn in a figure. The caption of Fig. 8 has no symbol for Q-learning."""
CURVE_POOL = tuple(
    name for name in PAPER_STRATEGIES if any(name in pool for figure, pool in FIGURE_POOLS.items() if figure != "fig8")
)
"""The twelve strategies drawn in the figures of learning curves: those that enter one Friedman test (reading R16)."""
POSITIVE_CONTROLS = tuple(
    name for name in PAPER_STRATEGIES if STRATEGIES[name].sees_world or STRATEGIES[name].relocates
)
"""Strategies that may do what an explorer cannot: see the true world, or go anywhere."""
