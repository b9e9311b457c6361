"""What is measured of an exploration, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from berlyne.explore import Run


@dataclass(frozen=True)
class Measure:
    """A quantity of a finished run: one number, or one for each time step 0..n_steps."""

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
"""The measures that every experiment keeps."""
