"""Colours of figures on dark screens, by the filter in the page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from berlyne.figures.style import UTILITY_COLOURS
from berlyne.paper.reproduction.page.environment import static_file

from .html_page import Page


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    """Return the matrix of the filter: a row for each of red, green, blue and alpha, with the constant last."""
    page = Page(static_file("templates/report.html"))
    (entries,) = [e for e in page.by_id["dark-figure"].walk() if e.tag == "fecolormatrix"]
    return np.array(entries.attributes["values"].split(), dtype=float).reshape(4, 5)


def in_the_dark(matrix: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    return np.clip(matrix[:3, :3] @ rgb + matrix[:3, 4], 0, 1)


def luminance(rgb: np.ndarray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_white_becomes_the_background_of_the_page_and_black_nearly_white(matrix: np.ndarray) -> None:
    dark = static_file("report.css").split("prefers-color-scheme: dark")[1]
    background = to_rgb(re.search(r"--paper: (#\w+)", dark)[1])
    np.testing.assert_allclose(in_the_dark(matrix, np.ones(3)), background, atol=0.015)
    assert in_the_dark(matrix, np.zeros(3)).min() > 0.9
    assert matrix[3].tolist() == [0, 0, 0, 1, 0] and not matrix[:3, 3].any()


def test_the_page_applies_the_filter_on_dark_screens_only() -> None:
    light, dark = static_file("report.css").split("@media screen and (prefers-color-scheme: dark)")
    assert "url(#dark-figure)" in dark.split("\n}")[0]
    assert "filter" not in light + dark.split("\n}", 1)[1]


def test_greys_are_inverted_and_channels_keep_their_order(matrix: np.ndarray) -> None:
    shades = [in_the_dark(matrix, np.full(3, grey)) for grey in np.linspace(0, 1, 9)]
    assert all(np.ptp(shade) < 1e-9 for shade in shades)
    assert (np.diff([shade[0] for shade in shades]) < 0).all()
    for colour in UTILITY_COLOURS.values():
        rgb = np.array(to_rgb(colour))
        assert (np.diff(in_the_dark(matrix, rgb)[np.argsort(rgb)]) >= -1e-9).all()


def test_colours_stand_out_from_the_background_and_from_each_other(matrix: np.ndarray) -> None:
    colours = {name: in_the_dark(matrix, np.array(to_rgb(colour))) for name, colour in UTILITY_COLOURS.items()}
    background = luminance(in_the_dark(matrix, np.ones(3)))
    for name, rgb in colours.items():
        assert (luminance(rgb) + 0.05) / (background + 0.05) > 3.0, name
    pairs = [(one, other) for one in colours for other in colours if one < other]
    assert min(np.linalg.norm(colours[one] - colours[other]) for one, other in pairs) > 60 / 255


def test_edges_stay_as_smooth_as_they_were(matrix: np.ndarray) -> None:
    for colour in ("#1a9641", "#2b55c4", "black"):
        mixtures = np.linspace(np.array(to_rgb(colour)), np.ones(3), 30)
        dark = np.array([in_the_dark(matrix, rgb) for rgb in mixtures])
        np.testing.assert_allclose(dark, np.linspace(dark[0], dark[-1], 30), atol=2 / 255)
