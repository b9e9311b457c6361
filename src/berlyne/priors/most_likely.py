"""A positive number by maximum likelihood: of a Dirichlet prior, or of a Chinese restaurant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def check_bounds(bounds: tuple[float, float], least: float, most: float) -> None:
    """Refuse what does not bound a concentration, which a prior allows from `least` to `most`."""
    low, high = bounds
    if not least <= low < high <= most:
        allowed = f"two numbers in [{least:g}, {most:g}], the lower one first"
        raise ValueError(f"bounds are {bounds!r}; they must be {allowed}")


def most_likely(likelihood: Callable[[float], float], bounds: tuple[float, float]) -> float:
    """Where a log likelihood is largest inside `bounds`: on a grid of logarithms first, then between its points."""
    from scipy.optimize import minimize_scalar

    low, high = bounds
    grid = np.linspace(np.log(low), np.log(high), 41)
    best = int(np.argmax([likelihood(float(np.exp(x))) for x in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda x: -likelihood(float(np.exp(x))), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    return max([float(np.exp(found.x)), low, high], key=likelihood)
