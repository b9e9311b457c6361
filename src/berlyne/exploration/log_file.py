"""The file of a lab book: an append-only log of JSON lines, each with a checksum of itself and all lines before it.

A line is on the disk before it is acknowledged. A line that was cut off was never acknowledged, so it is dropped, as
are blank lines that an editor left at the end. The next line is written in its place.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from berlyne.serialization import (
    BusyError,
    StoreError,
    check_file_type,
    exclusive_lock,
    read_file,
    report_write_errors,
    write_store_file,
)
from berlyne.validation import CLOSED_LOOP

FILE_PREFIX = b'{"berlyne":"lab book",'
"""First bytes of every lab book."""
LOCK_TIMEOUT = 10.0
"""Seconds to wait while another process writes."""
_sync = getattr(os, "fdatasync", os.fsync)
Line = dict[str, Any]


class LogPosition(NamedTuple):
    """A position in a log.

    Attributes
    ----------
    n_lines, size : int
        Number of lines and bytes before the position.
    sum : int
        Checksum of these lines.
    """

    n_lines: int = 0
    size: int = 0
    sum: int = 0


class Log:
    """A log, and the position up to which it was read.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = LogPosition()

    @property
    def size(self) -> int:
        """Number of bytes that were read."""
        return self._position.size

    def new_lines(self) -> Iterator[tuple[int, Any]]:
        """Yield the number (from 1 on) and the content of each line that was not read yet.

        A line counts as read when the next one is requested. So a line that the caller refuses is yielded again.
        """
        if read_file(self.path, 0) is None:  # raises if it is not a regular file
            raise StoreError(
                f"there is no lab book {self.path}; create one with LabBook.new or berlyne lab new{CLOSED_LOOP}"
            )
        with open(self.path, "rb") as file:
            self._check(file)
            file.seek(self._position.size)
            content = file.read()
        if not self._position.size:
            self._check_prefix(content)
        lines = content.split(b"\n")[:-1]
        while lines and not lines[-1].strip():
            lines.pop()
        for raw in lines:
            n_lines, size, before = self._position
            text, _, checksum = raw.rpartition(b" ")
            total = zlib.crc32(text, before)
            try:
                if int(checksum, 16) != total:
                    raise ValueError
                line = json.loads(text)
            except (ValueError, RecursionError):
                raise StoreError(f"line {n_lines + 1} of {self.path} is damaged or was edited{CLOSED_LOOP}") from None
            yield n_lines + 1, line
            self._position = LogPosition(n_lines + 1, size + len(raw) + 1, total)

    def add(self, line: Line) -> None:
        """Write one line after the current position, and wait until it is on the disk."""
        size = self._position.size
        content, total = _encode_line(line, self._position.sum)
        with report_write_errors(self.path, "the line was not added"), open(self.path, "r+b", buffering=0) as file:
            self._check(file)
            file.truncate(size)
            file.seek(size)
            try:
                done = 0
                while done < len(content):  # on a nearly full disk the first write is short and the next one fails
                    done += file.write(content[done:])
                _sync(file.fileno())
            except BaseException:
                file.truncate(size)
                raise
        self._position = LogPosition(self._position.n_lines + 1, size + len(content), total)

    def _check(self, file: IO[bytes]) -> None:
        """Raise a StoreError if the lines before the current position have changed."""
        size = self._position.size
        if os.fstat(file.fileno()).st_size < size:
            raise StoreError(f"{self.path} has become shorter since it was read; open it again")
        ending = _line_ending(self._position.sum)
        file.seek(max(size - len(ending), 0))
        if size and file.read(len(ending)) != ending:
            raise StoreError(f"{self.path} has changed since it was read; open it again")

    def _check_prefix(self, content: bytes) -> None:
        """Raise a StoreError if this is not the content of a lab book."""
        if _is_cut_off(content):
            raise StoreError(
                f"{self.path} is not a complete lab book: its first line was cut off; create it again with "
                f"LabBook.new or berlyne lab new{CLOSED_LOOP}"
            )
        if not content.startswith(FILE_PREFIX):
            raise StoreError(f"{self.path} is not a lab book")


def create_log(path: Path, *lines: Line) -> None:
    """Create a log with these lines; it is complete or not written.

    Only a log with a cut-off first line is replaced.
    """
    check_can_create(path)
    with write_lock(path):
        check_can_create(path)
        content, total = b"", 0
        for line in lines:
            encoded, total = _encode_line(line, total)
            content += encoded
        write_store_file(path, content, sync_folder=True)


def check_can_create(path: Path) -> None:
    """Raise a StoreError if no log can be created at `path`."""
    check_file_type(path)
    if not path.parent.is_dir():
        raise StoreError(
            f"directory {path.parent} does not exist, so {path.name} cannot be created; create the directory first"
        )
    content = read_file(path)
    if content is not None and not _is_cut_off(content):
        raise StoreError(f"{path} already exists; open it, or create another book")


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Hold the write lock of a log; wait up to `LOCK_TIMEOUT` seconds while another process holds it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(path, timeout=LOCK_TIMEOUT))
        except BusyError as busy:
            raise StoreError(
                f"{path} has been locked for {LOCK_TIMEOUT:g} seconds by {busy.holder}; "
                "nothing was written, so try again"
            ) from None
        yield


def _is_cut_off(content: bytes) -> bool:
    """Return whether this is part of the first line of a book, as left by a process killed while it created one."""
    return b"\n" not in content and (content.startswith(FILE_PREFIX) or FILE_PREFIX.startswith(content))


def _encode_line(line: Line, before: int) -> tuple[bytes, int]:
    """Return the bytes of a line, and the checksum of all lines including it; `before` is the checksum without it."""
    text = json.dumps(line, separators=(",", ":")).encode()
    total = zlib.crc32(text, before)
    return text + _line_ending(total), total


def _line_ending(total: int) -> bytes:
    """Return the end of a line: the checksum and a newline."""
    return f" {total:08x}\n".encode()
