"""The numbers that claims are checked on, gathered from stored results (or invented, in tests)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.reproduction.study import Study

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

    @classmethod
    def of(cls, study: Study) -> Evidence:
        """Everything that a finished reproduction has stored."""
        results = study.results
        areas, l1_areas, curves = {}, {}, {}
        for name in PAPER_WORLDS:
            table = results.areas(name)
            areas[name] = {s: np.asarray(table.sel(strategy=s).values) for s in PAPER_STRATEGIES}
            dataset = results.of(name)
            l1_areas[name] = {
                s: np.asarray(dataset["l1_distance"].sel(strategy=s).values, dtype=float).sum(axis=1)
                for s in PAPER_STRATEGIES
            }
            means = results.curves(name)["mean"]
            curves[name] = {s: np.asarray(means.sel(strategy=s).values) for s in PAPER_STRATEGIES}
        stages = {name: study.stage(name) for name in ("structure", "gains", "tasks", "learned") if study.has(name)}
        return cls(areas, l1_areas, curves, stages)

    @property
    def n_worlds(self) -> int:
        """Worlds of each class."""
        return len(next(iter(next(iter(self.areas.values())).values())))
