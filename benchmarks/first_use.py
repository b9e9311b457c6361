"""Measure the first use of each entry point with nothing compiled: python benchmarks/first_use.py.

The times are processor times of one process. A second process then finds everything in the cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from measure import print_environment, print_table

SCRIPT = """
import time
begin = time.process_time()

def lap(name):
    global begin
    print(name, time.process_time() - begin, sep="\\t", flush=True)
    begin = time.process_time()

import numpy as np
import berlyne
lap("import berlyne")
world = berlyne.maze(0)
lap("maze, with the import of Numba")
berlyne.explore(world, "PIG(VI)", n_steps=100)
lap("explore, PIG(VI)")
berlyne.explore(world, "Random", n_steps=100)
lap("explore, Random")
explorer = berlyne.Explorer(world.prior, "PIG(VI)")
a = explorer.act(0)
lap("Explorer.act")
line = (0, a, int(world.prior.support.row(a, 0)[0]))
explorer.observe(*line)
lap("Explorer.observe")
explorer.expected_gain(10)
lap("Explorer.expected_gain")
berlyne.replay(world, np.array([line]), "PIG(VI)")
lap("replay")
berlyne.explore(berlyne.dense_world(0), "PIG(VI)", n_steps=100)
lap("explore a Dense World")
berlyne.explore(berlyne.dense_world(0, n_actions=6), "PIG(VI)", n_steps=100)
lap("the same with six actions instead of four")
berlyne.explore(berlyne.one_two_three_world(0), "PIG(VI)", n_steps=100)
lap("explore a 1-2-3 World")
"""


def first_uses(cache: str) -> dict[str, float]:
    """Return the processor time of each first use in a new process, in seconds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True, text=True)
    return {name: float(taken) for name, taken in (line.split("\t") for line in done.stdout.splitlines())}


def main() -> None:
    """Print one table: nothing compiled, and a second process."""
    parser = argparse.ArgumentParser(description="First use of each entry point, in seconds of processor time.")
    parser.add_argument("--repeat", type=int, default=3, help="number of repetitions; the shortest times count")
    options = parser.parse_args()
    print_environment()
    cold: list[dict[str, float]] = []
    warm: list[dict[str, float]] = []
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(first_uses(cache))
            warm.append(first_uses(cache))
    names = list(cold[0])
    best = [{name: min(times[name] for times in series) for name in names} for series in (cold, warm)]
    rows = [[name, *(f"{times[name]:.2f}" for times in best)] for name in names]
    rows.append(["all", *(f"{sum(times.values()):.1f}" for times in best)])
    print_table(["first use", "nothing compiled, s", "second process, s"], rows)


if __name__ == "__main__":
    main()
