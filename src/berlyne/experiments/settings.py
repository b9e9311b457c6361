"""What to run: a study as a description that can be checked, stored, compared and sent elsewhere."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import inspect
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import check_count
from berlyne.strategies import STRATEGIES, Strategy, strategy
from berlyne.worlds import World
from berlyne.worlds.table import WORLDS

if TYPE_CHECKING:
    from berlyne.experiments.results import Results
    from berlyne.explore import Run

WorldSource = Callable[..., World] | Sequence[World] | Mapping[str, Any]
Time = int | float


class SettingsError(ValueError):
    """A setting that cannot be: names the key and what would be right."""


@dataclass(frozen=True)
class WorldClass:
    """One class of worlds in a study: world i is `make(seed, **parameters)`, or `given[i]`."""

    name: str
    n_steps: int
    make: Callable[..., World] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    given: tuple[World, ...] = ()

    def world(self, seed: int, index: int) -> World:
        """World number `index`; its stream comes from its id, so it never depends on anything else."""
        if self.given:
            return self.given[index]
        assert self.make is not None
        return self.make(stream(seed, world_id(self.name, index)), **self.parameters)

    def describe(self) -> dict[str, Any]:
        """As plain data, for storing and comparing."""
        if self.given:
            return {"n_steps": self.n_steps, "worlds": [_fingerprint(world) for world in self.given]}
        assert self.make is not None
        return {"n_steps": self.n_steps, "make": self.make.__qualname__, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Experiment:
    """Worlds, strategies and how long to explore: a study, described.

    Parameters
    ----------
    worlds : the name of a class ("dense", "maze", "1-2-3"), several names, or a mapping from names
        to parameters of the paper's classes (`{"maze": {"side": 8}}`), to functions of a seed, or to
        lists of `World`.
    strategies : names or `Strategy` objects; by default the fifteen of the paper.
    n_worlds : worlds of each class.
    n_steps : length of each exploration, one number or one per class; by default the paper's (R12).
    seed : of the whole study; every world and every run has a stream of its own, named by its id.
    snapshots : when to keep the counts: steps (int) or shares of the run (float up to 1.0).
    measures : further measures by name, functions of a `Run` that give a number or one per time 0..n_steps.

    Examples
    --------
    >>> study = Experiment(worlds="maze", strategies=["Random", "PIG(VI)"], n_worlds=20)
    >>> study
    Experiment(maze: 20 worlds of 2,500 steps; 2 strategies; seed 0)
    """

    worlds: Any = ("dense", "maze", "1-2-3")
    strategies: Iterable[str | Strategy] = tuple(STRATEGIES)
    n_worlds: int = 200
    n_steps: int | Mapping[str, int] | None = None
    seed: int = 0
    snapshots: Sequence[Time] = ()
    measures: Mapping[str, Callable[[Run], Any]] = field(default_factory=dict)
    classes: tuple[WorldClass, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # the only way for a frozen object to normalise itself
        put(self, "n_worlds", _checked("n_worlds", self.n_worlds, 1))
        put(self, "seed", _checked("seed", self.seed, 0))
        put(self, "strategies", _strategies(self.strategies))
        put(self, "classes", _classes(self.worlds, self.n_steps, self.n_worlds))
        put(self, "snapshots", _times(self.snapshots, min(c.n_steps for c in self.classes)))
        put(self, "measures", _measures(self.measures))

    def __repr__(self) -> str:
        parts = [f"{c.name}: {self.n_worlds:,} worlds of {c.n_steps:,} steps" for c in self.classes]
        return f"Experiment({', '.join(parts)}; {len(self.strategy_names)} strategies; seed {self.seed})"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read an experiment from a TOML file; every key is a parameter of `Experiment`."""
        try:
            said = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise SettingsError(f"{os.fspath(path)} is not a text file in UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{os.fspath(path)} is not valid TOML: {error}") from None
        known = [f.name for f in dataclasses.fields(cls) if f.init and f.name != "measures"]
        for key in said:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}"
                raise SettingsError(f"{key}: there is no such key; {hint}")
        return cls(**said)

    @property
    def strategy_names(self) -> list[str]:
        """Names of the strategies, in order."""
        return [s.name for s in self.strategies]  # type: ignore[union-attr]

    @property
    def n_positions(self) -> int:
        """Worlds of all classes together."""
        return self.n_worlds * len(self.classes)

    def position(self, position: int) -> tuple[WorldClass, int]:
        """Class and index of the world at a position: classes take turns, so that more worlds come after."""
        index, which = divmod(position, len(self.classes))
        return self.classes[which], index

    def describe(self) -> dict[str, Any]:
        """All that decides the numbers, as plain data."""
        return {
            "worlds": {c.name: c.describe() for c in self.classes},
            "strategies": self.strategy_names,
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": list(self.snapshots),
            "measures": sorted(self.measures),
        }

    def run(self, path: str | os.PathLike[str], **options: Any) -> Results:
        """Run what is missing of this study in the store at `path`; options as in `run_experiment`."""
        from berlyne.experiments.run import run_experiment

        return run_experiment(self, path, **options)


def world_id(name: str, index: int) -> str:
    """The id of a world, such as "maze/017"."""
    return f"{name}/{index:03d}"


