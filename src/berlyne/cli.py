"""The command line: parses arguments and calls the rest."""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

import berlyne
from berlyne.arrays import FloatArray, Seed
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.store import StoreError

PRESETS = {"smoke": 5, "quick": 20, "paper": 200}
"""Worlds of each class; presets differ in size only."""

Listing = tuple[tuple[str, ...], list[tuple[str, ...]]]

CLASSES: dict[str, Callable[[Seed], berlyne.World]] = {
    "Dense Worlds": berlyne.dense_world,
    "Mazes": berlyne.maze,
    "1-2-3 Worlds": berlyne.one_two_three_world,
}


@click.group()
@click.version_option(berlyne.__version__, package_name="berlyne")
def commands() -> None:
    """berlyne: a laboratory for learning-driven exploration."""


@commands.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("reproduction"))
@click.option("--preset", type=click.Choice(list(PRESETS)), default="paper", show_default=True, help="How many worlds.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
def reproduce(folder: Path, preset: str, seed: int) -> None:
    """Reproduce the paper, as far as berlyne does so far, into FOLDER (default: reproduction).

    Draws the three classes of worlds, measures how much an explorer has to learn in each, and
    draws the maze of Fig. 1. Writes initial_missing_information.csv and figure_1.png.
    """
    bits = {name: initial_missing_information(name, PRESETS[preset], seed) for name in CLASSES}
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / "initial_missing_information.csv", bits)
    _draw_figure_1(folder / "figure_1.png", seed)
    console = Console()
    console.print(_table(bits))
    console.print(
        f"Written to {folder}: initial_missing_information.csv, figure_1.png", highlight=False, soft_wrap=True
    )
    console.print("The explorations, the other figures and the claims of the paper are not part of berlyne yet.")


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
    Console().print(repr(found), highlight=False, soft_wrap=True, markup=False)


@commands.command("list")
@click.argument("what", type=click.Choice(["worlds", "strategies", "utilities", "measures"]))
def list_(what: str) -> None:
    """Say what there is: worlds, strategies, utilities or measures."""
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


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(function).parameters.values() if p.name != "seed"]


_LISTS: dict[str, Callable[[], Listing]] = {
    "worlds": _worlds,
    "strategies": _strategies,
    "utilities": _utilities,
    "measures": _measures,
}


def initial_missing_information(name: str, n_worlds: int, seed: int) -> FloatArray:
    """Bits missing before the first observation, one for each world of the class `name`."""
    bits = []
    for own_seed in np.random.SeedSequence([seed, *name.encode()]).spawn(n_worlds):
        world = CLASSES[name](own_seed)
        assert world.prior is not None
        bits.append(berlyne.InternalModel(world.prior).missing_information(world))
    return np.array(bits)


def main() -> None:
    """Run the command line; whatever a user can mend is one sentence and a non-zero exit code."""
    try:
        commands(prog_name="berlyne")
    except OSError as error:
        sys.exit(f"berlyne: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
    except (ValueError, StoreError) as error:
        sys.exit(f"berlyne: {error}")


def _write_csv(path: Path, bits: dict[str, FloatArray]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["class", "world", "bits"])
        for name, values in bits.items():
            writer.writerows([name, i, repr(float(value))] for i, value in enumerate(values))


def _draw_figure_1(path: Path, seed: int) -> None:
    from matplotlib.figure import Figure

    from berlyne.figures.maze import draw_maze

    figure = Figure(figsize=(4.0, 4.0), layout="constrained")
    draw_maze(berlyne.maze(seed), figure.subplots())
    figure.savefig(path, dpi=200)


def _table(bits: dict[str, FloatArray]) -> Table:
    table = Table(title="Missing information before exploration, in bits")
    for heading in ("", "worlds", "mean", "standard error"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in bits.items():
        error = values.std(ddof=1) / np.sqrt(len(values))
        table.add_row(name, str(len(values)), f"{values.mean():.1f}", f"{error:.1f}")
    return table
