"""Explorers on disk: one file, no code in it.

A file holds what cannot be worked out again: the prior and the strategy by name, what was observed, how often states
were visited, Q-learning's table, the random stream and the history. Estimates and utilities are worked out anew when
it is read, and every number is looked at, so that a file can be refused but cannot mislead.

Format 1 held estimates, too; they are not read. Files written before explorers kept their history have none.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from array import array
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from berlyne.model import InternalModel
from berlyne.plain import PlainMind
from berlyne.priors.prior import Description, Prior
from berlyne.strategies import Strategy

if TYPE_CHECKING:
    from berlyne.explorer import Explorer

FORMAT = 2
LARGEST = 1 << 30
"""Most bytes that a file may unpack to."""
MOST_ROWS = 1 << 22
"""Most rows of an explorer that is read from a file."""
E = TypeVar("E", bound="Explorer")


def write(path: str | os.PathLike[str], explorer: Explorer) -> None:
    """Write an explorer, whole or not at all."""
    if isinstance(explorer._mind, PlainMind):
        raise ValueError(f"{explorer.strategy} with {explorer.prior!r} has a part of your own, which cannot be saved")
    prior: Description = explorer.prior.describe()  # type: ignore[attr-defined]  # checked above: ours has it
    sizes = {"n_states": explorer.n_states, "n_actions": explorer.n_actions}
    settings = {
        "format": FORMAT,
        "strategy": _describe_strategy(explorer.strategy),
        "prior": {"kind": prior.kind, **prior.parameters, **sizes},
        "rng": explorer._rng.bit_generator.state,
    }
    last = np.array(list(explorer._last.items()), dtype=np.int64).reshape(-1, 2)
    arrays = {**explorer._mind.memory(), **prior.arrays, "last": last}
    if explorer._history is not None:
        arrays["history"] = np.array(explorer._history, dtype=np.int32).reshape(-1, 3)
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "xb") as file:
            np.savez_compressed(file, settings=np.array(json.dumps(settings, default=np.generic.item)), **arrays)
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], explorer: E) -> E:
    """Read into an explorer that has not begun yet."""
    with open(path, "rb") as file:
        try:
            settings, arrays = _unpacked(file)
            version = settings["format"]
            if version in (1, FORMAT):
                _begin(explorer, settings, arrays if version == FORMAT else _of_format_1(settings, arrays))
                return explorer
        except Exception as error:  # there is no end to what a damaged file can lead to
            raise ValueError(f"{os.fspath(path)} is not an explorer saved by berlyne, or it is damaged") from error
    raise ValueError(f"{os.fspath(path)} has format {version}; this version of berlyne reads formats 1 and {FORMAT}")


def _unpacked(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST:
        raise ValueError(f"it unpacks to {size} bytes; that is more than {LARGEST}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings: dict[str, Any] = json.loads(str(arrays.pop("settings")))
    return settings, arrays


def _begin(explorer: Explorer, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    said = settings["prior"]
    if len(arrays["visits"]) != said["n_states"] or said["n_states"] * said["n_actions"] > MOST_ROWS:
        raise ValueError("the sizes do not fit together")
    rng = np.random.default_rng()
    rng.bit_generator.state = settings["rng"]
    explorer._begin(InternalModel(_prior_from(said, arrays)), _strategy_from(settings["strategy"]), rng)
    if isinstance(explorer._mind, PlainMind):
        raise ValueError("it has a part of somebody's own")
    explorer._mind.remember(arrays, arrays["last"])
    explorer._last = {int(row): int(s_next) for row, s_next in arrays["last"]}
    explorer.n_obs = int(arrays["counts"][:, 2].sum())
    explorer._history = _checked_history(explorer, arrays["history"]) if "history" in arrays else None


def _checked_history(explorer: Explorer, history: Any) -> array[int]:
    """A history that leads to what the explorer has counted, and to the last outcomes."""
    told = InternalModel(explorer.prior, n_states=explorer.n_states, n_actions=explorer.n_actions)
    told.observe_many(history)
    ours, theirs = told.sparse_counts, explorer.model.sparse_counts
    same = all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in ("row", "s_next", "n"))
    if not same or not np.array_equal(told.last_outcomes, explorer.model.last_outcomes):
        raise ValueError("the history is not what was counted")
    return array("i", history.astype(np.int32).tobytes())


def _of_format_1(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """What format 2 has, from the arrays of format 1, which lie in slots."""
    from berlyne.engine.graph import graph_of  # here, so that `import berlyne` need not import Numba

    said, own = settings["prior"], {name: values for name, values in arrays.items() if name.startswith("support_")}
    n_states, n_actions = said["n_states"], said["n_actions"]
    stride = -(-n_actions // 4) * 4
    by_slot = arrays["mind_n"].reshape(-1, stride)
    if "mind_succ" in arrays:
        capacity = int(arrays["mind_capacity"])
        succ, start = arrays["mind_succ"], np.arange(n_states) * capacity
        used = np.arange(capacity) < arrays["mind_length"][:, None]
        by_slot = np.where(used.reshape(-1, 1), by_slot, 0)
    else:
        graph = graph_of(_prior_from(said, own).support)  # type: ignore[attr-defined]  # all priors that files hold have it
        succ, start = graph.succ, graph.start
    slot, a = np.nonzero(by_slot > 0)
    s = np.searchsorted(start, slot, side="right") - 1
    q = arrays["mind_q"].reshape(-1, stride)[:, :n_actions]
    counts = np.stack([s * n_actions + a, succ[slot], by_slot[slot, a]], axis=1)
    memory = {"counts": counts, "visits": arrays["mind_visits"][:-1], "q": q, "here": arrays["mind_place"]}
    return {**memory, "last": arrays["last"], **own}


def _describe_strategy(how: Strategy) -> dict[str, Any]:
    """What the strategy does, whatever it is called."""
    said = {field.name: getattr(how, field.name) for field in dataclasses.fields(how) if field.name != "coordinate"}
    for name in ("temperature", "lapse"):  # older than these, files say them only where they matter
        if said[name] == 0.0:
            del said[name]
    method = {"method": type(how.coordinate).__name__, "parameters": dataclasses.asdict(how.coordinate)}
    return {"said": said, **method}


def _strategy_from(stored: dict[str, Any]) -> Strategy:
    from berlyne.engine.mind import restored_method

    return Strategy(coordinate=restored_method(stored["method"], stored["parameters"]), **stored["said"])


def _prior_from(said: dict[str, Any], arrays: dict[str, Any]) -> Prior:
    from berlyne.engine.mind import restored_prior

    parameters = {name: value for name, value in said.items() if name not in ("kind", "n_states", "n_actions")}
    own = {name: values for name, values in arrays.items() if name.startswith("support_")}
    return restored_prior(said["n_states"], said["n_actions"], Description(said["kind"], parameters, own))
