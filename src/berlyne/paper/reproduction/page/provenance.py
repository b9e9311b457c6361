"""Readings of the paper, and how the page was made."""

from __future__ import annotations

from html import escape

from berlyne.experiments.schema import versions
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.page.context import PageContext, command, format_value
from berlyne.paper.reproduction.page.html import details, paragraph, section, table
from berlyne.paper.reproduction.paper_text import READINGS
from berlyne.worlds import PAPER_WORLDS, title


def readings(context: PageContext) -> str:
    """Render the section: where the paper is silent, ambiguous or misprinted, and our choices."""
    rows = [(name, escape(gap), escape(choice) + _changed(context, name)) for name, (gap, choice) in READINGS.items()]
    all_readings = table("Readings by number", ("reading", "in the paper", "our choice"), rows)
    for name in READINGS:
        all_readings = all_readings.replace(f"<tr><td>{name}</td>", f'<tr id="reading-{name}"><td>{name}</td>', 1)
    return section(
        "readings",
        "Readings",
        paragraph(
            f"In {len(READINGS)} places the paper is silent, ambiguous or misprinted, and we had to choose a reading. "
            f"{len(FITTED)} of these readings are fitted ({', '.join(FITTED)})."
        ),
        details("All readings", all_readings),
    )


def _changed(context: PageContext, reading: str) -> str:
    """Return the changed assumptions of this page that belong to a reading."""
    values = [
        f"{key} = {format_value(value)}"
        for key, value in context.paper_run.assumptions.changed.items()
        if KEYS[key].reading == reading
    ]
    return f" <b>On this page: {escape(', '.join(values))}.</b>" if values else ""


def provenance(context: PageContext) -> str:
    """Render the section: how the page was made, and where its numbers are."""
    paper_run = context.paper_run
    runs = ", ".join(f"{title(name)} {paper_run.assumptions.n_steps(name)} steps" for name in PAPER_WORLDS)
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    rows = [(escape(name), f"{value:.1f}") for name, value in context.seconds.items()]
    total = f"{sum(context.seconds.values()):.0f} seconds"
    return section(
        "making",
        "How this page was made",
        paragraph(
            f"{paper_run.n_worlds} worlds of each class ({escape(runs)}), seed {paper_run.seed}. {escape(packages)}. "
            f"Command: <code>{escape(command(paper_run.assumptions.changed))}</code>. The same seed gives the same "
            "numbers, for any order of computation and any number of cores. <code>results.zarr</code> contains the "
            "explorations, <code>data/</code> the numbers computed from them, <code>figures/*.csv</code> the numbers "
            "that the figures show, and <code>claims.json</code> the verdicts and all findings."
        ),
        details(f"Computing time: {total}", table("Computing time", ("part", "seconds"), rows)) if rows else "",
    )
