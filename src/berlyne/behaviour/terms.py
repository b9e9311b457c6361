"""Terms of a model of choices: drives, which are the values of an explorer, and habits that are no exploration.

The value of an action is the sum of the terms times their weights. A choice is the softmax of these values, or a lapse.
Each term is written once, as the memory of one person that returns values and learns a step. Fits lead it along the
recorded choices, and simulations along simulated ones.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from berlyne.agents.make import tell_world
from berlyne.behaviour.data import Data
from berlyne.behaviour.settings import CrpGrid, Grid, as_grid
from berlyne.exploration.explorer import Explorer
from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.registry import get_strategy
from berlyne.validation import FloatArray, short_repr
from berlyne.worlds.world import NO_PRIOR, World

Settings = Mapping[str, float]


class Memory(ABC):
    """Memory of one person, from which a term computes its values."""

    @abstractmethod
    def values(self, s: Any) -> FloatArray:
        """Return the values of all actions in state `s`, (A, K)."""

    def begin_episode(self) -> None:  # noqa: B027  # most terms do not notice episodes
        """Notice that an episode begins."""

    def learn(self, s: Any, a: int | None, s_next: Any, ended: bool) -> None:  # noqa: B027  # a bias learns nothing
        """Learn a step; the action or the next state may be missing (None)."""


class Term(ABC):
    """A part of a model of choices."""

    is_drive: ClassVar[bool] = False
    settings: Mapping[str, Grid] = {}

    @abstractmethod
    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return the names of the weights, K of them."""

    @abstractmethod
    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return the memory of a person who has learned nothing."""

    def values(self, data: Data, settings: Settings) -> FloatArray:
        """Return the values before each choice, (T, A, K)."""
        columns = np.empty((len(data.steps), len(data.actions), len(self.names(data.actions))))
        persons, memory = np.isin(np.arange(len(columns)), data.begin), self.memory(data.actions, settings)
        labels = zip(data.frame["s"].tolist(), data.steps[:, 1].tolist(), data.frame["s_next"].tolist(), strict=True)
        ended = data.frame["ended"].to_numpy()
        for t, (s, a, s_next) in enumerate(labels):
            if persons[t]:
                memory = self.memory(data.actions, settings)
            if data.begins_episode[t]:
                memory.begin_episode()
            columns[t] = memory.values(s)
            memory.learn(s, a if a >= 0 else None, s_next, bool(ended[t]))
        return columns

    def cached_values(self, data: Data, settings: Settings) -> FloatArray:
        """Return the values before each choice, (T, A, K), computed once for these data."""
        key = (self, tuple(sorted(settings.items())))
        return data.cached(key, functools.partial(self.values, settings=settings))

    def on_grid(self) -> list[dict[str, float]]:
        """Return all combinations of the settings of this term."""
        combinations = itertools.product(*(grid.values for grid in self.settings.values()))
        return [dict(zip(self.settings, values, strict=True)) for values in combinations]


@dataclass(frozen=True)
class Bias(Term):
    """A preference for each action over the first."""

    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return a name for every action but the first."""
        return [f"bias[{a}]" for a in actions[1:]]

    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return a memory that never changes."""
        return _BiasMemory(np.eye(len(actions))[:, 1:])


class _BiasMemory(Memory):
    def __init__(self, indicators: FloatArray) -> None:
        self.indicators = indicators

    def values(self, s: Any) -> FloatArray:
        return self.indicators


@dataclass(frozen=True)
class Repeat(Term):
    """A preference for the last action of the same episode."""

    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return the name of the one weight."""
        return ["repeat"]

    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return the memory of the last action."""
        return _RepeatMemory(len(actions))


class _RepeatMemory(Memory):
    def __init__(self, n_actions: int) -> None:
        self.indicator = np.zeros((n_actions, 1))

    def values(self, s: Any) -> FloatArray:
        return self.indicator

    def begin_episode(self) -> None:
        self.indicator = np.zeros_like(self.indicator)

    def learn(self, s: Any, a: int | None, s_next: Any, ended: bool) -> None:
        self.indicator = np.zeros_like(self.indicator)
        if a is not None:
            self.indicator[a] = 1.0


@dataclass(frozen=True)
class Habit(Term):
    """A preference for actions that were taken often in this state: log(1 + n(s, a))."""

    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return the name of the one weight."""
        return ["habit"]

    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return counts of the actions taken in each state."""
        return _HabitMemory(len(actions))


class _HabitMemory(Memory):
    def __init__(self, n_actions: int) -> None:
        self.n_actions, self.counts = n_actions, dict[Any, FloatArray]()

    def values(self, s: Any) -> FloatArray:
        return np.log1p(self.counts.get(s, np.zeros(self.n_actions)))[:, None]

    def learn(self, s: Any, a: int | None, s_next: Any, ended: bool) -> None:
        if a is not None:
            self.counts.setdefault(s, np.zeros(self.n_actions))[a] += 1.0


@dataclass(frozen=True)
class Lapse(Term):
    """Choices that are uniform over the allowed actions, with a probability that is a parameter."""

    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return nothing: the lapse is a probability, not a weight."""
        return []

    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return a memory without values."""
        return _BiasMemory(np.empty((len(actions), 0)))


@dataclass(frozen=True)
class Drive(Term):
    """The action values of an explorer that learns each person's transitions.

    Attributes
    ----------
    strategy : str
        Name of the strategy, whose values the person is said to follow.
    prior : CrpGrid, Prior or World
        What the person assumes about the world.
    parameters : tuple of (str, Grid)
        Parameters of the strategy to try, such as gamma.
    """

    strategy: str
    prior: CrpGrid | Prior | World
    parameters: tuple[tuple[str, Grid], ...] = ()
    is_drive: ClassVar[bool] = True

    @property
    def settings(self) -> Mapping[str, Grid]:  # type: ignore[override]
        """Settings to try, by name."""
        of_prior = {"c": self.prior.c, "d": self.prior.d} if isinstance(self.prior, CrpGrid) else {}
        return {**of_prior, **dict(self.parameters)}

    def names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return the name of the strategy."""
        return [self.strategy]

    def at(self, settings: Settings) -> tuple[Any, str]:
        """Return the prior or world, and the name of the strategy, with these settings."""
        chosen = {name: settings[name] for name, _ in self.parameters}
        strategy = get_strategy(self.strategy, **chosen).name
        prior = self.prior.at(settings["c"], settings["d"]) if isinstance(self.prior, CrpGrid) else self.prior
        return prior, strategy

    def memory(self, actions: tuple[Any, ...], settings: Settings) -> Memory:
        """Return an explorer that has learned nothing."""
        prior, strategy = self.at(settings)
        if isinstance(prior, World):
            assert prior.prior is not None  # checked by `model`
            states = prior.state_labels.all
            explorer = Explorer(prior.prior, strategy, states=states, actions=range(len(actions)))
            tell_world(explorer._agent, prior)  # a replay, too, knows ends, starts, horizon and possible actions
        else:
            explorer = Explorer(prior, strategy, actions=range(len(actions)))
        return _DriveMemory(explorer)

    def values(self, data: Data, settings: Settings) -> FloatArray:
        """Return the action values of a replay, (T, A, 1)."""
        prior, strategy = self.at(settings)
        values = _zero_if_impossible(data.replays.action_values(prior, get_strategy(strategy)))
        if not np.isfinite(values).all():
            raise ValueError(f"{strategy} has action values that are not finite, so it cannot be a drive")
        return np.asarray(values[:, :, None])


