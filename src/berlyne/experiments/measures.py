"""What is measured of an exploration, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from berlyne.explore import Run


@dataclass(frozen=True)
class Measure:
    """A quantity of a run at each time step 0..n_steps: `of(run)`, (n_steps + 1,)."""

    name: str
    of: Callable[[Run], Any]
    units: str
    meaning: str


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("missing_information", lambda run: run.missing_information, "bits", "divergence of the model (Eq. 2)"),
        Measure("l1_distance", lambda run: run.l1_distance, "1", "L1 distance of the model (Fig. S4)"),
    )
}
"""The measures that every experiment keeps. One more here is stored in single precision from then on, by
new stores: one that was made without it is read as it is, and cannot be gone on with."""
