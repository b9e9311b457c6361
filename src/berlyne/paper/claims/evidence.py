"""Data for checking claims, from a reproduction or from a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from berlyne.stats import Friedman, embodiment_index, friedman_of_ranks, p_values_of_ranks, ranks
from berlyne.validation import FloatArray

Areas = Mapping[str, FloatArray]
"""Area under the learning curve in each world, by strategy."""
Pool = Literal["curves", "figure", "all"]
"""Strategies in one Friedman test: those of all learning curves, those of one figure, or all of them (reading R16)."""
Ranking = Literal["each time", "average loss"]
"""Rank strategies at each time of testing and average the ranks, or rank them by their average loss (reading R19)."""
Index = Literal["per world", "ratio of means"]
"""Average the embodiment index over worlds, or compute it from average areas (reading R14)."""


class PoolTest(NamedTuple):
    """Comparison of all pairs of k strategies in n worlds.

    Attributes
    ----------
    strategies : tuple of str
        Names of the k strategies.
    p : ndarray of shape (k, k)
        p-values of all pairs.
    mean_ranks : ndarray of shape (k,)
        Mean rank of each strategy.
    friedman : Friedman
        Friedman's test of the whole pool.
    ranked : ndarray of shape (n, k)
        Rank of each strategy in each world, from which the tests are computed.
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

    def p_value(self, first: str, second: str) -> float:
        """Return the p-value of two strategies."""
        return float(self.p[self.strategies.index(first), self.strategies.index(second)])


@dataclass(frozen=True)
class Evidence:
    """Results that claims are checked on, and the options for checking them.

    Parameters
    ----------
    areas : mapping of str to mapping of str to ndarray of shape (n_worlds,)
        Area under the curve of missing information, in bits, by class and strategy.
    l1_areas : mapping of str to mapping of str to ndarray of shape (n_worlds,)
        Area under the curve of the L1 distance, by class and strategy.
    curves : mapping of str to mapping of str to ndarray of shape (n_steps + 1,)
        Mean missing information, in bits, by class and strategy.
    stages : mapping of str to Dataset
        Datasets of the stages structure, gains, tasks and learned.
    pool : {"curves", "figure", "all"}
        Strategies in one Friedman test (reading R16).
    ranking : {"each time", "average loss"}
        How task losses at several times become ranks (reading R19).
    index : {"per world", "ratio of means"}
        How the embodiment index is averaged (reading R14).
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
        """Number of worlds of each class."""
        return len(next(iter(next(iter(self.areas.values())).values())))

    def embodiment_index(self, world_class: str) -> FloatArray:
        """Return the embodiment index of each world of a class, of shape (n_worlds,)."""
        areas = self.areas[world_class]
        return embodiment_index(areas["PIG(greedy)"], areas["Unembodied"])

    def compared(self, world_class: str, strategies: tuple[str, ...], l1: bool = False) -> PoolTest:
        """Compare all pairs of some strategies by area; the result is cached.

        Parameters
        ----------
        world_class : str
            Class of worlds.
        strategies : tuple of str
            Names of the strategies in the pool.
        l1 : bool
            Compare areas of the L1 distance instead of missing information.

        Returns
        -------
        PoolTest
            p-values, mean ranks and Friedman's test.
        """
        areas = (self.l1_areas if l1 else self.areas)[world_class]
        return self.tested(
            (world_class, "l1" if l1 else "area"),
            strategies,
            lambda: ranks(np.stack([areas[s] for s in strategies], axis=1)),
        )

    def tested(self, about: tuple[str, str], strategies: tuple[str, ...], ranked: Callable[[], FloatArray]) -> PoolTest:
        """Run Friedman's test and compare all pairs by mean ranks; the result is cached.

        Parameters
        ----------
        about : tuple of str
            Class of worlds and name of the measure; with `strategies`, the key of the cache.
        strategies : tuple of str
            Names of the k strategies in the pool.
        ranked : callable
            Returns the ranks, of shape (n_worlds, k). Called only if the result is not cached.

        Returns
        -------
        PoolTest
            p-values, mean ranks and Friedman's test.
        """
        key = about, strategies
        if key not in self._tests:
            table = ranked()
            self._tests[key] = PoolTest(strategies, *p_values_of_ranks(table), friedman_of_ranks(table), table)
        return self._tests[key]
