"""Lines of a lab book after the first one: trials, declarations, questions that are out, and undone trials.

A line is a JSON object with one of the keys of `KINDS`, which sets its kind, and with the fields of that kind. The time
and the note are for people: they change no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from berlyne.exploration.log_file import Line
from berlyne.labels import label_from_json, label_to_json
from berlyne.models.history import Transition

KINDS = ("told", "lost", "undo", "ends_in", "discover", "allow", "asked", "given_up", "many")
"""Keys that set the kind of a line."""
TRIALS = ("told", "lost")
"""Kinds of lines that are trials, which can be undone."""
TEXTS = ("time", "note", "client", "key")
"""Fields that are text."""


class Trial(Transition):
    """One trial of a lab book: a tuple (s, a, s_next) with everything that was recorded about it.

    `s_next` is None if the outcome was lost.

    Attributes
    ----------
    ended, timed_out : bool
        Whether the episode ended in `s_next`, and whether it was cut there.
    lost : bool
        Whether the outcome was lost.
    time : str or None
        When the trial was recorded, in ISO 8601 and UTC.
    note : str or None
        Your note.
    client : str or None
        The client, such as "rig 2", that recorded it.
    """

    ended: bool
    timed_out: bool
    lost: bool
    time: str | None
    note: str | None
    client: str | None

    def __new__(cls, s: Any, a: Any, s_next: Any, ended: bool = False, timed_out: bool = False, **more: Any) -> Self:
        """Create a trial; `more` holds the other attributes."""
        trial = super().__new__(cls, s, a, s_next, ended, timed_out)
        trial.lost = bool(more.get("lost", False))
        trial.time, trial.note, trial.client = more.get("time"), more.get("note"), more.get("client")
        return trial

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_trial, (tuple(self), dict(vars(self)))

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, lost=True)" if self.lost else super().__repr__()


def _make_trial(line: tuple[Any, Any, Any], attributes: dict[str, Any]) -> Trial:
    """Return a trial with these attributes."""
    return Trial(*line, **attributes)


class PendingTrial(NamedTuple):
    """A trial that was handed out and whose outcome is not recorded yet.

    Attributes
    ----------
    number : int
        Number of the trial in the book, from 1 on.
    s, a : object
        Labels of the state and the action.
    client : str or None
        The client that asked.
    time : str or None
        When it was handed out, in ISO 8601 and UTC.
    """

    number: int
    s: Any
    a: Any
    client: str | None
    time: str | None


class Entry(NamedTuple):
    """A line that was read.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    content : object
        A `Trial`, a `PendingTrial`, labels, numbers of trials, or entries, depending on the kind.
    line : dict
        The line itself.
    trial : int or None
        Number of the pending trial that a trial answers.
    key : str or None
        Key by which a repeated request is recognized.
    """

    kind: str
    content: Any
    line: Line
    trial: int | None = None
    key: str | None = None


def now() -> str:
    """Return the current time in ISO 8601 and UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def parse_line(line: Any) -> Entry:
    """Read a line.

    Raises
    ------
    SyntaxError
        If it is not a valid line of a lab book.
    ValueError, KeyError, TypeError
        If a label in it is not valid.
    """
    kinds = [kind for kind in KINDS if kind in line] if isinstance(line, dict) else []
    if len(kinds) != 1 or any(type(line.get(name, "")) is not str for name in TEXTS):
        raise SyntaxError
    kind = kinds[0]
    content = _PARSERS[kind](line)
    trial = line.get("trial")
    if trial is not None and (type(trial) is not int or trial < 1):
        raise SyntaxError
    return Entry(kind, content, line, trial, line.get("key"))


def _require(valid: object) -> None:
    if not valid:
        raise SyntaxError


def _parse_trial(line: Line) -> Trial:
    ended, timed_out = line.get("ended", False), line.get("timed_out", False)
    _require(type(ended) is bool and type(timed_out) is bool and not (ended and timed_out))
    lost = "lost" in line
    labels = line["lost" if lost else "told"]
    _require(isinstance(labels, list) and len(labels) == (2 if lost else 3))
    s, a, *s_next = (label_from_json(value) for value in labels)
    texts = {name: line.get(name) for name in ("time", "note", "client")}
    return Trial(s, a, s_next[0] if s_next else None, ended, timed_out, lost=lost, **texts)


def _parse_undo(line: Line) -> int:
    n = line["undo"]
    _require(type(n) is int and n >= 1)
    return int(n)


def _parse_labels(line: Line) -> list[Any]:
    labels = line["ends_in"] if "ends_in" in line else line["discover"]
    _require(isinstance(labels, list))
    return [label_from_json(label) for label in labels]


def _parse_allow(line: Line) -> tuple[Any, list[Any]]:
    pair = line["allow"]
    _require(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], list))
    return label_from_json(pair[0]), [label_from_json(label) for label in pair[1]]


def _parse_asked(line: Line) -> list[PendingTrial]:
    pairs: list[list[Any]] = line["asked"]
    first: int = line.get("first", 0)
    _require(isinstance(pairs, list) and type(first) is int and first >= 1)
    _require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs))
    return [
        PendingTrial(first + i, label_from_json(s), label_from_json(a), line.get("client"), line.get("time"))
        for i, (s, a) in enumerate(pairs)
    ]


def _parse_given_up(line: Line) -> list[int]:
    numbers = line["given_up"]
    _require(isinstance(numbers, list) and all(type(number) is int for number in numbers))
    return list(numbers)


def _parse_many(line: Line) -> list[Entry]:
    _require(isinstance(line["many"], list))
    texts = {name: line[name] for name in ("time", "note", "client") if name in line}
    entries = [parse_line({**texts, **inner} if isinstance(inner, dict) else inner) for inner in line["many"]]
    _require(all(entry.kind in (*TRIALS, "ends_in", "discover") for entry in entries))
    return entries


_PARSERS = {
    "told": _parse_trial,
    "lost": _parse_trial,
    "undo": _parse_undo,
    "ends_in": _parse_labels,
    "discover": _parse_labels,
    "allow": _parse_allow,
    "asked": _parse_asked,
    "given_up": _parse_given_up,
    "many": _parse_many,
}


def flatten(entry: Entry) -> list[Entry]:
    """Return the trials and declarations in an entry, in order."""
    return entry.content if entry.kind == "many" else [entry]


def json_labels(labels: Iterable[Any]) -> list[Any]:
    """Return labels as JSON values."""
    return [label_to_json(label) for label in labels]
