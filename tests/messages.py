"""Expect errors and warnings by what their message must name, not by its sentence.

A message names the argument, its value, and what is valid instead, in this order. Its sentence may be rewritten as long
as it does this. A message that names another argument or another value fails the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

Errors = type[BaseException] | tuple[type[BaseException], ...]


@contextmanager
def raises(error: Errors, *names: object) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error whose message is one line that names all `names`, in this order."""
    with pytest.raises(error) as raised:
        yield raised
    check_names(str(raised.value), *names)


@contextmanager
def warns(category: type[Warning], *names: object) -> Iterator[None]:
    """Expect exactly one warning, whose message is one line that names all `names`, in this order."""
    with pytest.warns(category) as recorded:
        yield
    (warning,) = recorded
    check_names(str(warning.message), *names)


def check_names(message: str, *names: object) -> None:
    """Fail unless the message is one line that contains all `names` as whole words, one after another.

    A name that is not a string stands for its `repr`. A number is not a part of another number: 1 is not named by "-1",
    "10" or "1.5".
    """
    assert message and "\n" not in message, f"the message must be one line, not {message!r}"
    position = 0
    for name in names:
        found = _whole(name if isinstance(name, str) else repr(name)).search(message, position)
        assert found, f"the message must name {name!r} after {message[:position]!r}, but it is: {message}"
        position = found.end()


def _whole(name: str) -> re.Pattern[str]:
    """Return a pattern that finds a name, but not as a part of a longer word or number."""
    before = r"(?<![\w.+-])" if name[:1].isdigit() else r"(?<![\w'])" if re.match(r"\w", name) else ""
    after = r"(?!\w|\.\d)" if name[-1:].isdigit() else r"(?!\w)" if re.match(r"\w", name[-1:]) else ""
    return re.compile(before + re.escape(name) + after)
