"""Comparison of two strategies as in the paper: Friedman's test, then mean ranks (readings R15, R16).

Two strategies are significantly different if Friedman's test of their pool is significant and the comparison of their
mean ranks is significant at the same level. Each comparison reports the difference of areas with its confidence
interval, the share of worlds in which the first area is larger, and the p-value.
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
"""Smallest number of worlds for which a difference that is not significant decides a verdict."""
POOLS: tuple[Pool, ...] = get_args(Pool)


def p_text(p: float) -> str:
    """Return a p-value as text with its sign, such as "= 0.0064" or "< 1e-15"."""
    return "< 1e-15" if p < 1e-15 else f"= {p:.2g}"


@dataclass(frozen=True)
class Pair:
    """Comparison of two strategies in the worlds of one class.

    Parameters
    ----------
    world_class : str
        Class of worlds.
    first, second : str
        Names of the strategies.
    figure : str
        Figure of the paper that shows both; it decides the pool "figure".
    alpha : float
        Significance level.
    printed : bool
        Whether the paper gives this level.
    l1 : bool
        Compare areas of the L1 distance instead of missing information.
    """

    world_class: str
    first: str
    second: str
    figure: str
    alpha: float = ALPHA
    printed: bool = True
    l1: bool = False

    def worse(self, evidence: Evidence) -> Finding:
        """Check that the first strategy learns significantly more slowly than the second.

        A difference that is not significant disagrees; with fewer than `MIN_WORLDS` worlds it is undecided.
        """
        comparison = self._compare(evidence, evidence.pool)
        different = comparison.differ(self.alpha)
        ok = comparison.slower if different else False if evidence.n_worlds >= MIN_WORLDS else None
        return self._finding(evidence, f"{self.first} worse than {self.second}", f"p < {self.alpha:g}", ok)

    def indistinguishable(self, evidence: Evidence) -> Finding:
        """Check that the strategies are not significantly different; undecided with fewer than `MIN_WORLDS` worlds."""
        different = self._compare(evidence, evidence.pool).differ(self.alpha)
        ok = False if different else True if evidence.n_worlds >= MIN_WORLDS else None
        expected = f"{self.first} not significantly different from {self.second}"
        return self._finding(evidence, expected, f"p > {self.alpha:g}", ok)

    def _compare(self, evidence: Evidence, pool: Pool) -> PoolComparison:
        """Compare the two strategies among those of a pool."""
        names = {"curves": CURVE_POOL, "figure": FIGURE_POOLS[self.figure]}.get(pool)
        strategies = tuple(names or evidence.areas[self.world_class])
        test = evidence.compared(self.world_class, strategies, self.l1)
        slower = test.mean_rank[self.first] > test.mean_rank[self.second]
        return PoolComparison(slower, test.p_value(self.first, self.second), test.friedman)

    def _finding(self, evidence: Evidence, expected: str, level: str, ok: bool | None) -> Finding:
        areas = (evidence.l1_areas if self.l1 else evidence.areas)[self.world_class]
        effect = relative_difference(areas[self.first], areas[self.second])
        larger = share_larger(areas[self.first], areas[self.second])
        pools: dict[str, PoolComparison] = {pool: self._compare(evidence, pool) for pool in POOLS}
        comparison = pools[evidence.pool]
        significance = (
            "significantly different"
            if comparison.differ(self.alpha)
            else f"not significantly different at the {self.alpha:g} level"
        )
        return Finding(
            f"{title(self.world_class)}: {self.first} against {self.second}",
            f"{expected} ({level})" if self.printed else expected,
            f"{significance} (p {p_text(comparison.p)}); areas differ by {_interval(effect)}, and the first is larger "
            f"in {larger:.0%} of worlds",
            ok,
            "" if self.printed else f"significance level {level} (not given in the paper)",
            *effect,
            "area",
            comparison.p,
            pools,
            comparison.friedman,
            (self.first, self.second),
        )


def _interval(effect: Estimate) -> str:
    """Return a share with its confidence interval, in per cent, as text."""
    return f"{100 * effect.value:+.1f} % [{100 * effect.low:+.1f}, {100 * effect.high:+.1f}]"
