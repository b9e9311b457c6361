"""The writer of a lab book is killed at random moments: no acknowledged observation is lost.

Run this file with a number to kill more often: `python tests/end_to_end/test_lab_kill.py 500`.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from amounts import amount
from berlyne import Dirichlet, LabBook
from waiting import Lines, wait_for_child

N = 5
PRIOR = Dirichlet(1.0, n_states=N, n_actions=2)


def observation(i):
    """Line i of what the experiment does: each is told from its number."""
    return i % N, (i // N) % 2, (3 * i + i // 7) % N


def write_until_killed(path, to_parent):
    """Write observations, sometimes undo and repeat one, and acknowledge each after it is written."""
    book = LabBook(path)
    os.write(to_parent, b"-1\n")
    while True:
        i = book.explorer.n_obs
        book.tell(*observation(i))
        os.write(to_parent, f"{i}\n".encode())
        if i % 11 == 5:
            book.undo()
            book.tell(*observation(i))


def killed_once(path, n_lines, part):
    """Start a writer, kill it after `n_lines` lines and a fraction of a line, and return the last acknowledged line."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            write_until_killed(path, write_end)
        finally:
            os._exit(1)
    os.close(write_end)
    acknowledged = Lines(read_end)
    try:
        assert acknowledged.next() == "-1\n"
        began = time.monotonic()
        lines = [acknowledged.next() for _ in range(n_lines)]
        time.sleep(part * (time.monotonic() - began) / n_lines if n_lines else 0.0)
    finally:
        os.kill(child, signal.SIGKILL)
        wait_for_child(child)
    while (line := acknowledged.next()).endswith("\n"):
        lines.append(line)
    os.close(read_end)
    return int(lines[-1]) if lines else None


def kill(path, times, seed=0):
    """Kill so often; returns how many lines there are in the end, and how many files were found cut off."""
    LabBook.new(path, PRIOR, seed=1)
    rng, cut_off = np.random.default_rng(seed), 0
    for _ in range(times):
        before = LabBook(path).explorer.n_obs
        last = killed_once(path, rng.geometric(0.3) - 1, rng.uniform(0.0, 2.0))
        cut_off += not path.read_bytes().endswith(b"\n")
        history = LabBook(path).explorer.history
        n = len(history)
        if last is not None:
            undone = last % 11 == 5 and n == last  # it was struck out, and not told again yet
            assert n in (last + 1, last + 2) or undone, (n, last)
        assert n >= before - 1
        assert history == [observation(i) for i in range(n)]
    return n, cut_off


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed often enough")
def test_nothing_acknowledged_is_lost(tmp_path):
    n_kills = amount(12, 60)
    n, _ = kill(tmp_path / "lab", n_kills)
    assert n > n_kills  # it waits for more, however slow the disk is


def begun_and_killed(path, after):
    """Start a process that creates a book, kill it after some seconds, and return the seconds that it ran."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, b"x")
            LabBook.new(path, PRIOR, seed=1)
        finally:
            os._exit(1)
    os.read(read_end, 1)
    began = time.monotonic()
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    wait_for_child(child)
    os.close(read_end)
    os.close(write_end)
    return time.monotonic() - began


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed often enough")
def test_a_book_whose_creation_is_killed_exists_or_can_be_created(tmp_path):
    LabBook.new(tmp_path / "first", PRIOR)  # so that those to come find all compiled
    usual, rng = begun_and_killed(tmp_path / "second", None), np.random.default_rng(2)
    for i in range(amount(12, 60)):
        begun_and_killed(tmp_path / f"{i}", rng.uniform(0.0, 1.5 * usual))
        is_there = (tmp_path / f"{i}").exists()
        book = LabBook(tmp_path / f"{i}") if is_there else LabBook.new(tmp_path / f"{i}", PRIOR, seed=1)
        book.tell(0, 1, 2)
        assert LabBook(tmp_path / f"{i}").explorer.n_obs == 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print("{} lines, {} times cut off".format(*kill(Path(folder) / "lab", int(sys.argv[1]))))
