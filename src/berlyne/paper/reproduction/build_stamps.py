"""Stamps of figures, claims and the report, which show whether they are up to date."""

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
    """Return a digest of everything that affects a part: settings of its stages, assumptions, and code.

    Parameters
    ----------
    paper_run : PaperRun
        The reproduction.
    needs : tuple of str
        Names of the stages from which the part is made.
    """
    inputs = {
        "explorations": paper_run.experiment.describe(),
        "assumptions": paper_run.assumptions.describe(),
        "stages": {
            name: paper_run.configured(stage).stamp(paper_run) for name, stage in STAGES.items() if name in needs
        },
        "code": _code(),
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


class BuildStamps:
    """Stamps of the parts in the folder of a reproduction, stored in `data/made.json`."""

    def __init__(self, paper_run: PaperRun) -> None:
        self.paper_run, self.place = paper_run, paper_run.folder / "data" / "made.json"
        self.stamps = _read(read_file(self.place))

    def is_current(self, part: str, needs: tuple[str, ...], *file_names: str) -> bool:
        """Return whether all files of a part exist and its stamp is up to date."""
        exists = all((self.paper_run.folder / name).is_file() for name in file_names)
        return exists and self.stamps.get(part) == stamp(self.paper_run, needs)

    def record(self, part: str, needs: tuple[str, ...]) -> None:
        """Store the stamp of a part that was just made."""
        self.stamps[part] = stamp(self.paper_run, needs)
        self.place.parent.mkdir(parents=True, exist_ok=True)
        write_store_file(self.place, json.dumps(self.stamps).encode())


def _read(content: bytes | None) -> dict[str, Any]:
    """Parse stored stamps; return none if the file is missing or damaged, so that all parts are made again."""
    try:
        stamps = json.loads((content or b"{}").decode())
    except (ValueError, RecursionError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


@cache
def _code() -> str:
    """Return a digest of the source files of the package and the version of matplotlib."""
    digest = hashlib.sha256(version("matplotlib").encode())
    folders = [files("berlyne")]
    while folders:
        for path in sorted(folders.pop().iterdir(), key=lambda path: path.name):
            if path.is_dir():
                folders.append(path)
            elif path.name.endswith((".py", ".css", ".html", ".js")):
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
