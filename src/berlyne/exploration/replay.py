"""Replay a recorded history: the values and probabilities that an explorer assigns to the recorded actions.

The history may come from an exploration, a person or an animal. Before each line, the explorer computes its values and
probabilities of the actions. Then it learns the recorded transition, even if it would have chosen another action.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import Engine, make_agent, make_open_state_agent, tell_world
from berlyne.engine.records import ReplayRecord
from berlyne.labels import GrowingLabels, Labels, as_list, impossible_transition, label_array
from berlyne.models.history import COLUMNS, History, read_history
from berlyne.models.internal_model import InternalModel, make_labels
from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import CounterBased, LeastTaken
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import FloatArray, IntArray
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
) -> Dataset:
    """Replay a history: compute an explorer's action values and probabilities before each step, then learn the step.

    Parameters
    ----------
    world : World or Prior
        A world, or only a prior. The explorer uses only the prior of a world, unless the strategy sees the true world.
    history : object
        Lines (s, a, s_next) or (s, a, s_next, ended) of labels (integers if there are no labels), such as `history` of
        an explorer or a run; a list or tuple of three arrays; a `Run`; or a pandas frame. A frame has the columns or
        index levels s, a and s_next, and optionally subject, episode and ended (true or false).
    strategy : str or Strategy
        A strategy, or its name, such as "PIG(VI)".
    n_states, n_actions : int, optional
        Numbers of states and actions, needed only if the prior does not define them.
    states, actions : iterable of hashable, optional
        Labels used in the history; by default those of the world or, if it has none, 0, 1, 2, ... With a prior that
        discovers states, `states` is optional; explorers know these states from the start.
    engine : {"auto", "compiled", "numpy"}
        As in `berlyne.explore`.

    Returns
    -------
    xarray.Dataset
        A dataset with these variables:

        - `action_values`, `probabilities`, `utilities` (step, action): results of `Explorer.action_values`,
          `.probabilities` and `.utility` in the state of the step, before it is learned. A terminal state is treated as
          nonterminal here. Unembodied chooses a pair of a state and an action. For it, `probabilities` contains the
          entries of state s in the distribution over all pairs, so they need not sum to 1.
        - `log_likelihood` (step): natural logarithm of the probability of the recorded action.
        - `expected_missing_information`, `expected_missing_information_after` (step): E[D(theta || theta_hat)] of all
          rows of nonterminal states, before and after the step, in bits. NaN if the prior has no method
          `expected_missing_information`.
        - `s`, `a`, `s_next` (step): the history, with the coordinates `subject` and `episode` if it has them.

    Notes
    -----
    Every subject has its own explorer, which learns through all episodes. Each line sets the current state, so a jump
    from the end of one line to the start of the next is not learned as a transition. CB counts a visit of the new
    state, unless the previous line already led to it.

    Terminal states, whose actions have value 0, are known from the world, or from the world that a `Run` explored.
    Otherwise the explorer learns them as `Explorer` does: from a `Run` in an environment, or from `ended` of lines or
    of a frame. A line that begins in a terminal state makes it nonterminal. After an end, plans go on where episodes
    begin: as the world defines it, or where the episodes of the subject began so far. Actions that are not possible are
    known from the world, or from the `Run`.

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
    return _dataset(strategy, *_replay(world, history, strategy, sizes, labels, engine))


Part = tuple[IntArray, ReplayRecord]
"""Lines of a subject, and the record of their replay."""


def _replay(
    world: World | Prior,
    history: Any,
    strategy: Strategy,
    sizes: tuple[int | None, int | None],
    labels: tuple[Iterable[Hashable] | None, Iterable[Hashable] | None],
    engine: Engine = "auto",
) -> tuple[History, list[Part], tuple[Labels, Labels]]:
    """Return the lines of a history, the record of each subject, and the labels of states and actions."""
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
    if discovers_states(prior):
        if true_world is None and n_states is not None:
            raise ValueError(f"n_states is {n_states}; {prior!r} discovers its states, so leave it out")
        state_labels = _growing_labels(states) if true_world is None else Labels("state", true_world.n_states, states)
        known = state_labels, make_labels("action", n_actions, prior, actions)
        return _replay_open_states(prior, strategy, true_world, engine, history, known)
    named = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
    model = InternalModel(prior, n_states=named.n_states, n_actions=named.n_actions)  # without labels
    known = named.state_labels, named.action_labels
    lines = _with_terminal(read_history(history, *known), true_world)
    parts = [
        (indices, _replay_subject(make_agent(model, strategy, true_world, engine), lines, indices, known))
        for indices in _by_subject(lines)
    ]
    return lines, parts, known


