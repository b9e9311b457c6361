"""Allowed imports between modules, read from the source, including imports inside functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import berlyne

PACKAGE = Path(berlyne.__file__).parent
MAP = Path(__file__).parents[2] / "CONTRIBUTING.md"
UPPER = ("paper/claims", "figures", "paper/reproduction")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a node, at any depth, which is much quicker than `ast.walk`."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, name, ()):
            yield child
            yield from statements(child)


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a source imports, such as berlyne.worlds.WORLDS."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(path: Path, *packages: str) -> list[str]:
    """Return the names that a module imports from some packages of berlyne."""
    ours = tuple(f"berlyne.{package}" for package in packages)
    return [name for name in imported(ast.parse(path.read_text(encoding="utf-8"))) if name.startswith(ours)]


def files(*folders: str) -> list[Path]:
    """The modules in some folders of the package; at least one in each."""
    listed = {folder: sorted((PACKAGE / folder).glob("*.py")) for folder in folders}
    assert all(listed.values()), listed
    return [path for paths in listed.values() for path in paths]


def test_figures_import_only_results_from_experiments() -> None:
    for path in files("figures"):
        assert imports(path, "claims", "paper", "cli") == [], path
        assert set(imports(path, "experiments")) <= {"berlyne.experiments.Results"}, path


def test_claims_import_no_reproduction_and_no_figures() -> None:
    for path in files("paper/claims"):
        assert imports(path, "paper.reproduction", "figures", "cli") == [], path


UPPER_PACKAGES = ("figures", "paper", "watch", "commands")
CORE = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0]
    not in (*UPPER_PACKAGES, "__init__.py", "cli.py")  # which names it for type checkers
]


def test_the_core_imports_figures_only_through_plotting() -> None:
    assert len(CORE) > 50
    for path in CORE:
        assert imports(path, "figures") == [], path


def test_no_module_of_berlyne_is_imported_inside_functions() -> None:
    for path in files(*UPPER):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert [name for node in functions for name in imported(node) if name.startswith("berlyne")] == [], path


def in_order() -> list[str]:
    """The modules and packages of the map, from the bottom up; files of the engine one by one."""
    ordered = []
    for line in MAP.read_text(encoding="utf-8").split("## The map")[1].split("|---|---|")[1].splitlines():
        if not line.startswith("| `"):
            if ordered:
                break
            continue
        names, about = line.strip("| ").split(" | ", 1)
        listed = re.findall(r"`([^`]+)`", names)
        ordered += [f"engine.{file}" for file in re.findall(r"`([^`]+)`", about)] if listed == ["engine"] else listed
    return ordered


ORDER = in_order()


def line_of(module: str) -> int:
    """Return the line of the map with a module such as `worlds.maze`, or with its package."""
    named = [i for i, name in enumerate(ORDER) if module == name or module.startswith(f"{name}.")]
    if not named:
        raise AssertionError(f"{module} is not in the map of CONTRIBUTING.md")
    return named[0]


def own_imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, anywhere in it but for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in statements(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in statements(node)
    }
    imports_found = set()
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in for_types and str(node.module).startswith("berlyne."):
            package = str(node.module).removeprefix("berlyne.")
            modules = [f"{package}.{alias.name}" for alias in node.names]
            imports_found |= {module if is_there(module) else package for module in modules}
    return imports_found


def is_there(module: str) -> bool:
    place = PACKAGE / module.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file()


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_a_module_imports_only_modules_above_it_in_the_map() -> None:
    paths = [p for p in sorted(PACKAGE.rglob("*.py")) if p.parent != PACKAGE or not p.name.startswith("__")]
    assert own_imports(PACKAGE / "engine" / "__init__.py") == set()
    imported_below = [
        f"{name_of(path)} imports {other}"
        for path in paths
        for other in sorted(own_imports(path))
        if line_of(other) > line_of(name_of(path))
    ]
    assert imported_below == []


def test_the_map_names_only_existing_modules() -> None:
    assert [name for name in ORDER if not is_there(name)] == []
