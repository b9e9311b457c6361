"""Commands whose help ends in an example."""

from __future__ import annotations

from typing import Any

import click


class _WithExample(click.Command):
    """A command whose help ends in lines that can be typed as they are.

    example : those lines, each a command.
    """

    def __init__(self, *args: Any, example: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; a value that is wrong is a `ValueError`, one sentence as all others."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            raise
        except click.BadParameter as error:
            raise ValueError(error.format_message()) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example after all else."""
        super().format_epilog(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                for line in self.example.strip().splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class Command(_WithExample):
    """One command."""


class Group(_WithExample, click.Group):
    """Commands under one name."""
