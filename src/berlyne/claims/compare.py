"""Comparing strategies the way the paper does: Friedman's test, then mean ranks (readings R15, R16).

Every comparison says how large the difference is, in how many worlds, and how sure one can be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.claims.evidence import Evidence
from berlyne.claims.verdict import Finding
from berlyne.stats import mean_rank_p_values, relative_difference, share_larger
from berlyne.worlds import title

ENOUGH = 100
"""With fewer worlds than this, a difference that is not significant decides nothing."""
ALPHA = 0.001
"""The paper's level of significance."""

FIGURE_POOLS: dict[str, tuple[str, ...]] = {
    "fig3": ("Unembodied", "Random"),
    "fig4": ("Unembodied", "Random", "PIG(greedy)", "PIG(VI)", "PIG(VI+)"),
    "fig6": ("Unembodied", "Random", "LTA", "CB", "PEIG(Q)", "PIG(VI)"),
    "fig7": ("Unembodied", "Random", "PMC(VI)", "PLC(VI)", "PIG(VI)"),
    "figS3": ("Unembodied", "Random", "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)"),
    "figS4": ("Unembodied", "Random", "PMC(VI)", "PLC(VI)", "PIG(VI)"),
}
"""Strategies that enter one Friedman test: those drawn in the figure (reading R16)."""


def worse(
    evidence: Evidence, world_class: str, strategy: str, than: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether `strategy` learns significantly more slowly than another."""
    p, p_all, higher = _p_values(evidence, world_class, strategy, than, figure, l1)
    judged = p_all if evidence.pool_all else p
    if judged < alpha:
        ok: bool | None = higher
    else:
        ok = False if evidence.n_worlds >= ENOUGH else None
    expected = f"{strategy} worse than {than} (p < {alpha:g})"
    return _finding(evidence, world_class, strategy, than, l1, expected, ok, p, p_all)


def alike(
    evidence: Evidence, world_class: str, strategy: str, other: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether two strategies do not differ significantly; few worlds cannot tell."""
    p, p_all, _ = _p_values(evidence, world_class, strategy, other, figure, l1)
    judged = p_all if evidence.pool_all else p
    ok: bool | None = False if judged < alpha else (True if evidence.n_worlds >= ENOUGH else None)
    expected = f"{strategy} like {other} (p > {alpha:g})"
    return _finding(evidence, world_class, strategy, other, l1, expected, ok, p, p_all)


def _p_values(
    evidence: Evidence, world_class: str, strategy: str, other: str, figure: str, l1: bool
) -> tuple[float, float, bool]:
    """P in the pool of the figure and in that of all strategies, and whether `strategy` ranks higher (worse)."""
    table = (evidence.l1_areas if l1 else evidence.areas)[world_class]
    pool = list(dict.fromkeys([*FIGURE_POOLS[figure], strategy, other]))
    p, higher = _p_of(table, pool, strategy, other)
    p_all, _ = _p_of(table, list(table), strategy, other)
    return p, p_all, higher


def _p_of(table: Mapping[str, FloatArray], pool: list[str], one: str, other: str) -> tuple[float, bool]:
    p_values, mean_ranks = mean_rank_p_values(np.stack([table[s] for s in pool], axis=1))
    i, j = pool.index(one), pool.index(other)
    return float(p_values[i, j]), bool(mean_ranks[i] > mean_ranks[j])


def _finding(
    evidence: Evidence, world_class: str, one: str, other: str, l1: bool, expected: str, ok: bool | None, p: float,
    p_all: float,
) -> Finding:  # fmt: skip
    table = (evidence.l1_areas if l1 else evidence.areas)[world_class]
    effect, low, high = relative_difference(table[one], table[other])
    share = share_larger(table[one], table[other])
    measured = f"area {effect:+.1%} [{low:+.1%}, {high:+.1%}], larger in {share:.0%} of worlds, p = {p:.2g}"
    return Finding(f"{title(world_class)}: {one} against {other}", expected, measured, ok, effect, low, high, p, p_all)
