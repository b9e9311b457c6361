"""The classes of worlds of a study: how each world is made, and what tells it from any other."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from berlyne.arrays import check_count
from berlyne.pages import STUDIES
from berlyne.priors import OneTwoThree
from berlyne.tabled import from_gymnasium, is_environment
from berlyne.worlds import World
from berlyne.worlds.classes import WORLDS

MOST_STEPS = 10**8
"""Longest exploration: a curve of eight bytes per step must fit into one chunk, below 2 GiB."""


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

    @property
    def is_own(self) -> bool:
        """Whether its worlds are of a user's own, so that a seed does not tell them."""
        return not any(self.make is kind.make for kind in WORLDS.values())

    def world(self, seed: int, index: int) -> World:
        """World number `index`; its stream comes from its id, so it never depends on anything else."""
        if self.given:
            return self.given[index]
        assert self.make is not None
        made = self.make(stream(seed, world_id(self.name, index)), **self.parameters)
        if not isinstance(made, World) or made.prior is None:
            raise SettingsError(f"worlds.{self.name}: gave {made!r}; it must give a World with a prior")
        return made

    def describe(self, seed: int, n_worlds: int) -> dict[str, Any]:
        """As plain data, for storing and comparing. Worlds of the user's own are told by their transitions."""
        if self.given:
            return {"n_steps": self.n_steps, "worlds": [fingerprint(world) for world in self.given[:n_worlds]]}
        assert self.make is not None
        plain = {key: v.item() if isinstance(v, np.generic) else v for key, v in self.parameters.items()}
        said = {"n_steps": self.n_steps, "make": function_name(self.make), "parameters": plain}
        if not self.is_own:
            return said
        return {**said, "first world": fingerprint(self.world(seed, 0))}


def world_id(name: str, index: int) -> str:
    """The id of a world, such as "maze/017"."""
    return f"{name}/{index:03d}"


def run_id(name: str, index: int, run: int, n_runs: int) -> str:
    """The id of a run in a world, such as "task/000/run-007"; that of the world, if each is explored once."""
    return f"{world_id(name, index)}/run-{run:03d}" if n_runs > 1 else world_id(name, index)


def stream_id(name: str, index: int, run: int, strategy: str) -> str:
    """The id that names the stream of an exploration: that of a first run does not tell how many more there are."""
    return f"{run_id(name, index, run, run + 1)}/{strategy}"


