"""Save and load explorers: one file, without code.

A file contains only data that cannot be recomputed: the prior and the strategy by name, the counts, the visits of each
state, the table of Q-learning or of an own method, the state of the random generator, and the history. Estimates and
utilities are recomputed when the file is read. A checksum covers the whole file, and every number is validated.

For an explorer that discovers its states, learns the parameters of its prior or keeps its plans for several steps, a
file contains labels, history, and the times of declarations. Reading the file replays them.
"""

from __future__ import annotations

import dataclasses
import os
from array import array
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from berlyne.labels import GrowingLabels, Labels, label_from_json, label_to_json
from berlyne.models.history import TIMED_OUT
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import Description
from berlyne.priors.registry import NO_FUNCTIONS, can_be_saved, contains_functions, prior_from_description
from berlyne.serialization import UnsupportedFormatError, labels_from_json, labels_to_json, read_archive, write_archive
from berlyne.strategies.own_methods import OWN_METHODS, RegisteredMethod
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import CLOSED_LOOP, OWN_METHOD, OWN_UTILITY

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

FORMAT = 3
MAX_ROWS = 1 << 22
"""Maximum number of rows (pairs of state and action) of an explorer that is read from a file."""
E = TypeVar("E", bound="Explorer")


def write_explorer(path: str | os.PathLike[str], explorer: Explorer) -> None:
    """Write an explorer to a file; the file is complete or not written at all."""
    agent, strategy = explorer._agent, explorer.strategy
    can_be_replayed = agent.discovers_states or (_is_replayed(explorer) and explorer._history is not None)
    if contains_functions(explorer.prior):
        raise ValueError(f"{explorer.prior!r}: {NO_FUNCTIONS}, or a LabBook{CLOSED_LOOP}")
    is_built_in = can_be_saved(explorer.prior) and _is_defined_by_names(strategy)
    if not (agent.has_state_dict or can_be_replayed) or not is_built_in:
        raise ValueError(
            f"{strategy} with {explorer.prior!r} uses a custom component, which cannot be saved; "
            f"use a LabBook{CLOSED_LOOP}"
        )
    prior: Description = explorer.prior.describe()  # type: ignore[attr-defined]  # built-in, as checked above
    sizes = {"n_states": None if agent.discovers_states else explorer.n_states, "n_actions": explorer.n_actions}
    settings = {
        "format": FORMAT,
        "kind": "explorer",
        "strategy": _describe_strategy(strategy),
        "prior": {"kind": prior.kind, **prior.parameters, **sizes},
        "rng": explorer._rng.bit_generator.state,
        "states": labels_to_json(explorer.state_labels),
        "actions": labels_to_json(explorer.action_labels),
    }
    if explorer._costs is not None:
        settings["costs"] = explorer._costs.tolist()
    if explorer._allowed:
        settings["possible"] = [[label_to_json(s), allowed.tolist()] for s, allowed in explorer._allowed.items()]
    arrays = {
        **prior.arrays,
        "told_states": _pairs(explorer._declared_states),
        "told_closed": _pairs(explorer._declared_terminal),
    }
    if agent.has_state_dict:
        terminal = np.array(sorted(explorer._terminal), dtype=np.int64)
        arrays |= {**agent.state_dict(), "last": _pairs(explorer._last_outcomes), "closed": terminal}
    if agent.seeds is not None:
        arrays["seeds"] = agent.seeds
    if explorer._history is not None:
        arrays["history"] = np.array(explorer._history, dtype=np.int32).reshape(-1, 4)
    write_archive(path, settings, arrays)


def _is_replayed(explorer: Explorer) -> bool:
    """Whether an explorer of known states depends on the order of its observations, so that a file is replayed."""
    return (
        explorer._agent.schedule is not None
        or explorer._costs is not None
        or bool(getattr(explorer.strategy.coordinate, "keeps_plans", False))
    )


def _pairs(numbers: dict[int, int]) -> Any:
    """Convert a dictionary of ints to an array of pairs, (n, 2)."""
    return np.array(list(numbers.items()), dtype=np.int64).reshape(-1, 2)


def _is_defined_by_names(strategy: Strategy) -> bool:
    """Return whether names and numbers describe a strategy completely; not so if its own method draws numbers."""
    from berlyne.engine.action_selection import METHODS  # imports Numba, which `import berlyne` must not do
    from berlyne.engine.own_methods import can_compile_method

    method = strategy.coordinate
    if isinstance(method, RegisteredMethod) and not can_compile_method(method.method, method.definition):
        return False
    return type(method) in METHODS and (strategy.utility is None or isinstance(strategy.utility, str))


class UndefinedStrategyError(Exception):
    """Error about a file whose strategy uses an index or a method that is not registered."""


