"""Measure compilation, time per step and memory with many actions: python benchmarks/actions.py."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from measure import print_environment, print_table

SCRIPT = """
import resource, sys, time
import numpy as np
import berlyne
n_actions, n_states = int(sys.argv[1]), 20
theta = np.random.default_rng(0).dirichlet(np.ones(n_states), size=(n_actions, n_states))
world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=n_states, n_actions=n_actions))

def seconds(strategy, n_steps):
    begin = time.process_time()
    berlyne.explore(world, strategy, n_steps=n_steps)
    return time.process_time() - begin

print(seconds("PIG(VI)", 1))
for strategy, n_steps in (("PIG(VI)", max(100, 100_000 // n_actions)), ("PIG(greedy)", 100_000)):
    seconds(strategy, 1)
    one = min(seconds(strategy, 1) for _ in range(3))
    print((min(seconds(strategy, n_steps + 1) for _ in range(3)) - one) / n_steps * 1e6)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def measure_in_process(n_actions: int, cache: str) -> list[float]:
    """Measure one number of actions in a new process.

    Return the seconds of the first exploration, the µs per step of PIG(VI) and PIG(greedy), and the memory in MiB.
    Times are processor times, so that other work on the machine counts little.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", SCRIPT, str(n_actions)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [float(x) for x in done.stdout.split()]


def main() -> None:
    """Print the table. All sizes share one cache of compiled code, which is empty at first."""
    parser = argparse.ArgumentParser(description="Cost of many actions, with 20 states that can all follow each other.")
    parser.add_argument("sizes", type=int, nargs="*", default=[4, 3, 6, 100, 101, 1000, 5000])
    options = parser.parse_args()
    print_environment()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for n_actions in options.sizes:
            first, planned, greedy, memory = measure_in_process(n_actions, cache)
            second = measure_in_process(n_actions, cache)[0]
            times = f"{first:.1f}", f"{second:.1f}", f"{planned:,.1f}", f"{greedy:.2f}"
            rows.append([f"{n_actions:,}", *times, f"{memory:.0f}"])
    steps = "PIG(VI), µs a step", "PIG(greedy), µs a step"
    print_table(["actions", "first exploration, s", "in the next process, s", *steps, "memory, MiB"], rows)


if __name__ == "__main__":
    main()
