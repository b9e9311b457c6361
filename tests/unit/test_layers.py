"""Who may import whom: read from the source, so that it holds of imports inside functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import berlyne

PACKAGE = Path(berlyne.__file__).parent
UPPER = [path for folder in ("claims", "figures", "reproduction") for path in sorted((PACKAGE / folder).glob("*.py"))]

every_upper = pytest.mark.parametrize("path", UPPER, ids=lambda path: str(path.relative_to(PACKAGE)))


def imported(tree: ast.AST) -> Iterator[str]:
    """Names of all that a piece of source imports, such as berlyne.worlds.WORLDS."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(path: Path, *packages: str) -> list[str]:
    """What a module imports from some packages of ours."""
    ours = tuple(f"berlyne.{package}" for package in packages)
    return [name for name in imported(ast.parse(path.read_text(encoding="utf-8"))) if name.startswith(ours)]


@pytest.mark.parametrize("path", sorted((PACKAGE / "figures").glob("*.py")), ids=lambda path: path.name)
def test_figures_know_no_claims_no_study_and_of_experiments_only_what_results_are(path: Path) -> None:
    assert imports(path, "claims", "reproduction", "cli") == []
    assert set(imports(path, "experiments")) <= {"berlyne.experiments.Results"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "claims").glob("*.py")), ids=lambda path: path.name)
def test_claims_know_no_reproduction_and_no_figures(path: Path) -> None:
    assert imports(path, "reproduction", "figures", "cli") == []


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_the_core_reaches_for_figures_through_one_door(path: Path) -> None:
    assert imports(path, "figures") == []


@every_upper
def test_nothing_of_ours_is_imported_late(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [name for node in functions for name in imported(node) if name.startswith("berlyne")] == []


def test_importing_berlyne_imports_nothing_heavy() -> None:
    script = "import sys, berlyne; print([m for m in ('matplotlib', 'numba', 'xarray', 'zarr') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
