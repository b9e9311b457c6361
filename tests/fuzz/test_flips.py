"""Some of the flips of flips.py: all in the directory of a file, which has no checksum of its own, and a few before."""

from __future__ import annotations

import pytest

from fuzz.flips import PRIORS, flipped


def in_the_directory(sound: bytes) -> range:
    """Every third bit: all bits of a byte are met in three bytes of the same kind."""
    return range(8 * sound.index(b"PK\x01\x02"), 8 * len(sound), 3)


@pytest.mark.parametrize("kind", PRIORS)
def test_a_flipped_bit_in_the_directory_is_refused_or_changes_nothing(kind: str) -> None:
    found = flipped(kind, in_the_directory)
    assert found["silent"] == found["crashed"] == 0
    assert found["refused"] > 300 and found["equal"] > 100


@pytest.mark.parametrize("kind", PRIORS)
def test_a_flipped_bit_elsewhere_is_refused_or_changes_nothing(kind: str) -> None:
    found = flipped(kind, lambda sound: range(0, 8 * sound.index(b"PK\x01\x02"), 37))
    assert found["silent"] == found["crashed"] == 0
    assert found["refused"] > 100
