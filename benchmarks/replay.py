"""What it costs to replay an exploration, beside making it: PIG(VI) in the three classes.

Runs as long as the paper's, and long ones, in which making the dataset and the explorer do not count.
"""

from __future__ import annotations

from functools import partial

from measure import RUN_LENGTHS, in_turns, table, where

from berlyne import dense_world, explore, maze, one_two_three_world, replay

LONG = 20_000
WORLDS = {"Dense World": dense_world(0), "Maze": maze(0), "1-2-3 World": one_two_three_world(0)}


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
            once, again = (seconds / n_steps * 1e6 for seconds in in_turns(jobs, 20).values())
            rows.append([f"{name}, {n_steps:,} steps", f"{once:.2f}", f"{again:.2f}", f"{again / once:.2f}"])
    table(["PIG(VI)", "explore, µs a step", "replay, µs a step", "ratio"], rows)


if __name__ == "__main__":
    main()
