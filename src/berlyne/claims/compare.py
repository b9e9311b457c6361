"""Comparing strategies the way the paper does: Friedman's test, then mean ranks (readings R15, R16).

Every comparison says how large the difference is, in how many worlds, and how sure one can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from berlyne.claims.evidence import Areas, Evidence
from berlyne.claims.published import ALPHA, FIGURE_POOLS
from berlyne.claims.verdict import Finding
from berlyne.stats import Estimate, mean_rank_p_values, relative_difference, share_larger
from berlyne.worlds import title

ENOUGH = 100
"""With fewer worlds than this, a difference that is not significant decides nothing."""


@dataclass(frozen=True)
class Comparison:
    """Two strategies in the worlds of one class.

    effect : mean relative difference of their areas; positive if the first learns more slowly.
    larger : share of worlds in which the area of the first is the larger.
    slower : whether the first has the higher mean rank.
    p, p_all : p-value in the pool of the figure, and in the pool of all strategies.
    """

    about: str
    effect: Estimate
    larger: float
    slower: bool
    p: float
    p_all: float

    def finding(self, expected: str, ok: bool | None) -> Finding:
        """The comparison as evidence for or against a claim."""
        effect, low, high = self.effect
        measured = (
            f"area {effect:+.1%} [{low:+.1%}, {high:+.1%}], larger in {self.larger:.0%} of worlds, p = {self.p:.2g}"
        )
        return Finding(self.about, expected, measured, ok, effect, low, high, self.p, self.p_all)


def worse(
    evidence: Evidence, world_class: str, strategy: str, than: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether `strategy` learns significantly more slowly than another."""
    found = _comparison(evidence, world_class, strategy, than, figure, l1)
    enough = evidence.n_worlds >= ENOUGH
    ok = found.slower if _judged(found, evidence) < alpha else False if enough else None
    return found.finding(f"{strategy} worse than {than} (p < {alpha:g})", ok)


def alike(
    evidence: Evidence, world_class: str, strategy: str, other: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether two strategies do not differ significantly; few worlds cannot tell."""
    found = _comparison(evidence, world_class, strategy, other, figure, l1)
    enough = evidence.n_worlds >= ENOUGH
    ok = False if _judged(found, evidence) < alpha else True if enough else None
    return found.finding(f"{strategy} like {other} (p > {alpha:g})", ok)


def _judged(found: Comparison, evidence: Evidence) -> float:
    """The p-value that decides."""
    return found.p_all if evidence.pool_all else found.p


def _comparison(evidence: Evidence, world_class: str, one: str, other: str, figure: str, l1: bool) -> Comparison:
    areas = (evidence.l1_areas if l1 else evidence.areas)[world_class]
    pool = list(dict.fromkeys([*FIGURE_POOLS[figure], one, other]))
    p, slower = _p_value(areas, pool, one, other)
    p_all, _ = _p_value(areas, list(areas), one, other)
    effect, larger = relative_difference(areas[one], areas[other]), share_larger(areas[one], areas[other])
    return Comparison(f"{title(world_class)}: {one} against {other}", effect, larger, slower, p, p_all)


def _p_value(areas: Areas, pool: list[str], one: str, other: str) -> tuple[float, bool]:
    """P of two strategies in a pool, and whether the first ranks higher (worse)."""
    p_values, mean_ranks = mean_rank_p_values(np.stack([areas[s] for s in pool], axis=1))
    i, j = pool.index(one), pool.index(other)
    return float(p_values[i, j]), bool(mean_ranks[i] > mean_ranks[j])
