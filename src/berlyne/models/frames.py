"""Histories in frames: which column has which role, and the columns that have none.

A frame is any object with `columns` and columns by name, such as a pandas or a Polars frame. Levels of a pandas index
count as columns.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypedDict

import numpy as np

from berlyne.labels import as_list
from berlyne.validation import BoolArray, IntArray

ROLES = {
    "state": "s",
    "action": "a",
    "next_state": "s_next",
    "subject": "subject",
    "episode": "episode",
    "ended": "ended",
    "allowed": "allowed",
}
"""Roles of columns, and the name that a column of this role has by default."""
REQUIRED = ("state", "action", "next_state")
"""Roles that a frame must have."""
SIMILAR_NAMES = {
    "subject": ("participant", "person", "subj", "sub", "subid", "subjectid", "participantid", "animal", "user", "id"),
    "episode": ("epi", "block", "session", "run", "game", "round"),
    "ended": ("end", "done", "terminated", "terminal", "over"),
    "order": ("trial", "step", "time", "t", "timestamp"),
    "allowed": ("possible", "available"),
}
"""Names, in lower case and without signs, of unused columns that may have one of the roles."""


class ColumnNames(TypedDict, total=False):
    """Names of the columns of a frame, by role.

    Attributes
    ----------
    state, action, next_state : str
        State, action and next state of each line; by default "s", "a" and "s_next".
    subject, episode : str
        Subject and episode; by default "subject" and "episode", if there are such columns.
    ended : str or callable
        Whether the episode ended with the line, true or false; by default "ended". Or a function of the frame that
        returns this for every line, such as `lambda d: d.reward > 0`.
    allowed : str
        The actions that were possible at each choice; by default "allowed".
    order : str
        Numbers by which the lines of each subject are sorted. By default the order of the frame is used.
    keep : iterable of str
        Columns without a role. They are not named in a warning.
    """

    state: Hashable
    action: Hashable
    next_state: Hashable
    subject: Hashable
    episode: Hashable
    ended: Hashable | Callable[[Any], Any]
    allowed: Hashable
    order: Hashable
    keep: Iterable[Hashable]


class Frame(NamedTuple):
    """The columns of a frame by role.

    Attributes
    ----------
    columns : dict of str to ndarray
        Columns by their default name, such as "s" and "subject".
    order : ndarray of int or None
        The lines in the order in which they were recorded; None for the order of the frame.
    others : dict of str to ndarray
        Columns that have no role, by name.
    notes : tuple of str
        What the caller warns about.
    """

    columns: dict[str, Any]
    order: IntArray | None
    others: dict[str, Any]
    notes: tuple[str, ...]


def is_frame(history: Any) -> bool:
    """Whether a history is a frame."""
    return hasattr(history, "columns") and hasattr(history, "__getitem__")


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True
    except ValueError:  # an array
        return False


def missing_mask(column: Any) -> BoolArray:
    """Whether each value of a column is missing."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind in "iub":
        return np.zeros(len(column), dtype=bool)
    if kind == "f":
        return np.asarray(np.isnan(column))
    return np.array([is_missing(value) for value in column], dtype=bool)


