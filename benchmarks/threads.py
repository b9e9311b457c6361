"""Compare two threads with one: python benchmarks/threads.py.

The same explorations run one after another on one thread, and in parallel on two threads.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from measure import RUN_LENGTHS, print_environment, print_table, time_in_turns

from berlyne import World, dense_world, explore, maze, one_two_three_world

CASES: dict[str, tuple[Any, int]] = {
    "Dense World, paper's length": (dense_world, RUN_LENGTHS["Dense World"]),
    "Maze, paper's length": (maze, RUN_LENGTHS["Maze"]),
    "1-2-3 World, paper's length": (one_two_three_world, RUN_LENGTHS["1-2-3 World"]),
    "Maze, 100,000 steps": (maze, 100_000),
    "Maze of side 100, 100,000 steps": (partial(maze, side=100), 100_000),
}


def explore_all(worlds: list[World], name: str, n_steps: int, n_threads: int) -> None:
    """Explore every world once."""
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda world: explore(world, name, n_steps=n_steps), worlds))


def main() -> None:
    """Print how much faster two threads are."""
    parser = argparse.ArgumentParser(description="Compare two threads with one.")
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds; the shortest time counts")
    parser.add_argument("--strategy", default="PIG(VI)")
    options = parser.parse_args()
    print_environment()
    rows = []
    for case, (make, n_steps) in CASES.items():
        worlds = [make(seed) for seed in range(64 if n_steps < 10_000 else 4)]
        jobs = {n: partial(explore_all, worlds, options.strategy, n_steps, n) for n in (1, 2)}
        taken = time_in_turns(jobs, options.rounds)
        n_million_steps = n_steps * len(worlds) / 1e6
        rows.append(
            [
                case,
                f"{taken[1] / n_million_steps:.2f}",
                f"{taken[2] / n_million_steps:.2f}",
                f"{taken[1] / taken[2]:.2f}",
            ]
        )
    print_table([options.strategy, "one thread, µs a step", "two threads", "ratio"], rows)


if __name__ == "__main__":
    main()
