"""The first line of a lab book: the prior, the strategy, the seed and the labels.

A built-in prior or strategy is stored completely. For your own, the line contains a name: "module:name", which is
imported whenever the book is opened, as are the modules in `imports`; or the name of the class of the prior or of the
strategy, with which the object that you pass when you open the book is compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.agents.make import Engine
from berlyne.exploration.explorer import Explorer
from berlyne.exploration.log_file import Line
from berlyne.exploration.trials import TrialExplorer
from berlyne.labels import as_list, label_from_json, label_to_json
from berlyne.priors import PRIORS, Prior
from berlyne.priors.protocols import Description
from berlyne.priors.registry import can_be_saved, contains_functions
from berlyne.serialization import StoreError
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.user_modules import check_modules, import_modules, import_object
from berlyne.validation import check_count, short_repr

FORMAT = 2
"""Format of new books; from 2 on, lines have times, and may be declarations, lost trials and questions."""
READABLE_FORMATS = (1, FORMAT)


def make_header(
    prior: Prior | str, strategy: str | Strategy, seed: int, options: dict[str, Any], imports: Iterable[str] = ()
) -> Line:
    """Return the first line of a new book; `options` contains labels, sizes and possible actions, or None."""
    modules = check_modules(imports)
    labels = {name: options[name] for name in ("states", "actions")}
    sizes = {name: options[name] for name in ("n_states", "n_actions")}
    return {
        "berlyne": "lab book",
        "format": FORMAT,
        "prior": {"from": prior} if isinstance(prior, str) else _describe_prior(prior),
        "strategy": _describe_strategy(strategy),
        "seed": check_count("seed", seed, 0),
        **{k: None if v is None else [label_to_json(label) for label in as_list(k, v)] for k, v in labels.items()},
        **{name: check_count(name, size, 1) for name, size in sizes.items() if size is not None},
        **({"imports": list(modules)} if modules else {}),
        **({} if options["possible"] is None else {"possible": _describe_possible(options["possible"])}),
        **({} if options.get("costs") is None else {"costs": _describe_costs(options["costs"])}),
        **({"trials": True} if options.get("trials") else {}),
    }


def _describe_costs(costs: Any) -> Any:
    """Return the costs of actions: pairs of an action and its cost, or an array."""
    if isinstance(costs, Mapping):
        return [[label_to_json(a), cost] for a, cost in costs.items()]
    return {"array": np.asarray(costs).tolist()}


def _read_costs(entry: Any) -> Any:
    """Return the argument that `_describe_costs` described."""
    if isinstance(entry, dict):
        return np.array(entry["array"], dtype=float)
    return {label_from_json(a): cost for a, cost in entry}


def changed_header(header: Line, prior: Prior | str | None, strategy: str | Strategy | None, seed: int | None) -> Line:
    """Return the first line of a book with another prior, strategy or seed; None keeps the one in `header`."""
    changes: Line = {"format": FORMAT}
    if prior is not None:
        changes["prior"] = {"from": prior} if isinstance(prior, str) else _describe_prior(prior)
    if strategy is not None:
        changes["strategy"] = _describe_strategy(strategy)
    if seed is not None:
        changes["seed"] = check_count("seed", seed, 0)
    return {**header, **changes}


def _describe_possible(possible: Any) -> Any:
    """Return which actions are possible: pairs of a state and its actions, or a mask."""
    if isinstance(possible, Mapping):
        return [
            [label_to_json(s), [label_to_json(a) for a in as_list("the possible actions", actions)]]
            for s, actions in possible.items()
        ]
    return {"mask": np.asarray(possible).tolist()}


def _read_possible(entry: Any) -> Any:
    """Return the argument that `_describe_possible` described."""
    if isinstance(entry, dict):
        return np.array(entry["mask"])
    return {label_from_json(s): [label_from_json(a) for a in actions] for s, actions in entry}


def explorer_from_header(
    path: Path,
    header: Any,
    prior: Prior | str | None,
    strategy: str | Strategy | None,
    engine: Engine = "auto",
) -> Explorer:
    """Return the explorer that the first line of a book describes, without observations.

    Parameters
    ----------
    path : Path
        The file of the book.
    header : dict
        The first line.
    prior, strategy : Prior or str, Strategy or str, or None
        Arguments that the user passed with the book; they must match the first line.
    engine : {"auto", "compiled", "numpy"}
        Whether kernels or plain NumPy run the strategy.
    """
    if header.get("format") not in READABLE_FORMATS:
        raise StoreError(
            f"{path} has format {header.get('format')}; this version of berlyne reads formats "
            f"{' and '.join(map(str, READABLE_FORMATS))}"
        )
    with _report_errors(path):
        prior_entry, strategy_entry, seed = dict(header["prior"]), header["strategy"], header["seed"]
        custom_name = None if isinstance(strategy_entry, str) else str(strategy_entry["own"])
        states, actions = (
            None if header[name] is None else [label_from_json(label) for label in header[name]]
            for name in ("states", "actions")
        )
        sizes = {name: header.get(name) for name in ("n_states", "n_actions")}
        modules = check_modules(header.get("imports", ()))
        possible = _read_possible(header["possible"]) if "possible" in header else None
        costs = _read_costs(header["costs"]) if "costs" in header else None
    import_modules(modules, path.parent)
    stored_prior = _load_prior(path, prior_entry, prior)
    passed = None if strategy is None else _resolve_strategy(strategy, path.parent)
    if custom_name is None:
        stored_strategy = _load_strategy(path, strategy_entry, passed)
    else:
        stored_strategy = _check_custom_strategy(path, custom_name, passed)
    options: dict[str, Any] = {"states": states, "actions": actions, "possible": possible, "costs": costs, **sizes}
    options["engine"] = engine
    if not header.get("trials", False):
        return Explorer(stored_prior, stored_strategy, seed, **options)
    explorer = TrialExplorer(stored_prior, stored_strategy, seed, **options)
    explorer.ends_in(explorer.outcomes)
    return explorer


@contextlib.contextmanager
def _report_errors(path: Path) -> Iterator[None]:
    """Convert an exception raised by an invalid first line to a StoreError of one sentence."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise StoreError(f"line 1 of {path} is not a valid header ({type(error).__name__}: {error})") from None


