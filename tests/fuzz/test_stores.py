"""A short round of `stores.py`: no damage passes unnoticed, and none is answered with anything but a sentence."""

from collections import Counter

from fuzz.stores import DAMAGES, fuzz


def test_damaged_stores_are_refused_or_read_as_they_were():
    found = fuzz(70)
    assert [one for one in found if one[2] in ("silent", "crashed")] == []
    words = Counter(word for _, _, word, _ in found)
    assert words["refused"] > 35 and words["harmless"] > 5
    assert {kind for _, kind, _, _ in found} == {damage.__name__ for damage in DAMAGES}
