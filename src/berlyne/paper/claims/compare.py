"""Comparing strategies the way the paper does: Friedman's test, then mean ranks (readings R15, R16).

Two strategies differ significantly if Friedman's test of the pool that they are compared in is significant, and then
their mean ranks are, at the same level. Every comparison says how large the difference is, in how many worlds, and how
sure one can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from berlyne.paper.claims.evidence import Evidence, Pool
from berlyne.paper.claims.published import ALPHA, CURVE_POOL, FIGURE_POOLS
from berlyne.paper.claims.verdict import Finding, PoolComparison
from berlyne.stats import Estimate, relative_difference, share_larger
from berlyne.worlds import title

MIN_WORLDS = 100
"""With fewer worlds than this, a difference that is not significant decides nothing."""
POOLS: tuple[Pool, ...] = get_args(Pool)


def p_text(p: float) -> str:
    """A p-value as it is written everywhere, with its sign: "= 0.0064", "< 1e-15"."""
    return "< 1e-15" if p < 1e-15 else f"= {p:.2g}"


@dataclass(frozen=True)
class Pair:
    """Two strategies of a figure, in the worlds of one class.

    alpha : the level at which they are compared; `printed` tells whether the paper gives it.
    l1 : whether by L1 distance rather than missing information.
    """

    world_class: str
    one: str
    other: str
    figure: str
    alpha: float = ALPHA
    printed: bool = True
    l1: bool = False

    def worse(self, evidence: Evidence) -> Finding:
        """Whether the first learns significantly more slowly than the second."""
        judged = self._in(evidence, evidence.pool)
        ok = judged.slower if judged.differ(self.alpha) else False if evidence.n_worlds >= MIN_WORLDS else None
        return self._finding(evidence, f"{self.one} worse than {self.other}", f"p < {self.alpha:g}", ok)

    def indistinguishable(self, evidence: Evidence) -> Finding:
        """Whether the two do not differ significantly; few worlds cannot tell."""
        judged = self._in(evidence, evidence.pool)
        ok = False if judged.differ(self.alpha) else True if evidence.n_worlds >= MIN_WORLDS else None
        return self._finding(evidence, f"{self.one} not told apart from {self.other}", f"p > {self.alpha:g}", ok)

    def _in(self, evidence: Evidence, pool: Pool) -> PoolComparison:
        """The two in a pool."""
        names = {"curves": CURVE_POOL, "figure": FIGURE_POOLS[self.figure]}.get(pool)
        strategies = tuple(names or evidence.areas[self.world_class])
        test = evidence.compared(self.world_class, strategies, self.l1)
        slower = test.mean_rank[self.one] > test.mean_rank[self.other]
        return PoolComparison(slower, test.p_value(self.one, self.other), test.friedman)

    def _finding(self, evidence: Evidence, expected: str, level: str, ok: bool | None) -> Finding:
        areas = (evidence.l1_areas if self.l1 else evidence.areas)[self.world_class]
        effect = relative_difference(areas[self.one], areas[self.other])
        larger = share_larger(areas[self.one], areas[self.other])
        pools: dict[str, PoolComparison] = {pool: self._in(evidence, pool) for pool in POOLS}
        judged = pools[evidence.pool]
        told = "told apart" if judged.differ(self.alpha) else f"not told apart at p > {self.alpha:g}"
        return Finding(
            f"{title(self.world_class)}: {self.one} against {self.other}",
            f"{expected} ({level})" if self.printed else expected,
            f"{told} (p {p_text(judged.p)}); difference {_interval(effect)} of the area, "
            f"larger in {larger:.0%} of worlds",
            ok,
            "" if self.printed else f"the level, {level}: the paper gives none",
            *effect,
            "area",
            judged.p,
            pools,
            judged.friedman,
        )


def _interval(effect: Estimate) -> str:
    """A share with its confidence interval, in per cent."""
    return f"{100 * effect.value:+.1f} % [{100 * effect.low:+.1f}, {100 * effect.high:+.1f}]"
