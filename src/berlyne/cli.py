"""The command line: parses arguments and calls the rest."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import berlyne
from berlyne.claims import CLAIMS
from berlyne.claims.verdict import FAILS, HOLDS, OPEN, tallied
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.store import StoreError
from berlyne.lab_commands import lab
from berlyne.reproduction.study import PRESETS

Listing = tuple[tuple[str, ...], list[tuple[str, ...]]]


@click.group()
@click.version_option(berlyne.__version__, package_name="berlyne")
def commands() -> None:
    """berlyne: a laboratory for learning-driven exploration."""


class _WithParts(click.Command):
    """A command whose help ends with the parts that `--only` may name."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from berlyne.reproduction.run import PARTS

        with formatter.section("Parts"):
            formatter.write_text(", ".join(PARTS))


@commands.command(cls=_WithParts)
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
    from berlyne.reproduction.assumptions import assumptions
    from berlyne.reproduction.run import reproduce as run_reproduction

    parts = tuple(part.strip() for part in only.split(",") if part.strip()) if only else ()
    try:
        done = run_reproduction(folder, PRESETS[preset], seed, jobs, parts, assumptions(said, readings))
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


@commands.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Make the report in FOLDER again from stored results; nothing is run."""
    from berlyne.reproduction.report import remake_report

    Console().print(f"The report is {remake_report(folder)}", highlight=False, soft_wrap=True)


@commands.command()
@click.argument("experiment", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(min=1), help="Threads; by default one per core.")
@click.option("--workers", type=click.IntRange(min=1), help="Local processes instead of threads (needs Dask).")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler to compute on, such as tcp://scheduler:8786.")
@click.option("--repair", is_flag=True, help="Compute damaged pieces again.")
def run(
    experiment: Path, results: Path, jobs: int | None, workers: int | None, cluster: str | None, repair: bool
) -> None:
    """Run the study that the TOML file EXPERIMENT describes, into the store RESULTS.

    Only what the store lacks is computed: run the same command again after an interruption, or with
    more worlds or strategies in the file.
    """
    study = berlyne.Experiment.from_toml(experiment)
    try:
        found = study.run(results, jobs=jobs, workers=workers, cluster=cluster, repair=repair)
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; what is finished is in {results}, run the same command again to go on")
    except OSError as error:
        sys.exit(_sentence(f"{_said(error)}; what is finished is kept, run the same command again once this is mended"))
    Console().print(repr(found), highlight=False, soft_wrap=True, markup=False)


@commands.command("list")
@click.argument("what", type=click.Choice(["worlds", "strategies", "utilities", "measures", "assumptions"]))
def list_(what: str) -> None:
    """Say what there is: worlds, strategies, utilities, measures, or assumptions of the reproduction."""
    headings, lines = _LISTS[what]()
    table = Table(*headings, box=None, pad_edge=False)
    for line in lines:
        table.add_row(*line)
    Console().print(table, markup=False)


def _worlds() -> Listing:
    kinds = berlyne.worlds.WORLDS.values()
    return ("name", "class", "parameters", "steps in the paper"), [
        (k.name, k.title, ", ".join(f"{p.name}={p.default}" for p in _parameters(k.make)), str(k.n_steps))
        for k in kinds
    ]


def _strategies() -> Listing:
    def privilege(s: berlyne.Strategy) -> str:
        return "plans with the true world" if s.sees_world else "may go anywhere" if s.relocates else ""

    return ("name", "coordination", "control"), [
        (s.name, (type(s.coordinate).__doc__ or "").split(".")[0], privilege(s)) for s in berlyne.STRATEGIES.values()
    ]


def _utilities() -> Listing:
    return ("name", "meaning"), [(u.name, u.meaning) for u in berlyne.UTILITIES.values()]


def _measures() -> Listing:
    return ("name", "units", "meaning"), [(m.name, m.units, m.meaning) for m in MEASURES.values()]


def _assumptions() -> Listing:
    from berlyne.reproduction.assumptions import KEYS

    def shown(value: object) -> str:
        return str(list(value)) if isinstance(value, tuple) else str(value)

    return ("key", "default", "reading", "meaning"), [
        (k.name, shown(k.default), k.reading, f"{k.text}{': ' if k.one_of else ''}{' or '.join(k.one_of)}")
        for k in KEYS.values()
    ]


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(function).parameters.values() if p.name != "seed"]


_LISTS: dict[str, Callable[[], Listing]] = {
    "worlds": _worlds,
    "strategies": _strategies,
    "utilities": _utilities,
    "measures": _measures,
    "assumptions": _assumptions,
}


commands.add_command(lab)


def main() -> None:
    """Run the command line; whatever a user can mend is one sentence and a non-zero exit code."""
    try:
        commands(prog_name="berlyne")
    except OSError as error:
        sys.exit(_sentence(_said(error)))
    except MemoryError:
        sys.exit("berlyne: the memory of this machine is not enough")
    except (ValueError, StoreError) as error:
        sys.exit(_sentence(str(error)))


def _said(error: OSError) -> str:
    """What the operating system said, and of which file."""
    return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")


def _sentence(text: str) -> str:
    """A message on one line, whatever names it repeats."""
    return "berlyne: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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


_COLOURS = {HOLDS: "green", FAILS: "red", OPEN: "yellow"}


def _tally(found: Mapping[str, str]) -> str:
    """How many claims there are of each group."""
    groups = [CLAIMS[id_].group(word) for id_, word in found.items()]
    return f"{len(groups)} claims: {'; '.join(tallied(groups))}."
