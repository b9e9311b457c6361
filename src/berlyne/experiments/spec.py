"""What to run: a study as a description that can be checked, stored, compared and sent elsewhere."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import errno
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.measures import Measure, parse_measures, resolve_custom_measures
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
from berlyne.validation import STUDIES
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.experiments.results import Results

__all__ = ["Experiment", "SettingsError", "Time", "WorldClass", "snapshot_steps", "stream", "world_id"]

Time = int | float

MAX_WORLDS = 10**6
"""Most worlds of a class: every world has a label, which readers keep in memory."""
ANY_STRATEGY = "*"
"""What stands in ids of streams for the name of the strategy, where strategies share them."""


@dataclass(frozen=True)
class Experiment(HtmlReprMixin):
    """Worlds, strategies and how long to explore: a study, described.

    Parameters
    ----------
    worlds : the name of a class ("dense", "maze", "1-2-3") or of a benchmark ("river_swim"), several names, or a
        mapping from names to parameters of these (`{"maze": {"side": 8}}`), to functions of a seed (a NumPy
        `SeedSequence`), to lists of `World`, or to one `World`. A class under another name says its `kind`:
        `{"small": {"kind": "maze", "side": 3}}`. `{"file": "world.npz"}` is the world that the file holds. A world, a
        list or a function alone is one class. An environment of Gymnasium, or in a mapping its name, may stand for a
        world: for that of its transition table or, if it shows none, each exploration acts in one of its own, as
        `explore_env` does.
    strategies : names or `Strategy` objects; by default the fifteen of the paper.
    n_worlds : worlds of each class; by default as many as in the shortest list, or 200 if there is none.
    n_steps : length of each exploration, one number or one per class; by default the paper's (R12).
    seed : of the whole study; every world and every run has a stream of its own, named by its id.
    snapshots : when to keep the counts: steps (int) or shares of the run (float up to 1.0).
    measures : a mapping adds measures to the usual ones, functions of a `Run` that give a number or one per time
        0..n_steps; one of any other shape comes after the labels of its axes, `{"visits": (("a", "s"), function)}`. A
        list of names (`berlyne list measures`) is all that is kept. With environments that show no transition table,
        whose missing information nobody knows, `expected_missing_information` is always kept; `area` is its sum.
    n_runs : explorers that each strategy sends into each world, each with a stream of its own.
    common_random_numbers : whether all strategies draw the same random numbers in the same run, so that their
        differences are paired. At each step the world and the agent use the same uniform numbers.

    Attributes
    ----------
    kept, own : names of the usual measures that are kept, and all other measures by name.

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
    n_worlds: int = None  # type: ignore[assignment]  # `__post_init__` puts a number here
    n_steps: int | Mapping[str, int] | None = None
    seed: int = 0
    snapshots: Sequence[Time] = ()
    measures: Any = field(default_factory=dict)
    n_runs: int = 1
    common_random_numbers: bool = False
    kept: tuple[str, ...] = field(init=False, repr=False)
    own: dict[str, Measure] = field(init=False, repr=False)
    classes: tuple[WorldClass, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # the only way for a frozen object to normalise itself
        asked = None if self.n_worlds is None else check_int_setting("n_worlds", self.n_worlds, 1, MAX_WORLDS)
        put(self, "n_runs", check_int_setting("n_runs", self.n_runs, 1, MAX_WORLDS))
        put(self, "seed", check_int_setting("seed", self.seed, 0, 2**63 - 1))
        put(self, "strategies", _strategies(self.strategies))
        put(self, "classes", world_classes(self.worlds, self.n_steps, self.seed))
        put(self, "n_worlds", number_of_worlds(self.classes, asked))
        put(self, "snapshots", _times(self.snapshots, min(c.n_steps for c in self.classes)))
        kept, own = parse_measures(self.measures, bool(self.snapshots))
        put(self, "kept", kept)
        put(self, "own", resolve_custom_measures(self.classes, own))
        self._check_runs()
        self._check_strategies()

    def _check_runs(self) -> None:
        if self.n_worlds * self.n_runs > MAX_WORLDS:
            raise SettingsError(f"n_runs: is {self.n_runs}; n_worlds times n_runs must be at most {MAX_WORLDS}")
        if not isinstance(self.common_random_numbers, bool):
            raise SettingsError(f"common_random_numbers: is {self.common_random_numbers!r}; it must be true or false")
        if self.n_runs > 1 and "run" in self.own:
            raise SettingsError("measures.run: is what runs are numbered by; it needs another name")

    def _check_strategies(self) -> None:
        """Refuse what an environment without a table cannot offer."""
        acted = [kind.name for kind in self.classes if kind.no_table]
        for strategy in map(self.strategy, self.strategy_names if acted else ()):
            if strategy.sees_world or strategy.relocates:
                wants = "plans with the true world" if strategy.sees_world else "goes wherever it likes"
                raise SettingsError(
                    f"strategies: {strategy.name} {wants}, and worlds.{acted[0]} is an environment that shows no "
                    "transition table; name only others in strategies"
                )

    def __repr__(self) -> str:
        worlds = "1 world" if self.n_worlds == 1 else f"{self.n_worlds:,} worlds"
        worlds += f", {self.n_runs:,} runs" if self.n_runs > 1 else ""
        parts = [f"{c.name}: {worlds} of {c.n_steps:,} steps" for c in self.classes]
        n = len(self.strategy_names)
        strategies = "1 strategy" if n == 1 else f"{n} strategies"
        return f"Experiment({', '.join(parts)}; {strategies}; seed {self.seed})"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read an experiment from a TOML file; every key is a parameter of `Experiment`.

        Files of worlds are found from the folder that it is in.
        """
        try:
            content = read_file(Path(path))
        except StoreError as error:
            raise SettingsError(str(error)) from None
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        try:
            said = tomllib.loads(content.decode())
        except UnicodeDecodeError:
            raise SettingsError(f"{os.fspath(path)} is not a text file in UTF-8") from None
        except RecursionError:
            raise SettingsError(f"{os.fspath(path)} is not valid TOML: it is nested too deeply") from None
        except ValueError as error:
            raise SettingsError(f"{os.fspath(path)} is not valid TOML: {error}") from None
        known = [f.name for f in dataclasses.fields(cls) if f.init]
        for key in said:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}{STUDIES}"
                raise SettingsError(f"{key}: there is no such key; {hint}")
        tables = said["worlds"].values() if isinstance(said.get("worlds"), dict) else ()
        for table in tables:
            if isinstance(table, dict) and isinstance(table.get("file"), str):
                table["file"] = str(Path(path).parent / table["file"])
        return cls(**said)

    @property
    def strategy_names(self) -> list[str]:
        """Names of the strategies, in order."""
        return [s.name for s in self.strategies]  # type: ignore[union-attr]  # `__post_init__` made them strategies

    def strategy(self, name: str) -> Strategy:
        """The strategy of this study that has this name."""
        return next(s for s in self.strategies if isinstance(s, Strategy) and s.name == name)

    @property
    def n_positions(self) -> int:
        """Runs in worlds of all classes together."""
        return self.n_worlds * self.n_runs * len(self.classes)

    def position(self, position: int) -> tuple[WorldClass, int]:
        """Class and index of the world at a position: classes take turns, so that more worlds come after."""
        index, which = divmod(position, len(self.classes))
        return self.classes[which], index % self.n_worlds if self.n_runs > 1 else index

    def run_at(self, position: int) -> int:
        """Which run of its world is at a position: all worlds come once, then all once more."""
        return position // len(self.classes) // self.n_worlds if self.n_runs > 1 else 0

    def id_at(self, position: int) -> str:
        """The label of a position."""
        kind, index = self.position(position)
        return run_id(kind.name, index, self.run_at(position), self.n_runs)

    def stream_at(self, position: int, strategy: str) -> np.random.SeedSequence:
        """The random stream of the exploration at a position by a strategy."""
        kind, index = self.position(position)
        who = ANY_STRATEGY if self.common_random_numbers else strategy
        return stream(self.seed, stream_id(kind.name, index, self.run_at(position), who))

    def describe(self) -> dict[str, Any]:
        """All that decides the numbers, as plain data."""
        own = {s.name: describe_strategy(s) for s in map(self.strategy, self.strategy_names) if not _says_all(s)}
        described = {
            name: {"dims": list(one.dims), "units": one.units, "meaning": one.meaning}
            for name, one in sorted(self.own.items())
            if one.dims is not None
        }
        return {
            "worlds": {c.name: c.describe(self.seed, self.n_worlds) for c in self.classes},
            "strategies": self.strategy_names,
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": list(self.snapshots),
            "measures": sorted(self.own),
            **({"own strategies": own} if own else {}),
            **({"n_runs": self.n_runs} if self.n_runs > 1 else {}),
            **({"common_random_numbers": True} if self.common_random_numbers else {}),
            **({"described measures": described} if described else {}),
        }

    def in_order(self, names: list[str]) -> Experiment:
        """The same study with its classes in the order of `names`, which all of them must have."""
        ordered = copy.copy(self)
        object.__setattr__(ordered, "classes", tuple(sorted(self.classes, key=lambda c: names.index(c.name))))
        return ordered

    def run(self, path: str | os.PathLike[str], **options: Any) -> Results:
        """Run what is missing of this study in the store at `path`; options as in `run_experiment`."""
        from berlyne.experiments.run import run_experiment

        return run_experiment(self, path, **options)


def snapshot_steps(snapshots: Iterable[Time], n_steps: int) -> list[int]:
    """Snapshot times in steps of a run of this length."""
    return [t if isinstance(t, int) else round(t * n_steps) for t in snapshots]


def _strategies(given: Any) -> tuple[Strategy, ...]:
    if isinstance(given, str | Strategy):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise SettingsError(f"strategies: is {given!r}; it must be a list of names{STUDIES}")
    found = []
    for i, one in enumerate(given):
        if not isinstance(one, str | Strategy):
            raise SettingsError(f"strategies[{i}]: is {one!r}; it must be a name such as 'PIG(VI)'")
        try:
            found.append(get_strategy(one))
        except ValueError as error:
            raise SettingsError(f"strategies[{i}]: {error}") from None
        except OverflowError:
            raise SettingsError(f"strategies[{i}]: there is a number in {one!r:.60} that is too large") from None
    names = [s.name for s in found]
    if not names or len(set(names)) < len(names):
        raise SettingsError("strategies: there must be at least one, and no name twice")
    return tuple(found)


def _says_all(strategy: Strategy) -> bool:
    """Whether the name of a strategy says all about it, and always did.

    Q-learning of no stated epsilon had 0.1 once: what is stored of it must not be mixed with what is run today.
    """
    if isinstance(strategy.coordinate, QLearning) and "epsilon=" not in strategy.name:
        return False
    try:
        return get_strategy(strategy.name) == strategy
    except ValueError:
        return False


def describe_strategy(strategy: Strategy) -> str:
    """What the user's own strategy does, as far as it can be put into words."""
    method, utility = strategy.coordinate, strategy.utility
    acts = repr(method) if dataclasses.is_dataclass(method) else function_name(method)
    wants = function_name(utility) if callable(utility) else utility
    chance = "".join(
        f", {name}={getattr(strategy, name)}" for name in ("temperature", "lapse") if getattr(strategy, name)
    )
    return f"{acts}, utility={wants}, untried={strategy.untried}, ties={strategy.ties}{chance}"


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
        raise SettingsError("snapshots: no time may be named twice (step 1 and the share 1.0 have the same label)")
    return tuple(times)
