"""Commands about studies of one's own: begin one, run it, join its shards, look at it, draw it."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

import berlyne
from berlyne.commands.errors import describe_os_error, error_line
from berlyne.commands.help import Command
from berlyne.experiments.results import Results, final_rows, summary_lines
from berlyne.serialization import atomic_write

RUN = """
berlyne run study.toml results.zarr
berlyne run study.toml results.zarr --jobs 4
berlyne run study.toml --shard 3/10 -o shard-03.zarr
"""

some_results = click.argument("results", type=click.Path(path_type=Path))


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


@click.command(cls=Command, example="berlyne init study.toml")
@click.argument("experiment", type=click.Path(path_type=Path), default=Path("study.toml"))
def init(experiment: Path) -> None:
    """Write a study to begin with into the TOML file EXPERIMENT (default: study.toml).

    It runs as it is, in seconds, and says in comments what can be changed.
    """
    text = resources.files("berlyne.commands").joinpath("study.toml").read_text(encoding="utf-8")
    try:
        atomic_write(experiment, text.encode(), overwrite=False)
    except FileExistsError:
        raise ValueError(f"{experiment} is there already, and nothing is overwritten; use another name") from None
    _print(f"Wrote {experiment}; run it with: berlyne run {experiment} results.zarr")


@click.command(cls=Command, example=RUN)
@click.argument("experiment", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("results", type=click.Path(path_type=Path), required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RESULTS", help="Another way to say RESULTS.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads; by default one per core.")
@click.option("--workers", type=click.IntRange(min=1), help="Local processes instead of threads (needs Dask).")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler to compute on, such as tcp://scheduler:8786.")
@click.option("--shard", metavar="PART/OF", help="Run one part of the worlds only, such as 3/10.")
@click.option("--repair", is_flag=True, help="Compute damaged pieces again.")
@click.option("--quiet", is_flag=True, help="Say nothing of progress.")
def run(experiment: Path, results: Path | None, output: Path | None, quiet: bool, **how: str | int | bool) -> None:
    """Run the study that the TOML file EXPERIMENT describes, into the store RESULTS.

    Only what the store lacks is computed: run the same command again after an interruption, or with
    more worlds, runs or strategies in the file.

    With --shard every job of an array computes its own part into a store of its own; `berlyne merge` joins them.
    """
    place = results or output
    if place is None:
        raise click.MissingParameter(param_type="argument", param_hint="'RESULTS'")
    if results is not None and output is not None:
        raise click.UsageError("RESULTS is said twice, once with --output; say it once.")
    study = berlyne.Experiment.from_toml(experiment)
    try:
        found = study.run(place, progress=False if quiet else None, **how)
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; what is finished is in {place}, run the same command again to go on")
    except OSError as error:
        sys.exit(
            error_line(
                f"{describe_os_error(error)}; what is finished is kept, run the same command again once this is mended"
            )
        )
    _print(repr(found))


@click.command(cls=Command, example="berlyne merge results.zarr shard-*.zarr")
@some_results
@click.argument("shards", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--partial", is_flag=True, help="Join what there is, even if something is missing.")
def merge(results: Path, shards: tuple[Path, ...], partial: bool) -> None:
    """Join the stores SHARDS, each made by `berlyne run --shard`, into the new store RESULTS.

    They must be of the same settings, seed and versions, hold no exploration twice, and leave none out. The
    result is the same, byte for byte, as if the study had been run at once.
    """
    from berlyne.experiments.merge_stores import merge as merge_stores

    _print(repr(merge_stores(results, shards, partial=partial)))


@click.command(cls=Command, example="berlyne show results.zarr")
@some_results
def show(results: Path) -> None:
    """Say what is in the store RESULTS: worlds, strategies, measures, versions, what is done and what came of it."""
    found = berlyne.open_results(results)
    for line in summary_lines(found):
        _print(line)
    table = Table("class", "strategy", "done", "missing", "missing information at the end", box=None, pad_edge=False)
    for world_class in found.classes:
        for cells in final_rows(found, world_class):
            table.add_row(*cells)
    Console().print(table, markup=False)


@click.command(
    cls=Command, example="berlyne plot results.zarr -o curves.png\nberlyne plot results.zarr --class maze -o maze.svg"
)
@some_results
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("curves.png"), show_default=True,
    help="The picture: .png, .svg or .pdf.",
)  # fmt: skip
@click.option("--measure", help="What to draw over time; by default the missing information.")
@click.option("--class", "world_class", metavar="CLASS", help="Draw this class of worlds only.")
@click.option("--strategy", "strategies", multiple=True, metavar="NAME", help="Draw this one only; again for more.")
def plot(
    results: Path, output: Path, measure: str | None, world_class: str | None, strategies: tuple[str, ...]
) -> None:
    """Draw the learning curves in the store RESULTS: means, with bands of one standard error.

    Of environments that show no transition table it is the missing information that explorers expect.
    """
    found: Results = berlyne.open_results(results)
    if output.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{output}: is no kind of picture that can be drawn; its name must end in .png, .svg or .pdf")
    drawn = found.plot(measure, world_class=world_class, strategies=list(strategies) or None)
    axes = drawn if isinstance(drawn, list) else [drawn]
    if not any(ax.lines for ax in axes):
        raise ValueError(f"{results} holds nothing of this to draw; run the study first, or draw another measure")
    figure, kind = axes[0].figure, output.suffix.lower().removeprefix(".")
    atomic_write(output, lambda file: figure.savefig(file, format=kind))
    _print(f"Drew {output}")
