"""Our environments are known to Gymnasium as soon as both packages are imported, in whichever order.

Gymnasium looks for no plugins, and berlyne must not import it: it takes longer than the rest, and may not be there. So
`import berlyne` leaves a note with Python's import system to import `berlyne.gym` right after Gymnasium.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

AWAITED, OURS = "gymnasium", "berlyne.gym"


class Note(MetaPathFinder):
    """Finds Gymnasium as others do, and imports `berlyne.gym` once it is there."""

    looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where Gymnasium is; nothing for any other module."""
        if fullname != AWAITED or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def then_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            with suppress(ImportError):  # a version that we do not know must not be kept from its users
                importlib.import_module(OURS)

        spec.loader.exec_module = then_register  # type: ignore[method-assign]  # of this one loader
        return spec


def register_when_imported() -> None:
    """Register our environments now if Gymnasium is imported, or else when it is."""
    if AWAITED in sys.modules:
        with suppress(ImportError):
            importlib.import_module(OURS)
    else:
        sys.meta_path.insert(0, Note())
