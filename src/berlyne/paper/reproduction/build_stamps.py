"""What was made from the numbers of a study, and whether it would be the same again: figures, claims, the report."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from berlyne.paper.reproduction.stages import STAGES
from berlyne.serialization import read_file, write_store_file

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun


def stamp(paper_run: PaperRun, needs: tuple[str, ...]) -> str:
    """All that decides what is made from some stages: their settings, what is assumed, and the code."""
    said = {
        "explorations": paper_run.experiment.describe(),
        "assumptions": paper_run.assumptions.describe(),
        "stages": {
            name: paper_run.configured(stage).stamp(paper_run) for name, stage in STAGES.items() if name in needs
        },
        "code": _code(),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


class BuildStamps:
    """The stamps of what a study's folder holds, by part."""

    def __init__(self, paper_run: PaperRun) -> None:
        self.paper_run, self.place = paper_run, paper_run.folder / "data" / "made.json"
        self.stamps = _read(read_file(self.place))

    def is_current(self, part: str, needs: tuple[str, ...], *made: str) -> bool:
        """Whether a part is there as it would be made again; `made` are its files."""
        there = all((self.paper_run.folder / name).is_file() for name in made)
        return there and self.stamps.get(part) == stamp(self.paper_run, needs)

    def record(self, part: str, needs: tuple[str, ...]) -> None:
        """Note that a part was made."""
        self.stamps[part] = stamp(self.paper_run, needs)
        self.place.parent.mkdir(parents=True, exist_ok=True)
        write_store_file(self.place, json.dumps(self.stamps).encode())


def _read(content: bytes | None) -> dict[str, Any]:
    """The stamps of a file; none if it is missing or damaged: what they stand for is made again."""
    try:
        stamps = json.loads((content or b"{}").decode())
    except (ValueError, RecursionError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


@cache
def _code() -> str:
    """A digest of the package and of what draws for it."""
    digest = hashlib.sha256(version("matplotlib").encode())
    todo = [files("berlyne")]
    while todo:
        for part in sorted(todo.pop().iterdir(), key=lambda one: one.name):
            if part.is_dir():
                todo.append(part)
            elif part.name.endswith((".py", ".css", ".html", ".js")):
                digest.update(part.name.encode() + part.read_bytes())
    return digest.hexdigest()
