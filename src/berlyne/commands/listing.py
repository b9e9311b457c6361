"""`berlyne list`: print the available worlds, strategies, measures and so on."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import click
from rich.console import Console
from rich.table import Table

import berlyne
from berlyne.commands.help import Command
from berlyne.experiments.measures import MEASURES, OPTIONAL_MEASURES

Listing = tuple[tuple[str, ...], list[tuple[str, ...]]]


@click.command("list", cls=Command, example="berlyne list strategies")
@click.argument(
    "topic", type=click.Choice(["worlds", "benchmarks", "strategies", "utilities", "measures", "assumptions"])
)
def list_(topic: str) -> None:
    """List worlds, benchmarks, strategies, utilities, measures or assumptions.

    Worlds are classes from which worlds are drawn. Benchmarks are single worlds that are used for comparisons in the
    literature. Assumptions are settings of the reproduction that you can change with `berlyne reproduce --set`.
    """
    headings, lines = _LISTS[topic]()
    table = Table(*headings, box=None, pad_edge=False)
    table.columns[0].min_width = max(len(line[0]) for line in lines)  # names are not shortened: users type them
    for line in lines:
        table.add_row(*line)
    Console().print(table, markup=False)


def _worlds() -> Listing:
    classes = berlyne.worlds.WORLDS.values()
    return ("name", "class", "parameters", "steps in the paper"), [
        (k.name, k.title, ", ".join(map(_default, _parameters(k.make))), str(k.n_steps)) for k in classes
    ]


def _benchmarks() -> Listing:
    return ("name", "world", "parameters"), [
        (name, str(inspect.getdoc(make)).splitlines()[0], ", ".join(map(_default, _parameters(make))))
        for name, make in berlyne.worlds.BENCHMARKS.items()
    ]


def _default(p: inspect.Parameter) -> str:
    """Format a parameter as "name=default"."""
    return f"{p.name}={p.default:.3g}" if isinstance(p.default, float) else f"{p.name}={p.default}"


def _strategies() -> Listing:
    def privilege(s: berlyne.Strategy) -> str:
        return "plans with the true world" if s.sees_world else "may go anywhere" if s.relocates else ""

    return ("name", "coordination", "control"), [
        (s.name, (type(s.coordinate).__doc__ or "").split(".")[0], privilege(s)) for s in berlyne.STRATEGIES.values()
    ]


def _utilities() -> Listing:
    return ("name", "meaning"), [(u.name, u.meaning) for u in berlyne.UTILITIES.values()]


def _measures() -> Listing:
    measures = [(m, "yes") for m in MEASURES.values()] + [(m, "on request") for m in OPTIONAL_MEASURES.values()]
    return ("name", "over", "units", "stored", "meaning"), [
        (m.name, ", ".join(m.dims or ()), m.units, stored, m.meaning) for m, stored in measures
    ]


def _assumptions() -> Listing:
    from berlyne.paper.reproduction.assumptions import KEYS

    def format_value(value: object) -> str:
        return str(list(value)) if isinstance(value, tuple) else str(value)

    return ("key", "default", "reading", "meaning"), [
        (k.name, format_value(k.default), k.reading, f"{k.text}{': ' if k.choices else ''}{' or '.join(k.choices)}")
        for k in KEYS.values()
    ]


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters of a function, except `seed`."""
    return [p for p in inspect.signature(function).parameters.values() if p.name != "seed"]


_LISTS: dict[str, Callable[[], Listing]] = {
    "worlds": _worlds,
    "benchmarks": _benchmarks,
    "strategies": _strategies,
    "utilities": _utilities,
    "measures": _measures,
    "assumptions": _assumptions,
}
