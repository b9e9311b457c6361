"""One reproduction of the smallest size, run once by the command line and read by all tests here."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from berlyne.processes import Workers
from unit.experiments.studies import command

REPRODUCTION = 800
"""Seconds for the command line. A reproduction takes a minute on an idle machine, and much longer on a busy one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give more time to the tests that may have to make the reproduction first."""
    for item in items:
        if "finished" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(REPRODUCTION + 100))


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, because a new one would import for more than a second."""
    with contextlib.chdir(cwd):
        return subprocess.CompletedProcess(arguments, *command(*arguments))


def run_in_new_process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as from a shell."""
    return subprocess.run(
        [sys.executable, "-m", "berlyne", *arguments], cwd=cwd, capture_output=True, text=True, timeout=REPRODUCTION
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder, and what was printed."""
    place = tmp_path_factory.mktemp("smoke")
    done = run_in_new_process("reproduce", "--preset", "smoke", "--jobs", "1", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return place / "reproduction", done.stdout


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """Two processes, which import for seconds when they are first used."""
    with Workers(2) as started:
        yield started
