"""Explore an environment by acting in it.

An environment needs the interface of Gymnasium, `reset` and `step`, and finitely many observations and actions.
Gymnasium itself is imported only to make an environment from its name. Every value that an environment returns is
validated before the explorer learns from it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from berlyne.exploration.explore import MAX_STEPS
from berlyne.exploration.explorer import Explorer
from berlyne.exploration.run import Run
from berlyne.exploration.stopping import StoppingRule
from berlyne.exploration.streams import streams
from berlyne.labels import PASS_OBSERVE, GrowingLabels, Labels, as_list
from berlyne.priors import ChineseRestaurant, Prior
from berlyne.priors.dirichlet import Alpha, check_one_of, prior_or_default
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.registry import Strategy
from berlyne.validation import OWN_WORLDS, UNKNOWN_STATES, BoolArray, IndexArray, Seed, check_count, short_repr
from berlyne.worlds.from_gymnasium import as_env, from_gymnasium
from berlyne.worlds.world import World

MAX_TUPLE = 64
"""Largest number of entries of an array that becomes a tuple of numbers, which is easy to read."""
MAX_OBSERVE_ARGUMENTS = 3


def explore_env(
    env: Any,
    strategy: str | Strategy = "PIG(VI)",
    n_steps: int = 1000,
    seed: Seed = 0,
    *,
    prior: Prior | None = None,
    alpha: Alpha | None = None,
    states: Iterable[Hashable] | None = None,
    observe: Callable[..., Hashable] | None = None,
    n_episodes: int | None = None,
    until: Any = None,
) -> Run:
    """Explore an environment by acting in it, with episodes and resets.

    If an episode ends (`terminated`), the explorer learns that no action can be taken in that state. If it is cut
    short (`truncated`), the explorer does not learn this. A reset is not a transition. If the environment returns an
    `action_mask` in `info`, from `reset` or `step`, the explorer learns which actions are possible in that state.

    Parameters
    ----------
    env : gymnasium.Env or str
        A Gymnasium environment, or its id. Its action space must be `Discrete`.
    strategy : str or Strategy
        A strategy, or its name, such as "PIG(VI)"; it must not need the true world.
    n_steps : int
        Number of actions to take, over all episodes; with `n_episodes` or `until`, the largest number.
    seed : int, SeedSequence or Generator
        Seed. The agent and the environment draw from separate streams.
    prior : Prior, optional
        Prior of the explorer. By default it is a Dirichlet distribution over all states with the concentration `alpha`
        or, if the states are unknown, `ChineseRestaurant(alpha)`.
    alpha : float or "ml", optional
        Concentration of the default prior. By default the explorer learns it on the way, starting at 1/N ("ml"); if the
        states are unknown, it is 1.
    states : iterable of hashable, optional
        All possible states. Not needed if the observation space is `Discrete`, or if states are to be discovered.
    observe : callable, optional
        Function that converts an observation to a state, a hashable value. It takes the observation, or the observation
        and `info`, or these and the environment: `lambda obs, info, env: env.unwrapped.agent_pos`. By default the state
        is the observation itself, with NumPy numbers as Python numbers, arrays and lists as tuples, and dicts as tuples
        of their items, sorted by key. Large arrays are represented by their type, shape and bytes.
    n_episodes : int, optional
        Stop after this number of episodes.
    until : object or callable, optional
        Stop when a step leads to this state, or to one for which this function of its label returns true.

    Returns
    -------
    Run
        The path, the rewards, and the explorer. The missing information is known if the environment has a transition
        table (`Run.world`); otherwise there is the expected missing information.

    Raises
    ------
    ValueError
        If the environment cannot be explored, before the first step.
    ExplorationError
        If `reset`, `step` or `observe` raises an exception, if the environment returns a value that Gymnasium does not
        allow, or if an observation is not one of the states. The error names the step, and its attribute `run` contains
        the steps before it.
    KeyboardInterrupt
        If you interrupt the exploration. Its attribute `run` contains the finished steps.

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
        raise ValueError(f"observations are {env.observation_space}, which rarely repeat; {PASS_OBSERVE}{OWN_WORLDS}")
    explorer = _make_explorer(env, strategy, seed, (prior, alpha), states)
    stop = StoppingRule(explorer.state_labels, n_episodes, until)
    path = _Path(env, explorer, observe, n_steps, _table_world(env, explorer) if observe is None else None)
    try:
        path.begin(seed=int(streams(seed).world.integers(2**31)))
        for t in range(n_steps):
            path.step()
            if stop.is_active and stop.stops(explorer.states[path.lines[t, 2]], path.episode):
                break
        return path.run()
    except Exception as error:
        refused = isinstance(error, ValueError)
        reason = str(error) if refused else f"the explorer raised {short_repr(error)}"
        cause = error.__cause__ if refused and not path.explorer_busy else error
        raise ExplorationError(path.place, reason, path.finished[0], path.consistent_run()) from cause
    except BaseException as interrupt:
        run = interrupt.run = path.consistent_run()  # type: ignore[attr-defined]  # documented under Raises
        add_note(interrupt, run)
        raise


