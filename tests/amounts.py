"""How much a test does: some of it in `make test`, all of it in `make test-full`, which `.ci/run` calls.

Use this for a number that may be smaller without weakening what the test asserts in one case, such as kills, damaged
files, power cuts or simulated worlds. Tolerances must hold for both numbers. Products of parameters are marked
`pairwise` instead.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

IS_FULL = False
"""Whether the option `--full` is given; tests/conftest.py sets it before tests are imported."""


def amount(some: T, full: T) -> T:
    """Return `full` with the option `--full`, and `some` without it."""
    return full if IS_FULL else some
