"""The command that shows exploration on a page."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

import berlyne
from berlyne.commands.help import Command
from berlyne.explore import Run
from berlyne.watch.data import MOST_RUNS
from berlyne.worlds import WORLDS
from berlyne.worlds.files import SUFFIXES

WATCH = """
berlyne watch maze --seed 7 --strategy "PIG(VI)" --strategy Random
berlyne watch my-world.npz --steps 500 -o replay.html
berlyne watch results.zarr --world maze/017
"""
USUAL = ("PIG(VI)", "Random")
STEPS = 1000
"""How long a world of a user's own is explored, unless it is said."""


@click.command(cls=Command, example=WATCH)
@click.argument("what")
@click.option("--strategy", "strategies", multiple=True, metavar="NAME", help="Who explores; again for up to four.")
@click.option("--steps", type=click.IntRange(min=1), help="How long; by default as long as the paper does.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the world and of what happens in it; by default 0.")
@click.option("--world", metavar="ID", help="Which world of stored results, such as maze/017.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the page here instead.")
def watch(
    what: str,
    strategies: tuple[str, ...],
    steps: int | None,
    seed: int | None,
    world: str | None,
    output: Path | None,
) -> None:
    """Show strategies side by side as they explore WHAT, on a page that replays them.

    WHAT is a class of worlds (`berlyne list worlds`), a file with a world, or a store of results. The page is one
    file that needs nothing else; without -o it is opened.
    """
    if len(strategies) > MOST_RUNS:
        raise ValueError(f"there are {len(strategies)} strategies; a page shows 1 to {MOST_RUNS} side by side")
    if Path(what).is_dir():
        if steps is not None or seed is not None:
            raise ValueError("stored runs are shown as they are: --steps and --seed go with a class or file of worlds")
        runs = _stored(Path(what), world, strategies)
    else:
        if world is not None:
            raise ValueError(f"--world says which world of stored results, and {what} is no store of results")
        runs = _explored(what, strategies or USUAL, steps, 0 if seed is None else seed)
    page = berlyne.watch(runs, output)
    Console().print(f"Wrote {page}", highlight=False, soft_wrap=True, markup=False)


def _explored(what: str, strategies: tuple[str, ...], steps: int | None, seed: int) -> list[Run]:
    """Runs in a world that is drawn, or read from a file."""
    if what in WORLDS:
        place, n_steps = WORLDS[what].make(seed), WORLDS[what].n_steps
    elif what.lower().endswith(SUFFIXES):
        place, n_steps = berlyne.load_world(what), STEPS
    else:
        raise ValueError(
            f"there is no {what}; it must be a class of worlds ({', '.join(WORLDS)}), a file with a world "
            f"({', '.join(SUFFIXES)}) or a store of results"
        )
    return [berlyne.explore(place, name, n_steps=steps or n_steps, seed=seed) for name in strategies]


def _stored(store: Path, world: str | None, strategies: tuple[str, ...]) -> list[Run]:
    """Runs in one world of a store, of the strategies asked for, or of the first that there are."""
    results = berlyne.open_results(store)
    there = [str(label) for label in results.dataset["world"].values]
    if world is None:
        raise ValueError(f"{store} holds {len(there):,} worlds; say which by --world, such as --world {there[0]}")
    usual = tuple(name for name in USUAL if name in results.strategies)
    names = strategies or usual or tuple(results.strategies[:MOST_RUNS])
    return [results.run(world, name) for name in names]
