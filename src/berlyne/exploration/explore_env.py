"""Explore an environment by acting in it.

An environment needs the interface of Gymnasium, `reset` and `step`, and finitely many observations and actions.
Gymnasium itself is imported only to make an environment from its name. Everything that an environment returns is
checked before the explorer learns from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from berlyne.exploration import explore_env as stepping
from berlyne.exploration.env_run import EnvRun, ExplorationError, add_note
from berlyne.exploration.explore import MAX_STEPS
from berlyne.exploration.explorer import Explorer
from berlyne.exploration.streams import streams
from berlyne.labels import GrowingLabels, as_list
from berlyne.priors import ChineseRestaurant, Dirichlet, Prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.registry import Strategy
from berlyne.validation import OWN_WORLDS, UNKNOWN_STATES, Seed, check_count, short_repr
from berlyne.worlds.from_gymnasium import as_env


def explore_env(
    env: Any,
    strategy: str | Strategy = "PIG(VI)",
    n_steps: int = 1000,
    seed: Seed = 0,
    *,
    prior: Prior | None = None,
    states: Iterable[Hashable] | None = None,
    observe: Callable[[Any], Hashable] | None = None,
) -> EnvRun:
    """Let a strategy explore an environment by acting in it alone, with episodes and resets.

    Where an episode ends the explorer learns that no action can be taken there; where it is cut short (`truncated`)
    it does not. A reset is no transition.

    Parameters
    ----------
    env : an environment of Gymnasium, or its name. Its actions are `Discrete`.
    strategy : a name such as "PIG(VI)", or a `Strategy`; not one that needs the true world.
    n_steps : how many actions to take, over all episodes.
    seed : int, `SeedSequence` or `Generator`; the agent and the environment draw from streams of their own.
    prior : what may be assumed; by default Dir(1) over all states, or, if nobody knows them, a `ChineseRestaurant`.
    states : all observations there can be, any hashable values; not needed if observations are `Discrete`, or if
        states are to be discovered.
    observe : what to make of an observation, a hashable value; by default the observation itself, as an int if it
        is a number.

    Raises
    ------
    ValueError
        If the environment cannot be explored, before the first step.
    ExplorationError
        If `reset`, `step` or `observe` raises an exception, or returns something else than Gymnasium requires, or an
        observation is not one of the states. The error names the step, and its `run` holds the steps before it.
    KeyboardInterrupt
        If you interrupt the exploration; its `run` holds the steps that were finished.

    Examples
    --------
    >>> import berlyne
    >>> berlyne.explore_env("FrozenLake-v1", "PIG(VI)", n_steps=500).n_steps  # doctest: +SKIP
    500
    """
    env = as_env(env)
    n_steps = check_count("n_steps", n_steps, 0)
    if n_steps > MAX_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MAX_STEPS}")
    if observe is None and states is None and _is_real(env.observation_space):
        raise ValueError(
            f"observations are {env.observation_space}, which hardly repeat; say in observe= what states they stand for"
            f"{OWN_WORLDS}"
        )
    path = _Path(env, _explorer(env, strategy, seed, prior, states), observe, n_steps)
    try:
        path.begin(seed=int(streams(seed).world.integers(2**31)))
        for _ in range(n_steps):
            path.go_on()
        return path.run()
    except Exception as error:
        refused = isinstance(error, ValueError)
        reason = str(error) if refused else f"the explorer raised {short_repr(error)}"
        cause = error.__cause__ if refused and not path.thinking else error
        raise ExplorationError(path.place, reason, path.finished[0], path.consistent_run()) from cause
    except BaseException as interrupt:
        run = interrupt.run = path.consistent_run()  # type: ignore[attr-defined]  # whoever catches it may ask for it
        add_note(interrupt, run)
        raise


class _Path:
    """The steps of an exploration that is under way.

    Attributes
    ----------
    place : str
        What messages call the step that is being made.
    thinking : bool
        Whether the explorer is at work: if it stops now, a step may be half learned.
    finished : tuple of int
        Number of finished steps, and of states known after them. One tuple, so that an interrupt falls before or after
        both have changed.
    """

    def __init__(self, env: Any, explorer: Explorer, observe: Callable[[Any], Hashable] | None, n_steps: int) -> None:
        self.env, self.explorer, self.sight = env, explorer, ObservationEncoder(explorer, observe)
        self.lines, self.rewards = np.zeros((n_steps, 4), dtype=np.int32), np.zeros(n_steps)
        self.terminated = np.zeros(n_steps, dtype=bool)
        self.first_draws: Any = explorer._rng.bit_generator.state
        self.finished, self.episode, self.s = (0, explorer.n_states), 0, -1
        self.place, self.thinking = "before step 0", False

    def begin(self, **options: Any) -> None:
        """Begin an episode."""
        n = self.finished[0]
        self.place = f"before step {n}"
        label, s = self.sight.find(stepping.reset(self.env, **options))
        self.thinking = True
        self.sight.discover(label, s)
        self.s, self.finished = s, (n, self.explorer.n_states)
        self.thinking = False

    def go_on(self) -> None:
        """Make one step, and begin another episode if this one is over. Nothing is learned before all is checked."""
        t, explorer, here = self.finished[0], self.explorer, self.explorer.states[self.s]
        self.place, self.thinking = f"step {t}", True
        action = explorer.act(here)
        self.place, self.thinking = f"step {t}, action {action!r}", False
        outcome = stepping.step(self.env, action)
        label, s_next = self.sight.find(outcome.observation)
        self.thinking = True
        self.sight.discover(label, s_next)
        explorer.observe(here, action, explorer.states[s_next], ended=outcome.terminated)
        self.lines[t] = self.s, explorer.action_labels.number(action), s_next, self.episode
        self.rewards[t], self.terminated[t] = outcome.reward, outcome.terminated
        self.finished = t + 1, explorer.n_states
        self.s, self.thinking = s_next, False
        if outcome.terminated or outcome.truncated:
            self.episode += 1
            self.begin()

    def run(self) -> EnvRun:
        """The finished steps."""
        n = self.finished[0]
        columns = dict(zip(("states", "actions", "next_states", "episode"), self.lines[:n].T.copy(), strict=True))
        return EnvRun(self.explorer, rewards=self.rewards[:n], terminated=self.terminated[:n], **columns)

    def consistent_run(self) -> EnvRun:
        """The finished steps, and an explorer that knows these and no others."""
        if self.thinking:
            n, n_states = self.finished
            lines = np.column_stack([self.lines[:n, :3], self.terminated[:n]]).astype(np.int64)
            self.explorer._restore_steps(lines, n_states, self.first_draws)
        return self.run()


class ObservationEncoder:
    """From observations to numbers of states: the one place that does it.

    A state that the explorer does not know is discovered, if its prior lets states be, and else refused.
    """

    def __init__(self, explorer: Explorer, observe: Callable[[Any], Hashable] | None) -> None:
        self.explorer, self.labels = explorer, explorer.state_labels
        self.observe = observe or _itself

    def find(self, seen: Any) -> tuple[Any, int]:
        """The label and the number of the state that an observation stands for; nothing is discovered yet."""
        try:
            label = self.observe(seen)
        except Exception as error:
            reason = f"observe= raised {short_repr(error)} for the observation {short_repr(seen)}"
            raise ValueError(f"{reason}; it must return a state") from error
        try:
            return label, self.labels.number(label, "the observation")
        except ValueError as error:
            if self.observe is _itself or isinstance(self.labels, GrowingLabels):
                raise
            raise ValueError(f"{error}; say in states= what observe= can give") from None

    def discover(self, label: Any, number: int) -> None:
        """Tell the explorer of a state that it does not know."""
        if isinstance(self.labels, GrowingLabels) and number == self.labels.size:
            self.explorer.discover([label])


def _itself(seen: Any) -> Any:
    """The observation, as a plain number or tuple of them where it is one."""
    if isinstance(seen, np.ndarray):
        seen = seen.item() if seen.ndim == 0 else tuple(seen.tolist())
    if isinstance(seen, tuple | list):
        return tuple(_itself(part) for part in seen)
    return seen.item() if isinstance(seen, np.generic) else seen


def _states(env: Any, states: Iterable[Hashable] | None) -> list[Any] | None:
    """All states there can be, in order; None if nobody knows."""
    if states is not None:
        return as_list("states", states)
    size = _size(env.observation_space)
    return None if size is None else _all_of(env.observation_space, size)


def _all_of(space: Any, size: int) -> list[int]:
    """All values of a `Discrete` space."""
    first = int(getattr(space, "start", 0))
    return list(range(first, first + size))


def _is_real(space: Any) -> bool:
    """Whether any part of a space is of real numbers, which hardly repeat."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return any(map(_is_real, parts.values() if hasattr(parts, "values") else parts))
    kind = getattr(space, "dtype", None)
    return kind is not None and bool(np.issubdtype(kind, np.floating))


