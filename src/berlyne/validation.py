"""Array types, checks of arguments, and the documentation pages that error messages point to.

A check returns the value in the type that the package uses, or raises a `ValueError` that names the argument, the value
and what it must be. A message that a page explains ends with one of the addresses below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

Seed = int | np.random.SeedSequence | np.random.Generator

DENSE_LIMIT = 2**30
"""Largest dense `(M, N, N)` array, in bytes, that is made without being asked twice."""

MOST_SHOWN = 100
"""Most characters of a value that a message shows."""


def generator(seed: Seed) -> np.random.Generator:
    """The random generator that `seed` stands for; a `Generator` is used as it is."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence(seed))


def seed_sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    """What seeds a generator; a `SeedSequence` is used as it is."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.SeedSequence(int(seed))
    raise ValueError(f"seed is {seed!r}; it must be a non-negative int, a numpy SeedSequence or a numpy Generator")


def short_repr(value: object) -> str:
    """A value as messages show it: on one line, arrays by their shape, and cut where it is long."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


def check_count(name: str, value: int, at_least: int) -> int:
    """`value` as an int, or a `ValueError` that says what `name` must be."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {at_least}")
    return int(value)


def check_index(name: str, value: int, size: int) -> int:
    """`value` as an int from 0 to `size - 1`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < size:
        raise ValueError(f"{name} is {short_repr(value)}; it must be a whole number from 0 to {size - 1}")
    return int(value)


def is_index(value: object, size: int) -> bool:
    """Whether a value is the number of one of `size` things."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < size)


def check_number(name: str, value: float, low: float, high: float, *, open_low: bool = False) -> float:
    """`value` as a float inside [low, high], or (low, high] if `open_low`."""
    low_bracket = "(" if open_low else "["
    wanted = f"{name} is {value!r}; it must be a number in {low_bracket}{low:g}, {high:g}]"
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise ValueError(wanted)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(wanted) from None
    if not (low <= number <= high) or (open_low and number == low) or not np.isfinite(number):
        raise ValueError(wanted)
    return number


def check_flag(name: str, value: bool | None, *, optional: bool = True) -> None:
    """Refuse what is neither True nor False, nor None if that leaves the choice open."""
    if not isinstance(value, bool | np.bool_) and not (optional and value is None):
        instead = "True, False or None" if optional else "True or False"
        raise ValueError(f"{name} is {value!r}; it must be {instead}")


def check_dense(what: str, n_actions: int, n_states: int, instead: str) -> None:
    """Refuse a dense `(M, N, N)` array of doubles larger than `DENSE_LIMIT`."""
    n_bytes = 8 * n_actions * n_states**2
    if n_bytes > DENSE_LIMIT:
        raise ValueError(
            f"{what} as a dense array would hold {n_actions} x {n_states} x {n_states} numbers "
            f"({n_bytes / 2**30:,.1f} GiB, the limit is {DENSE_LIMIT / 2**30:g} GiB); use {instead}"
        )


def _see(page: str) -> str:
    return f"; see docs/{page}.md"


OWN_WORLDS = _see("how-to/own-worlds")
UNKNOWN_STATES = _see("how-to/unknown-states")
OWN_PRIOR = _see("how-to/own-prior")
OWN_UTILITY = _see("how-to/own-utility")
OWN_METHOD = _see("how-to/own-method")
OWN_MEASURE = _see("how-to/own-measure")
STUDIES = _see("how-to/run-a-study")
RESUMING = _see("how-to/resume")
CLUSTERS = _see("how-to/cluster")
CLOSED_LOOP = _see("how-to/closed-loop")
ASSUMPTIONS = _see("how-to/change-an-assumption")
ENGINE = _see("explanation/engine")
