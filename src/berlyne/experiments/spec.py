"""The description of a study: it is validated, stored, compared, and sent to workers."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import errno
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.measures import Measure, parse_measures, resolve_custom_measures
from berlyne.experiments.settings import Settings
from berlyne.experiments.worlds import (
    SettingsError,
    WorldClass,
    check_int_setting,
    function_name,
    number_of_worlds,
    run_id,
    stream,
    stream_id,
    world_classes,
    world_id,
)
from berlyne.plotting import HtmlReprMixin
from berlyne.serialization import StoreError, read_file
from berlyne.strategies.coordination import QLearning
from berlyne.strategies.registry import PAPER_STRATEGIES, Strategy, get_strategy
from berlyne.user_modules import check_modules, import_modules
from berlyne.validation import STUDIES
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.experiments.results import Results

__all__ = ["Experiment", "SettingsError", "Time", "WorldClass", "snapshot_steps", "stream", "world_id"]

Time = int | float

MAX_WORLDS = 10**6
"""Maximum number of worlds of a class: every world has a label, which readers hold in memory."""
ANY_STRATEGY = "*"
"""Replaces the name of the strategy in stream ids if all strategies share their streams."""


@dataclass(frozen=True)
class Experiment(HtmlReprMixin):
    """A study: worlds, strategies, and the length of each exploration.

    Parameters
    ----------
    worlds : str, World, environment, function, list or mapping
        The name of a class ("dense", "maze", "1-2-3") or of a benchmark ("river_swim"), or several names. A mapping
        from names to parameters of these (`{"maze": {"side": 8}}`), to functions of a seed (a NumPy `SeedSequence`),
        to lists of `World`, or to one `World`. To use a class under another name, give its `kind`:
        `{"small": {"kind": "maze", "side": 3}}`. `{"file": "world.npz"}` is the world in that file. If you pass a
        world, a list or a function directly instead of a mapping, it becomes one class. A Gymnasium environment can
        replace a world; in a mapping, so can its name. If it has a transition table, this table is the world. If it has
        none, each exploration acts in a new environment, as `explore_env` does.
    strategies : iterable of str or Strategy
        Names or `Strategy` objects; by default the fifteen strategies of the paper.
    n_worlds : int
        Number of worlds of each class; by default the length of the shortest list, or 200 if there is no list.
    n_steps : int or mapping of str to int
        Length of each exploration, one number or one per class; by default the paper's (R12).
    seed : int
        Seed of the whole study. Every world and every run has its own random stream, which depends on its id.
    snapshots : sequence of int or float
        Times at which counts are stored: steps (int) or shares of the run (float up to 1.0).
    measures : mapping, list or str
        A mapping adds measures to the standard ones: functions of a `Run` that return a number or one per time
        0..n_steps. For another shape, put the labels of the axes first: `{"visits": (("a", "s"), function)}`. A list
        of names (`berlyne list measures`) replaces the standard measures. In environments without a transition table
        missing information is unknown, so `expected_missing_information` is always stored and `area` is its sum.
    n_runs : int
        Number of runs of each strategy in each world, each with its own random stream.
    common_random_numbers : bool
        Whether all strategies use the same random numbers in the same run, so that their differences are paired. At
        each step the world and the agent use the same uniform numbers.
    imports : iterable of str
        Names of modules that register your own indices and methods. They are imported here and in worker processes.
    horizon : int or mapping of str to int
        Number of steps after which episodes are cut, one number or one per class, as in `World.with_horizon`; by
        default as the worlds define it.

    Attributes
    ----------
    standard_measures : tuple of str
        Names of the standard measures that are stored.
    custom_measures : dict of str to Measure
        All other measures that are stored, by name.
    classes : tuple of WorldClass
        The classes of worlds.

    Examples
    --------
    >>> study = Experiment(worlds="maze", strategies=["Random", "PIG(VI)"], n_worlds=20)
    >>> study
    Experiment(maze: 20 worlds of 2,500 steps; 2 strategies; seed 0)
    >>> Experiment(worlds={"cards": "Blackjack-v1"}, strategies=["Random"], n_runs=10)
    Experiment(cards: 1 world, 10 runs of 1,000 steps; 1 strategy; seed 0)
    """

    worlds: Any = PAPER_WORLDS
    strategies: Iterable[str | Strategy] = PAPER_STRATEGIES
    n_worlds: int = None  # type: ignore[assignment]  # `__post_init__` sets a number
    n_steps: int | Mapping[str, int] | None = None
    seed: int = 0
    snapshots: Sequence[Time] = ()
    measures: Any = field(default_factory=dict)
    n_runs: int = 1
    common_random_numbers: bool = False
    imports: Iterable[str] = ()
    horizon: int | Mapping[str, int] | None = None
    standard_measures: tuple[str, ...] = field(init=False, repr=False)
    custom_measures: dict[str, Measure] = field(init=False, repr=False)
    classes: tuple[WorldClass, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # the only way for a frozen object to normalise itself
        self._import(Path())
        n_worlds = None if self.n_worlds is None else check_int_setting("n_worlds", self.n_worlds, 1, MAX_WORLDS)
        set_field(self, "n_runs", check_int_setting("n_runs", self.n_runs, 1, MAX_WORLDS))
        set_field(self, "seed", check_int_setting("seed", self.seed, 0, 2**63 - 1))
        set_field(self, "strategies", _parse_strategies(self.strategies))
        set_field(self, "classes", world_classes(self.worlds, self.n_steps, self.seed, self.horizon))
        set_field(self, "n_worlds", number_of_worlds(self.classes, n_worlds))
        set_field(self, "snapshots", _parse_snapshots(self.snapshots, min(c.n_steps for c in self.classes)))
        standard, custom = parse_measures(self.measures, bool(self.snapshots))
        set_field(self, "standard_measures", standard)
        set_field(self, "custom_measures", resolve_custom_measures(self.classes, custom))
        self._check_runs()
        self._check_strategies()

    def _import(self, beside: Path) -> None:
        """Import the modules of the user; `beside` is the folder of the file that names them."""
        try:
            object.__setattr__(self, "imports", check_modules(self.imports))
            import_modules(self.imports, beside)
        except ValueError as error:
            raise SettingsError(str(error)) from None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._import(Path(state.get("_folder", "")))

    def _check_runs(self) -> None:
        if self.n_worlds * self.n_runs > MAX_WORLDS:
            raise SettingsError(f"n_runs is {self.n_runs}; n_worlds times n_runs must be at most {MAX_WORLDS}")
        if not isinstance(self.common_random_numbers, bool):
            raise SettingsError(f"common_random_numbers is {self.common_random_numbers!r}; it must be true or false")
        if self.n_runs > 1 and "run" in self.custom_measures:
            raise SettingsError("measures.run: this name is reserved for the number of the run; use another name")

    def _check_strategies(self) -> None:
        """Raise a `SettingsError` if a strategy needs the transition table of an environment that has none."""
        opaque = [kind.name for kind in self.classes if kind.no_table]
        for strategy in map(self.strategy, self.strategy_names if opaque else ()):
            if strategy.sees_world or strategy.relocates:
                need = "plans with the true world" if strategy.sees_world else "can move to any state"
                raise SettingsError(
                    f"strategies: {strategy.name} {need}, and worlds.{opaque[0]} is an environment without a "
                    "transition table; leave it out of strategies"
                )

    def __repr__(self) -> str:
        worlds = "1 world" if self.n_worlds == 1 else f"{self.n_worlds:,} worlds"
        worlds += f", {self.n_runs:,} runs" if self.n_runs > 1 else ""
        parts = [f"{c.name}: {worlds} of {c.n_steps:,} steps" for c in self.classes]
        n = len(self.strategy_names)
        strategies = "1 strategy" if n == 1 else f"{n} strategies"
        return f"Experiment({', '.join(parts)}; {strategies}; seed {self.seed})"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], imports: Iterable[str] = ()) -> Experiment:
        """Read an experiment from a TOML file; every key is a parameter of `Experiment`.

        Parameters
        ----------
        path : path-like
            The TOML file. Files of worlds in it are relative to its directory, which is also searched for modules.
        imports : iterable of str
            Modules to import, in addition to those of the file.

        Returns
        -------
        Experiment
            The study.
        """
        try:
            content = read_file(Path(path))
        except StoreError as error:
            raise SettingsError(str(error)) from None
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        try:
            settings = tomllib.loads(content.decode())
        except UnicodeDecodeError:
            raise SettingsError(f"{os.fspath(path)} is not a text file in UTF-8") from None
        except RecursionError:
            raise SettingsError(f"{os.fspath(path)} is not valid TOML: it is nested too deeply") from None
        except ValueError as error:
            raise SettingsError(f"{os.fspath(path)} is not valid TOML: {error}") from None
        known = [f.name for f in dataclasses.fields(cls) if f.init]
        for key in settings:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}{STUDIES}"
                raise SettingsError(f"{key}: unknown key; {hint}")
        tables = settings["worlds"].values() if isinstance(settings.get("worlds"), dict) else ()
        for table in tables:
            if isinstance(table, dict) and isinstance(table.get("file"), str):
                table["file"] = str(Path(path).parent / table["file"])
        try:
            modules = [*check_modules(settings.pop("imports", ())), *check_modules(imports)]
            import_modules(modules, Path(path).parent)  # `__init__` finds them imported
        except ValueError as error:
            raise SettingsError(str(error)) from None
        experiment = cls(**settings, imports=modules)
        object.__setattr__(experiment, "_folder", str(Path(path).parent.absolute()))  # for worker processes
        return experiment

    @property
    def strategy_names(self) -> list[str]:
        """Names of the strategies, in order."""
        return [s.name for s in self.strategies]  # type: ignore[union-attr]  # `__post_init__` parsed them

    def strategy(self, name: str) -> Strategy:
        """Return the strategy of this study with this name."""
        return next(s for s in self.strategies if isinstance(s, Strategy) and s.name == name)

    @property
    def n_positions(self) -> int:
        """Number of runs in worlds of all classes together."""
        return self.n_worlds * self.n_runs * len(self.classes)

    def position(self, position: int) -> tuple[WorldClass, int]:
        """Return class and index of the world at a position. Classes take turns, so that new worlds come last."""
        index, class_index = divmod(position, len(self.classes))
        return self.classes[class_index], index % self.n_worlds if self.n_runs > 1 else index

    def run_at(self, position: int) -> int:
        """Return the run number at a position: first run 0 of all worlds, then run 1 of all worlds."""
        return position // len(self.classes) // self.n_worlds if self.n_runs > 1 else 0

    def id_at(self, position: int) -> str:
        """Return the id of the run at a position, such as "maze/017"."""
        kind, index = self.position(position)
        return run_id(kind.name, index, self.run_at(position), self.n_runs)

    def stream_at(self, position: int, strategy: str) -> np.random.SeedSequence:
        """Return the random stream of a strategy's exploration at a position."""
        kind, index = self.position(position)
        name = ANY_STRATEGY if self.common_random_numbers else strategy
        return stream(self.seed, stream_id(kind.name, index, self.run_at(position), name))

    @cached_property
    def settings(self) -> Settings:
        """All settings that determine the results, as a store keeps them."""
        strategies = map(self.strategy, self.strategy_names)
        own = {s.name: describe_strategy(s) for s in strategies if not _is_defined_by_name(s)}
        described = {
            name: {"dims": list(measure.dims), "units": measure.units, "meaning": measure.meaning}
            for name, measure in sorted(self.custom_measures.items())
            if measure.dims is not None
        }
        return Settings(
            worlds={c.name: c.describe(self.seed, self.n_worlds) for c in self.classes},
            strategies=self.strategy_names,
            n_worlds=self.n_worlds,
            seed=self.seed,
            snapshots=list(self.snapshots),
            measures=sorted(self.custom_measures),
            own_strategies=own,
            n_runs=self.n_runs,
            common_random_numbers=self.common_random_numbers,
            described_measures=described,
        )

    def describe(self) -> dict[str, Any]:
        """Return all settings that determine the results, as plain data."""
        return self.settings.describe()

    def in_order(self, names: list[str]) -> Experiment:
        """Return a copy of this study with its classes in the order of `names`, which must contain all of them."""
        ordered = copy.copy(self)
        object.__setattr__(ordered, "classes", tuple(sorted(self.classes, key=lambda c: names.index(c.name))))
        return ordered

    def run(self, path: str | os.PathLike[str], **options: Any) -> Results:
        """Run the explorations that the store at `path` lacks, and open the results.

        Parameters
        ----------
        path : path-like
            Directory of the store; it is created if it does not exist.
        **options : Any
            Keyword arguments of `berlyne.experiments.run.run_experiment`: jobs, workers, cluster, repair, progress,
            shard.

        Returns
        -------
        Results
            The results in the store.
        """
        from berlyne.experiments.run import run_experiment

        return run_experiment(self, path, **options)


