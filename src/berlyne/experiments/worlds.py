"""The world classes of a study: how each world is made, and what distinguishes it from any other.

A class may be given by name, as a `World`, as an environment or its name, as a list of these, or as a function of a
seed.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from berlyne.experiments.opaque_env import EnvFactory, OpaqueEnv, env_factory
from berlyne.exploration.explore import NO_PRIOR
from berlyne.priors import PRIORS, OneTwoThree
from berlyne.priors.protocols import discovers_states
from berlyne.sparse import Rows
from berlyne.validation import STUDIES, FloatArray, check_count
from berlyne.worlds import BENCHMARKS, World, load_world
from berlyne.worlds.from_gymnasium import NoTableError, as_env, from_gymnasium, is_environment
from berlyne.worlds.registry import WORLDS

MAX_STEPS = 10**8
"""Longest exploration: a curve of eight bytes per step must fit into one chunk, below 2 GiB."""


class SettingsError(ValueError):
    """A setting that cannot be: names the key and what would be right."""


@dataclass(frozen=True)
class WorldClass:
    """One class of worlds in a study: world i is `make(seed, **parameters)`, or `worlds[i]`.

    no_table : whether they are environments that can only be acted in. Nobody knows the truth about them.
    discovers_states : whether nobody knows their states either.
    """

    name: str
    n_steps: int
    make: Callable[..., Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    worlds: tuple[WorldOrEnv, ...] = ()
    no_table: bool = False
    discovers_states: bool = False

    @property
    def is_custom(self) -> bool:
        """Whether its worlds are of a user's own, so that a seed does not tell them."""
        return not any(self.make is kind.make for kind in WORLDS.values())

    def world(self, seed: int, index: int) -> WorldOrEnv:
        """World number `index`; its stream comes from its id, so it never depends on anything else."""
        if self.worlds:
            return self.worlds[index]
        make = self.make
        assert make is not None

        def make_env() -> Any:
            return make(stream(seed, world_id(self.name, index)), **self.parameters)

        given = make_env()
        try:
            found = as_world(given, make_env)
        except ValueError as error:
            raise SettingsError(f"worlds.{self.name}: {error}") from error.__cause__
        if found is None:
            raise SettingsError(f"worlds.{self.name}: gave {given!r}; it must give a World with a prior")
        _refuse_no_prior(self.name, found)
        if index > 0 and isinstance(found, OpaqueEnv) != self.no_table:
            raise SettingsError(
                f"worlds.{self.name}: the first world shows {'no' if self.no_table else 'a'} transition table, and "
                f"world {index} differs in this; they must be alike"
            )
        return found

    def looked_at(self, seed: int) -> WorldClass:
        """The class, of which it is known from its first world whether there is a table."""
        first = self.world(seed, 0) if self.is_custom else None
        if not isinstance(first, OpaqueEnv):
            return self
        return replace(self, no_table=True, discovers_states=first.n_states is None)

    def describe(self, seed: int, n_worlds: int) -> dict[str, Any]:
        """As plain data, for storing and comparing. Worlds of the user's own are told by their transitions."""
        acted = {"no table": True} if self.no_table else {}
        if self.worlds:
            return {"n_steps": self.n_steps, "worlds": [fingerprint(one) for one in self.worlds[:n_worlds]], **acted}
        assert self.make is not None
        plain = {key: v.item() if isinstance(v, np.generic) else v for key, v in self.parameters.items()}
        said = {"n_steps": self.n_steps, "make": function_name(self.make), "parameters": plain}
        if not self.is_custom:
            return said
        return {**said, "first world": fingerprint(self.world(seed, 0)), **acted}


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


def check_int_setting(key: str, value: Any, at_least: int, at_most: int) -> int:
    """`value` as an int in a range, or an error that names its key."""
    try:
        number = check_count(key, value, at_least)
    except ValueError as error:
        raise SettingsError(f"{key}: {str(error).removeprefix(f'{key} ')}") from None
    if number > at_most:
        raise SettingsError(f"{key}: is {number}; it must be at most {at_most}")
    return number


def world_classes(worlds: Any, n_steps: Any, seed: int) -> tuple[WorldClass, ...]:
    """The classes that `worlds`, `n_steps` and `seed` of an experiment stand for."""
    worlds = _by_name(worlds)
    if not isinstance(worlds, Mapping) or not worlds:
        raise SettingsError(f"worlds: is {worlds!r}; it must name at least one of {', '.join(WORLDS)}")
    if isinstance(n_steps, Mapping):
        for key in n_steps:
            if key not in worlds:
                there = ", ".join(map(str, worlds))
                raise SettingsError(f"n_steps.{key}: there is no such class in worlds; there are {there}")
    return tuple(_class(name, source, n_steps).looked_at(seed) for name, source in worlds.items())


