"""Invented results just below and just above the threshold of a verdict.

The thresholds are computed here with SciPy and by hand, not with berlyne.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import xarray as xr
from scipy.stats import studentized_range

from berlyne.paper.claims import Evidence

from .invented import LEVELS, as_published

NAMES = (
    "Random", "Unembodied", "LTA", "CB", "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PIG(Q)", "PEIG(greedy)", "PEIG(VI)",
    "PEIG(Q)", "PMC(greedy)", "PMC(VI)", "PLC(greedy)", "PLC(VI)",
)  # fmt: skip
FIG8 = tuple(name for name in NAMES if name not in ("PIG(Q)", "PEIG(Q)"))
invented = lru_cache(as_published)


@lru_cache
def swaps(k: int, n: int, alpha: float, between: int = 0) -> int:
    """In how many of n worlds one of k strategies must rank above another, `between` others apart, for p < alpha."""

    def p(m: int) -> float:
        gap = (2 * m / n - 1) * (between + 1)
        return float(studentized_range.sf(gap / np.sqrt(k * (k + 1) / 12 / n), k, np.inf))

    assert p(n) < alpha
    few, enough = n // 2, n
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if p(middle) < alpha else (middle, enough)
    return enough


def ranked(pool: Sequence[str], one: str, other: str, n: int, m: int, between: int = 0) -> dict[str, np.ndarray]:
    """Values of n worlds, in the same order but for `one`, which is above `other` in m worlds and below in the rest."""
    rest = [name for name in pool if name not in (one, other)]
    order = [other, *rest[:between], one, *rest[between:]]
    values = {name: np.full(n, 100.0 + i) for i, name in enumerate(order)}
    above = np.arange(n) < m
    values[one], values[other] = (
        np.where(above, values[one], values[other]),
        np.where(above, values[other], values[one]),
    )
    return values


def with_areas(e: Evidence, world_class: str, areas: dict[str, np.ndarray], l1: bool = False) -> Evidence:
    """The evidence with some areas of one class changed."""
    key = "l1_areas" if l1 else "areas"
    old = getattr(e, key)
    return replace(e, **{key: {**old, world_class: {**old[world_class], **areas}}})


def with_stage(e: Evidence, name: str, dataset: xr.Dataset) -> Evidence:
    return replace(e, stages={**e.stages, name: dataset})


def with_curve(e: Evidence, world_class: str, strategy: str, curve: np.ndarray) -> Evidence:
    return replace(e, curves={**e.curves, world_class: {**e.curves[world_class], strategy: curve}})


def standard(n: int, seed: int = 0) -> np.ndarray:
    """Numbers with mean 0 and standard deviation 1, as exactly as can be."""
    x = np.random.default_rng(seed).normal(size=n)
    return np.asarray((x - x.mean()) / x.std(ddof=1))


def with_losses(e: Evidence, world_class: str, task: str, losses: dict[str, np.ndarray]) -> Evidence:
    """The evidence with losses of one task changed; those of early times are larger, in the same order."""
    tasks = e.stages["tasks"].copy(deep=True)
    for name, values in losses.items():
        where = {"world_class": world_class, "strategy": name}
        tasks[f"{task}_loss"].loc[where] = values[:, None] * np.array([90.0, 40.0, 6.0, 7.0, 3.0, 1.0])
    return with_stage(e, "tasks", tasks)


def all_tasks(e: Evidence, losses: dict[str, np.ndarray]) -> Evidence:
    """Return evidence with these losses in every class and task."""
    for world_class in LEVELS:
        for task in ("navigation", "reward"):
            e = with_losses(e, world_class, task, losses)
    return e
