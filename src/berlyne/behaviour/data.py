"""Choices of people: read them from a table, and check them for likely mistakes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from berlyne.exploration.replay import Replays
from berlyne.labels import GrowingLabels, Labels, without_numpy_scalars
from berlyne.models.frames import ColumnNames
from berlyne.models.history import History, RawHistory, read_history, read_raw_history
from berlyne.models.history_checks import warn_jumps, warn_untold_ends, warn_unused
from berlyne.validation import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

FEW_CHOICES = 20
"""People with fewer scored choices are named by `Data.check`."""
NO_PANDAS = "berlyne.behaviour needs pandas; in a clone of berlyne: pip install '.[behaviour]'"


def pandas() -> Any:
    """Import pandas, or raise an `ImportError` that tells how to install it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(NO_PANDAS) from None
    return pd


@dataclass(frozen=True, eq=False)
class Data:
    """Choices of people, one person after another, in the order in which they were made.

    Attributes
    ----------
    frame : pandas.DataFrame
        A line for each choice, with the columns subject, s, a, s_next and ended, episode and group if there are any,
        and all columns without a role.
    subjects : tuple
        The people.
    actions : tuple
        Labels of the actions.
    steps : ndarray of int, shape (T, 3)
        State, action and next state as numbers; -1 for an action or a next state that is missing.
    allowed : ndarray of bool, shape (T, A)
        Actions that were possible.
    scored : ndarray of bool, shape (T,)
        Whether the choice has a likelihood: the action and the next state are recorded, and two actions were possible.
    begin : ndarray of int, shape (people + 1,)
        First line of each person, and T.
    begins_episode : ndarray of bool, shape (T,)
        Whether a line is the first of its person or of an episode.
    notes : tuple of str
        Likely mistakes.
    cache : dict
        Values of terms, by term and settings.
    source : tuple of (Data, ndarray of int) or None
        The data from which these lines were selected, and the lines.
    """

    frame: pd.DataFrame
    subjects: tuple[Any, ...]
    actions: tuple[Any, ...]
    steps: IntArray
    allowed: BoolArray
    scored: BoolArray
    begin: IntArray
    begins_episode: BoolArray
    notes: tuple[str, ...] = ()
    cache: dict[Any, FloatArray] = field(default_factory=dict, repr=False)
    source: tuple[Data, IntArray] | None = None

    def __repr__(self) -> str:
        n = int(self.scored.sum())
        return f"Data({len(self.subjects)} people, {n:,} choices among {len(self.actions)} actions)"

    @property
    def chosen(self) -> IntArray:
        """The chosen action of each line, (T,); -1 if it is not scored."""
        return np.where(self.scored, self.steps[:, 1], -1)

    @cached_property
    def replays(self) -> Replays:
        """The lines as an explorer replays them; `check` has reported likely mistakes."""
        return Replays(self.frame[["subject", "s", "a", "s_next", "ended"]], self.actions)

    @property
    def person(self) -> IntArray:
        """Number of the person of each line, (T,)."""
        return np.repeat(np.arange(len(self.subjects)), np.diff(self.begin))

    def groups(self, name: str) -> list[Any]:
        """Return the value of a column for each person; it must not change within a person."""
        if name not in self.frame:
            raise ValueError(f"the data have no column {name!r}; pass it to bb.read as group= or in keep=")
        column = self.frame[name]
        changes = column.groupby(self.person).nunique(dropna=False)
        if (changes > 1).any():
            subject = self.subjects[int(changes.to_numpy().argmax())]
            raise ValueError(f"{name} changes within person {subject!r}; a group must be the same for all their lines")
        values: list[Any] = column.iloc[self.begin[:-1]].tolist()
        return values

    def select(self, people: Iterable[int]) -> Data:
        """Return the data of some people, given by their numbers."""
        numbers = [int(i) for i in people]
        lines = np.concatenate([np.arange(self.begin[i], self.begin[i + 1]) for i in numbers])
        return Data(
            self.frame.iloc[lines].reset_index(drop=True),
            tuple(self.subjects[i] for i in numbers),
            self.actions,
            self.steps[lines],
            self.allowed[lines],
            self.scored[lines],
            np.cumsum([0, *np.diff(self.begin)[numbers]]),
            self.begins_episode[lines],
            source=(self, lines),
        )

    def cached(self, key: Hashable, compute: Callable[[Data], FloatArray]) -> FloatArray:
        """Return values for each line (T, ...), computed once for these data and all selections from them."""
        if self.source is not None:
            whole, lines = self.source
            return whole.cached(key, compute)[lines]
        if key not in self.cache:
            self.cache[key] = compute(self)
        return self.cache[key]

    def check(self) -> DataCheck:
        """Check the data for gaps, order, actions never tried, people with few choices, and ends not told."""
        notes = list(self.notes)
        untried = sorted(set(range(len(self.actions))) - set(self.steps[:, 1].tolist()))
        if untried:
            notes.append(f"actions never tried: {', '.join(str(self.actions[a]) for a in untried)}")
        n = np.add.reduceat(self.scored, self.begin[:-1])
        few = [str(subject) for subject, count in zip(self.subjects, n, strict=True) if count < FEW_CHOICES]
        if few:
            notes.append(f"people with fewer than {FEW_CHOICES} scored choices: {', '.join(few)}")
        for subject, begin, end in zip(self.subjects, self.begin[:-1], self.begin[1:], strict=True):
            if len(np.unique(self.chosen[begin:end][self.scored[begin:end]])) == 1:
                notes.append(f"person {subject!r} always chose the same action")
        return DataCheck(repr(self), int((~self.scored).sum()), tuple(notes))


