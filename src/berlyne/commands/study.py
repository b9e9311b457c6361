"""`berlyne init`, `run`, `merge`, `show` and `plot`: create, run, merge, inspect and plot a study."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

import berlyne
from berlyne.commands.errors import OptionError, describe_os_error, error_line
from berlyne.commands.help import IMPORT, JOBS, Command
from berlyne.experiments.results import Results, final_rows, summary_lines
from berlyne.serialization import atomic_write

RUN_EXAMPLE = """
berlyne run study.toml results.zarr
berlyne run study.toml results.zarr --jobs 4
berlyne run study.toml --shard 3/10 -o shard-03.zarr
"""

RESULTS = click.argument("results", type=click.Path(path_type=Path))


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


@click.command(cls=Command, example="berlyne init study.toml")
@click.argument("experiment", type=click.Path(path_type=Path), default=Path("study.toml"))
def init(experiment: Path) -> None:
    """Write an example study to the TOML file EXPERIMENT.

    The default file name is study.toml. The study runs in seconds without changes. Comments in the file explain the
    settings.
    """
    text = resources.files("berlyne.commands").joinpath("study.toml").read_text(encoding="utf-8")
    try:
        atomic_write(experiment, text.encode(), overwrite=False)
    except FileExistsError:
        raise ValueError(f"{experiment} already exists and is not overwritten; use another name") from None
    _print(f"Wrote {experiment}; run it with: berlyne run {experiment} results.zarr")


@click.command(cls=Command, example=RUN_EXAMPLE)
@click.argument("experiment", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("results", type=click.Path(path_type=Path), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RESULTS", help="Same as RESULTS.")
@JOBS
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of local Dask workers instead, which are started again if killed.",
)
@click.option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler, such as tcp://scheduler:8786.")
@click.option("--shard", metavar="PART/N", help="Run only this part of the worlds; 3/10 is part 3 of 10.")
@click.option("--repair", is_flag=True, help="Recompute damaged work units of the store.")
@click.option("--quiet", is_flag=True, help="Do not print progress.")
@IMPORT
def run(
    experiment: Path,
    results: Path | None,
    output: Path | None,
    quiet: bool,
    imports: tuple[str, ...],
    **options: str | int | bool,
) -> None:
    """Run the study in the TOML file EXPERIMENT.

    The results go to the store RESULTS. Only runs that the store lacks are computed. So you can run the same command
    again after an interruption, or after adding worlds, runs or strategies to the file.

    With --shard each job of an array computes one part and writes it to its own store. `berlyne merge` joins the
    stores.
    """
    store = results or output
    if store is None:
        raise click.MissingParameter(param_type="argument", param_hint="'RESULTS'")
    if results is not None and output is not None:
        raise click.UsageError("Give RESULTS or --output, not both.")
    study = berlyne.Experiment.from_toml(experiment, imports=imports)
    try:
        stored = study.run(store, progress=False if quiet else None, **options)
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; finished runs are in {store}, run the same command again to continue")
    except OSError as error:
        advice = "finished runs are kept; fix the problem, then run the same command again"
        sys.exit(error_line(f"{describe_os_error(error)}; {advice}"))
    _print(repr(stored))


@click.command(cls=Command, example="berlyne merge results.zarr shard-*.zarr")
@RESULTS
@click.argument("shards", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--partial", is_flag=True, help="Join the shards even if runs are missing.")
def merge(results: Path, shards: tuple[Path, ...], partial: bool) -> None:
    """Join the stores SHARDS into the new store RESULTS.

    Each shard comes from `berlyne run --shard`. The shards must have the same settings, seed and versions. Together
    they must contain each run once. The result is the same, byte for byte, as that of one run of the whole study.
    """
    from berlyne.experiments.merge_stores import merge as merge_stores

    _print(repr(merge_stores(results, shards, partial=partial)))


@click.command(cls=Command, example="berlyne show results.zarr")
@RESULTS
def show(results: Path) -> None:
    """Print a summary of the store RESULTS.

    The summary contains worlds, strategies, measures, versions, the number of finished and missing runs, and the
    missing information at the end.
    """
    stored = berlyne.open_results(results)
    for line in summary_lines(stored):
        _print(line)
    table = Table("class", "strategy", "done", "missing", "missing information at the end", box=None, pad_edge=False)
    for world_class in stored.classes:
        for cells in final_rows(stored, world_class):
            table.add_row(*cells)
    Console().print(table, markup=False)


@click.command(
    cls=Command, example="berlyne plot results.zarr -o curves.png\nberlyne plot results.zarr --class maze -o maze.svg"
)
@RESULTS
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("curves.png"), show_default=True,
    help="Image file: .png, .svg or .pdf.",
)  # fmt: skip
@click.option("--measure", help="Measure to plot over time; by default the missing information.")
@click.option("--class", "world_class", metavar="CLASS", help="Plot only this class of worlds.")
@click.option(
    "--strategy", "strategies", multiple=True, metavar="NAME", help="Plot only this strategy; can be repeated."
)
def plot(
    results: Path, output: Path, measure: str | None, world_class: str | None, strategies: tuple[str, ...]
) -> None:
    """Plot the learning curves in the store RESULTS.

    Lines are means; bands show one standard error. For environments without a transition table, the curves show the
    missing information that the explorers expect.
    """
    stored: Results = berlyne.open_results(results)
    if output.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise OptionError(f"--output is {output}; the file name must end in .png, .svg or .pdf")
    drawn = stored.plot(measure, world_class=world_class, strategies=list(strategies) or None)
    axes = drawn if isinstance(drawn, list) else [drawn]
    if not any(ax.lines for ax in axes):
        raise ValueError(
            f"{results} contains no data to plot for this choice; run the study first, or plot another measure"
        )
    figure, kind = axes[0].figure, output.suffix.lower().removeprefix(".")
    atomic_write(output, lambda file: figure.savefig(file, format=kind))
    _print(f"Drew {output}")
