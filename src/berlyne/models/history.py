"""Recorded histories of transitions: their lines, and reading them from lines, arrays, a `Run` or a DataFrame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from berlyne.labels import GrowingLabels, Labels
from berlyne.validation import BoolArray, IndexArray, IntArray, is_index
from berlyne.worlds.world import World


class Transition(tuple[Any, Any, Any]):
    """One line of a history: a tuple (s, a, s_next) that also knows whether the episode ended.

    It is equal to the tuple and unpacks like it, so `for s, a, s_next in history` is valid.

    Attributes
    ----------
    ended : bool
        Whether the episode ended in `s_next`.

    Examples
    --------
    >>> line = Transition("hall", "go", "exit", ended=True)
    >>> line == ("hall", "go", "exit"), line.ended
    (True, True)
    """

    ended: bool

    def __new__(cls, s: Any, a: Any, s_next: Any, ended: bool = False) -> Transition:
        """Create a line."""
        line = super().__new__(cls, (s, a, s_next))
        line.ended = ended
        return line

    def __getnewargs__(self) -> tuple[Any, ...]:
        return *self, self.ended

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, ended=True)" if self.ended else super().__repr__()


def transitions(steps: IntArray | IndexArray, ended: Any, states: Labels, actions: Labels) -> list[Transition]:
    """Return the lines of a history in labels.

    Parameters
    ----------
    steps : ndarray of int, shape (T, 3)
        Lines s, a, s_next, as numbers.
    ended : ndarray, shape (T,)
        Whether the episode ended with each line.
    states, actions : Labels
        Labels of the states and actions.
    """
    return [
        Transition(states[s], actions[a], states[s_next], bool(over))
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
HISTORY_COLUMNS = (*COLUMNS, "subject", "episode", "ended")
"""Names that are read from a DataFrame, from its columns and from the levels of its index."""
FORM = "lines (s, a, s_next), three arrays, a Run, or a frame with columns s, a and s_next"
LINE = "a line is (s, a, s_next) or (s, a, s_next, ended)"


class History(NamedTuple):
    """Recorded transitions in their order.

    Attributes
    ----------
    steps : ndarray of shape (T, 3)
        Lines s, a, s_next.
    labels : dict of str to list
        Subject and episode of each line, under "subject" and "episode", if recorded.
    ended : ndarray of bool, shape (T,)
        Whether the episode ended with each line.
    terminal : ndarray of int
        Numbers of the states that were known to be terminal from the start.
    allowed : dict of int to ndarray of bool, shape (M,)
        Which actions are possible, by the number of the state, if the history is a `Run` in which some were not.
    """

    steps: IntArray
    labels: dict[str, list[Any]]
    ended: BoolArray
    terminal: IntArray
    allowed: dict[int, BoolArray]

    def terminal_changes(self, lines: IntArray) -> list[TerminalChange]:
        """List the changes of terminal states that an explorer learns from some lines.

        A state is taken as terminal if it was known to be, or if an episode ended there. It is not terminal if an
        action was taken there before, and it is no longer terminal once an action is taken there. `Explorer.observe`
        follows the same rules.

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
            tried.add(s)
            if s in terminal:
                terminal.remove(s)
                changes.append(TerminalChange(t, s, False))
            if ended and s_next not in terminal and s_next not in tried:
                terminal.add(s_next)
                changes.append(TerminalChange(t + 1, s_next, True))
        return changes


