"""Fixtures for the tests and for the examples in docstrings."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def only_built_in_parts() -> Iterator[None]:
    """Remove the indices and methods that a test, a page or an example has registered."""
    from berlyne.strategies.coordination import METHODS_BY_NAME
    from berlyne.strategies.own_methods import OWN_METHODS
    from berlyne.strategies.utilities import UTILITIES

    tables: tuple[dict[str, Any], ...] = UTILITIES, METHODS_BY_NAME, OWN_METHODS
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
