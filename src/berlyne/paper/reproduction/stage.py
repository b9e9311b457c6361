"""What a stage of the reproduction is: numbers that are worked out once, and again if what decides them changes."""

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
"""Steps for which it is told how an action is felt."""
MapFunction = Callable[[str, list[Any], Callable[[Any], Any]], list[Any]]
"""`map_items(label, items, function)`: the function of every item, in order, with progress shown."""


@dataclass(frozen=True)
class Stage(ABC):
    """One stage. Its settings are its fields: together with the worlds and the strategies they decide its numbers.

    name : what its dataset is called.
    version : to be raised by whoever changes what it computes.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1

    @abstractmethod
    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """The numbers, for all worlds of the study."""

    def strategies_needed(self) -> tuple[str, ...]:
        """The strategies that its numbers depend on."""
        return ()

    def stamp(self, paper_run: PaperRun) -> str:
        """All that decides the numbers, as text: numbers with another stamp are not these."""
        said = {
            "version": self.version,
            "settings": asdict(self),
            "strategies": [repr(paper_run.strategy(name)) for name in self.strategies_needed()],
            **paper_run.worlds_summary,
        }
        return json.dumps(said, sort_keys=True)


def all_worlds(paper_run: PaperRun) -> list[WorldKey]:
    """Class and index of every world."""
    return [(name, i) for name in PAPER_WORLDS for i in range(paper_run.n_worlds)]
