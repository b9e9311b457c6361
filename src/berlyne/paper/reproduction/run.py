"""Run the reproduction: stages, figures, claims and the report, each only if it is missing or out of date."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from berlyne.experiments.results import open_results
from berlyne.experiments.spec import SettingsError
from berlyne.paper.reproduction.assumptions import DEFAULT, Assumptions
from berlyne.paper.reproduction.claims_file import read_verdicts, verdicts_as_data
from berlyne.paper.reproduction.draw_figures import draw
from berlyne.paper.reproduction.evidence import verdicts_of
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.freshness import Freshness, describe_stale
from berlyne.paper.reproduction.paper_run import PaperRun, write_marker
from berlyne.paper.reproduction.parts import CLAIMS_NEED, all_parts, figure_part
from berlyne.paper.reproduction.report import write_report
from berlyne.paper.reproduction.stages import STAGES
from berlyne.processes import Workers, n_cores
from berlyne.serialization import PARTIAL_SUFFIX, check_file_type, exclusive_lock, read_file, write_store_file

PARTS = tuple(dict.fromkeys(("explorations", *STAGES, *FIGURES, "claims", "report")))  # some are stage and figure
"""Names that `--only` accepts."""


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
    with Workers(jobs or n_cores()) as workers:
        return _reproduce(paper_run, _with_needed(only), workers)


def _reproduce(paper_run: PaperRun, parts: set[str], workers: Workers) -> Reproduction:
    """Make the parts of a reproduction that are missing or out of date."""
    folder, result = paper_run.folder, Reproduction(paper_run)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(folder / "reproduction"):
        write_marker(paper_run)
        freshness = Freshness(paper_run, all_parts())
        _print_stale(freshness, parts)
        _compute(freshness, parts, workers, result.seconds)
        with _timed(result.seconds, "figures"):
            _draw(freshness, [name for name in FIGURES if name in parts], workers)
        if "claims" in parts:
            with _timed(result.seconds, "claims"):
                result.verdicts = _check(freshness)
            if paper_run.assumptions.changed:
                with _timed(result.seconds, "default"):
                    default = PaperRun(folder / "default", paper_run.n_worlds, paper_run.seed)
                    result.default_verdicts = _reproduce(default, _with_needed(("claims",)), workers).verdicts
        if "report" in parts:
            with _timed(result.seconds, "report"):
                result.report = _report(freshness, result.seconds)
    return result


def _print_stale(freshness: Freshness, parts: set[str]) -> None:
    """Print which of the requested parts are made again and why, and which are kept."""
    names = [name for name in freshness.parts if name.removeprefix(figure_part("")) in parts]
    reasons = {name: why for name in names if (why := freshness.why_stale(name))}
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in describe_stale(reasons, [name for name in names if freshness.is_current(name)]):
        console.print(line, markup=False)


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
    for name in reversed(STAGES):  # a stage needs only stages before it
        if name in parts:
            parts |= set(STAGES[name].needs)
    return parts


def _compute(freshness: Freshness, parts: set[str], workers: Workers, seconds: dict[str, float]) -> None:
    """Run the explorations and compute the stages that are missing or out of date."""
    paper_run = freshness.paper_run
    if "explorations" in parts:
        with _timed(seconds, "explorations"):
            _explore(freshness, workers)
    for name, stage in STAGES.items():
        if name in parts and not freshness.is_current(name):
            with _timed(seconds, name):
                paper_run.save_stage(stage, paper_run.configured(stage).compute(paper_run, workers.map))
                freshness.record(name)


def _explore(freshness: Freshness, workers: Workers) -> None:
    """Run the explorations that are missing; first remove those of other sources.

    The record is stored before they are run, because an interrupted run is resumed only with the same sources.
    """
    paper_run, path = freshness.paper_run, freshness.paper_run.folder / "results.zarr"
    if not freshness.is_current("explorations"):
        # explorations of another seed are not removed but refused, by the experiment
        if path.is_dir() and int(open_results(path).settings["seed"]) == paper_run.seed:
            with exclusive_lock(path):
                shutil.rmtree(path)
        if not path.exists():
            freshness.record("explorations")
    parallel = workers.are_useful(3 * paper_run.n_worlds)
    paper_run.experiment.run(path, **({"workers": workers.executor} if parallel else {"jobs": 1}))


def _check(freshness: Freshness) -> dict[str, str]:
    """Return the verdict on every claim, and write `claims.json` if it is out of date."""
    path = freshness.paper_run.folder / "claims.json"
    if not freshness.is_current("claims"):
        verdicts = verdicts_of(freshness.paper_run)
        write_store_file(path, json.dumps(verdicts_as_data(verdicts), indent=1).encode())
        freshness.record("claims")
    return read_verdicts(path, read_file(path))


def _report(freshness: Freshness, seconds: dict[str, float]) -> Path:
    """Write the report if it is out of date, and return its path."""
    if not freshness.is_current("report"):
        write_report(freshness.paper_run, seconds)
        freshness.record("report")
    return freshness.paper_run.folder / "report.html"


def _draw(freshness: Freshness, names: list[str], workers: Workers) -> None:
    """Draw the figures that are missing or out of date."""
    from rich.progress import track

    paper_run, parts = freshness.paper_run, freshness.parts
    missing = [name for name in names if not freshness.is_current(figure_part(name))]
    for file in (file for name in missing for file in parts[figure_part(name)].outputs):
        path = paper_run.folder / file  # files are written under a partial name first
        check_file_type(path.with_name(path.name + PARTIAL_SUFFIX))
    console = Console(stderr=True)
    drawn = draw(paper_run, missing, workers)
    for name in track(drawn, "figures", len(missing), console=console, disable=not console.is_terminal):
        freshness.record(figure_part(name))


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Store the duration of a block in `seconds`."""
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
