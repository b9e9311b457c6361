"""Edit the package beside which this file is run, and print which parts of a reproduction are then made again.

`python dry_runs.py FOLDER EDITS`: EDITS is JSON, a list of objects with a path and the texts `old` and `new`. Nothing
is computed: stages, explorations, figures, claims and the report are replaced by functions that print their names.
The output is a line of JSON for each edit: the parts that were made, and the lines in the terminal.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import xarray as xr

import berlyne
from berlyne.experiments import Experiment
from berlyne.paper.reproduction import draw_figures, freshness, paper_run, run, source_digests
from berlyne.paper.reproduction.stages import STAGES

PACKAGE = Path(berlyne.__file__).parents[1]
MADE: list[str] = []


def explore(experiment: Any, path: Path, **_: Any) -> None:
    if not path.exists():
        MADE.append("explorations")
        path.mkdir()


def compute(stage: Any, *_: Any) -> xr.Dataset:
    MADE.append(stage.name)
    return xr.Dataset({"x": ("world", [1.0])})


def draw(study: Any, name: str) -> None:
    MADE.append(f"figure {name}")
    (study.folder / "figures").mkdir(exist_ok=True)
    for kind in ("png", "svg", "csv"):
        (study.folder / "figures" / f"{name}.{kind}").touch()


def check(_: Any) -> dict[str, Any]:
    MADE.append("claims")
    return {}


def report(study: Any, _: Any) -> None:
    MADE.append("report")
    (study.folder / "report.html").touch()


def reproduce(folder: Path) -> tuple[list[str], list[str]]:
    """Return the parts that a reproduction makes, and what it prints."""
    for cached in (source_digests._read_source, source_digests._data_digests, freshness._code):
        cached.cache_clear()
    MADE.clear()
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        run.reproduce(folder, 1, jobs=1)
    return list(MADE), printed.getvalue().splitlines()


def main(folder: Path, edits: list[dict[str, str]]) -> None:
    Experiment.run = explore  # type: ignore[assignment,method-assign]
    for stage in STAGES.values():
        type(stage).compute = compute  # type: ignore[method-assign]
    draw_figures.draw_figure = draw
    run.verdicts_of, run.write_report = check, report  # type: ignore[assignment]
    settings = SimpleNamespace(settings={"seed": 0, "n_worlds": 1})
    run.open_results = paper_run.open_results = lambda _: settings  # type: ignore[assignment]
    print(json.dumps(reproduce(folder / "first")))
    for i, edit in enumerate(edits):
        shutil.copytree(folder / "first", folder / str(i))
        path = PACKAGE / edit["path"]
        before = path.read_text(encoding="utf-8")
        assert before.count(edit["old"]) == 1, edit
        path.write_text(before.replace(edit["old"], edit["new"]), encoding="utf-8")
        print(json.dumps(reproduce(folder / str(i))))
        path.write_text(before, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
