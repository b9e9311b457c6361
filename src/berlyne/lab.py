"""A lab book: an explorer that lives in a file, for experiments that take days and computers that crash.

The file is a log that is only ever added to: a first line that says what explores, then a line for everything that was
told or undone. A line is on the disk before it is acknowledged, so whatever stops a process, nothing that was
acknowledged is lost; a line that was cut off was never acknowledged, and is dropped. The explorer is worked
out again from the log, so priors and strategies of one's own work as well as ours.

Each line ends with a checksum of itself and of all lines before it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from berlyne.arrays import check_count
from berlyne.experiments.files import StoreError, only, read
from berlyne.experiments.lock import only_writer
from berlyne.explorer import Explorer
from berlyne.labels import from_plain, plain_value, several
from berlyne.pages import CLOSED_LOOP
from berlyne.priors import Prior
from berlyne.priors.prior import Description
from berlyne.strategies import Strategy, strategy

FORMAT = 1
BEGINNING = b'{"berlyne":"lab book",'
"""How every book begins, and no other file."""
_sync = getattr(os, "fdatasync", os.fsync)
Line = dict[str, Any]


class LabBook:
    """An explorer whose every observation is on the disk before it counts.

    Parameters
    ----------
    path : the file; `LabBook.new` begins one.
    prior, strategy : as they were given to `new`, if they are of one's own; others are in the file.

    Attributes
    ----------
    explorer : the explorer, to be asked whatever an `Explorer` can be asked; tell it nothing but through the book.

    Examples
    --------
    >>> import berlyne, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "rats.lab")
    >>> book = berlyne.LabBook.new(path, berlyne.Dirichlet(1.0, n_states=3, n_actions=2), seed=0)
    >>> a = book.ask(0)
    >>> book.tell(0, a, 2)
    >>> berlyne.LabBook(path).explorer.n_obs
    1
    """

    def __init__(
        self, path: str | os.PathLike[str], prior: Prior | None = None, strategy: str | Strategy | None = None
    ) -> None:
        self.path = Path(path)
        content = read(self.path)
        if content is None:
            raise StoreError(
                f"there is no lab book {self.path}; begin one with LabBook.new, or: berlyne lab new{CLOSED_LOOP}"
            )
        self._n_lines, self._size, self._sum = 0, 0, 0
        lines = self._parsed(content) if content.startswith(BEGINNING) else []
        if not lines:
            raise StoreError(f"{self.path} is not a lab book of berlyne")
        header, told = lines[0], []
        if header.get("format") != FORMAT:
            raise StoreError(f"{self.path} has format {header.get('format')}; this version reads format {FORMAT}")
        self.explorer = _explorer(self.path, header, prior, strategy)
        for number, line in enumerate(lines[1:], start=2):
            if "told" in line:
                told.append((number, line))
            elif line.get("undo") == 1 and told:
                told.pop()
            else:
                raise StoreError(f"line {number} of {self.path} is not one of a lab book")
        for number, line in told:
            self._learn(line, number)

    @classmethod
    def new(
        cls,
        path: str | os.PathLike[str],
        prior: Prior | str,
        strategy: str | Strategy = "PIG(VI)",
        seed: int = 0,
        *,
        states: Iterable[Any] | None = None,
        actions: Iterable[Any] | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
    ) -> LabBook:
        """Begin a book; an error if there is something at `path`. States and actions may have labels.

        `n_states` and `n_actions` are needed only for a prior that does not carry them, and where there are no labels.
        A prior or a strategy of your own may be given as text "module:name", which is looked up whenever the book is
        opened; given as an object it must be given again to `LabBook(path, prior, strategy)`.
        """
        place = Path(path)
        only(place)
        if place.exists():
            raise StoreError(f"{place} is there already; open it, or begin another book")
        given = looked_up(prior) if isinstance(prior, str) else prior
        sizes = {"n_states": n_states, "n_actions": n_actions}
        header = {
            "berlyne": "lab book",
            "format": FORMAT,
            "prior": {"from": prior} if isinstance(prior, str) else _described(given),
            "strategy": _strategy_text(strategy),
            "seed": check_count("seed", seed, 0),
            "states": None if states is None else [plain_value(label) for label in several("states", states)],
            "actions": None if actions is None else [plain_value(label) for label in several("actions", actions)],
            **{name: check_count(name, size, 1) for name, size in sizes.items() if size is not None},
        }
        _explorer(place, header, given, strategy)  # what cannot explore is not begun
        with open(place, "xb") as file:
            file.write(_written(header, 0)[0])
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(place.parent)
        return cls(place, given, strategy)

    def __repr__(self) -> str:
        return f"LabBook({str(self.path)!r}, {self.explorer!r})"

    def ask(self, s: Any, among: Iterable[Any] | None = None) -> Any:
        """The action to try in state `s`, `among` those that are possible; the same one until something is told."""
        self.catch_up()
        return self.explorer.act(s, among)

    def ask_pair(self) -> tuple[Any, Any]:
        """The state and the action to try, for a strategy that may go to any state."""
        self.catch_up()
        return self.explorer.choose_pair()

    def tell(self, s: Any, a: Any, s_next: Any, *, ended: bool = False) -> None:
        """Write down that action `a` in state `s` led to `s_next`; once this returns it is on the disk.

        `ended` says that the episode is over there.
        """
        with only_writer(self.path):
            self.catch_up()
            self.explorer.observe(s, a, s_next, ended=ended)
            try:
                line: Line = {"told": [plain_value(label) for label in (s, a, s_next)]}
                self._add({**line, "ended": True} if ended else line)
            except BaseException:
                self.explorer.undo()
                raise

    def undo(self) -> tuple[Any, Any, Any]:
        """Strike out the last line told that still counts, and return it; the log keeps both."""
        with only_writer(self.path):
            self.catch_up()
            if self.explorer.n_obs == 0:
                raise ValueError(f"{self.path} has nothing to undo")
            s, a, s_next = self.explorer.history[-1]
            self._add({"undo": 1})
            self.explorer.undo()
            return s, a, s_next

    def catch_up(self) -> None:
        """Read what others have told since: several processes may use a book, one at a time writes."""
        before = self._n_lines
        with open(self.path, "rb") as file:
            file.seek(self._size)
            new = file.read()
        for number, line in enumerate(self._parsed(new), start=before + 1):
            if "told" in line:
                self._learn(line, number)
            else:
                self.explorer.undo()

    def _learn(self, line: Line, number: int) -> None:
        try:
            s, a, s_next = (from_plain(value) for value in line["told"])
            self.explorer.observe(s, a, s_next, ended=bool(line.get("ended", False)))
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"line {number} of {self.path} does not fit its explorer: {error}") from None

    def _parsed(self, content: bytes) -> list[Line]:
        """The whole lines of `content`, which follows what was read before; what is cut off is left out."""
        found = []
        for raw in content.split(b"\n")[:-1]:
            self._n_lines += 1
            text, _, checksum = raw.rpartition(b" ")
            total = zlib.crc32(text, self._sum)
            try:
                if int(checksum, 16) != total:
                    raise ValueError
                line = json.loads(text)
            except (ValueError, RecursionError):
                raise StoreError(
                    f"line {self._n_lines} of {self.path} is damaged, or was changed by hand{CLOSED_LOOP}"
                ) from None
            found.append(line)
            self._size, self._sum = self._size + len(raw) + 1, total
        return found

    def _add(self, line: Line) -> None:
        """Put one line at the end, in place of what was cut off there, and wait until it is on the disk."""
        content, total = _written(line, self._sum)
        with open(self.path, "r+b", buffering=0) as file:
            file.truncate(self._size)
            file.seek(self._size)
            try:
                if file.write(content) != len(content):
                    raise OSError(f"{self.path} could not be written; is the disk full?")
                _sync(file.fileno())
            except BaseException:
                file.truncate(self._size)
                raise
        self._n_lines, self._size, self._sum = self._n_lines + 1, self._size + len(content), total


def _written(line: Line, before: int) -> tuple[bytes, int]:
    """A line as it is written, and the checksum of all up to it."""
    text = json.dumps(line, separators=(",", ":")).encode()
    total = zlib.crc32(text, before)
    return text + f" {total:08x}\n".encode(), total


def _sync_folder(folder: Path) -> None:
    """Wait until a folder knows its files; where folders can be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _described(prior: Prior) -> Line:
    """What the first line says of a prior: all of it if it is ours, else what it looks like."""
    from berlyne.engine.belief import knows  # here, so that `import berlyne` need not import Numba

    if not knows(prior):
        return {"own": type(prior).__name__}
    said: Description = prior.describe()  # type: ignore[attr-defined]  # ours has it
    sizes = {"n_states": prior.n_states, "n_actions": prior.n_actions}  # type: ignore[attr-defined]  # and these
    arrays = {name: values.tolist() for name, values in said.arrays.items()}
    return {"kind": said.kind, "parameters": said.parameters, "arrays": arrays, **sizes}


