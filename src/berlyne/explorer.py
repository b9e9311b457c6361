"""An explorer for worlds that are not ours: an experiment, a robot, somebody's environment.

The explorer is told the state, says what to try next, and is told what happened. It knows its
prior and its history, and nothing else.
"""

from __future__ import annotations

import os
import threading

import numpy as np

from berlyne.arrays import FloatArray, Seed, check_count
from berlyne.explore import make_mind, streams
from berlyne.explorer_file import read, write
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
    ) -> None:
        self._begin(InternalModel(prior, n_states=n_states, n_actions=n_actions), strategy, streams(seed)[1])

    def _begin(self, model: InternalModel, how: str | Strategy, rng: np.random.Generator) -> None:
        self.prior = model.prior
        self.strategy = strategy(how)
        self.n_states, self.n_actions = model.n_states, model.n_actions
        self.n_obs = 0
        self._last: dict[int, int] = {}
        self._mind = make_mind(model, self.strategy, None)
        self._rng = rng
        self._one_at_a_time = threading.RLock()  # kernels let other threads run

    def __repr__(self) -> str:
        size = f"{self.n_states:,} states, {self.n_actions} actions"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    def act(self, s: int) -> int:
        """The action to try in state `s`."""
        if self.strategy.relocates:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call choose_pair()")
        s = self._checked("s", s, self.n_states)
        with self._one_at_a_time:
            return self._mind.act(s, self._draw())

    def choose_pair(self) -> tuple[int, int]:
        """The pair (s, a) to try, for a strategy that may go to any state: Unembodied."""
        if not self.strategy.relocates:
            raise ValueError(f"{self.strategy} acts in the state it is in; call act(s)")
        with self._one_at_a_time:
            return self._mind.choose_pair(self._draw())

    def _draw(self) -> FloatArray:
        u = self._rng.random(2)
        if self.strategy.ties == "first":
            u[0] = 0.0
        return u

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn that action `a` in state `s` led to `s_next`."""
        s, s_next = self._checked("s", s, self.n_states), self._checked("s_next", s_next, self.n_states)
        a = self._checked("a", a, self.n_actions)
        with self._one_at_a_time:
            if self.n_obs >= MOST_OBSERVATIONS:
                raise ValueError(f"an explorer makes at most {MOST_OBSERVATIONS:,} observations")
            self._mind.observe(s, a, s_next)
            self.n_obs += 1
            self._last[s * self.n_actions + a] = s_next

    def utility(self) -> FloatArray:
        """What the explorer values, `[a, s]`: why it acts as it does. Zero for heuristics."""
        with self._one_at_a_time:
            return self._mind.utility()

    def action_values(self, s: int | None = None) -> FloatArray:
        """What the next choice in state `s` goes by, (M,): Q of a planner or learner, utility, or a heuristic's score.

        For Unembodied, without `s`, of all pairs, `[s, a]`. Zero for Random; NaN for a method of your own that has no
        `values`. Asking changes nothing.
        """
        where = self._asked("action_values", s)
        with self._one_at_a_time:
            return self._mind.pair_values() if where is None else self._mind.action_values(where)

    def probabilities(self, s: int | None = None) -> FloatArray:
        """The chance of each action in state `s`, (M,), from which `act` draws: ties, epsilon, temperature and lapse.

        For Unembodied, without `s`, of all pairs, `[s, a]`. Asking changes nothing.
        """
        where = self._asked("probabilities", s)
        with self._one_at_a_time:
            return self._mind.pair_probabilities() if where is None else self._mind.probabilities(where)

    def _asked(self, what: str, s: int | None) -> int | None:
        """The state asked about; None for a strategy that chooses the state."""
        if self.strategy.relocates and s is not None:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call {what}()")
        if not self.strategy.relocates and s is None:
            raise ValueError(f"{self.strategy} acts in the state it is in; call {what}(s)")
        return None if s is None else self._checked("s", s, self.n_states)

    @property
    def model(self) -> InternalModel:
        """A copy of the internal model: estimates, counts and all measures."""
        with self._one_at_a_time:
            return InternalModel.from_counts(self.prior, self._mind.counts(), self._last)

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
    def _checked(name: str, value: int, size: int) -> int:
        if check_count(name, value, 0) >= size:
            raise ValueError(f"{name} is {value}; it must be 0 to {size - 1}")
        return int(value)
