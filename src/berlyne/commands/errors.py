"""Format errors as one line for the terminal."""

from __future__ import annotations

from berlyne.serialization import WriteError


def describe_os_error(error: OSError) -> str:
    """Return the message of the operating system, followed by the file name if there is one."""
    if isinstance(error, WriteError):
        return str(error)
    return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")


def error_line(text: str) -> str:
    """Return `text` on one line after "berlyne: ", with unprintable characters escaped."""
    return "berlyne: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