def expected_missing_curve(
    world: World | Prior,
    history: Any,
    n_states: int | None = None,
    n_actions: int | None = None,
    states: Iterable[Hashable] | None = None,
) -> FloatArray:
    """Return the expected missing information before the first and after every line of one subject, in bits."""
    strategy = get_strategy("Random")  # what is learned does not depend on the strategy
    _, ((_, record),), _ = _replay(world, history, strategy, (n_states, n_actions), (states, None))
    return np.maximum(record.missing, 0.0)


def _growing_labels(states: Iterable[Hashable] | None) -> GrowingLabels:
    """Return labels of the states known from the start, to which a history may add more."""
    labels = GrowingLabels()
    for label in () if states is None else as_list("states", states):
        if labels.number(label) == labels.size:
            labels.add(label)
    return labels


def _replay_open_states(
    prior: Prior, strategy: Strategy, world: World | None, engine: Engine, history: Any, labels: tuple[Labels, Labels]
) -> tuple[History, list[Part], tuple[Labels, Labels]]:
    """Replay a history with a prior that discovers states."""
    n_initial = labels[0].size if isinstance(labels[0], GrowingLabels) else 0
    lines, parts = _with_terminal(read_history(history, *labels), world), []
    for indices in _by_subject(lines):
        agent = make_open_state_agent(prior, labels[1].size, strategy, engine)
        if world is not None:
            tell_world(agent, world)
        for s in range(n_initial):
            agent.discover(s)
        parts.append((indices, _replay_subject(agent, lines, indices, labels)))
    return lines, parts, labels


def _with_terminal(lines: History, world: World | None) -> History:
    """Take the terminal states from the world, if there is one; then the lines need not mark ends of episodes."""
    if world is None:
        return lines
    return lines._replace(terminal=world.terminal, ended=np.zeros(len(lines.steps), dtype=bool), allowed={})


def _prior(world: World | Prior) -> Prior:
    """Return the prior of a world, or the prior itself."""
    if not isinstance(world, World):
        return world
    if world.prior is None:
        raise ValueError(NO_PRIOR)
    return world.prior


def _by_subject(lines: History) -> list[IntArray]:
    """Return the indices of the lines of each subject, in order."""
    subjects = lines.labels.get("subject")
    if subjects is None or not subjects:
        return [np.arange(len(lines.steps))]
    number = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
    numbers = np.array([number[subject] for subject in subjects])
    return [np.flatnonzero(numbers == i) for i in range(len(number))]


def _replay_subject(agent: Agent, lines: History, indices: IntArray, labels: tuple[Labels, Labels]) -> ReplayRecord:
    """Return the record of one subject, whose lines have these indices; raise `ValueError` if one is impossible."""
    steps = np.ascontiguousarray(lines.steps[indices])
    for s, actions in lines.allowed.items():
        agent.allow(s, actions)
    for i, (s, a, _) in zip(indices.tolist(), steps.tolist(), strict=True) if agent.allowed else ():
        if s in agent.allowed and not agent.allowed[s][a]:
            raise ValueError(
                f"line {i} of the history, counted from 0: action {labels[1][a]!r} is not possible in state "
                f"{labels[0][s]!r}"
            )
    record, done = agent.replay(steps, lines.terminal_changes(indices), lines.ended[indices])
    if done < len(steps):
        error = impossible_transition(*steps[done].tolist()).with_labels(*labels)
        raise ValueError(f"line {indices[done]} of the history, counted from 0: {error}")
    return record


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
    taken = arrays["probabilities"][np.arange(len(steps)), steps[:, 1]]
    with np.errstate(divide="ignore"):
        log_likelihood = np.log(taken)
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
    return Dataset(data, coordinates, {"strategy": strategy.name})


def _apply_labels(numbers: IntArray, labels: Labels) -> Any:
    """Return the labels of these numbers, or the numbers if there are no labels."""
    return numbers if labels.custom is None else label_array([labels[i] for i in numbers.tolist()])


def _unit(strategy: Strategy) -> str:
    """Return the unit of the utility of a strategy."""
    return UTILITIES[strategy.utility].unit if isinstance(strategy.utility, str) else "1"


def _unit_of_values(strategy: Strategy) -> str:
    """Return the unit of the action values of a strategy."""
    units = {LeastTaken: "minus times taken", CounterBased: "minus expected visits"}
    return units.get(type(strategy.coordinate), _unit(strategy))
