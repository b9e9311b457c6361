"""Colours and lines that figures and the page share: one definition, and a twin for dark screens."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

import berlyne
from berlyne.appearance import BLUE, SHADE_STOPS, UTILITY_COLOURS, dark_twin, distinct_looks, look
from berlyne.figures import style
from berlyne.watch import page_data


def luminance(colour: str) -> float:
    c = np.array(to_rgb(colour))
    return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_figures_use_the_same_colours() -> None:
    assert style.look is look and style.UTILITY_COLOURS is UTILITY_COLOURS and style.BLUE == BLUE
    assert [to_hex(style.SHADES(x)) for x in (0.0, 1.0)] == [SHADE_STOPS["light"][0], SHADE_STOPS["light"][-1]]


@pytest.mark.parametrize("colour", [*UTILITY_COLOURS.values(), "#777777", "#1b6ca8", BLUE])
def test_twins_are_readable_on_a_dark_page(colour: str) -> None:
    page = luminance("#14161a")
    assert (luminance(dark_twin(colour)) + 0.05) / (page + 0.05) >= 4.5


def test_a_page_has_the_looks_of_figures() -> None:
    world = berlyne.dense_world(0, n_states=3)
    names = ("PIG(VI)", "PIG(greedy)", "LTA", "PEIG(Q)")
    data = page_data([berlyne.explore(world, name, n_steps=2) for name in names])
    for run, name in zip(data["runs"], names, strict=True):
        own = distinct_looks(names)[name]
        assert run["colour"] == {"light": own.colour, "dark": dark_twin(own.colour)}
        assert run["dash"] == ([] if own.line == "-" else list(own.line[1]))
    assert data["runs"][0]["colour"] == data["runs"][1]["colour"]  # by utility, not by position
    assert data["appearance"]["shades"] == {theme: list(stops) for theme, stops in SHADE_STOPS.items()}
    twice = page_data([berlyne.explore(world, "LTA", n_steps=2, seed=seed) for seed in (0, 1)])
    assert twice["runs"][0]["colour"] != twice["runs"][1]["colour"]
