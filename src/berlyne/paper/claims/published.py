"""Numbers and strategies printed or drawn in the paper, as far as claims and figures use them."""

from __future__ import annotations

from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES
from berlyne.worlds import PAPER_WORLDS

D, M, O = PAPER_WORLDS  # noqa: E741 - Dense Worlds, Mazes, 1-2-3 Worlds: the letters of the list of claims

ALPHA = 0.001
"""Significance level of the paper."""
TASK_LEVELS = (ALPHA, 0.0001)
"""Significance levels of the bounds around PIG(VI) in Fig. 8, in the text and in the caption (reading R17)."""
PUBLISHED_INDEX = {D: 0.02, M: 2.59, O: 1.27}
"""Average embodiment index of each class (Sec. 3.3)."""

BASELINES = ("Unembodied", "Random")
"""The two control strategies of Fig. 3, which all figures of learning curves show."""
FIGURE_POOLS: dict[str, tuple[str, ...]] = {
    "fig3": BASELINES,
    "fig4": (*BASELINES, "PIG(greedy)", "PIG(VI)", "PIG(VI+)"),
    "fig6": (*BASELINES, "LTA", "CB", "PEIG(Q)", "PIG(VI)"),
    "fig7": (*BASELINES, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
    "fig8": tuple(name for name in PAPER_STRATEGIES if not name.endswith("(Q)")),
    "figS3": (*BASELINES, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)"),
    "figS4": (*BASELINES, "PMC(VI)", "PLC(VI)", "PIG(VI)"),
}
"""Strategies that each figure shows. The caption of Fig. 8 has no symbol for Q-learning."""
CURVE_POOL = tuple(
    name for name in PAPER_STRATEGIES if any(name in pool for figure, pool in FIGURE_POOLS.items() if figure != "fig8")
)
"""The twelve strategies in the figures of learning curves, which enter one Friedman test (reading R16)."""
POSITIVE_CONTROLS = tuple(
    name for name in PAPER_STRATEGIES if STRATEGIES[name].sees_world or STRATEGIES[name].relocates
)
"""Strategies that see the true world or may relocate to any state, which an explorer cannot do."""
