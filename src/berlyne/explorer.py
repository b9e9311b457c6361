"""An explorer for worlds that are not ours: an experiment, a robot, somebody's environment.

The explorer is told the state, says what to try next, and is told what happened. It knows its
prior and its history, and nothing else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray, Seed, check_count
from berlyne.explore import make_mind, streams
from berlyne.explorer_file import read, write
from berlyne.labels import Labels, spoken
from berlyne.model import InternalModel
from berlyne.priors import Prior
from berlyne.strategies import Strategy, strategy

MOST_OBSERVATIONS = 2**31 - 1
"""They are counted in 32 bits."""


class Explorer:
    """Chooses actions for a world that answers by itself.

    Given the same draws it takes the same actions as `explore`: with the same seed, and the states
    that an exploration went through, it repeats that exploration. Several threads may share one; they take turns.

    Parameters
    ----------
    prior : what may be assumed of the world.
    strategy : a name such as "PIG(VI)", or a `Strategy`; not one that needs the true world.
    seed : int, `SeedSequence` or `Generator`, for breaking ties and for random actions.
    n_states, n_actions : needed only for a prior that does not carry them.
    states, actions : labels in order, any hashable values, in which to ask and to tell; None for 0, 1, 2, ...

    Examples
    --------
    >>> import berlyne
    >>> explorer = berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=3, n_actions=2), seed=0)
    >>> a = explorer.act(0)
    >>> explorer.observe(0, a, 2)
    """

    def __init__(
        self,
        prior: Prior,
        strategy: str | Strategy = "PIG(VI)",
        seed: Seed = 0,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        states: Iterable[Hashable] | None = None,
        actions: Iterable[Hashable] | None = None,
    ) -> None:
        model = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
        self._begin(model, strategy, streams(seed)[1])

    def _begin(self, model: InternalModel, how: str | Strategy, rng: np.random.Generator) -> None:
        self.prior = model.prior
        self.state_labels, self.action_labels = model.state_labels, model.action_labels
        model = InternalModel(model.prior, n_states=model.n_states, n_actions=model.n_actions)  # the mind counts
        self.strategy = strategy(how)
        self.n_states, self.n_actions = model.n_states, model.n_actions
        self.n_obs = 0
        self._last: dict[int, int] = {}
        self._closed: set[int] = set()
        self._mind = make_mind(model, self.strategy, None)
        self._rng = rng
        self._one_at_a_time = threading.RLock()  # kernels let other threads run

    def __repr__(self) -> str:
        size = f"{self.n_states:,} states, {self.n_actions} actions"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    @property
    def states(self) -> Sequence[Any]:
        """The labels of all states in order."""
        return self.state_labels.all

    @property
    def actions(self) -> Sequence[Any]:
        """The labels of all actions in order."""
        return self.action_labels.all

    def act(self, s: Any) -> Any:
        """The action to try in state `s`."""
        if self.strategy.relocates:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call choose_pair()")
        s = self._number("s", s, self.state_labels)
        with self._one_at_a_time:
            if s in self._closed:  # actions can be taken here after all
                self._closed.remove(s)
                self._mind.open(s)
            return self.action_labels[self._mind.act(s, self._draw())]

    def choose_pair(self) -> tuple[Any, Any]:
        """The pair (s, a) to try, for a strategy that may go to any state: Unembodied."""
        if not self.strategy.relocates:
            raise ValueError(f"{self.strategy} acts in the state it is in; call act(s)")
        with self._one_at_a_time:
            s, a = self._mind.choose_pair(self._draw())
        return self.state_labels[s], self.action_labels[a]

    def _draw(self) -> FloatArray:
        u = self._rng.random(2)
        if self.strategy.ties == "first":
            u[0] = 0.0
        return u

    def observe(self, s: Any, a: Any, s_next: Any, *, ended: bool = False) -> None:
        """Learn that action `a` in state `s` led to `s_next`; `ended` says that the episode is over there.

        What comes next is then no transition: tell the explorer by `act` in which state it finds itself. No action
        is worth anything in a state where episodes end, unless one was, or is, taken there.
        """
        s, s_next = self._number("s", s, self.state_labels), self._number("s_next", s_next, self.state_labels)
        a = self._number("a", a, self.action_labels)
        with self._one_at_a_time:
            if self.n_obs >= MOST_OBSERVATIONS:
                raise ValueError(f"an explorer makes at most {MOST_OBSERVATIONS:,} observations")
            spoken(self.state_labels, self.action_labels, lambda: self._mind.observe(s, a, s_next))
            self.n_obs += 1
            self._last[s * self.n_actions + a] = s_next
            rows = range(s_next * self.n_actions, (s_next + 1) * self.n_actions)
            if ended and not any(row in self._last for row in rows):  # some end where one can also go on
                self._close([s_next])

    def ends_in(self, states: Iterable[Any]) -> None:
        """Know that episodes end in these states: no action can be taken there, so none is worth anything.

        `observe(..., ended=True)` finds out one at a time.
        """
        numbers = [self._number("a terminal state", s, self.state_labels) for s in states]
        with self._one_at_a_time:
            self._close(numbers)

    def _close(self, states: Iterable[int]) -> None:
        new = sorted(set(states) - self._closed)
        if new:
            self._closed.update(new)
            self._mind.close(np.array(new, dtype=np.int64))

    def utility(self) -> FloatArray:
        """What the explorer values, `[a, s]`: why it acts as it does. Zero for heuristics."""
        with self._one_at_a_time:
            return self._mind.utility()

    @property
    def model(self) -> InternalModel:
        """A copy of the internal model: estimates, counts and all measures."""
        with self._one_at_a_time:
            labels = self.state_labels, self.action_labels
            return InternalModel.from_counts(self.prior, self._mind.counts(), self._last, labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, without pickle; a loaded explorer goes on exactly as this one would.

        The prior and the strategy must be berlyne's own: code cannot be saved.
        """
        with self._one_at_a_time:
            write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explorer:
        """Read an explorer that `save` wrote."""
        return read(path, cls.__new__(cls))

    @staticmethod
    def _number(name: str, value: Any, labels: Labels) -> int:
        if labels.given is not None:
            return labels.number(value, name)
        if check_count(name, value, 0) >= labels.size:
            raise ValueError(f"{name} is {value}; it must be 0 to {labels.size - 1}")
        return int(value)
