"""Numbers of a benchmark: measures of all agents in all tasks, bounds, and scores between Random (0) and the bound (1).

`Scoreboard.from_results` reads them from a store, and `Scoreboard.load` from a JSON file, such as the frozen results
`benchmarks/baselines.json` of the repository. `board.join(other)` adds the agents of another one, which must have the
same suite, seed and number of steps. So a new explorer is compared without running the others again.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.benchmarks.measures import MEASURES
from berlyne.benchmarks.suite import SPLITS, Task, suite
from berlyne.experiments.results import Results
from berlyne.experiments.schema import versions
from berlyne.experiments.worlds import stream, world_id
from berlyne.serialization import atomic_write
from berlyne.stats import Interval, interquartile_mean, normalized_scores, stratified_bootstrap
from berlyne.validation import FloatArray
from berlyne.worlds import World

if TYPE_CHECKING:
    from berlyne.bounds import FluidBound

RANDOM = "Random"
"""The agent whose score is 0."""
MAX_ROWS = 600
"""Largest number of rows for which a report computes the bound; larger worlds take minutes."""
MEASURE = "missing_information"
"""The first measure of the scores: what is left at the end."""
AREA = "area"
"""The second measure of the scores."""
BY_TASK = ("bounds", "area_bounds", "gaps")
"""Attributes of a scoreboard that hold a number for each task."""


@dataclass(frozen=True, eq=False)
class Scoreboard:
    """Measures of all agents in all tasks.

    Parameters
    ----------
    suite : str
        Name and version of the suite.
    seed : int
        Seed of the study, which tells the split.
    tasks : tuple of str
        Names of the tasks.
    n_steps : tuple of int
        Number of steps in each task.
    agents : tuple of str
        Names of the agents.
    values : dict of str to ndarray of shape (agents, tasks, runs)
        Measures by name; NaN if a run has no value, as steps until 10 % is missing if that never happens.
    bounds : dict of str to float
        Lower bound of the missing information at the end, by task; not for all tasks.
    versions : dict of str to str
        Versions of the packages that made the results.
    area_bounds : dict of str to float
        Lower bound of the area under the missing information, by task; not for all tasks.
    gaps : dict of str to float
        Share by which the bound at the end can be too low (`FluidBound.gap`), by task, the mean over its worlds.
    """

    suite: str
    seed: int
    tasks: tuple[str, ...]
    n_steps: tuple[int, ...]
    agents: tuple[str, ...]
    values: dict[str, FloatArray]
    bounds: dict[str, float]
    versions: dict[str, str]
    area_bounds: dict[str, float] = field(default_factory=dict)
    gaps: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_results(cls, results: Results, suite_name: str = "tabular-v1") -> Scoreboard:
        """Read the measures of a finished benchmark from its store."""
        if not results.is_complete:
            raise ValueError(f"{results.path} is not finished; run the same benchmark again to complete it")
        unknown = [name for name in results.classes if name not in {task.name for task in suite(suite_name)}]
        if unknown:
            raise ValueError(f"{results.path} has the class {unknown[0]!r}, which is no task of {suite_name}")
        values: dict[str, Any] = {name: [] for name in MEASURES}
        for task in results.classes:
            data = results.of(task)
            for name, per_task in values.items():
                array = data[name].isel(time=-1) if name == MEASURE else data[name]
                per_task.append(array.transpose("strategy", "world").values.astype(float))
        return cls(
            suite_name,
            int(results.settings["seed"]),
            tuple(results.classes),
            tuple(int(results.settings["worlds"][task]["n_steps"]) for task in results.classes),
            tuple(results.strategies),
            {name: np.stack(per_task, axis=1) for name, per_task in values.items()},
            {},
            versions(),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scoreboard:
        """Read a scoreboard from a JSON file."""
        names = [f.name for f in fields(cls)]
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError:  # not text, or not JSON
            data = None
        if not isinstance(data, dict) or not {*names[:-2]} <= data.keys() <= {*names}:
            raise ValueError(f"{path} holds no frozen results; it must be a file that Scoreboard.save wrote")
        values = {name: np.array(table, dtype=float) for name, table in data["values"].items()}  # null is NaN
        lists = {name: tuple(data[name]) for name in ("tasks", "n_steps", "agents")}
        return cls(**{**data, **lists, "values": values})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scoreboard to a JSON file, with six significant digits."""
        values = {name: _as_lists(array) for name, array in self.values.items()}
        data = {**vars(self), "values": values}
        atomic_write(Path(path), (json.dumps(data, ensure_ascii=False) + "\n").encode())

    def join(self, other: Scoreboard) -> Scoreboard:
        """Return this scoreboard with the agents of another one that it lacks; NaN in tasks that only this one has.

        If one of them has more runs, only the first runs of both are compared, which have the same worlds and seeds.
        """
        for name in ("suite", "seed"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"{name} is {getattr(self, name)} here and {getattr(other, name)} there; they must agree"
                )
        both = [task for task in self.tasks if task in other.tasks]
        ours, theirs = self.select(both), other.select(both)
        if ours.n_steps != theirs.n_steps:
            raise ValueError(
                f"n_steps are {ours.n_steps} here and {theirs.n_steps} there; they must agree, so run both with the "
                "same preset"
            )
        n_runs = min(self.n_runs, other.n_runs)
        new = [i for i, name in enumerate(theirs.agents) if name not in ours.agents]
        values = {}
        for name, all_runs in self.values.items():
            own = all_runs[..., :n_runs]
            added = np.full((len(new), *own.shape[1:]), np.nan)
            added[:, [self.tasks.index(task) for task in both]] = theirs.values[name][new][..., :n_runs]
            values[name] = np.concatenate([own, added])
        agents = (*self.agents, *(theirs.agents[i] for i in new))
        more: Any = {name: {**getattr(theirs, name), **getattr(self, name)} for name in BY_TASK}
        return replace(self, agents=agents, values=values, **more)

    def select(self, tasks: list[str]) -> Scoreboard:
        """Return the scoreboard with some of its tasks."""
        index = [self.tasks.index(task) for task in tasks]
        values = {name: array[:, index] for name, array in self.values.items()}
        n_steps = tuple(self.n_steps[i] for i in index)
        by_task: Any = {
            name: {task: bound for task, bound in getattr(self, name).items() if task in tasks} for name in BY_TASK
        }
        return replace(self, tasks=tuple(tasks), n_steps=n_steps, values=values, **by_task)

    @property
    def n_runs(self) -> int:
        """Number of runs of each agent in each task."""
        return int(self.values[MEASURE].shape[2])

    def with_bounds(self) -> Scoreboard:
        """Return the scoreboard with bounds at the end of all tasks whose worlds are not too large (`MAX_ROWS`)."""
        bounds, gaps = dict(self.bounds), dict(self.gaps)
        for name, n_steps in zip(self.tasks, self.n_steps, strict=True):
            task = suite(self.suite)[name]
            if name not in bounds and count_rows(task) <= MAX_ROWS:
                computed = [fluid_bound(world, n_steps) for world in task_worlds(task, self.seed, self.n_runs)]
                bounds[name] = float(np.mean([bound.value for bound in computed]))
                gaps[name] = float(np.mean([bound.gap for bound in computed]))
        return replace(self, bounds=bounds, gaps=gaps)

    def bounds_of(self, measure: str) -> dict[str, float]:
        """Return the bounds of a measure that has scores, by task."""
        if measure not in (MEASURE, AREA):
            raise ValueError(f"measure is {measure!r}; scores are those of {MEASURE!r} or {AREA!r}")
        return self.bounds if measure == MEASURE else self.area_bounds

    def scored_tasks(self, measure: str = MEASURE) -> list[str]:
        """Return the tasks with a bound of a measure, which all agents have run, and in which Random stays above it.

        Parameters
        ----------
        measure : {"missing_information", "area"}
            The measure.
        """
        bounds = self.bounds_of(measure)
        if RANDOM not in self.agents:
            return []
        random = self.values[measure][self.agents.index(RANDOM)].mean(axis=1)
        complete: Any = np.isfinite(self.values[measure]).all(axis=(0, 2))
        lines = zip(self.tasks, random, complete, strict=True)
        return [task for task, value, ran in lines if ran and task in bounds and value > bounds[task]]

    def scores(self, measure: str = MEASURE) -> FloatArray:
        """Return the scores, (agents, scored tasks, runs): 0 for the mean of Random, 1 for the bound.

        Parameters
        ----------
        measure : {"missing_information", "area"}
            The missing information at the end, or the area under it.
        """
        if RANDOM not in self.agents:
            raise ValueError(f"agents are {', '.join(self.agents)}; scores need {RANDOM}, whose score is 0")
        board = self.select(self.scored_tasks(measure))
        values = board.values[measure]
        bound = [board.bounds_of(measure)[task] for task in board.tasks]
        return normalized_scores(values, values[board.agents.index(RANDOM)].mean(axis=1), bound)

    def interquartile_means(self, measure: str = MEASURE, seed: int = 0) -> dict[str, Interval]:
        """Return the interquartile mean of the scores of each agent, with a stratified bootstrap interval.

        Parameters
        ----------
        measure : {"missing_information", "area"}
            The measure.
        seed : int
            Seed of the bootstrap.
        """
        value, low, high = stratified_bootstrap(interquartile_mean, self.scores(measure), seed=seed)
        return {name: Interval(value[i], low[i], high[i]) for i, name in enumerate(self.agents)}


def count_rows(task: Task) -> int:
    """Return the number of rows of a world of a task that count."""
    return int(np.count_nonzero(task.world(np.random.SeedSequence(0)).measured_rows))


def task_worlds(task: Task, seed: int, n_worlds: int) -> list[World]:
    """Return the worlds of the runs of a task, or its only world."""
    return [task.world(stream(seed, world_id(task.name, i))) for i in range(n_worlds if task.is_random else 1)]


def fluid_bound(world: World, n_steps: int) -> FluidBound:
    """Return the bound of the missing information that holds for every explorer."""
    from berlyne.bounds import fluid  # imported here, because it imports SciPy and Numba

    return fluid(world, n_steps, policies="adaptive")


def _as_lists(array: FloatArray) -> Any:
    """Return nested lists with six significant digits; NaN is None."""
    rounded = [[[float(f"{x:.6g}") for x in runs] for runs in tasks] for tasks in array.tolist()]
    return [[[None if math.isnan(x) else x for x in runs] for runs in tasks] for tasks in rounded]


def split_of(seed: int) -> str:
    """Return the name of the split with this seed."""
    return next((name for name, number in SPLITS.items() if number == seed), f"seed {seed}")
