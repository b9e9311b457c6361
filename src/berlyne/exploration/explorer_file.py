"""Explorers on disk: one file, no code in it.

A file holds what cannot be worked out again: the prior and the strategy by name, what was observed, how often states
were visited, Q-learning's table, the random stream and the history. Estimates and utilities are worked out anew when
it is read, a checksum covers all of it, and every number is looked at, so that a file can be refused but cannot
mislead.

Of an explorer that discovers its states a file holds labels, history, and what it was told when: reading it, it lives
through these again.
"""

from __future__ import annotations

import dataclasses
import os
from array import array
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.labels import GrowingLabels, Labels
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import Description
from berlyne.priors.registry import prior_from_description
from berlyne.serialization import UnsupportedFormatError, labels_from_json, labels_to_json, read_archive, write_archive
from berlyne.strategies.registry import Strategy

if TYPE_CHECKING:
    from berlyne.exploration.explorer import Explorer

FORMAT = 3
MAX_ROWS = 1 << 22
"""Most rows of an explorer that is read from a file."""
E = TypeVar("E", bound="Explorer")


def write_explorer(path: str | os.PathLike[str], explorer: Explorer) -> None:
    """Write an explorer, whole or not at all."""
    agent, strategy = explorer._agent, explorer.strategy
    if isinstance(agent, NumpyAgent) or not _is_ours(strategy):
        raise ValueError(f"{strategy} with {explorer.prior!r} has a part of your own, which cannot be saved")
    prior: Description = explorer.prior.describe()  # type: ignore[attr-defined]  # checked above: ours has it
    grows = isinstance(agent, OpenStateAgent)
    sizes = {"n_states": None if grows else explorer.n_states, "n_actions": explorer.n_actions}
    settings = {
        "format": FORMAT,
        "kind": "explorer",
        "strategy": _describe_strategy(strategy),
        "prior": {"kind": prior.kind, **prior.parameters, **sizes},
        "rng": explorer._rng.bit_generator.state,
        "states": labels_to_json(explorer.state_labels),
        "actions": labels_to_json(explorer.action_labels),
    }
    arrays = {
        **prior.arrays,
        "told_states": _pairs(explorer._declared_states),
        "told_closed": _pairs(explorer._declared_terminal),
    }
    if not isinstance(agent, OpenStateAgent):
        closed = np.array(sorted(explorer._terminal), dtype=np.int64)
        arrays |= {**agent.state_dict(), "last": _pairs(explorer._last_outcomes), "closed": closed}
    if explorer._history is not None:
        arrays["history"] = np.array(explorer._history, dtype=np.int32).reshape(-1, 4)
    write_archive(path, settings, arrays)


def _pairs(numbers: dict[int, int]) -> Any:
    """A dictionary of numbers as an array (n, 2)."""
    return np.array(list(numbers.items()), dtype=np.int64).reshape(-1, 2)


def _is_ours(strategy: Strategy) -> bool:
    """Whether a strategy can be told by names and numbers."""
    from berlyne.engine.action_selection import METHODS  # here, so that `import berlyne` need not import Numba

    return type(strategy.coordinate) in METHODS and (strategy.utility is None or isinstance(strategy.utility, str))


def read_explorer(path: str | os.PathLike[str], explorer: E) -> E:
    """Read into an explorer that has not begun yet."""
    with open(path, "rb") as file:
        try:
            settings, arrays = read_archive(file, "explorer", (FORMAT,))
            _begin(explorer, settings, arrays)
        except UnsupportedFormatError as other:
            raise ValueError(
                f"{os.fspath(path)} has format {other.version}; this version of berlyne reads format {FORMAT}"
            ) from None
        except Exception as error:  # there is no end to what a damaged file can lead to
            raise ValueError(f"{os.fspath(path)} is not an explorer saved by berlyne, or it is damaged") from error
    return explorer