def _describe_prior(prior: Prior) -> Line:
    """Return the entry of a prior in the first line: complete if it is built in, otherwise the name of its class."""
    if not can_be_saved(prior):
        described = {"parameters": prior.describe().parameters} if contains_functions(prior) else {}  # type: ignore[attr-defined]  # built in
        return {"own": type(prior).__name__, **described}
    description: Description = prior.describe()  # type: ignore[attr-defined]  # built-in priors have it
    sizes = {"n_states": prior.n_states, "n_actions": prior.n_actions}  # type: ignore[attr-defined]  # and these
    arrays = {name: values.tolist() for name, values in description.arrays.items()}
    return {"kind": description.kind, "parameters": description.parameters, "arrays": arrays, **sizes}


def _restore_prior(entry: Line) -> Prior:
    """Return the built-in prior that an entry describes."""
    arrays = {name: np.asarray(values) for name, values in entry["arrays"].items()}
    description = Description(entry["kind"], entry["parameters"], arrays)
    prior: Prior = PRIORS[entry["kind"]].from_description(entry["n_states"], entry["n_actions"], description)
    return prior


def _load_prior(path: Path, entry: Line, passed: Prior | str | None) -> Prior:
    """Return the prior that a book was created with; a prior passed by the user must match it."""
    user_prior: Prior | None = import_object(passed, path.parent) if isinstance(passed, str) else passed
    if "own" in entry:
        if user_prior is None:
            raise StoreError(
                f"{path} was created with your own prior, {entry['own']}; pass it again: LabBook(path, prior)"
            )
        if type(user_prior).__name__ != entry["own"]:
            raise StoreError(
                f"{path} was created with your own prior, {entry['own']}; pass that, not {short_repr(user_prior)}"
            )
        if "parameters" in entry and _describe_prior(user_prior) != entry:
            stored = ", ".join(f"{name}={value}" for name, value in entry["parameters"].items())
            raise StoreError(f"{path} was created with another {entry['own']}: {stored}; pass that")
        return user_prior
    prior: Prior
    if "from" in entry:
        prior = import_object(entry["from"], path.parent)
    else:
        with _report_errors(path):
            prior = _restore_prior(entry)
    if user_prior is not None and _describe_prior(user_prior) != _describe_prior(prior):
        raise StoreError(
            f"{path} was created with {short_repr(prior)}, not with {short_repr(user_prior)}; "
            "leave the prior out, or create another book"
        )
    return prior


def _describe_strategy(strategy: str | Strategy) -> str | Line:
    """Return the entry of a strategy in the first line."""
    if isinstance(strategy, str):
        return strategy
    _check_strategy("strategy", strategy)
    try:
        is_registered = get_strategy(strategy.name) == strategy
    except ValueError:
        is_registered = False
    return strategy.name if is_registered else {"own": strategy.name}


def _resolve_strategy(strategy: str | Strategy, beside: Path) -> Strategy:
    """Return the strategy with this name or "module:name", or the strategy itself."""
    resolved = import_object(strategy, beside) if isinstance(strategy, str) and ":" in strategy else strategy
    _check_strategy(repr(strategy) if isinstance(strategy, str) else "strategy", resolved)
    return get_strategy(resolved)


def _check_strategy(name: str, value: Any) -> None:
    """Raise a ValueError that names `name` if the value is neither a strategy nor a string."""
    if not isinstance(value, str | Strategy):
        raise ValueError(f"{name} is {short_repr(value)}; it must be a Strategy, or the name of one")


def _check_custom_strategy(path: Path, name: str, passed: Strategy | None) -> Strategy:
    """Return the strategy passed by the user, if it has the name of the one that the book was created with."""
    if passed is None:
        raise StoreError(
            f"{path} was created with your own strategy, {name}; pass it again: LabBook(path, strategy=...)"
        )
    if passed.name != name:
        raise StoreError(f"{path} was created with your own strategy, {name}; pass that, not {passed}")
    return passed


def _load_strategy(path: Path, entry: str, passed: Strategy | None) -> Strategy:
    """Return the strategy that a book names; a strategy passed by the user must match it."""
    stored = _resolve_strategy(entry, path.parent)
    if passed is None or passed == stored or (":" in entry and passed.name == stored.name):
        return stored
    wrong = f"{passed}" if passed.name != stored.name else "your own strategy of the same name"
    raise StoreError(
        f"{path} was created with the strategy {stored}, not with {wrong}; "
        "leave the strategy out, or create another book"
    )
