"""The settings of a study as a store keeps them: which must stay the same, and which may grow.

`Settings` is the only list of them. To add a setting, add a field. If it may grow, its metadata contains a `Growth`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from berlyne.experiments.worlds import SettingsError, run_id
from berlyne.validation import RESUMING


class Growth(NamedTuple):
    """How a setting may grow when a store is resumed.

    Attributes
    ----------
    common : callable
        Return the part of the setting in the first settings that must be equal in the second; None if there is none.
    merge : callable
        Return the setting of a store that contains the stored and the requested explorations.
    identity : callable
        Return the part of the setting that never changes, which identifies the study; None if there is none.
    """

    common: Callable[[Settings, Settings], Any]
    merge: Callable[[Settings, Settings], Any]
    identity: Callable[[Settings], Any]


def _grows(common: Any, merge: Any, identity: Any = lambda settings: None) -> dict[str, Any]:
    """Return the metadata of a field that may grow."""
    return {"growth": Growth(common, merge, identity)}


def _common_worlds(mine: Settings, other: Settings) -> Any:
    """Return the classes of worlds. A list of the user's own worlds may be longer than that of `other`."""
    worlds = {name: dict(world_class) for name, world_class in mine.worlds.items()}
    for name, world_class in worlds.items():
        n = len(other.worlds.get(name, {}).get("worlds", ())) or None
        if "worlds" in world_class:
            world_class["worlds"] = world_class["worlds"][:n]
    return worlds


def _longer_worlds(stored: Settings, requested: Settings) -> Any:
    return {
        name: max(world_class, requested.worlds[name], key=lambda candidate: len(candidate.get("worlds", ())))
        for name, world_class in stored.worlds.items()
    }


def _worlds_without_lists(settings: Settings) -> Any:
    return {
        name: {key: value for key, value in world_class.items() if key != "worlds"}
        for name, world_class in settings.worlds.items()
    }


def _common_strategies(mine: Settings, other: Settings) -> Any:
    common = [name for name in mine.strategies if name in other.strategies]
    return {name: mine.own_strategies.get(name, "the standard strategy") for name in sorted(common)}


def _nothing(mine: Settings, other: Settings) -> None:
    return None


@dataclass(frozen=True)
class Settings:
    """The settings that determine the results of a study, as plain data.

    Attributes
    ----------
    worlds : dict of str to dict
        Description of each class of worlds. Lists of the user's own worlds may grow.
    strategies : list of str
        Names of the strategies. More may be added.
    n_worlds : int
        Number of worlds of each class. It may grow.
    seed : int
        Seed of the study.
    snapshots : list of int or float
        Times at which counts are stored.
    measures : list of str
        Names of the user's own measures.
    own_strategies : dict of str to str
        Descriptions of strategies that their names do not define. More may be added.
    n_runs : int
        Number of runs in each world. It may grow.
    common_random_numbers : bool
        Whether all strategies use the same random numbers.
    described_measures : dict of str to dict
        Dimensions, units and meanings of the user's own measures that have dimensions.
    """

    worlds: dict[str, dict[str, Any]] = field(metadata=_grows(_common_worlds, _longer_worlds, _worlds_without_lists))
    strategies: list[str] = field(
        metadata=_grows(_nothing, lambda old, new: list(dict.fromkeys([*old.strategies, *new.strategies])))
    )
    n_worlds: int = field(metadata=_grows(_nothing, lambda old, new: max(old.n_worlds, new.n_worlds)))
    seed: int
    snapshots: list[int | float]
    measures: list[str]
    own_strategies: dict[str, str] = field(
        default_factory=dict,
        metadata=_grows(_common_strategies, lambda old, new: {**old.own_strategies, **new.own_strategies})
        | {"key": "own strategies"},
    )
    n_runs: int = field(default=1, metadata=_grows(_nothing, lambda old, new: max(old.n_runs, new.n_runs)))
    common_random_numbers: bool = False
    described_measures: dict[str, dict[str, Any]] = field(default_factory=dict, metadata={"key": "described measures"})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Settings:
        """Return the settings that `describe` described."""
        return cls(**{f.name: stored[_key(f)] for f in fields(cls) if _key(f) in stored})

    def describe(self) -> dict[str, Any]:
        """Return the settings as plain data, without those that have their default value."""
        values = {f: getattr(self, f.name) for f in fields(self)}
        return {_key(f): value for f, value in values.items() if value != _default(f)}

    def merge(self, requested: Settings) -> Settings:
        """Return the settings of a store that contains both these and the requested explorations."""
        return Settings(
            **{f.name: growth.merge(self, requested) if growth else getattr(self, f.name) for f, growth in _growths()}
        )

    @property
    def study(self) -> str:
        """Checksum that identifies the study. It stays the same if worlds, strategies or runs are added."""
        identity = [growth.identity(self) if growth else getattr(self, f.name) for f, growth in _growths()]
        return checksum(identity)

    @property
    def n_positions(self) -> int:
        """Number of runs in worlds of all classes together."""
        return self.n_worlds * self.n_runs * len(self.worlds)

    def locate(self, position: int) -> tuple[str, int, int]:
        """Return the class, world and run at a position: classes take turns, then worlds, then runs."""
        index, class_index = divmod(position, len(self.worlds))
        run, world = divmod(index, self.n_worlds)
        return list(self.worlds)[class_index], world, run

    def label(self, position: int) -> str:
        """Return the id of the run at a position; if each world is explored once, the id of its world."""
        return run_id(*self.locate(position), self.n_runs)


