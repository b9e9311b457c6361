"""Items are processed in order, by spawned processes that serve all stages, until one fails or the parent ends."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import berlyne
from berlyne.processes import MIN_ITEMS, Workers
from berlyne.serialization import StoreError
from waiting import Lines, wait_until

MANY = list(range(10 * MIN_ITEMS))


def square(i: int) -> int:
    return i * i


def process(_: int) -> int:
    return os.getpid()


def process_beside_another(folder: Path, _: int) -> int:
    """Return the process, once two of them work."""
    (folder / str(os.getpid())).touch()
    wait_until(lambda: len(list(folder.iterdir())) >= 2, "two processes", pause=0.001)
    return os.getpid()


def fail_at_one(folder: Path, i: int) -> None:
    if i == 1:
        raise ValueError("this world is flat")
    (folder / str(i)).touch()
    time.sleep(0.05)  # half of the rest would take three seconds


def test_the_same_processes_serve_all_stages_and_answer_in_order(tmp_path):
    with Workers(2) as workers:
        first = workers.map("where", MANY, partial(process_beside_another, tmp_path))
        assert len(set(first)) == 2 and os.getpid() not in first
        assert workers.map("squares", MANY, square) == [i * i for i in MANY]
        assert set(workers.map("where", MANY, process)) <= set(first)
        assert workers.executor.submit(process, 0).result() in first


def test_one_job_or_a_few_items_start_no_process():
    with Workers(1) as one, Workers(2) as two:
        assert set(one.map("where", MANY, process)) == {os.getpid()}
        assert set(two.map("where", MANY[:MIN_ITEMS], process)) == {os.getpid()}
        assert "executor" not in {**vars(one), **vars(two)}
        assert two.are_useful(MIN_ITEMS + 1) and not two.are_useful(MIN_ITEMS)


def test_remaining_items_are_skipped_after_a_failure(tmp_path):
    with Workers(2) as workers, pytest.raises(ValueError, match="this world is flat"):
        workers.map("worlds", MANY, partial(fail_at_one, tmp_path))
    assert len(list(tmp_path.iterdir())) < len(MANY) // 2


def end_process(i: int) -> None:
    os._exit(1)


def test_a_process_that_is_killed_gives_one_sentence():
    with pytest.raises(StoreError, match=r"2 processes.*--jobs"), Workers(2) as workers:
        workers.map("worlds", MANY, end_process)


def test_nothing_forks_and_no_warning_is_silenced():
    """A process with threads must not be forked; Python warns, and the warning must be seen."""
    package = Path(berlyne.__file__).parent
    folders = package / "paper" / "reproduction", package / "experiments"
    for path in [package / "processes.py", *(path for folder in folders for path in folder.rglob("*.py"))]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert "fork" not in texts and not any("multi-threaded" in str(text) for text in texts), path
        assert "os.fork" not in ast.unparse(tree), path


WORK = """
import os, time

def work(i):
    os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: two of them write at once
    time.sleep(600)
"""
PARENT = """
from berlyne.processes import Workers
from work import work

Workers(2).map("long", list(range(100)), work)
"""


def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    """They hold the other end of the pipe, which is at its end when the last of them is gone."""
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            lines = Lines(parent.stdout.fileno())
            children = {int(lines.next()) for _ in range(2)}
        finally:
            parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=60)
    assert len(children) == 2 and parent.pid not in children