def read_explorer(path: str | os.PathLike[str], explorer: E) -> E:
    """Read a file into an explorer that is not initialized yet, and return it.

    Raises
    ------
    ValueError
        If the file has another format, is damaged, or does not contain an explorer.
    """
    with open(path, "rb") as file:
        try:
            settings, arrays = read_archive(file, "explorer", (FORMAT,))
            _load(explorer, settings, arrays)
        except UnsupportedFormatError as other:
            raise ValueError(
                f"{os.fspath(path)} has format {other.version}; this version of berlyne reads format {FORMAT}"
            ) from None
        except UndefinedStrategyError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from None
        except Exception as error:  # a damaged file can raise any exception
            raise ValueError(f"{os.fspath(path)} is not an explorer saved by berlyne, or it is damaged") from error
    return explorer


def _load(explorer: Explorer, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Initialize an explorer from the contents of a file."""
    prior = settings["prior"]
    if prior["n_states"] is None:
        _load_open_states(explorer, settings, arrays)
        return
    if prior["n_states"] * prior["n_actions"] > MAX_ROWS:
        raise ValueError("the sizes of the arrays do not match")
    states, actions = labels_from_json(settings.get("states")), labels_from_json(settings.get("actions"))
    model = InternalModel(prior_from_description(prior, arrays), states=states, actions=actions)
    labels = model.state_labels, model.action_labels
    strategy, costs = _strategy_from(settings["strategy"]), _costs(settings)
    explorer._initialize(model.prior, labels, strategy, _rng(settings), costs)
    _load_possible(explorer, settings)
    if _is_replayed(explorer):
        if "seeds" in arrays:
            explorer._agent.load_seeds(arrays["seeds"])
        _replay(explorer, arrays)
        return
    if not explorer._agent.has_state_dict:
        raise ValueError("it uses a custom component")
    if len(arrays["visits"]) != prior["n_states"]:
        raise ValueError("the sizes of the arrays do not match")
    if "starts" not in arrays:  # a file from before starts were saved
        arrays = {**arrays, **_episodes(arrays.get("history", np.empty((0, 4), dtype=np.int64)), arrays["here"])}
    explorer._agent.load_state(arrays, arrays["last"])
    terminal = arrays.get("closed", np.empty(0, dtype=np.int64))
    explorer._mark_terminal(_check_states(terminal, explorer.n_states))
    explorer._last_outcomes = {int(row): int(s_next) for row, s_next in arrays["last"]}
    explorer.n_obs = int(arrays["counts"][:, 2].sum())
    if "history" in arrays:
        explorer._history = _check_history(explorer, arrays["history"])
        episodes = _episodes(arrays["history"], arrays["here"])
        if not all(np.array_equal(episodes[name], arrays[name]) for name in episodes):
            raise ValueError("the history does not match the starts of episodes")
    else:
        explorer._history = None
    if "told_closed" in arrays:
        explorer._declared_terminal = _declared(explorer, arrays, "told_closed")
        return
    observed = set() if explorer._history is None else {s for s, ended in _ends(explorer._history) if ended == 1}
    explorer._declared_terminal = dict.fromkeys(explorer._terminal - observed, 0)


def _load_possible(explorer: Explorer, settings: dict[str, Any]) -> None:
    """Load which actions are possible; all are in states without an entry."""
    for label, flags in settings.get("possible", []):
        allowed = np.array(flags)
        if allowed.dtype != np.bool_ or allowed.shape != (explorer.n_actions,):
            raise ValueError("the possible actions of a state are no flags of the right number")
        explorer._allow(label_from_json(label), allowed)


def _load_open_states(explorer: Explorer, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Initialize an explorer that discovers its states: replay its declarations and observations in order."""
    prior = settings["prior"]
    actions = Labels("action", prior["n_actions"], labels_from_json(settings["actions"]))
    states = GrowingLabels()
    for label in labels_from_json(settings["states"]) or []:
        states.add(label)
    strategy, costs = _strategy_from(settings["strategy"]), _costs(settings)
    explorer._initialize(prior_from_description(prior, arrays), (states, actions), strategy, _rng(settings), costs)
    labels = list(states.all)
    _load_possible(explorer, settings)
    _replay(explorer, arrays)
    discovered = list(explorer._agent.discovered)
    if states.all != labels or len(set(labels)) != len(labels) or discovered != list(range(len(labels))):
        raise ValueError("the states do not match the history")


def _replay(explorer: Explorer, arrays: dict[str, Any]) -> None:
    """Observe the history of a file in order, with its declarations."""
    history, n_states, n_actions = arrays["history"], explorer.n_states, explorer.n_actions
    sizes = (n_states, n_actions, n_states, TIMED_OUT + 1)
    valid = history.ndim == 2 and history.shape[1] == 4 and history.dtype.kind in "iu"
    if not valid or np.any((history < 0) | (history >= sizes)) or n_states * n_actions > MAX_ROWS:
        raise ValueError("the history has invalid lines")
    explorer.n_obs = len(history)
    explorer._declared_states = _declared(explorer, arrays, "told_states")
    explorer._declared_terminal = _declared(explorer, arrays, "told_closed")
    explorer._replay_steps(history)


def _declared(explorer: Explorer, arrays: dict[str, Any], name: str) -> dict[int, int]:
    """Return the time of declaration of each declared state."""
    pairs = arrays[name]
    valid = pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype.kind in "iu"
    if not valid or np.any(pairs < 0) or np.any(pairs > (explorer.n_states - 1, explorer.n_obs)):
        raise ValueError("a declared state or its time is out of range")
    return {int(s): int(t) for s, t in pairs}


def _costs(settings: dict[str, Any]) -> Any:
    """Return the costs of the actions; None if they have none."""
    costs = settings.get("costs")
    return None if costs is None else [row[0] for row in costs] if len(costs[0]) == 1 else costs


def _rng(settings: dict[str, Any]) -> np.random.Generator:
    """Return the random generator in its saved state."""
    rng = np.random.default_rng()
    rng.bit_generator.state = settings["rng"]
    return rng


def _check_history(explorer: Explorer, history: Any) -> array[int]:
    """Return the history, if it leads to the counts and the last outcomes of the explorer."""
    model = InternalModel(explorer.prior, n_states=explorer.n_states, n_actions=explorer.n_actions)
    if history.ndim != 2 or history.shape[1] != 4 or not np.all(np.isin(history[:, 3], (0, 1, TIMED_OUT))):
        raise ValueError("the history has invalid lines")
    model.observe_many(history[:, :3])
    counts, expected = model.sparse_counts, explorer.model.sparse_counts
    same = all(np.array_equal(getattr(counts, name), getattr(expected, name)) for name in ("row", "s_next", "n"))
    if not same or not np.array_equal(model.last_outcomes, explorer.model.last_outcomes):
        raise ValueError("the history does not match the counts")
    return array("i", history.astype(np.int32).tobytes())


def _episodes(history: Any, here: Any) -> dict[str, Any]:
    """Return `starts` and `here` of `CompiledAgent.state_dict` after a history; without lines `here` stays as it is."""
    if not len(history):
        return {"starts": np.empty((0, 2), dtype=np.int64), "here": here}
    s, s_next, ended = history[:, 0].astype(np.int64), history[:, 2].astype(np.int64), history[:, 3] != 0
    begins = np.append(True, (s[1:] != s_next[:-1]) | ended[:-1])
    states, first, n = np.unique(s[begins], return_index=True, return_counts=True)
    order = np.argsort(first)
    last = -2 - s_next[-1] if ended[-1] else s_next[-1]
    return {"starts": np.stack([states[order], n[order]], axis=1), "here": np.array([last])}


def _ends(history: array[int]) -> zip[tuple[int, int]]:
    """Return the next state of each observation, and whether an episode ended there (1) or was cut (`TIMED_OUT`)."""
    return zip(history[2::4], history[3::4], strict=True)


def _check_states(states: Any, n_states: int) -> list[int]:
    """Return state numbers as a list, if they are in range."""
    if states.ndim != 1 or states.dtype.kind not in "iu" or np.any((states < 0) | (states >= n_states)):
        raise ValueError("a terminal state is out of range")
    return [int(s) for s in states]


def _describe_strategy(strategy: Strategy) -> dict[str, Any]:
    """Return the fields of a strategy as JSON values."""
    fields = {
        field.name: getattr(strategy, field.name)
        for field in dataclasses.fields(strategy)
        if field.name != "coordinate"
    }
    for name in ("temperature", "lapse"):  # zero is left out, as in files from before these fields existed
        if fields[name] == 0.0:
            del fields[name]
    method = {"method": type(strategy.coordinate).__name__, "parameters": dataclasses.asdict(strategy.coordinate)}
    return {"said": fields, **method}


def _strategy_from(stored: dict[str, Any]) -> Strategy:
    """Return the strategy that `_describe_strategy` described."""
    from berlyne.agents.compiled_agent import make_method

    name, utility = stored["said"]["name"], stored["said"].get("utility")
    method = stored["parameters"].get("method")
    if isinstance(utility, str) and utility not in UTILITIES:
        raise UndefinedStrategyError(
            f"uses the strategy {name}, whose utility {utility} is not defined here; import the module that "
            f"registers it with berlyne.index, and load the file again{OWN_UTILITY}"
        )
    if method is not None and method not in OWN_METHODS:
        raise UndefinedStrategyError(
            f"uses the strategy {name}, whose method {method} is not defined here; import the module that "
            f"registers it with berlyne.method, and load the file again{OWN_METHOD}"
        )
    return Strategy(coordinate=make_method(stored["method"], stored["parameters"]), **stored["said"])
