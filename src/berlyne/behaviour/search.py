"""Search for the settings of a model that fit best: a grid, one drive after another, then refinement by SciPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from berlyne.behaviour.settings import Grid

MAX_CYCLES = 3
"""Rounds over all drives, at most; one drive needs one."""
N_REFINEMENTS = 8
"""Evaluations, at most, by which a setting is refined between its neighbours on the grid."""

Score = Callable[[dict[str, float]], float]


def usual_number(grids: Mapping[str, Grid]) -> int:
    """Return the number of settings that one round over all drives and the refinements try."""
    by_drive: dict[str, int] = {}
    for name, grid in grids.items():
        drive = name.rpartition(":")[0]
        by_drive[drive] = by_drive.get(drive, 1) * len(grid.values)
    return max(1, sum(by_drive.values()) + N_REFINEMENTS * sum(grid.refine for grid in grids.values()))


def search_settings(grids: Mapping[str, Grid], score: Score) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Maximise a score over settings.

    The settings of a drive, named "drive: setting", are tried in all combinations, while those of the other drives stay
    at their best values so far. Then each setting to be refined is refined between its neighbours.

    Parameters
    ----------
    grids : mapping of str to Grid
        Values to try, by name.
    score : callable
        Function of settings by name.

    Returns
    -------
    best : dict
        The best settings.
    profile : list of dict
        All settings that were tried, with their "score".
    """
    profile: dict[tuple[float, ...], float] = {}

    def scored(settings: Mapping[str, float]) -> float:
        key = tuple(settings[name] for name in grids)
        if key not in profile:
            profile[key] = score(dict(settings))
        return profile[key]

    best: dict[str, float] = {name: grid.values[len(grid.values) // 2] for name, grid in grids.items()}
    drives = list(dict.fromkeys(name.rpartition(":")[0] for name in grids))
    for _ in range(MAX_CYCLES if len(drives) > 1 else 1):
        before = dict(best)
        for drive in drives:
            names = [name for name in grids if name.rpartition(":")[0] == drive]
            tried = [
                {**best, **dict(zip(names, values, strict=True))}
                for values in itertools.product(*(grids[name].values for name in names))
            ]
            best = max(tried, key=scored)
        if best == before:
            break
    for name, grid in grids.items():
        if grid.refine:
            best = _refine(name, grid, best, scored)
    scored(best)
    return best, [{**dict(zip(grids, key, strict=True)), "score": value} for key, value in profile.items()]


def _refine(name: str, grid: Grid, best: dict[str, float], scored: Callable[[Any], float]) -> dict[str, float]:
    """Refine one setting between the neighbours of its best value on the grid."""
    from scipy.optimize import minimize_scalar

    i = grid.values.index(best[name])
    low, high = grid.values[max(i - 1, 0)], grid.values[min(i + 1, len(grid.values) - 1)]
    if grid.is_log:
        low, high = math.log(low), math.log(high)

    def at(x: float) -> dict[str, float]:
        return {**best, name: math.exp(x) if grid.is_log else float(x)}

    result = minimize_scalar(
        lambda x: -scored(at(float(x))),
        bounds=(low, high),
        method="bounded",
        options={"maxiter": N_REFINEMENTS, "xatol": 1e-2 * (high - low)},
    )
    refined = at(float(result.x))
    return refined if scored(refined) > scored(best) else best
