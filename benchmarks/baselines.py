"""Freeze the results of all explorers: python benchmarks/baselines.py FOLDER [--runs N] [--jobs K].

Runs the explorers with the settings of their authors and with tuned settings on the test split, preset full, and
writes `benchmarks/baselines.json` with the bounds of all tasks, at the end and of the area. Everything is kept in
FOLDER, so that the same command continues after an interruption, and with more runs adds only those.

Tuned PSRL does not run in taxi. It draws 1.5 million numbers for a plan there, and plans every 5 steps: 100 seconds of
processor time for a run, as much as 4 runs of the 14 explorers of the authors in all 24 tasks.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from berlyne.benchmarks import AGENTS, TUNED, Scoreboard, run, suite
from berlyne.benchmarks.scores import fluid_bound, task_worlds
from berlyne.benchmarks.suite import PRESETS, SPLITS, Suite

FILE = Path(__file__).with_name("baselines.json")
SLOW, SLOW_TASK = "PSRL(PIG, replan=5)", "taxi"


def computed_bounds(folder: Path, tasks: Suite, n_runs: int) -> dict[str, list[list[float]]]:
    """Return value, gap and area of the bounds of all worlds of each task; those in `bounds.json` are not computed."""
    file = folder / "bounds.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for task in sorted(tasks, key=lambda task: task.is_random):
        done = known.setdefault(task.name, [])
        for world in task_worlds(task, SPLITS["test"], n_runs)[len(done) :]:
            bound = fluid_bound(world, task.n_steps)
            done.append([bound.value, bound.gap, bound.area])
            file.write_text(json.dumps(known))
    return {name: worlds[:n_runs] for name, worlds in known.items()}


def main() -> None:
    """Run what is missing in the stores of the folder, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=PRESETS["full"][0])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folder, tasks = arguments.folder, suite("tabular-v1")
    folder.mkdir(exist_ok=True)
    options = {"preset": "full", "n_worlds": arguments.runs, "jobs": arguments.jobs}
    others = tasks.select([task.name for task in tasks if task.name != SLOW_TASK])
    fast = [name for name in TUNED if name != SLOW]
    board = Scoreboard.from_results(run(tasks, AGENTS, folder / "authors.zarr", **options))
    tuned = Scoreboard.from_results(run(others, TUNED, folder / "tuned.zarr", **options))
    in_slow = Scoreboard.from_results(run(tasks.select([SLOW_TASK]), fast, folder / "slow.zarr", **options))
    board = board.join(tuned)
    for name, values in board.values.items():
        rows = [board.agents.index(agent) for agent in in_slow.agents]
        values[rows, board.tasks.index(SLOW_TASK)] = in_slow.values[name][:, 0]
    bounds = {name: np.mean(worlds, axis=0) for name, worlds in computed_bounds(folder, tasks, arguments.runs).items()}
    by_task = [{name: float(f"{numbers[i]:.6g}") for name, numbers in bounds.items()} for i in range(3)]
    replace(board, bounds=by_task[0], gaps=by_task[1], area_bounds=by_task[2]).save(FILE)


if __name__ == "__main__":
    main()
