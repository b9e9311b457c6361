"""Curves of a study: strategies can be told apart, and all of their names are in the figure."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from berlyne.figures.bands import CLOSE, OTHERS, looks_apart
from berlyne.figures.style import look

SOFT = "PIG(VI, temperature=0.05, lapse=0.1)"


def apart(one: str, other: str) -> float:
    return float(np.sqrt(sum((x - y) ** 2 for x, y in zip(to_rgb(one), to_rgb(other), strict=True))))


@pytest.mark.parametrize("names", [["Random", "PIG(VI)", SOFT, "CB"], [SOFT, "CB", "PIG(VI)", "Random"]])
def test_a_strategy_keeps_its_look_beside_a_variant_of_it_which_is_told_from_all(names: list[str]) -> None:
    looks = looks_apart(names)
    assert list(looks) == names
    assert all(looks[name] == look(name) for name in ("Random", "PIG(VI)", "CB"))
    assert looks[SOFT].colour in OTHERS and looks[SOFT].name == SOFT
    assert all(apart(looks[SOFT].colour, looks[name].colour) > CLOSE for name in names if name != SOFT)


def test_the_first_of_a_sweep_keeps_its_look_if_none_is_plain() -> None:
    names = ["Random", *(f"PIG(VI, gamma={gamma})" for gamma in (0.5, 0.7, 0.9, 0.95, 0.99))]
    looks = looks_apart(names)
    assert looks[names[1]] == replace(look("PIG(VI)"), name=names[1])
    assert min(apart(one.colour, other.colour) for one, other in combinations(looks.values(), 2)) > CLOSE


def test_red_is_close_to_red_and_not_to_blue() -> None:
    assert apart("#d1495b", "#d7191c") < CLOSE < apart("#1b6ca8", "#d7191c")


def test_colours_come_again_only_when_all_are_in_use() -> None:
    names = ["PIG(VI)", *(f"PIG(VI, gamma=0.{i})" for i in range(10, 30))]
    colours = [one.colour for one in looks_apart(names).values()]
    assert len(set(colours[:11])) == 11 and set(colours) == {look("PIG(VI)").colour, *OTHERS}
    assert max(map(colours.count, OTHERS)) == 2


def test_strategies_that_look_different_keep_their_looks() -> None:
    names = ["PIG(VI)", "PIG(greedy)", "PEIG(VI)", "LTA", "Unembodied", "mine"]
    assert looks_apart(names) == {name: look(name) for name in names}
    assert looks_apart([]) == {}
