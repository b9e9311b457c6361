"""Runs of people, as the page of `berlyne.watch` lets them download after they took over."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from berlyne.frozen import FrozenArrays
from berlyne.plotting import figures_package
from berlyne.validation import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND, FORMAT = "run of a person", 1


@dataclass(frozen=True, eq=False)
class PersonRun(FrozenArrays):
    """Steps of a person who took over from an explorer.

    Attributes
    ----------
    name : str
        Name that the person entered, or that of the file.
    world : str
        Name of the world.
    fingerprint : str
        Text that is the same for the same world.
    began_with : str
        Name of the explorer from which the person took over.
    begin : int
        Number of steps of that explorer, with which the run begins.
    states : ndarray of int, shape (T + 1,)
        State before each step, and the last state.
    actions, next_states : ndarray of int, shape (T,)
        Action of each step, and the state that it led to.
    missing_information : ndarray of shape (T + 1,)
        Missing information at each time, in bits.
    agents : dict of str to ndarray
        Missing information of the explorers of the page at the same times, by name.
    """

    name: str
    world: str
    fingerprint: str
    began_with: str
    begin: int
    states: IntArray
    actions: IntArray
    next_states: IntArray
    missing_information: FloatArray
    agents: dict[str, FloatArray]

    @property
    def n_steps(self) -> int:
        """Number of steps, with those of the explorer at the beginning."""
        return len(self.actions)

    def __repr__(self) -> str:
        first, last = self.missing_information[self.begin], self.missing_information[-1]
        steps = f"{self.n_steps - self.begin:,} steps"
        return f"PersonRun({self.name} in {self.world}: {first:.1f} -> {last:.1f} bits in {steps})"


class PersonRuns(Sequence[PersonRun]):
    """Runs of several people in the same world, in the order of their files.

    Parameters
    ----------
    runs : iterable of PersonRun
        The runs.
    """

    def __init__(self, runs: Iterable[PersonRun]) -> None:
        self._runs = list(runs)

    @overload
    def __getitem__(self, index: int) -> PersonRun: ...
    @overload
    def __getitem__(self, index: slice) -> PersonRuns: ...
    def __getitem__(self, index: int | slice) -> PersonRun | PersonRuns:
        return PersonRuns(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[PersonRun]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return f"PersonRuns({len(self)} in {self._runs[0].world}: {', '.join(run.name for run in self)})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the learning curves of all people, and those of the explorers for comparison.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Axes to draw into. None for new ones.

        Returns
        -------
        matplotlib Axes
            Axes with the curves.
        """
        drawn: Axes = figures_package().draw_person_runs(self, ax)
        return drawn


def read_runs(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> PersonRuns:
    """Read runs that people downloaded from a page of `berlyne.watch`.

    Parameters
    ----------
    paths : path-like, pattern, or iterable of them
        Files, such as "anna-run.json" or "*.json". A pattern may match several files.

    Returns
    -------
    PersonRuns
        The runs in the order of their paths, with a method `plot`.

    Raises
    ------
    ValueError
        If no file matches, if a file does not contain such a run, or if the runs are not in the same world.
    """
    patterns = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for pattern in patterns for file in _matches(os.fspath(pattern))]
    if not files:
        raise ValueError(f"paths is {paths!r:.60}; no file matches it")
    runs = [_read_run(Path(file)) for file in files]
    for file, run in zip(files, runs, strict=True):
        if run.fingerprint != runs[0].fingerprint:
            raise ValueError(
                f"{files[0]} is a run in {runs[0].world} and {file} one in another world, {run.world}; "
                "read the runs of one world at a time"
            )
    return PersonRuns(runs)


def _matches(pattern: str) -> list[str]:
    """Return the files that match a pattern in order; a path with no such file is an error that names it."""
    if glob.has_magic(pattern) and not os.path.exists(pattern):
        return sorted(glob.glob(pattern))
    if not os.path.isfile(pattern):
        raise ValueError(f"there is no file {pattern}; download one from a page with Download your run")
    return [pattern]


def _read_run(file: Path) -> PersonRun:
    """Read one file and validate what later code relies on."""
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if record["kind"] != KIND:
            raise ValueError(f"kind is {record['kind']!r}")
        if record["format"] != FORMAT:
            raise ValueError(f"format is {record['format']!r}, not {FORMAT}")
        run = _as_run(record, file.name.removesuffix(".json").removesuffix("-run"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{file} is not a run that a page of berlyne.watch wrote, or it is damaged ({error})"
        ) from error
    return run


def _as_run(record: dict[str, Any], name: str) -> PersonRun:
    """Create a run from a record; raise a `ValueError` if its numbers do not fit together."""
    world, begin = record["world"], int(record["begin"])
    path = {part: np.array(record[part], dtype=np.int64) for part in ("states", "actions", "next_states")}
    curve, n = np.array(record["missing_information"], dtype=np.float64), len(path["actions"])
    if [len(path["states"]), len(path["next_states"]), len(curve)] != [n + 1, n, n + 1] or not 0 <= begin <= n:
        raise ValueError("the lengths of its lists differ")
    sizes = {"states": world["n_states"], "actions": world["n_actions"], "next_states": world["n_states"]}
    if any(np.any((path[part] < 0) | (path[part] >= size)) for part, size in sizes.items()):
        raise ValueError("a state or an action is not in its world")
    if not np.all(np.isfinite(curve)):
        raise ValueError("missing_information is not finite")
    agents = {str(one["name"]): np.array(one["missing_information"], dtype=np.float64) for one in record["agents"]}
    texts = str(record["name"]) or name, str(world["name"]), str(world["fingerprint"]), str(record["began_with"])
    return PersonRun(*texts, begin, path["states"], path["actions"], path["next_states"], curve, agents)
