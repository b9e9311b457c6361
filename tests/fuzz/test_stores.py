"""A short run of `stores.py`: all damage is detected, and every error is one sentence."""

from collections import Counter

from amounts import amount
from fuzz.stores import DAMAGES, fuzz


def test_damaged_stores_are_refused_or_read_as_they_were():
    n = amount(24, 70)
    records = fuzz(n)
    assert [one for one in records if one[2] in ("silent", "crashed")] == []
    words = Counter(word for _, _, word, _ in records)
    assert words["refused"] > n // 2 and words["harmless"] > n // 20
    assert {kind for _, kind, _, _ in records} == {damage.__name__ for damage in DAMAGES}
