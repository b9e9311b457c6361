"""Compare the time of a replay with the time of the exploration itself: python benchmarks/replay.py.

The jobs are PIG(VI) in the three classes of worlds, in a world with terminal states, and in a world with unknown
states. Strategies that do not plan are also measured, because their explorations take so little time that the overhead
counts. Runs have the paper's length, or are so long that creating the dataset and the explorer does not count. In the
world with terminal states the explorer is given only the prior and learns terminal states on the way.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
from measure import RUN_LENGTHS, print_environment, print_table, time_in_turns

from berlyne import ChineseRestaurant, World, dense_world, explore, maze, one_two_three_world, replay

LONG = 20_000
QUICK = ("Random", "LTA", "CB", "PIG(greedy)", "PIG(Q)", "Unembodied")
WORLDS = {"Dense World": dense_world(0), "Maze": maze(0), "1-2-3 World": one_two_three_world(0)}


def both(world: World, strategy: str, n_steps: int) -> dict[str, partial[object]]:
    """Return an exploration and its replay as jobs."""
    run = explore(world, strategy, n_steps=n_steps)
    return {
        "explore": partial(explore, world, strategy, n_steps=n_steps),
        "replay": partial(replay, world, run, strategy),
    }


def with_ends() -> dict[str, partial[object]]:
    """Return the jobs for a Dense World with three terminal states."""
    dense = WORLDS["Dense World"]
    world = World(dense.theta, dense.prior, start=0, terminal=[7, 8, 9])
    run = explore(world, "PIG(VI)", n_steps=LONG)
    history = SimpleNamespace(states=run.states, actions=run.actions, next_states=run.next_states)
    history.terminated = np.isin(run.next_states, world.terminal)
    return {
        "explore": partial(explore, world, "PIG(VI)", n_steps=LONG),
        "replay": partial(replay, world.prior, history, "PIG(VI)"),
    }


def with_unknown_states() -> dict[str, partial[object]]:
    """Return the jobs for a maze whose rooms are discovered."""
    world, n_steps = WORLDS["Maze"].with_prior(ChineseRestaurant(1.0)), RUN_LENGTHS["Maze"]
    return both(world, "PIG(VI)", n_steps)


def line(name: str, jobs: dict[str, partial[object]], n_steps: int) -> list[str]:
    """Time the jobs and return a line of the table."""
    once, repeated = (seconds / n_steps * 1e6 for seconds in time_in_turns(jobs, 20).values())
    return [name, f"{once:.2f}", f"{repeated:.2f}", f"{repeated / once:.2f}"]


def main() -> None:
    """Print the table."""
    print_environment("xarray")
    rows = []
    for name, world in WORLDS.items():
        lengths = (RUN_LENGTHS[name], LONG)
        rows += [line(f"{name}, {n:,} steps", both(world, "PIG(VI)", n), n) for n in lengths]
    rows.append(line(f"Dense World with three ends, {LONG:,} steps", with_ends(), LONG))
    n_steps = RUN_LENGTHS["Maze"]
    rows.append(line(f"Maze whose rooms are discovered, {n_steps:,} steps", with_unknown_states(), n_steps))
    header = ["explore, µs a step", "replay, µs a step", "ratio"]
    print_table(["PIG(VI)", *header], rows)
    rows = [
        line(f"{strategy}, {name}", both(world, strategy, LONG), LONG)
        for strategy in QUICK
        for name, world in WORLDS.items()
    ]
    print_table([f"{LONG:,} steps", *header], rows)


if __name__ == "__main__":
    main()