def number_of_worlds(classes: tuple[WorldClass, ...], asked: int | None) -> int:
    """Worlds of each class: as many as asked, by default as in the shortest list, or 200 if there is none."""
    n_worlds = min((len(kind.worlds) for kind in classes if kind.worlds), default=200) if asked is None else asked
    for kind in classes:
        if kind.worlds and len(kind.worlds) < n_worlds:
            hint = f"; n_runs = {n_worlds} lets {n_worlds} explorers meet it" if len(kind.worlds) == 1 else ""
            raise SettingsError(f"n_worlds: is {n_worlds}; worlds.{kind.name} holds only {len(kind.worlds)}{hint}")
    return n_worlds


def _by_name(worlds: Any) -> Any:
    """`worlds` as a mapping from names: one world, a list of worlds or a function is a class of its own."""
    if isinstance(worlds, Mapping):
        return worlds
    try:
        given = given_worlds(worlds)
    except ValueError as error:
        raise SettingsError(f"worlds: {error}") from error.__cause__
    if given:
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


def _class(name: Any, source: Any, n_steps: Any) -> WorldClass:
    if not isinstance(name, str) or "/" in name or not name:
        raise SettingsError(f"worlds.{name}: the name of a class must be a text that is not empty and holds no /")
    key, length = "n_steps", n_steps
    if isinstance(n_steps, Mapping):
        key, length = f"n_steps.{name}", n_steps.get(name)
    if length is None:
        length = WORLDS[name].n_steps if name in WORLDS else 1000
    length = check_int_setting(key, length, 1, MAX_STEPS)
    if isinstance(source, Mapping):
        return _class_of_table(name, dict(source), length)
    try:
        given = given_worlds(made_by_name(source))
    except ValueError as error:
        raise SettingsError(f"worlds.{name}: {error}") from error.__cause__
    if not given and callable(source):
        return WorldClass(name, length, make=_checked_function(name, source))
    if not given:
        raise SettingsError(
            f"worlds.{name}: must be parameters, a function of a seed, an environment or its name, or a list of worlds "
            "with priors, or one of them"
        )
    _refuse_no_prior(name, *given)
    _refuse_mixed(name, given)
    return WorldClass(name, length, worlds=given)


