"""Evidence of a reproduction, and the verdicts on all claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.paper.claims import CLAIMS, Evidence, Verdict
from berlyne.paper.reproduction.explorations import stored_explorations
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.validation import FloatArray
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


@lru_cache(maxsize=2)
def gather_evidence(paper_run: PaperRun) -> Evidence:
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
    stages = _LazyStages(paper_run.stage)
    return Evidence(areas, l1_areas, curves, stages, **paper_run.assumptions.judging_options)


@lru_cache(maxsize=2)
def verdicts_of(paper_run: PaperRun) -> dict[str, Verdict]:
    """Return the verdict of a reproduction on every claim, by id."""
    return {id_: claim.verdict(gather_evidence(paper_run)) for id_, claim in CLAIMS.items()}


def _by_strategy(table: FloatArray) -> dict[str, FloatArray]:
    """Return the columns of a table (world, strategy, ...) by strategy."""
    return {s: np.asarray(table[:, i], dtype=float) for i, s in enumerate(PAPER_STRATEGIES)}


class _LazyStages(dict[str, Any]):
    """Stages by name, each loaded when it is first used."""

    def __init__(self, load: Callable[[str], Any]) -> None:
        super().__init__()
        self._load = load

    def __missing__(self, name: str) -> Any:
        self[name] = self._load(name)
        return self[name]