def snapshot_steps(snapshots: Iterable[Time], n_steps: int) -> list[int]:
    """Return snapshot times as steps of a run of `n_steps` steps."""
    return [t if isinstance(t, int) else round(t * n_steps) for t in snapshots]


def _parse_strategies(strategies: Any) -> tuple[Strategy, ...]:
    if isinstance(strategies, str | Strategy):
        strategies = [strategies]
    if not isinstance(strategies, Iterable) or isinstance(strategies, Mapping):
        raise SettingsError(f"strategies is {strategies!r}; it must be a list of names{STUDIES}")
    parsed = []
    for i, item in enumerate(strategies):
        if not isinstance(item, str | Strategy):
            raise SettingsError(f"strategies[{i}] is {item!r}; it must be a name such as 'PIG(VI)'")
        try:
            parsed.append(get_strategy(item))
        except ValueError as error:
            raise SettingsError(f"strategies[{i}]: {error}") from None
        except OverflowError:
            raise SettingsError(f"strategies[{i}]: there is a number in {item!r:.60} that is too large") from None
    names = [s.name for s in parsed]
    if not names or len(set(names)) < len(names):
        raise SettingsError("strategies must contain at least one strategy, and no name twice")
    return tuple(parsed)


def _is_defined_by_name(strategy: Strategy) -> bool:
    """Whether the name of a strategy defines it completely.

    The name of Q-learning without an epsilon does not, because its default has changed: results with the old default
    must not be mixed with new ones.
    """
    if isinstance(strategy.coordinate, QLearning) and "epsilon=" not in strategy.name:
        return False
    try:
        return get_strategy(strategy.name) == strategy
    except ValueError:
        return False


