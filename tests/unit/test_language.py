"""Docstrings that numpydoc-aware tools can read, and names and phrases that a newcomer understands.

Run this file with folders or files of `src` as arguments to list what it would complain about there.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import berlyne

PACKAGE = Path(berlyne.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "See Also", "Notes", "References", "Examples")
ITEMS = ("Parameters", "Attributes")
"""Sections that list `name : type`, each with an indented sentence."""

UNCLEAR_NAMES = frozenset(
    [
        *("how", "found", "said", "kept", "told", "given", "there", "some", "mind", "minds", "thoughts", "again"),
        *("aside", "what", "which", "that", "those", "these"),
    ]
)
"""They could hold anything. A name is the noun of what it holds."""

UNCLEAR_OPENINGS = ("Of ", "Where ", "What ", "Who ", "That ", "So ", "The same ")
"""A docstring opens with a verb, or with the noun of what it describes."""

UNCLEAR_PHRASES = re.compile(
    r"\b(one's|somebody|nobody|whatever|whoever|gladly|to be had|that which|all that|goes? by|of one's own|"
    r"worked out|gone on with|it is told|is told (?:of|that|how)|so many|so much|as it is asked|asked for it|"
    r"makes? anew|made anew|comes? to|leaves? no trace|is put there|go(?:es)? ways|thinks? of)\b"
)
"""Phrases that are hard to read for people who learned English late; `CONTRIBUTING.md` has plainer ones."""

ITEM = re.compile(r"^(?P<names>\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*) : (?P<type>.*)$")


class Documented(NamedTuple):
    """A docstring, the name and line of what it documents, and the names that its items may have."""

    name: str
    line: int
    text: str
    names: frozenset[str]


def documented(tree: ast.Module) -> Iterator[Documented]:
    """Every docstring of a module."""

    def visit(node: Any, prefix: str) -> Iterator[Documented]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                text = ast.get_docstring(child)
                if text:
                    yield Documented(name, child.lineno, text, frozenset(item_names(child)))
                yield from visit(child, f"{name}.")
            elif not isinstance(child, ast.expr):
                yield from visit(child, prefix)

    text = ast.get_docstring(tree)
    if text:
        yield Documented("the module", 1, text, frozenset())
    yield from visit(tree, "")


def item_names(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    """Parameters of a function; of a class its fields, properties, and the parameters of its constructor."""
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            yield argument.arg
        for starred in (arguments.vararg, arguments.kwarg):
            if starred is not None:
                yield starred.arg
        return
    for child in ast.walk(node):
        if isinstance(child, ast.AnnAssign | ast.Assign):
            for target in [child.target] if isinstance(child, ast.AnnAssign) else child.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id
                    elif isinstance(name, ast.Attribute):
                        yield name.attr
        elif isinstance(child, ast.Call):  # vars(self).update(name=...)
            yield from (keyword.arg for keyword in child.keywords if keyword.arg)
        elif isinstance(child, ast.FunctionDef):
            yield child.name
            if child.name == "__init__":
                yield from item_names(child)


def docstring_problems(doc: Documented) -> Iterator[str]:
    """What is wrong with the form of one docstring."""
    lines = doc.text.splitlines()
    section, i = "", 0
    while i < len(lines):
        line = lines[i]
        underline = lines[i + 1] if i + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", underline):
            section = line.strip()
            if section not in SECTIONS:
                yield f"has a section {section!r}, which numpydoc does not know"
            if len(underline) != len(line):
                yield f"underlines {section!r} with {len(underline)} dashes"
            i += 2
            continue
        if section in ITEMS and line and not line.startswith(" "):
            item = ITEM.match(line)
            if item is None:
                yield f"has {line!r} in {section}, which is not `name : type`"
            else:
                yield from item_problems(doc, item, lines[i + 1] if i + 1 < len(lines) else "")
        elif section in ("Returns", "Yields", "Raises") and line and not line.startswith(" "):
            if not (lines[i + 1] if i + 1 < len(lines) else "").startswith("    "):
                yield f"has {line!r} in {section} without an indented sentence below it"
        elif not section and ITEM.match(line):
            yield f"has {line!r} outside of a section"
        i += 1


def item_problems(doc: Documented, item: re.Match[str], below: str) -> Iterator[str]:
    """What is wrong with one item of a section."""
    if not below.startswith("    "):
        yield f"has no indented sentence below {item['names']!r}"
    if item["type"].endswith(".") and not item["type"].endswith("..."):
        yield f"has a sentence, not a type, beside {item['names']!r}"
    for name in item["names"].replace("*", "").split(", "):
        if name not in doc.names:
            yield f"documents {name!r}, which is neither a parameter nor an attribute"


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string of a module with its line, f-strings without their expressions."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value for part in node.values if isinstance(part, ast.Constant))
            yield node.lineno, "{}".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that a module assigns, takes as arguments, or defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg != "what":  # a public parameter: what to plot
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def problems(path: Path) -> list[str]:
    """All complaints about one file, each with its line."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    complaints = []
    for doc in documented(tree):
        complaints += [(doc.line, f"{doc.name} {problem}") for problem in docstring_problems(doc)]
        if doc.text.startswith(UNCLEAR_OPENINGS):
            complaints.append((doc.line, f"{doc.name} opens with {doc.text.split()[0]!r}"))
    for line, text in texts(tree):
        complaints += [(line, f"a text has {match.group()!r}") for match in UNCLEAR_PHRASES.finditer(text)]
    for number, line in enumerate(source.splitlines(), 1):
        comment = line.partition("  # ")[2] or (line.strip() if line.strip().startswith("# ") else "")
        complaints += [(number, f"a comment has {match.group()!r}") for match in UNCLEAR_PHRASES.finditer(comment)]
    complaints += [
        (line, f"the name {name!r} could hold anything")
        for line, name in bound_names(tree)
        if name.strip("_") in UNCLEAR_NAMES
    ]
    return [f"{path}:{line}: {problem}" for line, problem in sorted(set(complaints))]


def test_docstrings_names_and_texts_are_plain() -> None:
    assert len(FILES) > 100
    assert [problem for path in FILES for problem in problems(path)] == []


def public_callables() -> Iterator[tuple[str, Any]]:
    """Functions and classes that users call, by name."""
    for name in berlyne.__all__:
        public = getattr(berlyne, name)
        is_protocol = getattr(public, "_is_protocol", False)
        if inspect.isfunction(public) or (inspect.isclass(public) and not is_protocol):
            yield name, public


def test_public_functions_and_classes_document_every_parameter() -> None:
    undocumented = {}
    for name, public in public_callables():
        lines = (inspect.getdoc(public) or "").splitlines()
        items = [item["names"] for line in lines if (item := ITEM.match(line))]
        in_docstring = {part.strip("*") for names in items for part in names.split(", ")}
        undocumented[name] = set(inspect.signature(public).parameters) - in_docstring
    assert len(undocumented) > 30
    assert {name: parameters for name, parameters in undocumented.items() if parameters} == {}


if __name__ == "__main__":
    paths = [
        path
        for place in sys.argv[1:]
        for path in ([Path(place)] if place.endswith(".py") else Path(place).rglob("*.py"))
    ]
    for path in sorted(paths):
        for problem in problems(path):
            print(problem)
