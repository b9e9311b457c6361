"""`berlyne benchmark`: list the tasks of a suite, run explorers on it, check an explorer, and write a report."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import click

from berlyne.commands.errors import describe_os_error, error_line
from berlyne.commands.help import IMPORT, JOBS, Command, Group
from berlyne.commands.listing import format_listing

RUN_EXAMPLE = """
berlyne benchmark run tabular-v1 --preset quick -o results.zarr
berlyne benchmark run tabular-v1 --agents "PIG(VI)" --agents mymodule:Mine -o results.zarr
"""
EXAMPLE = """
berlyne benchmark list
berlyne benchmark run tabular-v1 --preset quick -o results.zarr
berlyne benchmark report results.zarr -o report.html
"""


@click.group(cls=Group, example=EXAMPLE)
def benchmark() -> None:
    """Compare explorers that seek no reward, on the same worlds and with the same measures."""


@benchmark.command("list", cls=Command, example="berlyne benchmark list tabular-v1")
@click.argument("suite", required=False)
def list_(suite: str | None) -> None:
    """List the tasks of SUITE, or of every suite, and the explorers that run by default."""
    from berlyne import benchmarks
    from berlyne.benchmarks.suite import SUITES

    width = shutil.get_terminal_size().columns
    for chosen in SUITES.values() if suite is None else [benchmarks.suite(suite)]:
        lines: list[tuple[str, ...]] = [
            (
                task.name,
                f"{task.n_steps:,}",
                str(task.horizon or ""),
                task.source,
                "" if task.is_available else task.needs,
            )
            for task in chosen
        ]
        click.echo(f"{chosen.name}: {len(chosen)} tasks")
        click.echo(format_listing(("task", "steps", "horizon", "source", "missing package"), lines, width))
    click.echo(f"explorers: {', '.join(benchmarks.AGENTS)}")


@benchmark.command(cls=Command, example=RUN_EXAMPLE)
@click.argument("suite")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Store of the results.")
@click.option("--agents", multiple=True, metavar="NAME", help="Strategy, or module:name; can be repeated.")
@click.option("--tasks", multiple=True, metavar="TASK", help="Run only this task; can be repeated.")
@click.option("--preset", type=click.Choice(["full", "quick", "smoke"]), default="full", show_default=True)
@click.option("--split", type=click.Choice(["test", "tuning"]), default="test", show_default=True)
@JOBS
@click.option("--shard", metavar="PART/N", help="Run only this part of the worlds; 3/10 is part 3 of 10.")
@click.option("--quiet", is_flag=True, help="Do not print progress.")
@IMPORT
def run(
    suite: str,
    output: Path,
    agents: tuple[str, ...],
    tasks: tuple[str, ...],
    quiet: bool,
    imports: tuple[str, ...],
    **options: Any,
) -> None:
    """Run explorers on the tasks of SUITE.

    Only runs that the store lacks are computed. So you can run the same command again after an interruption, or with
    more explorers. Tasks whose packages are not installed are left out.
    """
    from berlyne import benchmarks
    from berlyne.user_modules import check_modules, import_modules

    import_modules(check_modules(imports), Path())
    chosen = benchmarks.suite(suite)
    chosen = chosen.select(tasks) if tasks else chosen
    if not tasks and chosen.left_out:
        click.echo(f"left out, because packages are missing: {', '.join(chosen.left_out)}", err=True)
    progress = False if quiet else None
    try:
        results = benchmarks.run(chosen, agents or benchmarks.AGENTS, output, progress=progress, **options)
    except KeyboardInterrupt:
        sys.exit(f"berlyne: stopped; finished runs are in {output}, run the same command again to continue")
    except OSError as error:
        advice = "finished runs are kept; fix the problem, then run the same command again"
        sys.exit(error_line(f"{describe_os_error(error)}; {advice}"))
    click.echo(repr(results))


@benchmark.command(cls=Command, example="berlyne benchmark report results.zarr -o report.html")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True)
@click.option("--no-bounds", is_flag=True, help="Do not compute the bounds, which take up to a minute.")
@click.option("--baselines", type=click.Path(exists=True, path_type=Path), help="JSON file of frozen results to add.")
def report(results: Path, output: Path, no_bounds: bool, baselines: Path | None) -> None:
    """Write a page with tables and figures about the store RESULTS.

    With --baselines benchmarks/baselines.json, explorers whose results are frozen there are added. The store must have
    the same preset.
    """
    from berlyne.benchmarks.report import report as write_report

    path = write_report(results, output, baselines=baselines, bounds=not no_bounds)
    click.echo(f"Wrote {path}")


@benchmark.command(cls=Command, example="berlyne benchmark check mymodule:Mine")
@click.argument("agent")
@IMPORT
def check(agent: str, imports: tuple[str, ...]) -> None:
    """Check that AGENT, a strategy or module:name, can be run: interface, determinism and speed."""
    from berlyne.benchmarks import check as check_agent
    from berlyne.user_modules import check_modules, import_modules

    import_modules(check_modules(imports), Path())
    for line in check_agent(agent):
        click.echo(line)