def _strategy_text(how: str | Strategy) -> str | Line:
    if isinstance(how, str):
        return how
    try:
        known = strategy(how.name) == how
    except ValueError:
        known = False
    return how.name if known else {"own": how.name}


def _explorer(path: Path, header: Line, prior: Prior | None, how: str | Strategy | None) -> Explorer:
    """The explorer that the first line of a book describes, before it is told anything."""
    said, told = header["prior"], header["strategy"]
    if "from" in said:
        prior = looked_up(said["from"])
    elif "own" not in said:
        prior = _restored(said)
    elif prior is None:
        raise StoreError(f"{path} was begun with a prior of your own, {said['own']}; give it: LabBook(path, prior)")
    if not isinstance(told, str):
        if how is None:
            raise StoreError(
                f"{path} was begun with a strategy of your own, {told['own']}; give it: LabBook(path, strategy=...)"
            )
    else:
        how = looked_up(told) if ":" in told else told
    states, actions = (
        None if header[name] is None else [from_plain(v) for v in header[name]] for name in ("states", "actions")
    )
    n_states, n_actions = header.get("n_states"), header.get("n_actions")
    return Explorer(prior, how, header["seed"], n_states=n_states, n_actions=n_actions, states=states, actions=actions)


def _restored(said: Line) -> Prior:
    import numpy as np

    from berlyne.engine.mind import restored_prior

    arrays = {name: np.asarray(values) for name, values in said["arrays"].items()}
    found: Prior = restored_prior(
        said["n_states"], said["n_actions"], Description(said["kind"], said["parameters"], arrays)
    )
    return found


def looked_up(text: str) -> Any:
    """The object called "module:name", looked for in the current folder first."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{text!r} names nothing; write module:name, such as mylab:prior")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{text!r} cannot be found ({error}); it must be an object in a module on the path") from None
    finally:
        sys.path.pop(0)
    if isinstance(found, type):
        raise ValueError(f"{text!r} is a class; name an object of it, such as my_prior = {name}(...) in {module}")
    return found