def stream(seed: int, name: str) -> np.random.SeedSequence:
    """The random stream that belongs to an id, whatever else is run."""
    low_words_first = seed.to_bytes(4 * max(1, -(-seed.bit_length() // 32)), "little")
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.SeedSequence(np.frombuffer(low_words_first + digest, dtype="<u4").astype(np.uint32))


def checked(key: str, value: Any, at_least: int, at_most: int) -> int:
    """`value` as an int in a range, or an error that names its key."""
    try:
        number = check_count(key, value, at_least)
    except ValueError as error:
        raise SettingsError(f"{key}: {str(error).removeprefix(f'{key} ')}") from None
    if number > at_most:
        raise SettingsError(f"{key}: is {number}; it must be at most {at_most}")
    return number


def world_classes(worlds: Any, n_steps: Any) -> tuple[WorldClass, ...]:
    """The classes that `worlds` and `n_steps` of an experiment stand for."""
    worlds = _by_name(worlds)
    if not isinstance(worlds, Mapping) or not worlds:
        raise SettingsError(f"worlds: is {worlds!r}; it must name at least one of {', '.join(WORLDS)}")
    if isinstance(n_steps, Mapping):
        for key in n_steps:
            if key not in worlds:
                there = ", ".join(map(str, worlds))
                raise SettingsError(f"n_steps.{key}: there is no such class in worlds; there are {there}")
    return tuple(_class(name, source, n_steps) for name, source in worlds.items())


def number_of_worlds(classes: tuple[WorldClass, ...], asked: int | None) -> int:
    """Worlds of each class: as many as asked, by default as in the shortest list, or 200 if there is none."""
    n_worlds = min((len(kind.given) for kind in classes if kind.given), default=200) if asked is None else asked
    for kind in classes:
        if kind.given and len(kind.given) < n_worlds:
            hint = f"; n_runs = {n_worlds} lets {n_worlds} explorers meet it" if len(kind.given) == 1 else ""
            raise SettingsError(f"n_worlds: is {n_worlds}; worlds.{kind.name} holds only {len(kind.given)}{hint}")
    return n_worlds


def _by_name(worlds: Any) -> Any:
    """`worlds` as a mapping from names: one world, a list of worlds or a function is a class of its own."""
    if isinstance(worlds, Mapping):
        return worlds
    if given := given_worlds(worlds):
        names = {one.name for one in given}
        return {_class_name(names.pop() if len(names) == 1 else ""): given}
    if callable(worlds):
        return {_class_name(getattr(worlds, "__name__", "")): worlds}
    if not isinstance(worlds, Iterable):
        return worlds
    listed = [worlds] if isinstance(worlds, str) else list(worlds)
    for i, name in enumerate(listed):
        if not isinstance(name, str):
            raise SettingsError(f"worlds[{i}]: is {name!r}; it must be the name of a class of worlds")
    if len(set(listed)) < len(listed):
        raise SettingsError("worlds: no class may be named twice")
    return {name: {} for name in listed}


def _class_name(name: str) -> str:
    """The name of a class that was given none: that of its worlds or of its function, if it can be one."""
    return name if name and "/" not in name and "<" not in name else "world"


def as_world(source: Any) -> World | None:
    """The world that an object is or, like an environment that shows its transition table, stands for, if any."""
    if isinstance(source, World) or not is_environment(source):
        return source if isinstance(source, World) else None
    try:
        return from_gymnasium(source)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def given_worlds(source: Any) -> tuple[World, ...]:
    """The worlds that a user hands in as such, one or a list of them; none if it is something else."""
    one = as_world(source)
    if one is not None:
        return (one,)
    listed = [as_world(each) for each in source] if isinstance(source, Sequence) else []
    found = tuple(world for world in listed if world is not None)
    return found if len(found) == len(listed) else ()


def _class(name: Any, source: Any, n_steps: Any) -> WorldClass:
    if not isinstance(name, str) or "/" in name or not name:
        raise SettingsError(f"worlds.{name}: the name of a class must be a text that is not empty and holds no /")
    key, length = "n_steps", n_steps
    if isinstance(n_steps, Mapping):
        key, length = f"n_steps.{name}", n_steps.get(name)
    if length is None:
        length = WORLDS[name].n_steps if name in WORLDS else 1000
    length = checked(key, length, 1, MOST_STEPS)
    if isinstance(source, Mapping):
        return _class_of_table(name, dict(source), length)
    given = given_worlds(source)
    if not given and callable(source):
        return WorldClass(name, length, make=source)
    if not given or any(world.prior is None for world in given):
        raise SettingsError(
            f"worlds.{name}: must be parameters, a function of a seed, or a list of worlds with priors, or one of them"
        )
    return WorldClass(name, length, given=given)


def _class_of_table(name: str, parameters: dict[str, Any], n_steps: int) -> WorldClass:
    kind_name = parameters.pop("kind", name)
    if not isinstance(kind_name, str) or kind_name not in WORLDS:
        near = difflib.get_close_matches(str(kind_name), WORLDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(WORLDS)}{STUDIES}"
        raise SettingsError(f"worlds.{name}: there is no class {kind_name!r}; {hint}")
    kind = WORLDS[kind_name]
    known = [p for p in inspect.signature(kind.make).parameters if p != "seed"]
    for key in parameters:
        if key not in known:
            raise SettingsError(f"worlds.{name}.{key}: there is no such parameter; there are {', '.join(known)}")
    try:
        kind.make(0, **parameters)  # the generator's own checks, on one world
    except MemoryError:
        raise SettingsError(f"worlds.{name}: is too large for the memory of this machine") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise SettingsError(f"worlds.{name}: {error}") from None
    return WorldClass(name, n_steps, make=kind.make, parameters=parameters)


def function_name(function: Any) -> str:
    """What a function or another object that can be called is known by."""
    if isinstance(function, functools.partial):
        given = [*map(repr, function.args), *(f"{key}={value!r}" for key, value in function.keywords.items())]
        return f"{function_name(function.func)}({', '.join(given)})"
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def fingerprint(world: World) -> str:
    """What tells one world from another: its transition rows, its prior, its start and where it ends."""
    rows = world.rows
    prior: Any = world.prior
    assumed: Any = type(prior).__qualname__
    arrays = [rows.indptr, rows.indices, rows.data]
    if isinstance(prior, OneTwoThree):  # as stores of format 2 have it
        assumed = repr(prior)
    elif hasattr(prior, "describe"):
        said = prior.describe()
        support = () if prior.support is None else prior.support.entries()  # states are discovered
        assumed, arrays = (said.kind, *said.parameters.values()), [*arrays, *support]
    start: Any = world.start
    if isinstance(start, np.ndarray):
        start, arrays = "drawn", [*arrays, start]
    if len(world.terminal):
        arrays = [*arrays, world.terminal]
    digest = hashlib.sha256(repr((rows.n_actions, rows.n_states, start, assumed)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
