"""The worlds of the benchmark, under a name and a version.

`suite("tabular-v1")` returns tasks: a world, the number of steps, and the horizon if its episodes are cut. A change of
a world, a number of steps or a seed makes a new version; a test compares a digest of every world.

Worlds of the test split and of the tuning split are drawn with different seeds. So are all runs. Settings of an
explorer may be chosen on the tuning split only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from berlyne.benchmarks.minigrid_table import minigrid_world
from berlyne.priors import Dirichlet
from berlyne.worlds import BENCHMARKS, World, dense_world, garnet, maze, one_two_three_world
from berlyne.worlds.from_gymnasium import NO_GYMNASIUM, from_gymnasium

SPLITS = {"tuning": 2024, "test": 2025}
"""Seed of each split."""
PRESETS = {"smoke": (2, 0.1), "quick": (4, 0.5), "full": (8, 1.0)}
"""Number of worlds (or runs, if there is one world) of each task, and the share of its steps."""


@dataclass(frozen=True)
class Task:
    """A world to explore.

    Parameters
    ----------
    name : str
        Name of the task.
    make : callable
        Function of a seed that returns the world, with the common prior.
    n_steps : int
        Number of steps.
    source : str
        Source of the world.
    horizon : int or None
        Number of steps after which episodes are cut; None in a continuing task.
    needs : str
        Package that the world needs, such as "gymnasium"; empty if it needs none.
    is_random : bool
        Whether every seed has another world.
    """

    name: str
    make: Callable[[Any], World]
    n_steps: int
    source: str
    horizon: int | None = None
    needs: str = ""
    is_random: bool = False

    def world(self, seed: Any) -> World:
        """Return the world of a seed, with its horizon."""
        world = self.make(seed)
        return world if self.horizon is None else world.with_horizon(self.horizon)

    @property
    def is_available(self) -> bool:
        """Whether the package that it needs is installed."""
        try:
            __import__(self.needs or "numpy")
        except ImportError:
            return False
        return True


@dataclass(frozen=True)
class Suite:
    """Tasks under a name and a version.

    Parameters
    ----------
    name : str
        Name and version, such as "tabular-v1".
    tasks : tuple of Task
        The tasks.
    """

    name: str
    tasks: tuple[Task, ...]

    def __getitem__(self, name: str) -> Task:
        for task in self.tasks:
            if task.name == name:
                return task
        raise ValueError(f"task is {name!r}; {self.name} has {', '.join(task.name for task in self.tasks)}")

    def __iter__(self) -> Any:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def select(self, names: Iterable[str] | None = None) -> Suite:
        """Return the suite with some of its tasks; by default all whose packages are installed."""
        if names is None:
            return Suite(self.name, tuple(task for task in self.tasks if task.is_available))
        chosen = tuple(self[name] for name in names)
        for task in chosen:
            if not task.is_available:
                raise ValueError(f"task is {task.name!r}, which needs the package {task.needs}; install it first")
        return Suite(self.name, chosen)

    @property
    def left_out(self) -> list[str]:
        """Names of tasks whose packages are not installed."""
        return [task.name for task in self.tasks if not task.is_available]


def suite(name: str = "tabular-v1") -> Suite:
    """Return the suite of that name.

    Parameters
    ----------
    name : str
        Name and version of a suite; there is "tabular-v1".

    Returns
    -------
    Suite
        The tasks.

    Examples
    --------
    >>> len(suite("tabular-v1")), suite("tabular-v1")["river-swim"].n_steps
    (24, 1000)
    """
    if name not in SUITES:
        raise ValueError(f"suite is {name!r}; there is {', '.join(SUITES)}")
    return SUITES[name]


def digest(world: World) -> str:
    """Return 16 hexadecimal digits that identify the transitions, the start and the ends of a world."""
    parts = [
        world.rows.indptr.astype(np.int64),
        world.rows.indices.astype(np.int64),
        np.round(world.rows.data, 10),
        np.round(world.episodes.distribution, 10),
        world.episodes.terminal.astype(np.int64),
        np.array([world.horizon or 0], dtype=np.int64),
    ]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def with_common_prior(world: World) -> World:
    """Return a world with the prior of all explorers: a Dirichlet distribution over all states with alpha 1/N."""
    n = world.n_states
    return world.with_prior(Dirichlet(1.0 / n, n_states=n, n_actions=world.n_actions))


def named_world(seed: Any, kind: str, **parameters: Any) -> World:
    """Return a benchmark world with the common prior; `seed` is not used."""
    return with_common_prior(BENCHMARKS[kind](**parameters))


def random_garnet(seed: Any, **parameters: Any) -> World:
    """Return a Garnet of a seed, with the common prior."""
    return with_common_prior(garnet(seed=seed, **parameters))


def toy_text_world(seed: Any, env: str, **parameters: Any) -> World:
    """Return the world of one of Gymnasium's toy-text environments with the common prior; `seed` is not used.

    It is created from its class, because versions of ids come and go.
    """
    try:
        from gymnasium.envs import toy_text
    except ImportError:
        raise ValueError(NO_GYMNASIUM) from None
    return with_common_prior(from_gymnasium(getattr(toy_text, env)(**parameters)))


def minigrid_level(seed: Any, env: str) -> World:
    """Return the world of a MiniGrid level with the common prior; `seed` is not used."""
    return with_common_prior(minigrid_world(env))


def _named(name: str, kind: str, n_steps: int, source: str, horizon: int | None = None, **parameters: Any) -> Task:
    return Task(name, partial(named_world, kind=kind, **parameters), n_steps, source, horizon)


def _garnet(name: str, n_steps: int, horizon: int | None = None, **parameters: int) -> Task:
    make = partial(random_garnet, **parameters)
    return Task(name, make, n_steps, "Archibald et al. 1995", horizon, is_random=True)


def _toy_text(name: str, env: str, n_steps: int, horizon: int, **parameters: Any) -> Task:
    make = partial(toy_text_world, env=env, **parameters)
    return Task(name, make, n_steps, f"Gymnasium, {env}", horizon, "gymnasium")


_PAPER = "Little & Sommer 2011"
_RIVER, _CHAIN, _RUSSO = "Strehl & Littman 2008", "Kaufmann et al. 2021", "Russo & Vannella 2024"

TABULAR_V1 = Suite(
    "tabular-v1",
    (
        Task("dense", dense_world, 1500, _PAPER, is_random=True),
        Task("maze", maze, 2500, _PAPER, is_random=True),
        Task("1-2-3", one_two_three_world, 1250, _PAPER, is_random=True),
        _named("river-swim", "river_swim", 1000, _RIVER),
        _named("river-swim-20", "river_swim", 1000, _RIVER, 20),
        _named("forked-river-swim", "forked_river_swim", 2000, "Russo & Proutiere 2023"),
        _named("chain-kaufmann", "double_chain_kaufmann", 2000, _CHAIN),
        _named("chain-kaufmann-20", "double_chain_kaufmann", 2000, _CHAIN, 20),
        _named("chain-russo", "double_chain_russo", 2000, _RUSSO),
        _named("n-arms", "n_arms", 2000, f"{_RIVER}, {_RUSSO}"),
        _named("deep-sea", "deep_sea", 2000, "Osband et al. 2018", 10),
        _named("four-rooms", "four_rooms", 4000, "Sutton, Precup & Singh 1999"),
        _named("four-rooms-50", "four_rooms", 4000, "Sutton, Precup & Singh 1999", 50),
        _named("n-room", "n_room", 4000, "Domingues et al. 2021", 60),
        _named("grid", "grid_world", 4000, _CHAIN, side=11),
        _named("grid-20", "grid_world", 4000, _CHAIN, 20, side=11),
        _named("noisy-tv", "noisy_tv", 2000, "after Burda et al. 2019"),
        _garnet("garnet", 2000, n_states=20, n_actions=4, branching=3),
        _garnet("garnet-20", 3000, 20, n_states=50, n_actions=3, branching=2),
        _toy_text("taxi", "TaxiEnv", 4000, 200),
        _toy_text("frozen-lake", "FrozenLakeEnv", 4000, 200, map_name="8x8"),
        _toy_text("cliff-walking", "CliffWalkingEnv", 2000, 100),
        Task("minigrid", partial(minigrid_level, env="MiniGrid-SimpleCrossingS9N1-v0"), 4000,
             "Chevalier-Boisvert et al. 2023", 200, "minigrid"),
        _named("storck", "storck", 2000, "Storck, Hochreiter & Schmidhuber 1995"),
    ),
)  # fmt: skip
SUITES = {TABULAR_V1.name: TABULAR_V1}
"""Suites by name."""
