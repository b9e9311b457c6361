"""Cost of one step and memory against the size of the world: python benchmarks/scaling.py.

PIG(VI) in mazes of rising side, and in worlds where every state may follow every other. Each world has
a process of its own, so that the peak memory is its own. The first pieces of a run are dearer: the
explorer meets every room for the first time, and its memory is not yet in the caches.
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
from measure import Loop, seconds, table, where

from berlyne import Dirichlet, World, dense_world, maze
from berlyne.sparse import Rows

PIECES = 8


def sparse_truth(n_states: int, n_actions: int = 4, n_outcomes: int = 10) -> World:
    """A few outcomes of every row, all of them believed possible."""
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


def one(kind: str, size: int, n_steps: int) -> dict[str, float]:
    """Explore one world in this process."""
    Loop(maze(0), "PIG(VI)", 10).go_on(10)  # compiles
    worlds: list[World] = []
    making = seconds(lambda: worlds.append(WORLDS[kind](size)))
    loops: list[Loop] = []
    starting = seconds(lambda: loops.append(Loop(worlds[0], "PIG(VI)", n_steps)))
    loops[0].go_on(1)
    times = [loops[0].go_on((n_steps - 1) // PIECES) for _ in range(PIECES)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"making": making, "starting": starting, "first": times[0], "step": statistics.median(times), "GiB": peak}


def measured(kind: str, size: int, n_steps: int) -> dict[str, float]:
    """Explore one world in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(size), str(n_steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description="Cost of one step and memory against the size of the world.")
    parser.add_argument("--sides", type=int, nargs="*", default=[6, 32, 100, 316, 1000])
    parser.add_argument("--states", type=int, nargs="*", default=[100, 300, 1000])
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one[0], int(asked.one[1]), int(asked.one[2]))))
        return
    where()
    cases = [("maze", side, 400_000) for side in asked.sides]
    cases += [(kind, size, 4000) for kind in ("sparse truth", "dense") for size in asked.states]
    best: dict[Any, dict[str, float]] = {}
    for _ in range(asked.rounds):
        for case in cases:
            found = measured(*case)
            best[case] = {key: min(value, best.get(case, found)[key]) for key, value in found.items()}
    head = ["µs a step", "first eighth", "starting, s", "making the world, s", "peak, GiB"]

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
    table(["side (states)", *head], ([f"{c[1]} ({c[1] ** 2:,})", *row(c)] for c in cases if c[0] == "maze"))
    print("PIG(VI) where every state may follow every other, 4 actions, 4000 steps\n")
    table(["truth (states)", *head], ([f"{c[0]} ({c[1]:,})", *row(c)] for c in cases if c[0] != "maze"))


if __name__ == "__main__":
    main()
