"""One line of a copy of the package is edited: exactly the parts that depend on it are made again."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import berlyne
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.parts import all_parts
from berlyne.paper.reproduction.stages import STAGES
from unit.experiments.studies import command
from waiting import LIMIT

pytestmark = pytest.mark.timeout(600)  # sixteen reproductions without their computations: 20 s on an idle machine

ALL = set(all_parts())
DRAWN = {f"figure {name}" for name in FIGURES}
CURVES = {f"figure {name}" for name in ("fig3", "fig4", "fig6", "fig7", "figS3", "figS4")}
WORLDS = {"figure fig1", "figure figS1", "figure figS2"}
TASKS = {"tasks", "sensitivity", "figure fig8", "figure fig8-times", "figure sensitivity", "claims", "report"}


class Edit(NamedTuple):
    """A changed line of the package, and the parts that are then made again."""

    path: str
    old: str
    new: str
    made: set[str]


EDITS = {
    "tasks": Edit("tasks.py", "\nHORIZON = 100\n", "\nHORIZON = 100 + 0\n", TASKS),
    "planning": Edit(
        "engine/value_iteration.py", "\nfrom __future__", "\nEDITED = 1\nfrom __future__", ALL - {"structure"} - WORLDS
    ),
    "stage": Edit(
        "paper/reproduction/stages/lengths.py",
        "longest: float = 3.0",
        "longest: float = 3.5",
        {"lengths", "figure index-by-length", "report"},
    ),
    "figure": Edit(
        "figures/ranks.py",
        "from __future__",
        "EDITED = 1\nfrom __future__",
        {"figure fig8", "figure fig8-times", "report"},
    ),
    "style": Edit("figures/style.py", '"font.size": 8.0', '"font.size": 8.5', DRAWN | {"report"}),
    "drawing": Edit(
        "paper/reproduction/drawings/curves.py", "from __future__", "EDITED = 1\nfrom __future__", CURVES | {"report"}
    ),
    "threshold": Edit(
        "paper/claims/learning_curves.py",
        "from __future__",
        "EDITED = 1\nfrom __future__",
        {"figure sensitivity", "claims", "report"},
    ),
    "caption": Edit("paper/reproduction/paper.toml", 'title = "Example maze"', 'title = "A maze"', {"report"}),
    "template": Edit("paper/reproduction/templates/claims.html", ">Claims<", ">All claims<", {"report"}),
    "page": Edit("watch/static/template.html", "<title>", "<title >", {"report"}),
    "section": Edit("paper/reproduction/page/misfit.py", "from __future__", "EDITED = 1\nfrom __future__", {"report"}),
    "settings": Edit(
        "paper/reproduction/paper_run.py", "from __future__", "EDITED = 1\nfrom __future__", ALL - {"explorations"}
    ),
    "docstring": Edit("tasks.py", "from __future__", '"""Another text."""  # and a comment\nfrom __future__', set()),
    "version": Edit("__init__.py", "__version__ = ", "__version__ = 'x' + ", set()),
    "command": Edit("commands/paper.py", "Number of worlds.", "Count of worlds.", set()),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package."""
    folder = tmp_path_factory.mktemp("copy")
    compiled = shutil.ignore_patterns("*.nbi", "*.nbc")  # bytecode stays valid, because times of files are copied
    shutil.copytree(Path(berlyne.__file__).parent, folder / "berlyne", ignore=compiled)
    return folder


def run(package: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with a copy of the package, in another folder than this one."""
    without_compiling = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_DISABLE_JIT": "1"}
    environment = {**os.environ, **without_compiling, "PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=cwd, timeout=2 * LIMIT
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def made(package: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], list[str]]]:
    """Return the parts that are made, and the lines in the terminal, first and after each edit."""
    folder = tmp_path_factory.mktemp("dry")
    edits = [{"path": f"berlyne/{e.path}", "old": e.old, "new": e.new} for e in EDITS.values()]
    script = str(Path(__file__).with_name("dry_runs.py"))
    lines = run(package, script, str(folder), json.dumps(edits), cwd=folder).stdout.splitlines()
    return {name: tuple(json.loads(line)) for name, line in zip(("first", *EDITS), lines, strict=True)}


def test_at_first_all_parts_are_made_and_nothing_is_called_stale(made) -> None:
    parts, lines = made["first"]
    assert sorted(parts) == sorted(ALL)
    assert lines == []


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_makes_the_parts_that_depend_on_it(name: str, made) -> None:
    assert set(made[name][0]) == EDITS[name].made


@pytest.mark.parametrize("name", EDITS)
def test_the_terminal_names_the_parts_the_file_and_those_that_are_kept(name: str, made) -> None:
    edit, (_, lines) = EDITS[name], made[name]
    *reasons, last = lines or [""]
    named = {part for line in reasons for part in line.removeprefix("recomputing ").split(":")[0].split(", ")}
    assert named - {""} == edit.made
    assert set(last.removeprefix("keeping ").split(", ")) - {""} == (ALL - edit.made if edit.made else set())
    assert (not edit.made) == (not any(f"berlyne/{edit.path}" in line for line in reasons))


def test_the_line_of_a_stage_is_short(made) -> None:
    first, *_ = made["stage"][1]
    assert first == "recomputing lengths, report: src changed in berlyne/paper/reproduction/stages/lengths.py"


def test_edited_code_gives_new_numbers_in_a_new_process(package: Path, tmp_path: Path) -> None:
    """The structure index is doubled by an edit; controllability, in the same stage, is unchanged."""
    copy = tmp_path / "source"
    shutil.copytree(package, copy)
    asked = ("reproduce", "study", "--preset", "smoke", "--jobs", "1", "--only", "structure")
    with contextlib.chdir(tmp_path):
        assert command(*asked)[::2] == (0, "")
    before = stage(tmp_path)
    path = copy / "berlyne" / "paper" / "reproduction" / "stages" / "structure.py"
    source, old = path.read_text(encoding="utf-8"), "return structure_index(world), "
    assert source.count(old) == 1
    path.write_text(source.replace(old, "return 2 * structure_index(world), "), encoding="utf-8")
    done = run(copy, "-m", "berlyne", *asked, cwd=tmp_path)
    after = stage(tmp_path)
    assert (after["structure_index"] == 2 * before["structure_index"]).all()
    assert after["controllability"].identical(before["controllability"])
    assert done.stderr == "recomputing structure: src changed in berlyne/paper/reproduction/stages/structure.py\n"


def stage(folder: Path):
    import xarray as xr

    with xr.open_zarr(folder / "study" / "data" / "structure.zarr", chunks=None) as dataset:
        return dataset.load()


def test_every_stage_has_a_module_of_its_own() -> None:
    assert len({type(stage).__module__ for stage in STAGES.values()}) == len(STAGES)