class ExplorationError(ValueError):
    """An exploration stopped because its environment failed or returned something invalid.

    If the environment raised an exception, it is the `__cause__`.

    Parameters
    ----------
    place : str
        The step that failed, such as "step 17, action 2", or "before step 17" for a reset.
    reason : str
        Description of the problem and of a valid result.
    step : int
        Number of the failed step, counted from 0, which equals the number of finished steps.
    run : Run or None
        The finished steps. Its explorer has learned exactly these and can continue. None if the environment could not
        be made, or if the error comes from another process.
    """

    def __init__(self, place: str, reason: str, step: int, run: Run | None) -> None:
        super().__init__(place, reason, step)
        self.place, self.reason, self.step, self.run = place, " ".join(reason.split()), step, run
        if run is not None:
            add_note(self, run)

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"

    def of(self, run: str) -> ExplorationError:
        """Prepend the name of a run to the message, and return the error."""
        self.place = f"{run}, {self.place}"
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.reason, self.step, None)  # an explorer cannot be pickled


def add_note(error: BaseException, run: Run) -> None:
    """Add a note to an exception, which names the attribute `run`, if any steps were finished."""
    if run.n_steps:
        error.add_note(f"The attribute `run` of this exception contains the finished steps: {run!r}.")


class _Path:
    """The steps of an exploration in progress.

    Attributes
    ----------
    place : str
        Name of the current step in error messages.
    explorer_busy : bool
        Whether the explorer is being updated. If it stops now, a step may be half learned.
    finished : tuple of int
        Number of finished steps, number of states known after them, and the current state, -1 if there is none. It is
        one tuple, so that an interrupt cannot separate them.
    """

    def __init__(
        self,
        env: Any,
        explorer: Explorer,
        observe: Callable[..., Hashable] | None,
        n_steps: int,
        table_world: World | None,
    ) -> None:
        self.table_world = table_world
        self.env, self.explorer, self.encoder = env, explorer, ObservationEncoder(explorer, observe)
        self.lines, self.rewards = np.zeros((n_steps, 4), dtype=np.int32), np.zeros(n_steps)
        self.terminated = np.zeros(n_steps, dtype=bool)
        self.initial_rng_state: Any = explorer._rng.bit_generator.state
        self.finished, self.episode = (0, explorer.n_states, -1), 0
        self.place, self.explorer_busy = "before step 0", False

    def begin(self, **options: Any) -> None:
        """Start an episode."""
        n = self.finished[0]
        self.place = f"before step {n}"
        observation, info = reset(self.env, **options)
        label, s = self.encoder.find(observation, info, self.env)
        allowed = read_action_mask(info, self.explorer.action_labels)
        self.explorer_busy = True
        self.encoder.discover(label, s)
        self.finished = n, self.explorer.n_states, s
        self._allow(s, allowed)
        self.explorer_busy = False

    def step(self) -> None:
        """Take one step, and start another episode if this one is over; the outcome is validated before learning."""
        (t, _, s), explorer = self.finished, self.explorer
        state = explorer.states[s]
        self.place, self.explorer_busy = f"step {t}", True
        action = explorer.act(state)
        self.place, self.explorer_busy = f"step {t}, action {action!r}", False
        outcome = step(self.env, action)
        label, s_next = self.encoder.find(outcome.observation, outcome.info, self.env)
        allowed = None if outcome.terminated else read_action_mask(outcome.info, explorer.action_labels)
        self.explorer_busy = True
        next_state = label if s_next == explorer.n_states else explorer.states[s_next]  # a new one is discovered now
        explorer.observe(state, action, next_state, ended=outcome.terminated)
        self.lines[t] = s, explorer.action_labels.number(action), s_next, self.episode
        self.rewards[t], self.terminated[t] = outcome.reward, outcome.terminated
        self.finished = t + 1, explorer.n_states, s_next
        self._allow(s_next, allowed)
        self.explorer_busy = False
        if outcome.terminated or outcome.truncated:
            self.episode += 1
            self.begin()

    def _allow(self, s: int, actions: list[Any] | None) -> None:
        """Let the explorer know which actions are possible in a state, if the environment has told it."""
        if actions is not None:
            self.explorer.allow(self.explorer.states[s], actions)

    def run(self) -> Run:
        """Return the finished steps."""
        n, _, last = self.finished
        states, actions, next_states, episode = self.lines[:n].T.copy()
        states = np.append(states, [last] if last >= 0 else []).astype(np.int32)
        terminated, world = self.terminated[:n], self.table_world
        if world is not None and not _agrees(world, states[:n], actions, next_states, terminated):
            world = None
        if world is not None and not np.all(self.explorer.allowed):
            world = world.replace(possible=self.explorer.allowed)
        path = states, actions, next_states, episode, terminated
        return Run(self.explorer.strategy, *path, world, self.explorer, self.rewards[:n])

    def consistent_run(self) -> Run:
        """Return the finished steps, with an explorer that has learned exactly these."""
        if self.explorer_busy:
            n, n_states, _ = self.finished
            lines = np.column_stack([self.lines[:n, :3], self.terminated[:n]]).astype(np.int64)
            self.explorer._restore_steps(lines, n_states, self.initial_rng_state)
        return self.run()


