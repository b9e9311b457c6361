"""A shard: every n-th world of a study, for jobs that run independently of each other."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from berlyne.experiments.worlds import SettingsError
from berlyne.validation import CLUSTERS


class Shard(NamedTuple):
    """Part `part` of `n_parts` of a study: some runs in some worlds, under every strategy.

    Run i of class c (in the order of positions) is in part (i + c) mod `n_parts` + 1, so every part has its share of
    every class.

    Attributes
    ----------
    part : int
        Number of this part, counted from 1.
    n_parts : int
        Number of parts.
    """

    part: int
    n_parts: int

    def __str__(self) -> str:
        return f"{self.part}/{self.n_parts}"

    def contains(self, position: int, n_classes: int) -> bool:
        """Whether a position belongs to this part, in a study of `n_classes` classes, which take turns."""
        return sum(divmod(position, n_classes)) % self.n_parts == self.part - 1


MAX_PARTS = 10**6


def parse_shard(shard: Any) -> Shard:
    """Parse a text such as "3/10"; a `Shard` is returned as it is, if it is valid."""
    match = re.fullmatch(r"(\d{1,7})/(\d{1,7})", shard) if isinstance(shard, str) else None
    part, n_parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if isinstance(shard, Shard):
        part, n_parts = shard
    if not 1 <= part <= n_parts <= MAX_PARTS:
        raise SettingsError(f"shard is {shard!r:.40}; it must be a part and a number of parts, such as 3/10{CLUSTERS}")
    return Shard(part, n_parts)
