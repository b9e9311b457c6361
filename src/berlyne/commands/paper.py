"""`berlyne reproduce` and `berlyne report`: reproduce the paper and rebuild its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from berlyne.commands.help import JOBS, Command
from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.verdict import FAILS, HOLDS, UNDECIDED, group_counts
from berlyne.paper.reproduction.paper_run import PRESETS

REPRODUCE = """
berlyne reproduce --preset quick
berlyne reproduce elsewhere --preset quick --only fig3 --set gamma=0.9
"""


class _WithParts(Command):
    """A command whose help lists the parts that `--only` accepts."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from berlyne.paper.reproduction.run import PARTS

        with formatter.section("Parts"):
            formatter.write_text(", ".join(PARTS))
        super().format_epilog(ctx, formatter)


@click.command(cls=_WithParts, example=REPRODUCE)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("reproduction"))
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), default="paper", show_default=True, help="Number of worlds."
)
@click.option("--only", metavar="PARTS", help="Run only these parts, separated by commas; see the list below.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change an assumption; can be repeated.")
@click.option(
    "--readings", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="TOML file with assumptions."
)
@JOBS
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for all random numbers.")
def reproduce(
    folder: Path,
    preset: str,
    only: str | None,
    settings: tuple[str, ...],
    readings: Path | None,
    jobs: int | None,
    seed: int,
) -> None:
    """Reproduce the paper: every figure, every claim, one report.

    The output goes to FOLDER (default: reproduction). Finished parts in it are kept: to resume an interrupted
    reproduction, run the same command again.

    With --set, for example --set gamma=0.9, everything is computed under another assumption, and the report shows which
    verdicts change. `berlyne list assumptions` lists the assumptions.
    """
    from berlyne.paper.reproduction.assumptions import parse_assumptions
    from berlyne.paper.reproduction.run import reproduce as run_reproduction

    parts = tuple(part.strip() for part in only.split(",") if part.strip()) if only else ()
    try:
        reproduction = run_reproduction(
            folder, PRESETS[preset], seed, jobs, parts, parse_assumptions(settings, readings)
        )
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; finished parts are in {folder}, run the same command again to continue")
    console = Console()
    if reproduction.verdicts:
        console.print(_verdict_table(reproduction.verdicts, reproduction.default_verdicts))
        console.print(_tally(reproduction.verdicts), highlight=False)
    seconds = reproduction.seconds
    times = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items() if value >= 0.5)
    console.print(f"Took {sum(seconds.values()):.0f} s{f' ({times})' if times else ''}.", highlight=False)
    output = reproduction.report if reproduction.report is not None else folder
    label = "The report is" if reproduction.report else "Results are in"
    console.print(f"{label} {output}", highlight=False, soft_wrap=True)


@click.command(cls=Command, example="berlyne report reproduction")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Rebuild the report in FOLDER from stored results, without running anything."""
    from berlyne.paper.reproduction.report import rebuild_report

    Console().print(f"The report is {rebuild_report(folder)}", highlight=False, soft_wrap=True)


def _verdict_table(verdicts: Mapping[str, str], default: Mapping[str, str]) -> Table:
    """Return a table of claims and verdicts.

    Parameters
    ----------
    verdicts : mapping of str to str
        Verdict of each claim, by id.
    default : mapping of str to str
        Verdicts under the default assumptions, shown beside the others; empty to leave the column out.
    """
    table = Table(title="Claims of the paper")
    headings = ("claim", "verdict", "by default", "rests on", "what the paper says")
    columns = [heading for heading in headings if heading != "by default" or default]
    for heading in columns:
        table.add_column(heading, no_wrap=heading in ("claim", "by default"))
    for id_, word in verdicts.items():
        claim, by_default = CLAIMS[id_], default.get(id_, "")
        verdict = f"[{_COLOURS[word]}]{claim.group(word)}[/]"
        changed = by_default if by_default != word else "the same"
        cells = [id_, verdict, changed, ", ".join(claim.rests_on), escape(claim.short)]
        table.add_row(*(cell for cell, heading in zip(cells, headings, strict=True) if heading in columns))
    return table


_COLOURS = {HOLDS: "green", FAILS: "red", UNDECIDED: "yellow"}


def _tally(verdicts: Mapping[str, str]) -> str:
    """Return a sentence with the number of claims in each group."""
    groups = [CLAIMS[id_].group(word) for id_, word in verdicts.items()]
    return f"{len(groups)} claims: {'; '.join(group_counts(groups))}."
