"""Settings of a model that are shared by all people: grids of values, and priors with such a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.priors import ChineseRestaurant, Prior
from berlyne.validation import check_count, check_number, short_repr


@dataclass(frozen=True)
class Grid:
    """Values of a setting to try.

    Attributes
    ----------
    values : tuple
        The values, ascending.
    refine : bool
        Whether the best value is then refined between its neighbours.
    is_log : bool
        Whether it is refined on a logarithmic scale.
    """

    values: tuple[Any, ...]
    refine: bool = False
    is_log: bool = False


def grid(low: float, high: float, n: int, *, refine: bool = True) -> Grid:
    """Return `n` values from `low` to `high`, evenly spaced on a logarithmic scale; a linear one if `low` is 0.

    Parameters
    ----------
    low, high : float
        Smallest and largest value, at least 0.
    n : int
        Number of values, at least 2.
    refine : bool
        Whether a fit refines the best value between its neighbours.

    Returns
    -------
    Grid
        The values.

    Examples
    --------
    >>> grid(0.1, 10, 3).values
    (0.1, 1.0, 10.0)
    """
    n = check_count("n", n, 2)
    low = check_number("low", low, 0.0, 1e300)
    high = check_number("high", high, low, 1e300, open_low=True)
    values = np.linspace(low, high, n) if low == 0 else np.geomspace(low, high, n)
    return Grid(tuple(float(f"{value:.12g}") for value in values), refine, low > 0)


def as_grid(name: str, value: Any) -> Grid:
    """Return a grid for a grid, a list of values, or one value."""
    if isinstance(value, Grid):
        return value
    values = tuple(value) if isinstance(value, list | tuple | range | np.ndarray) else (value,)
    if not values or any(not isinstance(v, int | float | np.number) or isinstance(v, bool) for v in values):
        raise ValueError(f"{name} is {short_repr(value)}; it must be a number, a list of numbers or bb.grid(...)")
    return Grid(tuple(sorted(v.item() if isinstance(v, np.number) else v for v in values)))


@dataclass(frozen=True)
class CrpGrid:
    """Chinese-restaurant priors whose concentration and discount are settings.

    Attributes
    ----------
    c, d : Grid
        Concentrations and discounts to try.
    """

    c: Grid
    d: Grid

    def at(self, c: float, d: float) -> Prior:
        """Return the prior with these settings."""
        return ChineseRestaurant(c, d)


def crp(c: Any = 1.0, d: Any = 0.0) -> CrpGrid:
    """Chinese-restaurant prior, with which people discover states, for `bb.model`.

    Parameters
    ----------
    c : float, list of float or Grid
        Concentration, or the values to try.
    d : float, list of float or Grid
        Discount of the Pitman-Yor process, or the values to try.

    Returns
    -------
    CrpGrid
        The priors.
    """
    return CrpGrid(as_grid("c", c), as_grid("d", d))