def _begin(explorer: Explorer, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    said = settings["prior"]
    if said["n_states"] is None:
        _live_again(explorer, settings, arrays)
        return
    if len(arrays["visits"]) != said["n_states"] or said["n_states"] * said["n_actions"] > MAX_ROWS:
        raise ValueError("the sizes do not fit together")
    states, actions = labels_from_json(settings.get("states")), labels_from_json(settings.get("actions"))
    model = InternalModel(prior_from_description(said, arrays), states=states, actions=actions)
    labels = model.state_labels, model.action_labels
    explorer._initialize(model.prior, labels, _strategy_from(settings["strategy"]), _rng(settings))
    if isinstance(explorer._agent, NumpyAgent | OpenStateAgent):
        raise ValueError("it has a part of somebody's own")
    explorer._agent.load_state(arrays, arrays["last"])
    explorer._mark_terminal(_checked_states(arrays.get("closed", np.empty(0, dtype=np.int64)), explorer.n_states))
    explorer._last_outcomes = {int(row): int(s_next) for row, s_next in arrays["last"]}
    explorer.n_obs = int(arrays["counts"][:, 2].sum())
    explorer._history = _checked_history(explorer, arrays["history"]) if "history" in arrays else None
    found = set() if explorer._history is None else {s for s, ended in _ends(explorer._history) if ended}
    told = dict.fromkeys(explorer._terminal - found, 0)
    explorer._declared_terminal = _told(explorer, arrays, "told_closed") if "told_closed" in arrays else told


def _live_again(explorer: Explorer, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """An explorer that discovers its states: what it was told and what it observed, in order."""
    said, history = settings["prior"], arrays["history"]
    actions = Labels("action", said["n_actions"], labels_from_json(settings["actions"]))
    states = GrowingLabels()
    for label in labels_from_json(settings["states"]) or []:
        states.add(label)
    explorer._initialize(
        prior_from_description(said, arrays), (states, actions), _strategy_from(settings["strategy"]), _rng(settings)
    )
    sizes = (states.size, actions.size, states.size, 2)
    right = history.ndim == 2 and history.shape[1] == 4 and history.dtype.kind in "iu"
    if not right or np.any((history < 0) | (history >= sizes)) or states.size * actions.size > MAX_ROWS:
        raise ValueError("the history has lines of another kind")
    labels, explorer.n_obs = list(states.all), len(history)
    explorer._declared_states = _told(explorer, arrays, "told_states")
    explorer._declared_terminal = _told(explorer, arrays, "told_closed")
    explorer._replay_steps(history)
    agent = explorer._agent
    assert isinstance(agent, OpenStateAgent)
    if states.all != labels or len(set(labels)) != len(labels) or agent.discovered != list(range(len(labels))):
        raise ValueError("the states are not those that were discovered")


def _told(explorer: Explorer, arrays: dict[str, Any], name: str) -> dict[int, int]:
    """States that an explorer was told of, and when."""
    pairs = arrays[name]
    right = pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype.kind in "iu"
    if not right or np.any(pairs < 0) or np.any(pairs > (explorer.n_states - 1, explorer.n_obs)):
        raise ValueError("it was told of states that there are not")
    return {int(s): int(t) for s, t in pairs}


def _rng(settings: dict[str, Any]) -> np.random.Generator:
    rng = np.random.default_rng()
    rng.bit_generator.state = settings["rng"]
    return rng


def _checked_history(explorer: Explorer, history: Any) -> array[int]:
    """A history that leads to what the explorer has counted, and to the last outcomes."""
    told = InternalModel(explorer.prior, n_states=explorer.n_states, n_actions=explorer.n_actions)
    if history.ndim != 2 or history.shape[1] != 4 or not np.all((history[:, 3] == 0) | (history[:, 3] == 1)):
        raise ValueError("the history has lines of another kind")
    told.observe_many(history[:, :3])
    ours, theirs = told.sparse_counts, explorer.model.sparse_counts
    same = all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in ("row", "s_next", "n"))
    if not same or not np.array_equal(told.last_outcomes, explorer.model.last_outcomes):
        raise ValueError("the history is not what was counted")
    return array("i", history.astype(np.int32).tobytes())


def _ends(history: array[int]) -> zip[tuple[int, int]]:
    """Where each observation led, and whether an episode ended with it."""
    return zip(history[2::4], history[3::4], strict=True)


def _checked_states(closed: Any, n_states: int) -> list[int]:
    """Numbers of states, such as those that episodes end in."""
    if closed.ndim != 1 or closed.dtype.kind not in "iu" or np.any((closed < 0) | (closed >= n_states)):
        raise ValueError("terminal states lie outside the world")
    return [int(s) for s in closed]


def _describe_strategy(strategy: Strategy) -> dict[str, Any]:
    """What the strategy does, whatever it is called."""
    said = {
        field.name: getattr(strategy, field.name)
        for field in dataclasses.fields(strategy)
        if field.name != "coordinate"
    }
    for name in ("temperature", "lapse"):  # older than these, files say them only where they matter
        if said[name] == 0.0:
            del said[name]
    method = {"method": type(strategy.coordinate).__name__, "parameters": dataclasses.asdict(strategy.coordinate)}
    return {"said": said, **method}


def _strategy_from(stored: dict[str, Any]) -> Strategy:
    from berlyne.agents.compiled_agent import make_method

    return Strategy(coordinate=make_method(stored["method"], stored["parameters"]), **stored["said"])
