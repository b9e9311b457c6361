"""Worlds as tables of edges: one line `s, a, s_next, p` for every possible transition, in CSV or Parquet.

The columns may also have the names `state`, `action`, `next_state` and `probability`. A table contains only transitions
and labels. Error messages name the line of the table.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from berlyne.labels import Labels
from berlyne.serialization import atomic_write
from berlyne.sparse import Rows
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.episodes import SUM_TOLERANCE
from berlyne.worlds.possible import fill_forbidden, parse_possible

if TYPE_CHECKING:
    from berlyne.worlds.world import World

COLUMNS = ("s", "a", "s_next", "p")
LONG_NAMES = {"s": "state", "a": "action", "s_next": "next_state", "p": "probability"}
NO_PANDAS = "Parquet needs pandas and pyarrow; in a clone of berlyne: pip install '.[parquet]', or use CSV"


class Edges(NamedTuple):
    """Rows and labels read from a table.

    Attributes
    ----------
    rows : Rows
        Transition rows.
    states, actions : sequence or None
        Labels in order. None if they are the numbers 0, 1, 2, ...
    """

    rows: Rows
    states: Sequence[Any] | None
    actions: Sequence[Any] | None


class Table(NamedTuple):
    """The four columns of a file.

    Attributes
    ----------
    columns : dict of str to list
        Entries of each column.
    unit : str
        "line" or "row".
    numbers : sequence of int
        Line of the file, or row of the table, of each entry.
    """

    columns: dict[str, list[Any]]
    unit: str
    numbers: Sequence[int]

    def location(self, i: int) -> str:
        """Return the line or row of entry i, for messages."""
        return f"{self.unit} {self.numbers[i]}"


def to_edges(world: World) -> dict[str, list[Any]]:
    """Return the columns `s`, `a`, `s_next` (labels) and `p` of all transitions, ordered by state, then action.

    Actions that are not allowed have no transitions.
    """
    rows, states, actions = world.rows, world.states, world.actions
    row = rows.row_numbers()
    is_allowed = world.allowed.T.ravel()[row]
    s, a = np.divmod(row[is_allowed], rows.n_actions)
    labels = (
        [states[i] for i in s.tolist()],
        [actions[i] for i in a.tolist()],
        [states[i] for i in rows.indices[is_allowed].tolist()],
    )
    return dict(zip(COLUMNS, [*labels, rows.data[is_allowed].tolist()], strict=True))


def write_edges(path: str | os.PathLike[str], world: World) -> None:
    """Write `to_edges(world)` to a file that ends in .csv or .parquet."""
    for labels in (world.state_labels, world.action_labels):
        _check_labels(labels, _is_parquet(path))
    columns = to_edges(world)
    if _is_parquet(path):
        frame = _pandas().DataFrame(columns)
        atomic_write(path, lambda file: frame.to_parquet(file, index=False))
        return
    text = io.StringIO(newline="")
    writer = csv.writer(text)  # lines end in CR LF, so that a label with either of them is put in quotes
    writer.writerow(COLUMNS)
    writer.writerows(zip(*columns.values(), strict=True))
    atomic_write(path, text.getvalue().encode("utf-8"))


def read_edges(
    path: str | os.PathLike[str], terminal: Iterable[Any] | None = None, possible: Any = None, prior: Any = None
) -> Edges:
    """Read the rows and labels of a .csv or .parquet file.

    States are the entries of the columns `s` and `s_next`, actions those of `a`. If all of them are whole numbers, they
    are sorted. Otherwise they are strings in the order of their first occurrence. A terminal state needs no edges;
    every action stays there. An action that is not `possible` needs none either (`berlyne.worlds.possible`).

    Raises
    ------
    ValueError
        If the table is invalid; the message contains the path and the line.
    """
    try:
        table = _read_parquet(path) if _is_parquet(path) else _read_csv(path)
        return _edges(table, [] if terminal is None else list(terminal), possible, prior)
    except _TableError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


class _TableError(Exception):
    """Error in a table, without the path of its file."""


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".parquet"


def _check_labels(labels: Labels, typed: bool) -> None:
    """Raise `ValueError` for labels that would be read back differently; a `typed` table stores strings as strings."""
    if labels.custom is None:
        return
    strings = all(type(label) is str for label in labels.custom)
    like_numbers = all(_is_integer(str(label)) for label in labels.custom)
    if not strings and not all(type(label) is int for label in labels.custom):
        raise ValueError(f"the labels of {labels.kind}s are neither all strings nor all whole numbers; save as .npz")
    if strings and not all(labels.custom):
        raise ValueError(f"a label of {labels.kind}s is empty; save as .npz")
    if strings and not typed and any(label != label.strip() for label in labels.custom):
        raise ValueError(f"a label of {labels.kind}s begins or ends with a blank; save as .npz or .parquet")
    if strings and not typed and like_numbers:
        raise ValueError(
            f"the labels of {labels.kind}s are strings that would be read as numbers; save as .npz or .parquet"
        )
    if not strings and list(labels.custom) != sorted(labels.custom):
        raise ValueError(f"the labels of {labels.kind}s are numbers that would be read in another order; save as .npz")


def _read_csv(path: str | os.PathLike[str]) -> Table:
    """Read the columns of a CSV file."""
    content = Path(path).read_bytes()
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        lines = [(reader.line_num, line) for line in reader if line]
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        raise _TableError(f"line {line_number}: this is not a CSV file ({error.reason}, not UTF-8)") from None
    except csv.Error as error:
        raise _TableError(f"line {reader.line_num}: this is not a CSV file ({error})") from None
    if not lines:
        raise _TableError("the file is empty; its first line must be s,a,s_next,p")
    header, first = [name.strip() for name in lines[0][1]], lines[0][0]
    _check_columns(header, f"line {first}")
    for i, line in lines:
        if len(line) != len(header):
            raise _TableError(
                f"line {i}: there are {len(line)} fields; there must be {len(header)}, as in line {first}"
            )
    indices = [header.index(column_of(name, header)) for name in COLUMNS]
    columns = {name: [line[k].strip() for _, line in lines[1:]] for name, k in zip(COLUMNS, indices, strict=True)}
    return Table(columns, "line", [i for i, _ in lines[1:]])


def _read_parquet(path: str | os.PathLike[str]) -> Table:
    """Read the columns of a Parquet file."""
    pandas = _pandas()
    with open(path, "rb") as file:
        try:
            frame = pandas.read_parquet(file)
        except Exception as error:  # a damaged file can raise any exception
            raise _TableError("this is not a Parquet file, or it is damaged") from error
    names = [str(name) for name in frame.columns]
    _check_columns(names, "the table")
    return Table({name: frame[column_of(name, names)].tolist() for name in COLUMNS}, "row", range(len(frame)))


def _pandas() -> Any:
    """Import pandas, or raise `ValueError` if pandas or pyarrow is not installed."""
    try:
        import pandas
        import pyarrow  # noqa: F401  # pandas reads Parquet with it
    except ImportError:
        raise ValueError(NO_PANDAS) from None
    return pandas


def column_of(name: str, names: list[str]) -> str:
    """Return which of the columns of a table has this name: the short one, such as s, or else the long one, state."""
    return name if name in names else LONG_NAMES[name]


def _check_columns(names: list[str], location: str) -> None:
    for name in COLUMNS:
        if column_of(name, names) not in names:
            raise _TableError(f"{location}: there is no column {name!r}; the columns must be s, a, s_next, p")


def _edges(table: Table, terminal: list[Any], possible: Any, prior: Any) -> Edges:
    """Convert a table to rows and labels."""
    columns = table.columns
    if not columns["p"]:
        raise _TableError("the table contains no transitions")
    p = np.array([_probability(value, table.location(i)) for i, value in enumerate(columns["p"])])
    n = len(p)
    state_labels, states = _read_labels([*columns["s"], *columns["s_next"]], table, "s")
    action_labels, actions = _read_labels(columns["a"], table, "a")
    state_number = {label: i for i, label in enumerate(states)}
    action_number = {label: i for i, label in enumerate(actions)}
    s = np.array([state_number[label] for label in state_labels[:n]])
    s_next = np.array([state_number[label] for label in state_labels[n:]])
    row = s * len(actions) + np.array([action_number[label] for label in action_labels])
    _check_duplicates(row * len(states) + s_next, table)
    for label in terminal:  # every action stays in a terminal state without edges
        if label in state_number and not np.any(s == state_number[label]):
            rows_of_state = state_number[label] * len(actions) + np.arange(len(actions))
            row = np.concatenate([row, rows_of_state])
            s_next = np.concatenate([s_next, np.full(len(actions), state_number[label])])
            p = np.concatenate([p, np.ones(len(actions))])
    rows = rows_from_entries(row, s_next, p, len(states), len(actions))
    labels = Labels("state", len(states), states), Labels("action", len(actions), actions)
    allowed = parse_possible(possible, *labels)
    if allowed is not None:
        rows = fill_forbidden(rows, allowed, prior)
    _check_sums(rows, states, actions, _Lines(table, row[:n], state_labels))
    return Edges(rows, _labels_or_none(states), _labels_or_none(actions))


def _probability(value: Any, location: str) -> float:
    """Convert an entry of the column p to a probability."""
    try:
        p = float(value)
    except (TypeError, ValueError):
        p = np.nan
    if not 0.0 <= p <= 1.0 + SUM_TOLERANCE:
        raise _TableError(f"{location}: p is {value!r}; it must be a probability from 0 to 1")
    return p


def _is_integer(text: str) -> bool:
    """Whether a text is an integer as Python writes it."""
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text


def _read_labels(values: list[Any], table: Table, column: str) -> tuple[list[Any], list[Any]]:
    """Return the entries of a column as labels, and the distinct labels in order."""
    n = len(table.columns["p"])
    for i, value in enumerate(values):
        name = column if i < n else "s_next"
        if not isinstance(value, Hashable):
            raise _TableError(
                f"{table.location(i % n)}: {name} is {value!r:.60}; a label must be a string or a whole number"
            )
        if value is None or value == "" or value != value:
            raise _TableError(f"{table.location(i % n)}: {name} is empty; it must be a label")
    if all(isinstance(value, str) and _is_integer(value) for value in values) and table.unit == "line":
        values = [int(value) for value in values]
    distinct = list(dict.fromkeys(values))
    return values, sorted(distinct) if all(type(value) is int for value in distinct) else distinct


def _labels_or_none(labels: list[Any]) -> list[Any] | None:
    """Return the labels, or None if they are 0, 1, 2, ..."""
    return None if labels == list(range(len(labels))) else labels


def _check_duplicates(keys: Any, table: Table) -> None:
    """Raise an error if a transition occurs twice; `keys` holds one number per entry."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse] != np.arange(len(keys)))
    if len(repeated):
        i, j = int(repeated[0]), int(first[inverse[repeated[0]]])
        s, a, s_next = (table.columns[name][i] for name in COLUMNS[:3])
        raise _TableError(
            f"{table.location(i)}: s={s!r}, a={a!r}, s_next={s_next!r} was given before, in {table.location(j)}"
        )


