"""Replay a recorded history: the values and probabilities that an explorer assigns to the recorded actions.

The history may come from an exploration, a person or an animal. Before each line, the explorer computes its values and
probabilities of the actions. Then it learns the recorded transition, even if it would have chosen another action.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import Engine, make_agent, make_open_state_agent, tell_world
from berlyne.engine.records import ReplayRecord
from berlyne.exploration.streams import method_seed, streams
from berlyne.labels import GrowingLabels, Labels, as_list, impossible_transition, label_array
from berlyne.models.frames import ColumnNames
from berlyne.models.history import (
    COLUMNS,
    UNKNOWN,
    History,
    RawHistory,
    TerminalChanges,
    read_history,
    read_raw_history,
)
from berlyne.models.history_checks import warn_jumps, warn_untold_ends, warn_unused
from berlyne.models.internal_model import InternalModel, make_labels
from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import CounterBased, LeastTaken, chooses_directly
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import BoolArray, FloatArray, IntArray, Seed
from berlyne.worlds.world import NO_PRIOR, World

if TYPE_CHECKING:
    from xarray import Dataset


def replay(
    world: World | Prior,
    history: Any,
    /,
    strategy: str | Strategy = "PIG(VI)",
    *,
    n_states: int | None = None,
    n_actions: int | None = None,
    states: Iterable[Hashable] | None = None,
    actions: Iterable[Hashable] | None = None,
    engine: Engine = "auto",
    seed: Seed = 0,
    **columns: Unpack[ColumnNames],
) -> Dataset:
    """Replay a history: compute an explorer's action values and probabilities before each step, then learn the step.

    Parameters
    ----------
    world : World or Prior
        A world, or only a prior. The explorer uses only the prior of a world, unless the strategy sees the true world.
    history : object
        Lines (s, a, s_next) or (s, a, s_next, ended) of labels (integers if there are no labels), such as `history` of
        an explorer or a run; a list or tuple of three arrays; a `Run`; or a frame, such as a pandas frame. A frame has
        the columns s, a and s_next, and optionally subject, episode, ended (true or false) and allowed (a list of the
        actions that were possible, or text such as "left, right"). Levels of its index count as columns.
    strategy : str or Strategy
        A strategy, or its name, such as "PIG(VI)".
    n_states, n_actions : int, optional
        Numbers of states and actions. The number of states is needed only if the prior does not define it. If neither
        the prior nor you define the actions, they are those that occur in the history.
    states, actions : iterable of hashable, optional
        Labels used in the history; by default those of the world or, if it has none, 0, 1, 2, ... With a prior that
        discovers states, `states` is optional; explorers know these states from the start.
    engine : {"auto", "compiled", "numpy"}
        As in `berlyne.explore`.
    seed : int, SeedSequence or Generator
        Seed for methods that draw random numbers, such as the worlds of PSRL. With the seed of `berlyne.explore` they
        draw the same numbers as there. Every subject has the same seed.
    **columns : str
        Names of the columns of a frame: `state`, `action`, `next_state`, `subject`, `episode`, `ended`, `allowed`,
        `order` and `keep`. `ended` may also be a function of the frame, such as `lambda d: d.reward > 0`. `order` is a
        column of numbers by which the lines of each subject are sorted before they are learned; if every episode counts
        from the start, they are sorted by episode first. `keep` lists columns without a role, which are then not named
        in a warning.

    Returns
    -------
    xarray.Dataset
        A dataset with these variables:

        - `action_values`, `probabilities`, `utilities` (step, action): results of `Explorer.action_values`,
          `.probabilities` and `.utility` in the state of the step, before it is learned. A terminal state is treated as
          nonterminal here. Unembodied chooses a pair of a state and an action. For it, `probabilities` contains the
          entries of state s in the distribution over all pairs, so they need not sum to 1.
        - `log_likelihood` (step): natural logarithm of the probability of the recorded action; NaN if the action or the
          next state is missing.
        - `expected_missing_information`, `expected_missing_information_after` (step): E[D(theta || theta_hat)] of all
          rows of nonterminal states, before and after the step, in bits. NaN if the prior has no method
          `expected_missing_information`.
        - `s`, `a`, `s_next` (step): the history, with the coordinates `subject` and `episode` if it has them. All other
          columns of a frame are coordinates, too. If the dataset has a variable of that name, an underscore follows.

        Steps are in the order of the history, also if `order` is given.

    Notes
    -----
    A frame is checked for likely mistakes. A `UserWarning` names columns without a role, lines that do not begin where
    the line before them in the same episode led to, rows that seem to be in no order, and states that are only ever the
    last of their episodes, if neither `ended` nor a world tells that episodes end there.

    A line whose action is missing (NaN or None) has values and probabilities, but no likelihood. Its transition cannot
    be counted, since its row is unknown, unless one action was allowed. The explorer still learns from it: the visit of
    the next state, that this state exists, and that the episode ended there. A line whose next state is missing has no
    likelihood either, and teaches nothing. The state of a line must not be missing.

    If `allowed` lists the actions that were possible, the others have probability 0. Softmax, ties and lapses are among
    the possible ones, as in `Explorer.probabilities(s, among=...)`. Plans assume that all actions are possible.

    Every subject has its own explorer, which learns through all episodes. Each line sets the current state, so a jump
    from the end of one line to the start of the next is not learned as a transition. CB counts a visit of the new
    state, unless the previous line already led to it.

    Terminal states are known from the world, or from the world that a `Run` explored. Otherwise the explorer learns
    them as `Explorer` does: from a `Run` in an environment, or from `ended` of lines or of a frame. A line that begins
    in a terminal state makes it nonterminal. After an end, plans go on where episodes begin: as the world defines it,
    or where the episodes of the subject began so far. Actions that are not possible, and the horizon, are known from
    the world, or from the `Run`. A line without its action also uses up a step of the episode.

    With a prior that discovers states, states are discovered when the history first names them.

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(0)
    >>> run = berlyne.explore(world, "LTA", n_steps=100)
    >>> float(berlyne.replay(world, run, "Random").log_likelihood.mean())  # log 1/4
    -1.3862943611198906
    """
    strategy = get_strategy(strategy)
    sizes, labels = (n_states, n_actions), (states, actions)
    raw = read_raw_history(history, columns)
    return _dataset(strategy, *_replay(world, raw, strategy, sizes, labels, (engine, method_seed(streams(seed).agent))))


Part = tuple[IntArray, ReplayRecord]
"""Lines of a subject, and the record of their replay."""
Options = tuple[Engine, np.random.SeedSequence | None]
"""Engine of an agent, and the seed for methods that draw random numbers."""


class _Setting(NamedTuple):
    """The prior, the world and the labels with which a history is replayed.

    Attributes
    ----------
    prior : Prior
        The prior of the explorer.
    world : World or None
        The world, if there is one.
    model : InternalModel or None
        A model without observations and labels; None if states are discovered.
    labels : tuple of Labels
        Labels of states and actions.
    n_known : int
        Number of states that are discovered at the start, if states are discovered.
    """

    prior: Prior
    world: World | None
    model: InternalModel | None
    labels: tuple[Labels, Labels]
    n_known: int = 0

    def new_agent(self, strategy: Strategy, options: Options = ("auto", None)) -> Agent:
        """Return an agent that has observed nothing."""
        if self.model is not None:
            return make_agent(self.model, strategy, self.world, *options)
        agent = make_open_state_agent(self.prior, self.labels[1].size, strategy, *options, labels=self.labels)
        if self.world is not None:
            tell_world(agent, self.world)
        for s in range(self.n_known):
            agent.discover(s)
        return agent


def _setting(
    world: World | Prior,
    history: RawHistory,
    sizes: tuple[int | None, int | None],
    labels: tuple[Iterable[Hashable] | None, Iterable[Hashable] | None],
) -> _Setting:
    """Return the setting of a replay; states are those of the world, of the prior, or discovered."""
    prior, (n_states, n_actions), (states, actions) = _prior(world), sizes, labels
    true_world = world if isinstance(world, World) else None
    if true_world is not None:
        expected_sizes = ("n_states", n_states, true_world.n_states), ("n_actions", n_actions, true_world.n_actions)
        for name, size, world_size in expected_sizes:
            if size is not None and size != world_size:
                raise ValueError(f"{name} is {size}, but the world has {world_size}; leave {name} out")
        n_states, n_actions = true_world.n_states, true_world.n_actions
        states = true_world.state_labels.custom if states is None else states
        actions = true_world.action_labels.custom if actions is None else actions
    if true_world is None and n_actions is None and actions is None and getattr(prior, "n_actions", None) is None:
        actions = history.distinct_actions() or None
    if discovers_states(prior):
        if true_world is None and n_states is not None:
            raise ValueError(f"n_states is {n_states}; {prior!r} discovers its states, so leave it out")
        state_labels = _growing_labels(states) if true_world is None else Labels("state", true_world.n_states, states)
        known = state_labels, make_labels("action", n_actions, prior, actions)
        return _Setting(prior, true_world, None, known, state_labels.size if true_world is None else 0)
    named = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
    model = InternalModel(prior, n_states=named.n_states, n_actions=named.n_actions)  # without labels
    return _Setting(prior, true_world, model, (named.state_labels, named.action_labels))


def _replay(
    world: World | Prior,
    history: RawHistory,
    strategy: Strategy,
    sizes: tuple[int | None, int | None],
    labels: tuple[Iterable[Hashable] | None, Iterable[Hashable] | None],
    options: Options = ("auto", None),
) -> tuple[History, list[Part], tuple[Labels, Labels]]:
    """Return the lines of a history, the record of each subject, and the labels of states and actions."""
    setting = _setting(world, history, sizes, labels)
    lines, parts = _read_checked(history, setting, strategy), []
    for subject in _subjects(lines):
        agent = setting.new_agent(strategy, options)
        subject.prepare(agent, setting.labels)
        record, done = agent.replay(*subject.lines)
        subject.check_all_learned(done, setting.labels)
        parts.append((subject.indices, record))
    return lines, parts, setting.labels


class Replays:
    """A table of choices that is replayed many times, with several priors and strategies; it is read once.

    Threads may use it at the same time.

    Parameters
    ----------
    frame : DataFrame
        The history, with the names of columns that `replay` expects.
    actions : iterable of hashable
        Labels of the actions.
    """

    def __init__(self, frame: Any, actions: Iterable[Hashable]) -> None:
        self._history, self._actions = read_raw_history(frame, {}), tuple(actions)
        self._read: dict[Any, tuple[_Setting, list[_Subject]]] = {}

    def action_values(self, world: World | Prior, strategy: Strategy) -> FloatArray:
        """Return the action values before each line, (T, M), as `replay` does, without its warnings."""
        setting = _setting(world, self._history, (None, None), (None, self._actions))
        key = id(setting.world), setting.model is None, setting.labels[0].size
        if key not in self._read:
            lines = _read_checked(self._history, setting, strategy, warns=False)
            self._read[key] = setting, _subjects(lines)  # which keeps the world, so that its id stays its own
        read, subjects = self._read[key]
        values = np.empty((sum(len(subject.indices) for subject in subjects), len(self._actions)))
        agents = self._new_agents(setting._replace(labels=read.labels), strategy, subjects)
        for subject, agent in zip(subjects, agents, strict=True):
            subject.prepare(agent, read.labels)
            values[subject.indices], done = agent.replay_values(*subject.lines)
            subject.check_all_learned(done, read.labels)
        return values

    @staticmethod
    def _new_agents(setting: _Setting, strategy: Strategy, subjects: list[_Subject]) -> Iterator[Agent]:
        """Return an agent for each subject; if states are discovered, copies of one that has room for all of them."""
        agent = setting.new_agent(strategy)
        if not agent.discovers_states:
            return (setting.new_agent(strategy) for _ in subjects)
        agent.expect(max(subject.n_states for subject in subjects), max(subject.n_successors for subject in subjects))
        return (agent.copy() for _ in subjects)


def expected_missing_curve(
    world: World | Prior,
    history: Any,
    n_states: int | None = None,
    n_actions: int | None = None,
    states: Iterable[Hashable] | None = None,
) -> FloatArray:
    """Return the expected missing information before the first and after every line of one subject, in bits."""
    strategy = get_strategy("Random")  # what is learned does not depend on the strategy
    raw = read_raw_history(history, {})
    _, ((_, record),), _ = _replay(world, raw, strategy, (n_states, n_actions), (states, None))
    return np.maximum(record.missing, 0.0)


def _growing_labels(states: Iterable[Hashable] | None) -> GrowingLabels:
    """Return labels of the states known from the start, to which a history may add more."""
    labels = GrowingLabels()
    for label in () if states is None else as_list("states", states):
        if labels.number(label) == labels.size:
            labels.add(label)
    return labels


def _read_checked(history: RawHistory, setting: _Setting, strategy: Strategy, warns: bool = True) -> History:
    """Read a history in numbers, and warn about likely mistakes in it."""
    lines, states, world = read_history(history, *setting.labels), setting.labels[0], setting.world
    if strategy.relocates and lines.allowed is not None:
        raise ValueError(f"{strategy} chooses among all pairs of a state and an action; drop the column allowed")
    if warns:
        warn_unused(history)
    if warns and not strategy.relocates:
        warn_jumps(history, lines, states)
    if warns and world is None:
        warn_untold_ends(history, lines, states, lines.terminal.tolist())
    return _with_terminal(lines, world)


def _with_terminal(lines: History, world: World | None) -> History:
    """Take the terminal states from the world, if there is one; then the lines need not mark ends of episodes."""
    if world is None:
        return lines
    ended = np.zeros(len(lines.steps), dtype=bool)
    return lines._replace(terminal=world.terminal, ended=ended, possible={}, horizon=None, starts=None)


def _prior(world: World | Prior) -> Prior:
    """Return the prior of a world, or the prior itself."""
    if not isinstance(world, World):
        return world
    if world.prior is None:
        raise ValueError(NO_PRIOR)
    return world.prior


class _Subject(NamedTuple):
    """The lines of a subject.

    Attributes
    ----------
    indices : ndarray of int
        Their numbers in the history.
    lines : tuple
        Arguments of `Agent.replay`.
    possible, starts, horizon : dict, ndarray or None, int or None
        As in `berlyne.models.history.History`.
    n_states, n_successors : int
        Number of different states, and the largest number of states that follow one of them.
    """

    indices: IntArray
    lines: tuple[IntArray, TerminalChanges, BoolArray]
    possible: dict[int, BoolArray]
    starts: FloatArray | None
    horizon: int | None
    n_states: int
    n_successors: int

    def prepare(self, agent: Agent, labels: tuple[Labels, Labels]) -> None:
        """Tell an agent what the history says about the world; raise `ValueError` if a line is not possible."""
        for s, actions in self.possible.items():
            agent.allow(s, actions)
        if self.starts is not None:
            agent.tell_starts(self.starts)
        if self.horizon is not None:
            agent.set_horizon(self.horizon)
        steps = self.lines[0].tolist() if agent.allowed else ()
        for i, (s, a, _) in zip(self.indices.tolist(), steps, strict=False):
            if a != UNKNOWN and s in agent.allowed and not agent.allowed[s][a]:
                raise ValueError(
                    f"line {i} of the history, counted from 0: action {labels[1][a]!r} is not possible in state "
                    f"{labels[0][s]!r}"
                )

    def check_all_learned(self, n_learned: int, labels: tuple[Labels, Labels]) -> None:
        """Raise a `ValueError` if an agent has not learned all lines, because the next one is impossible."""
        if n_learned < len(self.indices):
            error = impossible_transition(*self.lines[0][n_learned].tolist()).with_labels(*labels)
            raise ValueError(f"line {self.indices[n_learned]} of the history, counted from 0: {error}")


def _subjects(lines: History) -> list[_Subject]:
    """Return the lines of each subject."""
    subjects = []
    for indices in lines.by_subject():
        steps = np.ascontiguousarray(lines.steps[indices])
        pairs = np.unique(steps[:, ::2], axis=0)
        n_successors = int(np.unique(pairs[:, 0], return_counts=True)[1].max(initial=1))
        replayed = steps, lines.terminal_changes(indices), lines.is_last(indices)
        declared = lines.possible, lines.starts, lines.horizon
        subjects.append(_Subject(indices, replayed, *declared, len(np.unique(pairs)), n_successors))
    return subjects


def _merge_records(parts: list[Part]) -> dict[str, FloatArray]:
    """Merge the records of all subjects into arrays in the order of lines, by name."""
    n_lines = sum(len(lines) for lines, _ in parts)
    merged: dict[str, FloatArray] = {}
    for lines, record in parts:
        missing = np.maximum(record.missing, 0.0)  # rounding errors of many summed gains can leave it below zero
        arrays = {
            "values": record.values,
            "probabilities": record.probabilities,
            "utility": record.utility,
            "before": missing[:-1],
            "after": missing[1:],
        }
        if len(parts) == 1:
            return arrays
        for name, values in arrays.items():
            merged.setdefault(name, np.empty((n_lines, *values.shape[1:])))[lines] = values
    return merged


def _dataset(strategy: Strategy, lines: History, parts: list[Part], labels: tuple[Labels, Labels]) -> Dataset:
    """Return the dataset of a replay, with units and labels."""
    from xarray import Dataset

    (states, actions), arrays = labels, _merge_records(parts)
    steps, by_action = lines.steps, ("step", "action")
    if lines.allowed is not None:
        arrays["probabilities"] = _among_allowed(strategy, arrays, lines.allowed)
    taken = arrays["probabilities"][np.arange(len(steps)), steps[:, 1]]
    with np.errstate(divide="ignore"):
        log_likelihood = np.where(lines.scored, np.log(taken), np.nan)
    missing = {"units": "bits", "long_name": "E[D(theta || theta_hat)] of all rows"}
    data = {
        "action_values": (by_action, arrays["values"], {"units": _unit_of_values(strategy)}),
        "probabilities": (by_action, arrays["probabilities"], {"units": "1"}),
        "log_likelihood": ("step", log_likelihood, {"units": "nats", "long_name": "of the action that was taken"}),
        "utilities": (by_action, arrays["utility"], {"units": _unit(strategy)}),
        "expected_missing_information": ("step", arrays["before"], {**missing, "when": "before the step"}),
        "expected_missing_information_after": ("step", arrays["after"], {**missing, "when": "after the step"}),
    }
    for i, name in enumerate(COLUMNS):
        data[name] = ("step", _apply_labels(steps[:, i], actions if name == "a" else states), {"units": "1"})
    coordinates: dict[str, Any] = {
        "step": np.arange(len(steps)),
        "action": _apply_labels(np.arange(actions.size), actions),
    }
    coordinates.update({name: ("step", label_array(values)) for name, values in lines.labels.items()})
    for name, values in lines.others.items():
        while name in coordinates or name in data:
            name += "_"
        coordinates[name] = ("step", values)
    return Dataset(data, coordinates, {"strategy": strategy.name})


def _among_allowed(strategy: Strategy, arrays: dict[str, FloatArray], allowed: BoolArray) -> FloatArray:
    """Return the probabilities of the actions among the allowed ones, (T, M); see `Explorer.probabilities`."""
    restricted = ~allowed.all(axis=1)
    values, probabilities = arrays["values"][restricted], arrays["probabilities"].copy()
    without_values = chooses_directly(strategy.coordinate) and strategy.temperature == strategy.lapse == 0.0
    if np.any(np.isnan(values)) or without_values:
        raise ValueError(f"{strategy} chooses without action values, so the column allowed cannot be used; drop it")
    probabilities[restricted] = strategy.rule.probabilities(np.where(allowed[restricted], values, -np.inf))
    return probabilities


def _apply_labels(numbers: IntArray, labels: Labels) -> Any:
    """Return the labels of these numbers, or the numbers if there are no labels; NaN or None if unknown."""
    if labels.custom is None:
        return np.where(numbers == UNKNOWN, np.nan, numbers) if np.any(numbers == UNKNOWN) else numbers
    return label_array([None if i == UNKNOWN else labels[i] for i in numbers.tolist()])


def _unit(strategy: Strategy) -> str:
    """Return the unit of the utility of a strategy."""
    return UTILITIES[strategy.utility].unit if isinstance(strategy.utility, str) else "1"


def _unit_of_values(strategy: Strategy) -> str:
    """Return the unit of the action values of a strategy."""
    units = {LeastTaken: "minus times taken", CounterBased: "minus expected visits"}
    return units.get(type(strategy.coordinate), _unit(strategy))
