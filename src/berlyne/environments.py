"""Other people's environments: read as a world where they show their table, explored by acting where they do not.

What is needed of an environment is the interface of Gymnasium, `reset` and `step`, and finitely many observations and
actions. Gymnasium itself is imported only to make an environment from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import BoolArray, FloatArray, IndexArray, IntArray, Seed, check_count
from berlyne.explore import MOST_STEPS, streams
from berlyne.explorer import Explorer
from berlyne.labels import Found
from berlyne.pages import OWN_WORLDS, UNKNOWN_STATES
from berlyne.plotting import figures
from berlyne.priors import ChineseRestaurant, Dirichlet, Prior
from berlyne.replay import replay
from berlyne.rows import Rows
from berlyne.strategies import Strategy
from berlyne.worlds.edges import rows_from_entries
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIONS: dict[str, tuple[str, ...]] = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
}
"""What the actions of Gymnasium's toy-text environments are called, in their order."""
NO_GYMNASIUM = "Gymnasium is not here; in a clone of berlyne: pip install '.[gym]'"


def from_gymnasium(env: Any, prior: Prior | None = None) -> World:
    """The world of an environment that shows its transition table, as Gymnasium's toy-text environments do.

    States where episodes end are terminal; the start distribution is the environment's. An observation is a state's
    number; actions have names where they are known. Rewards are left out.

    Parameters
    ----------
    env : an environment with `env.unwrapped.P[s][a]`, a list of (probability, next state, reward, terminated), and
        `env.unwrapped.initial_state_distrib`; or its name, such as "FrozenLake-v1"; or one of berlyne's own.
    prior : what an explorer assumes; by default Dir(1) over all states.

    Raises
    ------
    ValueError if there is no table, or if a state ends an episode after some transitions but not after others.
    """
    env = _made(env)
    inner = env.unwrapped
    if isinstance(getattr(inner, "world", None), World):
        return inner.world if prior is None else inner.world.with_prior(prior)  # type: ignore[no-any-return]  # checked
    name = getattr(env.spec, "id", None) or type(inner).__name__
    table, start = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
    if table is None or start is None:
        raise ValueError(f"{name} shows no transition table; explore it by berlyne.explore_env{OWN_WORLDS}")
    rows, terminal = _read(table, np.flatnonzero(start), str(name))
    if prior is None:
        prior = Dirichlet(1.0, n_states=rows.n_states, n_actions=rows.n_actions)
    names, where = ACTIONS.get(type(inner).__name__), _cells(inner, rows.n_states)
    told: dict[str, Any] = {"start": np.asarray(start), "actions": names, "terminal": terminal, "positions": where}
    return World(rows, prior, name=str(name), **told)


def _cells(inner: Any, n_states: int) -> IntArray | None:
    """Column and line of every state, (N, 2), of an environment whose states are the cells of a grid; else None.

    FrozenLake shows its drawing as `desc`, CliffWalking the number of lines and columns as `shape`; states count the
    cells line by line. A drawing of fewer cells than there are states, as that of Taxi, says nothing.
    """
    shape = getattr(inner, "shape", None) or np.shape(getattr(inner, "desc", ()))
    if len(shape) != 2 or shape[0] * shape[1] != n_states:
        return None
    line, column = np.divmod(np.arange(n_states), shape[1])
    return np.stack([column, line], axis=1)


