"""Run the reproduction: stages, figures, claims and the report, each only if it is missing or out of date."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from berlyne.experiments.spec import SettingsError
from berlyne.figures.figure_data import FILES
from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction.assumptions import DEFAULT, Assumptions
from berlyne.paper.reproduction.build_stamps import BuildStamps
from berlyne.paper.reproduction.claims_file import read_verdicts, verdicts_as_data
from berlyne.paper.reproduction.draw_figures import draw
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun, write_marker
from berlyne.paper.reproduction.parallel import parallel_map
from berlyne.paper.reproduction.report import write_report
from berlyne.paper.reproduction.stages import STAGES
from berlyne.serialization import PARTIAL_SUFFIX, check_file_type, exclusive_lock, read_file, write_store_file

PARTS = tuple(dict.fromkeys(("explorations", *STAGES, *FIGURES, "claims", "report")))  # some are stage and figure
"""Names that `--only` accepts."""
CLAIMS_NEED = tuple(dict.fromkeys(need for claim in CLAIMS.values() for need in claim.needs))
"""Stages that claims are checked on."""


@dataclass
class Reproduction:
    """Result of `reproduce`.

    Attributes
    ----------
    paper_run : PaperRun
        Settings and folder of the reproduction.
    verdicts : dict of str to str
        Verdict on every claim, by id.
    default_verdicts : dict of str to str
        Verdicts under the default assumptions; empty if the assumptions are the default.
    seconds : dict of str to float
        Duration of each part that was run, in seconds.
    report : Path or None
        Path of the report, if it was made.
    """

    paper_run: PaperRun
    verdicts: dict[str, str] = field(default_factory=dict)
    default_verdicts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    report: Path | None = None


def reproduce(
    folder: Path,
    n_worlds: int,
    seed: int = 0,
    jobs: int | None = None,
    only: tuple[str, ...] = (),
    assumptions: Assumptions = DEFAULT,
) -> Reproduction:
    """Reproduce the paper in `folder`; parts that are up to date are kept.

    With other assumptions than the default, the claims are also checked under the default, in the subfolder `default`,
    and the report shows the changes.

    Parameters
    ----------
    folder : Path
        Folder of the reproduction; created if it does not exist.
    n_worlds : int
        Number of worlds of each class.
    seed : int
        Seed of the explorations and of all stages.
    jobs : int or None
        Number of processes; None for the number of cores.
    only : tuple of str
        Parts to make, with the parts they need; empty for all.
    assumptions : Assumptions
        Assumptions to make.

    Returns
    -------
    Reproduction
        Verdicts, durations and the path of the report.

    Raises
    ------
    SettingsError
        If a part is unknown, or if the folder contains more worlds, other assumptions or other files.
    """
    for part in only:
        if part not in PARTS:
            raise SettingsError(f"unknown part {part!r}; choose from {', '.join(PARTS)}")
    folder.mkdir(parents=True, exist_ok=True)
    paper_run = PaperRun(folder, n_worlds, seed, assumptions)
    if paper_run.has_more_worlds():
        raise SettingsError(f"{folder} contains a reproduction with more than {n_worlds} worlds; use another directory")
    result, parts, n_jobs = Reproduction(paper_run), _with_needed(only), jobs or os.cpu_count() or 1
    with exclusive_lock(folder / "reproduction"):
        write_marker(paper_run)
        _compute(paper_run, parts, n_jobs, result.seconds)
        stamps = BuildStamps(paper_run)
        with _timed(result.seconds, "figures"):
            _draw(paper_run, [name for name in FIGURES if name in parts], stamps, n_jobs)
        if "claims" in parts:
            with _timed(result.seconds, "claims"):
                result.verdicts = _check(paper_run, stamps)
            if assumptions.changed:
                with _timed(result.seconds, "default"):
                    default = reproduce(folder / "default", n_worlds, seed, jobs, ("claims",))
                    result.default_verdicts = default.verdicts
        if "report" in parts:
            with _timed(result.seconds, "report"):
                result.report = _report(paper_run, stamps, result.seconds)
    return result


def _with_needed(only: tuple[str, ...]) -> set[str]:
    """Return the requested parts and all parts that they need."""
    parts = set(only or PARTS)
    if "report" in parts:
        parts |= {"claims", *STAGES, *FIGURES}
    if "claims" in parts:
        parts |= set(CLAIMS_NEED)
    for name in FIGURES:
        if name in parts:
            parts |= set(FIGURES[name].needs)
    if "sensitivity" in parts:
        parts |= {"structure", "tasks"}
    if parts & {"tasks", "learned", "sensitivity"}:
        parts.add("explorations")
    return parts


def _compute(paper_run: PaperRun, parts: set[str], jobs: int, seconds: dict[str, float]) -> None:
    """Run the explorations and compute the stages that are missing or out of date."""
    if "explorations" in parts:
        with _timed(seconds, "explorations"):
            paper_run.experiment.run(paper_run.folder / "results.zarr", jobs=jobs)
    for name, stage in STAGES.items():
        if name in parts and not paper_run.is_current(stage):
            with _timed(seconds, name):
                paper_run.save_stage(stage, paper_run.configured(stage).compute(paper_run, parallel_map(jobs)))


def _check(paper_run: PaperRun, stamps: BuildStamps) -> dict[str, str]:
    """Return the verdict on every claim, and write `claims.json` if it is out of date."""
    path = paper_run.folder / "claims.json"
    if not stamps.is_current("claims", CLAIMS_NEED, path.name):
        write_store_file(path, json.dumps(verdicts_as_data(paper_run.verdicts), indent=1).encode())
        stamps.record("claims", CLAIMS_NEED)
    return read_verdicts(path, read_file(path))


def _report(paper_run: PaperRun, stamps: BuildStamps, seconds: dict[str, float]) -> Path:
    """Write the report if it is out of date, and return its path."""
    if not stamps.is_current("report", tuple(STAGES), "report.html"):
        write_report(paper_run, seconds)
        stamps.record("report", tuple(STAGES))
    return paper_run.folder / "report.html"


def _draw(paper_run: PaperRun, names: list[str], stamps: BuildStamps, jobs: int = 1) -> None:
    """Draw the figures that are missing or out of date."""
    from rich.console import Console
    from rich.progress import track

    needs = {name: FIGURES[name].needs for name in names}
    files = {name: [f"figures/{file.format(name=name)}" for file in FILES] for name in names}
    missing = [name for name in names if not stamps.is_current(name, needs[name], *files[name])]
    for file in (file for name in missing for file in files[name]):  # files are written under a partial name first
        path = paper_run.folder / file
        check_file_type(path.with_name(path.name + PARTIAL_SUFFIX))
    console = Console(stderr=True)
    drawn = draw(paper_run, missing, jobs)
    for name in track(drawn, "figures", len(missing), console=console, disable=not console.is_terminal):
        stamps.record(name, needs[name])


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Store the duration of a block in `seconds`."""
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
