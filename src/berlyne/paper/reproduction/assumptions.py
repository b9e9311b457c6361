"""Assumptions of a reproduction: every choice that you can change has a key.

`berlyne reproduce --set gamma=0.9 --set maze.alpha=0.5` changes two of them; a TOML file can change many. Explorations,
stages, claims and figures all use the changed values. Most keys belong to a reading (`docs/paper/readings.md`).
"""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from berlyne import tasks
from berlyne.experiments import Experiment
from berlyne.experiments.spec import SettingsError
from berlyne.paper.claims.evidence import Index, Pool, Ranking
from berlyne.priors.dirichlet import MIN_ALPHA
from berlyne.serialization import StoreError, read_file
from berlyne.strategies.coordination import QLearning, TrueModel, UniformChoice, ValueIteration
from berlyne.strategies.registry import PAPER_STRATEGIES, STRATEGIES, Strategy, get_strategy
from berlyne.validation import ASSUMPTIONS
from berlyne.worlds import PAPER_WORLDS, WORLDS

PRIOR_PIG = "prior PIG"
"""Value of `untried` that stands for the prior PIG of the pair."""
TIMES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Fractions of the run after which tasks are set (reading R19)."""


@dataclass(frozen=True)
class Key:
    """An assumption that can be changed.

    Parameters
    ----------
    name : str
        Key, as used by `--set`.
    default : object
        Default value.
    text : str
        Meaning in a few words.
    reading : str
        Reading that the key belongs to; empty if the paper is explicit.
    choices : tuple of str
        Allowed values, if they are words.
    minimum : float or None
        Smallest allowed value, if it is a number.
    """

    name: str
    default: Any
    text: str
    reading: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None


_WORLD_READINGS = {
    "maze.n_transporters": "R10",
    "maze.law": "R11",
    "1-2-3.formula": "R3",
}


def _world_keys() -> Iterable[Key]:
    """Yield the keys of every class: run length and parameters of the generator."""
    for name in PAPER_WORLDS:
        kind = WORLDS[name]
        yield Key(f"{name}.n_steps", kind.n_steps, f"steps of a run in {kind.title}", "R12")
        for parameter in inspect.signature(kind.make).parameters.values():
            if parameter.name not in ("seed", "max_draws"):
                key = f"{name}.{parameter.name}"
                yield Key(key, parameter.default, f"{parameter.name} of {kind.title}", _WORLD_READINGS.get(key, ""))


_Q, _VI = QLearning(), ValueIteration()
KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("gamma", _VI.gamma, "discount of value iteration", "R5"),
        Key("steps_back", _VI.steps_back, "backward steps of value iteration", "R5"),
        Key("untried", PRIOR_PIG, "PEIG of a pair never tried: a number or its prior PIG", "R6"),
        Key("q.learning_rate", _Q.learning_rate, "learning rate of Q-learning", "R7"),
        Key("q.gamma", _Q.gamma, "discount of Q-learning", "R7"),
        Key("q.epsilon", _Q.epsilon, "probability that Q-learning acts at random", "R7"),
        Key("q.initial", _Q.initial, "initial values of Q-learning", "R7"),
        Key("ties", "uniform", "how ties between best actions are broken", "R8", ("uniform", "first")),
        *_world_keys(),
        Key("index", "per world", "how the embodiment index is averaged", "R14", get_args(Index)),
        Key("pool", "curves", "strategies that enter one Friedman test", "R16", get_args(Pool)),
        Key(
            "tasks.cap_per_state",
            tasks.CAP_PER_STATE,
            "steps per state after which navigation stops",
            "R18",
            (),
            1,
        ),
        Key("tasks.times", TIMES, "times at which tasks are evaluated, as fractions of the run", "R19"),
        Key(
            "tasks.ranking",
            "each time",
            "how losses at several times are combined into ranks",
            "R19",
            get_args(Ranking),
        ),
        Key("tasks.horizon", tasks.HORIZON, "steps in which to collect reward", "R20", (), 1),
        Key("tasks.paid", "entering", "when a state pays its reward", "R20", ("entering", "leaving")),
        Key("tasks.n_rewards", tasks.N_REWARDS, "reward structures of each world", "", (), 1),
        Key(
            "tasks.ties", "uniform", "how ties between best actions of a policy are broken", "R8", ("uniform", "lowest")
        ),
        Key("learned.starts", (1.0, 10.0), "concentrations that learning starts from", "R24", (), MIN_ALPHA),
    )
}
"""Assumptions that can be changed, by key."""


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of a reproduction.

    Parameters
    ----------
    changed : mapping of str to object
        Values that differ from the default, by key. Values equal to the default are dropped.

    Raises
    ------
    SettingsError
        If a key is unknown or a value is not allowed.
    """

    changed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = {key: _check(key, value) for key, value in self.changed.items()}
        changed = {key: values[key] for key in KEYS if key in values and values[key] != KEYS[key].default}
        object.__setattr__(self, "changed", changed)
        if changed:  # the default is valid, and checking it would draw a world at import
            self.experiment(1, 0)  # strategies and generators check their own parameters

    def __getitem__(self, key: str) -> Any:
        return self.changed.get(key, KEYS[key].default)

    def replace(self, changes: Mapping[str, Any]) -> Assumptions:
        """Return these assumptions with some changes."""
        return Assumptions({**self.changed, **changes})

    def describe(self) -> dict[str, Any]:
        """Return the values that differ from the default, as data for JSON."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in self.changed.items()}

    @property
    def strategies(self) -> dict[str, Strategy]:
        """Strategies by their names in the paper, with the assumed parameters."""
        return {name: get_strategy(name, **self._parameters(name)) for name in PAPER_STRATEGIES}

    @property
    def judging_options(self) -> dict[str, Any]:
        """Options for checking claims, as keyword arguments of `berlyne.paper.claims.Evidence`."""
        return {"pool": self["pool"], "ranking": self["tasks.ranking"], "index": self["index"]}

    def n_steps(self, world_class: str) -> int:
        """Return the length of a run in worlds of a class."""
        return int(self[f"{world_class}.n_steps"])

    def world_parameters(self, world_class: str) -> dict[str, Any]:
        """Return the changed parameters of the generator of a class."""
        changed = {key.partition(".")[2]: v for key, v in self.changed.items() if key.partition(".")[0] == world_class}
        changed.pop("n_steps", None)
        return changed

    def experiment(self, n_worlds: int, seed: int) -> Experiment:
        """Return the explorations of the paper: fifteen strategies in three classes of worlds."""
        return Experiment(
            worlds={name: self.world_parameters(name) for name in PAPER_WORLDS},
            strategies=tuple(self.strategies.values()),
            n_worlds=n_worlds,
            n_steps={name: self.n_steps(name) for name in PAPER_WORLDS},
            seed=seed,
            snapshots=self["tasks.times"],
        )

    def _parameters(self, name: str) -> dict[str, Any]:
        """Return the changed parameters of one strategy."""
        base = STRATEGIES[name]
        method = base.coordinate.inner if isinstance(base.coordinate, TrueModel) else base.coordinate
        keys: list[str] = []
        if isinstance(method, ValueIteration):
            keys += ["gamma", "steps_back"]
        if isinstance(method, QLearning):
            keys += ["q.learning_rate", "q.gamma", "q.epsilon", "q.initial"]
        if base.utility == "PEIG":
            keys.append("untried")
        if not isinstance(method, UniformChoice | QLearning):
            keys.append("ties")
        return {key.removeprefix("q."): self.changed[key] for key in keys if key in self.changed}


DEFAULT = Assumptions()
"""Default assumptions."""


def parse_assumptions(texts: Iterable[str] = (), file: Path | None = None) -> Assumptions:
    """Parse assumptions from the command line.

    Parameters
    ----------
    texts : iterable of str
        Texts of the form "key=value"; they override the file.
    file : Path or None
        TOML file with keys and values.
    """
    changes = {} if file is None else _from_toml(file)
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise SettingsError(f"--set {text}: must have the form key=value, such as gamma=0.9{ASSUMPTIONS}")
        changes[key.strip()] = _value(value.strip())
    return Assumptions(changes)


def _value(text: str) -> Any:
    """Parse a TOML value; text that is not valid TOML is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _from_toml(file: Path) -> dict[str, Any]:
    try:
        content = read_file(file)
    except StoreError as error:
        raise SettingsError(str(error)) from None
    if content is None:
        raise SettingsError(f"file {file} does not exist")
    try:
        return dict(_flatten(tomllib.loads(content.decode())))
    except (ValueError, RecursionError) as error:  # includes files that are not UTF-8
        raise SettingsError(f"{file} is not valid TOML: {error}") from None


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield keys of nested tables, joined by dots, with their values."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _check(name: str, value: Any) -> Any:
    """Return a value converted to the type of its default; raise an error that names its key if that is impossible."""
    if name not in KEYS:
        near = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(KEYS)}{ASSUMPTIONS}"
        raise SettingsError(f"{name}: unknown assumption; {hint}")
    key = KEYS[name]
    if key.choices:
        return _check_choice(key, value)
    if isinstance(key.default, tuple):
        if not isinstance(value, list | tuple) or not value or not all(_is_number(v) for v in value):
            raise SettingsError(f"{name} is {value!r}; it must be a list of numbers such as {list(key.default)}")
        return tuple(_at_least(key, float(v)) for v in value)
    if name == "untried" and value == PRIOR_PIG:
        return value
    if isinstance(key.default, str | bool) and name != "untried":  # generators check these parameters themselves
        return value
    if not _is_number(value):
        raise SettingsError(f"{name} is {value!r}; it must be a number such as {_example(key)}")
    if isinstance(key.default, int):
        if value != int(value):
            raise SettingsError(f"{name} is {value!r}; it must be a whole number such as {_example(key)}")
        return int(_at_least(key, value))
    return float(_at_least(key, value))


def _at_least(key: Key, value: float) -> float:
    if key.minimum is not None and value < key.minimum:
        raise SettingsError(f"{key.name} is {value!r}; it must be at least {key.minimum:g}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _example(key: Key) -> str:
    return "0.0" if key.default == PRIOR_PIG else str(key.default)


def _check_choice(key: Key, value: Any) -> str:
    if value not in key.choices:
        raise SettingsError(f"{key.name} is {value!r}; it must be {' or '.join(map(repr, key.choices))}")
    return str(value)
