"""Hypothesis runs the same examples every time, so that a red test stays red."""

from hypothesis import settings

settings.register_profile("berlyne", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("berlyne")