class ObservationEncoder:
    """Convert observations to state numbers.

    An unknown state is discovered if the prior of the explorer discovers states, and refused otherwise.

    Parameters
    ----------
    explorer : Explorer
        The explorer whose states are used.
    observe : callable or None
        Function that converts an observation, and optionally `info` and the environment, to a state; None to use the
        observation itself.
    """

    def __init__(self, explorer: Explorer, observe: Callable[..., Hashable] | None) -> None:
        self.explorer, self.labels = explorer, explorer.state_labels
        self.observe: Callable[..., Any] = observe or _as_plain
        self.n_arguments = _n_arguments(self.observe)

    def find(self, observation: Any, info: Any = None, env: Any = None) -> tuple[Any, int]:
        """Return the label and the number of the state of an observation, without discovering it."""
        try:
            label = self.observe(*(observation, info, env)[: self.n_arguments])
        except Exception as error:
            reason = f"observe= raised {short_repr(error)} for the observation {short_repr(observation)}"
            raise ValueError(f"{reason}; it must return a state") from error
        try:
            return label, self.labels.number(label, "the observation")
        except ValueError as error:
            if self.observe is _as_plain or isinstance(self.labels, GrowingLabels):
                raise
            raise ValueError(f"{error}; set states= to all values that observe= can return") from None

    def discover(self, label: Any, number: int) -> None:
        """Add a state to the explorer if it is new."""
        if isinstance(self.labels, GrowingLabels) and number == self.labels.size:
            self.explorer.discover([label])


def _n_arguments(observe: Callable[..., Hashable]) -> int:
    """Return how many of (observation, info, environment) a function takes: its parameters without a default."""
    try:
        parameters = inspect.signature(observe).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return 1
    n = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
    if n > MAX_OBSERVE_ARGUMENTS:
        raise ValueError(f"observe takes {n} arguments; it must take an observation, and may take info and env")
    return max(n, 1)


