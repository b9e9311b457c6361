"""Time limits stop a test that hangs, and the whole of `.ci/run`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from amounts import amount
from conftest import SLOW
from waiting import LIMIT, wait_until

ROOT = Path(__file__).parents[2]

HANGS = """
import threading

class Lost:
    lock = threading.Lock()

    def __del__(self):
        with self.lock:  # which its own thread holds: an exception would be lost here
            pass

def test_stands_still():
    with Lost.lock:
        Lost()

def test_goes_on():
    pass
"""


def run_pytest(folder, test, *options):
    """Run pytest on one file, with our settings."""
    (folder / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (folder / "test_it.py").write_text(test)
    asked = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", folder, *options, "test_it.py"]
    return subprocess.run([*asked, "-p", "no:cacheprovider"], cwd=folder, capture_output=True, text=True, timeout=LIMIT)


@pytest.mark.parametrize("processes", amount(["1"], ["0", "1"]))
def test_a_test_that_hangs_fails_with_its_stack(tmp_path, processes):
    done = run_pytest(tmp_path, HANGS, "-o", "timeout=1", "-n", processes)
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("Timeout (0:00:01)!\n"), done.stderr
    assert "in __del__" in done.stderr and "in test_stands_still" in done.stderr
    if processes == "1":  # another process goes on with the other tests
        assert "crashed while running 'test_it.py::test_stands_still'" in done.stdout
        assert "1 failed, 1 passed" in done.stdout


def test_every_test_has_a_limit_and_waits_are_shorter(pytestconfig):
    assert LIMIT < float(pytestconfig.getini("timeout")) == 300 < SLOW


SLOW_ONES = """
import pytest

@pytest.fixture
def limit(request):
    marker = request.node.get_closest_marker("timeout")
    return marker and marker.args[0]

def test_quick(limit):
    assert limit is None

@pytest.mark.slow
def test_slow(limit):
    assert limit == 900

@pytest.mark.slow
@pytest.mark.timeout(60)
def test_own(limit):
    assert limit == 60
"""


def test_slow_tests_have_more_time(tmp_path):
    done = run_pytest(tmp_path, SLOW_ONES)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout


@pytest.fixture
def ci(tmp_path):
    """A copy of `.ci/run` in a folder where `make` is a script of our own."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    (tmp_path / ".ci" / "run").chmod(0o755)

    def run(make, limit):
        for name, content in {"make": make, "chromium": "", "ffmpeg": ""}.items():
            (commands / name).write_text(f"#!/bin/sh\n{content}\n")
            (commands / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "LIMIT": limit}
        environment.pop("BERLYNE_LIMITED", None)
        return subprocess.run(
            [tmp_path / ".ci" / "run"], env=environment, capture_output=True, text=True, timeout=LIMIT
        )

    return run


def test_ci_stops_all_its_processes_with_a_message(ci, tmp_path):
    began = time.monotonic()
    done = ci(f"sleep 500 & echo $! > {tmp_path}/pid; wait", "2s")
    assert done.returncode == 124 and time.monotonic() - began < LIMIT
    assert ".ci/run: stopped after 2 s, unfinished; the time limit is 2s" in done.stderr
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie", "the end of sleep")


def test_ci_returns_the_exit_code_of_a_failure(ci):
    done = ci("exit 7", "60s")
    assert (done.returncode, done.stderr) == (7, "")
