"""The file of a lab book: lines of JSON that are only ever added, each with a checksum of itself and of all before it.

A line is on the disk before it is acknowledged. One that was cut off was never acknowledged: it is dropped, as blank
lines are that an editor left at the end, and the next line is written in its place.
"""

from __future__ import annotations

import json
import os
import random
import time
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
"""How every book begins, and no other file."""
PATIENCE = 10.0
"""Seconds to wait while another process writes."""
_sync = getattr(os, "fdatasync", os.fsync)
Line = dict[str, Any]


class LogPosition(NamedTuple):
    """How far a log was read: lines, bytes, and the checksum of all of them."""

    n_lines: int = 0
    size: int = 0
    sum: int = 0


class Log:
    """A log, and how far it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = LogPosition()

    def new_lines(self) -> Iterator[tuple[int, Any]]:
        """Lines that were not read yet, each with its number, from 1 on.

        A line counts as read once the next one is asked for: one that its reader refuses comes again.
        """
        if read_file(self.path, 0) is None:  # or an error if it is no file
            raise StoreError(
                f"there is no lab book {self.path}; begin one with LabBook.new, or: berlyne lab new{CLOSED_LOOP}"
            )
        with open(self.path, "rb") as file:
            self._check(file)
            file.seek(self._read.size)
            content = file.read()
        if not self._read.size:
            self._check_beginning(content)
        lines = content.split(b"\n")[:-1]
        while lines and not lines[-1].strip():
            lines.pop()
        for raw in lines:
            n_lines, size, before = self._read
            text, _, checksum = raw.rpartition(b" ")
            total = zlib.crc32(text, before)
            try:
                if int(checksum, 16) != total:
                    raise ValueError
                line = json.loads(text)
            except (ValueError, RecursionError):
                raise StoreError(
                    f"line {n_lines + 1} of {self.path} is damaged, or was changed by hand{CLOSED_LOOP}"
                ) from None
            yield n_lines + 1, line
            self._read = LogPosition(n_lines + 1, size + len(raw) + 1, total)

    def add(self, line: Line) -> None:
        """Put one line at the end of what was read, and wait until it is on the disk."""
        size = self._read.size
        content, total = _written(line, self._read.sum)
        with report_write_errors(self.path, "the line was not added"), open(self.path, "r+b", buffering=0) as file:
            self._check(file)
            file.truncate(size)
            file.seek(size)
            try:
                done = 0
                while done < len(content):  # on a disk that is nearly full the first write is short, the next one fails
                    done += file.write(content[done:])
                _sync(file.fileno())
            except BaseException:
                file.truncate(size)
                raise
        self._read = LogPosition(self._read.n_lines + 1, size + len(content), total)

    def _check(self, file: IO[bytes]) -> None:
        """Refuse a file that does not begin with what was read of it."""
        size = self._read.size
        if os.fstat(file.fileno()).st_size < size:
            raise StoreError(f"{self.path} is shorter than when it was read; open it again")
        mark = _mark(self._read.sum)
        file.seek(max(size - len(mark), 0))
        if size and file.read(len(mark)) != mark:
            raise StoreError(f"{self.path} is not what it was when it was read; open it again")

    def _check_beginning(self, content: bytes) -> None:
        if _is_cut_off(content):
            raise StoreError(
                f"{self.path} is not a lab book of berlyne yet: its first line was cut off; begin it again with "
                f"LabBook.new, or: berlyne lab new{CLOSED_LOOP}"
            )
        if not content.startswith(FILE_PREFIX):
            raise StoreError(f"{self.path} is not a lab book of berlyne")


def create_log(path: Path, line: Line) -> None:
    """Make a log of one line, whole or not at all; in place of one whose first line was cut off, and of no other."""
    check_can_create(path)
    with write_lock(path):
        check_can_create(path)
        write_store_file(path, _written(line, 0)[0], sync_folder=True)


def check_can_create(path: Path) -> None:
    """An error if no log can be begun here."""
    check_file_type(path)
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent} to begin {path.name} in; make it first")
    content = read_file(path)
    if content is not None and not _is_cut_off(content):
        raise StoreError(f"{path} is there already; open it, or begin another book")


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Hold a log for writing; while another process does, wait for it."""
    until = time.monotonic() + PATIENCE
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(exclusive_lock(path))
                break
            except BusyError as busy:
                if time.monotonic() > until:
                    raise StoreError(
                        f"{path} is being written by {busy.holder}, and has been for {PATIENCE:g} seconds; "
                        "nothing was written here, so try again"
                    ) from None
            time.sleep(random.uniform(0.001, 0.02))  # so that those who wait do not ask in step
        yield


def _is_cut_off(content: bytes) -> bool:
    """Whether this is less than the first line of a book, as one leaves it who is killed while it begins one."""
    return b"\n" not in content and (content.startswith(FILE_PREFIX) or FILE_PREFIX.startswith(content))


def _written(line: Line, before: int) -> tuple[bytes, int]:
    """A line as it is written, and the checksum of all up to it."""
    text = json.dumps(line, separators=(",", ":")).encode()
    total = zlib.crc32(text, before)
    return text + _mark(total), total


def _mark(total: int) -> bytes:
    """How a line ends."""
    return f" {total:08x}\n".encode()
