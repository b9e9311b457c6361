"""Compare the compiled engine with its plain NumPy twin: python benchmarks/engine.py.

The jobs are whole explorations of the paper's length, from the call of `explore` to the finished `Run`.
"""

from __future__ import annotations

import argparse
from functools import partial

from measure import RUN_LENGTHS, print_environment, print_table, time_in_turns

from berlyne import STRATEGIES, dense_world, explore, maze, one_two_three_world


def main() -> None:
    """Print one table for each class of worlds."""
    parser = argparse.ArgumentParser(description="Compare the compiled engine with its plain NumPy twin.")
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds; the shortest time counts")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), help="names of strategies; by default all")
    options = parser.parse_args()
    print_environment("scipy")
    for world in (dense_world(0), maze(0), one_two_three_world(0)):
        n = RUN_LENGTHS[world.name]
        jobs = {
            (name, engine): partial(explore, world, name, n_steps=n, engine=engine)
            for name in dict.fromkeys(["PIG(VI)", *options.strategies])
            for engine in ("compiled", "numpy")
        }
        taken = {key: time / n * 1e6 for key, time in time_in_turns(jobs, options.rounds).items()}
        rows = []
        for name in options.strategies:
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
        print_table(["strategy", "compiled, µs a step", "NumPy, µs a step", "ratio", "of PIG(VI)"], rows)


if __name__ == "__main__":
    main()
