"""A short run of the fuzz test of explorer files; see explorers.py."""

from fuzz.explorers import in_a_process


def test_damaged_explorer_files_are_refused_or_harmless():
    tally = in_a_process(123, 250, None)
    assert tally["silent"] == tally["crashed"] == 0
    assert tally["refused"] > 100 and tally["harmless"] > 10 and tally.total() == 250
