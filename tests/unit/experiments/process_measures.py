"""Measures that other processes can import, and that show where they are computed."""

import os
import time


def process_id(run):
    """The process that explores."""
    return float(os.getpid())


def zero(run):
    return 0.0


def late_zero(run):
    """A measure that takes its time."""
    time.sleep(0.01)
    return 0.0


def counted(run):
    """Add a byte to the file that the environment names."""
    time.sleep(0.01)
    with open(os.environ["BERLYNE_TEST_COUNT"], "ab") as file:
        file.write(b".")
    return 0.0


def fails_for_unembodied(run):
    return 0.0 / (run.strategy.name != "Unembodied")


def ends_process_for_unembodied(run):
    """As the system does with a process if memory is full."""
    if run.strategy.name == "Unembodied":
        os._exit(1)
    return 0.0
