"""Measure time and memory of the whole reproduction: `python benchmarks/reproduction.py [--preset paper] [--jobs 2]`.

Runs a small reproduction first, so that everything is compiled, and then the measured one into a fresh folder. Prints
seconds by the clock and seconds of processor time, of this process and of its workers, for each part.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from berlyne.paper.reproduction import run
from berlyne.paper.reproduction.paper_run import PRESETS

PROCESSOR: dict[str, float] = {}
"""Seconds of processor time of each part."""


def processor_seconds() -> float:
    """Return the processor time of this process and its workers; of workers only if the system has `/proc`."""
    seconds = time.process_time()
    for worker in multiprocessing.active_children():
        stat = Path(f"/proc/{worker.pid}/stat")
        if stat.is_file():
            fields = stat.read_text().rpartition(")")[2].split()  # the first is the third of proc(5): the state
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Store both times of a block."""
    clock, processor = time.perf_counter(), processor_seconds()
    yield
    seconds[name] = time.perf_counter() - clock
    PROCESSOR[name] = processor_seconds() - processor


def main() -> None:
    """Print a table of parts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=PRESETS, default="paper")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run._timed = timed
    with tempfile.TemporaryDirectory() as place:
        small = [sys.executable, "-m", "berlyne", "reproduce", "warm-up", "--preset", "smoke"]
        subprocess.run(small, cwd=place, check=True, stdout=subprocess.DEVNULL)
        begin = time.perf_counter()
        seconds = run.reproduce(Path(place) / "timed", PRESETS[options.preset], jobs=options.jobs).seconds
        total = time.perf_counter() - begin
        size = (Path(place) / "timed" / "report.html").stat().st_size
    print(f"preset {options.preset}, {options.jobs} processes; seconds by the clock and of processor time")
    for name, value in seconds.items():
        print(f"  {name:14s} {value:6.1f} {PROCESSOR[name]:6.1f}")
    print(f"  {'total':14s} {total:6.1f} {sum(PROCESSOR.values()):6.1f}")
    usage = [resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"peak memory {usage[0]:.2f} GiB, {usage[1]:.2f} in a worker; report {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