def read_frame(frame: Any, names: ColumnNames) -> Frame:
    """Read the columns of a frame.

    Raises
    ------
    ValueError
        If a column is missing or there are two of it, if a name is not that of a column, or if the order is ambiguous.
    """
    levels = [name for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    present = [*frame.columns, *levels]
    roles = _find_roles(present, levels, names)
    columns = {ROLES[role]: _values(frame, name) for role, name in roles.items() if role in ROLES}
    ended = names.get("ended")
    if callable(ended):
        columns["ended"] = np.asarray(ended(frame))
        if columns["ended"].shape != columns["s"].shape:
            raise ValueError(
                f"ended returned an array of shape {columns['ended'].shape}; it must be ({len(columns['s'])},), one "
                "value for every line of the history"
            )
    order = _recorded_order(roles["order"], _values(frame, roles["order"]), columns) if "order" in roles else None
    unused = [name for name in present if name not in roles.values()]
    keep = [_existing("keep", name, present) for name in as_list("keep", names.get("keep", ()))]
    others = {str(name): _values(frame, name) for name in unused if present.count(name) == 1}
    return Frame(columns, order, others, _note_unused([name for name in unused if name not in keep], roles))


def _values(frame: Any, name: Any) -> Any:
    """Return a column, or a level of the index, as an array."""
    column = frame[name] if name in list(frame.columns) else frame.index.get_level_values(name)
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


def _find_roles(present: list[Any], levels: list[Any], names: ColumnNames) -> dict[str, Any]:
    """Return the name of the column of each role, for the roles that have one."""
    check_column_names(names)
    assigned = {role: name for role, name in names.items() if role != "keep" and name is not None}
    roles = {role: _existing(role, name, present) for role, name in assigned.items() if not callable(name)}
    if len(set(roles.values())) < len(roles):
        column = max(roles.values(), key=list(roles.values()).count)
        both = " and ".join(role for role, name in roles.items() if name == column)
        raise ValueError(f"the column {column!r} is given as {both}; a column has one role")
    for role, default in ROLES.items():
        if role not in assigned and default in present and default not in roles.values():
            roles[role] = default
    defaults = [default for role, default in ROLES.items() if role not in assigned]
    for name in present:
        normalized = "".join(str(name).split()).casefold()
        if name not in roles.values() and name not in ROLES.values() and normalized in defaults:
            raise ValueError(f"the history has a column {name!r}; rename it to {normalized}, or drop it")
    repeated = [name for name in roles.values() if present.count(name) > 1]
    if repeated:
        in_index = ", one of them in its index" if repeated[0] in levels else ""
        raise ValueError(
            f"the history has {present.count(repeated[0])} columns {repeated[0]}{in_index}; it must have one"
        )
    missing = [role for role in REQUIRED if role not in roles]
    if missing:
        listed, absent = ", ".join(map(str, present)), " and no ".join(ROLES[role] for role in missing)
        raise ValueError(
            f"the history has the columns {listed}, but no {absent}; it must have s, a and s_next, or name them with "
            f"{', '.join(f'{role}=' for role in missing)}, and may have subject, episode, ended and allowed"
        )
    return roles


def check_column_names(names: ColumnNames) -> None:
    """Raise a `TypeError` if a keyword is not a role of a column."""
    for role in names:
        if role not in ColumnNames.__annotations__:
            raise TypeError(
                f"there is no argument {role!r}; columns are named by {', '.join(ColumnNames.__annotations__)}"
            )


def _existing(role: str, name: Any, present: list[Any]) -> Any:
    """Return a name that the caller gave; a `ValueError` if the frame has no such column."""
    if name in present:
        return name
    by_text = {str(column): column for column in present}
    near = difflib.get_close_matches(str(name), by_text, n=1)
    hint = f"did you mean {by_text[near[0]]!r}?" if near else f"it has {', '.join(by_text)}"
    raise ValueError(f"{role} is {name!r}, but the history has no such column; {hint}")


def _recorded_order(name: Any, values: Any, columns: dict[str, Any]) -> IntArray:
    """Return the lines in the order in which they were recorded, subject after subject.

    The lines of a subject are sorted by their values. If a value occurs twice, because every episode counts from the
    start, they are sorted by episode first.
    """
    missing = np.flatnonzero(missing_mask(values))
    if len(missing):
        raise ValueError(f"order, the column {name!r}, is missing in line {missing[0]} of the history, counted from 0")
    times, order = values.tolist(), []
    subjects = columns["subject"].tolist() if "subject" in columns else [0] * len(times)
    episodes = columns["episode"].tolist() if "episode" in columns else [0] * len(times)
    lines_of: dict[Any, list[int]] = {}
    for i, subject in enumerate(subjects):
        lines_of.setdefault(subject, []).append(i)
    for subject, lines in lines_of.items():
        keys: dict[int, Any] = {i: times[i] for i in lines}
        if len(set(keys.values())) < len(lines):
            keys = {i: (episodes[i], times[i]) for i in lines}
        if len(set(keys.values())) < len(lines):
            of_subject = f" of subject {subject!r}" if "subject" in columns else ""
            raise ValueError(
                f"order, the column {name!r}, has the same value in two lines{of_subject}; it must be different in "
                "every line of a subject, or of an episode"
            )
        try:
            order += sorted(lines, key=keys.__getitem__)
        except TypeError:
            raise ValueError(
                f"order, the column {name!r}, or episode contains values that cannot be sorted; use numbers"
            ) from None
    return np.array(order, dtype=np.int64)


def _note_unused(unused: list[Any], roles: dict[str, Any]) -> tuple[str, ...]:
    """Return a note about columns that have no role, with the roles that they may have; none if there are none."""
    if not unused:
        return ()
    hints = []
    for role, similar in SIMILAR_NAMES.items():
        near = [name for name in unused if re.sub(r"[\W_]", "", str(name)).casefold() in similar]
        if near and role not in roles:
            hints.append(f"{role}={near[0]!r}")
    listed, plural = ", ".join(repr(name) for name in unused), len(unused) > 1
    pooled = "" if "subject" in roles else ", and all lines belong to one subject"
    advice = f"did you mean {' and '.join(hints)}? Otherwise" if hints else "if a column has a role, name it; otherwise"
    return (
        f"the column{'s' * plural} {listed} of the history {'are' if plural else 'is'} not used{pooled}; {advice} pass "
        f"keep={[str(name) for name in unused]!r}",
    )
