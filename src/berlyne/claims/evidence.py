"""The numbers that claims are checked on: gathered from a reproduction, or invented in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from berlyne.arrays import FloatArray
from berlyne.stats import embodiment_index

Areas = Mapping[str, FloatArray]
"""Area under the learning curve of each world, by strategy."""


@dataclass(frozen=True)
class Evidence:
    """What there is to judge by.

    areas : by class and strategy, (n_worlds,): area under the curve of missing information, in bits.
    l1_areas : the same for the L1 distance.
    curves : by class and strategy, (n_steps + 1,): mean missing information.
    stages : structure, gains, tasks and learned, as their datasets.
    pool_all : judge every comparison in the pool of all strategies rather than of its figure (R16).
    """

    areas: Mapping[str, Areas]
    l1_areas: Mapping[str, Areas] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    stages: Mapping[str, Any] = field(default_factory=dict)
    pool_all: bool = False

    @property
    def n_worlds(self) -> int:
        """Worlds of each class."""
        return len(next(iter(next(iter(self.areas.values())).values())))

    def embodiment_index(self, world_class: str) -> FloatArray:
        """Embodiment index of each world of a class, (n_worlds,)."""
        areas = self.areas[world_class]
        return embodiment_index(areas["PIG(greedy)"], areas["Unembodied"])
