"""Some of the bit flips of flips.py: all in the directory of a file, which has no checksum, and a few before it."""

from __future__ import annotations

import pytest

from amounts import amount
from fuzz.flips import PRIORS, flipped


def in_the_directory(sound: bytes) -> range:
    """Every third or seventh bit: all bits of a byte are met in bytes of the same kind."""
    return range(8 * sound.index(b"PK\x01\x02"), 8 * len(sound), amount(7, 3))


@pytest.mark.parametrize("kind", PRIORS)
def test_a_flipped_bit_in_the_directory_is_refused_or_changes_nothing(kind: str) -> None:
    tally = flipped(kind, in_the_directory)
    assert tally["silent"] == tally["crashed"] == 0
    assert tally["refused"] > amount(120, 300) and tally["equal"] > amount(40, 100)


@pytest.mark.parametrize("kind", PRIORS)
def test_a_flipped_bit_elsewhere_is_refused_or_changes_nothing(kind: str) -> None:
    tally = flipped(kind, lambda sound: range(0, 8 * sound.index(b"PK\x01\x02"), 37))
    assert tally["silent"] == tally["crashed"] == 0
    assert tally["refused"] > 100
