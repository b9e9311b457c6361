"""Worlds as tables of edges: one line `s, a, s_next, p` for every possible transition, in CSV or Parquet.

A table holds transitions and labels, and nothing else. What is wrong with one is told with its line.
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

if TYPE_CHECKING:
    from berlyne.worlds.world import World

COLUMNS = ("s", "a", "s_next", "p")
NO_PANDAS = "Parquet needs pandas and pyarrow; in a clone of berlyne: pip install '.[parquet]', or use CSV"


class Edges(NamedTuple):
    """Rows read from a table, and the labels found in it, None for numbers."""

    rows: Rows
    states: Sequence[Any] | None
    actions: Sequence[Any] | None


class Table(NamedTuple):
    """The four columns of a file.

    where : the line of the file, or the row of the table, that each entry is in; unit : "line" or "row".
    """

    columns: dict[str, list[Any]]
    unit: str
    where: Sequence[int]

    def at(self, i: int) -> str:
        """How messages name the place of entry i."""
        return f"{self.unit} {self.where[i]}"


def to_edges(world: World) -> dict[str, list[Any]]:
    """Columns `s`, `a`, `s_next` (labels) and `p` of all transitions, ordered by state, then action."""
    rows, states, actions = world.rows, world.states, world.actions
    s, a = np.divmod(rows.row_numbers(), rows.n_actions)
    named = (
        [states[i] for i in s.tolist()],
        [actions[i] for i in a.tolist()],
        [states[i] for i in rows.indices.tolist()],
    )
    return dict(zip(COLUMNS, [*named, rows.data.tolist()], strict=True))


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
    lines = csv.writer(text)  # lines end in CR LF: a label with either of them is then put in quotes
    lines.writerow(COLUMNS)
    lines.writerows(zip(*columns.values(), strict=True))
    atomic_write(path, text.getvalue().encode("utf-8"))


def read_edges(path: str | os.PathLike[str], terminal: Iterable[Any] | None = None) -> Edges:
    """The rows and labels of a .csv or .parquet file.

    States are those of the columns `s` and `s_next`, actions those of `a`: numbers in ascending order if all of them
    are whole numbers, else strings in the order in which they come first. A terminal state needs no edges: there every
    action stays.
    """
    try:
        table = _read_parquet(path) if _is_parquet(path) else _read_csv(path)
        return _edges(table, [] if terminal is None else list(terminal))
    except _FlawError as flaw:
        raise ValueError(f"{os.fspath(path)}: {flaw}") from None


class _FlawError(Exception):
    """What is wrong with a table, in one sentence."""


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".parquet"


def _check_labels(labels: Labels, typed: bool) -> None:
    """Refuse labels that a table would give back as something else; one that is `typed` tells strings from numbers."""
    if labels.custom is None:
        return
    texts = all(type(label) is str for label in labels.custom)
    like_numbers = all(_is_whole(str(label)) for label in labels.custom)
    if not texts and not all(type(label) is int for label in labels.custom):
        raise ValueError(f"the labels of {labels.kind}s are neither all strings nor all whole numbers; save as .npz")
    if texts and not all(labels.custom):
        raise ValueError(f"a label of {labels.kind}s is empty; save as .npz")
    if texts and not typed and any(label != label.strip() for label in labels.custom):
        raise ValueError(f"a label of {labels.kind}s begins or ends with a blank; save as .npz or .parquet")
    if texts and not typed and like_numbers:
        raise ValueError(
            f"the labels of {labels.kind}s are strings that would be read as numbers; save as .npz or .parquet"
        )
    if not texts and list(labels.custom) != sorted(labels.custom):
        raise ValueError(f"the labels of {labels.kind}s are numbers that would be read in another order; save as .npz")


def _read_csv(path: str | os.PathLike[str]) -> Table:
    content = Path(path).read_bytes()
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        lines = [(reader.line_num, line) for line in reader if line]
    except UnicodeDecodeError as error:
        at = content.count(b"\n", 0, error.start) + 1
        raise _FlawError(f"line {at}: this is not a CSV file ({error.reason}, not UTF-8)") from None
    except csv.Error as error:
        raise _FlawError(f"line {reader.line_num}: this is not a CSV file ({error})") from None
    if not lines:
        raise _FlawError("the file is empty; its first line must be s,a,s_next,p")
    header, first = [name.strip() for name in lines[0][1]], lines[0][0]
    _check_columns(header, f"line {first}")
    for i, line in lines:
        if len(line) != len(header):
            raise _FlawError(f"line {i}: there are {len(line)} fields; there must be {len(header)}, as in line {first}")
    places = [header.index(name) for name in COLUMNS]
    columns = {name: [line[k].strip() for _, line in lines[1:]] for name, k in zip(COLUMNS, places, strict=True)}
    return Table(columns, "line", [i for i, _ in lines[1:]])


def _read_parquet(path: str | os.PathLike[str]) -> Table:
    pandas = _pandas()
    with open(path, "rb") as file:
        try:
            frame = pandas.read_parquet(file)
        except Exception as error:  # there is no end to what a damaged file can lead to
            raise _FlawError("this is not a Parquet file, or it is damaged") from error
    _check_columns([str(name) for name in frame.columns], "the table")
    return Table({name: frame[name].tolist() for name in COLUMNS}, "row", range(len(frame)))


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  # what pandas reads Parquet with
    except ImportError:
        raise ValueError(NO_PANDAS) from None
    return pandas


def _check_columns(names: list[str], where: str) -> None:
    for name in COLUMNS:
        if name not in names:
            raise _FlawError(f"{where}: there is no column {name!r}; the columns must be s, a, s_next, p")


def _edges(table: Table, terminal: list[Any]) -> Edges:
    columns = table.columns
    if not columns["p"]:
        raise _FlawError("there are no transitions in it")
    p = np.array([_probability(value, table.at(i)) for i, value in enumerate(columns["p"])])
    n = len(p)
    named, states = _found([*columns["s"], *columns["s_next"]], table, "s")
    acted, actions = _found(columns["a"], table, "a")
    number, act = {label: i for i, label in enumerate(states)}, {label: i for i, label in enumerate(actions)}
    s, s_next = np.array([number[x] for x in named[:n]]), np.array([number[x] for x in named[n:]])
    row = s * len(actions) + np.array([act[x] for x in acted])
    _check_twins(row * len(states) + s_next, table)
    for label in terminal:  # one without edges stays where it is
        if label in number and not np.any(s == number[label]):
            here = number[label] * len(actions) + np.arange(len(actions))
            row, s_next = np.concatenate([row, here]), np.concatenate([s_next, np.full(len(actions), number[label])])
            p = np.concatenate([p, np.ones(len(actions))])
    rows = rows_from_entries(row, s_next, p, len(states), len(actions))
    _check_sums(rows, states, actions, _Places(table, row[:n], named))
    return Edges(rows, _unless_numbers(states), _unless_numbers(actions))


def _probability(value: Any, where: str) -> float:
    try:
        p = float(value)
    except (TypeError, ValueError):
        p = np.nan
    if not 0.0 <= p <= 1.0 + SUM_TOLERANCE:
        raise _FlawError(f"{where}: p is {value!r}; it must be a probability from 0 to 1")
    return p


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text


def _found(values: list[Any], table: Table, column: str) -> tuple[list[Any], list[Any]]:
    """The entries of a column as labels, and the different ones in order."""
    n = len(table.columns["p"])
    for i, value in enumerate(values):
        name = column if i < n else "s_next"
        if not isinstance(value, Hashable):
            raise _FlawError(f"{table.at(i % n)}: {name} is {value!r:.60}; a label must be a string or a whole number")
        if value is None or value == "" or value != value:
            raise _FlawError(f"{table.at(i % n)}: {name} is empty; it must be a label")
    if all(isinstance(value, str) and _is_whole(value) for value in values) and table.unit == "line":
        values = [int(value) for value in values]
    different = list(dict.fromkeys(values))
    return values, sorted(different) if all(type(value) is int for value in different) else different


def _unless_numbers(labels: list[Any]) -> list[Any] | None:
    return None if labels == list(range(len(labels))) else labels


def _check_twins(keys: Any, table: Table) -> None:
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(keys)))
    if len(again):
        i, j = int(again[0]), int(first[inverse[again[0]]])
        s, a, s_next = (table.columns[name][i] for name in COLUMNS[:3])
        raise _FlawError(f"{table.at(i)}: s={s!r}, a={a!r}, s_next={s_next!r} was given before, in {table.at(j)}")


def rows_from_entries(row: IntArray, s_next: IntArray, p: FloatArray, n_states: int, n_actions: int) -> Rows:
    """Rows from entries in any order; those of the same transition add up, zeros are left out. Sums are not checked."""
    keys, place = np.unique(row * n_states + s_next, return_inverse=True)
    total: FloatArray = np.asarray(np.bincount(place, p, len(keys)), dtype=np.float64)
    keys, total = keys[total > 0], total[total > 0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys // n_states, minlength=n_states * n_actions))])
    return Rows(n_actions, n_states, indptr.astype(np.int64), (keys % n_states).astype(np.int32), total)


class _Places(NamedTuple):
    """Where things stand in a table.

    row : (n,), the row s M + a that each line is about; named : the states of the column s, then of s_next.
    """

    table: Table
    row: IntArray
    named: list[Any]

    def of_row(self, r: int, state: Any) -> str:
        """The first line about a row or, if there is none, the first that names its state."""
        about = np.flatnonzero(self.row == r)
        return self.table.at(int(about[0]) if len(about) else self.named.index(state) % len(self.row))


def _check_sums(rows: Rows, states: list[Any], actions: list[Any], places: _Places) -> None:
    sums = rows.row_sums(rows.data)
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= SUM_TOLERANCE))
    if len(wrong):
        s, a = divmod(int(wrong[0]), rows.n_actions)
        said = f"sum to {sums[wrong[0]]:.9g}; they must sum to 1"
        if rows.indptr[wrong[0]] == rows.indptr[wrong[0] + 1]:
            said = f"are missing; give them, or call the state terminal: load_world(path, terminal=[{states[s]!r}])"
        where = places.of_row(int(wrong[0]), states[s])
        raise _FlawError(f"{where}: the probabilities of a={actions[a]!r} in s={states[s]!r} {said}")