def read_history(history: Any, states: Labels, actions: Labels) -> History:
    """Read and validate a history in any supported form.

    Raises
    ------
    ValueError
        If a line is invalid; the message contains the number of the first such line, counted from 0.
    """
    labels: dict[str, list[Any]] = {}
    ended = None
    terminal: Any = np.empty(0, dtype=np.int64)
    if all(hasattr(history, name) for name in ("states", "actions", "next_states")):  # a Run, or a similar object
        columns: Any = [history.states[: len(history.actions)], history.actions, history.next_states]
        ended = getattr(history, "terminated", None)
        columns, terminal, states, actions = _read_run(history, columns, states, actions)
    elif hasattr(history, "columns") and hasattr(history, "iloc"):
        series = _read_frame(history)
        columns = [series[name].to_numpy() for name in COLUMNS]
        labels = {name: _read_names(name, series[name]) for name in ("subject", "episode") if name in series}
        ended = _read_ended(series["ended"].tolist()) if "ended" in series else None
    elif isinstance(history, list | tuple) and len(history) == 3 and all(map(_is_column, history)):
        if isinstance(history, list) and all(len(column) == 3 for column in history):
            raise ValueError(
                "the history is a list of three arrays of length 3, which can be lines or columns; pass lines as one "
                "array of shape (3, 3), or columns as a tuple"
            )
        columns = [np.asarray(column) for column in history]
    else:
        columns, ended = _read_lines(history)
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"s, a and s_next have {', '.join(map(str, lengths))} entries; they must have the same length")
    column_labels = (states, actions, states)
    numbers = [_to_numbers(*column) for column in zip(COLUMNS, columns, column_labels, strict=True)]
    steps = np.stack(numbers, axis=1)
    if isinstance(states, GrowingLabels):  # a terminal state that does not occur in the history is not discovered
        terminal = np.array([s for s in map(states.number, terminal) if s < states.size], dtype=np.int64)
    ended = np.zeros(len(steps), dtype=bool) if ended is None else ended
    return History(steps, labels, ended, terminal, _allowed_in(history, states, actions))


