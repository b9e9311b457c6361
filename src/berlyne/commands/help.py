"""Commands whose help ends with examples."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from berlyne.commands.errors import OptionError, describe_usage_error
from berlyne.priors.refit import MOST_LIKELY


class Concentration(click.ParamType):  # type: ignore[type-arg]  # before 8.2 it takes no type
    """The concentration of a prior: a number, or "ml" to learn it."""

    name = "number or ml"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or "ml"."""
        try:
            number = value if value == MOST_LIKELY else float(value)
        except ValueError:
            number = 0.0
        if number != MOST_LIKELY and not 0.0 < number < float("inf"):
            raise OptionError(f"--alpha is {value}; it must be a positive number, or {MOST_LIKELY} to learn it")
        return number


def check_page_option(output: Path | None) -> None:
    """Refuse a value of --output that is not the name of a page."""
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"--output is {output}; the file name must end in .html or .htm")


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
        """Parse the command line; an invalid value is an `OptionError`, which `cli.main` prints on one line."""
        words = list(args)  # click takes words out of `args`
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            raise
        except click.BadParameter as error:
            raise OptionError(describe_usage_error(error)) from None
        except click.UsageError as error:
            known = {name for parameter in self.params for name in parameter.opts}
            options = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
            misspelt = [name for name in options if name not in known]
            if type(error) is click.UsageError and ctx.ignore_unknown_options and misspelt:
                raise click.NoSuchOption(misspelt[0], ctx=ctx) from None
            raise

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
    """A group of commands with examples in its help, in which summaries of commands are not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of every command."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        lines = [(name, command.get_short_help_str(limit=10_000)) for name, command in listed if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


class LazyGroup(Group):
    """A group whose commands are imported when they are used.

    Parameters
    ----------
    *args : object
        Positional arguments of `click.Group`.
    sources : mapping of str to str
        Module of `berlyne.commands` of each command, followed by ":" and its name in the module if that differs.
    **options : object
        Keyword arguments of `Group`.
    """

    def __init__(self, *args: Any, sources: Mapping[str, str], **options: Any) -> None:
        self.sources = dict(sources)
        super().__init__(*args, **options)

    @property
    def commands(self) -> dict[str, click.Command]:
        """All commands by name; reading them imports them all."""
        return {name: self._load(name) for name in self.sources}

    @commands.setter
    def commands(self, _: object) -> None:
        """Ignore the empty dictionary that click sets."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(self.sources)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        return self._load(cmd_name) if cmd_name in self.sources else None

    def _load(self, name: str) -> click.Command:
        module, _, attribute = self.sources[name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"berlyne.commands.{module}"), attribute or name)
        return command


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
