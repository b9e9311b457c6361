"""Format errors as one line for the terminal."""

from __future__ import annotations

import click

from berlyne.serialization import WriteError

USAGE_CODE = 2
"""Exit code of a command that was called with a wrong option or argument; other errors have 1."""


class OptionError(ValueError):
    """Error about an option or an argument of a command."""


def describe_os_error(error: OSError) -> str:
    """Return the message of the operating system, followed by the file name if there is one."""
    if isinstance(error, WriteError):
        return str(error)
    return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")


def describe_usage_error(error: click.UsageError) -> str:
    """Return the message of click as one sentence; unless a command wrote it, with the help that tells more."""
    text = " ".join(error.format_message().split())
    if type(error) is click.UsageError:
        return text
    text = text.rstrip(".")
    if text.endswith("?"):
        return text.replace(". Did you mean", "; did you mean")
    hint = "" if error.ctx is None else f"; see {error.ctx.command_path} --help"
    return f"{text}{hint}"


def error_line(text: str) -> str:
    """Return `text` on one line after "berlyne: ", with unprintable characters escaped."""
    return "berlyne: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
