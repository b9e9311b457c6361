"""Gathering what claims are checked on from stored explorations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.claims import Evidence
from berlyne.experiments import Results
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr


def gather(results: Results, stages: Mapping[str, xr.Dataset]) -> Evidence:
    """The evidence of the paper's strategies in the paper's worlds, and of the stages that there are."""
    areas = {name: _by_strategy(results.areas(name)) for name in PAPER_WORLDS}
    l1_areas = {name: _by_strategy(results.of(name)["l1_distance"], total=True) for name in PAPER_WORLDS}
    curves = {name: _by_strategy(results.curves(name)["mean"]) for name in PAPER_WORLDS}
    return Evidence(areas, l1_areas, curves, stages)


def _by_strategy(table: xr.DataArray, total: bool = False) -> dict[str, FloatArray]:
    """What a table holds of each strategy; `total` adds up over time."""
    found = {s: np.asarray(table.sel(strategy=s).values, dtype=float) for s in PAPER_STRATEGIES}
    return {s: values.sum(axis=1) for s, values in found.items()} if total else found
