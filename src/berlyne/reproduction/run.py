"""Running the reproduction: stages, figures, claims and the report, each only if it is missing or asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from berlyne.claims import CLAIMS, Verdict
from berlyne.experiments.files import only
from berlyne.experiments.lock import only_writer
from berlyne.experiments.settings import SettingsError
from berlyne.reproduction.figures import FIGURES
from berlyne.reproduction.report import write_report
from berlyne.reproduction.stage import Each
from berlyne.reproduction.stages import STAGES
from berlyne.reproduction.study import Study

PARTS = ("explorations", *STAGES, *FIGURES, "claims", "report")
"""What `--only` may name."""


@dataclass
class Reproduction:
    """What a run of the reproduction has to show."""

    study: Study
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    report: Path | None = None


def reproduce(
    folder: Path, n_worlds: int, seed: int = 0, jobs: int | None = None, only: tuple[str, ...] = ()
) -> Reproduction:
    """Run the paper into `folder`: what is there already is kept, what is missing is worked out.

    `only` limits it to some parts; what these need is worked out too.
    """
    for part in only:
        if part not in PARTS:
            raise SettingsError(f"there is no part {part!r} of the reproduction; there are {', '.join(PARTS)}")
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(folder, n_worlds, seed)
    if study.holds_more():
        raise SettingsError(
            f"{folder} holds a reproduction with more than {n_worlds} worlds; use another folder for this"
        )
    done = Reproduction(study)
    wanted = _needed(only)
    with only_writer(folder / "reproduction"):
        _compute(study, wanted, jobs or os.cpu_count() or 1, done.seconds)
        figures = [name for name in FIGURES if name in wanted]
        with _timed(done.seconds, "figures"):
            _draw(study, figures)
        if "claims" in wanted:
            with _timed(done.seconds, "claims"):
                done.verdicts = {id_: claim.verdict(study.evidence) for id_, claim in CLAIMS.items()}
        if "report" in wanted:
            with _timed(done.seconds, "report"):
                done.report = write_report(study, done.verdicts, done.seconds)
    return done


def _needed(only: tuple[str, ...]) -> set[str]:
    """The parts asked for and all that they rest on."""
    wanted = set(only or PARTS)
    if "report" in wanted:
        wanted |= {"claims", *FIGURES}
    if "claims" in wanted:
        wanted |= {need for claim in CLAIMS.values() for need in claim.needs}
    for name in FIGURES:
        if name in wanted:
            wanted |= set(FIGURES[name].needs)
    if wanted & {"tasks", "learned", "sensitivity"}:
        wanted.add("explorations")
    return wanted


def _compute(study: Study, wanted: set[str], jobs: int, seconds: dict[str, float]) -> None:
    if "explorations" in wanted:
        with _timed(seconds, "explorations"):
            study.experiment.run(study.folder / "results.zarr", jobs=jobs)
    for name, stage in STAGES.items():
        if name in wanted and not study.has(stage):
            with _timed(seconds, name):
                study.keep(stage, stage.work_out(study, _spread(jobs)))


def _spread(jobs: int) -> Each:
    """A function that maps over worlds with threads, showing progress in a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)

    def each(label: str, items: list[Any], function: Callable[[Any], Any]) -> list[Any]:
        with ThreadPoolExecutor(jobs) as pool:
            found = pool.map(function, items)
            shown = track(found, label, len(items), console=console, disable=not console.is_terminal)
            return list(shown)

    return each


def _draw(study: Study, names: list[str]) -> None:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    for name in track(names, "figures", console=console, disable=not console.is_terminal):
        for kind in ("png", "svg", "csv"):  # which are written beside their places first
            only(study.folder / "figures" / f".{name}.{kind}.partial")
        FIGURES[name].draw(study).save(study.folder / "figures", name)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begin
