"""The command that shows exploration on a page."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from pathlib import Path

import click
from rich.console import Console

import berlyne
from berlyne.commands.help import Command
from berlyne.exploration.run import Run
from berlyne.watch.data import MAX_RUNS
from berlyne.watch.page import check_page_path
from berlyne.worlds import BENCHMARKS, WORLDS, World
from berlyne.worlds.io import SUFFIXES

WATCH = """
berlyne watch maze --seed 7 --strategy "PIG(VI)" --strategy Random
berlyne watch river_swim --alpha 0.5
berlyne watch my-world.csv --steps 500 -o replay.html
berlyne watch results.zarr --world maze/017
"""
USUAL = ("PIG(VI)", "Random")
STEPS = 1000
"""How long a world is explored that is none of the paper's, unless it is said."""
ALPHA = 1.0
"""Concentration of the prior of a world whose file says none, unless it is said."""


@click.command(cls=Command, example=WATCH)
@click.argument("what")
@click.option("--strategy", "strategies", multiple=True, metavar="NAME", help="Who explores; again for up to four.")
@click.option("--steps", type=click.IntRange(min=1), help=f"How long; by default as in the paper, or {STEPS}.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the world and of what happens in it; by default 0.")
@click.option(
    "--alpha", type=float, metavar="NUMBER",
    help="Prior of a benchmark, or of a file that says none: Dirichlet(NUMBER) over all states; by default 1.",
)  # fmt: skip
@click.option("--world", metavar="ID", help="Which world of stored results, such as maze/017.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the page here, a name in .html."
)
def watch(
    what: str,
    strategies: tuple[str, ...],
    steps: int | None,
    seed: int | None,
    alpha: float | None,
    world: str | None,
    output: Path | None,
) -> None:
    """Show strategies side by side as they explore WHAT, on a page that replays them.

    WHAT is a class of worlds (`berlyne list worlds`), a benchmark such as river_swim (`berlyne list benchmarks`), a
    file with a world, or a store of results. The page is one file that needs nothing else; without -o it is opened.
    """
    _check_strategies(strategies)
    if output is not None:
        check_page_path(output)
    left_out: list[str] = []
    if Path(what).is_dir():
        if not (steps is None and seed is None and alpha is None):
            raise ValueError("stored runs are shown as they are: --steps, --seed and --alpha go with a world")
        runs, left_out = _stored(Path(what), world, strategies)
    else:
        if world is not None:
            raise ValueError(f"--world says which world of stored results, and {what} is no store of results")
        number = 0 if seed is None else seed
        place, n_steps = _world(what, number, alpha)
        runs = [berlyne.explore(place, name, n_steps=steps or n_steps, seed=number) for name in strategies or USUAL]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        _print(f"Wrote {berlyne.watch(runs, output)}")
    for warning in said:
        _print(f"Note: {warning.message}")
    if left_out:
        _print(f"Not shown: {', '.join(left_out)}; ask for up to {MAX_RUNS} with --strategy NAME")


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


def _check_strategies(names: tuple[str, ...]) -> None:
    if len(names) > MAX_RUNS:
        raise ValueError(f"there are {len(names)} strategies; a page shows 1 to {MAX_RUNS} side by side")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"--strategy {name} is said twice, and would be shown twice alike; say each once")


def _world(what: str, seed: int, alpha: float | None) -> tuple[World, int]:
    """A world that is drawn, made or read from a file, and how long to explore it."""
    if what in WORLDS:
        if alpha is not None:
            raise ValueError(f"--alpha goes with a benchmark or a file that says no prior; {what} has the paper's")
        return WORLDS[what].make(seed), WORLDS[what].n_steps
    if what in BENCHMARKS:
        return BENCHMARKS[what](alpha=ALPHA if alpha is None else alpha), STEPS
    if what.lower().endswith(SUFFIXES):
        return _read(what, alpha), STEPS
    if Path(what).exists():
        raise ValueError(f"{what} is no file of a world by its name, which must end in {', '.join(SUFFIXES)}")
    near = get_close_matches(what, [*WORLDS, *BENCHMARKS], n=1)
    raise ValueError(
        f"there is no {what}; did you mean {near[0]}?"
        if near
        else f"there is no {what}; it must be a class of worlds ({', '.join(WORLDS)}), a benchmark "
        f"({', '.join(BENCHMARKS)}), a file with a world ({', '.join(SUFFIXES)}) or a store of results"
    )


def _read(file: str, alpha: float | None) -> World:
    """The world in a file; Dirichlet(alpha) over all its states is its prior if it says none."""
    read = berlyne.load_world(file)
    if read.prior is not None:
        if alpha is not None:
            raise ValueError(f"{file} has a prior of its own; --alpha goes with a file that says none")
        return read
    used = ALPHA if alpha is None else alpha
    prior = berlyne.Dirichlet(used, n_states=read.n_states, n_actions=read.n_actions)
    _print(f"{file} says no prior: taking Dirichlet({used:g}) over all states; --alpha sets another")
    return read.with_prior(prior)


def _stored(store: Path, world: str | None, strategies: tuple[str, ...]) -> tuple[list[Run], list[str]]:
    """Runs in one world of a store, of the strategies asked for, or of the first that there are; names left out."""
    results = berlyne.open_results(store)
    there = [str(label) for label in results.dataset["world"].values]
    if world is None:
        raise ValueError(f"{store} holds {len(there):,} worlds; say which by --world, such as --world {there[0]}")
    usual = tuple(name for name in USUAL if name in results.strategies)
    names = strategies or usual or tuple(results.strategies[:MAX_RUNS])
    left_out = [] if strategies else [name for name in results.strategies if name not in names]
    return [results.run(world, name) for name in names], left_out
