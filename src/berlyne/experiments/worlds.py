"""Classes of worlds in a study: how each world is made, and the fingerprint that identifies it.

A class can be a name, a `World`, an environment or its name, a list of these, or a function of a seed.
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
from berlyne.priors import PRIORS, OneTwoThree, SharedRestaurant
from berlyne.priors.protocols import discovers_states
from berlyne.sparse import Rows
from berlyne.validation import STUDIES, FloatArray, check_count
from berlyne.worlds import BENCHMARKS, World, load_world
from berlyne.worlds.from_gymnasium import NoTableError, as_env, from_gymnasium, is_environment
from berlyne.worlds.registry import WORLDS
from berlyne.worlds.world import NO_PRIOR

MAX_STEPS = 10**8
"""Maximum length of an exploration: a curve with eight bytes per step must fit in one chunk, below 2 GiB."""
MAX_LABELLED = 300
"""Number of states among which label functions are compared, to identify a prior that has some: all, or a selection."""


class SettingsError(ValueError):
    """Invalid setting. The message names the key and a valid value."""


@dataclass(frozen=True)
class WorldClass:
    """One class of worlds in a study: world i is `worlds[i]` if there are any, or else `make(seed, **parameters)`.

    Attributes
    ----------
    name : str
        Name of the class.
    n_steps : int
        Length of each exploration.
    make : callable or None
        Function of a seed that returns a world.
    parameters : dict of str to Any
        Keyword arguments of `make`.
    worlds : tuple of World or OpaqueEnv
        Worlds that the user has provided; empty if `make` returns them.
    no_table : bool
        Whether they are environments without a transition table, so that the truth is unknown.
    discovers_states : bool
        Whether their states are unknown too, so that explorers discover them.
    horizon : int or None
        Number of steps after which episodes are cut, if `make` makes the worlds; None to leave them as they are.
    """

    name: str
    n_steps: int
    make: Callable[..., Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    worlds: tuple[WorldOrEnv, ...] = ()
    no_table: bool = False
    discovers_states: bool = False
    horizon: int | None = None

    @property
    def is_custom(self) -> bool:
        """Whether its worlds are the user's own, so that a seed does not determine them."""
        return not any(self.make is kind.make for kind in WORLDS.values())

    def world(self, seed: int, index: int) -> WorldOrEnv:
        """Return world number `index`. Its random stream depends only on its id."""
        if self.worlds:
            return self.worlds[index]
        make = self.make
        assert make is not None

        def make_env() -> Any:
            return make(stream(seed, world_id(self.name, index)), **self.parameters)

        source = make_env()
        try:
            world = as_world(source, make_env)
        except ValueError as error:
            raise SettingsError(f"worlds.{self.name}: {error}") from error.__cause__
        if world is None:
            raise SettingsError(f"worlds.{self.name}: returned {source!r}; it must return a World with a prior")
        _check_prior(self.name, world)
        if index > 0 and isinstance(world, OpaqueEnv) != self.no_table:
            raise SettingsError(
                f"worlds.{self.name}: world 0 has {'no' if self.no_table else 'a'} transition table, but world {index} "
                f"has {'one' if self.no_table else 'none'}; in a class, all worlds or none must have a table"
            )
        return world if self.horizon is None else _cut(self.name, world, self.horizon)

    def with_table_flags(self, seed: int) -> WorldClass:
        """Return the class with `no_table` and `discovers_states` set according to its first world."""
        first = self.world(seed, 0) if self.is_custom else None
        if not isinstance(first, OpaqueEnv):
            return self
        return replace(self, no_table=True, discovers_states=first.n_states is None)

    def describe(self, seed: int, n_worlds: int) -> dict[str, Any]:
        """Return the class as plain data, to store and compare. Fingerprints identify the user's own worlds."""
        no_table = {"no table": True} if self.no_table else {}
        if self.worlds:
            return {"n_steps": self.n_steps, "worlds": [fingerprint(w) for w in self.worlds[:n_worlds]], **no_table}
        assert self.make is not None
        parameters = {key: v.item() if isinstance(v, np.generic) else v for key, v in self.parameters.items()}
        description = {"n_steps": self.n_steps, "make": function_name(self.make), "parameters": parameters}
        description |= {} if self.horizon is None else {"horizon": self.horizon}
        if not self.is_custom:
            return description
        return {**description, "first world": fingerprint(self.world(seed, 0)), **no_table}


def world_id(name: str, index: int) -> str:
    """Return the id of a world, such as "maze/017"."""
    return f"{name}/{index:03d}"


