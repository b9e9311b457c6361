"""Measure time per step and memory against the size of the world: python benchmarks/scaling.py.

PIG(VI) explores mazes of increasing size, and worlds in which every state may follow every other. Each world is
explored in its own process, so that peak memory is measured separately. The first steps of a run take longer, because
the explorer visits every room for the first time and its memory is not yet in the caches.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from typing import Any

import numpy as np
from measure import Loop, print_environment, print_table, seconds

from berlyne import Dirichlet, World, dense_world, maze
from berlyne.sparse import Rows

PIECES = 8


def sparse_truth(n_states: int, n_actions: int = 4, n_outcomes: int = 10) -> World:
    """Return a world with few outcomes in every row, and a prior that allows all states."""
    rng = np.random.default_rng(0)
    n_rows = n_states * n_actions
    indices = np.sort([rng.choice(n_states, n_outcomes, replace=False) for _ in range(n_rows)], axis=1)
    data = rng.dirichlet(np.ones(n_outcomes), size=n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * n_outcomes
    rows = Rows(n_actions, n_states, indptr, indices.ravel().astype(np.int32), data.ravel())
    return World(rows, Dirichlet(1.0, n_states=n_states, n_actions=n_actions))


WORLDS: dict[str, Any] = {
    "maze": lambda size: maze(0, side=size),
    "dense": lambda size: dense_world(0, n_states=size),
    "sparse truth": sparse_truth,
}


def measure(kind: str, size: int, n_steps: int) -> dict[str, float]:
    """Explore one world in this process and return times and memory."""
    Loop(maze(0), "PIG(VI)", 10).run_piece(10)  # compile
    worlds: list[World] = []
    making = seconds(lambda: worlds.append(WORLDS[kind](size)))
    loops: list[Loop] = []
    starting = seconds(lambda: loops.append(Loop(worlds[0], "PIG(VI)", n_steps)))
    loops[0].run_piece(1)
    times = [loops[0].run_piece((n_steps - 1) // PIECES) for _ in range(PIECES)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"making": making, "starting": starting, "first": times[0], "step": statistics.median(times), "GiB": peak}


def measure_in_process(kind: str, size: int, n_steps: int) -> dict[str, float]:
    """Explore one world in a new process and return times and memory."""
    command = [sys.executable, __file__, "--one", kind, str(size), str(n_steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description="Time per step and memory against the size of the world.")
    parser.add_argument("--sides", type=int, nargs="*", default=[6, 32, 100, 316, 1000])
    parser.add_argument("--states", type=int, nargs="*", default=[100, 300, 1000])
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds; the shortest time counts")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]), int(options.one[2]))))
        return
    print_environment()
    cases = [("maze", side, 400_000) for side in options.sides]
    cases += [(kind, size, 4000) for kind in ("sparse truth", "dense") for size in options.states]
    best: dict[Any, dict[str, float]] = {}
    for _ in range(options.rounds):
        for case in cases:
            times = measure_in_process(*case)
            best[case] = {key: min(value, best.get(case, times)[key]) for key, value in times.items()}
    header = ["µs a step", "first eighth", "starting, s", "making the world, s", "peak, GiB"]

    def row(case: Any) -> list[str]:
        b = best[case]
        return [
            f"{b['step']:.2f}",
            f"{b['first']:.2f}",
            f"{b['starting']:.2f}",
            f"{b['making']:.2f}",
            f"{b['GiB']:.2f}",
        ]

    print("PIG(VI) in mazes, 400,000 steps\n")
    print_table(["side (states)", *header], ([f"{c[1]} ({c[1] ** 2:,})", *row(c)] for c in cases if c[0] == "maze"))
    print("PIG(VI) if every state may follow every other, 4 actions, 4000 steps\n")
    print_table(["truth (states)", *header], ([f"{c[0]} ({c[1]:,})", *row(c)] for c in cases if c[0] != "maze"))


if __name__ == "__main__":
    main()
