"""Fixtures for the tests of this folder."""

import pytest

from unit.experiments.studies import small_blocks

__all__ = ["small_blocks"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Read damaged chunks again as often as usual, but at once: no other process writes them in these tests."""
    from berlyne.experiments import manifests

    monkeypatch.setattr(manifests, "PAUSES", (0.0,) * len(manifests.PAUSES))