def run_id(name: str, index: int, run: int, n_runs: int) -> str:
    """Return the id of a run, such as "task/000/run-007"; if each world is explored once, the id of its world."""
    return f"{world_id(name, index)}/run-{run:03d}" if n_runs > 1 else world_id(name, index)


def stream_id(name: str, index: int, run: int, strategy: str) -> str:
    """Return the id of an exploration's random stream. The stream of run 0 does not depend on the number of runs."""
    return f"{run_id(name, index, run, run + 1)}/{strategy}"


def stream(seed: int, name: str) -> np.random.SeedSequence:
    """Return the random stream of an id. It depends only on the seed and the id."""
    low_words_first = seed.to_bytes(4 * max(1, -(-seed.bit_length() // 32)), "little")
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.SeedSequence(np.frombuffer(low_words_first + digest, dtype="<u4").astype(np.uint32))


def check_int_setting(key: str, value: Any, at_least: int, at_most: int) -> int:
    """Return `value` as an int; raise a `SettingsError` that names `key` if it is not in the range."""
    try:
        number = check_count(key, value, at_least)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if number > at_most:
        raise SettingsError(f"{key} is {number}; it must be at most {at_most}")
    return number


def world_classes(worlds: Any, n_steps: Any, seed: int, horizon: Any = None) -> tuple[WorldClass, ...]:
    """Parse the classes of an experiment from its `worlds`, `n_steps`, `seed` and `horizon`."""
    worlds = _by_name(worlds)
    if not isinstance(worlds, Mapping) or not worlds:
        raise SettingsError(f"worlds is {worlds!r}; it must name at least one of {', '.join(WORLDS)}")
    for setting, values in (("n_steps", n_steps), ("horizon", horizon)):
        for key in values if isinstance(values, Mapping) else ():
            if key not in worlds:
                names = ", ".join(map(str, worlds))
                raise SettingsError(f"{setting}.{key}: unknown class; the classes in worlds are {names}")
    classes = [_parse_class(name, source, n_steps) for name, source in worlds.items()]
    return tuple(_with_horizon(kind, horizon).with_table_flags(seed) for kind in classes)


def _with_horizon(kind: WorldClass, horizon: Any) -> WorldClass:
    """Return a class with the horizon that an experiment sets for it."""
    key, steps = "horizon", horizon
    if isinstance(horizon, Mapping):
        key, steps = f"horizon.{kind.name}", horizon.get(kind.name)
    if steps is None:
        return kind
    steps = check_int_setting(key, steps, 1, MAX_STEPS)
    if not kind.worlds:
        return replace(kind, horizon=steps)
    return replace(kind, worlds=tuple(_cut(kind.name, world, steps) for world in kind.worlds))


def _cut(name: str, world: WorldOrEnv, horizon: int) -> World:
    """Return a world whose episodes are cut; raise a `SettingsError` for an environment, which cuts them itself."""
    if isinstance(world, OpaqueEnv):
        raise SettingsError(
            f"horizon: worlds.{name} is an environment without a transition table; leave it out, and set "
            "max_episode_steps in gymnasium.make"
        )
    return world.with_horizon(horizon)


def number_of_worlds(classes: tuple[WorldClass, ...], n_worlds: int | None) -> int:
    """Return the number of worlds per class; by default the length of the shortest list, or 200 without lists."""
    if n_worlds is None:
        n_worlds = min((len(kind.worlds) for kind in classes if kind.worlds), default=200)
    for kind in classes:
        if kind.worlds and len(kind.worlds) < n_worlds:
            hint = f"; use n_runs = {n_worlds} to explore it {n_worlds} times" if len(kind.worlds) == 1 else ""
            raise SettingsError(f"n_worlds is {n_worlds}; worlds.{kind.name} has only {len(kind.worlds)}{hint}")
    return n_worlds


def _by_name(worlds: Any) -> Any:
    """Return `worlds` as a mapping from names. One world, a list of worlds or a function becomes one class."""
    if isinstance(worlds, Mapping):
        return worlds
    try:
        provided = provided_worlds(worlds)
    except ValueError as error:
        raise SettingsError(f"worlds: {error}") from error.__cause__
    if provided:
        names = {world.name for world in provided}
        return {_class_name(names.pop() if len(names) == 1 else ""): provided}
    if callable(worlds):
        return {_class_name(getattr(worlds, "__name__", "")): worlds}
    if not isinstance(worlds, Iterable):
        return worlds
    listed = [worlds] if isinstance(worlds, str) else list(worlds)
    for i, name in enumerate(listed):
        if not isinstance(name, str):
            raise SettingsError(f"worlds[{i}] is {name!r}; it must be the name of a class of worlds")
    if len(set(listed)) < len(listed):
        raise SettingsError("worlds: no class may be named twice")
    return {name: {} for name in listed}


def _class_name(name: str) -> str:
    """Return the name of an unnamed class: that of its worlds or of its function if it is valid, or else "world"."""
    return name if name and "/" not in name and "<" not in name else "world"


def _parse_class(name: Any, source: Any, n_steps: Any) -> WorldClass:
    if not isinstance(name, str) or "/" in name or not name:
        raise SettingsError(f"worlds.{name}: a class name must be a non-empty string without /")
    key, length = "n_steps", n_steps
    if isinstance(n_steps, Mapping):
        key, length = f"n_steps.{name}", n_steps.get(name)
    if length is None:
        length = WORLDS[name].n_steps if name in WORLDS else 1000
    length = check_int_setting(key, length, 1, MAX_STEPS)
    if isinstance(source, Mapping):
        return _class_of_table(name, dict(source), length)
    try:
        provided = provided_worlds(make_named_envs(source))
    except ValueError as error:
        raise SettingsError(f"worlds.{name}: {error}") from error.__cause__
    if not provided and callable(source):
        _check_function(name, source)
        return WorldClass(name, length, make=source)
    if not provided:
        raise SettingsError(
            f"worlds.{name}: invalid value; use a dict of parameters, a World with a prior, a Gymnasium environment or "
            "its id, a list of these, or a function of a seed"
        )
    _check_prior(name, *provided)
    _check_all_alike(name, provided)
    return WorldClass(name, length, worlds=provided)


def _check_function(name: str, make: Callable[..., Any]) -> None:
    """Raise a `SettingsError` unless a function can be called with a seed alone."""
    try:
        inspect.signature(make).bind(0)
    except TypeError:
        raise SettingsError(
            f"worlds.{name}: {function_name(make)}{inspect.signature(make)} cannot be called with a seed alone; it "
            "must be a function of a seed, make(seed)"
        ) from None
    except ValueError:  # a callable without a signature
        pass


def _check_prior(name: str, *worlds: WorldOrEnv) -> None:
    """Raise a `SettingsError` if a world has no prior."""
    if any(isinstance(world, World) and world.prior is None for world in worlds):
        raise SettingsError(f"worlds.{name}: {NO_PRIOR}")


def _check_all_alike(name: str, worlds: tuple[WorldOrEnv, ...]) -> None:
    """Raise a `SettingsError` if only some of the worlds have a transition table."""
    opaque = [world for world in worlds if isinstance(world, OpaqueEnv)]
    if 0 < len(opaque) < len(worlds):
        raise SettingsError(
            f"worlds.{name}: {opaque[0].name} has no transition table, but others do; put them into two classes, "
            "because their measures differ"
        )


def _class_of_table(name: str, parameters: dict[str, Any], n_steps: int) -> WorldClass:
    """Parse a table of a TOML file: parameters of one of berlyne's classes, a benchmark, or a file."""
    make: Any
    if "file" in parameters:
        make, known, arguments = load_world, ["file"], {"path": parameters["file"]}
    else:
        make = _function_of_kind(name, parameters.pop("kind", name))
        known, arguments = [p for p in inspect.signature(make).parameters if p != "seed"], parameters
    for key in parameters:
        if key not in known:
            raise SettingsError(f"worlds.{name}.{key}: unknown parameter; the parameters are {', '.join(known)}")
    is_class = any(make is kind.make for kind in WORLDS.values())
    try:
        world = make(*([0] if is_class else []), **arguments)  # for a class, only to run its checks
    except MemoryError:
        raise SettingsError(f"worlds.{name}: does not fit in the memory of this machine") from None
    except OSError as error:
        raise SettingsError(f"worlds.{name}.file: {error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise SettingsError(f"worlds.{name}: {error}") from None
    if is_class:
        return WorldClass(name, n_steps, make=make, parameters=parameters)
    _check_prior(name, world)
    return WorldClass(name, n_steps, worlds=(world,))


def _function_of_kind(name: str, kind: Any) -> Callable[..., World]:
    functions = {**{each.name: each.make for each in WORLDS.values()}, **BENCHMARKS}
    if not isinstance(kind, str) or kind not in functions:
        near = difflib.get_close_matches(str(kind), functions, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the classes are {', '.join(functions)}{STUDIES}"
        raise SettingsError(f"worlds.{name}: unknown class {kind!r}; {hint}")
    return functions[kind]


def function_name(function: Any) -> str:
    """Return the name of a callable, with the arguments of a partial."""
    if isinstance(function, functools.partial):
        arguments = [*map(repr, function.args), *(f"{key}={value!r}" for key, value in function.keywords.items())]
        return f"{function_name(function.func)}({', '.join(arguments)})"
    return str(getattr(function, "__qualname__", type(function).__qualname__))


WorldOrEnv = World | OpaqueEnv
"""A world with a known transition table, or an environment without one."""


def as_world(source: Any, make_env: EnvFactory | None = None) -> WorldOrEnv | None:
    """Convert a world or an environment.

    Parameters
    ----------
    source : Any
        A `World`, an `OpaqueEnv` or a Gymnasium environment.
    make_env : EnvFactory or None
        Returns new environments like `source`, if it has no transition table; by default from its spec or by copying.

    Returns
    -------
    World, OpaqueEnv or None
        The world with the transition table of an environment; an `OpaqueEnv` if it has none. None for other objects.
    """
    if isinstance(source, World | OpaqueEnv) or not is_environment(source):
        return source if isinstance(source, World | OpaqueEnv) else None
    try:
        return from_gymnasium(source)
    except NoTableError:
        return OpaqueEnv.from_factory(make_env or env_factory(source))


def provided_worlds(source: Any) -> tuple[WorldOrEnv, ...]:
    """Return the worlds that `source` contains, if it is a world or environment or a list of them; else ()."""
    single = as_world(source)
    if single is not None:
        return (single,)
    converted = [as_world(item) for item in source] if isinstance(source, Sequence) else []
    worlds = tuple(world for world in converted if world is not None)
    return worlds if len(worlds) == len(converted) else ()


def make_named_envs(source: Any) -> Any:
    """Replace ids of Gymnasium environments by the environments; other objects are returned as they are."""
    if isinstance(source, list | tuple):
        return [make_named_envs(item) for item in source]
    if not isinstance(source, str):
        return source
    try:
        return as_env(source)
    except ValueError:
        raise
    except Exception as error:  # Gymnasium has its own error classes
        hint = f"; for a class of worlds write {{'kind': {source!r}}}" if source in WORLDS else ""
        raise ValueError(f"Gymnasium cannot make {source!r}: {str(error).rstrip('.')}{hint}") from None


def _estimates(prior: Any, rows: Rows) -> list[FloatArray]:
    """Return estimates that distinguish a prior without `describe` from others of its class.

    They are its estimates from no observations, and from each possible transition observed once.
    """
    if discovers_states(prior):
        no_counts = np.zeros((rows.n_actions, 3, 3), dtype=np.int64)
        return [np.asarray(prior.sized(3, rows.n_actions).estimate(no_counts), dtype=float)]
    once = (rows.dense() > 0).astype(np.int64)
    return [np.asarray(prior.estimate(counts), dtype=float) for counts in (np.zeros_like(once), once)]


def fingerprint(world: WorldOrEnv) -> str:
    """Return a hash that identifies a world: its transition rows, prior, start, ends and forbidden actions."""
    if isinstance(world, OpaqueEnv):
        return world.fingerprint
    rows = world.rows
    prior: Any = world.prior
    prior_id: Any = type(prior).__qualname__
    arrays = [rows.indptr, rows.indices, rows.data]
    if isinstance(prior, OneTwoThree):  # its repr is part of the fingerprints in existing stores
        prior_id = repr(prior)
    elif hasattr(prior, "describe"):
        description = prior.describe()
        support = getattr(prior, "support", None)  # a prior that discovers states has none
        # the supports of berlyne's own priors are added below, also if they are not stored
        is_own = type(prior) in PRIORS.values()
        prior_arrays = [a for name, a in description.arrays.items() if not (is_own and name.startswith("support_"))]
        prior_id = (description.kind, *description.parameters.values())
        if isinstance(prior, SharedRestaurant) and not prior.is_described:  # functions may differ and have one name
            chosen = np.unique(np.linspace(0, world.n_states - 1, MAX_LABELLED).astype(np.int64)).tolist()
            prior_arrays = [prior.labels_among([world.state_labels[s] for s in chosen], world.action_labels.all)]
        arrays = [*arrays, *prior_arrays, *(() if support is None else support.entries())]
    elif prior is not None:
        arrays = [*arrays, *_estimates(prior, rows)]
    start: Any = world.start
    if isinstance(start, np.ndarray):
        start, arrays = "drawn", [*arrays, start]
    if len(world.terminal):
        arrays = [*arrays, world.terminal]
    if not np.all(world.allowed):
        arrays = [*arrays, world.allowed]
    if world.measured != "reachable":
        prior_id = (prior_id, world.measured)
    if world.horizon is not None:
        arrays = [*arrays, np.array([world.horizon])]
    digest = hashlib.sha256(repr((rows.n_actions, rows.n_states, start, prior_id)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