def _size(space: Any) -> int | None:
    """How many values a `Discrete` space has; None for another, such as `MultiBinary`, whose `n` counts its bits."""
    size = getattr(space, "n", None)
    return int(size) if isinstance(size, int | np.integer) and not getattr(space, "shape", ()) else None


def _explorer(env: Any, strategy: Any, seed: Seed, prior: Prior | None, states: Iterable[Hashable] | None) -> Explorer:
    n_actions, known = _size(env.action_space), _states(env, states)
    if n_actions is None:
        raise ValueError(f"actions are {env.action_space}; they must be Discrete")
    given = _all_of(env.action_space, n_actions)
    actions = given if given[0] else None  # numbers from 0 on are their own labels
    if prior is None:
        prior = ChineseRestaurant() if known is None else Dirichlet(1.0, n_states=len(known), n_actions=n_actions)
    if discovers_states(prior):
        told = None if states is None else known
        explorer = Explorer(prior, strategy, seed, n_actions=n_actions, states=told, actions=actions)
    elif known is None:
        raise ValueError(
            f"observations are {env.observation_space}, which is not Discrete; say in states= which there can be, "
            f"or leave the prior out, so that states are discovered{UNKNOWN_STATES}"
        )
    else:
        sizes = {"n_states": len(known), "n_actions": n_actions}
        explorer = Explorer(prior, strategy, seed, **sizes, states=known, actions=actions)
    if explorer.strategy.relocates:
        raise ValueError(f"{explorer.strategy} goes wherever it likes, which an environment does not allow")
    return explorer


