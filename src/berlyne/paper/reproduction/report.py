"""The report: one self-contained HTML page, made from stored results and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.freshness import Freshness
from berlyne.paper.reproduction.page.against_default import against_default
from berlyne.paper.reproduction.page.claim_details import evidence
from berlyne.paper.reproduction.page.context import PageContext, default_run, format_value
from berlyne.paper.reproduction.page.figure_cards import figures
from berlyne.paper.reproduction.page.fitted_readings import fitted
from berlyne.paper.reproduction.page.introduction import question
from berlyne.paper.reproduction.page.not_held import not_held
from berlyne.paper.reproduction.page.provenance import provenance, readings
from berlyne.paper.reproduction.page.replays import replay_data, replays
from berlyne.paper.reproduction.page.summary import claims, summary, tally_text
from berlyne.paper.reproduction.page.variant_effects import sensitivity
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.parts import all_parts
from berlyne.serialization import StoreError, read_file, write_store_file

SECTIONS = {
    "question": ("The question", question),
    "summary": ("Verdicts", summary),
    "changes": ("Against the default", against_default),
    "claims": ("Claims", claims),
    "not-held": ("What does not hold", not_held),
    "fitted": ("Fitted readings", fitted),
    "figures": ("Figures", figures),
    "watch": ("Watch", replays),
    "evidence": ("Evidence", evidence),
    "sensitivity": ("Sensitivity", sensitivity),
    "readings": ("Readings", readings),
    "making": ("How this page was made", provenance),
}
"""Title and function of each section, by id, in order; empty sections are left out."""


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
    sections = {id_: render(context) for id_, (_, render) in SECTIONS.items()}
    links = "".join(
        f'<li><a href="#{id_}">{escape(SECTIONS[id_][0])}</a></li>' for id_, html in sections.items() if html
    )
    folder = files("berlyne.paper.reproduction")
    style = folder.joinpath("report.css").read_text(encoding="utf-8")
    script = folder.joinpath("report.js").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_title(context)}</title><style>{style}</style></head><body>"
        '<a class="skip" href="#main">Skip to the report</a>'
        f"<header><h1>{_title(context)}</h1>{_subtitle(context)}{_banner(context)}</header>"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="main">{"".join(sections.values())}</main>{replay_data(context)}<script>{script}</script>'
        "</body></html>\n"
    )


def _title(context: PageContext) -> str:
    changed = ", under other assumptions" if context.paper_run.assumptions.changed else ""
    return f"Learning in embodied action-perception loops through exploration: a reproduction{changed}"


def _subtitle(context: PageContext) -> str:
    return (
        "<p>A reproduction of every figure and every checkable claim of D. Y. Little and F. T. Sommer (arXiv "
        f"1112.1125), in {context.paper_run.n_worlds} worlds of each of three classes. We checked "
        f'{len(context.verdicts)} claims: <a href="#summary">{escape(tally_text(context))}</a>.</p>'
    )


def _banner(context: PageContext) -> str:
    """Return the banner that names changed assumptions; empty for the default."""
    changed = context.paper_run.assumptions.changed
    if not changed:
        return ""
    values = ", ".join(f"{key} = {format_value(value)}" for key, value in changed.items())
    return (
        f'<p class="banner"><b>This is not the default reading:</b> {escape(values)}. The section '
        '<a href="#changes">What changes against the default</a> shows the differences.</p>'
    )


def _stored_seconds(folder: Path) -> dict[str, float]:
    path = folder / "seconds.json"
    content = read_file(path)
    try:
        stored = json.loads((content or b"{}").decode())
        return {str(name): float(value) for name, value in stored.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        raise StoreError(f"{path} is damaged; remove it (it contains only the durations of the parts)") from None