def _as_plain(observation: Any) -> Any:
    """Return a hashable state for an observation of discrete values.

    NumPy scalars become Python numbers, arrays and lists tuples, dicts tuples of their items sorted by key, and large
    arrays a tuple of their type, shape and bytes. Other observations are returned unchanged.
    """
    if isinstance(observation, np.ndarray) and observation.size > MAX_TUPLE and observation.dtype.kind in "biu":
        return str(observation.dtype), observation.shape, observation.tobytes().hex()
    if isinstance(observation, np.ndarray):
        observation = observation.item() if observation.ndim == 0 else tuple(observation.tolist())
    if isinstance(observation, Mapping):
        items = sorted(observation.items(), key=lambda item: str(item[0]))
        return tuple((_as_plain(key), _as_plain(value)) for key, value in items)
    if isinstance(observation, tuple | list):
        return tuple(_as_plain(part) for part in observation)
    return observation.item() if isinstance(observation, np.generic) else observation


def _states(env: Any, states: Iterable[Hashable] | None) -> list[Any] | None:
    """Return all possible states in order; None if they are unknown."""
    if states is not None:
        return as_list("states", states)
    size = _size(env.observation_space)
    return None if size is None else _space_values(env.observation_space, size)


def _space_values(space: Any, size: int) -> list[int]:
    """Return all values of a `Discrete` space."""
    first = int(getattr(space, "start", 0))
    return list(range(first, first + size))


def _is_real(space: Any) -> bool:
    """Return whether any part of a space has a floating-point dtype, so that observations rarely repeat."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return any(map(_is_real, parts.values() if hasattr(parts, "values") else parts))
    dtype = getattr(space, "dtype", None)
    return dtype is not None and bool(np.issubdtype(dtype, np.floating))


def _size(space: Any) -> int | None:
    """Return the size of a `Discrete` space; None for another space, such as `MultiBinary`, whose `n` counts bits."""
    size = getattr(space, "n", None)
    return int(size) if isinstance(size, int | np.integer) and not getattr(space, "shape", ()) else None


HARMLESS_WRAPPERS = ("OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "TimeLimit")
"""Wrappers of Gymnasium that change no transition, so that a transition table still holds."""


def _table_world(env: Any, explorer: Explorer) -> World | None:
    """Return the world of an environment's transition table; None if it has none, or if it may not hold here.

    The states of the table must be those of the explorer, with the same numbers.
    """
    inner = getattr(env, "unwrapped", env)
    while env is not inner:
        if type(env).__name__ not in HARMLESS_WRAPPERS or not type(env).__module__.startswith("gymnasium."):
            return None
        env = env.env
    labels = explorer.state_labels, explorer.action_labels
    if any(named.custom is not None for named in labels):
        return None
    try:
        world = from_gymnasium(env, explorer.prior)
    except Exception:  # any object can be an attribute `P`; without a table, the environment can still be explored
        return None
    return world if (world.n_states, world.n_actions) == (labels[0].size, labels[1].size) else None


def _agrees(
    world: World, states: IndexArray, actions: IndexArray, next_states: IndexArray, terminated: BoolArray
) -> bool:
    """Return whether all steps are possible in a world, and end episodes where it does."""
    rows = world.rows
    possible = rows.row_numbers() * world.n_states + rows.indices
    made = (states.astype(np.int64) * world.n_actions + actions) * world.n_states + next_states
    ends = world.episodes.is_terminal[next_states]
    return bool(np.all(np.isin(made, possible)) and np.array_equal(ends, terminated))


def _make_explorer(
    env: Any,
    strategy: Any,
    seed: Seed,
    prior_or_alpha: tuple[Prior | None, Alpha | None],
    states: Iterable[Hashable] | None,
) -> Explorer:
    """Return an explorer for an environment, or raise a ValueError if the environment cannot be explored."""
    prior, alpha = prior_or_alpha
    check_one_of(prior, alpha)
    n_actions, all_states = _size(env.action_space), _states(env, states)
    if n_actions is None:
        raise ValueError(f"actions are {env.action_space}; they must be Discrete")
    values = _space_values(env.action_space, n_actions)
    actions = values if values[0] else None  # values 0, 1, 2, ... need no labels
    if all_states is not None:
        prior = prior_or_default(prior, alpha, len(all_states), n_actions)
    elif prior is None:
        prior = ChineseRestaurant() if alpha is None else ChineseRestaurant(alpha)
    if discovers_states(prior):
        initial_states = None if states is None else all_states
        explorer = Explorer(prior, strategy, seed, n_actions=n_actions, states=initial_states, actions=actions)
    elif all_states is None:
        raise ValueError(
            f"observations are {env.observation_space}, which is not Discrete; set states= to all possible states, "
            f"or leave the prior out, so that states are discovered{UNKNOWN_STATES}"
        )
    else:
        sizes: dict[str, Any] = {"n_states": len(all_states), "n_actions": n_actions}
        explorer = Explorer(prior, strategy, seed, **sizes, states=all_states, actions=actions)
    if explorer.strategy.relocates:
        raise ValueError(
            f"{explorer.strategy} chooses the state as well as the action, which an environment does not allow"
        )
    return explorer


RESET = "it must return (observation, info), as in Gymnasium"
STEP = "it must return (observation, reward, terminated, truncated, info), as in Gymnasium"
MASK = "if the action is not possible in this state, return an action_mask in info"


class Outcome(NamedTuple):
    """Values that an environment returned for an action.

    Attributes
    ----------
    observation : object
        The observation, unchanged.
    reward : float
        The reward, which may be NaN or infinite.
    terminated, truncated : bool
        Whether the episode ended, and whether it was cut short.
    info : object
        Further information, usually a dict.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Any