def read_single_subject(history: Any, states: Labels, actions: Labels) -> History:
    """Read the history of one subject.

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
    return lines


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
    explorer = getattr(run, "explorer", None)
    source: Any = getattr(run, "world", None) if explorer is None else explorer
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


def _allowed_in(history: Any, states: Labels, actions: Labels) -> dict[int, BoolArray]:
    """Return which actions are possible, by state, for each state of a run in which some are not."""
    explorer = getattr(history, "explorer", None)
    source: Any = getattr(history, "world", None) if explorer is None else explorer
    masks = getattr(source, "allowed", None)
    if masks is None or np.all(masks):
        return {}
    by_label = isinstance(states, GrowingLabels) or states.custom is not None
    order = [actions.number(a) if actions.custom is not None else i for i, a in enumerate(source.actions)]
    allowed = {}
    for s in np.flatnonzero(~masks.all(axis=0)).tolist():
        number = states.number(source.states[s]) if by_label else s
        if number < states.size:  # with a prior that discovers states, a state that does not occur is not known
            allowed[number] = np.ones(actions.size, dtype=np.bool_)
            allowed[number][order] = masks[:, s]
    return allowed


def _is_column(values: Any) -> bool:
    """Whether `values` is an array or a series, rather than one line of a history."""
    return hasattr(values, "dtype") and np.ndim(values) == 1


def _read_frame(frame: Any) -> dict[str, Any]:
    """Return the columns and index levels of a DataFrame that belong to a history, as series by name."""
    levels = [str(name) for name in frame.index.names if name is not None]
    names = [str(name) for name in frame.columns] + levels
    for name in names:
        normalized = "".join(name.split()).casefold()
        if name not in HISTORY_COLUMNS and normalized in HISTORY_COLUMNS:
            raise ValueError(f"the history has a column {name!r}; rename it to {normalized}, or drop it")
    repeated = [name for name in HISTORY_COLUMNS if names.count(name) > 1]
    if repeated:
        in_index = ", one of them in its index" if repeated[0] in levels else ""
        raise ValueError(
            f"the history has {names.count(repeated[0])} columns {repeated[0]}{in_index}; it must have one"
        )
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ValueError(
            f"the history has the columns {', '.join(names)}, but no {' and no '.join(missing)}; "
            "it must have s, a and s_next, and may have subject, episode and ended"
        )
    return {
        name: frame.index.get_level_values(name).to_series() if name in levels else frame[name]
        for name in HISTORY_COLUMNS
        if name in names
    }


def _read_names(name: str, column: Any) -> list[Any]:
    """Read the subject or the episode of each line."""
    values: list[Any] = column.tolist()
    unknown = np.flatnonzero(column.isna().to_numpy())
    if len(unknown):
        raise ValueError(f"{name} is missing in line {unknown[0]} of the history, counted from 0")
    for i, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise ValueError(
                f"{name} is {value!r:.60} in line {i} of the history, counted from 0; it must be a number or a name"
            )
    return values


def _read_ended(values: list[Any]) -> BoolArray:
    """Read whether the episode ended with each line."""
    for i, value in enumerate(values):
        # True and False are equal to 1 and 0; NaN is equal to neither, and pandas.NA is not a number
        if not isinstance(value, bool | int | float | np.generic) or value not in (0, 1):
            raise ValueError(f"ended is {value!r} in line {i} of the history, counted from 0; it must be true or false")
    return np.array(values, dtype=bool)


def _read_lines(history: Any) -> tuple[list[Any], BoolArray | None]:
    """Read the columns s, a, s_next and, if it is recorded, `ended`, of an array or of any iterable of lines."""
    if isinstance(history, np.ndarray):
        if history.ndim != 2 or history.shape[1] not in (3, 4):
            raise ValueError(
                f"the history is an array of shape {history.shape}; it must be (T, 3): s, a, s_next, or (T, 4): s, a, "
                "s_next, ended"
            )
        return list(history.T[:3]), _read_ended(history[:, 3].tolist()) if history.shape[1] == 4 else None
    if not isinstance(history, Iterable) or isinstance(history, str | bytes | dict):
        raise ValueError(f"the history is {history!r:.60}; it must be {FORM}")
    lines = list(history)
    for i, line in enumerate(lines):
        if not hasattr(line, "__len__") or isinstance(line, str | bytes | dict) or len(line) not in (3, 4):
            raise ValueError(f"line {i} of the history, counted from 0, is {line!r:.60}; a history is {FORM}; {LINE}")
    if not lines:
        return [np.empty(0, dtype=np.int64)] * 3, None
    ended = [line[3] if len(line) == 4 else getattr(line, "ended", False) for line in lines]
    return [[line[i] for line in lines] for i in range(3)], _read_ended(ended)


def _to_numbers(name: str, column: Any, labels: Labels) -> IntArray:
    """Convert a column of labels to numbers."""
    if labels.custom is None:
        return _to_indices(name, column, labels.size)
    numbers = []
    for i, label in enumerate(column.tolist() if hasattr(column, "tolist") else column):
        try:
            numbers.append(labels.number(label, name))
            if isinstance(labels, GrowingLabels) and numbers[-1] == labels.size:
                labels.add(label)
        except ValueError as error:
            raise ValueError(f"line {i} of the history, counted from 0: {error}") from None
    return np.array(numbers, dtype=np.int64)


def _to_indices(name: str, column: Any, size: int) -> IntArray:
    """Convert a column to integers from 0 to `size - 1`."""
    array = np.asarray(column)
    if array.dtype.kind in "iuf":
        good = (array >= 0) & (array < size) & (array == np.floor(array))
    else:
        good = np.array([is_index(value, size) for value in array.tolist()], dtype=bool)
    bad = np.flatnonzero(~good)
    if len(bad):
        value = array[bad[0]]
        plain = value.item() if isinstance(value, np.generic) else value
        raise ValueError(
            f"{name} is {plain!r} in line {bad[0]} of the history, counted from 0; "
            f"it must be a whole number from 0 to {size - 1}"
            f"{', unless labels are given: states=, actions=' if isinstance(plain, str) else ''}"
        )
    return array.astype(np.int64)