def describe_strategy(strategy: Strategy) -> str:
    """Describe a custom strategy as text, as far as its parts can be described."""
    method, utility = strategy.coordinate, strategy.utility
    method_text = repr(method) if dataclasses.is_dataclass(method) else function_name(method)
    utility_text = function_name(utility) if callable(utility) else utility
    chance = "".join(
        f", {name}={getattr(strategy, name)}" for name in ("temperature", "lapse") if getattr(strategy, name)
    )
    return f"{method_text}, utility={utility_text}, untried={strategy.untried}, ties={strategy.ties}{chance}"


def _parse_snapshots(snapshots: Any, min_steps: int) -> tuple[Time, ...]:
    if not isinstance(snapshots, Iterable) or isinstance(snapshots, str | Mapping):
        raise SettingsError(f"snapshots is {snapshots!r}; it must be a list of steps (int) or shares (float up to 1.0)")
    times: list[Time] = []
    for i, t in enumerate(snapshots):
        is_step = isinstance(t, int | np.integer) and not isinstance(t, bool) and 0 <= t <= min_steps
        is_share = isinstance(t, float) and 0.0 <= t <= 1.0
        if not (is_step or is_share):
            raise SettingsError(
                f"snapshots[{i}] is {t!r}; it must be a step from 0 to {min_steps}, or a share from 0.0 to 1.0"
            )
        times.append(int(t) if is_step else float(t))
    if len(set(times)) < len(times):
        raise SettingsError("snapshots contains a time twice (step 1 and the share 1.0 have the same label)")
    return tuple(times)