def _zero_if_impossible(values: FloatArray) -> FloatArray:
    """Return values with 0 in place of -inf, the value of an action that is not possible and never chosen."""
    return np.where(values == -np.inf, 0.0, values)


class _DriveMemory(Memory):
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    def values(self, s: Any) -> FloatArray:
        if discovers_states(self.explorer.prior):
            self.explorer.discover([s])
        return _zero_if_impossible(self.explorer.action_values(s))[:, None]

    def learn(self, s: Any, a: int | None, s_next: Any, ended: bool) -> None:
        if a is not None and s_next is not None:
            self.explorer.observe(s, a, s_next, ended=ended)


@dataclass(frozen=True)
class Model:
    """A sum of terms; add models with `+`.

    Attributes
    ----------
    terms : tuple of Term
        The terms.
    """

    terms: tuple[Term, ...]

    def __add__(self, other: Model) -> Model:
        if not isinstance(other, Model):
            return NotImplemented
        for term in other.terms:
            if term in self.terms:
                raise ValueError(f"the model has {term} twice; add it once")
        return Model(self.terms + other.terms)

    def __repr__(self) -> str:
        names = [t.strategy if isinstance(t, Drive) else type(t).__name__.lower() for t in self.terms]
        return " + ".join(names)

    @property
    def has_lapse(self) -> bool:
        """Whether choices may be lapses."""
        return any(isinstance(term, Lapse) for term in self.terms)

    def weight_names(self, actions: tuple[Any, ...]) -> list[str]:
        """Return the names of the weights; a drive that occurs twice is numbered."""
        names: list[str] = []
        for name in (name for term in self.terms for name in term.names(actions)):
            names.append(name if name not in names else f"{name} {sum(n.startswith(name) for n in names) + 1}")
        return names

    def is_drive(self, actions: tuple[Any, ...]) -> list[bool]:
        """Return whether each weight belongs to a drive."""
        return [term.is_drive for term in self.terms for _ in term.names(actions)]

    def settings(self) -> dict[str, Grid]:
        """Return all settings by name, such as "PIG(VI): gamma"."""
        drives = [(i, term) for i, term in enumerate(self.terms) if term.settings]
        return {f"{self._label(i)}: {name}": grid for i, term in drives for name, grid in term.settings.items()}

    def of_term(self, i: int, settings: Settings) -> dict[str, float]:
        """Return the settings of term `i` by their own names."""
        return {name: settings[f"{self._label(i)}: {name}"] for name in self.terms[i].settings}

    def _label(self, i: int) -> str:
        term = self.terms[i]
        assert isinstance(term, Drive)
        n_before = sum(isinstance(t, Drive) and t.strategy == term.strategy for t in self.terms[:i])
        return term.strategy if n_before == 0 else f"{term.strategy} {n_before + 1}"

    def values(self, data: Data, settings: Settings) -> FloatArray:
        """Return the values of all terms before each choice, (T, A, K); replays are cached in the data."""
        columns = [term.cached_values(data, self.of_term(i, settings)) for i, term in enumerate(self.terms)]
        return np.concatenate(columns, axis=2)


