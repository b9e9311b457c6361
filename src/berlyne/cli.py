"""The command line: register the commands, and print user errors on one line."""

from __future__ import annotations

import sys

import click

import berlyne
from berlyne.commands.behaviour import compare, fit
from berlyne.commands.benchmark import benchmark
from berlyne.commands.errors import describe_os_error, error_line
from berlyne.commands.help import Group
from berlyne.commands.lab import lab
from berlyne.commands.listing import list_
from berlyne.commands.paper import report, reproduce
from berlyne.commands.studies import study
from berlyne.commands.study import init, merge, plot, run, show
from berlyne.commands.watch import watch
from berlyne.serialization import StoreError

EXAMPLE = """
berlyne init study.toml
berlyne run study.toml results.zarr
berlyne plot results.zarr -o curves.png
"""


@click.group(cls=Group, example=EXAMPLE)
@click.version_option(berlyne.__version__, package_name="berlyne")
def commands() -> None:
    """berlyne: a laboratory for learning-driven exploration."""


COMMANDS = (reproduce, report, init, run, merge, show, plot, watch, lab, fit, compare, benchmark, study, list_)
"""Add a new command or group here."""

for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run the command line; an error that the user can fix is one line and a non-zero exit code."""
    try:
        commands(prog_name="berlyne")
    except OSError as error:
        sys.exit(error_line(describe_os_error(error)))
    except MemoryError:
        sys.exit("berlyne: this machine does not have enough memory")
    except (ValueError, StoreError) as error:
        sys.exit(error_line(str(error)))
