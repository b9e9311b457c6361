"""Select from a product of parameters the cases in which every pair of factors occurs.

A test of every strategy in every world has hundreds of cases, although a mistake nearly always needs only one world
with one utility, one method or one choice rule. So a strategy counts as these three factors, and any other parameter
as one. `select` keeps cases until every value has occurred, and every pair of factors of different parameters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from berlyne import STRATEGIES, Strategy

Factor = tuple[str, object]


class Choice(NamedTuple):
    """One value of a parameter, and its number among the values of that parameter."""

    number: int
    value: Any


def numbered(cases: Iterable[dict[str, Any]]) -> list[dict[str, Choice]]:
    """Cases with the number of every value, in the order in which values first occur; values need not be hashable."""
    numbers: dict[tuple[str, int], int] = {}
    return [
        {
            name: Choice(numbers.setdefault((name, id(value)), len(numbers)), value)  # parameters share their values
            for name, value in case.items()
        }
        for case in cases
    ]


def factors(name: str, choice: Choice) -> list[Factor]:
    """The factors of one parameter that are combined with those of other parameters."""
    strategy = STRATEGIES.get(choice.value, choice.value) if isinstance(choice.value, str) else choice.value
    if not isinstance(strategy, Strategy):
        return [(name, choice.number)]
    rule = strategy.temperature > 0, strategy.lapse > 0, strategy.ties
    parts = ("utility", str(strategy.utility)), ("method", type(strategy.coordinate).__name__), ("rule", rule)
    return [(f"{name} {part}", factor) for part, factor in parts]


def features(case: dict[str, Choice]) -> set[tuple[Factor, ...]]:
    """What a case covers: each of its values, and each pair of factors of different parameters."""
    covered: set[tuple[Factor, ...]] = {((name, choice.number),) for name, choice in case.items()}
    for name, other in combinations(sorted(case), 2):
        covered |= {(one, two) for one in factors(name, case[name]) for two in factors(other, case[other])}
    return covered


def select(cases: Iterable[dict[str, Choice]]) -> list[bool]:
    """Whether to keep each case: those that cover something which the cases looked at before do not cover.

    Cases are looked at in a scrambled order, because neighbours cover nearly the same.
    """
    listed, covered = list(cases), set()
    kept = [False] * len(listed)

    def scrambled(i: int) -> bytes:
        numbers = sorted((name, choice.number) for name, choice in listed[i].items())
        return hashlib.sha256(repr(numbers).encode()).digest()

    for i in sorted(range(len(listed)), key=scrambled):
        new = features(listed[i]) - covered
        kept[i] = bool(new)
        covered |= new
    return kept
