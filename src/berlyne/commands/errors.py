"""How commands put what went wrong into one sentence."""

from __future__ import annotations

from berlyne.serialization import WriteError


def describe_os_error(error: OSError) -> str:
    """What the operating system said, and of which file."""
    if isinstance(error, WriteError):
        return str(error)
    return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")


def error_line(text: str) -> str:
    """A message on one line, whatever names it repeats."""
    return "berlyne: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
