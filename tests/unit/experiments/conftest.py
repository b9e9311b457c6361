"""Fixtures of `studies`, for the tests of this folder."""

from unit.experiments.studies import small_blocks

__all__ = ["small_blocks"]
