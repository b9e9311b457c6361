"""The numbers that claims are checked on: gathered from a reproduction, or invented in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from berlyne.stats import Friedman, embodiment_index, friedman_of_ranks, p_values_of_ranks, ranks
from berlyne.validation import FloatArray

Areas = Mapping[str, FloatArray]
"""Area under the learning curve of each world, by strategy."""
Pool = Literal["curves", "figure", "all"]
"""The strategies that enter one Friedman test: of all learning curves, of the one figure, or all there are (R16)."""
Ranking = Literal["each time", "average loss"]
"""Strategies are ranked at each time of testing and ranks averaged, or ranked by their average loss (R19)."""
Index = Literal["per world", "ratio of means"]
"""The embodiment index of each world, averaged; or that of the average areas (R14)."""


class PoolTest(NamedTuple):
    """All pairs of a pool of k strategies in n worlds.

    p : (k, k), p-values; mean_ranks : (k,); friedman : the test of the whole; ranked : (n, k), what is tested.
    """

    strategies: tuple[str, ...]
    p: FloatArray
    mean_ranks: FloatArray
    friedman: Friedman
    ranked: FloatArray

    @property
    def mean_rank(self) -> dict[str, float]:
        """Mean ranks by strategy."""
        return dict(zip(self.strategies, self.mean_ranks.tolist(), strict=True))

    def p_value(self, one: str, other: str) -> float:
        """The p-value of two strategies."""
        return float(self.p[self.strategies.index(one), self.strategies.index(other)])


@dataclass(frozen=True)
class Evidence:
    """What there is to judge by.

    areas : by class and strategy, (n_worlds,): area under the curve of missing information, in bits.
    l1_areas : the same for the L1 distance.
    curves : by class and strategy, (n_steps + 1,): mean missing information.
    stages : structure, gains, tasks and learned, as their datasets.
    pool, ranking, index : how it is judged, where a reading leaves a choice.
    """

    areas: Mapping[str, Areas]
    l1_areas: Mapping[str, Areas] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    stages: Mapping[str, Any] = field(default_factory=dict)
    pool: Pool = "curves"
    ranking: Ranking = "each time"
    index: Index = "per world"
    _tests: dict[Any, PoolTest] = field(init=False, repr=False, compare=False, default_factory=dict)

    @property
    def n_worlds(self) -> int:
        """Worlds of each class."""
        return len(next(iter(next(iter(self.areas.values())).values())))

    def embodiment_index(self, world_class: str) -> FloatArray:
        """Embodiment index of each world of a class, (n_worlds,)."""
        areas = self.areas[world_class]
        return embodiment_index(areas["PIG(greedy)"], areas["Unembodied"])

    def compared(self, world_class: str, strategies: tuple[str, ...], l1: bool = False) -> PoolTest:
        """Some strategies compared with each other by area; worked out once."""
        areas = (self.l1_areas if l1 else self.areas)[world_class]
        return self.tested(
            (world_class, "l1" if l1 else "area"),
            strategies,
            lambda: ranks(np.stack([areas[s] for s in strategies], axis=1)),
        )

    def tested(self, about: tuple[str, str], strategies: tuple[str, ...], ranked: Callable[[], FloatArray]) -> PoolTest:
        """Friedman's test and its comparisons of ranks (world, strategy), worked out once for all that is asked."""
        key = about, strategies
        if key not in self._tests:
            found = ranked()
            self._tests[key] = PoolTest(strategies, *p_values_of_ranks(found), friedman_of_ranks(found), found)
        return self._tests[key]
