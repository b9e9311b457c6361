"""A lab book: an explorer stored in a file, for experiments that take days and computers that crash.

The file is an append-only log. Its first line describes the explorer; each further line records a trial, a declaration,
a trial that is handed out, or an undo. A line is on the disk before it is acknowledged, so no acknowledged line is lost
if a process stops. The explorer is rebuilt from the log, so your own priors and strategies work as well as the built-in
ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from berlyne.agents.make import Engine
from berlyne.exploration.book_lines import TRIALS, Entry, PendingTrial, Trial, flatten, json_labels, now, parse_line
from berlyne.exploration.explorer import Explorer, end_code
from berlyne.exploration.log_file import Line, Log, check_can_create, create_log, write_lock
from berlyne.exploration.log_header import changed_header, explorer_from_header, make_header
from berlyne.exploration.pending import choose_besides
from berlyne.exploration.read_only import ReadOnlyExplorer, ReadOnlyTrials
from berlyne.exploration.trials import START, TrialExplorer, trial_labels, trial_prior
from berlyne.labels import GrowingLabels, Labels, as_list, label_to_json
from berlyne.models.frames import ColumnNames
from berlyne.models.history import UNKNOWN, History, read_raw_history, read_single_subject
from berlyne.priors import Prior
from berlyne.priors.dirichlet import Alpha, check_one_of, prior_or_default
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy
from berlyne.validation import check_count, check_flag, check_text, short_repr

NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda _: "NOT_GIVEN"})()
"""Default of an argument for which None is a valid value."""


class Texts(TypedDict, total=False):
    """Texts that can be recorded with a trial.

    Attributes
    ----------
    note : str or None
        Note of the user.
    client : str or None
        Name of the apparatus.
    key : str or None
        Text by which a repeated call is recognized.
    """

    note: str | None
    client: str | None
    key: str | None


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
    engine : {"auto", "compiled", "numpy", "small"}
        Whether kernels or plain NumPy run the strategy, as in `Explorer`; the answers are the same. "small" uses NumPy
        for a small book, which opens faster.

    Attributes
    ----------
    path : Path
        The file.
    explorer : ReadOnlyExplorer
        The explorer, for all queries. It is changed only through the book.
    has_states : bool
        Whether trials have states; not so in a book of trials without states.
    trials, history : list of Trial
        All trials that count, and those of them that have an outcome.
    pending : list of PendingTrial
        Trials that were handed out and have no outcome yet.

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
        self,
        path: str | os.PathLike[str],
        prior: Prior | str | None = None,
        strategy: str | Strategy | None = None,
        *,
        engine: Engine | Literal["small"] = "auto",
    ) -> None:
        self.path, self._own_prior, self._own_strategy = Path(path), prior, strategy
        self._log = Log(self.path)
        (_, self._header), *lines = self._log.new_lines()
        self._engine: Engine = _engine_of(self._header, self._log.size) if engine == "small" else engine
        self._explorer = explorer_from_header(self.path, self._header, prior, strategy, self._engine)
        self.has_states = not isinstance(self._explorer, TrialExplorer)
        self._view = (ReadOnlyExplorer if self.has_states else ReadOnlyTrials)(self._explorer)
        self._entries: list[Entry] = []  # trials and declarations that count
        self._pending: dict[int, PendingTrial] = {}
        self._n_asked = 0  # trials that were ever handed out
        self._read(lines)

    def _read(self, lines: list[tuple[int, Any]]) -> None:
        """Read all lines; the explorer learns only what was not undone later."""
        numbers: dict[int, int] = {}  # of the line of each entry
        for number, line in lines:
            entry = self._parse(number, line)
            if entry.kind == "undo":
                if entry.content > len(self.trials):
                    raise self._invalid(number)
                self._strike(entry.content)
            elif entry.kind in ("asked", "given_up"):
                self._apply(entry)
            else:
                self._entries.extend(flatten(entry))
                numbers.update({id(inner): number for inner in flatten(entry)})
                self._pending.pop(entry.trial or 0, None)
        for entry in self._entries:
            with self._report_mismatch(numbers[id(entry)]):
                learn_entry(self._explorer, entry)

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        prior: Prior | str | None = None,
        strategy: str | Strategy = "PIG(VI)",
        seed: int = 0,
        *,
        alpha: Alpha | None = None,
        states: Iterable[Any] | None = None,
        actions: Iterable[Any] | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
        possible: Any = None,
        costs: Any = None,
        imports: Iterable[str] = (),
        conditions: Iterable[Any] | None = None,
        outcomes: Iterable[Any] | None = None,
    ) -> LabBook:
        """Create a book; raise a StoreError if `path` already exists.

        Parameters
        ----------
        path : path-like
            The file.
        prior : Prior or str, optional
            The prior; by default a Dirichlet distribution over all states with the concentration `alpha`. Your own
            prior can be text "module:name", which is imported whenever the book is opened. If it is an object, you must
            pass it again to `LabBook(path, prior, strategy)`.
        strategy : str or Strategy
            The strategy or its name; your own can be text "module:name" or an object, as for `prior`.
        seed : int
            Seed for ties and random actions.
        alpha : float or "ml", optional
            Concentration of the default prior; by default the explorer learns it, starting at 1/N ("ml").
        states, actions : iterable, optional
            Labels of the states and actions; by default 0, 1, 2, ...
        n_states, n_actions : int, optional
            Numbers of states and actions, needed only without labels and if the prior does not define them.
        possible : mapping, or array of bool and shape (M, N), optional
            Actions that are possible in each state, as in `Explorer`; by default all.
        costs : mapping, or array of shape (M,) or (M, N), optional
            Costs of the actions, as in `Explorer`; by default each costs 1.
        imports : iterable of str
            Names of modules that register your own indices and methods; they are imported whenever the book is opened.
        conditions, outcomes : iterable, optional
            Conditions and outcomes of trials without states, as in `berlyne.trials`, instead of states and actions.

        Returns
        -------
        LabBook
            The new book, open.
        """
        path = Path(path)
        check_can_create(path)
        check_one_of(prior, alpha)
        is_trials = conditions is not None or outcomes is not None
        if is_trials:
            if (
                conditions is None
                or outcomes is None
                or any(x is not None for x in (states, actions, n_states, n_actions))
            ):
                raise ValueError("trials need conditions= and outcomes=, and neither states nor actions")
            states, actions = trial_labels(conditions, outcomes)
            prior = trial_prior(len(actions), len(states), 1.0 if alpha is None else alpha) if prior is None else prior
        labels = {"states": states, "actions": actions}
        labels = {name: None if values is None else as_list(name, values) for name, values in labels.items()}
        options = {**labels, "n_states": n_states, "n_actions": n_actions, "possible": possible, "costs": costs}
        options["trials"] = is_trials
        prior = _default_prior(alpha, options) if prior is None else prior
        header = make_header(prior, strategy, seed, options, imports)
        explorer_from_header(path, header, prior, strategy)  # raises before a file is created
        create_log(path, header)
        return cls(path, prior, strategy)

    def __repr__(self) -> str:
        return f"LabBook({str(self.path)!r}, {self._explorer!r})"

    @property
    def explorer(self) -> ReadOnlyExplorer:
        """Read-only view of the explorer, for all queries; it follows what is recorded."""
        return self._view

    @property
    def trials(self) -> list[Trial]:
        """All trials that were recorded and not undone, with those whose outcome was lost."""
        return [entry.content for entry in self._entries if entry.kind in TRIALS]

    @property
    def history(self) -> list[Trial]:
        """All trials with an outcome that were recorded and not undone.

        They are tuples `(s, a, s_next)` with attributes `ended`, `timed_out`, `time`, `note` and `client`.
        """
        return [trial for trial in self.trials if not trial.lost]

    @property
    def pending(self) -> list[PendingTrial]:
        """Trials that were handed out by `ask_many` or to a client, and have no outcome yet, oldest first."""
        return list(self._pending.values())

    def ask(self, s: Any = NOT_GIVEN, among: Iterable[Any] | None = None, *, client: str | None = None) -> Any:
        """Return the action to try in state `s`; the same one until the next observation.

        With `client`, the trial is recorded as pending until you tell its outcome, report it as lost or give it up.
        Others get other trials meanwhile: the outcomes of pending trials are imagined, and taken back. A client that
        asks again in the same state gets the same answer, also after a crash.

        Parameters
        ----------
        s : object
            The current state; leave it out in a book of trials without states.
        among : iterable, optional
            Actions that are possible now; by default all.
        client : str, optional
            Name of the apparatus that will do the trial, such as "rig 2".
        """
        if s is NOT_GIVEN:
            if self.has_states:
                raise ValueError("s is missing; give the current state")
            s = START
        if self._explorer.strategy.relocates:
            raise ValueError(f"{self._explorer.strategy} chooses the state as well as the action; call ask_pair()")
        options = None if among is None else as_list("among", among)
        return self._ask(s, options, client)[1]

    def ask_pair(self, *, client: str | None = None) -> tuple[Any, Any]:
        """Return the state and the action to try, for a strategy that may go to any state.

        Parameters
        ----------
        client : str, optional
            Name of the apparatus that will do the trial, as in `ask`.
        """
        if not self._explorer.strategy.relocates:
            raise ValueError(f"{self._explorer.strategy} acts in the current state; call ask(s)")
        return self._ask(None, None, client)

    def _ask(self, s: Any, among: list[Any] | None, client: str | None) -> tuple[Any, Any]:
        """Return the state and the action of the next trial; with a client it becomes pending."""
        if client is None:
            self.catch_up()
            return choose_besides(self._explorer, self.pending, self._n_asked + 1, s, among)
        client = check_text("client", client)
        with write_lock(self.path):
            self.catch_up()
            own = [trial for trial in self.pending if trial.client == client]
            for trial in own:
                in_place = self._explorer.strategy.relocates or trial.s == s
                if in_place and (among is None or trial.a in among):
                    return trial.s, trial.a
            if own:
                raise ValueError(
                    f"client {client!r} has a pending trial, action {own[0].a!r} in state {own[0].s!r}; "
                    f"tell its outcome first, or give it up: give_up(client={client!r})"
                )
            return self._hand_out(1, s, among, client)[0]

    def ask_many(
        self, k: int, s: Any = None, *, among: Iterable[Any] | None = None, client: str | None = None
    ) -> list[Any]:
        """Return the actions of `k` trials to do at the same time in state `s`, which become pending.

        Each is chosen with imagined outcomes of those before it, so they differ if that teaches more. Tell the outcomes
        in any order. Every call hands out `k` more trials; `pending` lists those that are out.

        Parameters
        ----------
        k : int
            Number of trials.
        s : object, optional
            The state; leave it out for a strategy that may go to any state.
        among : iterable, optional
            Actions that are possible now; by default all.
        client : str, optional
            Name of the apparatus that will do the trials.

        Returns
        -------
        list
            The actions; pairs of state and action for a strategy that may go to any state.
        """
        k, relocates = check_count("k", k, 1), self._explorer.strategy.relocates
        s = START if s is None and not self.has_states and not relocates else s
        self._explorer._check_state_argument("ask_many", s)
        options = None if among is None else as_list("among", among)
        with write_lock(self.path):
            self.catch_up()
            pairs = self._hand_out(k, s, options, None if client is None else check_text("client", client))
        return pairs if relocates else [a for _, a in pairs]

    def _hand_out(self, k: int, s: Any, among: list[Any] | None, client: str | None) -> list[tuple[Any, Any]]:
        """Choose `k` trials one after another and record them as pending; the write lock must be held."""
        first = self._n_asked + 1
        trials: list[PendingTrial] = []
        for number in range(first, first + k):
            pair = choose_besides(self._explorer, [*self.pending, *trials], number, s, among)
            trials.append(PendingTrial(number, *pair, client, None))
        pairs = [(trial.s, trial.a) for trial in trials]
        self._record({"asked": [json_labels(pair) for pair in pairs], "first": first}, client=client)
        return pairs

    def tell(
        self,
        s: Any,
        a: Any = NOT_GIVEN,
        s_next: Any = NOT_GIVEN,
        *,
        ended: bool = False,
        timed_out: bool = False,
        lost: bool = False,
        **texts: Unpack[Texts],
    ) -> None:
        """Record that action `a` in state `s` led to `s_next`; when this returns, the line is on the disk.

        If another process is writing, this waits for it. If the trial is pending, it is not pending any more.

        Parameters
        ----------
        s, a, s_next : object
            Labels of the state, the action and the next state. In a book of trials without states, the condition and
            the outcome.
        ended : bool
            Whether the episode ended in `s_next`, which is terminal then.
        timed_out : bool
            Whether you cut the episode after this trial. This says nothing about `s_next`.
        lost : bool
            Whether the trial was done, but its outcome is not known. Leave `s_next` out then. Nothing is learned.
        **texts : str
            `note`, your note; `client`, the apparatus that did the trial; `key`, any text by which a repeated call is
            recognized: a trial with a key that is in the book is not recorded again. A key that is in the book with
            another trial is refused; the key of a trial that was undone can be used again.
        """
        check_flag("lost", lost, optional=False)
        if not self.has_states and s_next is NOT_GIVEN and s != START:
            s, a, s_next = START, s, a
        end_code(ended, timed_out)
        if not self.has_states:
            if timed_out:
                raise ValueError("timed_out is True, but trials without states have no episodes; leave it out")
            ended = not lost
        if a is NOT_GIVEN:
            raise ValueError("a is missing; give the action")
        if lost != (s_next is NOT_GIVEN):
            wrong = (
                f"s_next is {short_repr(s_next)}, but the outcome is lost; leave s_next out"
                if lost
                else ("s_next is missing; give the next state, or lost=True if the outcome is not known")
            )
            raise ValueError(wrong)
        flags: Line = {name: True for name, flag in (("ended", ended), ("timed_out", timed_out)) if flag}
        with write_lock(self.path):
            self.catch_up()
            line: Line = {"lost" if lost else "told": json_labels((s, a) if lost else (s, a, s_next)), **flags}
            if self._is_repeated(line, texts.get("key")):
                return
            trial = self._answered(s, a, texts.get("client"))
            answer = {} if trial is None else {"trial": trial}
            self._record({**line, **answer}, **texts)

    def tell_many(self, history: Any, *, note: str | None = None, **columns: Unpack[ColumnNames]) -> None:
        """Record a history of transitions in one line; if one is invalid, nothing is recorded.

        A transition without its next state is recorded as lost.

        Parameters
        ----------
        history : object
            Any form that `Explorer.observe_many` accepts. Each line must have its action.
        note : str, optional
            Your note.
        **columns : str
            Names of the columns of a frame, as in `berlyne.replay`.
        """
        raw = read_raw_history(history, columns)
        with write_lock(self.path):
            self.catch_up()
            explorer = self._explorer
            own = explorer.state_labels
            states = own.copy() if isinstance(own, GrowingLabels) else own
            lines = read_single_subject(raw, states, explorer.action_labels)
            explorer._check_history(raw, lines, states)
            if np.any(lines.steps[:, 1] == UNKNOWN):
                line = int(np.flatnonzero(lines.steps[:, 1] == UNKNOWN)[0])
                raise ValueError(
                    f"the action of line {line} of the history, counted from 0, is missing; remove the line"
                )
            terminal = [] if isinstance(own, GrowingLabels) else lines.terminal.tolist()
            declared = [{"ends_in": json_labels(states[s] for s in terminal)}] if terminal else []
            trials = trial_lines(lines, states, explorer.action_labels)
            if declared or trials:
                self._record({"many": [*declared, *trials]}, note=note)

    @overload
    def undo(self) -> Trial: ...

    @overload
    def undo(self, n: int) -> list[Trial]: ...

    def undo(self, n: int | None = None) -> Trial | list[Trial]:
        """Undo the last trial, or the last `n`; the file keeps them and records the undo.

        Answers are then as if these trials had never been told. Trials that were pending do not become pending again.

        Parameters
        ----------
        n : int, optional
            Number of trials to undo; by default 1.

        Returns
        -------
        Trial or list of Trial
            The trial that was undone; with `n`, the list of them, in the order in which they were told.
        """
        n_undone = 1 if n is None else check_count("n", n, 1)
        with write_lock(self.path):
            self.catch_up()
            trials = self.trials
            if not trials:
                raise ValueError(f"{self.path} has no trial to undo")
            if n_undone > len(trials):
                raise ValueError(f"n is {n}; it must be at most {len(trials)}, the number of trials in {self.path}")
            self._record({"undo": n_undone})
        return trials[-1] if n is None else trials[-n_undone:]

    def give_up(self, trial: int | PendingTrial | None = None, *, client: str | None = None) -> list[PendingTrial]:
        """Give up a pending trial, or all those of a client: they will not be done.

        Parameters
        ----------
        trial : int or PendingTrial, optional
            The trial, as in `pending`, or its number.
        client : str, optional
            A client, whose pending trials are all given up.

        Returns
        -------
        list of PendingTrial
            The trials that were given up.
        """
        if (trial is None) == (client is None):
            raise ValueError("give_up takes either a trial or client=; give exactly one of them")
        number = trial.number if isinstance(trial, PendingTrial) else trial
        with write_lock(self.path):
            self.catch_up()
            given_up = [p for p in self.pending if (p.number == number if client is None else p.client == client)]
            if not given_up:
                numbers = ", ".join(str(p.number) for p in self.pending) or "none"
                missing = f"trial {number!r}" if client is None else f"no trial of client {client!r}"
                raise ValueError(f"{missing} is {'not ' if client is None else ''}pending; pending trials: {numbers}")
            self._record({"given_up": [p.number for p in given_up]})
        return given_up

    def ends_in(self, states: Iterable[Any]) -> None:
        """Record terminal states: episodes end there, and no action can be taken in them.

        Parameters
        ----------
        states : iterable
            Labels of the terminal states, as in `Explorer.ends_in`.
        """
        self._declare({"ends_in": json_labels(as_list("states", states))})

    def discover(self, states: Iterable[Any]) -> None:
        """Record that states exist before they are observed, for a prior that discovers states.

        Parameters
        ----------
        states : iterable
            Labels of the states.
        """
        self._declare({"discover": json_labels(as_list("states", states))})

    def allow(self, s: Any, actions: Iterable[Any]) -> None:
        """Record which actions are possible in a state, from now on.

        Parameters
        ----------
        s : object
            Label of the state.
        actions : iterable
            Labels of all actions that are possible in it, as in `Explorer.allow`.
        """
        self._declare({"allow": [label_to_json(s), json_labels(as_list("actions", actions))]})

    def copy(
        self,
        path: str | os.PathLike[str],
        prior: Prior | str | None = None,
        strategy: str | Strategy | None = None,
        seed: int | None = None,
    ) -> LabBook:
        """Create a book with the same history and declarations, and return it.

        Undone and pending trials are left out. Times, notes and clients are kept.

        Parameters
        ----------
        path : path-like
            The new file.
        prior : Prior or str, optional
            Another prior, under which all trials must be possible; by default the same.
        strategy : str or Strategy, optional
            Another strategy; by default the same.
        seed : int, optional
            Another seed; by default the same.
        """
        path = Path(path)
        check_can_create(path)
        self.catch_up()
        header = changed_header(self._header, prior, strategy, seed)
        new_prior = self._own_prior if prior is None else prior
        new_strategy = self._own_strategy if strategy is None else strategy
        explorer = explorer_from_header(path, header, new_prior, new_strategy)
        for i, entry in enumerate(self._entries):
            try:
                learn_entry(explorer, entry)
            except ValueError as error:
                raise ValueError(f"line {i + 1} of the history is refused by the new explorer: {error}") from None
        create_log(path, header, *(entry.line for entry in self._entries))
        return type(self)(path, new_prior, new_strategy)

    def catch_up(self) -> None:
        """Read the lines that other processes have added.

        Several processes can use a book, but only one can write at a time.
        """
        for number, line in self._log.new_lines():
            entry = self._parse(number, line)
            if entry.kind == "undo" and entry.content > len(self.trials):
                raise self._invalid(number)
            with self._report_mismatch(number):
                self._apply(entry)

    def _declare(self, line: Line) -> None:
        with write_lock(self.path):
            self.catch_up()
            self._record(line)

    def _record(self, line: Line, **texts: Any) -> None:
        """Apply a line and write it; if it cannot be written, take it back. The write lock must be held."""
        texts = {name: check_text(name, text) for name, text in texts.items() if text is not None}
        line = {**line, "time": now(), **texts}
        entry = parse_line(line)
        if entry.kind in ("undo", "asked", "given_up"):  # nothing can be refused
            self._log.add(line)
            self._apply(entry)
            return
        n_obs, n_entries, pending = self._explorer.n_obs, len(self._entries), dict(self._pending)
        try:
            self._apply(entry)
            self._log.add(line)
        except BaseException:
            if self._explorer.n_obs > n_obs:
                self._explorer.undo(self._explorer.n_obs - n_obs)
            declares = entry.kind not in TRIALS and any(inner.kind not in TRIALS for inner in flatten(entry))
            del self._entries[n_entries:]
            self._pending = pending
            if declares:
                self._rebuild()
            raise

    def _apply(self, entry: Entry) -> None:
        """Let the explorer and the lists follow a line."""
        if entry.kind == "undo":
            n_told = self._strike(entry.content)
            if n_told:
                self._explorer.undo(n_told)
        elif entry.kind == "asked":
            self._pending.update({trial.number: trial for trial in entry.content})
            self._n_asked = max([self._n_asked, *(trial.number for trial in entry.content)])
        elif entry.kind == "given_up":
            for number in entry.content:
                self._pending.pop(number, None)
        else:
            for inner in flatten(entry):
                learn_entry(self._explorer, inner)
                self._entries.append(inner)
            self._pending.pop(entry.trial or 0, None)

    def _strike(self, n: int) -> int:
        """Remove the last `n` trials from the entries; return how many of them had an outcome."""
        numbers = [i for i, entry in enumerate(self._entries) if entry.kind in TRIALS][-n:]
        n_told = sum(self._entries[i].kind == "told" for i in numbers)
        for i in reversed(numbers):
            del self._entries[i]
        return n_told

    def _rebuild(self) -> None:
        """Let the explorer learn all entries again."""
        own = self._own_prior, self._own_strategy
        fresh = explorer_from_header(self.path, self._header, *own, self._engine)
        for entry in self._entries:
            learn_entry(fresh, entry)
        vars(self._explorer).clear()
        vars(self._explorer).update(vars(fresh))  # views share this dictionary

    def _is_repeated(self, line: Line, key: str | None) -> bool:
        """Return whether this trial is in the book with this key; raise a ValueError if another trial has the key."""
        known = None if key is None else next((entry for entry in self._entries if entry.key == key), None)
        if known is None:
            return False
        if any(known.line.get(name) != line.get(name) for name in ("told", "lost", "ended", "timed_out")):
            raise ValueError(f"key is {key!r}, which the trial {known.content!r} has; use a new key for every trial")
        return True

    def _answered(self, s: Any, a: Any, client: str | None) -> int | None:
        """Return the number of the pending trial that an outcome belongs to; None if there is none.

        Without a client it is the oldest such trial, and one without a client if there is any.
        """
        own = [trial for trial in self.pending if client is None or trial.client == client]
        same = [trial for trial in own if (trial.s, trial.a) == (s, a)]
        if same:
            return min(same, key=lambda trial: (trial.client is not None, trial.number)).number
        if client is not None and own:
            raise ValueError(
                f"client {client!r} was to do action {own[0].a!r} in state {own[0].s!r}, not {a!r} in {s!r}; "
                f"tell the trial without a client, or give up the other one first: give_up(client={client!r})"
            )
        return None

    def _parse(self, number: int, line: Any) -> Entry:
        """Read a line; raise a StoreError that names its number if it is invalid."""
        with self._report_mismatch(number):
            try:
                return parse_line(line)
            except SyntaxError:
                raise self._invalid(number) from None

    def _invalid(self, number: int) -> StoreError:
        return StoreError(f"line {number} of {self.path} is not a valid line of a lab book")

    @contextmanager
    def _report_mismatch(self, number: int) -> Iterator[None]:
        """Convert an error of the explorer about a line to a StoreError that names its number."""
        try:
            yield
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"line {number} of {self.path} does not match its explorer: {error}") from None


MAX_SMALL_BYTES, MAX_SMALL_ENTRIES = 200_000, 50_000
"""Bytes of the file (about 2,000 trials) and entries `[a, s, s_next]` up to which a book is small."""


def _engine_of(header: Any, n_bytes: int) -> Engine:
    """Return the engine that opens a book fastest, from its first line and its size."""
    sizes = []
    for kind in ("states", "actions"):
        labels, prior = header.get(kind), header.get("prior")
        size = header.get(f"n_{kind}") or (prior.get(f"n_{kind}") if isinstance(prior, dict) else None)
        sizes.append(len(labels) if isinstance(labels, list) else size if isinstance(size, int) else 1)
    is_small = n_bytes <= MAX_SMALL_BYTES and sizes[0] ** 2 * sizes[1] <= MAX_SMALL_ENTRIES
    return "numpy" if is_small else "auto"


def learn_entry(explorer: Explorer, entry: Entry) -> None:
    """Let an explorer learn a trial or a declaration."""
    if entry.kind == "told":
        explorer.observe(*entry.content, ended=entry.content.ended, timed_out=entry.content.timed_out)
    elif entry.kind == "lost":
        s, a, _ = entry.content
        explorer.check_pair(s, a)
    elif entry.kind == "allow":
        explorer.allow(*entry.content)
    elif entry.kind == "ends_in":
        explorer.ends_in(entry.content)
    else:
        explorer.discover(entry.content)


def trial_lines(lines: History, states: Labels, actions: Labels) -> list[Line]:
    """Return the lines of a log for a history; those without a next state are lost."""
    cut = np.zeros(len(lines.steps), dtype=bool) if lines.timed_out is None else lines.timed_out
    result = []
    for (s, a, s_next), ended, timed_out in zip(lines.steps.tolist(), lines.ended, cut, strict=True):
        flags = {name: True for name, flag in (("ended", ended), ("timed_out", timed_out and not ended)) if flag}
        labels = (states[s], actions[a]) if s_next == UNKNOWN else (states[s], actions[a], states[s_next])
        result.append({"lost" if s_next == UNKNOWN else "told": json_labels(labels), **flags})
    return result


def _default_prior(alpha: Alpha | None, options: dict[str, Any]) -> Prior:
    """Return the prior of a book whose prior was left out; labels or numbers in `options` define its size."""
    sizes = {}
    for kind in ("states", "actions"):
        labels, size = options[kind], options[f"n_{kind}"]
        if labels is None and size is None:
            raise ValueError(f"the prior and the {kind} are missing; set {kind}= or n_{kind}=, or pass a prior")
        sizes[f"n_{kind}"] = check_count(f"n_{kind}", size, 1) if labels is None else len(labels)
    return prior_or_default(None, alpha, **sizes)
