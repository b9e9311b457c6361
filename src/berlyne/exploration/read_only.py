"""A read-only view of the explorer in a lab book: all queries, and no changes that the log would miss."""

from __future__ import annotations

from typing import Any, NoReturn

from berlyne.exploration.explorer import Explorer
from berlyne.exploration.trials import TrialExplorer


class ReadOnlyExplorer(Explorer):
    """View of an explorer that answers all queries and refuses changes.

    It shares its state with the explorer, so it follows what is recorded in the book.

    Parameters
    ----------
    explorer : Explorer
        The explorer to view.
    """

    def __init__(self, explorer: Explorer) -> None:
        object.__setattr__(self, "__dict__", vars(explorer))

    def _may_set(self, name: str) -> bool:
        return name.startswith("_")  # queries keep the draws of the next choice

    def _remedy(self, name: str) -> str:
        return "the explorer of a lab book is read-only"

    def _refuse(self, method: str, instead: str) -> NoReturn:
        raise AttributeError(
            f"the explorer of a lab book is read-only, because {method} would not be in its log; "
            f"call {instead} of the book"
        )

    def observe(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.tell`."""
        self._refuse("observe", "tell")

    def observe_many(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.tell_many`."""
        self._refuse("observe_many", "tell_many")

    def undo(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.undo`."""
        self._refuse("undo", "undo")

    def discover(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.discover`."""
        self._refuse("discover", "discover")

    def ends_in(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.ends_in`."""
        self._refuse("ends_in", "ends_in")

    def allow(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an AttributeError; use `LabBook.allow`."""
        self._refuse("allow", "allow")


class ReadOnlyTrials(ReadOnlyExplorer, TrialExplorer):
    """View of an explorer of trials without states."""
