"""Base class of the stages of the reproduction: numbers computed once, and again if what decides them changes.

A stage returns one labelled dataset. It maps a function over its worlds with `map_items`, which may call the function
in other processes, so it is a function of a module, or a `partial` of one. Seeds are derived from ids, so the numbers
do not depend on the order of computation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
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
MapFunction = Callable[[str, Sequence[Any], Callable[[Any], Any]], list[Any]]
"""`map_items(label, items, function)` applies a function to each item, in order, and shows progress."""


@dataclass(frozen=True)
class Stage(ABC):
    """A stage of the reproduction.

    The fields of a stage are its settings. Its numbers depend only on these settings, the worlds, the strategies, the
    parts that it needs, and the sources that its module imports (`berlyne.paper.reproduction.freshness`).

    Attributes
    ----------
    name : str
        Name of its dataset.
    needs : tuple of str
        Names of the parts from whose results it is computed.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""

    def strategies_needed(self) -> tuple[str, ...]:
        """Return the strategies that the numbers depend on."""
        return ()

    def settings(self, paper_run: PaperRun) -> dict[str, Any]:
        """Return all settings that affect the numbers, as data for JSON."""
        strategies = {name: repr(paper_run.strategy(name)) for name in self.strategies_needed()}
        return {**asdict(self), "parameters of strategies": strategies, **paper_run.worlds_summary}


def all_worlds(paper_run: PaperRun) -> list[WorldKey]:
    """Return class and index of every world of a reproduction."""
    return [(name, i) for name in PAPER_WORLDS for i in range(paper_run.n_worlds)]
