"""Numba loops over plain arrays: no classes, no randomness, no files.

Importing a module from here imports Numba, so callers do it inside the functions that need it.
"""
