"""Comparing strategies the way the paper does: Friedman's test, then mean ranks (readings R15, R16).

Two strategies differ significantly if Friedman's test of the pool that they are compared in is significant, and then
their mean ranks are, at the same level. Every comparison says how large the difference is, in how many worlds, and how
sure one can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from berlyne.claims.evidence import Areas, Evidence
from berlyne.claims.published import ALPHA, FIGURE_POOLS
from berlyne.claims.verdict import Finding
from berlyne.stats import Estimate, Friedman, friedman, mean_rank_p_values, relative_difference, share_larger
from berlyne.worlds import title

ENOUGH = 100
"""With fewer worlds than this, a difference that is not significant decides nothing."""


class InPool(NamedTuple):
    """Two strategies among those of a pool.

    slower : whether the first has the higher mean rank.
    p : p-value of their mean ranks.
    friedman : the test of the whole pool.
    """

    slower: bool
    p: float
    friedman: Friedman

    def differ(self, alpha: float) -> bool:
        """Whether the pool is not all alike, and these two are among those that differ."""
        return self.friedman.p < alpha and self.p < alpha


@dataclass(frozen=True)
class Comparison:
    """Two strategies in the worlds of one class.

    effect : mean relative difference of their areas; positive if the first learns more slowly.
    larger : share of worlds in which the area of the first is the larger.
    figure, all : the two in the pool of the figure, and in the pool of all strategies.
    """

    about: str
    effect: Estimate
    larger: float
    figure: InPool
    all: InPool

    def finding(self, expected: str, ok: bool | None) -> Finding:
        """The comparison as evidence for or against a claim."""
        effect, low, high = self.effect
        measured = (
            f"area {effect:+.1%} [{low:+.1%}, {high:+.1%}], larger in {self.larger:.0%} of worlds, "
            f"p = {self.figure.p:.2g}"
        )
        tests = self.figure.p, self.all.p, self.figure.friedman, self.all.friedman
        return Finding(self.about, expected, measured, ok, effect, low, high, *tests)


def worse(
    evidence: Evidence, world_class: str, strategy: str, than: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether `strategy` learns significantly more slowly than another."""
    found = _comparison(evidence, world_class, strategy, than, figure, l1)
    judged, enough = _judged(found, evidence), evidence.n_worlds >= ENOUGH
    ok = judged.slower if judged.differ(alpha) else False if enough else None
    return found.finding(f"{strategy} worse than {than} (p < {alpha:g})", ok)


def alike(
    evidence: Evidence, world_class: str, strategy: str, other: str, figure: str, alpha: float = ALPHA, l1: bool = False
) -> Finding:
    """Whether two strategies do not differ significantly; few worlds cannot tell."""
    found = _comparison(evidence, world_class, strategy, other, figure, l1)
    judged, enough = _judged(found, evidence), evidence.n_worlds >= ENOUGH
    ok = False if judged.differ(alpha) else True if enough else None
    return found.finding(f"{strategy} like {other} (p > {alpha:g})", ok)


def _judged(found: Comparison, evidence: Evidence) -> InPool:
    """The pool that decides."""
    return found.all if evidence.pool_all else found.figure


def _comparison(evidence: Evidence, world_class: str, one: str, other: str, figure: str, l1: bool) -> Comparison:
    areas = (evidence.l1_areas if l1 else evidence.areas)[world_class]
    pool = list(dict.fromkeys([*FIGURE_POOLS[figure], one, other]))
    in_figure, in_all = (_in_pool(areas, names, one, other) for names in (pool, list(areas)))
    effect, larger = relative_difference(areas[one], areas[other]), share_larger(areas[one], areas[other])
    return Comparison(f"{title(world_class)}: {one} against {other}", effect, larger, in_figure, in_all)


def _in_pool(areas: Areas, pool: list[str], one: str, other: str) -> InPool:
    values = np.stack([areas[s] for s in pool], axis=1)
    p_values, mean_ranks = mean_rank_p_values(values)
    i, j = pool.index(one), pool.index(other)
    return InPool(bool(mean_ranks[i] > mean_ranks[j]), float(p_values[i, j]), friedman(values))
