"""The command line: register the commands, and print user errors on one line."""

from __future__ import annotations

import sys

import click

import berlyne
from berlyne.commands.errors import USAGE_CODE, OptionError, describe_os_error, describe_usage_error, error_line
from berlyne.commands.help import LazyGroup
from berlyne.serialization import StoreError

EXAMPLE = """
berlyne init study.toml
berlyne run study.toml results.zarr
berlyne plot results.zarr -o curves.png
"""


COMMANDS = {
    "reproduce": "paper",
    "report": "paper",
    "init": "study",
    "run": "study",
    "merge": "study",
    "show": "study",
    "plot": "study",
    "watch": "watch",
    "lab": "lab",
    "fit": "behaviour",
    "compare": "behaviour",
    "benchmark": "benchmark",
    "study": "studies",
    "list": "listing:list_",
}
"""Modules of `berlyne.commands` that contain the commands, by name; a module is imported when its command is used."""


@click.group(cls=LazyGroup, sources=COMMANDS, example=EXAMPLE)
@click.version_option(berlyne.__version__, package_name="berlyne")
def commands() -> None:
    """berlyne: a laboratory for learning-driven exploration."""


def main() -> None:
    """Run the command line; an error that the user can fix is one line, with exit code 2 for usage and 1 for others."""
    try:
        code = commands.main(prog_name="berlyne", standalone_mode=False)
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2: a group without a command
            error.show()
        else:
            click.echo(error_line(describe_usage_error(error)), err=True)
        sys.exit(USAGE_CODE)
    except OptionError as error:
        click.echo(error_line(str(error)), err=True)
        sys.exit(USAGE_CODE)
    except click.ClickException as error:
        sys.exit(error_line(" ".join(error.format_message().split())))
    except click.Abort:
        sys.exit("berlyne: stopped")
    except OSError as error:
        sys.exit(error_line(describe_os_error(error)))
    except MemoryError:
        sys.exit("berlyne: this machine does not have enough memory")
    except (ValueError, StoreError) as error:
        sys.exit(error_line(str(error)))
    if isinstance(code, int) and code:
        sys.exit(code)
