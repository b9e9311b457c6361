"""What it costs to replay an exploration, beside making it: PIG(VI) in the three classes, where episodes end, and where
nobody knows the states; and strategies that do not plan, whose explorations cost so little that all else counts.

Runs as long as the paper's, and long ones, in which making the dataset and the explorer do not count. Ends are learned
on the way, by an explorer that is told the prior alone.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
from measure import RUN_LENGTHS, in_turns, table, where

from berlyne import ChineseRestaurant, World, dense_world, explore, maze, one_two_three_world, replay

LONG = 20_000
QUICK = ("Random", "LTA", "CB", "PIG(greedy)", "PIG(Q)", "Unembodied")
WORLDS = {"Dense World": dense_world(0), "Maze": maze(0), "1-2-3 World": one_two_three_world(0)}


def both(world: World, strategy: str, n_steps: int) -> dict[str, partial[object]]:
    """An exploration, and the replay of it."""
    run = explore(world, strategy, n_steps=n_steps)
    return {
        "explore": partial(explore, world, strategy, n_steps=n_steps),
        "replay": partial(replay, world, run, strategy),
    }


def with_ends() -> dict[str, partial[object]]:
    """The same where three of the states end episodes."""
    whole = WORLDS["Dense World"]
    world = World(whole.theta, whole.prior, start=0, terminal=[7, 8, 9])
    run = explore(world, "PIG(VI)", n_steps=LONG)
    told = SimpleNamespace(states=run.states, actions=run.actions, next_states=run.next_states)
    told.terminated = np.isin(run.next_states, world.terminal)
    return {
        "explore": partial(explore, world, "PIG(VI)", n_steps=LONG),
        "replay": partial(replay, world.prior, told, "PIG(VI)"),
    }


def with_unknown_states() -> dict[str, partial[object]]:
    """The same in a maze whose rooms are discovered."""
    world, n_steps = WORLDS["Maze"].with_prior(ChineseRestaurant(1.0)), RUN_LENGTHS["Maze"]
    return both(world, "PIG(VI)", n_steps)


def line(name: str, jobs: dict[str, partial[object]], n_steps: int) -> list[str]:
    """A line of the table."""
    once, again = (seconds / n_steps * 1e6 for seconds in in_turns(jobs, 20).values())
    return [name, f"{once:.2f}", f"{again:.2f}", f"{again / once:.2f}"]


def main() -> None:
    """Print the table."""
    where("xarray")
    rows = []
    for name, world in WORLDS.items():
        lengths = (RUN_LENGTHS[name], LONG)
        rows += [line(f"{name}, {n:,} steps", both(world, "PIG(VI)", n), n) for n in lengths]
    rows.append(line(f"Dense World with three ends, {LONG:,} steps", with_ends(), LONG))
    n_steps = RUN_LENGTHS["Maze"]
    rows.append(line(f"Maze whose rooms are discovered, {n_steps:,} steps", with_unknown_states(), n_steps))
    header = ["explore, µs a step", "replay, µs a step", "ratio"]
    table(["PIG(VI)", *header], rows)
    rows = [
        line(f"{strategy}, {name}", both(world, strategy, LONG), LONG)
        for strategy in QUICK
        for name, world in WORLDS.items()
    ]
    table([f"{LONG:,} steps", *header], rows)


if __name__ == "__main__":
    main()
