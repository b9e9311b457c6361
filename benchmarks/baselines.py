"""Freeze the results of all explorers: python benchmarks/baselines.py FOLDER.

Runs the explorers with the settings of their authors and with tuned settings on the test split, preset quick, and
writes `benchmarks/baselines.json`. Tuned explorers do not run in taxi, where PSRL with a plan every 5 steps takes a
quarter of an hour. Bounds that are computed in seconds are computed; those of larger tasks are taken from the old
file, if there is one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from berlyne.benchmarks import AGENTS, TUNED, Scoreboard, run, suite

FILE = Path(__file__).with_name("baselines.json")


def main() -> None:
    """Run what is missing in the stores of the folder, and write the file."""
    folder, tasks = Path(sys.argv[1]), suite("tabular-v1")
    folder.mkdir(exist_ok=True)
    small = tasks.select([task.name for task in tasks if task.name != "taxi"])
    by_authors = Scoreboard.from_results(run(tasks, AGENTS, folder / "authors.zarr", preset="quick", jobs=2))
    tuned = Scoreboard.from_results(run(small, TUNED, folder / "tuned.zarr", preset="quick", jobs=2))
    old = Scoreboard.load(FILE).bounds if FILE.exists() else {}
    replace(by_authors.join(tuned), bounds=old).with_bounds().save(FILE)


if __name__ == "__main__":
    main()