def read_action_mask(info: Any, actions: Labels) -> list[Any] | None:
    """Return the actions that `info["action_mask"]` allows; None if there is no mask, or if it allows none or all."""
    mask = info.get("action_mask") if isinstance(info, Mapping) else None
    if mask is None:
        return None
    flags = np.asarray(mask)
    if flags.shape != (actions.size,) or flags.dtype.kind not in "biuf" or not np.all((flags == 0) | (flags == 1)):
        raise ValueError(
            f"the action_mask in info is {short_repr(mask)}; it must be {actions.size} numbers, 1 for each possible "
            "action and 0 for the others"
        )
    return None if np.all(flags == 0) or np.all(flags == 1) else [actions[int(a)] for a in np.flatnonzero(flags)]


def reset(env: Any, **options: Any) -> tuple[Any, Any]:
    """Start an episode and return its first observation and `info`; raise a ValueError if that fails."""
    try:
        answer = env.reset(**options)
    except Exception as error:
        raise ValueError(f"reset() raised {short_repr(error)}; {RESET}") from error
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"reset() returned {short_repr(answer)}; {RESET}")
    return answer


def step(env: Any, action: Any) -> Outcome:
    """Take an action; raise a ValueError if that fails or if the returned value is invalid."""
    try:
        answer = env.step(action)
    except Exception as error:
        raise ValueError(f"step() raised {short_repr(error)}; {STEP}; {MASK}{OWN_WORLDS}") from error
    if not isinstance(answer, tuple) or len(answer) != 5:
        raise ValueError(f"step() returned {short_repr(answer)}; {STEP}")
    observation, reward, terminated, truncated, info = answer
    return Outcome(observation, _real(reward), _bool("terminated", terminated), _bool("truncated", truncated), info)


def _real(reward: Any) -> float:
    """Convert a reward to a float; text, complex numbers and times are refused, since a part would be lost."""
    number = _single(reward)
    if isinstance(number, Real | Decimal):
        try:
            return float(number)
        except (ArithmeticError, ValueError):  # too large, or a signalling NaN
            pass
    raise ValueError(f"the reward is {short_repr(reward)}; it must be a real number")


def _bool(name: str, value: Any) -> bool:
    """Convert a flag to a bool; other types are refused, since the text 'False' or a reward would count as true."""
    flag = _single(value)
    if isinstance(flag, bool):
        return flag
    raise ValueError(f"{name} is {short_repr(value)}; it must be True or False")


def _single(value: Any) -> Any:
    """Return the element of an array or tensor of size 1, None for other arrays, and other values unchanged."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biufO":
        return None
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "item"):
        return value.item() if math.prod(shape) == 1 else None
    return value
