"""Array types, checks of arguments, and the documentation pages that error messages point to.

A check returns the value in the type that the package uses. Otherwise it raises a `ValueError` that contains the name
and value of the argument and the values that are valid. If a page explains the error, the message ends with one of the
paths below.
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
"""Size in bytes of the largest dense `(M, N, N)` array that the package creates."""

MAX_CHARACTERS = 100
"""Largest number of characters of a value that a message shows."""


def generator(seed: Seed) -> np.random.Generator:
    """Return a random generator for `seed`; a `Generator` is returned unchanged."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence(seed))


def seed_sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    """Return a `SeedSequence` for `seed`; a `SeedSequence` is returned unchanged."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.SeedSequence(int(seed))
    raise ValueError(f"seed is {seed!r}; it must be a non-negative int, a numpy SeedSequence or a numpy Generator")


def short_repr(value: object) -> str:
    """Return a short text for a value in a message: one line, at most `MAX_CHARACTERS` long; an array by its shape."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "..."


def check_count(name: str, value: int, at_least: int) -> int:
    """Return `value` as an int of at least `at_least`, or raise a `ValueError` about `name`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {at_least}")
    return int(value)


def check_index(name: str, value: int, size: int) -> int:
    """Return `value` as an int from 0 to `size - 1`, or raise a `ValueError` about `name`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < size:
        raise ValueError(f"{name} is {short_repr(value)}; it must be a whole number from 0 to {size - 1}")
    return int(value)


def is_index(value: object, size: int) -> bool:
    """Return whether a value is a whole number from 0 to `size - 1`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < size)


UNBOUNDED = 1e300
"""A bound from which on messages do not name it."""


def check_number(name: str, value: float, low: float, high: float, *, open_low: bool = False) -> float:
    """Return `value` as a float in [low, high], or in (low, high] if `open_low`; otherwise raise a `ValueError`."""
    low_bracket = "(" if open_low else "["
    valid = (
        f"in {low_bracket}{low:g}, {high:g}]"
        if high < UNBOUNDED
        else f"{'above' if open_low else 'of at least'} {low:g}"
    )
    message = f"{name} is {value!r}; it must be a number {valid}"
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise ValueError(message)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(message) from None
    if not (low <= number <= high) or (open_low and number == low) or not np.isfinite(number):
        raise ValueError(message)
    return number


def check_text(name: str, value: str) -> str:
    """Return `value` if it is a string that is not empty; otherwise raise a `ValueError`."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r:.60}; it must be text")
    return str(value)


def check_flag(name: str, value: bool | None, *, optional: bool = True) -> None:
    """Raise a `ValueError` if `value` is not True or False; None is allowed if `optional`."""
    if not isinstance(value, bool | np.bool_) and not (optional and value is None):
        valid = "True, False or None" if optional else "True or False"
        raise ValueError(f"{name} is {value!r}; it must be {valid}")


def check_dense(name: str, n_actions: int, n_states: int, alternative: str) -> None:
    """Raise a `ValueError` if a dense `(M, N, N)` array of doubles would exceed `DENSE_LIMIT`.

    Parameters
    ----------
    name : str
        Name of the array, for the message.
    n_actions, n_states : int
        M and N.
    alternative : str
        The attribute or method that the message recommends instead.
    """
    n_bytes = 8 * n_actions * n_states**2
    if n_bytes > DENSE_LIMIT:
        raise ValueError(
            f"{name} as a dense array would contain {n_actions} x {n_states} x {n_states} numbers "
            f"({n_bytes / 2**30:,.1f} GiB, but the limit is {DENSE_LIMIT / 2**30:g} GiB); use {alternative}"
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
HISTORIES = _see("how-to/values-and-replay")
CLOSED_LOOP = _see("how-to/closed-loop")
ASSUMPTIONS = _see("how-to/change-an-assumption")
ENGINE = _see("explanation/engine")
SHARING = _see("explanation/sharing")
