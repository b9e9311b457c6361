"""From utilities to actions: greedy, value iteration, Q-learning, and the heuristics.

Paper: Secs. 3.2, 3.3 and 3.5. Each method is a small object with its parameters and a method
`choose(view, s, u)`: given what the explorer knows (`view`), the state it is in and two uniform
numbers, return an action. The code here is plain NumPy, meant to be read; compiled twins of
these methods (`berlyne.engine`) take the same actions for the same numbers.

To bring a method of your own, pass any object with `choose`, or just a function, where a
method is expected. It may also have

- `start(view)`, called once, for example to put a table into `view.memory`;
- `learn(view, s, a, s_next, reward)`, called after every observation with its utility.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from berlyne.arrays import FloatArray, IntArray, check_count, check_number

MOST_STEPS_BACK = 100_000
"""Planning remembers a value per state and step back."""
TIE_TOLERANCE = 1e-12
"""Values that fall short of the largest by a smaller share of it are tied with it (reading R8)."""


@dataclass
class View:
    """All that a coordination method may know. There is no true world in it.

    utility : [a, s], current utilities.
    theta_hat : [a, s, s_next], the transition probabilities to plan with.
    counts : [a, s, s_next], observations.
    visits : [s], how often each state was occupied.
    memory : for the method's own use.
    """

    utility: FloatArray
    theta_hat: FloatArray
    counts: IntArray
    visits: IntArray
    memory: Any = None

    @property
    def n_actions(self) -> int:
        """M."""
        return int(self.counts.shape[0])

    @property
    def n_states(self) -> int:
        """N."""
        return int(self.counts.shape[1])


@runtime_checkable
class Coordination(Protocol):
    """Anything that chooses actions."""

    def choose(self, view: View, s: int, u: FloatArray, /) -> int:
        """The action to take in state `s`; `u` holds two uniform numbers in [0, 1)."""
        ...


def lower_bound(largest: float) -> float:
    """The least value that is tied with the largest; zero is tied with zero only."""
    return largest - TIE_TOLERANCE * abs(largest)


def best_of(values: FloatArray, u: float) -> int:
    """Index of the largest value; ties, within `TIE_TOLERANCE`, are broken uniformly by `u`."""
    tied = np.flatnonzero(values >= lower_bound(values.max()))
    return int(tied[int(u * len(tied))])


@dataclass(frozen=True)
class UniformChoice:
    """Any action, uniformly. Paper: Sec. 3.2, random action."""

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """A random action."""
        return int(u[0] * view.n_actions)


@dataclass(frozen=True)
class LeastTaken:
    """The action taken least often in this state. Paper: Sec. 3.5, LTA."""

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """The least taken action."""
        return best_of(-view.counts[:, s].sum(axis=1).astype(float), u[0])


@dataclass(frozen=True)
class CounterBased:
    """The action whose next state is expected to have been visited least. Paper: Sec. 3.5, CB."""

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """The action that leads where the explorer has been least."""
        return best_of(-(view.theta_hat[:, s] @ view.visits), u[0])


@dataclass(frozen=True)
class Greedy:
    """The action of largest utility now. Paper: Eq. 13 (`eq:PIG`, its second definition)."""

    short: ClassVar[str] = "greedy"

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """The most useful action."""
        return best_of(view.utility[:, s], u[0])


@dataclass(frozen=True)
class ValueIteration:
    """The action of largest utility summed over the next steps, planned with the internal model.

    Paper: Eqs. 14 to 16 (`eq:vi`); readings R4 and R5: `Q_0 = U`, then `steps_back` backward steps.
    """

    steps_back: int = 10
    gamma: float = 1.0
    short: ClassVar[str] = "VI"

    def __post_init__(self) -> None:
        if check_count("steps_back", self.steps_back, 0) > MOST_STEPS_BACK:
            raise ValueError(f"steps_back is {self.steps_back}; it must be at most {MOST_STEPS_BACK}")
        check_number("gamma", self.gamma, 0.0, 1.0)

    def action_values(self, view: View) -> FloatArray:
        """Q after all backward steps, `[a, s]`."""
        q = view.utility
        for _ in range(self.steps_back):
            q = view.utility + self.gamma * (view.theta_hat @ q.max(axis=0))
        return q

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """The action with the best outlook."""
        return best_of(self.action_values(view)[:, s], u[0])


@dataclass(frozen=True)
class KnowingWorld:
    """A method that plans with the true world instead of the internal model: a positive control.

    Paper: Sec. 3.3, VI+. The world is used for coordination only; learning and utilities are as ever.
    """

    inner: ValueIteration = field(default_factory=ValueIteration)
    sees_world: ClassVar[bool] = True
    short: ClassVar[str] = "VI+"

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """What the inner method chooses; `view.theta_hat` holds the true probabilities."""
        return self.inner.choose(view, s, u)


@dataclass(frozen=True)
class QLearning:
    """Model-free Q-learning on the utility of the transitions made, epsilon-greedy.

    Paper: Sec. 3.5; reading R7: the paper gives no parameters. The reward of a step is the utility
    predicted for it, or for PEIG the one realised.
    """

    learning_rate: float = 0.5
    gamma: float = 0.9
    epsilon: float = 0.2
    initial: float = 0.0
    short: ClassVar[str] = "Q"

    def __post_init__(self) -> None:
        for name in ("learning_rate", "gamma", "epsilon"):
            check_number(name, getattr(self, name), 0.0, 1.0)
        check_number("initial", self.initial, -1e12, 1e12)

    def start(self, view: View) -> None:
        """A table of `initial` values."""
        view.memory = np.full(view.utility.shape, float(self.initial))

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """Mostly the action of largest Q."""
        if u[1] < self.epsilon:
            return int(u[0] * view.n_actions)
        return best_of(view.memory[:, s], u[0])

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """One Q-learning update."""
        target = reward + self.gamma * view.memory[:, s_next].max()
        view.memory[a, s] += self.learning_rate * (target - view.memory[a, s])

    def close(self, view: View, states: IntArray) -> None:
        """Nothing is to be had after the end of an episode."""
        view.memory[:, states] = 0.0

    def open(self, view: View, s: int) -> None:
        """It was no end after all."""
        view.memory[:, s] = self.initial


@dataclass(frozen=True)
class Relocating:
    """The most useful action in any state, going there first: the unembodied control.

    Paper: Eq. 12 (`eq:Unemb`).
    """

    relocates: ClassVar[bool] = True

    def choose_pair(self, view: View, u: FloatArray) -> tuple[int, int]:
        """The pair (s, a) of largest utility; ties in the order of states, then actions."""
        s, a = divmod(best_of(view.utility.T.ravel(), u[0]), view.n_actions)
        return s, a

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """Not for one state: the point of it is to choose the state too."""
        raise ValueError("Unembodied chooses the state as well as the action; use choose_pair")


METHODS: dict[str, Any] = {method.short: method for method in (Greedy, ValueIteration, KnowingWorld, QLearning)}
"""The methods that combine with any utility, by the name in brackets."""
