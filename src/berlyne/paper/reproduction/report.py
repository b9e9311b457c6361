"""The report: one self-contained HTML page, made from stored results and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.freshness import Freshness
from berlyne.paper.reproduction.page.context import PageContext, default_run
from berlyne.paper.reproduction.page.environment import render, static_file
from berlyne.paper.reproduction.page.replays import replay_data
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.parts import all_parts
from berlyne.serialization import StoreError, read_file, write_store_file

SECTIONS = {
    "question": "The question",
    "summary": "Verdicts",
    "changes": "Against the default",
    "claims": "Claims",
    "not-held": "What does not hold",
    "fitted": "Fitted readings",
    "figures": "Figures",
    "watch": "Watch",
    "evidence": "Evidence",
    "sensitivity": "Sensitivity",
    "readings": "Readings",
    "making": "How this page was made",
}
"""Title of each section in the navigation, by id, in order; the id is the name of its template."""


def write_report(paper_run: PaperRun, seconds: Mapping[str, float]) -> Path:
    """Write `report.html` into the folder of a reproduction and return its path.

    `seconds` are the durations of the parts that were just run. They are merged with the stored ones.
    """
    all_seconds = {**_stored_seconds(paper_run.folder), **seconds}
    write_store_file(paper_run.folder / "report.html", _page(paper_run, all_seconds).encode())
    write_store_file(paper_run.folder / "seconds.json", json.dumps(all_seconds).encode())
    return paper_run.folder / "report.html"


def rebuild_report(folder: Path) -> Path:
    """Write the report again from the results in a folder and return its path; nothing is recomputed.

    Raises
    ------
    StoreError
        If figures, current stages or the default results are missing.
    """
    paper_run = PaperRun.open(folder)
    freshness = Freshness(paper_run, all_parts())
    missing = [name for name in FIGURES if not (folder / "figures" / f"{name}.png").is_file()]
    if missing:
        raise StoreError(f"{folder} lacks figures ({', '.join(missing)}); run: berlyne reproduce {folder}")
    stale = [name for name in freshness.parts["report"].needs if not freshness.is_current(name) and name != "claims"]
    if stale:
        why = freshness.why_stale(stale[0]) or "missing"
        raise StoreError(
            f"{folder} contains parts that are out of date ({', '.join(stale)}: {why}); run: berlyne reproduce {folder}"
        )
    if paper_run.assumptions.changed and not (default_run(paper_run).folder / "results.zarr").is_dir():
        raise StoreError(f"{folder} lacks the default results for comparison; run: berlyne reproduce {folder}")
    return write_report(paper_run, {})


def _page(paper_run: PaperRun, seconds: Mapping[str, float]) -> str:
    return page(PageContext.from_run(paper_run, seconds))


def page(context: PageContext) -> str:
    """Return the HTML of the whole page."""
    sections = {id_: section(context, id_) for id_ in SECTIONS}
    return render(
        "report",
        context,
        sections=sections.values(),
        links={id_: SECTIONS[id_] for id_, html in sections.items() if html},
        data=replay_data(context),
        style=static_file("report.css"),
        script=static_file("report.js"),
    )


def section(context: PageContext, id_: str) -> str:
    """Return the HTML of one section; empty if it does not apply."""
    return render(id_, context).strip()


def _stored_seconds(folder: Path) -> dict[str, float]:
    path = folder / "seconds.json"
    content = read_file(path)
    try:
        stored = json.loads((content or b"{}").decode())
        return {str(name): float(value) for name, value in stored.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        raise StoreError(f"{path} is damaged; remove it (it contains only the durations of the parts)") from None
