"""`berlyne watch`: write a web page that replays explorations."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import click
from rich.console import Console

import berlyne
from berlyne.commands.errors import OptionError
from berlyne.commands.help import IMPORT, Command, Concentration, check_page_option
from berlyne.exploration.run import Run
from berlyne.user_modules import check_modules, import_modules
from berlyne.watch.data import MAX_RUNS
from berlyne.watch.page import check_page_path
from berlyne.worlds import BENCHMARKS, WORLDS, World
from berlyne.worlds.io import SUFFIXES

WATCH_EXAMPLE = """
berlyne watch maze --seed 7 --strategy "PIG(VI)" --strategy Random
berlyne watch river_swim --alpha 0.5
berlyne watch my-world.csv --steps 500 -o replay.html
berlyne watch results.zarr --world maze/017
"""
DEFAULT_STRATEGIES = ("PIG(VI)", "Random")
STEPS = 1000
"""Default number of steps in a world that is not in the paper."""


@click.command(cls=Command, example=WATCH_EXAMPLE)
@click.argument("source", metavar="WHAT")
@click.option(
    "--strategy", "strategies", multiple=True, metavar="NAME", help="Strategy to show; can be repeated, up to 4."
)
@click.option("--steps", type=click.IntRange(min=1), help=f"Number of steps; by default as in the paper, or {STEPS}.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed for the world and the explorations; by default 0.")
@click.option(
    "--alpha", type=Concentration(),
    help="Use the prior Dirichlet(NUMBER) over all states, for a benchmark or a file without a prior; by default 1/N. "
    "With ml, the concentration is learned.",
)  # fmt: skip
@click.option(
    "--note", "notes", type=(click.IntRange(min=0), str), multiple=True, metavar="STEP TEXT",
    help="Show TEXT from STEP on, until the next note; can be repeated.",
)  # fmt: skip
@click.option("--world", metavar="ID", help="World of stored results, such as maze/017.")
@IMPORT
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page to this file; its name must end in .html.",
)
def watch(
    source: str,
    strategies: tuple[str, ...],
    steps: int | None,
    seed: int | None,
    alpha: float | Literal["ml"] | None,
    notes: tuple[tuple[int, str], ...],
    world: str | None,
    imports: tuple[str, ...],
    output: Path | None,
) -> None:
    """Show explorations of WHAT side by side on a web page.

    WHAT is a class of worlds (`berlyne list worlds`), a benchmark such as river_swim (`berlyne list benchmarks`), a
    file with a world, or a store of results. The page replays the explorations. It is a single file that works
    offline. Without -o it is opened in a browser.
    """
    _check_strategies(strategies)
    import_modules(check_modules(imports), Path())
    check_page_option(output)
    if output is not None:
        check_page_path(output)
    left_out: list[str] = []
    if Path(source).is_dir():
        if not (steps is None and seed is None and alpha is None):
            raise OptionError(
                "stored runs cannot be changed; use --steps, --seed and --alpha only with a world, not with a store"
            )
        runs, left_out = _stored_runs(Path(source), world, strategies)
    else:
        if world is not None:
            raise OptionError(f"--world selects a world of stored results, but {source} is not a store of results")
        seed = 0 if seed is None else seed
        explored, n_steps = _make_world(source, seed, alpha)
        names = strategies or DEFAULT_STRATEGIES
        runs = [berlyne.explore(explored, name, n_steps=steps or n_steps, seed=seed) for name in names]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        _print(f"Wrote {berlyne.watch(runs, output, notes=dict(notes))}")
    for warning in caught:
        _print(f"Note: {warning.message}")
    if left_out:
        _print(f"Not shown: {', '.join(left_out)}; select up to {MAX_RUNS} with --strategy NAME")


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


def _check_strategies(names: tuple[str, ...]) -> None:
    if len(names) > MAX_RUNS:
        raise OptionError(f"there are {len(names)} strategies; a page shows 1 to {MAX_RUNS} side by side")
    for i, name in enumerate(names):
        if name in names[:i]:
            raise OptionError(f"--strategy {name} is given twice; give each strategy once")


def _make_world(source: str, seed: int, alpha: float | Literal["ml"] | None) -> tuple[World, int]:
    """Draw a world of a class, make a benchmark or read a file; return the world and the number of steps."""
    if source in WORLDS:
        if alpha is not None:
            raise OptionError(
                f"--alpha applies only to a benchmark or a file without a prior; {source} has the prior of the paper"
            )
        return WORLDS[source].make(seed), WORLDS[source].n_steps
    if source in BENCHMARKS:
        make = BENCHMARKS[source]
        return make(alpha=_default_alpha(make()) if alpha is None else alpha), STEPS
    if source.lower().endswith(SUFFIXES):
        return _read_world(source, alpha), STEPS
    if Path(source).exists():
        raise ValueError(f"{source} is not a world file; its name must end in {', '.join(SUFFIXES)}")
    matches = get_close_matches(source, [*WORLDS, *BENCHMARKS], n=1)
    raise ValueError(
        f"there is no {source}; did you mean {matches[0]}?"
        if matches
        else f"there is no {source}; it must be a class of worlds ({', '.join(WORLDS)}), a benchmark "
        f"({', '.join(BENCHMARKS)}), a file with a world ({', '.join(SUFFIXES)}) or a store of results"
    )


def _default_alpha(world: World) -> float:
    """Return the concentration of the prior of a benchmark, or of a world file without a prior: 1/N.

    Explorers that learn it begin there. It is fixed here, because the page cannot learn it when you take over.
    """
    return 1.0 / world.n_states


def _read_world(file: str, alpha: float | Literal["ml"] | None) -> World:
    """Read a world from a file; without a prior in the file, its prior is Dirichlet(alpha) over all states."""
    world = berlyne.load_world(file)
    if world.prior is not None:
        if alpha is not None:
            raise OptionError(f"{file} contains a prior; --alpha applies only to a file without a prior")
        return world
    alpha = _default_alpha(world) if alpha is None else alpha
    text = alpha if isinstance(alpha, str) else f"{alpha:g}"
    prior = berlyne.Dirichlet(alpha, n_states=world.n_states, n_actions=world.n_actions)
    _print(f"{file} contains no prior: using Dirichlet({text}) over all states; --alpha sets another concentration")
    return world.with_prior(prior)


def _stored_runs(store: Path, world: str | None, strategies: tuple[str, ...]) -> tuple[list[Run], list[str]]:
    """Return the runs to show in one world of a store, and the names of the strategies left out.

    If `strategies` is empty, the default strategies are shown, or else the first strategies of the store.
    """
    results = berlyne.open_results(store)
    worlds = [str(label) for label in results.dataset["world"].values]
    if world is None:
        raise OptionError(f"{store} contains {len(worlds):,} worlds; select one, such as --world {worlds[0]}")
    defaults = tuple(name for name in DEFAULT_STRATEGIES if name in results.strategies)
    names = strategies or defaults or tuple(results.strategies[:MAX_RUNS])
    left_out = [] if strategies else [name for name in results.strategies if name not in names]
    return [results.run(world, name) for name in names], left_out
