"""Texts of figures and readings, from `paper.toml`.

A reading is a place where the paper is silent, ambiguous or misprinted; `docs/paper/readings.md` has the evidence.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from berlyne.paper.claims.published import FIGURE_POOLS

_TEXTS: dict[str, Any] = tomllib.loads(
    files("berlyne.paper.reproduction").joinpath("paper.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class FigureText:
    """Texts of a figure.

    Attributes
    ----------
    title : str
        Title.
    place : str
        Figure and section of the paper, or the reading it belongs to.
    paper_says : str
        Statement of the paper about it.
    caption : str
        Caption that explains the figure without the paper; `{n}` stands for the number of worlds.
    alt : str
        Alternative text for screen readers.
    """

    title: str
    place: str
    paper_says: str
    caption: str
    alt: str


def _figure_text(name: str) -> FigureText:
    """Return the texts of a figure with all phrases inserted."""
    names = {"n": "{n}", "strategies": ", ".join(FIGURE_POOLS.get(name, ()))}
    phrases = {key: phrase.format_map(names) for key, phrase in _TEXTS["phrases"].items()}
    return FigureText(**{key: text.format_map({**names, **phrases}) for key, text in _TEXTS["figures"][name].items()})


FIGURE_TEXTS: dict[str, FigureText] = {name: _figure_text(name) for name in _TEXTS["figures"]}
"""Texts of every figure, by the name of its files."""
READINGS: dict[str, tuple[str, str]] = {
    name: (reading["paper"], reading["choice"]) for name, reading in _TEXTS["readings"].items()
}
"""Statement or gap of the paper, and our default, by number."""
