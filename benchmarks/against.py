"""Compare the speed of the present version with that of another commit: python benchmarks/against.py COMMIT.

The two versions run in separate processes that alternate, job by job. The ratio is that of the shortest times. The jobs
are whole explorations of the paper's length, long explorations in larger worlds, an `Explorer`, losses of tasks, a
small study, and the first exploration with nothing compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORKER = """
import sys, time, tempfile
import numpy as np
import berlyne
from berlyne import Dirichlet, Experiment, Explorer, dense_world, explore, maze, one_two_three_world
from berlyne.tasks import Tasks, draw_rewards

WORLDS = {"Dense World": (dense_world(0), 3000), "Maze": (maze(0), 2500), "1-2-3 World": (one_two_three_world(0), 1250)}
LARGE = {"Maze of side 100": (maze(0, side=100), 50_000), "dense, 300 states": (dense_world(0, n_states=300), 1000)}
NAMES = "Random", "Unembodied", "CB", "PIG(greedy)", "PIG(Q)", "PIG(VI)", "PIG(VI+)", "PEIG(VI)", "PLC(VI)"

def ask_and_tell(world, name, n):
    run = explore(world, name, n_steps=n)
    steps = list(zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist()))
    explorer = Explorer(world.prior, name)
    begin = time.perf_counter()
    for s, a, s_next in steps:
        explorer.act(s)
        explorer.observe(s, a, s_next)
    return time.perf_counter() - begin

def losses(world):
    run = explore(world, "CB", n_steps=400, snapshots=list(range(10, 410, 10)))
    tasks = Tasks(world, draw_rewards(world.n_states, 0))
    tasks.losses(list(run.snapshots.values())[:1])
    begin = time.perf_counter()
    tasks.losses(list(run.snapshots.values()))
    return time.perf_counter() - begin

def study():
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        Experiment(n_worlds=10, snapshots=(0.1, 1.0)).run(f"{folder}/results.zarr", jobs=1)
        return time.perf_counter() - begin

def timed(world, name, n):
    begin = time.perf_counter()
    explore(world, name, n_steps=n)
    return time.perf_counter() - begin

JOBS = {f"{name}, {kind}": (lambda w=w, name=name, n=n: timed(w, name, n)) for kind, (w, n) in WORLDS.items()
        for name in NAMES}
JOBS |= {f"PIG(VI), {kind}": (lambda w=w, n=n: timed(w, "PIG(VI)", n)) for kind, (w, n) in LARGE.items()}
JOBS |= {f"losses of 40 models, {kind}": (lambda w=w: losses(w)) for kind, (w, _) in WORLDS.items()}
JOBS["Explorer, 2000 steps in a maze"] = lambda: ask_and_tell(maze(0), "PIG(VI)", 2000)
JOBS["a study of 450 explorations"] = study

print("\\t".join(JOBS), flush=True)
for line in sys.stdin:
    print(JOBS[line.strip()](), flush=True)
"""

FIRST = """
import time
begin = time.perf_counter()
import berlyne
world = berlyne.maze(0)
berlyne.explore(world, "PIG(VI)", n_steps=2500)
print(time.perf_counter() - begin)
"""


def start_process(source: Path, cache: str, script: str) -> subprocess.Popen[str]:
    """Start a Python process that imports berlyne from `source`."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def run_job(worker: Any, job: str) -> float:
    """Run a job in a worker process and return its time in seconds."""
    worker.stdin.write(f"{job}\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def time_first_exploration(sources: list[Path], rounds: int) -> None:
    """Print the time of import, maze and first exploration with nothing compiled."""
    times: list[list[float]] = [[] for _ in sources]
    for _ in range(rounds):
        for source, taken in zip(sources, times, strict=True):
            with tempfile.TemporaryDirectory() as cache:
                out, _ = start_process(source, cache, FIRST).communicate()
            taken.append(float(out))
    before, now = (min(taken) for taken in times)
    print(
        f"| import, maze and first exploration, nothing compiled | {before:.1f} s | {now:.1f} s | {now / before:.2f} |"
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description="Compare the speed of this version with that of another commit.")
    parser.add_argument("commit")
    parser.add_argument("--rounds", type=int, default=12, help="number of rounds; the shortest time counts")
    parser.add_argument("--cold", type=int, default=2, help="number of rounds with nothing compiled")
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", options.commit, "src"], cwd=root, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        sources = [Path(folder) / "src", root / "src"]
        workers = [start_process(s, f"{folder}/cache-{i}", WORKER) for i, s in enumerate(sources)]
        jobs, _ = (worker.stdout.readline().strip().split("\t") for worker in workers if worker.stdout)
        print(f"| | {options.commit[:9]} | now | now / then |\n|---|---:|---:|---:|")
        for job in jobs:
            for worker in workers:
                run_job(worker, job)  # compile and fill caches
            rounds = [[run_job(worker, job) for worker in workers] for _ in range(options.rounds)]
            before, now = (min(column) for column in zip(*rounds, strict=True))
            print(f"| {job} | {before * 1e3:.2f} ms | {now * 1e3:.2f} ms | {now / before:.2f} |", flush=True)
        for worker in workers:
            worker.communicate()
        time_first_exploration(sources, options.cold)


if __name__ == "__main__":
    main()
