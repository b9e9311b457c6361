"""A recorded history in any form that a user may give: arrays, lines, a run, a frame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from berlyne.labels import GrowingLabels, Labels
from berlyne.validation import BoolArray, IntArray, is_index


class TerminalChange(NamedTuple):
    """What is known of a state from line `t` of a history on, before its action is chosen.

    is_end : whether it is taken for an end, where no action is worth anything.
    """

    t: int
    s: int
    is_terminal: bool


TerminalChanges = Sequence[TerminalChange]
"""In the order of their times; of one time, what is closed comes first."""


def iter_segments(n_steps: int, ends: TerminalChanges) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """The lines from one change to the next: begin, end, and states closed and then opened before `begin`.

    Together they are all lines, in order; the last may be empty, where something changes after the last line.
    """
    changes: dict[int, tuple[list[int], list[int]]] = {0: ([], [])}
    for end in ends:
        changes.setdefault(end.t, ([], []))[0 if end.is_terminal else 1].append(end.s)
    times = sorted(changes)
    for begin, until in zip(times, [*times[1:], n_steps], strict=True):
        yield begin, until, *changes[begin]


COLUMNS = ("s", "a", "s_next")
KNOWN = (*COLUMNS, "subject", "episode", "ended")
"""What is looked for in a frame, among its columns and the levels of its index."""
FORM = "lines (s, a, s_next), three arrays, a Run, or a frame with columns s, a and s_next"


class History(NamedTuple):
    """What was recorded, in its order.

    steps : (T, 3), lines s, a, s_next.
    labels : `subject` and `episode` of each line, those that there are.
    ended : (T,), whether the episode was over with each line.
    terminal : numbers of the states that were known to end episodes from the start.
    """

    steps: IntArray
    labels: dict[str, list[Any]]
    ended: BoolArray
    terminal: IntArray

    def terminal_changes(self, where: IntArray) -> list[TerminalChange]:
        """What one who makes the lines `where`, (K,), knows and learns of ends; times count these lines.

        A state is taken for an end if it was known to be one or an episode was over there, until an action is taken
        there; where one was taken already, it is no end. The same is what `Explorer.observe` makes of it.
        """
        closed, tried = set(self.terminal.tolist()), set()
        found = [TerminalChange(0, s, True) for s in sorted(closed)]
        if not found and not np.any(self.ended[where]):
            return []
        for t, ((s, _, s_next), over) in enumerate(zip(self.steps[where].tolist(), self.ended[where], strict=True)):
            tried.add(s)
            if s in closed:
                closed.remove(s)
                found.append(TerminalChange(t, s, False))
            if over and s_next not in closed and s_next not in tried:
                closed.add(s_next)
                found.append(TerminalChange(t + 1, s_next, True))
        return found


def read_history(history: Any, states: Labels, actions: Labels) -> History:
    """A history in any form that a user may give it, checked.

    Raises
    ------
    ValueError that names the first line, counted from 0, that is not what it must be.
    """
    labels: dict[str, list[Any]] = {}
    ended = None
    ends: Any = np.empty(0, dtype=np.int64)
    if all(hasattr(history, name) for name in ("states", "actions", "next_states")):  # a Run, or one that is like it
        ended = getattr(history, "terminated", None)
        ends = history.world.terminal if hasattr(history, "world") else ends
        columns: Any = [history.states[: len(history.actions)], history.actions, history.next_states]
        columns, ends, states, actions = _of_run(history, columns, ends, states, actions)
    elif hasattr(history, "columns") and hasattr(history, "iloc"):
        found = _of_frame(history)
        columns = [found[name].to_numpy() for name in COLUMNS]
        labels = {name: _names(name, found[name]) for name in ("subject", "episode") if name in found}
        ended = _ended(found["ended"]) if "ended" in found else None
    elif isinstance(history, list | tuple) and len(history) == 3 and all(map(_is_column, history)):
        if isinstance(history, list) and all(len(column) == 3 for column in history):
            raise ValueError(
                "the history is a list of three arrays of three, which may be lines or columns; give lines as one "
                "array (3, 3), or columns as a tuple"
            )
        columns = [np.asarray(column) for column in history]
    else:
        columns = _of_lines(history)
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"s, a and s_next have {', '.join(map(str, lengths))} entries; they must have as many each")
    named = (states, actions, states)
    checked = [_numbered(name, column, given) for name, column, given in zip(COLUMNS, columns, named, strict=True)]
    steps = np.stack(checked, axis=1)
    if isinstance(states, GrowingLabels):  # an end that does not come up is none to those who discover
        ends = np.array([s for s in map(states.number, ends) if s < states.size], dtype=np.int64)
    return History(steps, labels, np.zeros(len(steps), dtype=bool) if ended is None else ended, ends)


def read_single_subject(history: Any, states: Labels, actions: Labels) -> History:
    """The same of one subject, for one who learns it all; that there are several is a `ValueError`."""
    lines = read_history(history, states, actions)
    subjects = list(dict.fromkeys(lines.labels.get("subject", ())))
    if len(subjects) > 1:
        raise ValueError(
            f"the history is that of {len(subjects)} subjects, {subjects[0]!r} and others; "
            "give one of them, or leave the column subject out"
        )
    return lines


class _OfRun(NamedTuple):
    """Columns s, a, s_next and the ends of a run, and the labels that they are in."""

    columns: list[Any]
    ends: Any
    states: Labels
    actions: Labels


def _of_run(run: Any, columns: list[Any], ends: Any, states: Labels, actions: Labels) -> _OfRun:
    """What a run holds: numbers, or its labels where both sides have some, which may be in another order."""
    begun, acted, led_to = columns
    its: Any = getattr(run, "explorer", getattr(run, "world", None))
    spoken = its is not None and actions.custom is not None and its.action_labels.custom is not None
    acted, actions = ([its.actions[a] for a in acted], actions) if spoken else (acted, Labels("action", actions.size))
    if its is not None and (
        isinstance(states, GrowingLabels) or (states.custom is not None and its.state_labels.custom is not None)
    ):
        begun, led_to, ends = ([its.states[s] for s in those] for those in (begun, led_to, ends))
    if isinstance(states, GrowingLabels):
        return _OfRun([begun, acted, led_to], list(ends), states, actions)
    if isinstance(ends, list):
        ends = np.array([states.number(s) for s in ends], dtype=np.int64)
    else:
        states = Labels("state", states.size)
    return _OfRun([begun, acted, led_to], ends, states, actions)


def _is_column(values: Any) -> bool:
    """Whether it is an array or a series, rather than one line of a history."""
    return hasattr(values, "dtype") and np.ndim(values) == 1


def _of_frame(frame: Any) -> dict[str, Any]:
    """Those columns and levels of the index of a pandas frame that a history can have, as series by name."""
    levels = [str(name) for name in frame.index.names if name is not None]
    there = [str(name) for name in frame.columns] + levels
    for name in there:
        meant = "".join(name.split()).casefold()
        if name not in KNOWN and meant in KNOWN:
            raise ValueError(f"the history has a column {name!r}; call it {meant}, or leave it out")
    twice = [name for name in KNOWN if there.count(name) > 1]
    if twice:
        where = ", one of them in its index" if twice[0] in levels else ""
        raise ValueError(f"the history has {there.count(twice[0])} columns {twice[0]}{where}; it must have one")
    lacking = [name for name in COLUMNS if name not in there]
    if lacking:
        raise ValueError(
            f"the history has the columns {', '.join(there)}, and no {' and no '.join(lacking)}; "
            "it must have s, a and s_next, and may have subject, episode and ended"
        )
    return {
        name: frame.index.get_level_values(name).to_series() if name in levels else frame[name]
        for name in KNOWN
        if name in there
    }


def _names(name: str, column: Any) -> list[Any]:
    """The subject or the episode of each line."""
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


def _ended(column: Any) -> BoolArray:
    """Whether the episode was over with each line."""
    values, missing = column.tolist(), column.isna().tolist()
    for i, value in enumerate(values):
        if missing[i] or value not in (0, 1):  # true and false are, too
            raise ValueError(f"ended is {value!r} in line {i} of the history, counted from 0; it must be true or false")
    return np.array(values, dtype=bool)


def _of_lines(history: Any) -> list[Any]:
    """Columns of an array (T, 3), or of anything that yields triples."""
    if isinstance(history, np.ndarray):
        if history.ndim != 2 or history.shape[1] != 3:
            raise ValueError(f"the history is an array of shape {history.shape}; it must be (T, 3): s, a, s_next")
        return list(history.T)
    if not isinstance(history, Iterable) or isinstance(history, str | bytes | dict):
        raise ValueError(f"the history is {history!r:.60}; it must be {FORM}")
    lines = list(history)
    for i, line in enumerate(lines):
        if not hasattr(line, "__len__") or isinstance(line, str | bytes | dict) or len(line) != 3:
            raise ValueError(f"line {i} of the history, counted from 0, is {line!r:.60}; a history is {FORM}")
    if not lines:
        return [np.empty(0, dtype=np.int64)] * 3
    return [[line[i] for line in lines] for i in range(3)]


def _numbered(name: str, column: Any, labels: Labels) -> IntArray:
    """A column of labels as numbers."""
    if labels.custom is None:
        return _whole(name, column, labels.size)
    found = []
    for i, label in enumerate(column.tolist() if hasattr(column, "tolist") else column):
        try:
            found.append(labels.number(label, name))
            if isinstance(labels, GrowingLabels) and found[-1] == labels.size:
                labels.add(label)
        except ValueError as error:
            raise ValueError(f"line {i} of the history, counted from 0: {error}") from None
    return np.array(found, dtype=np.int64)


def _whole(name: str, column: Any, size: int) -> IntArray:
    """A column as whole numbers from 0 to `size - 1`."""
    array = np.asarray(column)
    if array.dtype.kind in "iuf":
        good = (array >= 0) & (array < size) & (array == np.floor(array))
    else:
        good = np.array([is_index(value, size) for value in array.tolist()], dtype=bool)
    bad = np.flatnonzero(~good)
    if len(bad):
        value = array[bad[0]]
        said = value.item() if isinstance(value, np.generic) else value
        raise ValueError(
            f"{name} is {said!r} in line {bad[0]} of the history, counted from 0; "
            f"it must be a whole number from 0 to {size - 1}"
            f"{', unless labels are given: states=, actions=' if isinstance(said, str) else ''}"
        )
    return array.astype(np.int64)
