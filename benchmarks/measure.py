"""What the benchmarks share: timing in turns, and tables that can be pasted into README.md."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import berlyne
from berlyne import InternalModel, World, strategy
from berlyne.agents.base import make_agent
from berlyne.engine.records import RunRecord
from berlyne.exploration.explore import initial_measures
from berlyne.exploration.streams import streams

RUN_LENGTHS = {"Dense World": 3000, "Maze": 2500, "1-2-3 World": 1250}
"""Steps of one exploration of the paper (reading R12)."""


def seconds(job: Callable[[], Any]) -> float:
    """Time on the clock that one call takes."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def in_turns(jobs: Mapping[Any, Callable[[], Any]], rounds: int) -> dict[Any, float]:
    """The shortest time of each job over some rounds, in each of which every job has its turn.

    The shortest, because whatever else a machine does only adds; in turns, so that a slow minute is
    slow for all of them.
    """
    for job in jobs.values():
        job()  # compiles, fills caches
    taken: dict[Any, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            taken[name].append(seconds(job))
    return {name: min(times) for name, times in taken.items()}


class Loop:
    """The compiled loop of one exploration without what comes before it, a piece at a time."""

    def __init__(self, world: World, name: str, n_steps: int, seed: int = 0) -> None:
        assert world.prior is not None
        self.world = world
        model = InternalModel(world.prior)
        self.agent = make_agent(model, strategy(name), world, "compiled")
        self.record, self.done = RunRecord.allocate(n_steps, 0, *initial_measures(world, model)), 0
        _, self.for_agent, self.for_world = streams(seed)

    def go_on(self, n_steps: int) -> float:
        """Microseconds per step of the next piece."""
        u_agent, u_world = self.for_agent.random((n_steps, 2)), self.for_world.random(n_steps)
        here = self.record.between(self.done, self.done + n_steps)
        self.done += n_steps
        return seconds(lambda: self.agent.run(self.world, here, u_agent, u_world)) / n_steps * 1e6


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a Markdown table, numbers to the right."""
    head = list(head)
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()


def where(*packages: str) -> None:
    """Print the versions and the machine that the numbers belong to, and how busy it is."""
    said = [f"Python {sys.version.split()[0]}", f"berlyne {berlyne.__version__}"]
    for name in ("numpy", "numba", *packages):
        try:
            said.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            said.append(f"{name} not installed")
    print(", ".join(said) + f"; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n", flush=True)
