"""Recorded histories of transitions: their lines, and reading them from lines, arrays, a `Run` or a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np

from berlyne.labels import GrowingLabels, Labels, without_numpy_scalars
from berlyne.models.frames import ColumnNames, Frame, check_column_names, is_frame, is_missing, missing_mask, read_frame
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray, is_index, short_repr
from berlyne.worlds.world import World


class Transition(tuple[Any, Any, Any]):
    """One line of a history: a tuple (s, a, s_next) that also knows whether and how the episode was over.

    It is equal to the tuple and unpacks like it, so `for s, a, s_next in history` is valid.

    Attributes
    ----------
    ended : bool
        Whether the episode ended in `s_next`, which is taken as terminal.
    timed_out : bool
        Whether the episode was cut after this line, which says nothing about `s_next`.

    Examples
    --------
    >>> line = Transition("hall", "go", "exit", ended=True)
    >>> line == ("hall", "go", "exit"), line.ended
    (True, True)
    """

    ended: bool
    timed_out: bool

    def __new__(cls, s: Any, a: Any, s_next: Any, ended: bool = False, timed_out: bool = False) -> Self:
        """Create a line."""
        line = super().__new__(cls, (s, a, s_next))
        line.ended, line.timed_out = ended, timed_out
        return line

    def __getnewargs__(self) -> tuple[Any, ...]:
        return *self, self.ended, self.timed_out

    def __repr__(self) -> str:
        flags = ", ended=True" * self.ended + ", timed_out=True" * self.timed_out
        return f"{super().__repr__()[:-1]}{flags})"


TIMED_OUT = 2
"""Code of a line after which the episode was cut; 1 is a line with which the episode ended."""


def transitions(steps: IntArray | IndexArray, ended: Any, states: Labels, actions: Labels) -> list[Transition]:
    """Return the lines of a history in labels.

    Parameters
    ----------
    steps : ndarray of int, shape (T, 3)
        Lines s, a, s_next, as numbers.
    ended : ndarray, shape (T,)
        Whether the episode ended with each line, or `TIMED_OUT`.
    states, actions : Labels
        Labels of the states and actions.
    """
    return [
        Transition(states[s], actions[a], states[s_next], over == 1, over == TIMED_OUT)
        for (s, a, s_next), over in zip(steps.tolist(), ended.tolist(), strict=True)
    ]


class TerminalChange(NamedTuple):
    """Change of a state to terminal or back, before the action of line `t` is chosen.

    Attributes
    ----------
    t : int
        Line of the history.
    s : int
        State.
    is_terminal : bool
        Whether the state is taken as terminal from line `t` on. Actions in terminal states have no value.
    """

    t: int
    s: int
    is_terminal: bool


TerminalChanges = Sequence[TerminalChange]
"""Changes in order of time; for equal times, changes to terminal come first."""


def iter_segments(n_steps: int, ends: TerminalChanges) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """Split the lines of a history at the changes of terminal states.

    Parameters
    ----------
    n_steps : int
        Number of lines.
    ends : sequence of TerminalChange
        Changes in order of time.

    Yields
    ------
    tuple of (int, int, list of int, list of int)
        First line and end of the segment, states that become terminal before its first line, and states that are no
        longer terminal. The segments cover all lines in order. The last one is empty if a state changes after the last
        line.
    """
    changes: dict[int, tuple[list[int], list[int]]] = {0: ([], [])}
    for change in ends:
        changes.setdefault(change.t, ([], []))[0 if change.is_terminal else 1].append(change.s)
    times = sorted(changes)
    for begin, until in zip(times, [*times[1:], n_steps], strict=True):
        yield begin, until, *changes[begin]


COLUMNS = ("s", "a", "s_next")
FORM = "lines (s, a, s_next), three arrays, a Run, or a frame with columns s, a and s_next"
LINE = "a line is (s, a, s_next) or (s, a, s_next, ended)"
UNKNOWN = -1
"""Number of a missing action or a missing next state."""


class History(NamedTuple):
    """Recorded transitions in their order.

    Attributes
    ----------
    steps : ndarray of shape (T, 3)
        Lines s, a, s_next. A missing action or next state is `UNKNOWN`.
    labels : dict of str to list
        Subject and episode of each line, under "subject" and "episode", if recorded.
    ended : ndarray of bool, shape (T,)
        Whether the episode ended with each line.
    terminal : ndarray of int
        Numbers of the states that were known to be terminal from the start.
    scored : ndarray of bool, shape (T,)
        Whether the action and the next state were recorded, so that the choice has a likelihood.
    possible : dict of int to ndarray of bool, shape (M,)
        Which actions are possible, by the number of the state, if the history is a `Run` in which some were not.
    allowed : ndarray of bool, shape (T, M), or None
        Actions that were possible at each choice; None if all were.
    others : dict of str to ndarray
        All other columns of a frame.
    order : ndarray of int or None
        The lines in the order in which they were recorded; None if they are in order.
    horizon : int or None
        Number of steps after which episodes were cut, if the history is a `Run` in a world with a horizon.
    starts : ndarray of shape (N,) or None
        Probability that an episode begins in each state, if the history is a `Run` whose explorer knew it.
    timed_out : ndarray of bool, shape (T,), or None
        Whether the episode was cut after each line; None if no line tells it.
    """

    steps: IntArray
    labels: dict[str, list[Any]]
    ended: BoolArray
    terminal: IntArray
    scored: BoolArray
    possible: dict[int, BoolArray]
    allowed: BoolArray | None = None
    others: dict[str, Any] = {}  # noqa: RUF012  # never changed
    order: IntArray | None = None
    horizon: int | None = None
    starts: FloatArray | None = None
    timed_out: BoolArray | None = None

    @property
    def is_complete(self) -> BoolArray:
        """Whether each line has a state, an action and a next state, so that its transition can be learned, (T,)."""
        return np.asarray(np.all(self.steps >= 0, axis=1))

    def by_subject(self) -> list[IntArray]:
        """Return the lines of each subject, in the order in which they were recorded."""
        order = np.arange(len(self.steps)) if self.order is None else self.order
        subjects = self.labels.get("subject")
        if subjects is None or not subjects:
            return [order]
        number = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
        numbers = np.array([number[subject] for subject in subjects])[order]
        return [order[numbers == i] for i in range(len(number))]

    def is_last(self, lines: IntArray) -> BoolArray:
        """Whether the episode of each line is over after it, among the lines of a subject, (K,).

        It is if the episode ended or was cut, or if the next line belongs to another one.
        """
        episodes = self.labels.get("episode")
        if self.timed_out is not None:
            return np.asarray(self.ended[lines] | self.timed_out[lines])
        if episodes is None:
            return self.ended[lines]
        following = zip(lines.tolist(), lines[1:].tolist(), strict=False)
        is_cut = [episodes[line] != episodes[after] for line, after in following]
        return np.asarray(self.ended[lines] | np.array([*is_cut, False][: len(lines)], dtype=np.bool_))

    def terminal_changes(self, lines: IntArray) -> list[TerminalChange]:
        """List the changes of terminal states that an explorer learns from some lines.

        A state is taken as terminal if it was known to be, or if an episode ended there. It is not terminal if an
        action was taken there before, and it is no longer terminal once an action is taken there. A line without a next
        state changes nothing. `Explorer.observe` follows the same rules.

        Parameters
        ----------
        lines : ndarray of shape (K,)
            Lines that the explorer observes. The times of the changes count these lines.
        """
        terminal, tried = set(self.terminal.tolist()), set()
        changes = [TerminalChange(0, s, True) for s in sorted(terminal)]
        if not changes and not np.any(self.ended[lines]):
            return []
        for t, ((s, _, s_next), ended) in enumerate(zip(self.steps[lines].tolist(), self.ended[lines], strict=True)):
            if s_next == UNKNOWN:
                continue
            tried.add(s)
            if s in terminal:
                terminal.remove(s)
                changes.append(TerminalChange(t, s, False))
            if ended and s_next not in terminal and s_next not in tried:
                terminal.add(s_next)
                changes.append(TerminalChange(t + 1, s_next, True))
        return changes


class RawHistory(NamedTuple):
    """A history in the labels of the user, before it is checked.

    Attributes
    ----------
    columns : list
        Columns s, a, s_next.
    ended : ndarray of bool, shape (T,), or None
        Whether the episode ended with each line.
    run : object or None
        The `Run` that the columns come from; they contain numbers then.
    frame : Frame or None
        The columns of a frame.
    timed_out : ndarray of bool, shape (T,), or None
        Whether the episode was cut after each line, if lines tell it.
    """

    columns: list[Any]
    ended: BoolArray | None = None
    run: Any = None
    frame: Frame | None = None
    timed_out: BoolArray | None = None

    def distinct_actions(self) -> list[Any]:
        """Return the actions that were taken or allowed: sorted if they can be, otherwise as they first occur."""
        if self.run is not None:
            source = _source(self.run)
            return list(range(int(max(self.columns[1], default=0)) + 1)) if source is None else list(source.actions)
        taken = [without_numpy_scalars(a) for a in _as_values(self.columns[1]) if not is_missing(a)]
        allowed = self.frame.columns.get("allowed", ()) if self.frame is not None else ()
        listed = [a for value in allowed if not is_missing(value) and not isinstance(value, str) for a in value]
        distinct = list(dict.fromkeys([*taken, *map(without_numpy_scalars, listed)]))
        with suppress(TypeError):  # actions of several types
            distinct.sort()
        return distinct


def read_raw_history(history: Any, names: ColumnNames) -> RawHistory:
    """Read a history in any supported form.

    Parameters
    ----------
    history : object
        The history.
    names : ColumnNames
        Names of the columns of a frame.

    Raises
    ------
    ValueError
        If the form is not supported.
    """
    check_column_names(names)
    is_run = all(hasattr(history, name) for name in ("states", "actions", "next_states"))
    if names and (is_run or not is_frame(history)):
        raise ValueError(f"{next(iter(names))}= names a column of a frame, but the history is {short_repr(history)}")
    if is_run:
        columns: Any = [history.states[: len(history.actions)], history.actions, history.next_states]
        return RawHistory(columns, getattr(history, "terminated", None), history)
    if is_frame(history):
        frame = read_frame(history, names)
        ended = _read_ended(frame.columns["ended"].tolist()) if "ended" in frame.columns else None
        return RawHistory([frame.columns[name] for name in COLUMNS], ended, frame=frame)
    if isinstance(history, list | tuple) and len(history) == 3 and all(map(_is_column, history)):
        if isinstance(history, list) and all(len(column) == 3 for column in history):
            raise ValueError(
                "the history is a list of three arrays of length 3, which can be lines or columns; pass lines as one "
                "array of shape (3, 3), or columns as a tuple"
            )
        return RawHistory([np.asarray(column) for column in history])
    return _read_lines(history)


def read_history(history: Any, states: Labels, actions: Labels) -> History:
    """Read and validate a history in any supported form.

    Parameters
    ----------
    history : object
        The history, or its `RawHistory`.
    states, actions : Labels
        Labels of states and actions.

    Raises
    ------
    ValueError
        If a line is invalid; the message contains the number of the first such line, counted from 0.
    """
    raw = history if isinstance(history, RawHistory) else read_raw_history(history, {})
    columns, terminal = raw.columns, np.empty(0, dtype=np.int64)
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"s, a and s_next have {', '.join(map(str, lengths))} entries; they must have the same length")
    if raw.frame is not None and isinstance(states, GrowingLabels):  # known states have other messages
        _check_states(columns[0])
    all_actions = actions
    if raw.run is not None:
        columns, terminal, states, actions = _read_run(raw.run, columns, states, actions)
    column_labels = (states, actions, states)
    numbers = [_to_numbers(*column) for column in zip(COLUMNS, columns, column_labels, strict=True)]
    steps = np.stack(numbers, axis=1)
    if isinstance(states, GrowingLabels):  # a terminal state that does not occur in the history is not discovered
        terminal = np.array([s for s in map(states.number, terminal) if s < states.size], dtype=np.int64)
    ended = np.zeros(len(steps), dtype=bool) if raw.ended is None else raw.ended
    possible = _possible_in(raw.run, states, actions)
    lines = History(steps, {}, ended, terminal, np.all(steps >= 0, axis=1), possible)
    lines = lines._replace(timed_out=raw.timed_out, **_episodes_in(raw.run, states))
    return lines if raw.frame is None else _with_columns(lines, raw.frame, all_actions)


def _with_columns(lines: History, frame: Frame, actions: Labels) -> History:
    """Return a history with the subjects, episodes, allowed actions and other columns of a frame.

    If one action was allowed and none is recorded, it was this one; its transition is learned, and not scored.
    """
    columns = frame.columns
    labels: dict[str, list[Any]] = {
        name: _read_names(name, columns[name]) for name in ("subject", "episode") if name in columns
    }
    allowed, steps = None, lines.steps
    if "allowed" in columns:
        allowed = _read_allowed(columns["allowed"], steps[:, 1], actions)
        forced = (steps[:, 1] == UNKNOWN) & (allowed.sum(axis=1) == 1)
        steps[forced, 1] = allowed[forced].argmax(axis=1)
    return lines._replace(steps=steps, labels=labels, allowed=allowed, others=frame.others, order=frame.order)


def read_single_subject(history: Any, states: Labels, actions: Labels) -> History:
    """Read the history of one subject, with its lines in the order in which they were recorded.

    Raises
    ------
    ValueError
        If a line is invalid, or if there are several subjects.
    """
    lines = read_history(history, states, actions)
    subjects = list(dict.fromkeys(lines.labels.get("subject", ())))
    if len(subjects) > 1:
        raise ValueError(
            f"the history has {len(subjects)} subjects, {subjects[0]!r} and others; "
            "select one of them, or drop the column subject to pool them"
        )
    if lines.order is None:
        return lines
    labels = {name: [values[i] for i in lines.order.tolist()] for name, values in lines.labels.items()}
    arrays = {name: getattr(lines, name)[lines.order] for name in ("steps", "ended", "scored")}
    return lines._replace(labels=labels, order=None, **arrays)


class _RunColumns(NamedTuple):
    """Columns s, a, s_next and terminal states of a run, and the labels that they use."""

    columns: list[Any]
    terminal: Any
    states: Labels
    actions: Labels


def _read_run(run: Any, columns: list[Any], states: Labels, actions: Labels) -> _RunColumns:
    """Read the columns of a run.

    They are labels if both the run and the reader have labels, whose order may differ. Otherwise they are numbers.
    The terminal states are known from the start if the run explored a world, and not if it explored an environment.
    """
    s, a, s_next = columns
    source = _source(run)
    terminal: Any = source.terminal if isinstance(source, World) else np.empty(0, dtype=np.int64)
    labelled = source is not None and actions.custom is not None and source.action_labels.custom is not None
    a, actions = ([source.actions[i] for i in a], actions) if labelled else (a, Labels("action", actions.size))
    if source is not None and (
        isinstance(states, GrowingLabels) or (states.custom is not None and source.state_labels.custom is not None)
    ):
        s, s_next, terminal = ([source.states[i] for i in numbers] for numbers in (s, s_next, terminal))
    if isinstance(states, GrowingLabels):
        return _RunColumns([s, a, s_next], list(terminal), states, actions)
    if isinstance(terminal, list):
        terminal = np.array([states.number(label) for label in terminal], dtype=np.int64)
    else:
        states = Labels("state", states.size)
    return _RunColumns([s, a, s_next], terminal, states, actions)


def _source(run: Any) -> Any:
    """Return the explorer of a run, or its world; None if it has neither."""
    explorer = getattr(run, "explorer", None)
    return getattr(run, "world", None) if explorer is None else explorer


def _possible_in(run: Any, states: Labels, actions: Labels) -> dict[int, BoolArray]:
    """Return which actions are possible, by state, for each state of a run in which some are not; `run` may be None."""
    source = _source(run)
    masks = getattr(source, "allowed", None)
    if masks is None or np.all(masks):
        return {}
    by_label = isinstance(states, GrowingLabels) or states.custom is not None
    order = [actions.number(a) if actions.custom is not None else i for i, a in enumerate(source.actions)]
    possible = {}
    for s in np.flatnonzero(~masks.all(axis=0)).tolist():
        number = states.number(source.states[s]) if by_label else s
        if number < states.size:  # with a prior that discovers states, a state that does not occur is not known
            possible[number] = np.ones(actions.size, dtype=np.bool_)
            possible[number][order] = masks[:, s]
    return possible


def _episodes_in(run: Any, states: Labels) -> dict[str, Any]:
    """Return `horizon` and `starts` of a `History`, which the explorer of a run in a world knew; `run` may be None.

    It was told where episodes begin if something is impossible in the world, unless it discovered the states.
    """
    world = _source(run)
    if not isinstance(world, World):
        return {}
    if world.allows_all or isinstance(states, GrowingLabels):
        return {"horizon": world.horizon}
    starts, distribution = np.zeros(states.size), world.episodes.distribution
    for s in np.flatnonzero(distribution).tolist():
        starts[states.number(world.states[s]) if states.custom is not None else s] = distribution[s]
    return {"horizon": world.horizon, "starts": starts}


def _is_column(values: Any) -> bool:
    """Whether `values` is an array or a series, rather than one line of a history."""
    return hasattr(values, "dtype") and np.ndim(values) == 1


def _check_states(column: Any) -> None:
    """Raise a `ValueError` if the state of a line of a frame is missing; None may be the label of a state."""
    missing = [i for i in np.flatnonzero(missing_mask(column)).tolist() if column[i] is not None]
    if missing:
        raise ValueError(
            f"s is missing in line {missing[0]} of the history, counted from 0; every line must have a state"
        )


def _read_names(name: str, column: Any) -> list[Any]:
    """Read the subject or the episode of each line."""
    values: list[Any] = column.tolist()
    unknown = np.flatnonzero(missing_mask(column))
    if len(unknown):
        raise ValueError(f"{name} is missing in line {unknown[0]} of the history, counted from 0")
    for i, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise ValueError(
                f"{name} is {value!r:.60} in line {i} of the history, counted from 0; it must be a number or a name"
            )
    return values


def _read_allowed(column: Any, taken: IntArray, actions: Labels) -> BoolArray:
    """Read which actions were possible at each choice, (T, M): a list, or text with a comma or a blank between them.

    If the entry of a line is missing, all actions were possible.
    """
    allowed, by_text = np.ones((len(taken), actions.size), dtype=bool), {str(label): label for label in actions.all}
    for i, value in enumerate(column.tolist()):
        if is_missing(value):
            continue
        where = f"line {i} of the history, counted from 0: allowed"
        if not isinstance(value, str) and not isinstance(value, Iterable):
            raise ValueError(f"{where} is {value!r:.60}; it must be a list of actions, or text such as 'left, right'")
        labels = re.findall(r"[^,;\s]+", value) if isinstance(value, str) else value
        try:
            numbers = [actions.number(by_text.get(x, x) if isinstance(x, str) else x, "an action") for x in labels]
        except ValueError as error:
            raise ValueError(f"{where} is {value!r:.60}; {error}") from None
        allowed[i] = False
        allowed[i, numbers] = True
        if not numbers or (taken[i] != UNKNOWN and not allowed[i, taken[i]]):
            a = "" if taken[i] == UNKNOWN else f" such as {actions[int(taken[i])]!r}, which was taken"
            raise ValueError(f"{where} is {value!r:.60}; it must contain the actions that were possible{a}")
    return allowed


def _read_ended(values: list[Any]) -> BoolArray:
    """Read whether the episode ended with each line."""
    for i, value in enumerate(values):
        # True and False are equal to 1 and 0; NaN is equal to neither, and pandas.NA is not a number
        if not isinstance(value, bool | int | float | np.generic) or value not in (0, 1):
            raise ValueError(f"ended is {value!r} in line {i} of the history, counted from 0; it must be true or false")
    return np.array(values, dtype=bool)


def _read_lines(history: Any) -> RawHistory:
    """Read the columns s, a, s_next and, if it is recorded, `ended`, of an array or of any iterable of lines."""
    if isinstance(history, np.ndarray):
        if history.ndim != 2 or history.shape[1] not in (3, 4):
            raise ValueError(
                f"the history is an array of shape {history.shape}; it must be (T, 3): s, a, s_next, or (T, 4): s, a, "
                "s_next, ended"
            )
        ended = _read_ended(history[:, 3].tolist()) if history.shape[1] == 4 else None
        return RawHistory(list(history.T[:3]), ended)
    if not isinstance(history, Iterable) or isinstance(history, str | bytes | dict):
        raise ValueError(f"the history is {history!r:.60}; it must be {FORM}")
    lines = list(history)
    for i, line in enumerate(lines):
        if not hasattr(line, "__len__") or isinstance(line, str | bytes | dict) or len(line) not in (3, 4):
            raise ValueError(f"line {i} of the history, counted from 0, is {line!r:.60}; a history is {FORM}; {LINE}")
    if not lines:
        return RawHistory([np.empty(0, dtype=np.int64)] * 3)
    ended = _read_ended([line[3] if len(line) == 4 else getattr(line, "ended", False) for line in lines])
    timed_out = np.array([getattr(line, "timed_out", False) for line in lines], dtype=bool)
    columns = [[line[i] for line in lines] for i in range(3)]
    return RawHistory(columns, ended, timed_out=timed_out if np.any(timed_out) else None)


def _as_values(column: Any) -> list[Any]:
    """Return the values of a column as a list; whole numbers are floats in a column with NaN, and become integers."""
    values = list(column.tolist() if hasattr(column, "tolist") else column)
    if getattr(getattr(column, "dtype", None), "kind", "O") == "f":
        present = [value for value in values if value == value]
        if len(present) < len(values) and all(value.is_integer() for value in present):
            return [int(value) if value == value else None for value in values]
    return values


def _to_numbers(name: str, column: Any, labels: Labels) -> IntArray:
    """Convert a column of labels to numbers; `UNKNOWN` for an action or a next state that is missing."""
    if labels.custom is None:
        return _to_indices(name, column, labels.size)
    numbers = []
    for i, label in enumerate(_as_values(column)):
        if name != "s" and is_missing(label) and not (label is None and None in labels.all):
            numbers.append(UNKNOWN)
            continue
        try:
            numbers.append(labels.number(label, name))
            if isinstance(labels, GrowingLabels) and numbers[-1] == labels.size:
                labels.add(label)
        except ValueError as error:
            raise ValueError(f"line {i} of the history, counted from 0: {error}") from None
    return np.array(numbers, dtype=np.int64)


def _to_indices(name: str, column: Any, size: int) -> IntArray:
    """Convert a column to integers from 0 to `size - 1`; `UNKNOWN` for an action or a next state that is missing."""
    array = np.asarray(column)
    missing = missing_mask(array) if name != "s" else np.zeros(len(array), dtype=bool)
    if array.dtype.kind in "iuf":
        good = (array >= 0) & (array < size) & (array == np.floor(array))
    else:
        good = np.array([is_index(value, size) for value in array.tolist()], dtype=bool)
    bad = np.flatnonzero(~(good | missing))
    if len(bad):
        value = array[bad[0]]
        plain = value.item() if isinstance(value, np.generic) else value
        raise ValueError(
            f"{name} is {plain!r} in line {bad[0]} of the history, counted from 0; "
            f"it must be a whole number from 0 to {size - 1}"
            f"{', unless labels are given: states=, actions=' if isinstance(plain, str) else ''}"
        )
    return np.where(missing, UNKNOWN, array).astype(np.int64)
