"""A short run of the fuzz test of explorer files; see explorers.py."""

from amounts import amount
from fuzz.explorers import in_a_process


def test_damaged_explorer_files_are_refused_or_harmless():
    n = amount(120, 250)
    tally = in_a_process(123, n, None)
    assert tally["silent"] == tally["crashed"] == 0
    assert tally["refused"] > 0.4 * n and tally["harmless"] > 0.04 * n and tally.total() == n
