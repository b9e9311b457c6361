"""Measure the time before the first step and the overhead of an `Explorer`: python benchmarks/startup.py."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from measure import Loop, print_environment, print_table, seconds

from berlyne import Explorer, explore, maze

FIRST = """
import time
begin = time.perf_counter()
import berlyne
imported = time.perf_counter()
world = berlyne.maze(0)
made = time.perf_counter()
berlyne.explore(world, "PIG(VI)", n_steps=2500)
print(imported - begin, made - imported, time.perf_counter() - made)
"""


def time_first_exploration(cache: str) -> list[float]:
    """Return the seconds that a new process takes to import, to create a maze, and to explore it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True, capture_output=True, text=True)
    return [float(x) for x in done.stdout.split()]


def explorer_step(name: str, n_steps: int = 20_000) -> float:
    """Return the time of `act` and `observe` together, in microseconds."""
    world = maze(0)
    run = explore(world, name, n_steps=n_steps)
    history = list(zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True))
    explorer = Explorer(world.prior, name)  # type: ignore[arg-type]  # our worlds have priors

    def go() -> None:
        for s, a, s_next in history:
            explorer.act(s)
            explorer.observe(s, a, s_next)

    return seconds(go) / n_steps * 1e6


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Time before the first step, and overhead of an Explorer.")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="number of rounds; the median counts for processes, the shortest time for steps",
    )
    options = parser.parse_args()
    print_environment()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cold = [time_first_exploration(os.path.join(folder, str(i))) for i in range(min(options.rounds, 3))]
        warm = [time_first_exploration(os.path.join(folder, "0")) for _ in range(options.rounds)]
    for case, times in (("nothing compiled yet", cold), ("compiled before", warm)):
        rows.append([case, *(f"{statistics.median(column):.2f}" for column in zip(*times, strict=True))])
    print_table(["a fresh process, seconds", "import berlyne", "make a maze", "explore it, 2500 steps"], rows)
    rows = []
    for name in ("Random", "PIG(VI)"):
        whole = min(explorer_step(name) for _ in range(options.rounds))
        kernel = min(Loop(maze(0), name, 20_000).run_piece(20_000) for _ in range(options.rounds))
        rows.append([name, f"{whole:.1f}", f"{kernel:.2f}", f"{whole - kernel:.1f}"])
    print_table(["Explorer in a maze, µs a step", "act and observe", "the same in explore", "overhead"], rows)


if __name__ == "__main__":
    main()
