"""From utilities to actions: greedy, value iteration, Q-learning, and the heuristics.

Paper: Secs. 3.2, 3.3 and 3.5. Each method is a small object with its parameters and a method
`values(view, s)`: given what the explorer knows (`view`) and the state it is in, say what each action
is worth. How values become an action is one rule for all of them, `ChoiceRule`. The code here is plain NumPy, meant
to be read; compiled twins of these methods (`berlyne.engine`) take the same actions for the same numbers.

To bring a method of your own, pass any object with `values`. One with `choose(view, s, u)`, or just a
function, decides for itself, with two uniform numbers `u`. It may also have

- `start(view)`, called once, for example to put a table into `view.memory`;
- `learn(view, s, a, s_next, reward)`, called after every observation with its utility;
- `grow(view, memory)`, called after `start`, which is called again, when a state is discovered (only a prior of unknown
  states does that): `memory` is that of before, and the new state comes before the last one, which is elsewhere;
- `probabilities(view, s)`, the chance (M,) of each action, if it decides for itself and these are to be known.

The object is used as it is, not copied: what it keeps in itself it shares between explorations and threads, unless
`start` resets it. What belongs to one exploration belongs into `view.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from berlyne.strategies.choice import ChoiceRule, random_argmax
from berlyne.validation import FloatArray, IntArray, check_count, check_number

MOST_STEPS_BACK = 100_000
"""Planning remembers a value per state and step back."""


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
    """Anything that chooses actions by itself."""

    def choose(self, view: View, s: int, u: FloatArray, /) -> int:
        """The action to take in state `s`; `u` holds two uniform numbers in [0, 1)."""
        ...


class ValueMethod:
    """A method of coordination that says what actions are worth; `ChoiceRule` does the rest."""

    @property
    def exploration_rate(self) -> float:
        """The chance of a uniform choice that belongs to the method itself."""
        return 0.0

    def values(self, view: View, s: int) -> FloatArray:
        """What each action in state `s` is worth, (M,)."""
        raise NotImplementedError

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """The action of largest value, but for what the method explores."""
        return ChoiceRule(lapse=self.exploration_rate).choose(self.values(view, s), u)


@dataclass(frozen=True)
class UniformChoice(ValueMethod):
    """Any action, uniformly. Paper: Sec. 3.2, random action."""

    def values(self, view: View, s: int) -> FloatArray:
        """All the same."""
        return np.zeros(view.n_actions)


@dataclass(frozen=True)
class LeastTaken(ValueMethod):
    """The action taken least often in this state. Paper: Sec. 3.5, LTA."""

    def values(self, view: View, s: int) -> FloatArray:
        """Minus the times that each action was taken here."""
        return np.asarray(-view.counts[:, s].sum(axis=1), dtype=float)


@dataclass(frozen=True)
class CounterBased(ValueMethod):
    """The action whose next state is expected to have been visited least. Paper: Sec. 3.5, CB.

    A state is visited when a step leads there, and when the agent is found there without one: at first, or put there to
    begin an episode. Who is put where the last step led already has not moved, so that is no second visit.
    """

    def values(self, view: View, s: int) -> FloatArray:
        """Minus the expected visits of the next state."""
        return np.asarray(-(view.theta_hat[:, s] @ view.visits))


@dataclass(frozen=True)
class Greedy(ValueMethod):
    """The action of largest utility now. Paper: Eq. 13 (`eq:PIG`, its second definition)."""

    short_name: ClassVar[str] = "greedy"

    def values(self, view: View, s: int) -> FloatArray:
        """Utilities."""
        return view.utility[:, s].copy()


@dataclass(frozen=True)
class ValueIteration(ValueMethod):
    r"""The action of largest utility summed over the next steps, planned with the internal model.

    $$Q_0 = U, \qquad Q_{j+1}(a, s) = U(a, s) + \gamma \sum_{s'} \hat\Theta_{a,s,s'} \max_{a'} Q_j(a', s')$$

    Paper: Eqs. 14 to 16 (`eq:vi`); readings R4 and R5: `Q_0 = U`, then `steps_back` backward steps.
    """

    steps_back: int = 10
    gamma: float = 1.0
    short_name: ClassVar[str] = "VI"

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

    def values(self, view: View, s: int) -> FloatArray:
        """The outlook of each action: Q."""
        return self.action_values(view)[:, s].copy()


@dataclass(frozen=True)
class TrueModel(ValueMethod):
    """A method that plans with the true world instead of the internal model: a positive control.

    Paper: Sec. 3.3, VI+. The world is used for coordination only; learning and utilities are as ever.
    """

    inner: ValueIteration = field(default_factory=ValueIteration)
    sees_world: ClassVar[bool] = True
    short_name: ClassVar[str] = "VI+"

    def values(self, view: View, s: int) -> FloatArray:
        """What the inner method says; `view.theta_hat` holds the true probabilities."""
        return self.inner.values(view, s)


@dataclass(frozen=True)
class QLearning(ValueMethod):
    r"""Model-free Q-learning on the utility of the transitions made, epsilon-greedy.

    $$Q(a, s) \leftarrow Q(a, s) + \eta \, [r + \gamma \max_{a'} Q(a', s') - Q(a, s)]$$

    Paper: Sec. 3.5; reading R7: the paper gives no parameters. The reward of a step is the utility
    predicted for it, or for PEIG the one realised.
    """

    learning_rate: float = 0.5
    gamma: float = 0.9
    epsilon: float = 0.2
    initial: float = 0.0
    short_name: ClassVar[str] = "Q"

    def __post_init__(self) -> None:
        for name in ("learning_rate", "gamma", "epsilon"):
            check_number(name, getattr(self, name), 0.0, 1.0)
        check_number("initial", self.initial, -1e12, 1e12)

    def start(self, view: View) -> None:
        """A table of `initial` values."""
        view.memory = np.full(view.utility.shape, float(self.initial))

    @property
    def exploration_rate(self) -> float:
        """Epsilon: the chance of a uniform choice. A temperature leaves it as it is."""
        return self.epsilon

    def values(self, view: View, s: int) -> FloatArray:
        """Q as it was learned so far."""
        return np.array(view.memory[:, s])

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """One Q-learning update."""
        target = reward + self.gamma * view.memory[:, s_next].max()
        view.memory[a, s] += self.learning_rate * (target - view.memory[a, s])

    def grow(self, view: View, memory: FloatArray) -> None:
        """Keep what was learned; nothing was where there is a new state, nor elsewhere."""
        view.memory[:, : memory.shape[1]] = memory

    def mark_terminal(self, view: View, states: IntArray) -> None:
        """Nothing is to be had after the end of an episode."""
        view.memory[:, states] = 0.0

    def unmark_terminal(self, view: View, s: int) -> None:
        """It was no end after all."""
        view.memory[:, s] = self.initial


@dataclass(frozen=True)
class Relocating(ValueMethod):
    """The most useful action in any state, going there first: the unembodied control.

    Paper: Eq. 12 (`eq:Unemb`).
    """

    relocates: ClassVar[bool] = True

    def pair_values(self, view: View) -> FloatArray:
        """Utilities of all pairs, `[s, a]`."""
        return np.ascontiguousarray(view.utility.T)

    def values(self, view: View, s: int) -> FloatArray:
        """Utilities of the pairs of one state, which compete with those of all others."""
        return view.utility[:, s].copy()

    def choose_pair(self, view: View, u: FloatArray) -> tuple[int, int]:
        """The pair (s, a) of largest utility; ties in the order of states, then actions."""
        s, a = divmod(random_argmax(self.pair_values(view).ravel(), u[0]), view.n_actions)
        return s, a

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """Not for one state: the point of it is to choose the state too."""
        raise ValueError("Unembodied chooses the state as well as the action; use choose_pair")


def has_values(coordinate: Any) -> bool:
    """Whether a method of coordination says what actions, or for one that relocates all pairs, are worth."""
    return hasattr(coordinate, "pair_values" if getattr(coordinate, "relocates", False) else "values")


def chooses_directly(coordinate: Any) -> bool:
    """Whether a method of coordination is a function, or chooses by code of its own, rather than by `ChoiceRule`."""
    relocates = getattr(coordinate, "relocates", False)
    name, ours = ("choose_pair", Relocating.choose_pair) if relocates else ("choose", ValueMethod.choose)
    own = getattr(type(coordinate), name, None) is not ours and hasattr(coordinate, name)
    return own or not has_values(coordinate)


METHODS: dict[str, Any] = {method.short_name: method for method in (Greedy, ValueIteration, TrueModel, QLearning)}
"""The methods that combine with any utility, by the name in brackets."""
