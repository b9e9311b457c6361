"""The compiled engine against its plain NumPy twin: python benchmarks/engine.py.

Whole explorations of the paper's length, from `explore` to the finished `Run`, in turns.
"""

from __future__ import annotations

import argparse
from functools import partial

from measure import RUN_LENGTHS, in_turns, table, where

from berlyne import STRATEGIES, dense_world, explore, maze, one_two_three_world


def main() -> None:
    """Print one table for each class of worlds."""
    parser = argparse.ArgumentParser(description="The compiled engine against its plain NumPy twin.")
    parser.add_argument("--rounds", type=int, default=15, help="the best of so many")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), help="by default all of the paper")
    asked = parser.parse_args()
    where("scipy")
    for world in (dense_world(0), maze(0), one_two_three_world(0)):
        n = RUN_LENGTHS[world.name]
        jobs = {
            (name, engine): partial(explore, world, name, n_steps=n, engine=engine)
            for name in dict.fromkeys(["PIG(VI)", *asked.strategies])
            for engine in ("compiled", "numpy")
        }
        taken = {key: time / n * 1e6 for key, time in in_turns(jobs, asked.rounds).items()}
        rows = []
        for name in asked.strategies:
            fast, plain = taken[name, "compiled"], taken[name, "numpy"]
            rows.append(
                [
                    name,
                    f"{fast:.2f}",
                    f"{plain:.0f}",
                    f"{plain / fast:.0f}",
                    f"{fast / taken['PIG(VI)', 'compiled']:.2f}",
                ]
            )
        print(f"{world.name}, {world.n_states} states, {world.n_actions} actions, {n} steps\n")
        table(["strategy", "compiled, µs a step", "NumPy, µs a step", "ratio", "of PIG(VI)"], rows)


if __name__ == "__main__":
    main()
