"""A shard: every n-th world of a study, for jobs that do not know of each other."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from berlyne.experiments.worlds import SettingsError
from berlyne.validation import CLUSTERS


class Shard(NamedTuple):
    """Part `part` of `of`, counted from 1: some runs in some worlds, under every strategy.

    Run i of class c (as positions count them) is in part (i + c) mod `of` + 1, so every part has its share of
    every class.
    """

    part: int
    n_parts: int

    def __str__(self) -> str:
        return f"{self.part}/{self.n_parts}"

    def contains(self, position: int, n_classes: int) -> bool:
        """Whether a position belongs to this part, in a study of so many classes, which take turns."""
        return sum(divmod(position, n_classes)) % self.n_parts == self.part - 1


MAX_PARTS = 10**6


def parse_shard(said: Any) -> Shard:
    """The shard that a text such as "3/10" names."""
    found = re.fullmatch(r"(\d{1,7})/(\d{1,7})", said) if isinstance(said, str) else None
    part, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if isinstance(said, Shard):
        part, of = said
    if not 1 <= part <= of <= MAX_PARTS:
        raise SettingsError(f"shard: is {said!r:.40}; it must be a part and a number of parts, such as 3/10{CLUSTERS}")
    return Shard(part, of)
