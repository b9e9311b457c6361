"""`berlyne study`: studies beyond the paper, each of one question."""

from __future__ import annotations

import csv
import io
import math
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from berlyne.commands.errors import describe_os_error, error_line
from berlyne.commands.help import JOBS, Command, Group
from berlyne.serialization import atomic_write

EXAMPLE = """
berlyne study false-priors results.zarr --preset quick
"""


@click.group(cls=Group, example=EXAMPLE)
def study() -> None:
    """Run a study of one question beyond the paper."""


@study.command("false-priors", cls=Command, example=EXAMPLE)
@click.argument("results", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("false-priors"), show_default=True,
              help="Directory of the figure and the table.")  # fmt: skip
@click.option("--preset", type=click.Choice(["full", "quick", "smoke"]), default="full", show_default=True)
@JOBS
@click.option("--quiet", is_flag=True, help="Do not print progress.")
def false_priors(results: Path, output: Path, preset: str, quiet: bool, **options: Any) -> None:
    """Explore the paper's worlds under false priors.

    Finished runs are in the store RESULTS. Only runs that it lacks are computed, so you can run the same command again
    after an interruption. Then a figure and a table are written to the directory OUTPUT, and the table is printed.
    """
    from berlyne.figures import draw_false_priors
    from berlyne.studies import false_priors as study_of_priors

    try:
        stored = study_of_priors.run(results, preset=preset, progress=False if quiet else None, **options)
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; finished runs are in {results}, run the same command again to continue")
    except OSError as error:
        advice = "finished runs are kept; fix the problem, then run the same command again"
        sys.exit(error_line(f"{describe_os_error(error)}; {advice}"))
    lines = study_of_priors.summarize(stored)
    draw_false_priors(lines).save(output, "false-priors")
    text = io.StringIO(newline="")
    csv.writer(text).writerows([study_of_priors.Line._fields, *lines])
    atomic_write(output / "summary.csv", text.getvalue().encode())
    _print_table(lines)
    click.echo(f"Wrote {output / 'false-priors.png'} and {output / 'summary.csv'}")


def _print_table(lines: list[Any]) -> None:
    """Print the relative areas, and whether the prior is noticed."""
    columns = ("worlds", "prior", "strategy", "conclusion", "data", "noticed", "at step")
    table = Table(*columns, box=None, pad_edge=False)
    for line in lines:
        at = "" if math.isnan(line.noticed_at) else f"{line.noticed_at:.0f}"
        table.add_row(
            line.world_class,
            line.prior,
            line.strategy,
            f"{line.conclusion:.3f} ± {line.conclusion_error:.3f}",
            f"{line.data:.3f} ± {line.data_error:.3f}",
            f"{100 * line.noticed:.0f} %",
            at,
        )
    Console(width=max(Console().width, 110)).print(table, markup=False)  # names of priors are long
