"""A small round of the fuzz of explorer files; see explorers.py."""

from fuzz.explorers import in_a_process


def test_damaged_explorer_files_are_refused_or_harmless():
    found = in_a_process(123, 250, None)
    assert found["silent"] == found["crashed"] == 0
    assert found["refused"] > 100 and found["harmless"] > 10 and found.total() == 250