def _checked_function(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that can be called with a seed alone."""
    try:
        inspect.signature(make).bind(0)
    except TypeError:
        raise SettingsError(
            f"worlds.{name}: {function_name(make)}{inspect.signature(make)} cannot be called with a seed alone; it "
            "must be a function of a seed, make(seed)"
        ) from None
    except ValueError:  # of something that does not say what it takes
        pass
    return make


def _refuse_no_prior(name: str, *places: WorldOrEnv) -> None:
    if any(isinstance(one, World) and one.prior is None for one in places):
        raise SettingsError(f"worlds.{name}: {NO_PRIOR}")


def _refuse_mixed(name: str, given: tuple[WorldOrEnv, ...]) -> None:
    untabled = [one for one in given if isinstance(one, OpaqueEnv)]
    if 0 < len(untabled) < len(given):
        raise SettingsError(
            f"worlds.{name}: {untabled[0].name} shows no transition table and others do, so they cannot be measured "
            "alike; make them two classes"
        )


def _class_of_table(name: str, parameters: dict[str, Any], n_steps: int) -> WorldClass:
    """A class of ours, a benchmark or a file, as a table of a TOML file says it."""
    make: Any
    if "file" in parameters:
        make, known, given = load_world, ["file"], {"path": parameters["file"]}
    else:
        make = _function_of_kind(name, parameters.pop("kind", name))
        known, given = [p for p in inspect.signature(make).parameters if p != "seed"], parameters
    for key in parameters:
        if key not in known:
            raise SettingsError(f"worlds.{name}.{key}: there is no such parameter; there are {', '.join(known)}")
    is_class = any(make is kind.make for kind in WORLDS.values())
    try:
        world = make(*([0] if is_class else []), **given)  # of a class, to hear its own checks
    except MemoryError:
        raise SettingsError(f"worlds.{name}: is too large for the memory of this machine") from None
    except OSError as error:
        raise SettingsError(f"worlds.{name}.file: {error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise SettingsError(f"worlds.{name}: {error}") from None
    if is_class:
        return WorldClass(name, n_steps, make=make, parameters=parameters)
    _refuse_no_prior(name, world)
    return WorldClass(name, n_steps, worlds=(world,))


def _function_of_kind(name: str, kind: Any) -> Callable[..., World]:
    makes = {**{each.name: each.make for each in WORLDS.values()}, **BENCHMARKS}
    if not isinstance(kind, str) or kind not in makes:
        near = difflib.get_close_matches(str(kind), makes, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(makes)}{STUDIES}"
        raise SettingsError(f"worlds.{name}: there is no class {kind!r}; {hint}")
    return makes[kind]


def function_name(function: Any) -> str:
    """What a function or another object that can be called is known by."""
    if isinstance(function, functools.partial):
        given = [*map(repr, function.args), *(f"{key}={value!r}" for key, value in function.keywords.items())]
        return f"{function_name(function.func)}({', '.join(given)})"
    return str(getattr(function, "__qualname__", type(function).__qualname__))


WorldOrEnv = World | OpaqueEnv
"""What is explored."""


def as_world(source: Any, make_env: EnvFactory | None = None) -> WorldOrEnv | None:
    """What is explored where an object is given: a world, or an environment as the world that its table shows.

    An environment without a table is acted in; `make_env` gives it once more, by default one like it. None for others.
    """
    if isinstance(source, World | OpaqueEnv) or not is_environment(source):
        return source if isinstance(source, World | OpaqueEnv) else None
    try:
        return from_gymnasium(source)
    except NoTableError:
        return OpaqueEnv.from_factory(make_env or env_factory(source))


def given_worlds(source: Any) -> tuple[WorldOrEnv, ...]:
    """The worlds that a user hands in as such, one or a list of them; none if it is something else."""
    one = as_world(source)
    if one is not None:
        return (one,)
    listed = [as_world(each) for each in source] if isinstance(source, Sequence) else []
    found = tuple(world for world in listed if world is not None)
    return found if len(found) == len(listed) else ()


def made_by_name(source: Any) -> Any:
    """What is given, with the environments of Gymnasium for their names."""
    if isinstance(source, list | tuple):
        return [made_by_name(each) for each in source]
    if not isinstance(source, str):
        return source
    try:
        return as_env(source)
    except ValueError:
        raise
    except Exception as error:  # Gymnasium has errors of its own
        kind = f"; a class of worlds is said as {{'kind': {source!r}}}" if source in WORLDS else ""
        raise ValueError(f"Gymnasium cannot make {source!r}: {str(error).rstrip('.')}{kind}") from None


def _answers(prior: Any, rows: Rows) -> list[FloatArray]:
    """What tells a prior that does not describe itself from others of its class: what it estimates from two tables.

    One is of nothing, the other of each possible transition once.
    """
    if discovers_states(prior):
        nothing = np.zeros((rows.n_actions, 3, 3), dtype=np.int64)
        return [np.asarray(prior.sized(3, rows.n_actions).estimate(nothing), dtype=float)]
    once = (rows.dense() > 0).astype(np.int64)
    return [np.asarray(prior.estimate(counts), dtype=float) for counts in (np.zeros_like(once), once)]


def fingerprint(world: WorldOrEnv) -> str:
    """What tells one world from another: its transition rows, its prior, its start and where it ends."""
    if isinstance(world, OpaqueEnv):
        return world.fingerprint
    rows = world.rows
    prior: Any = world.prior
    assumed: Any = type(prior).__qualname__
    arrays = [rows.indptr, rows.indices, rows.data]
    if isinstance(prior, OneTwoThree):  # as stores of format 2 have it
        assumed = repr(prior)
    elif hasattr(prior, "describe"):
        said = prior.describe()
        support = getattr(prior, "support", None)  # none where states are discovered
        own = () if type(prior) in PRIORS.values() else said.arrays.values()  # ours describe their support by arrays
        told = [*own, *(() if support is None else support.entries())]
        assumed, arrays = (said.kind, *said.parameters.values()), [*arrays, *told]
    elif prior is not None:
        arrays = [*arrays, *_answers(prior, rows)]
    start: Any = world.start
    if isinstance(start, np.ndarray):
        start, arrays = "drawn", [*arrays, start]
    if len(world.terminal):
        arrays = [*arrays, world.terminal]
    digest = hashlib.sha256(repr((rows.n_actions, rows.n_states, start, assumed)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
