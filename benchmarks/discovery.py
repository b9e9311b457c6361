"""Measure what a discovery costs: python benchmarks/discovery.py.

The first table replays the choices of simulated people, as many as in an open data set: 40,492 choices of 63 people,
who discover 3,361 states. The second table lets explorers discover one state after the other. The third table explores
worlds whose states are unknown, in which discoveries become rare.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import print_environment, print_table

from berlyne import ChineseRestaurant, Explorer, World, explore, grid_world, maze, replay

N_PEOPLE, N_CHOICES, N_DISCOVERIES, N_ACTIONS = 63, 40_492, 3_361, 3
STRATEGIES = ("PIG(VI)", "PIG(greedy)", "PIG(Q)", "PEIG(VI)", "CB")
N_STATES = (100, 1_000, 3_000)
N_STEPS = 3_000


def choices_of(n_lines: int, n_states: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Return the lines of one person, who discovers the states 0, 1, ... and goes back to some of them."""
    new = np.zeros(n_lines, dtype=bool)
    new[rng.choice(n_lines, n_states - 1, replace=False)] = True
    lines, s, n_found = [], 0, 1
    for is_new in new.tolist():
        s_next = n_found if is_new else int(rng.integers(max(0, n_found - 12), n_found))
        n_found += is_new
        lines.append((s, int(rng.integers(N_ACTIONS)), s_next))
        s = s_next
    return lines


def people() -> dict[str, list[Any]]:
    """Return the columns of the history of all people."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {"subject": [], "s": [], "a": [], "s_next": []}
    for i in range(N_PEOPLE):
        n_lines = N_CHOICES // N_PEOPLE + (i < N_CHOICES % N_PEOPLE)
        n_states = N_DISCOVERIES // N_PEOPLE + (i < N_DISCOVERIES % N_PEOPLE)
        for line in choices_of(n_lines, n_states, rng):
            for name, value in zip(columns, (i, *line), strict=True):
                columns[name].append(value)
    return columns


def cpu_seconds(job: Any, n_times: int = 3) -> float:
    """Return the smallest CPU time of several calls."""
    times = []
    for _ in range(n_times):
        begin = time.process_time()
        job()
        times.append(time.process_time() - begin)
    return min(times)


def discover(strategy: str, n_states: int) -> None:
    """Let an explorer discover states, one with each observation."""
    explorer = Explorer(ChineseRestaurant(1.0), strategy, n_actions=N_ACTIONS)
    for s in range(n_states):
        explorer.observe(s, s % N_ACTIONS, s + 1)


def worlds() -> dict[str, World]:
    """Return worlds to explore."""
    return {"maze": maze(0), "grid of 101 x 101": grid_world(101), "grid of 301 x 301": grid_world(301)}


def exploration_rows() -> list[list[str]]:
    """Return world, c, strategy, number of discovered states, and CPU microseconds a step."""
    rows = []
    for name, world in worlds().items():
        for c in (1.0, "ml"):
            for strategy in ("PIG(VI)", "PIG(greedy)", "Random"):
                open_world = world.with_prior(ChineseRestaurant(c))
                explore(open_world, strategy, n_steps=5)  # compile
                begin = time.process_time()
                run = explore(open_world, strategy, n_steps=N_STEPS)
                cost = (time.process_time() - begin) / N_STEPS * 1e6
                rows.append([name, str(c), strategy, str(len(set(run.states.tolist()))), f"{cost:.0f}"])
    return rows


def main() -> None:
    """Print the tables."""
    import pandas as pd

    print_environment("pandas", "xarray")
    history = pd.DataFrame(people())
    rows = []
    for strategy in STRATEGIES:
        replay(ChineseRestaurant(1.0), history[history.subject == 0], strategy, n_actions=N_ACTIONS)  # compile
        seconds = cpu_seconds(lambda name=strategy: replay(ChineseRestaurant(1.0), history, name, n_actions=N_ACTIONS))
        rows.append([strategy, f"{seconds:.2f}"])
    print_table([f"{len(history):,} choices of {N_PEOPLE} people, {N_DISCOVERIES:,} discoveries", "CPU, s"], rows)
    rows = []
    for strategy in ("PIG(VI)", "PIG(greedy)"):
        costs = [cpu_seconds(lambda name=strategy, n=n: discover(name, n), 1) / n * 1e6 for n in N_STATES]
        rows.append([strategy, *(f"{cost:.0f}" for cost in costs)])
    print_table(["observations that discover a state, CPU µs each", *(f"{n:,} states" for n in N_STATES)], rows)
    print_table([f"exploration, {N_STEPS:,} steps", "c", "strategy", "states met", "CPU µs a step"], exploration_rows())


if __name__ == "__main__":
    main()