RESET = "it must return (observation, info), as in Gymnasium"
STEP = "it must return (observation, reward, terminated, truncated, info), as in Gymnasium"


class Outcome(NamedTuple):
    """What an environment returned for an action.

    observation : object
        As the environment returned it.
    reward : float
        May be NaN or infinite.
    terminated, truncated : bool
        Whether the episode ended, and whether it was cut short.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool


def reset(env: Any, **options: Any) -> Any:
    """Begin an episode and return its first observation; a ValueError if that fails."""
    try:
        answer = env.reset(**options)
    except Exception as error:
        raise ValueError(f"reset() raised {short_repr(error)}; {RESET}") from error
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"reset() returned {short_repr(answer)}; {RESET}")
    return answer[0]


def step(env: Any, action: Any) -> Outcome:
    """Take an action; a ValueError if that fails or if the answer is not that of an environment."""
    try:
        answer = env.step(action)
    except Exception as error:
        raise ValueError(f"step() raised {short_repr(error)}; {STEP}") from error
    if not isinstance(answer, tuple) or len(answer) != 5:
        raise ValueError(f"step() returned {short_repr(answer)}; {STEP}")
    observation, reward, terminated, truncated, _ = answer
    return Outcome(observation, _real(reward), _bool("terminated", terminated), _bool("truncated", truncated))


def _real(reward: Any) -> float:
    """A reward as a float. Text is no number, and complex numbers and times would lose a part without a word."""
    number = _single(reward)
    if isinstance(number, Real | Decimal):
        try:
            return float(number)
        except (ArithmeticError, ValueError):  # too large, or a NaN that signals
            pass
    raise ValueError(f"the reward is {short_repr(reward)}; it must be a real number")


def _bool(name: str, value: Any) -> bool:
    """A flag as a bool. Other values are refused: the text 'False' would count as true, and a reward as an end."""
    flag = _single(value)
    if isinstance(flag, bool):
        return flag
    raise ValueError(f"{name} is {short_repr(value)}; it must be True or False")


def _single(value: Any) -> Any:
    """The element of an array or tensor of one number or bool; None for other arrays, and other values as they are."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biufO":
        return None
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "item"):
        return value.item() if math.prod(shape) == 1 else None
    return value
