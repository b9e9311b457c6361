"""The first line of a lab book: what explores.

A prior or a strategy of ours is in it whole. Of one of a user's own there is a name: "module:name", by which it is
looked up whenever the book is opened, or that of its class, by which one that is given again is recognised.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.exploration.explorer import Explorer
from berlyne.exploration.log_file import Line
from berlyne.labels import as_list, label_from_json, label_to_json
from berlyne.priors import PRIORS, Prior
from berlyne.priors.protocols import Description
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import check_count, short_repr

FORMAT = 1


def make_header(prior: Prior | str, strategy: str | Strategy, seed: int, given: dict[str, Any]) -> Line:
    """The first line of a book that is to be begun; `given` are labels and sizes, None where they are not."""
    labels = {name: given[name] for name in ("states", "actions")}
    sizes = {name: given[name] for name in ("n_states", "n_actions")}
    return {
        "berlyne": "lab book",
        "format": FORMAT,
        "prior": {"from": prior} if isinstance(prior, str) else _described(prior),
        "strategy": _strategy_text(strategy),
        "seed": check_count("seed", seed, 0),
        **{k: None if these is None else [label_to_json(v) for v in as_list(k, these)] for k, these in labels.items()},
        **{name: check_count(name, size, 1) for name, size in sizes.items() if size is not None},
    }


def explorer_from_header(
    path: Path, header: Any, prior: Prior | str | None, strategy: str | Strategy | None
) -> Explorer:
    """The explorer that the first line of a book describes, before it is told anything.

    prior, strategy : what was given with the book, if anything; it must be what the line says.
    """
    if header.get("format") != FORMAT:
        raise StoreError(f"{path} has format {header.get('format')}; this version reads format {FORMAT}")
    with _reading(path):
        said, told, seed = dict(header["prior"]), header["strategy"], header["seed"]
        own = None if isinstance(told, str) else str(told["own"])
        states, actions = (
            None if header[name] is None else [label_from_json(label) for label in header[name]]
            for name in ("states", "actions")
        )
        sizes = {name: header.get(name) for name in ("n_states", "n_actions")}
    found = _prior(path, said, prior)
    mine = None if strategy is None else _resolved(strategy, path.parent)
    chosen = _strategy(path, told, mine) if own is None else _own_strategy(path, own, mine)
    return Explorer(found, chosen, seed, states=states, actions=actions, **sizes)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What a first line that holds the wrong things leads to, in one sentence."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise StoreError(f"line 1 of {path} does not say what explores ({type(error).__name__}: {error})") from None


def _described(prior: Prior) -> Line:
    """What the first line says of a prior: all of it if it is ours, else what it looks like."""
    if type(prior) not in PRIORS.values():
        return {"own": type(prior).__name__}
    said: Description = prior.describe()  # type: ignore[attr-defined]  # ours has it
    sizes = {"n_states": prior.n_states, "n_actions": prior.n_actions}  # type: ignore[attr-defined]  # and these
    arrays = {name: values.tolist() for name, values in said.arrays.items()}
    return {"kind": said.kind, "parameters": said.parameters, "arrays": arrays, **sizes}


def _restored(said: Line) -> Prior:
    arrays = {name: np.asarray(values) for name, values in said["arrays"].items()}
    described = Description(said["kind"], said["parameters"], arrays)
    found: Prior = PRIORS[said["kind"]].from_description(said["n_states"], said["n_actions"], described)
    return found


def _prior(path: Path, said: Line, given: Prior | str | None) -> Prior:
    """The prior that a book was begun with; one that is given must be that."""
    mine: Prior | None = import_object(given, path.parent) if isinstance(given, str) else given
    if "own" in said:
        if mine is None:
            raise StoreError(f"{path} was begun with a prior of your own, {said['own']}; give it: LabBook(path, prior)")
        if type(mine).__name__ != said["own"]:
            raise StoreError(
                f"{path} was begun with a prior of your own, {said['own']}; give that, not {short_repr(mine)}"
            )
        return mine
    found: Prior
    if "from" in said:
        found = import_object(said["from"], path.parent)
    else:
        with _reading(path):
            found = _restored(said)
    if mine is not None and _described(mine) != _described(found):
        raise StoreError(
            f"{path} was begun with {short_repr(found)}, not with {short_repr(mine)}; "
            "leave the prior out, or begin another book"
        )
    return found


def _strategy_text(strategy: str | Strategy) -> str | Line:
    if isinstance(strategy, str):
        return strategy
    _check_strategy("strategy", strategy)
    try:
        known = get_strategy(strategy.name) == strategy
    except ValueError:
        known = False
    return strategy.name if known else {"own": strategy.name}


def _resolved(strategy: str | Strategy, beside: Path) -> Strategy:
    """The strategy that is meant, be it by a name, by "module:name", or by itself."""
    found = import_object(strategy, beside) if isinstance(strategy, str) and ":" in strategy else strategy
    _check_strategy(repr(strategy) if isinstance(strategy, str) else "strategy", found)
    return get_strategy(found)


def _check_strategy(called: str, found: Any) -> None:
    if not isinstance(found, str | Strategy):
        raise ValueError(f"{called} is {short_repr(found)}; it must be a Strategy, or the name of one")


def _own_strategy(path: Path, name: str, mine: Strategy | None) -> Strategy:
    if mine is None:
        raise StoreError(f"{path} was begun with a strategy of your own, {name}; give it: LabBook(path, strategy=...)")
    if mine.name != name:
        raise StoreError(f"{path} was begun with a strategy of your own, {name}; give that, not {mine}")
    return mine


def _strategy(path: Path, told: str, mine: Strategy | None) -> Strategy:
    """The strategy that a book names; one that is given must be that."""
    found = _resolved(told, path.parent)
    if mine is None or mine == found or (":" in told and mine.name == found.name):
        return found
    given = f"{mine}" if mine.name != found.name else "one of your own that is called so"
    raise StoreError(
        f"{path} was begun with the strategy {found}, not with {given}; leave the strategy out, or begin another book"
    )


def import_object(text: str, beside: Path) -> Any:
    """The object called "module:name", looked for in the current folder first, and then `beside` the book."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{text!r} names nothing; write module:name, such as mylab:prior")
    folders = [os.getcwd(), str(beside.absolute())]
    _check_not_another(module.partition(".")[0], folders)
    sys.path[:0] = folders
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise ValueError(f"{text!r} cannot be used: {_told(error)}") from None
        raise ValueError(f"{text!r} cannot be found ({error}); it must be an object in a module on the path") from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"{text!r} cannot be used: {_told(error)}") from None
    finally:
        for folder in folders:
            sys.path.remove(folder)
    if not hasattr(found, name):
        raise ValueError(f"{text!r} cannot be found: {module} has no {name}")
    value = getattr(found, name)
    if isinstance(value, type):
        raise ValueError(f"{text!r} is a class; name an object of it, such as my_prior = {name}(...) in {module}")
    return value


def _check_not_another(module: str, folders: list[str]) -> None:
    """Refuse a module in these folders if another of its name was imported before: Python would take that."""
    here = getattr(PathFinder.find_spec(module, folders), "origin", None)
    before = getattr(sys.modules.get(module), "__file__", None)
    if here and before and os.path.exists(before) and not os.path.samefile(before, here):
        raise ValueError(f"{here} cannot be read, since {before} has the same name and was read before it")


def _told(error: BaseException) -> str:
    """What went wrong in a module of the user's while it was imported, and where."""
    ours = (__file__, importlib.__file__)
    theirs = [f for f in traceback.extract_tb(error.__traceback__) if f.filename not in ours and f.filename[0] != "<"]
    where = f" in {Path(theirs[0].filename).name}, line {theirs[0].lineno}" if theirs else ""
    said = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{said}{where}"
