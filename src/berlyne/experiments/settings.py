"""What to run: a study as a description that can be checked, stored, compared and sent elsewhere."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import errno
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.coordination import QLearning
from berlyne.experiments.files import StoreError, read
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.world_classes import (
    SettingsError,
    WorldClass,
    checked,
    function_name,
    stream,
    world_classes,
    world_id,
)
from berlyne.strategies import PAPER_STRATEGIES, Strategy, strategy
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    from berlyne.experiments.results import Results
    from berlyne.explore import Run

__all__ = ["Experiment", "SettingsError", "Time", "WorldClass", "snapshot_steps", "stream", "world_id"]

Time = int | float

MOST_WORLDS = 10**6
"""Most worlds of a class: every world has a label, which readers keep in memory."""
MOST_BACK = 10**6
"""Most steps that a strategy plans ahead, and largest whole number in its name."""
TAKEN = (
    "area", "state", "action", "next_state", "counts",
    "world", "world_class", "strategy", "time", "snapshot", "transition",
)  # fmt: skip
"""Names in the store beside those of `MEASURES`, which a measure of one's own cannot have either."""


@dataclass(frozen=True)
class Experiment:
    """Worlds, strategies and how long to explore: a study, described.

    Parameters
    ----------
    worlds : the name of a class ("dense", "maze", "1-2-3"), several names, or a mapping from names
        to parameters of the paper's classes (`{"maze": {"side": 8}}`), to functions of a seed (a
        NumPy `SeedSequence`), or to lists of `World`. A class under another name says its `kind`:
        `{"small": {"kind": "maze", "side": 3}}`.
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

    worlds: Any = PAPER_WORLDS
    strategies: Iterable[str | Strategy] = PAPER_STRATEGIES
    n_worlds: int = 200
    n_steps: int | Mapping[str, int] | None = None
    seed: int = 0
    snapshots: Sequence[Time] = ()
    measures: Mapping[str, Callable[[Run], Any]] = field(default_factory=dict)
    classes: tuple[WorldClass, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__  # the only way for a frozen object to normalise itself
        put(self, "n_worlds", checked("n_worlds", self.n_worlds, 1, MOST_WORLDS))
        put(self, "seed", checked("seed", self.seed, 0, 2**63 - 1))
        put(self, "strategies", _strategies(self.strategies))
        put(self, "classes", world_classes(self.worlds, self.n_steps, self.n_worlds))
        put(self, "snapshots", _times(self.snapshots, min(c.n_steps for c in self.classes)))
        put(self, "measures", _measures(self.measures))

    def __repr__(self) -> str:
        worlds = "1 world" if self.n_worlds == 1 else f"{self.n_worlds:,} worlds"
        parts = [f"{c.name}: {worlds} of {c.n_steps:,} steps" for c in self.classes]
        n = len(self.strategy_names)
        strategies = "1 strategy" if n == 1 else f"{n} strategies"
        return f"Experiment({', '.join(parts)}; {strategies}; seed {self.seed})"

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read an experiment from a TOML file; every key is a parameter of `Experiment`."""
        try:
            content = read(Path(path))
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
        return [s.name for s in self.strategies]  # type: ignore[union-attr]  # `__post_init__` made them strategies

    def strategy(self, name: str) -> Strategy:
        """The strategy of this study that has this name."""
        return next(s for s in self.strategies if isinstance(s, Strategy) and s.name == name)

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
        own = {s.name: _own(s) for s in map(self.strategy, self.strategy_names) if not _says_all(s)}
        return {
            "worlds": {c.name: c.describe(self.seed, self.n_worlds) for c in self.classes},
            "strategies": self.strategy_names,
            "n_worlds": self.n_worlds,
            "seed": self.seed,
            "snapshots": list(self.snapshots),
            "measures": sorted(self.measures),
            **({"own strategies": own} if own else {}),
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
        raise SettingsError(f"strategies: is {given!r}; it must be a list of names")
    found = []
    for i, one in enumerate(given):
        if not isinstance(one, str | Strategy):
            raise SettingsError(f"strategies[{i}]: is {one!r}; it must be a name such as 'PIG(VI)'")
        try:
            found.append(strategy(one))
            _refuse_large(found[-1].coordinate)
        except ValueError as error:
            raise SettingsError(f"strategies[{i}]: {error}") from None
        except OverflowError:
            raise SettingsError(f"strategies[{i}]: there is a number in {one!r:.60} that is too large") from None
    names = [s.name for s in found]
    if not names or len(set(names)) < len(names):
        raise SettingsError("strategies: there must be at least one, and no name twice")
    return tuple(found)


def _refuse_large(method: Any) -> None:
    """An error if a method of ours plans further ahead than any machine can."""
    for part in dataclasses.fields(method) if dataclasses.is_dataclass(method) else ():
        value = getattr(method, part.name)
        if isinstance(value, int) and value > MOST_BACK:
            raise ValueError(f"{part.name} is {value!r:.40}; it must be at most {MOST_BACK}")
        _refuse_large(value)


def _says_all(how: Strategy) -> bool:
    """Whether the name of a strategy says all about it, and always did.

    Q-learning of no stated epsilon had 0.1 once: what is stored of it must not be mixed with what is run today.
    """
    if isinstance(how.coordinate, QLearning) and "epsilon=" not in how.name:
        return False
    try:
        return strategy(how.name) == how
    except ValueError:
        return False


def _own(how: Strategy) -> str:
    """What the user's own strategy does, as far as it can be put into words."""
    method, utility = how.coordinate, how.utility
    acts = repr(method) if dataclasses.is_dataclass(method) else function_name(method)
    wants = function_name(utility) if callable(utility) else utility
    chance = "".join(f", {name}={getattr(how, name)}" for name in ("temperature", "lapse") if getattr(how, name))
    return f"{acts}, utility={wants}, untried={how.untried}, ties={how.ties}{chance}"


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


def _measures(given: Any) -> dict[str, Callable[[Any], Any]]:
    if not isinstance(given, Mapping):
        raise SettingsError(f"measures: is {given!r}; it must map names to functions of a run")
    for name, function in given.items():
        if not (is_measure(name) and callable(function)):
            raise SettingsError(f"measures.{name}: must be a new name (an identifier) and a function of a run")
    return dict(given)


def is_measure(name: Any) -> bool:
    """Whether a measure of one's own may have this name."""
    return isinstance(name, str) and name.isidentifier() and name not in TAKEN and name not in MEASURES