def model(strategy: str, prior: CrpGrid | Prior | World, **parameters: Any) -> Model:
    """A drive: the action values of a strategy.

    Parameters
    ----------
    strategy : str
        Name of a strategy, such as "PIG(VI)" or "rarity(greedy)".
    prior : CrpGrid, Prior or World
        Prior of the explorer, such as `bb.crp(c=bb.grid(0.03, 10, 6))`, or a world with a prior.
    **parameters : float, list of float or Grid
        Parameters of the strategy, or the values to try, such as `gamma=[0, 0.5, 0.8, 0.95]` and `steps_back=10`.

    Returns
    -------
    Model
        A model with this term.
    """
    checked = get_strategy(strategy)
    if checked.sees_world or checked.relocates or checked.temperature or checked.lapse:
        raise ValueError(
            f"{strategy} cannot be a drive, because it sees the world, relocates, or has its own temperature or lapse; "
            "use a strategy such as PIG(VI)"
        )
    if not isinstance(prior, CrpGrid | World) and not hasattr(prior, "estimate"):
        raise TypeError(f"prior is {short_repr(prior)}; it must be bb.crp(...), a prior or a world")
    if isinstance(prior, World) and prior.prior is None:
        raise ValueError(NO_PRIOR)
    grids = tuple((name, as_grid(name, value)) for name, value in parameters.items())
    for name, values in grids:
        for value in values.values:
            get_strategy(strategy, **{name: value})  # raises if the strategy has no such parameter
    return Model((Drive(strategy, prior, grids),))


def bias() -> Model:
    """A preference for each action over the first, the same in all states."""
    return Model((Bias(),))


def repeat() -> Model:
    """A preference for the last action of the same episode."""
    return Model((Repeat(),))


def habit() -> Model:
    """A preference for actions that the person took often in this state, log(1 + n(s, a))."""
    return Model((Habit(),))


def lapse() -> Model:
    """Lapses: choices that are uniform over the allowed actions, with a probability that is a parameter."""
    return Model((Lapse(),))
