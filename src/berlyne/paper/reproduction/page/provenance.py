"""What was read how, and how the page was made."""

from __future__ import annotations

from html import escape

from berlyne.experiments.schema import versions
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.page.context import PageContext, command, format_value
from berlyne.paper.reproduction.page.html import details, paragraph, section, table
from berlyne.paper.reproduction.readings import READINGS
from berlyne.worlds import PAPER_WORLDS, title


def readings(context: PageContext) -> str:
    """Where the paper is silent, ambiguous or misprinted, and what was done."""
    rows = [(name, escape(printed), escape(done) + _here(context, name)) for name, (printed, done) in READINGS.items()]
    listed = table("Readings by number", ("reading", "printed", "done"), rows)
    for name in READINGS:
        listed = listed.replace(f"<tr><td>{name}</td>", f'<tr id="reading-{name}"><td>{name}</td>', 1)
    return section(
        "readings",
        "Readings",
        paragraph(
            f"Where the paper is silent, ambiguous or misprinted, we had to choose: {len(READINGS)} times. "
            f"{len(FITTED)} of these are fitted ({', '.join(FITTED)})."
        ),
        details("All readings", listed),
    )


def _here(context: PageContext, reading: str) -> str:
    """What is assumed otherwise on this page."""
    said = [
        f"{key} = {format_value(value)}"
        for key, value in context.paper_run.assumptions.changed.items()
        if KEYS[key].reading == reading
    ]
    return f" <b>Here: {escape(', '.join(said))}.</b>" if said else ""


def provenance(context: PageContext) -> str:
    """How the page was made, and where its numbers are."""
    paper_run = context.paper_run
    runs = ", ".join(f"{title(name)} {paper_run.assumptions.n_steps(name)} steps" for name in PAPER_WORLDS)
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    rows = [(escape(name), f"{value:.1f}") for name, value in context.seconds.items()]
    took = f"{sum(context.seconds.values()):.0f} seconds"
    return section(
        "making",
        "Making",
        paragraph(
            f"{paper_run.n_worlds} worlds of each class ({escape(runs)}), seed {paper_run.seed}. {escape(packages)}. "
            f"Command: <code>{escape(command(paper_run.assumptions.changed))}</code>. The same seed gives the same "
            "numbers, whatever the order and the number of cores. Explorations are in <code>results.zarr</code>, what "
            "was worked out from them in <code>data/</code>, the numbers behind figures in <code>figures/*.csv</code>, "
            "verdicts and all findings in <code>claims.json</code>."
        ),
        details(f"Seconds of computing: {took}", table("Seconds", ("part", "seconds"), rows)) if rows else "",
    )