@dataclass(frozen=True)
class DataCheck:
    """Likely mistakes in data; print it.

    Attributes
    ----------
    summary : str
        Numbers of people, choices and actions.
    n_not_scored : int
        Lines that are not scored.
    notes : tuple of str
        Likely mistakes.
    """

    summary: str
    n_not_scored: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.summary, f"{self.n_not_scored:,} lines are learned from and not scored"]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes or ("no likely mistakes",))])


def read(
    frame: pd.DataFrame,
    *,
    group: str | None = None,
    actions: Iterable[Hashable] | None = None,
    **columns: Unpack[ColumnNames],
) -> Data:
    """Read the choices of people from a table with a line for each choice.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    group : str, optional
        A column that is the same for all lines of a person, such as an experimental condition.
    actions : iterable of hashable, optional
        All actions, in order; by default those that were taken or allowed, sorted.
    **columns : str
        Names of the columns: `state`, `action`, `next_state`, `subject`, `episode`, `ended`, `order`, `allowed` and
        `keep`, as in `berlyne.replay`. None if there is no such column.

    Returns
    -------
    Data
        The choices. Lines without an action or a next state, or with one possible action, are not scored.

    Examples
    --------
    >>> import pandas as pd
    >>> import berlyne.behaviour as bb
    >>> table = pd.DataFrame({"who": ["ann"] * 3, "s": [0, 1, 0], "a": [0, 1, None], "s_next": [1, 0, 1]})
    >>> bb.read(table, subject="who")
    Data(1 people, 2 choices among 2 actions)
    """
    roles: Any = {role: name for role, name in columns.items() if name is not None}
    if group is not None:
        if group not in getattr(frame, "columns", [group]):
            raise ValueError(
                f"group is {group!r}, but the table has no such column; it has {', '.join(map(str, frame))}"
            )
        roles["keep"] = [*roles.get("keep", ()), group]
    raw = read_raw_history(frame, roles)
    if raw.frame is None:
        raise ValueError(f"the choices are {type(frame).__name__}; they must be a table, such as a pandas.DataFrame")
    listed = raw.distinct_actions() if actions is None else [without_numpy_scalars(a) for a in actions]
    if len(raw.columns[0]) == 0 or not listed:
        raise ValueError("the table has no choices; it must have a line for each choice, with its state and action")
    if len(listed) == 1:
        raise ValueError(f"the table has only the action {listed[0]!r}; a choice needs two actions, pass actions=")
    labels = GrowingLabels(), Labels("action", len(listed), listed)
    lines = read_history(raw, *labels)
    return _in_order(lines, raw, labels, group)


def _in_order(lines: History, raw: RawHistory, labels: tuple[Labels, Labels], group: str | None) -> Data:
    """Return the data with the lines of each person together, in order."""
    orders = lines.by_subject()
    order = np.concatenate(orders)
    allowed = np.ones((len(order), labels[1].size), dtype=bool) if lines.allowed is None else lines.allowed
    subjects = lines.labels.get("subject") or [0] * len(order)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_unused(raw)
        warn_jumps(raw, lines, labels[0])
        warn_untold_ends(raw, lines, labels[0], ())
    begin = np.cumsum([0, *map(len, orders)])
    names = ["s", "a", "s_next"]
    table: dict[str, Any] = {name: _labels_of(lines.steps[order, i], labels[i == 1]) for i, name in enumerate(names)}
    table["subject"] = [subjects[i] for i in order.tolist()]
    table["ended"] = lines.ended[order]
    first = np.isin(np.arange(len(order)), begin)
    first[1:] |= lines.ended[order][:-1]
    episodes = lines.labels.get("episode")
    if episodes is not None:
        table["episode"] = [episodes[i] for i in order.tolist()]
        first[1:] |= [a != b for a, b in zip(table["episode"][:-1], table["episode"][1:], strict=True)]
    table |= {name: values[order] for name, values in lines.others.items()}
    if group is not None:
        table["group"] = table[group]
    return Data(
        pandas().DataFrame(table),
        tuple(subjects[int(i[0])] for i in orders),
        tuple(labels[1].all),
        lines.steps[order],
        allowed[order],
        lines.scored[order] & (allowed[order].sum(axis=1) > 1),
        begin,
        first,
        tuple(str(warning.message) for warning in caught),
    )


def _labels_of(numbers: IntArray, labels: Labels) -> list[Any]:
    """Return labels by number, None for a missing one."""
    return [None if i < 0 else labels[i] for i in numbers.tolist()]
