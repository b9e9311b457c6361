"""Read the evidence for claims from stored explorations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from berlyne.paper.claims import Evidence
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.validation import FloatArray
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


def gather_evidence(paper_run: PaperRun, stages: Mapping[str, xr.Dataset]) -> Evidence:
    """Return the evidence of a reproduction: areas and mean curves of its explorations, and its stages."""
    areas: dict[str, dict[str, FloatArray]] = {}
    l1_areas: dict[str, dict[str, FloatArray]] = {}
    curves: dict[str, dict[str, FloatArray]] = {}
    for name in PAPER_WORLDS:
        runs = stored_explorations(paper_run, name)
        areas[name] = _by_strategy(runs["area"].values)
        l1_areas[name] = _by_strategy(runs["l1_distance"].values.sum(axis=2, dtype=float))
        mean = runs["missing_information"].values.mean(axis=0, dtype=float)  # (strategy, time)
        curves[name] = dict(zip(PAPER_STRATEGIES, mean, strict=True))
    return Evidence(areas, l1_areas, curves, stages, **paper_run.assumptions.judging_options)


def stored_explorations(paper_run: PaperRun, world_class: str) -> xr.Dataset:
    """Return the stored explorations of a class, (world, strategy, ...), with strategies in the order of the paper."""
    return (
        paper_run.results.of(world_class).sel(strategy=list(PAPER_STRATEGIES)).isel(world=slice(0, paper_run.n_worlds))
    )


def _by_strategy(table: FloatArray) -> dict[str, FloatArray]:
    """Return the columns of a table (world, strategy, ...) by strategy."""
    return {s: np.asarray(table[:, i], dtype=float) for i, s in enumerate(PAPER_STRATEGIES)}
