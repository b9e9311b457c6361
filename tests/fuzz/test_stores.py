"""A short run of `stores.py`: all damage is detected, and every error is one sentence."""

from collections import Counter

from fuzz.stores import DAMAGES, fuzz


def test_damaged_stores_are_refused_or_read_as_they_were():
    records = fuzz(70)
    assert [one for one in records if one[2] in ("silent", "crashed")] == []
    words = Counter(word for _, _, word, _ in records)
    assert words["refused"] > 35 and words["harmless"] > 5
    assert {kind for _, kind, _, _ in records} == {damage.__name__ for damage in DAMAGES}
