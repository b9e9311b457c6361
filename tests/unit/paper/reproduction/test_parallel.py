"""Worlds are processed in parallel: in order, by other processes, until one fails or the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from berlyne.paper.reproduction import parallel
from berlyne.paper.reproduction.parallel import MIN_ITEMS, parallel_map
from waiting import Lines, wait_until

MANY = list(range(10 * MIN_ITEMS))


def test_the_answers_come_in_order():
    assert parallel_map(2)("squares", MANY, lambda i: i * i) == [i * i for i in MANY]


def test_other_processes_do_it_on_two_cores_and_this_one_on_one(tmp_path):
    def work(i):
        (tmp_path / str(os.getpid())).touch()
        if i:  # this process, and the two that are to come
            wait_until(lambda: len(list(tmp_path.iterdir())) >= 3, "three processes", pause=0.001)
        return os.getpid()

    where = parallel_map(2)("where", MANY, work)
    assert len(set(where[1:])) == 2
    assert os.getpid() not in where[1:]
    assert set(parallel_map(1)("where", MANY, lambda i: os.getpid())) == {os.getpid()}


def test_a_few_items_are_done_here():
    assert set(parallel_map(2)("where", MANY[:MIN_ITEMS], lambda i: os.getpid())) == {os.getpid()}
    assert set(parallel_map(2)("where", MANY[: MIN_ITEMS + 1], lambda i: os.getpid())) != {os.getpid()}


def test_threads_do_it_where_processes_cannot_be_forked(monkeypatch):
    monkeypatch.setattr(parallel.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert parallel_map(2)("where", MANY, lambda i: (i, os.getpid())) == [(i, os.getpid()) for i in MANY]


def test_remaining_items_are_skipped_after_a_failure(tmp_path):
    def work(i):
        if i == 1:
            raise ValueError("this world is flat")
        (tmp_path / str(i)).touch()
        time.sleep(0.05)  # half of the rest would take three seconds

    with pytest.raises(ValueError, match="this world is flat"):
        parallel_map(2)("worlds", MANY, work)
    assert len(list(tmp_path.iterdir())) < len(MANY) // 2


PARENT = """
import os, time
from berlyne.paper.reproduction.parallel import parallel_map

def work(i):
    if i:
        os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: two of them write at once
        time.sleep(600)

parallel_map(2)("long", list(range(100)), work)
"""


def test_processes_end_with_a_parent_that_is_killed():
    """They hold the other end of the pipe, which is at its end when the last of them is gone."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            lines = Lines(parent.stdout.fileno())
            children = [int(lines.next()) for _ in range(2)]
        finally:
            parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=60)
    assert parent.pid not in children