def stream(seed: int, name: str) -> np.random.SeedSequence:
    """The random stream that belongs to an id, whatever else is run."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.SeedSequence([seed, *np.frombuffer(digest, dtype="<u4").tolist()])


def snapshot_steps(snapshots: Iterable[Time], n_steps: int) -> list[int]:
    """Snapshot times in steps of a run of this length."""
    return [t if isinstance(t, int) else round(t * n_steps) for t in snapshots]


def _checked(key: str, value: Any, at_least: int) -> int:
    try:
        return check_count(key, value, at_least)
    except ValueError as error:
        raise SettingsError(f"{key}: {str(error).removeprefix(f'{key} ')}") from None


def _strategies(given: Any) -> tuple[Strategy, ...]:
    if isinstance(given, str | Strategy):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise SettingsError(f"strategies: is {given!r}; it must be a list of names")
    found = []
    for i, one in enumerate(given):
        if not isinstance(one, str | Strategy):
            raise SettingsError(f"strategies[{i}]: is {one!r}; it must be a name such as 'PIG(VI)'")
        try:
            found.append(strategy(one))
        except ValueError as error:
            raise SettingsError(f"strategies[{i}]: {error}") from None
    names = [s.name for s in found]
    if not names or len(set(names)) < len(names):
        raise SettingsError("strategies: there must be at least one, and no name twice")
    return tuple(found)


def _classes(worlds: Any, n_steps: Any, n_worlds: int) -> tuple[WorldClass, ...]:
    if isinstance(worlds, str):
        worlds = [worlds]
    if isinstance(worlds, Iterable) and not isinstance(worlds, Mapping):
        worlds = list(worlds)
        for i, name in enumerate(worlds):
            if not isinstance(name, str):
                raise SettingsError(f"worlds[{i}]: is {name!r}; it must be the name of a class of worlds")
        if len(set(worlds)) < len(worlds):
            raise SettingsError("worlds: no class may be named twice")
        worlds = {name: {} for name in worlds}
    if not isinstance(worlds, Mapping) or not worlds:
        raise SettingsError(f"worlds: is {worlds!r}; it must name at least one of {', '.join(WORLDS)}")
    if isinstance(n_steps, Mapping):
        for key in n_steps:
            if key not in worlds:
                raise SettingsError(f"n_steps.{key}: there is no such class in worlds; there are {', '.join(worlds)}")
    return tuple(_class(str(name), source, n_steps, n_worlds) for name, source in worlds.items())


def _class(name: str, source: Any, n_steps: Any, n_worlds: int) -> WorldClass:
    key, length = "n_steps", n_steps
    if isinstance(n_steps, Mapping):
        key, length = f"n_steps.{name}", n_steps.get(name)
    if length is None:
        length = WORLDS[name].n_steps if name in WORLDS else 1000
    length = _checked(key, length, 1)
    if "/" in name or not name:
        raise SettingsError(f"worlds.{name}: the name of a class must not be empty or hold a /")
    if isinstance(source, Mapping):
        return _class_of_table(name, dict(source), length)
    if callable(source):
        return WorldClass(name, length, make=source)
    given = tuple(source) if isinstance(source, Sequence) else ()
    if not given or not all(isinstance(world, World) and world.prior is not None for world in given):
        raise SettingsError(f"worlds.{name}: must be parameters, a function of a seed, or a list of worlds with priors")
    if len(given) < n_worlds:
        raise SettingsError(f"n_worlds: is {n_worlds}; worlds.{name} holds only {len(given)}")
    return WorldClass(name, length, given=given)


def _class_of_table(name: str, parameters: dict[str, Any], n_steps: int) -> WorldClass:
    kind_name = parameters.pop("kind", name)
    if kind_name not in WORLDS:
        near = difflib.get_close_matches(str(kind_name), WORLDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(WORLDS)}"
        raise SettingsError(f"worlds.{name}: there is no class {kind_name!r}; {hint}")
    kind = WORLDS[kind_name]
    known = [p for p in inspect.signature(kind.make).parameters if p != "seed"]
    for key in parameters:
        if key not in known:
            raise SettingsError(f"worlds.{name}.{key}: there is no such parameter; there are {', '.join(known)}")
    try:
        kind.make(0, **parameters)  # the generator's own checks, on one world
    except (ValueError, TypeError) as error:
        raise SettingsError(f"worlds.{name}: {error}") from None
    return WorldClass(name, n_steps, make=kind.make, parameters=parameters)


def _times(given: Any, shortest: int) -> tuple[Time, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise SettingsError(f"snapshots: is {given!r}; it must be a list of steps (int) or shares (float up to 1.0)")
    times: list[Time] = []
    for i, t in enumerate(given):
        whole = isinstance(t, int | np.integer) and not isinstance(t, bool) and 0 <= t <= shortest
        share = isinstance(t, float) and 0.0 <= t <= 1.0
        if not (whole or share):
            raise SettingsError(
                f"snapshots[{i}]: is {t!r}; it must be a step from 0 to {shortest}, or a share from 0.0 to 1.0"
            )
        times.append(int(t) if whole else float(t))
    if len(set(times)) < len(times):
        raise SettingsError("snapshots: no time may be named twice")
    return tuple(times)


def _measures(given: Any) -> dict[str, Callable[[Any], Any]]:
    taken = {"missing_information", "l1_distance", "area", "state", "action", "next_state", "counts"}
    if not isinstance(given, Mapping):
        raise SettingsError(f"measures: is {given!r}; it must map names to functions of a run")
    for name, function in given.items():
        if not (isinstance(name, str) and name.isidentifier() and name not in taken and callable(function)):
            raise SettingsError(f"measures.{name}: must be a new name (an identifier) and a function of a run")
    return dict(given)


def _fingerprint(world: World) -> str:
    """What tells one given world from another: its transition rows."""
    rows = world.rows
    digest = hashlib.sha256()
    for array in (rows.indptr, rows.indices, rows.data):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
