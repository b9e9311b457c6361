"""Functions that the benchmarks share: timing, and Markdown tables for README.md."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import berlyne
from berlyne import InternalModel, World, strategy
from berlyne.agents.make import make_agent
from berlyne.engine.records import RunRecord
from berlyne.exploration.explore import initial_measures
from berlyne.exploration.streams import streams

RUN_LENGTHS = {"Dense World": 3000, "Maze": 2500, "1-2-3 World": 1250}
"""Steps of one exploration in the paper, by class of worlds (reading R12)."""


def seconds(job: Callable[[], Any]) -> float:
    """Return the wall time of one call, in seconds."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def time_in_turns(jobs: Mapping[Any, Callable[[], Any]], rounds: int) -> dict[Any, float]:
    """Return the shortest time of each job over some rounds, in seconds. Each round runs every job once.

    Other work on the machine can only add to a time, so the shortest time is the best estimate. The jobs alternate, so
    that a busy machine slows down all of them alike.
    """
    for job in jobs.values():
        job()  # compile and fill caches
    taken: dict[Any, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            taken[name].append(seconds(job))
    return {name: min(times) for name, times in taken.items()}


class Loop:
    """Time the compiled loop of one exploration in pieces, without its setup."""

    def __init__(self, world: World, name: str, n_steps: int, seed: int = 0) -> None:
        assert world.prior is not None
        self.world = world
        model = InternalModel(world.prior)
        self.agent = make_agent(model, strategy(name), world, "compiled")
        self.record, self.done = RunRecord.allocate(n_steps, 0, *initial_measures(world, model)), 0
        _, self.for_agent, self.for_world, _ = streams(seed)

    def run_piece(self, n_steps: int) -> float:
        """Run the next `n_steps` steps and return the time per step, in microseconds."""
        u_agent, u_world = self.for_agent.random((n_steps, 2)), self.for_world.random(n_steps)
        piece = self.record.between(self.done, self.done + n_steps)
        self.done += n_steps
        return seconds(lambda: self.agent.run(self.world, piece, u_agent, u_world)) / n_steps * 1e6


def print_table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a Markdown table with numbers aligned to the right."""
    header = list(header)
    print("| " + " | ".join(header) + " |")
    print("|---|" + "---:|" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()


def print_environment(*packages: str) -> None:
    """Print the versions of the packages, the number of cores and the load of the machine."""
    text = [f"Python {sys.version.split()[0]}", f"berlyne {berlyne.__version__}"]
    for name in ("numpy", "numba", *packages):
        try:
            text.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            text.append(f"{name} not installed")
    print(", ".join(text) + f"; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n", flush=True)
