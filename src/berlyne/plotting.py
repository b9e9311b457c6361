"""Access to `berlyne.figures` and `berlyne.watch` for the core, which imports them nowhere else.

Objects that can be drawn have a method `plot`, which calls a function of `berlyne.figures`. matplotlib is imported when
the first figure is drawn.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def figures_package() -> ModuleType:
    """Return the package `berlyne.figures`, imported on first use."""
    return importlib.import_module("berlyne.figures")


def watch_package() -> ModuleType:
    """Return the package `berlyne.watch`, imported on first use."""
    return importlib.import_module("berlyne.watch")


class HtmlReprMixin:
    """Mixin for objects that notebooks show as a card with a picture and key numbers (`berlyne.figures.cards`)."""

    def _repr_html_(self) -> str:
        html: str = figures_package().card(self)
        return html
