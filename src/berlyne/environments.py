"""Other people's environments, explored by acting in them alone.

What is needed of an environment is the interface of Gymnasium, `reset` and `step`, and finitely many observations and
actions. Gymnasium itself is imported only to make an environment from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import BoolArray, FloatArray, IndexArray, Seed, check_count
from berlyne.explore import MOST_STEPS, streams
from berlyne.explorer import Explorer
from berlyne.frozen import FrozenArrays
from berlyne.labels import Found, several
from berlyne.pages import OWN_WORLDS, UNKNOWN_STATES
from berlyne.plotting import figures
from berlyne.priors import ChineseRestaurant, Dirichlet, Prior
from berlyne.priors.prior import grows
from berlyne.replay import expected_along
from berlyne.strategies import Strategy
from berlyne.tabled import made

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEW_GYM = "as Gymnasium has it"


@dataclass(frozen=True, eq=False)
class EnvRun(FrozenArrays):
    """One finished exploration of an environment.

    explorer : what explored it, ready to go on.
    states, actions, next_states : (n_steps,), numbers; labels are `explorer.states` and `explorer.actions`.
    rewards : (n_steps,), what the environment paid; the explorer is not told.
    episode : (n_steps,), the number of the episode of each step: 0, 0, ..., 1, 1, ...
    terminated : (n_steps,), whether the environment said that the step led to an end.
    """

    explorer: Explorer
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    next_states: IndexArray = field(repr=False)
    rewards: FloatArray = field(repr=False)
    episode: IndexArray = field(repr=False)
    terminated: BoolArray = field(repr=False)

    def __repr__(self) -> str:
        made = f"{self.n_steps:,} steps in {self.n_episodes:,} episode{'s' if self.n_episodes != 1 else ''}"
        return f"EnvRun({self.explorer.strategy}: {made}, {self.explorer.n_states} states)"

    @property
    def n_steps(self) -> int:
        """Number of steps made."""
        return len(self.actions)

    @property
    def n_episodes(self) -> int:
        """Number of episodes begun."""
        return int(self.episode[-1]) + 1 if self.n_steps else 0

    @cached_property
    def history(self) -> list[tuple[Any, Any, Any]]:
        """What was observed, as lines `(s, a, s_next)` of labels."""
        states, actions = self.explorer.states, self.explorer.actions
        steps = zip(self.states.tolist(), self.actions.tolist(), self.next_states.tolist(), strict=True)
        return [(states[s], actions[a], states[s_next]) for s, a, s_next in steps]

    @cached_property
    def expected_missing_information(self) -> FloatArray:
        """What the explorer expected to be missing before the first and after every step, (n_steps + 1,), in bits.

        What is missing indeed nobody can tell without the truth. States that turn out to end episodes count no more
        from then on. All NaN for a prior that does not say it.
        """
        if not self.n_steps:
            return np.array([self.explorer.expected_missing_information().bits])
        prior, n_actions = self.explorer.prior, self.explorer.n_actions
        if grows(prior):  # what it knew of before the first step
            known = [self.explorer.states[s] for s, t in self.explorer._told_states.items() if t == 0]
            return expected_along(prior, self, n_actions=n_actions, states=known)
        return expected_along(prior, self, n_states=self.explorer.n_states, n_actions=n_actions)

    @property
    def area(self) -> float:
        """Area under the learning curve: the sum of expected missing information over steps 0..n_steps."""
        return float(np.sum(self.expected_missing_information))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the learning curve: expected missing information against time, over all episodes."""
        drawn: Axes = figures().draw_env_run(self, ax, **style)
        return drawn


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

    Examples
    --------
    >>> import berlyne
    >>> berlyne.explore_env("FrozenLake-v1", "PIG(VI)", n_steps=500).n_steps  # doctest: +SKIP
    500
    """
    env = made(env)
    n_steps = check_count("n_steps", n_steps, 0)
    if n_steps > MOST_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MOST_STEPS}")
    if observe is None and states is None and _is_real(env.observation_space):
        raise ValueError(
            f"observations are {env.observation_space}, which hardly repeat; say in observe= what states they stand for"
            f"{OWN_WORLDS}"
        )
    explorer = _explorer(env, strategy, seed, prior, states)
    see = Sight(explorer, observe)
    lines, rewards, ends = np.zeros((n_steps, 4), dtype=np.int32), np.zeros(n_steps), np.zeros(n_steps, dtype=bool)
    episode, s = 0, see(_begun(env, seed=int(streams(seed).world.integers(2**31))))
    for t in range(n_steps):
        action = explorer.act(explorer.states[s])
        seen, reward, terminated, truncated = _made_step(env, action)
        s_next, a = see(seen), explorer.action_labels.number(action)
        explorer.observe(explorer.states[s], action, explorer.states[s_next], ended=bool(terminated))
        lines[t], rewards[t], ends[t] = (s, a, s_next, episode), reward, terminated
        s = s_next
        if terminated or truncated:
            episode, s = episode + 1, see(_begun(env))
    columns = dict(zip(("states", "actions", "next_states", "episode"), lines.T.copy(), strict=True))
    return EnvRun(explorer, rewards=rewards, terminated=ends, **columns)


def _begun(env: Any, **options: Any) -> Any:
    """The first observation of an episode."""
    found = env.reset(**options)
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError(f"reset() of the environment gave {found!r:.60}; it must be {NEW_GYM}: (observation, info)")
    return found[0]


def _made_step(env: Any, action: Any) -> tuple[Any, float, bool, bool]:
    """The observation after an action, the reward, and whether the episode ended or was cut short."""
    found = env.step(action)
    if not isinstance(found, tuple) or len(found) != 5:
        parts = "(observation, reward, terminated, truncated, info)"
        raise ValueError(f"step() of the environment gave {found!r:.60}; it must be {NEW_GYM}: {parts}")
    return found[:4]


class Sight:
    """From observations to numbers of states: the one place that does it.

    A state that the explorer does not know is discovered, if its prior lets states be, and else refused.
    """

    def __init__(self, explorer: Explorer, observe: Callable[[Any], Hashable] | None) -> None:
        self.explorer, self.labels = explorer, explorer.state_labels
        self.observe = observe or _itself

    def __call__(self, seen: Any) -> int:
        """The number of the state that an observation stands for."""
        label = self.observe(seen)
        try:
            number = self.labels.number(label, "an observation")
        except ValueError as error:
            if self.observe is _itself or isinstance(self.labels, Found):
                raise
            raise ValueError(f"{error}; say in states= what observe= can give") from None
        if isinstance(self.labels, Found) and number == self.labels.size:
            self.explorer.discover([label])
        return number


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
        return several("states", states)
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
    if grows(prior):
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
