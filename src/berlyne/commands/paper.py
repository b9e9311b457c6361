"""Commands about the paper: reproduce it, make its report again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from berlyne.commands.help import Command
from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.verdict import FAILS, HOLDS, UNDECIDED, group_counts
from berlyne.paper.reproduction.paper_run import PRESETS

REPRODUCE = """
berlyne reproduce --preset quick
berlyne reproduce elsewhere --preset quick --only fig3 --set gamma=0.9
"""


class _WithParts(Command):
    """A command whose help ends with the parts that `--only` may name."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from berlyne.paper.reproduction.run import PARTS

        with formatter.section("Parts"):
            formatter.write_text(", ".join(PARTS))
        super().format_epilog(ctx, formatter)


@click.command(cls=_WithParts, example=REPRODUCE)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("reproduction"))
@click.option("--preset", type=click.Choice(list(PRESETS)), default="paper", show_default=True, help="How many worlds.")
@click.option("--only", metavar="PARTS", help="Parts to do, with commas between; they are listed below.")
@click.option("--set", "said", multiple=True, metavar="KEY=VALUE", help="Assume something else; again for more.")
@click.option(
    "--readings", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Assumptions in a TOML file."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Threads; by default one per core.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
def reproduce(
    folder: Path,
    preset: str,
    only: str | None,
    said: tuple[str, ...],
    readings: Path | None,
    jobs: int | None,
    seed: int,
) -> None:
    """Reproduce the paper into FOLDER (default: reproduction): every figure, every claim, one report.

    What the folder holds already is kept, so an interrupted reproduction goes on where it was.

    With --set gamma=0.9, say, all of it is done under another assumption, and the report tells what changes;
    `berlyne list assumptions` names what can be set.
    """
    from berlyne.paper.reproduction.assumptions import parse_assumptions
    from berlyne.paper.reproduction.run import reproduce as run_reproduction

    parts = tuple(part.strip() for part in only.split(",") if part.strip()) if only else ()
    try:
        done = run_reproduction(folder, PRESETS[preset], seed, jobs, parts, parse_assumptions(said, readings))
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; what is finished is in {folder}, run the same command again to go on")
    console = Console()
    if done.verdicts:
        console.print(_verdict_table(done.verdicts, done.default_verdicts))
        console.print(_tally(done.verdicts), highlight=False)
    took = ", ".join(f"{name} {value:.0f} s" for name, value in done.seconds.items() if value >= 0.5)
    console.print(f"Took {sum(done.seconds.values()):.0f} s{f' ({took})' if took else ''}.", highlight=False)
    where = done.report if done.report is not None else folder
    console.print(f"{'The report is' if done.report else 'Results are in'} {where}", highlight=False, soft_wrap=True)


@click.command(cls=Command, example="berlyne report reproduction")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Make the report in FOLDER again from stored results; nothing is run."""
    from berlyne.paper.reproduction.report import rebuild_report

    Console().print(f"The report is {rebuild_report(folder)}", highlight=False, soft_wrap=True)


def _verdict_table(found: Mapping[str, str], default: Mapping[str, str]) -> Table:
    """Claims and what becomes of them; under other assumptions, beside what becomes of them by default."""
    table = Table(title="Claims of the paper")
    headings = ("claim", "verdict", "by default", "rests on", "what the paper says")
    shown = [heading for heading in headings if heading != "by default" or default]
    for heading in shown:
        table.add_column(heading, no_wrap=heading in ("claim", "by default"))
    for id_, word in found.items():
        claim, before = CLAIMS[id_], default.get(id_, "")
        verdict = f"[{_COLOURS[word]}]{claim.group(word)}[/]"
        cells = [id_, verdict, before if before != word else "the same", ", ".join(claim.rests_on), escape(claim.short)]
        table.add_row(*(cell for cell, heading in zip(cells, headings, strict=True) if heading in shown))
    return table


_COLOURS = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow"}


def _tally(found: Mapping[str, str]) -> str:
    """How many claims there are of each group."""
    groups = [CLAIMS[id_].group(word) for id_, word in found.items()]
    return f"{len(groups)} claims: {'; '.join(group_counts(groups))}."
