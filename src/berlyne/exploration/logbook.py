"""A lab book: an explorer that lives in a file, for experiments that take days and computers that crash.

The file is a log that is only ever added to: a first line that says what explores, then a line for everything that was
told or undone. A line is on the disk before it is acknowledged, so whatever stops a process, nothing that was
acknowledged is lost. The explorer is worked out again from the log, so priors and strategies of one's own work as well
as ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from berlyne.exploration.log_file import Line, Log, check_can_create, create_log, write_lock
from berlyne.exploration.log_header import explorer_from_header, make_header
from berlyne.labels import label_from_json, label_to_json
from berlyne.priors import Prior
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy


class LabBook:
    """An explorer whose every observation is on the disk before it counts.

    Parameters
    ----------
    path : the file; `LabBook.new` begins one.
    prior, strategy : as they were given to `new`, if they are of one's own; others are in the file. What is given and
        differs from what the book was begun with is refused; of one's own, the class and the name are compared.

    Attributes
    ----------
    explorer : the explorer, to be asked whatever an `Explorer` can be asked; tell it nothing but through the book.

    Examples
    --------
    >>> import berlyne, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "rats.lab")
    >>> book = berlyne.LabBook.new(path, berlyne.Dirichlet(1.0, n_states=3, n_actions=2), seed=0)
    >>> a = book.ask(0)
    >>> book.tell(0, a, 2)
    >>> berlyne.LabBook(path).explorer.n_obs
    1
    """

    def __init__(
        self, path: str | os.PathLike[str], prior: Prior | str | None = None, strategy: str | Strategy | None = None
    ) -> None:
        self.path = Path(path)
        self._log = Log(self.path)
        (_, header), *lines = self._log.new_lines()
        self.explorer = explorer_from_header(self.path, header, prior, strategy)
        told: list[tuple[int, Line]] = []
        for number, line in lines:
            if self._undoes(number, line, len(told)):
                told.pop()
            else:
                told.append((number, line))
        for number, line in told:
            self._learn(number, line)

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        prior: Prior | str,
        strategy: str | Strategy = "PIG(VI)",
        seed: int = 0,
        *,
        states: Iterable[Any] | None = None,
        actions: Iterable[Any] | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
    ) -> LabBook:
        """Begin a book; an error if there is something at `path`. States and actions may have labels.

        `n_states` and `n_actions` are needed only for a prior that does not carry them, and where there are no labels.
        A prior or a strategy of your own may be given as text "module:name", which is looked up whenever the book is
        opened; given as an object it must be given again to `LabBook(path, prior, strategy)`.
        """
        place = Path(path)
        check_can_create(place)
        given = {"states": states, "actions": actions, "n_states": n_states, "n_actions": n_actions}
        header = make_header(prior, strategy, seed, given)
        explorer_from_header(place, header, prior, strategy)  # what cannot explore is not begun
        create_log(place, header)
        return cls(place, prior, strategy)

    def __repr__(self) -> str:
        return f"LabBook({str(self.path)!r}, {self.explorer!r})"

    def ask(self, s: Any, among: Iterable[Any] | None = None) -> Any:
        """The action to try in state `s`, `among` those that are possible; the same one until something is told."""
        if self.explorer.strategy.relocates:
            raise ValueError(f"{self.explorer.strategy} chooses the state as well as the action; call ask_pair()")
        self.catch_up()
        return self.explorer.act(s, among)

    def ask_pair(self) -> tuple[Any, Any]:
        """The state and the action to try, for a strategy that may go to any state."""
        if not self.explorer.strategy.relocates:
            raise ValueError(f"{self.explorer.strategy} acts in the state it is in; call ask(s)")
        self.catch_up()
        return self.explorer.choose_pair()

    def tell(self, s: Any, a: Any, s_next: Any, *, ended: bool = False) -> None:
        """Write down that action `a` in state `s` led to `s_next`; once this returns it is on the disk.

        `ended` says that the episode is over there. While another process writes, this waits for it.
        """
        with write_lock(self.path):
            self.catch_up()
            self.explorer.observe(s, a, s_next, ended=ended)
            try:
                line: Line = {"told": [label_to_json(label) for label in (s, a, s_next)]}
                self._log.add({**line, "ended": True} if ended else line)
            except BaseException:
                self.explorer.undo()
                raise

    def undo(self) -> tuple[Any, Any, Any]:
        """Strike out the last line told that still counts, and return it; the log keeps both."""
        with write_lock(self.path):
            self.catch_up()
            if self.explorer.n_obs == 0:
                raise ValueError(f"{self.path} has nothing to undo")
            s, a, s_next = self.explorer.history[-1]
            self._log.add({"undo": 1})
            self.explorer.undo()
            return s, a, s_next

    def catch_up(self) -> None:
        """Read what others have told since: several processes may use a book, one at a time writes."""
        for number, line in self._log.new_lines():
            if self._undoes(number, line, self.explorer.n_obs):
                self.explorer.undo()
            else:
                self._learn(number, line)

    def _undoes(self, number: int, line: Any, n_told: int) -> bool:
        """Whether a line strikes out the last of `n_told`, rather than telling one more."""
        if isinstance(line, dict):
            told, ended = line.get("told"), line.get("ended", False)
            if isinstance(told, list) and len(told) == 3 and isinstance(ended, bool):
                return False
            if line.get("undo") == 1 and n_told:
                return True
        raise StoreError(f"line {number} of {self.path} is not one of a lab book")

    def _learn(self, number: int, line: Line) -> None:
        try:
            s, a, s_next = (label_from_json(value) for value in line["told"])
            self.explorer.observe(s, a, s_next, ended=line.get("ended", False))
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"line {number} of {self.path} does not fit its explorer: {error}") from None
