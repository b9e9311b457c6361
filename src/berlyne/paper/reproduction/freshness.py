"""Find the parts of a reproduction that are out of date, and why.

A part is decided by the sources that its modules import (`source_digests`), its settings, the versions of the packages
that compute it, and the parts that it needs. When a part is made, all of this is recorded in `data/made.json`. A part
whose record differs from what would be recorded now is made again, and so are the parts that need it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.source_digests import external_packages, source_digests
from berlyne.serialization import read_file, write_store_file

PACKAGES = ("numpy", "numba", "scipy", "matplotlib", "jinja2")
"""Packages whose versions can change results; each counts for the parts that import it."""
SETTINGS_MODULES = ("berlyne.paper.reproduction.paper_run", "berlyne.paper.reproduction.assumptions")
"""Modules that hand settings, worlds and stored results to the parts.

They import nearly everything, but the values that they return are recorded, too: settings, the fingerprint of the first
world of each class, and the parts that are needed. So these two files count themselves, but not what they import.
"""
UNRECORDED = "its sources were not recorded"
"""Why a part of an earlier version is made again."""


@dataclass(frozen=True)
class Part:
    """A part of a reproduction, and what decides it.

    Parameters
    ----------
    name : str
        Name of the part, such as "tasks" or "figure fig8".
    outputs : tuple of str
        Files or folders that it consists of, relative to the folder of the reproduction.
    modules : tuple of str
        Modules that make it.
    needs : tuple of str
        Names of the parts that it is made from.
    settings : callable
        Function of a `PaperRun` that returns its settings as data for JSON.
    """

    name: str
    outputs: tuple[str, ...]
    modules: tuple[str, ...]
    needs: tuple[str, ...]
    settings: Callable[[PaperRun], Mapping[str, Any]]


class Freshness:
    """Records of the parts in the folder of a reproduction, compared with the present sources and settings.

    Parameters
    ----------
    paper_run : PaperRun
        The reproduction.
    parts : mapping of str to Part
        All parts, by name.
    """

    def __init__(self, paper_run: PaperRun, parts: Mapping[str, Part]) -> None:
        self.paper_run, self.parts = paper_run, parts
        self.path = paper_run.folder / "data" / "made.json"
        self.records = _parse(read_file(self.path))
        self._expected: dict[str, dict[str, Any]] = {}

    def exists(self, name: str) -> bool:
        """Return whether all outputs of a part exist."""
        return all((self.paper_run.folder / output).exists() for output in self.parts[name].outputs)

    def is_current(self, name: str) -> bool:
        """Return whether a part exists and is up to date."""
        return self.exists(name) and self.records.get(name) == self.expected(name)

    def why_stale(self, name: str) -> str:
        """Return why a part that exists is out of date; empty if it is missing or up to date."""
        if not self.exists(name) or self.is_current(name):
            return ""
        record = self.records.get(name)
        return _differences(record, self.expected(name)) if isinstance(record, dict) else UNRECORDED

    def expected(self, name: str) -> dict[str, Any]:
        """Return the record that a part would have if it were made now."""
        if name not in self._expected:
            part = self.parts[name]
            sources, packages = _code(part.modules)
            record = {
                "sources": sources,
                "packages": packages,
                "settings": part.settings(self.paper_run),
                "needs": {need: _digest(self.expected(need)) for need in part.needs},
            }
            self._expected[name] = json.loads(json.dumps(record))  # as it will be read
        return self._expected[name]

    def record(self, *names: str) -> None:
        """Store the records of parts that were just made."""
        self.records |= {name: self.expected(name) for name in names}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_store_file(self.path, json.dumps(self.records).encode())


def describe_stale(reasons: Mapping[str, str], current: Iterable[str]) -> list[str]:
    """Return lines for the terminal: which parts are made again and why, and which are kept.

    Parameters
    ----------
    reasons : mapping of str to str
        Why each stale part is made again, by name.
    current : iterable of str
        Names of the parts that are kept.

    Returns
    -------
    list of str
        One line for each reason, and one for the parts that are kept; empty if no part is stale.
    """
    lines = []
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name in reasons if reasons[name] == reason]
        lines.append(f"recomputing {', '.join(names)}: {reason}")
    names = list(current)
    return [*lines, f"keeping {', '.join(names)}"] if lines and names else lines


@cache
def _code(modules: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the digests of the sources of some modules, and the versions of the packages that they import."""
    packages = external_packages(*modules, ends=SETTINGS_MODULES)
    versions = {name: version(name) for name in PACKAGES if name in packages}
    return source_digests(*modules, ends=SETTINGS_MODULES), versions


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _parse(content: bytes | None) -> dict[str, Any]:
    """Parse stored records; return none if the file is missing or damaged, so that all parts are made again."""
    try:
        records = json.loads((content or b"{}").decode())
    except (ValueError, RecursionError):
        return {}
    return records if isinstance(records, dict) else {}


def _differences(record: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return the differences between the record of a part and the expected one as text."""
    stored = {key: value if isinstance(value := record.get(key), dict) else {} for key in expected}
    changed = {key: _changed_keys(stored[key], expected[key]) for key in expected}
    texts = []
    if changed["sources"]:
        first, *others = changed["sources"]
        more = f" and {len(others)} other file{'s' * (len(others) > 1)}" if others else ""
        texts.append(f"src changed in {first}{more}")
    texts += [
        f"{name} is {expected['packages'].get(name, 'not used')}, was {stored['packages'].get(name, 'not used')}"
        for name in changed["packages"]
    ]
    if changed["settings"]:
        texts.append(f"settings changed ({', '.join(changed['settings'])})")
    if changed["needs"] and not texts:
        texts.append(f"{' and '.join(changed['needs'])} changed")
    return "; ".join(texts)


def _changed_keys(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Return the keys that are missing on one side or have different values."""
    return [key for key in sorted({*stored, *expected}) if stored.get(key) != expected.get(key)]
