"""A lab book: an explorer stored in a file, for experiments that take days and computers that crash.

The file is an append-only log. Its first line describes the explorer; each further line records an observation or an
undo. A line is on the disk before it is acknowledged, so no acknowledged line is lost if a process stops. The explorer
is rebuilt from the log, so your own priors and strategies work as well as the built-in ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from berlyne.exploration.log_file import Line, Log, check_can_create, create_log, write_lock
from berlyne.exploration.log_header import explorer_from_header, make_header
from berlyne.labels import label_from_json, label_to_json
from berlyne.models.history import Transition
from berlyne.priors import Prior
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy


class LabBook:
    """Open a lab book: an explorer whose observations are written to the disk one by one.

    Parameters
    ----------
    path : path-like
        The file; `LabBook.new` creates one.
    prior : Prior or str, optional
        Your own prior, as it was passed to `new`. A built-in prior is in the file. A prior that differs from the one
        in the book is refused; for your own, only the name of the class is compared.
    strategy : Strategy or str, optional
        Your own strategy, as it was passed to `new`. A built-in strategy is in the file. A strategy that differs from
        the one in the book is refused; for your own, only the name is compared.

    Attributes
    ----------
    path : Path
        The file.
    explorer : Explorer
        The explorer, for all queries. Change it only through the book.

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
        observations: list[tuple[int, Line]] = []
        for number, line in lines:
            if self._is_undo(number, line, len(observations)):
                observations.pop()
            else:
                observations.append((number, line))
        for number, line in observations:
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
        possible: Any = None,
        imports: Iterable[str] = (),
    ) -> LabBook:
        """Create a book; raise a StoreError if `path` already exists.

        Parameters
        ----------
        path : path-like
            The file.
        prior : Prior or str
            The prior. Your own prior can be text "module:name", which is imported whenever the book is opened. If it
            is an object, you must pass it again to `LabBook(path, prior, strategy)`.
        strategy : str or Strategy
            The strategy or its name; your own can be text "module:name" or an object, as for `prior`.
        seed : int
            Seed for ties and random actions.
        states, actions : iterable, optional
            Labels of the states and actions; by default 0, 1, 2, ...
        n_states, n_actions : int, optional
            Numbers of states and actions, needed only without labels and if the prior does not define them.
        possible : mapping, or array of bool and shape (M, N), optional
            Actions that are possible in each state, as in `Explorer`; by default all.
        imports : iterable of str
            Names of modules that register your own indices and methods; they are imported whenever the book is opened.

        Returns
        -------
        LabBook
            The new book, open.
        """
        path = Path(path)
        check_can_create(path)
        options = {"states": states, "actions": actions, "n_states": n_states, "n_actions": n_actions}
        options["possible"] = possible
        header = make_header(prior, strategy, seed, options, imports)
        explorer_from_header(path, header, prior, strategy)  # raises before a file is created
        create_log(path, header)
        return cls(path, prior, strategy)

    def __repr__(self) -> str:
        return f"LabBook({str(self.path)!r}, {self.explorer!r})"

    def ask(self, s: Any, among: Iterable[Any] | None = None) -> Any:
        """Return the action to try in state `s`; the same one until the next observation.

        Parameters
        ----------
        s : object
            The current state.
        among : iterable, optional
            Actions that are possible now; by default all.
        """
        if self.explorer.strategy.relocates:
            raise ValueError(f"{self.explorer.strategy} chooses the state as well as the action; call ask_pair()")
        self.catch_up()
        return self.explorer.act(s, among)

    def ask_pair(self) -> tuple[Any, Any]:
        """Return the state and the action to try, for a strategy that may go to any state."""
        if not self.explorer.strategy.relocates:
            raise ValueError(f"{self.explorer.strategy} acts in the current state; call ask(s)")
        self.catch_up()
        return self.explorer.choose_pair()

    def tell(self, s: Any, a: Any, s_next: Any, *, ended: bool = False) -> None:
        """Record that action `a` in state `s` led to `s_next`; when this returns, the line is on the disk.

        If another process is writing, this waits for it.

        Parameters
        ----------
        s, a, s_next : object
            Labels of the state, the action and the next state.
        ended : bool
            Whether the episode ended in `s_next`.
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

    def undo(self) -> Transition:
        """Undo the last observation and return it; the file keeps the observation and records the undo."""
        with write_lock(self.path):
            self.catch_up()
            if self.explorer.n_obs == 0:
                raise ValueError(f"{self.path} has no observation to undo")
            last = self.explorer.history[-1]
            self._log.add({"undo": 1})
            self.explorer.undo()
            return last

    def catch_up(self) -> None:
        """Read the lines that other processes have added.

        Several processes can use a book, but only one can write at a time.
        """
        for number, line in self._log.new_lines():
            if self._is_undo(number, line, self.explorer.n_obs):
                self.explorer.undo()
            else:
                self._learn(number, line)

    def _is_undo(self, number: int, line: Any, n_obs: int) -> bool:
        """Return whether a line removes the last of `n_obs` observations, rather than adding one."""
        if isinstance(line, dict):
            transition, ended = line.get("told"), line.get("ended", False)
            if isinstance(transition, list) and len(transition) == 3 and isinstance(ended, bool):
                return False
            if line.get("undo") == 1 and n_obs:
                return True
        raise StoreError(f"line {number} of {self.path} is not a valid line of a lab book")

    def _learn(self, number: int, line: Line) -> None:
        """Let the explorer learn the observation in a line."""
        try:
            s, a, s_next = (label_from_json(value) for value in line["told"])
            self.explorer.observe(s, a, s_next, ended=line.get("ended", False))
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"line {number} of {self.path} does not match its explorer: {error}") from None
