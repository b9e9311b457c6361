"""What it costs to replay an exploration, beside making it: PIG(VI) in the three classes, where episodes end, and where
nobody knows the states.

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
WORLDS = {"Dense World": dense_world(0), "Maze": maze(0), "1-2-3 World": one_two_three_world(0)}


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
    run = explore(world, "PIG(VI)", n_steps=n_steps)
    return {
        "explore": partial(explore, world, "PIG(VI)", n_steps=n_steps),
        "replay": partial(replay, world, run, "PIG(VI)"),
    }


def line(name: str, jobs: dict[str, partial[object]], n_steps: int) -> list[str]:
    """A line of the table."""
    once, again = (seconds / n_steps * 1e6 for seconds in in_turns(jobs, 20).values())
    return [name, f"{once:.2f}", f"{again:.2f}", f"{again / once:.2f}"]


def main() -> None:
    """Print the table."""
    where("xarray")
    rows = []
    for name, world in WORLDS.items():
        for n_steps in (RUN_LENGTHS[name], LONG):
            run = explore(world, "PIG(VI)", n_steps=n_steps)
            jobs = {
                "explore": partial(explore, world, "PIG(VI)", n_steps=n_steps),
                "replay": partial(replay, world, run, "PIG(VI)"),
            }
            rows.append(line(f"{name}, {n_steps:,} steps", jobs, n_steps))
    rows.append(line(f"Dense World with three ends, {LONG:,} steps", with_ends(), LONG))
    n_steps = RUN_LENGTHS["Maze"]
    rows.append(line(f"Maze whose rooms are discovered, {n_steps:,} steps", with_unknown_states(), n_steps))
    table(["PIG(VI)", "explore, µs a step", "replay, µs a step", "ratio"], rows)


if __name__ == "__main__":
    main()
