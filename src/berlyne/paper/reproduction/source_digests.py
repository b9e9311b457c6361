"""Digests of the sources that a module depends on, found from its imports.

A module depends on itself, on the modules of berlyne that it imports anywhere in its file, also inside functions, and
on the modules that those import. Imports for type checkers do not count. `from package import name` leads to the module
that defines the name, not to everything that the package imports, and `import berlyne` leads nowhere, because
`berlyne/__init__.py` only passes names on. `files("berlyne.package")` leads to the data files of that package, such as
templates and style sheets. Modules that are imported by a computed name, as in `berlyne.plotting`, do not count.

Comments, docstrings and the layout of code change no number, so they change no digest.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""Directory that contains the package."""
DIGEST_LENGTH = 16
"""Number of hexadecimal digits of the digest of one file."""


def source_digests(*modules: str, ends: Collection[str] = ()) -> dict[str, str]:
    """Return the digest of every file that some modules depend on.

    Parameters
    ----------
    *modules : str
        Names of modules, such as "berlyne.tasks".
    ends : collection of str
        Modules whose own files count, but not what they import.

    Returns
    -------
    dict of str to str
        Digests by path, such as "berlyne/tasks.py", in alphabetical order.
    """
    digests: dict[str, str] = {}
    for module in _closure(modules, ends):
        source = _read_source(module)
        digests[source.name] = source.digest
        for package in source.data_packages:
            digests |= _data_digests(package)
    return dict(sorted(digests.items()))


def external_packages(*modules: str, ends: Collection[str] = ()) -> set[str]:
    """Return the names of other packages that some modules and those they depend on import."""
    return {package for module in _closure(modules, ends) for package in _read_source(module).external}


@dataclass(frozen=True)
class _Source:
    """A source file: its name and digest, and the modules, other packages and data files that it uses."""

    name: str
    digest: str
    imports: tuple[str, ...]
    external: tuple[str, ...]
    data_packages: tuple[str, ...]


def _closure(modules: Iterable[str], ends: Collection[str]) -> set[str]:
    """Return some modules and those that they depend on."""
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += () if module in ends else _read_source(module).imports
    return reached


@cache
def _read_source(module: str) -> _Source:
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(f"{module} is not a module of berlyne")
    code = _analyse(path.read_bytes())
    ours = {_defining_module(origin, name) for origin, name in code.imported if _is_ours(origin)}
    external = {origin.partition(".")[0] for origin, _ in code.imported if not _is_ours(origin)}
    return _Source(
        path.relative_to(ROOT).as_posix(),
        code.digest,
        tuple(sorted(ours - {module, "berlyne"})),
        tuple(sorted(external)),
        code.data_packages,
    )


@dataclass(frozen=True)
class _Code:
    """Contents of a source file alone, without those of other files.

    Attributes
    ----------
    digest : str
        Digest of the code without comments and docstrings.
    imported : tuple of (str, str)
        Module and name of every import except those for type checkers; the name is empty for `import module`.
    passed_on : tuple of (str, str, str)
        Name, module and original name of every import of berlyne at the top level.
    data_packages : tuple of str
        Packages whose data files it reads.
    """

    digest: str
    imported: tuple[tuple[str, str], ...]
    passed_on: tuple[tuple[str, str, str], ...]
    data_packages: tuple[str, ...]


@cache
def _analyse(content: bytes) -> _Code:
    tree = ast.parse(content)
    nodes = list(_walk_runtime(tree))
    passed_on = tuple(
        (alias.asname or alias.name, node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module)
        for alias in node.names
    )
    imported, data_packages = tuple(_imported_names(nodes)), tuple(sorted(set(_data_packages(nodes))))
    return _Code(_digest(_code_text(tree)), imported, passed_on, data_packages)


def _is_ours(module: str) -> bool:
    return module == "berlyne" or module.startswith("berlyne.")


def _path(module: str) -> Path | None:
    """Return the file of a module or package; None if there is none."""
    place = ROOT.joinpath(*module.split("."))
    candidates = (place / "__init__.py", place.with_name(place.name + ".py"))
    return next((path for path in candidates if path.is_file()), None)


def _defining_module(origin: str, name: str) -> str:
    """Return the module that `from origin import name` depends on; an empty name stands for `import origin`.

    If a package only passes the name on, this is the module that it imports the name from.
    """
    if not name:
        return origin
    if _path(f"{origin}.{name}") is not None:
        return f"{origin}.{name}"
    path = _path(origin)
    if path is not None and path.name == "__init__.py":
        for known_as, module, original in _analyse(path.read_bytes()).passed_on:
            if name == known_as:
                return _defining_module(module, original)
    return origin


def _imported_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield module and name of every import; the name is empty for `import module`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def _walk_runtime(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes of a tree except those under `if TYPE_CHECKING`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _code_text(tree: ast.Module) -> bytes:
    """Return code in one fixed layout, without comments and without strings that stand alone, such as docstrings.

    The tree is changed.
    """

    class RemoveTexts(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
            is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            return None if is_text else node

    return ast.unparse(RemoveTexts().visit(tree)).encode()


def _data_packages(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the packages whose data files a module reads with `files("berlyne.package")`."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "files" and node.args:
            package = node.args[0]
            if isinstance(package, ast.Constant) and isinstance(package.value, str) and _is_ours(package.value):
                yield package.value


@cache
def _data_digests(package: str) -> dict[str, str]:
    """Return the digests of the data files in the folder of a package and below, by path."""
    folder = ROOT.joinpath(*package.split("."))
    paths = [p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")]
    return {path.relative_to(ROOT).as_posix(): _digest(path.read_bytes()) for path in paths}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]
