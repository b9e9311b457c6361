"""Measure time and memory of the whole reproduction: `python benchmarks/reproduction.py [--preset paper] [--jobs 2]`.

Runs `berlyne reproduce` twice into fresh folders, the second time with everything compiled, and prints
the second run stage by stage.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def reproduce(folder: Path, preset: str, jobs: int) -> float:
    """Run one reproduction and return its time in seconds, including the start of the interpreter."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "berlyne", "reproduce", str(folder), "--preset", preset, "--jobs", str(jobs)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Print a table of stages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        reproduce(Path(place) / "warm-up", "smoke", options.jobs)
        total = reproduce(Path(place) / "timed", options.preset, options.jobs)
        seconds = json.loads((Path(place) / "timed" / "seconds.json").read_text())
    print(f"preset {options.preset}, {options.jobs} threads")
    for name, value in seconds.items():
        print(f"  {name:14s} {value:6.1f} s")
    print(f"  {'total':14s} {total:6.1f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GiB")


if __name__ == "__main__":
    main()