def _read(table: Any, starts: IntArray, name: str) -> tuple[Rows, list[int]]:
    """Rows and terminal states of a table `P[s][a]`, for episodes that begin in `starts`."""
    n_states, n_actions = len(table), len(table[0])
    entries = [
        (s * n_actions + a, int(s_next), float(p), bool(terminated))
        for s in range(n_states)
        for a in range(n_actions)
        for p, s_next, _, terminated in table[s][a]
    ]
    row, to, p, over = (np.array(column) for column in zip(*entries, strict=True))
    rows = rows_from_entries(row, to, p, n_states, n_actions)
    happens = _visited(row // n_actions, to, over, starts, n_states)[row // n_actions]
    both = np.intersect1d(to[over & happens], to[~over & happens])
    if len(both):
        raise ValueError(
            f"in {name} an episode ends in state {both[0]} after some transitions but not after others; "
            "explore it by berlyne.explore_env"
        )
    # an end is where episodes end, and where nothing ever leads that would not end them
    return rows, np.union1d(to[over & happens], np.setdiff1d(to[over], to[~over])).tolist()


def _visited(s: IntArray, to: IntArray, over: BoolArray, starts: IntArray, n_states: int) -> BoolArray:
    """Whether each state can come up within an episode, (N,); s, to, over : from, to and whether it ends there."""
    visited = np.zeros(n_states, dtype=bool)
    visited[starts] = True
    while True:
        new = to[visited[s] & ~over]
        if np.all(visited[new]):
            return visited
        visited[new] = True


@dataclass(frozen=True, eq=False)
class EnvRun:
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
        n_states = None if getattr(prior, "grows", False) else self.explorer.n_states
        told = replay(prior, self, "Random", n_states=n_states, n_actions=n_actions)
        first, after = told.expected_missing_information[:1], told.expected_missing_information_after
        return np.concatenate([first.values, after.values])

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
    env = _made(env)
    n_steps = check_count("n_steps", n_steps, 0)
    if n_steps > MOST_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MOST_STEPS}")
    kind = getattr(env.observation_space, "dtype", None)
    if observe is None and states is None and kind is not None and np.issubdtype(kind, np.floating):
        raise ValueError(
            f"observations are {env.observation_space}, which hardly repeat; say in observe= what states they stand for"
            f"{OWN_WORLDS}"
        )
    explorer = _explorer(env, strategy, seed, prior, states)
    see = Sight(explorer, observe)
    first_action = int(getattr(env.action_space, "start", 0))
    lines, rewards, ends = np.zeros((n_steps, 4), dtype=np.int32), np.zeros(n_steps), np.zeros(n_steps, dtype=bool)
    episode, s = 0, see(env.reset(seed=int(streams(seed).world.integers(2**31)))[0])
    for t in range(n_steps):
        a = explorer.act(explorer.states[s])
        seen, reward, terminated, truncated, _ = env.step(first_action + a)
        s_next = see(seen)
        explorer.observe(explorer.states[s], a, explorer.states[s_next], ended=bool(terminated))
        lines[t], rewards[t], ends[t] = (s, a, s_next, episode), reward, terminated
        s = s_next
        if terminated or truncated:
            episode, s = episode + 1, see(env.reset()[0])
    columns = dict(zip(("states", "actions", "next_states", "episode"), lines.T.copy(), strict=True))
    return EnvRun(explorer, rewards=rewards, terminated=ends, **columns)


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
        number = self.labels.number(label, "an observation")
        if isinstance(self.labels, Found) and number == self.labels.size:
            self.explorer.discover([label])
        return number


def _itself(seen: Any) -> Any:
    """The observation, as a plain number or tuple of them where it is one."""
    if isinstance(seen, np.ndarray):
        seen = seen.item() if seen.ndim == 0 else tuple(seen.tolist())
    if isinstance(seen, tuple):
        return tuple(_itself(part) for part in seen)
    return seen.item() if isinstance(seen, np.generic) else seen


def _states(env: Any, states: Iterable[Hashable] | None) -> list[Any] | None:
    """All states there can be, in order; None if nobody knows."""
    if states is not None:
        return list(states)
    size = _size(env.observation_space)
    if size is None:
        return None
    first = int(getattr(env.observation_space, "start", 0))
    return list(range(first, first + size))


def _size(space: Any) -> int | None:
    """How many values a `Discrete` space has; None for another, such as `MultiBinary`, whose `n` counts its bits."""
    size = getattr(space, "n", None)
    return int(size) if isinstance(size, int | np.integer) and not getattr(space, "shape", ()) else None


def _explorer(env: Any, strategy: Any, seed: Seed, prior: Prior | None, states: Iterable[Hashable] | None) -> Explorer:
    n_actions, known = _size(env.action_space), _states(env, states)
    if n_actions is None:
        raise ValueError(f"actions are {env.action_space}; they must be Discrete")
    if prior is None:
        prior = ChineseRestaurant() if known is None else Dirichlet(1.0, n_states=len(known), n_actions=n_actions)
    if getattr(prior, "grows", False):
        explorer = Explorer(prior, strategy, seed, n_actions=n_actions, states=states)
    elif known is None:
        raise ValueError(
            f"observations are {env.observation_space}, which is not Discrete; say in states= which there can be, "
            f"or leave the prior out, so that states are discovered{UNKNOWN_STATES}"
        )
    else:
        explorer = Explorer(prior, strategy, seed, n_states=len(known), n_actions=n_actions, states=known)
    if explorer.strategy.relocates:
        raise ValueError(f"{explorer.strategy} goes wherever it likes, which an environment does not allow")
    return explorer


def is_environment(what: Any) -> bool:
    """Whether an object looks like an environment of Gymnasium."""
    return all(hasattr(what, name) for name in ("reset", "step", "action_space", "observation_space"))


def _made(env: Any) -> Any:
    """The environment itself, or the one of that name."""
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError:
            raise ValueError(NO_GYMNASIUM) from None
        from berlyne import gym  # noqa: F401  # registers our own

        return gymnasium.make(env)
    if not is_environment(env):
        raise ValueError(f"env is {env!r}; it must be an environment of Gymnasium, or the name of one")
    return env
