"""Running the reproduction: stages, figures, claims and the report, each only if it is missing or asked for."""

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

PARTS = ("explorations", *STAGES, *FIGURES, "claims", "report")
"""What `--only` may name."""
CLAIMS_NEED = tuple(dict.fromkeys(need for claim in CLAIMS.values() for need in claim.needs))
"""What claims are checked on."""


@dataclass
class Reproduction:
    """What a run of the reproduction has to show.

    verdicts : the word on every claim; default_verdicts : the same under the default assumptions, if others were made.
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
    """Run the paper into `folder`: what is there already is kept, what is missing is worked out.

    `only` limits it to some parts; what these need is worked out too. If something else than the default is assumed,
    the claims are checked under the default, too, in the folder `default` within, and the report says what changes.
    """
    for part in only:
        if part not in PARTS:
            raise SettingsError(f"there is no part {part!r} of the reproduction; there are {', '.join(PARTS)}")
    folder.mkdir(parents=True, exist_ok=True)
    paper_run = PaperRun(folder, n_worlds, seed, assumptions)
    if paper_run.has_more_worlds():
        raise SettingsError(
            f"{folder} holds a reproduction with more than {n_worlds} worlds; use another folder for this"
        )
    done, wanted, threads = Reproduction(paper_run), _needed(only), jobs or os.cpu_count() or 1
    with exclusive_lock(folder / "reproduction"):
        write_marker(paper_run)
        _compute(paper_run, wanted, threads, done.seconds)
        made = BuildStamps(paper_run)
        with _timed(done.seconds, "figures"):
            _draw(paper_run, [name for name in FIGURES if name in wanted], made, threads)
        if "claims" in wanted:
            with _timed(done.seconds, "claims"):
                done.verdicts = _check(paper_run, made)
            if assumptions.changed:
                with _timed(done.seconds, "default"):
                    below = reproduce(folder / "default", n_worlds, seed, jobs, ("claims",))
                    done.default_verdicts = below.verdicts
        if "report" in wanted:
            with _timed(done.seconds, "report"):
                done.report = _report(paper_run, made, done.seconds)
    return done


def _needed(only: tuple[str, ...]) -> set[str]:
    """The parts asked for and all that they rest on."""
    wanted = set(only or PARTS)
    if "report" in wanted:
        wanted |= {"claims", *STAGES, *FIGURES}
    if "claims" in wanted:
        wanted |= set(CLAIMS_NEED)
    for name in FIGURES:
        if name in wanted:
            wanted |= set(FIGURES[name].needs)
    if "sensitivity" in wanted:
        wanted |= {"structure", "tasks"}
    if wanted & {"tasks", "learned", "sensitivity"}:
        wanted.add("explorations")
    return wanted


def _compute(paper_run: PaperRun, wanted: set[str], jobs: int, seconds: dict[str, float]) -> None:
    if "explorations" in wanted:
        with _timed(seconds, "explorations"):
            paper_run.experiment.run(paper_run.folder / "results.zarr", jobs=jobs)
    for name, stage in STAGES.items():
        if name in wanted and not paper_run.is_current(stage):
            with _timed(seconds, name):
                paper_run.save_stage(stage, paper_run.configured(stage).compute(paper_run, parallel_map(jobs)))


def _check(paper_run: PaperRun, made: BuildStamps) -> dict[str, str]:
    """The word on every claim; `claims.json` has all that it rests on."""
    place = paper_run.folder / "claims.json"
    if not made.is_current("claims", CLAIMS_NEED, place.name):
        write_store_file(place, json.dumps(verdicts_as_data(paper_run.verdicts), indent=1).encode())
        made.record("claims", CLAIMS_NEED)
    return read_verdicts(place, read_file(place))


def _report(paper_run: PaperRun, made: BuildStamps, seconds: dict[str, float]) -> Path:
    """The page, made anew unless nothing that it shows has changed."""
    if not made.is_current("report", tuple(STAGES), "report.html"):
        write_report(paper_run, seconds)
        made.record("report", tuple(STAGES))
    return paper_run.folder / "report.html"


def _draw(paper_run: PaperRun, names: list[str], made: BuildStamps, jobs: int = 1) -> None:
    """Draw the figures that are not there as they would be drawn again."""
    from rich.console import Console
    from rich.progress import track

    needs = {name: FIGURES[name].needs for name in names}
    files = {name: [f"figures/{file.format(name=name)}" for file in FILES] for name in names}
    missing = [name for name in names if not made.is_current(name, needs[name], *files[name])]
    for file in (file for name in missing for file in files[name]):  # which are written beside their places first
        path = paper_run.folder / file
        check_file_type(path.with_name(path.name + PARTIAL_SUFFIX))
    console = Console(stderr=True)
    drawn = draw(paper_run, missing, jobs)
    for name in track(drawn, "figures", len(missing), console=console, disable=not console.is_terminal):
        made.record(name, needs[name])


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begin
