"""Commands whose help ends with examples."""

from __future__ import annotations

from typing import Any

import click

from berlyne.priors.refit import MOST_LIKELY


class Concentration(click.ParamType):  # type: ignore[type-arg]  # before 8.2 it takes no type
    """The concentration of a prior: a number, or "ml" to learn it."""

    name = "number or ml"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or "ml"."""
        return value if value == MOST_LIKELY else click.FLOAT.convert(value, param, ctx)


class _WithExample(click.Command):
    """A command whose help ends with examples to copy.

    Parameters
    ----------
    *args : object
        Positional arguments of `click.Command`.
    example : str
        Example commands, one per line.
    **options : object
        Keyword arguments of `click.Command`.
    """

    def __init__(self, *args: Any, example: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; an invalid value is a `ValueError`, so that `cli.main` prints it on one line."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            raise
        except click.BadParameter as error:
            raise ValueError(error.format_message()) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples at the end of the help."""
        super().format_epilog(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                for line in self.example.strip().splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class Command(_WithExample):
    """A command with examples in its help."""


class Group(_WithExample, click.Group):
    """A group of commands with examples in its help."""


IMPORT = click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="MODULE",
    help="Python module that registers your own indices and methods; can be repeated.",
)
"""Option of commands that take names of strategies."""

JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Number of processes; by default one per core.")
"""Option of commands that compute for long."""
