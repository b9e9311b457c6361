"""One reproduction of the smallest size, made by the command line once and read by all tests here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from waiting import LIMIT


def berlyne(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "berlyne", *arguments], cwd=cwd, capture_output=True, text=True, timeout=LIMIT
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder, and what was printed."""
    place = tmp_path_factory.mktemp("smoke")
    done = berlyne("reproduce", "--preset", "smoke", "--jobs", "2", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return place / "reproduction", done.stdout
