"""One reproduction of the smallest size, run once by the command line and read by all tests here.

With `--full` it is run as from a shell, and the figures are drawn again from what it stored. Otherwise it is run in
this process, which has imported everything, and the figures are those that it saved.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from amounts import amount
from berlyne.figures import Drawing
from berlyne.paper.claims import theorems
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.processes import Workers
from unit.experiments.studies import command

REPRODUCTION = 800
"""Seconds for the command line. A reproduction takes a minute on an idle machine, and much longer on a busy one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give more time to the tests that may have to make the reproduction first."""
    for item in items:
        if "made" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("timeout"):
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


@pytest.fixture(scope="module", autouse=True)
def simulate_theorem_2_once() -> Iterator[None]:
    """Its random numbers are the same each time, and it takes longer than all other verdicts together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theorems, "_simulated_z", amount(lambda _: SIMULATED(), theorems._simulated_z))
        yield


SIMULATED = cache(partial(theorems._simulated_z, np.random.default_rng(2)))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Drawing]]:
    """The folder, what was printed, and the drawings that were saved by this process, by name."""
    place, saved, save = tmp_path_factory.mktemp("smoke"), {}, Drawing.save

    def keep(drawing: Drawing, folder: Path, name: str, **options: bool) -> None:
        saved[name] = drawing
        save(drawing, folder, name, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Drawing, "save", keep)
        reproduce = amount(run, run_in_new_process)
        done = reproduce("reproduce", "--preset", "smoke", "--jobs", "1", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return place / "reproduction", done.stdout, saved


@pytest.fixture(scope="session")
def finished(made: tuple[Path, str, dict[str, Drawing]]) -> tuple[Path, str]:
    """The folder, and what was printed."""
    return made[:2]


@pytest.fixture(scope="session")
def folder(finished: tuple[Path, str]) -> Path:
    return finished[0]


@pytest.fixture(scope="session")
def paper_run(folder: Path) -> PaperRun:
    """The reproduction, read from its folder; all tests share what is computed from it."""
    return PaperRun.open(folder)


@pytest.fixture(scope="session")
def drawings(made: tuple[Path, str, dict[str, Drawing]], paper_run: PaperRun) -> dict[str, Drawing]:
    """Every figure, by name."""
    return made[2] or {name: figure.draw(paper_run) for name, figure in FIGURES.items()}


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """Other processes, which import for seconds when they are first used: two with `--full`, otherwise one."""
    with Workers(amount(1, 2)) as started:
        assert started.executor
        started.jobs = 2
        yield started
