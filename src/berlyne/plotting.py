"""How worlds, runs and results draw themselves: the one door from the core to `berlyne.figures` and `berlyne.watch`.

What can be drawn has a method `plot` that hands itself over. matplotlib is imported when the first one is drawn.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def figures_package() -> ModuleType:
    """The package `berlyne.figures`, imported on first use."""
    return importlib.import_module("berlyne.figures")


def watch_package() -> ModuleType:
    """The package `berlyne.watch`, imported on first use."""
    return importlib.import_module("berlyne.watch")


class HtmlReprMixin:
    """What notebooks show as a card: a small picture and the numbers one asks for first (`berlyne.figures.cards`)."""

    def _repr_html_(self) -> str:
        html: str = figures_package().card(self)
        return html
