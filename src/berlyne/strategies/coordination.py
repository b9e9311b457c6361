"""Coordination methods: turn utilities into actions, by greedy choice, planning, Q-learning or heuristics.

Paper: Secs. 3.2, 3.3 and 3.5. Each method is a small object that holds its parameters. Its method `values(view, s)`
returns the value of each action in state `s`, given the explorer's knowledge `view`. `ChoiceRule` turns these values
into an action, for all methods alike. The code here is plain NumPy, written to be read. The compiled versions in
`berlyne.engine` take the same actions, given the same random numbers.

Your own method is any object with `values`. An object with `choose(view, s, u)`, or a function of these arguments,
chooses the action itself; `u` holds two uniform numbers. The object may also have these methods:

- `start(view)` is called once, for example to put a table into `view.memory`.
- `learn(view, s, a, s_next, reward)` is called after every observation, with the utility of the observation.
- `reset(view)` is called after utilities, or what is possible, have changed in any other way.
- `grow(view, memory)` is called when a state is discovered, which happens only with a prior of unknown states. `start`
  is called again before it. `memory` is the memory from before. The new state is the last but one; the last state
  stands for all undiscovered states.
- `probabilities(view, s)` returns the probability (M,) of each action, for a method that chooses the action itself.

The object is used as it is, not copied. Its attributes are shared by all explorations and threads, unless `start`
resets them. Keep the data of one exploration in `view.memory`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from berlyne.strategies.choice import ChoiceRule, random_argmax
from berlyne.validation import OWN_PRIOR, FloatArray, IntArray, check_count, check_number

MAX_STEPS_BACK = 100_000
"""Largest number of backward steps; planning stores one value per state and step."""
SCHEDULES = ("step", "episode", "doubling", "cubic")
"""Times at which a new plan is made; a whole number k is every k steps."""


@dataclass
class View:
    """Knowledge that a coordination method may use. It does not include the true world.

    The arrays of an explorer are read-only, and follow its observations; copy what you want to keep or change. Methods
    that `berlyne.method` registers are compiled, so they use only `utility`, `visits`, `terminal`, `possible`,
    `memory`, `t`, `n`, `n_states`, `n_actions`, `outcomes`, `probability` and `expected`, which exist for worlds of any
    size.

    Utilities, estimates and counts do not depend on what is possible. An action that is not possible is never chosen,
    for any value that a method gives to it.

    Parameters
    ----------
    utility : ndarray of shape (M, N)
        Current utilities `[a, s]`.
    theta_hat : ndarray of shape (M, N, N)
        Transition probabilities `[a, s, s_next]` to plan with.
    counts : ndarray of shape (M, N, N)
        Observed transitions `[a, s, s_next]`.
    visits : ndarray of shape (N,)
        Number of visits of each state.
    memory : object
        Any data that the method wants to store.
    terminal : ndarray of bool, shape (N,), optional
        Whether each state is terminal; by default none is.
    possible : ndarray of bool, shape (M, N), optional
        Whether each action can be taken, `[a, s]`; none can in a terminal state. By default all can.
    starts : ndarray of shape (N,), optional
        How often episodes began in each state so far, or the probabilities of the world if the explorer knows them.
    prior : Prior, optional
        The prior of the explorer.
    t : int
        Number of observations.
    episode_began : int
        Value of `t` when the current episode began, so `t - episode_began` steps of it are observed. An episode begins
        when the explorer continues in another state than its last step led to.
    steps_left : int, optional
        Number of steps before the episode is cut; None if it is never cut.
    seed : numpy.random.SeedSequence, optional
        Seed of the exploration, for `rng`.
    is_learning : bool
        Whether the view is for a hook such as `start` and `learn`; it has other random numbers than one for a choice.
    """

    utility: FloatArray
    theta_hat: FloatArray
    counts: IntArray
    visits: IntArray
    memory: Any = None
    terminal: Any = None
    possible: Any = None
    starts: Any = None
    prior: Any = None
    t: int = 0
    episode_began: int = 0
    steps_left: int | None = None
    seed: np.random.SeedSequence | None = None
    is_learning: bool = False

    @property
    def n_actions(self) -> int:
        """Number of actions, M."""
        return int(self.counts.shape[0])

    @property
    def n_states(self) -> int:
        """Number of states, N."""
        return int(self.counts.shape[1])

    @property
    def n(self) -> IntArray:
        """Number of observations of each row, `[a, s]`."""
        return np.asarray(self.counts.sum(axis=2))

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random generator of this step.

        It depends only on the seed of the exploration, on `t`, and on whether the method chooses or learns. So a
        method that is asked for its values twice draws the same numbers twice, and a question changes no choice.
        """
        seed = self.seed or np.random.SeedSequence(0)
        stream = 2 * self.t + self.is_learning
        return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, stream)))

    def best(self, q: FloatArray, after_end: str = "restart") -> FloatArray:
        """Return the value of each state, (N,), given the values `q` of all rows, `[a, s]`.

        It is the value of the best possible action. The value of a terminal state is the expected value of the state in
        which the next episode begins or, with `after_end="stop"`, 0.
        """
        v = np.asarray((q if self.possible is None else np.where(self.possible, q, -np.inf)).max(axis=0))
        if self.terminal is not None and np.any(self.terminal):
            begin = self.terminal & False if self.starts is None else (self.starts > 0) & ~self.terminal
            restarts = after_end == "restart" and np.any(begin)
            v[self.terminal] = np.average(v[begin], weights=self.starts[begin]) if restarts else 0.0
        return v

    def outcomes(self, a: int, s: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the observed outcomes of row (a, s), ascending, their counts, and their estimated probabilities."""
        s_next = np.flatnonzero(self.counts[a, s])
        return s_next, self.counts[a, s, s_next], self.theta_hat[a, s, s_next]

    def probability(self, a: int, s: int, s_next: int) -> float:
        """Return the estimated probability of one outcome of row (a, s)."""
        return float(self.theta_hat[a, s, s_next])

    def expected(self, v: FloatArray, s: int | None = None) -> FloatArray:
        """Return the expected value of the next state, given the values `v` (N,) of all states.

        Parameters
        ----------
        v : ndarray of shape (N,)
            Value of each state.
        s : int, optional
            The current state; by default all states.

        Returns
        -------
        ndarray of shape (M,) or (M, N)
            Expectation for each action in state `s`, or for each row `[a, s]`.
        """
        return np.asarray((self.theta_hat if s is None else self.theta_hat[:, s]) @ v)

    def sample(self) -> FloatArray:
        """Draw transition probabilities `[a, s, s_next]` from the posterior, with `rng`.

        Raises
        ------
        ValueError
            If the prior cannot draw from its posterior.
        """
        sample = getattr(self.prior, "sample", None)
        if sample is None or not _accepts(sample, 2):
            raise ValueError(
                f"{type(self.prior).__name__} cannot draw from its posterior; it needs a method sample(seed, counts) "
                f"that returns transition probabilities{OWN_PRIOR}"
            )
        theta = sample(self.rng, self.counts)
        return np.asarray(theta.dense() if hasattr(theta, "dense") else theta, dtype=float)


def _accepts(function: Any, n_arguments: int) -> bool:
    """Whether a function can be called with this number of positional arguments."""
    try:
        inspect.signature(function).bind(*[None] * n_arguments)
    except TypeError:
        return False
    return True


@runtime_checkable
class Coordination(Protocol):
    """Protocol of a method that chooses actions itself."""

    def choose(self, view: View, s: int, u: FloatArray, /) -> int:
        """Return the action to take in state `s`; `u` holds two uniform numbers in [0, 1)."""
        ...


class ValueMethod:
    """Base class of coordination methods that return action values; `ChoiceRule` chooses the action."""

    @property
    def exploration_rate(self) -> float:
        """Probability of a uniform choice that is part of the method."""
        return 0.0

    def values(self, view: View, s: int) -> FloatArray:
        """Return the value of each action in state `s`, (M,)."""
        raise NotImplementedError

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """Choose the action of largest value, or a uniform one with probability `exploration_rate`."""
        return ChoiceRule(lapse=self.exploration_rate).choose(self.values(view, s), u)


@dataclass(frozen=True)
class UniformChoice(ValueMethod):
    """Uniformly random action. Paper: Sec. 3.2, random action."""

    def values(self, view: View, s: int) -> FloatArray:
        """Return zeros: all actions have the same value."""
        return np.zeros(view.n_actions)


@dataclass(frozen=True)
class LeastTaken(ValueMethod):
    """Action taken least often in this state. Paper: Sec. 3.5, LTA."""

    def values(self, view: View, s: int) -> FloatArray:
        """Return minus the number of times that each action was taken in state `s`."""
        return np.asarray(-view.counts[:, s].sum(axis=1), dtype=float)


@dataclass(frozen=True)
class CounterBased(ValueMethod):
    """Action with the fewest expected visits of its next state. Paper: Sec. 3.5, CB.

    A visit is counted when a step leads to a state, and when an exploration or an episode begins there. If an episode
    begins in the state that the last step led to, the agent has not moved, so the visit is counted only once.
    """

    def values(self, view: View, s: int) -> FloatArray:
        """Return minus the expected number of visits of the next state."""
        return np.asarray(-(view.theta_hat[:, s] @ view.visits))


@dataclass(frozen=True)
class Greedy(ValueMethod):
    """Action of largest current utility. Paper: Eq. 13 (`eq:PIG`, its second definition)."""

    short_name: ClassVar[str] = "greedy"

    def values(self, view: View, s: int) -> FloatArray:
        """Return the utilities of the actions in state `s`."""
        return view.utility[:, s].copy()


@dataclass
class KeptPlan:
    """A plan that is followed until the next one is made.

    Parameters
    ----------
    q : ndarray of shape (J, M, N)
        Values of all rows with j = 0, 1, ... backward steps.
    n : ndarray of shape (M, N)
        Observations of each row when the plan was made.
    since : int
        Number of observations since then.
    """

    q: FloatArray
    n: IntArray
    since: int


@dataclass(frozen=True)
class ValueIteration(ValueMethod):
    r"""Action of largest utility summed over the next steps, planned with the internal model.

    $$Q_0 = U, \qquad Q_{j+1}(a, s) = U(a, s) + \gamma \sum_{s'} \hat\Theta_{a,s,s'} \max_{a'} Q_j(a', s')$$

    Paper: Eqs. 14 to 16 (`eq:vi`); readings R4 and R5: `Q_0 = U`, then `steps_back` backward steps.

    The maximum is over the possible actions. A terminal state has none, and the paper's worlds have no terminal states.
    By default a plan goes on where episodes begin: the value of a terminal state is the expected value of the first
    state of the next episode, with the steps that remain. The reset itself takes no step. The first states are those of
    the world if the explorer knows them, as in `berlyne.explore`, and otherwise those of the episodes seen so far. This
    values an episode that ends as exploration proceeds: the next one follows. With `after_end="stop"` nothing follows,
    so that a strategy avoids ends, unless they are worth more than the steps that it loses.

    If episodes are cut after a number of steps, a plan sees no more steps than are left, and stops at the cut. After an
    end before the cut it goes on in the next episode, but for no more steps than were left in this one. Otherwise an
    end would be worth more than a cut, although the same follows both.

    A new plan is made at every step by default. Otherwise `replan` sets when, and actions are taken by the values of
    the last plan until then. A new plan is also made when the estimates or what is possible change in another way than
    by an observation, as when a state is discovered.

    Parameters
    ----------
    steps_back : int
        Number of backward steps, at least 0. A plan sees `steps_back + 1` steps, its horizon.
    gamma : float
        Discount factor, between 0 and 1.
    after_end : {"restart", "stop"}
        Whether a plan goes on after the end of an episode.
    replan : {"step", "episode", "doubling", "cubic"} or int
        When a new plan is made: at every step; after every episode, and if episodes are not cut, also when its
        horizon is over; when the observations of a row have doubled since the last plan (Jaksch et al. 2010); when the
        number of observations is a cube, so that each plan is followed for longer than the one before; or every k
        steps.
    """

    steps_back: int = 10
    gamma: float = 1.0
    after_end: str = "restart"
    replan: str | int = "step"
    short_name: ClassVar[str] = "VI"

    def __post_init__(self) -> None:
        if check_count("steps_back", self.steps_back, 0) > MAX_STEPS_BACK:
            raise ValueError(f"steps_back is {self.steps_back}; it must be at most {MAX_STEPS_BACK}")
        check_number("gamma", self.gamma, 0.0, 1.0)
        if self.after_end not in ("restart", "stop"):
            raise ValueError(f"after_end is {self.after_end!r}; it must be 'restart' or 'stop'")
        if self.replan not in SCHEDULES:
            if isinstance(self.replan, str):
                names = ", ".join(SCHEDULES)
                raise ValueError(f"replan is {self.replan!r}; it must be {names}, or a number of steps")
            check_count("replan", self.replan, 1)

    def __repr__(self) -> str:
        """Return the call that makes the method; stores contain it, so a default that came later is left out."""
        more = "" if self.after_end == "restart" else f", after_end={self.after_end!r}"
        more += "" if self.replan == "step" else f", replan={self.replan!r}"
        return f"ValueIteration(steps_back={self.steps_back!r}, gamma={self.gamma!r}{more})"

    @property
    def keeps_plans(self) -> bool:
        """Whether a plan is followed for more than one step."""
        return self.replan != "step"

    def start(self, view: View) -> None:
        """Make the first plan, if plans are kept."""
        self.reset(view)

    def reset(self, view: View) -> None:
        """Make a new plan, if plans are kept."""
        if self.keeps_plans:
            view.memory = KeptPlan(self.all_levels(view), view.n, 0)

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """Make a new plan if it is due."""
        if self.keeps_plans:
            view.memory.since += 1
            if self._is_due(view, s, a, s_next):
                self.reset(view)

    def _is_due(self, view: View, s: int, a: int, s_next: int) -> bool:
        """Whether a new plan is made after this observation."""
        plan: KeptPlan = view.memory
        if self.replan == "step":
            return True
        if self.replan == "episode":
            if view.steps_left is None and plan.since > self.steps_back:
                return True
            return bool(view.terminal[s_next]) or view.steps_left == 1
        if self.replan == "doubling":
            return bool(view.n[a, s] - plan.n[a, s] >= max(1, plan.n[a, s]))
        if self.replan == "cubic":
            return bool(round(view.t ** (1.0 / 3.0)) ** 3 == view.t)
        return plan.since >= int(self.replan)

    def all_levels(self, view: View) -> FloatArray:
        """Compute Q_j for all numbers j of backward steps, `[j, a, s]`."""
        q = np.empty((self.steps_back + 1, *view.utility.shape))
        for j, level in enumerate(self._levels(view, self.steps_back)):
            q[j] = level
        return q

    def _levels(self, view: View, n_steps: int) -> Iterator[FloatArray]:
        """Compute Q_0, Q_1, ..., Q of `n_steps` backward steps, `[a, s]` each."""
        theta, q = self._theta(view), self._reward(view, 0)
        yield q
        for j in range(1, n_steps + 1):
            v = np.minimum(view.best(q, self.after_end), self._highest(view, j - 1))
            q = self._reward(view, j) + self._discount * (theta @ v)
            yield q

    def _theta(self, view: View) -> FloatArray:
        """Transition probabilities to plan with, `[a, s, s_next]`."""
        return view.theta_hat

    def _reward(self, view: View, j: int) -> FloatArray:
        """Utility of each row with j steps to follow, `[a, s]`."""
        return view.utility

    def _highest(self, view: View, j: int) -> float:
        """Largest value of a state with j steps to follow."""
        return np.inf

    @property
    def _discount(self) -> float:
        """Factor of the value of the next state."""
        return self.gamma

    def action_values(self, view: View) -> FloatArray:
        """Compute Q after all backward steps, `[a, s]`."""
        n_steps = self.steps_back if view.steps_left is None else min(self.steps_back, view.steps_left - 1)
        *_, q = self._levels(view, n_steps)
        return q

    def values(self, view: View, s: int) -> FloatArray:
        """Return Q of each action in state `s`, with the steps that are left."""
        if not self.keeps_plans:
            return self.action_values(view)[:, s].copy()
        plan: KeptPlan = view.memory
        n_steps = self.steps_back if view.steps_left is None else min(self.steps_back, view.steps_left - 1)
        if self.replan == "episode" and view.steps_left is None:
            n_steps = self.steps_back - plan.since
        return plan.q[n_steps, :, s].copy()


@dataclass(frozen=True)
class TrueModel(ValueMethod):
    """Value iteration with the true world instead of the internal model, a positive control.

    Paper: Sec. 3.3, VI+. The true world is used for coordination only. Learning and utilities are unchanged.

    Parameters
    ----------
    inner : ValueIteration
        Method that plans; its `view.theta_hat` holds the true probabilities.
    """

    inner: ValueIteration = field(default_factory=ValueIteration)
    sees_world: ClassVar[bool] = True
    short_name: ClassVar[str] = "VI+"

    def __post_init__(self) -> None:
        if self.inner.keeps_plans:
            raise ValueError(f"replan is {self.inner.replan!r}; with the true world, plans are made at every step")

    def values(self, view: View, s: int) -> FloatArray:
        """Return the values of the inner method; `view.theta_hat` holds the true probabilities."""
        return self.inner.values(view, s)


@dataclass(frozen=True)
class QLearning(ValueMethod):
    r"""Model-free Q-learning on the utility of the transitions made, epsilon-greedy.

    $$Q(a, s) \leftarrow Q(a, s) + \eta \, [r + \gamma \max_{a'} Q(a', s') - Q(a, s)]$$

    Paper: Sec. 3.5; reading R7: the paper gives no parameters. The reward of a step is its predicted utility, or its
    realised utility for PEIG. The maximum is over the possible actions, and 0 if the next state is terminal.

    Parameters
    ----------
    learning_rate : float
        Step size eta, between 0 and 1.
    gamma : float
        Discount factor, between 0 and 1.
    epsilon : float
        Probability of a uniform choice.
    initial : float
        Initial value of every entry of Q.
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
        """Store a table of `initial` values in `view.memory`."""
        view.memory = np.full(view.utility.shape, float(self.initial))

    @property
    def exploration_rate(self) -> float:
        """Epsilon, the probability of a uniform choice. A temperature does not change it."""
        return self.epsilon

    def values(self, view: View, s: int) -> FloatArray:
        """Return the learned Q of each action in state `s`."""
        return np.array(view.memory[:, s])

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """Update Q for one transition."""
        target = reward + self.gamma * view.best(view.memory, "stop")[s_next]
        view.memory[a, s] += self.learning_rate * (target - view.memory[a, s])

    def grow(self, view: View, memory: FloatArray) -> None:
        """Copy the learned values; the new state and the undiscovered states keep the `initial` value."""
        view.memory[:, : memory.shape[1]] = memory


@dataclass(frozen=True)
class Relocating(ValueMethod):
    """Action of largest utility in any state, after relocating to that state: the unembodied control.

    Paper: Eq. 12 (`eq:Unemb`).
    """

    relocates: ClassVar[bool] = True

    def pair_values(self, view: View) -> FloatArray:
        """Return the utilities of all pairs, `[s, a]`."""
        return np.ascontiguousarray(view.utility.T)

    def values(self, view: View, s: int) -> FloatArray:
        """Return the utilities of the actions in state `s`; they compete with the pairs of all other states."""
        return view.utility[:, s].copy()

    def choose_pair(self, view: View, u: FloatArray) -> tuple[int, int]:
        """Choose the pair (s, a) of largest utility; tied pairs are ordered by state, then action."""
        s, a = divmod(random_argmax(self.pair_values(view).ravel(), u[0]), view.n_actions)
        return s, a

    def choose(self, view: View, s: int, u: FloatArray) -> int:
        """Raise `ValueError`: this method chooses the state as well."""
        raise ValueError("Unembodied chooses the state as well as the action; use choose_pair")


def has_values(coordinate: Any) -> bool:
    """Whether a method returns values: `pair_values` if it relocates, otherwise `values`."""
    return hasattr(coordinate, "pair_values" if getattr(coordinate, "relocates", False) else "values")


def chooses_directly(coordinate: Any) -> bool:
    """Whether a method is a function or has its own `choose` (`choose_pair`), instead of using `ChoiceRule`."""
    relocates = getattr(coordinate, "relocates", False)
    name, default = ("choose_pair", Relocating.choose_pair) if relocates else ("choose", ValueMethod.choose)
    overridden = getattr(type(coordinate), name, None) is not default and hasattr(coordinate, name)
    return overridden or not has_values(coordinate)


METHODS_BY_NAME: dict[str, Any] = {m.short_name: m for m in (Greedy, ValueIteration, TrueModel, QLearning)}
"""Methods that combine with any utility, by the short name in parentheses, as in `PIG(VI)`."""
