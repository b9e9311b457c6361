"""Numbers of a benchmark: measures of all agents in all tasks, bounds, and scores between Random (0) and the bound (1).

`Scoreboard.from_results` reads them from a store, and `Scoreboard.load` from a JSON file, such as the frozen results
`benchmarks/baselines.json` of the repository. `board.join(other)` adds the agents of another one, which must have the
same suite, seed, number of steps and number of runs. So a new explorer is compared without running the others again.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
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
MAX_ROWS = 2000
"""Largest number of rows times horizon for which a report computes the bound; larger programs take minutes."""
MEASURE = "missing_information"
"""The measure of the scores: what is left at the end, for which the bound is a single linear program."""


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
    """

    suite: str
    seed: int
    tasks: tuple[str, ...]
    n_steps: tuple[int, ...]
    agents: tuple[str, ...]
    values: dict[str, FloatArray]
    bounds: dict[str, float]
    versions: dict[str, str]

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
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        values = {name: np.array(table, dtype=float) for name, table in data["values"].items()}  # null is NaN
        lists = {name: tuple(data[name]) for name in ("tasks", "n_steps", "agents")}
        return cls(**{**data, **lists, "values": values})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scoreboard to a JSON file, with six significant digits."""
        values = {name: _as_lists(array) for name, array in self.values.items()}
        data = {**vars(self), "values": values}
        atomic_write(Path(path), (json.dumps(data, ensure_ascii=False) + "\n").encode())

    def join(self, other: Scoreboard) -> Scoreboard:
        """Return this scoreboard with the agents of another one that it lacks; NaN in tasks that only this one has."""
        for name in ("suite", "seed"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"{name} is {getattr(self, name)} here and {getattr(other, name)} there; they must agree"
                )
        both = [task for task in self.tasks if task in other.tasks]
        ours, theirs = self.select(both), other.select(both)
        if ours.n_steps != theirs.n_steps or ours.n_runs != theirs.n_runs:
            raise ValueError(
                f"n_steps are {ours.n_steps} here, {theirs.n_steps} there, and runs {ours.n_runs} and {theirs.n_runs}; "
                "they must agree, so run both with the same preset"
            )
        new = [i for i, name in enumerate(theirs.agents) if name not in ours.agents]
        values = {}
        for name, own in self.values.items():
            added = np.full((len(new), *own.shape[1:]), np.nan)
            added[:, [self.tasks.index(task) for task in both]] = theirs.values[name][new]
            values[name] = np.concatenate([own, added])
        agents = (*self.agents, *(theirs.agents[i] for i in new))
        return replace(self, agents=agents, values=values, bounds={**theirs.bounds, **self.bounds})

    def select(self, tasks: list[str]) -> Scoreboard:
        """Return the scoreboard with some of its tasks."""
        index = [self.tasks.index(task) for task in tasks]
        values = {name: array[:, index] for name, array in self.values.items()}
        bounds = {task: bound for task, bound in self.bounds.items() if task in tasks}
        return replace(
            self, tasks=tuple(tasks), n_steps=tuple(self.n_steps[i] for i in index), values=values, bounds=bounds
        )

    @property
    def n_runs(self) -> int:
        """Number of runs of each agent in each task."""
        return int(self.values[MEASURE].shape[2])

    def with_bounds(self) -> Scoreboard:
        """Return the scoreboard with bounds of all tasks for which they can be computed in seconds."""
        bounds = dict(self.bounds)
        for task, n_steps in zip(self.tasks, self.n_steps, strict=True):
            if task not in bounds and size_of_program(suite(self.suite)[task]) <= MAX_ROWS:
                bounds[task] = task_bound(suite(self.suite)[task], n_steps, self.seed, self.n_runs)
        return replace(self, bounds=bounds)

    @property
    def scored_tasks(self) -> list[str]:
        """Tasks with a bound, that all agents have run, and in which the random agent stays above it."""
        if RANDOM not in self.agents:
            return []
        random = self.values[MEASURE][self.agents.index(RANDOM)].mean(axis=1)
        complete: Any = np.isfinite(self.values[MEASURE]).all(axis=(0, 2))
        lines = zip(self.tasks, random, complete, strict=True)
        return [task for task, value, ran in lines if ran and task in self.bounds and value > self.bounds[task]]

    def scores(self) -> FloatArray:
        """Scores of the missing information at the end, (agents, scored tasks, runs): 0 for Random, 1 for the bound."""
        if RANDOM not in self.agents:
            raise ValueError(f"agents are {', '.join(self.agents)}; scores need {RANDOM}, whose score is 0")
        board = self.select(self.scored_tasks)
        values = board.values[MEASURE]
        bound = [board.bounds[task] for task in board.tasks]
        return normalized_scores(values, values[board.agents.index(RANDOM)].mean(axis=1), bound)

    def interquartile_means(self, seed: int = 0) -> dict[str, Interval]:
        """Interquartile mean of the scores of each agent, with a stratified bootstrap interval."""
        value, low, high = stratified_bootstrap(interquartile_mean, self.scores(), seed=seed)
        return {name: Interval(value[i], low[i], high[i]) for i, name in enumerate(self.agents)}


def size_of_program(task: Task) -> int:
    """Return the number of rows of a task times its horizon."""
    world = task.world(np.random.SeedSequence(0))
    return world.n_states * world.n_actions * (task.horizon or 1)


def task_bound(task: Task, n_steps: int, seed: int, n_worlds: int) -> float:
    """Return the bound of the missing information after `n_steps` steps, the mean over the worlds of a task.

    See `fluid_bound`.
    """
    worlds = [task.world(stream(seed, world_id(task.name, i))) for i in range(n_worlds if task.is_random else 1)]
    return float(np.mean([fluid_bound(world, n_steps).value for world in worlds]))


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
