"""Base class of the stages of the reproduction: numbers computed once, and again if their settings change."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun

WorldKey = tuple[str, int]
"""Class and index of a world."""
N_LAGS = 20
"""Number of lags for controllability, in steps."""
MapFunction = Callable[[str, list[Any], Callable[[Any], Any]], list[Any]]
"""`map_items(label, items, function)` applies a function to each item, in order, and shows progress."""


@dataclass(frozen=True)
class Stage(ABC):
    """A stage of the reproduction.

    The fields of a stage are its settings. Its numbers depend only on these settings, the worlds and the strategies.

    Attributes
    ----------
    name : str
        Name of its dataset.
    version : int
        Increase it if you change what the stage computes.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1

    @abstractmethod
    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""

    def strategies_needed(self) -> tuple[str, ...]:
        """Return the strategies that the numbers depend on."""
        return ()

    def stamp(self, paper_run: PaperRun) -> str:
        """Return everything that affects the numbers as text; stored numbers with another stamp are out of date."""
        inputs = {
            "version": self.version,
            "settings": asdict(self),
            "strategies": [repr(paper_run.strategy(name)) for name in self.strategies_needed()],
            **paper_run.worlds_summary,
        }
        return json.dumps(inputs, sort_keys=True)


def all_worlds(paper_run: PaperRun) -> list[WorldKey]:
    """Return class and index of every world of a reproduction."""
    return [(name, i) for name in PAPER_WORLDS for i in range(paper_run.n_worlds)]