def rows_from_entries(row: IntArray, s_next: IntArray, p: FloatArray, n_states: int, n_actions: int) -> Rows:
    """Create rows from entries in any order.

    Entries of the same transition are added. Transitions of probability zero are left out. Sums are not checked.
    """
    keys, inverse = np.unique(row * n_states + s_next, return_inverse=True)
    total: FloatArray = np.asarray(np.bincount(inverse, p, len(keys)), dtype=np.float64)
    keys, total = keys[total > 0], total[total > 0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys // n_states, minlength=n_states * n_actions))])
    return Rows(n_actions, n_states, indptr.astype(np.int64), (keys % n_states).astype(np.int32), total)


class _Lines(NamedTuple):
    """Lines of a table by row and by state.

    Attributes
    ----------
    table : Table
        The table.
    row : ndarray of shape (n,)
        Row s M + a of each line.
    state_labels : list
        Entries of the column s, then of s_next.
    """

    table: Table
    row: IntArray
    state_labels: list[Any]

    def locate(self, r: int, state: Any) -> str:
        """Return the location of the first line of row r or, if there is none, of the first line with its state."""
        lines = np.flatnonzero(self.row == r)
        return self.table.location(int(lines[0]) if len(lines) else self.state_labels.index(state) % len(self.row))


def _check_sums(rows: Rows, states: list[Any], actions: list[Any], lines: _Lines) -> None:
    """Raise an error if the probabilities of a row do not sum to one."""
    sums = rows.row_sums(rows.data)
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= SUM_TOLERANCE))
    if len(wrong):
        s, a = divmod(int(wrong[0]), rows.n_actions)
        problem = f"sum to {sums[wrong[0]]:.9g}; they must sum to 1"
        if rows.indptr[wrong[0]] == rows.indptr[wrong[0] + 1]:
            sizes = np.diff(rows.indptr)[s * len(actions) : (s + 1) * len(actions)]
            others = [action for action, size in zip(actions, sizes, strict=True) if size]
            problem = f"are missing; add them, or make the state terminal: load_world(path, terminal=[{states[s]!r}])"
            if others:
                problem += f", or forbid the action there: load_world(path, possible={{{states[s]!r}: {others!r}}})"
        location = lines.locate(int(wrong[0]), states[s])
        raise _TableError(f"{location}: the probabilities of a={actions[a]!r} in s={states[s]!r} {problem}")