def _growths() -> Iterator[tuple[Field[Any], Growth | None]]:
    for f in fields(Settings):
        yield f, f.metadata.get("growth")


def _key(f: Field[Any]) -> str:
    """Return the name of a setting in a store."""
    return str(f.metadata.get("key", f.name))


def _default(f: Field[Any]) -> Any:
    return f.default if f.default_factory is MISSING else f.default_factory()


def checksum(value: Any) -> str:
    """Return the checksum of plain data, encoded as JSON. It depends on the order of keys."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def check_same_settings(path: Path, stored: Settings, requested: Settings) -> None:
    """Raise a `SettingsError` unless the requested settings only add worlds, strategies or runs to the stored ones."""
    for f, growth in _growths():
        pair = stored, requested
        old_value, new_value = (
            growth.common(mine, other) if growth else getattr(mine, f.name) for mine, other in (pair, reversed(pair))
        )
        if _sorted_json(old_value) != _sorted_json(new_value):
            old, new = first_difference(old_value, new_value)
            raise SettingsError(
                f"{path} was made with {_key(f)}{old}, but you asked for {_key(f)}{new}; "
                f"use another directory, or the same settings (you can add worlds, strategies or runs){RESUMING}"
            )
    if requested.n_runs < stored.n_runs:
        raise SettingsError(
            f"{path} has n_runs = {stored.n_runs}, but you asked for n_runs = {requested.n_runs}; n_runs cannot "
            f"decrease{RESUMING}"
        )
    if requested.n_runs > 1 and stored.n_worlds != requested.n_worlds:
        raise SettingsError(
            f"{path} was made with n_worlds = {stored.n_worlds}, but you asked for n_worlds = "
            f"{requested.n_worlds}; if worlds have several runs, you can only add runs and strategies{RESUMING}"
        )


def _sorted_json(value: Any) -> str:
    """Encode as JSON with sorted keys. JSON distinguishes the step 1 from the share 1.0."""
    return json.dumps(value, sort_keys=True)


def first_difference(first: Any, second: Any) -> tuple[str, str]:
    """Return the first difference of two settings as the rest of each key and value, such as ".maze.n_steps = 20"."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in {**first, **second}:
            if key not in first or key not in second:
                old, new = (
                    f".{key} = {_sorted_json(x[key])}" if key in x else f" without {key}" for x in (first, second)
                )
                return old, new
            if _sorted_json(first[key]) != _sorted_json(second[key]):
                old, new = first_difference(first[key], second[key])
                return f".{key}{old}", f".{key}{new}"
    return f" = {_sorted_json(first)}", f" = {_sorted_json(second)}"
