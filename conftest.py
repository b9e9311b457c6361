"""Fixtures for the tests and for the examples in docstrings."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def only_built_in_utilities() -> Iterator[None]:
    """Remove the indices that a test, a page or an example has registered."""
    from berlyne.strategies.utilities import UTILITIES

    before = dict(UTILITIES)
    yield
    UTILITIES.clear()
    UTILITIES.update(before)
