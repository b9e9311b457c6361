"""`berlyne list`: print the available worlds, strategies, measures and so on."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable
from itertools import zip_longest

import click

import berlyne
from berlyne.commands.help import Command
from berlyne.experiments.measures import MEASURES, OPTIONAL_MEASURES

GAP = 2
"""Blanks between two columns of a table."""
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
    click.echo(format_listing(headings, lines, shutil.get_terminal_size().columns))


def format_listing(headings: tuple[str, ...], lines: list[tuple[str, ...]], width: int) -> str:
    """Format lines as a table of this width; texts are wrapped between words and never cut.

    Names in the first column stay whole, because users type them. If the longest words do not fit side by side, the
    columns follow one below the other.
    """
    columns = list(zip(headings, *lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    smallest = [widths[0], *(max(map(len, " ".join(column).split())) for column in columns[1:])]
    room = width - GAP * (len(headings) - 1)
    if sum(smallest) > room:
        return "\n".join(_format_stacked(headings, line, width) for line in lines)
    while sum(widths) > room:  # narrow the widest column that can be narrowed
        widths[max((w, i) for i, w in enumerate(widths) if w > smallest[i])[1]] -= 1
    return "\n".join(_format_row(line, widths) for line in [headings, *lines])


def _format_row(cells: tuple[str, ...], widths: list[int]) -> str:
    """Format one row of a table, whose texts have as many lines as they need."""
    wrapped = [textwrap.wrap(cell, n, break_on_hyphens=False) for cell, n in zip(cells, widths, strict=True)]
    texts = zip_longest(*wrapped, fillvalue="")
    return "\n".join((" " * GAP).join(map(str.ljust, text, widths)).rstrip() for text in texts)


def _format_stacked(headings: tuple[str, ...], line: tuple[str, ...], width: int) -> str:
    """Format one line: its name, then every other column with its heading, indented and wrapped."""
    parts = [f"{heading}: {text}" for heading, text in zip(headings[1:], line[1:], strict=True) if text]
    wrapper = textwrap.TextWrapper(max(width, 10), "  ", "    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join([line[0], *map(wrapper.fill, parts)])  # the terminal wraps a word that is longer than a line


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
