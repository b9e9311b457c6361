"""An explorer led along a recorded history: what it would have thought, and how likely the choices were to it.

The history may be anybody's: of an exploration, of a person, of an animal. Before each of its lines the explorer
says what it thinks of the actions; then it learns what happened, whatever it would have done itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.base import Engine, make_agent, make_open_state_agent
from berlyne.engine.records import ReplayRecord
from berlyne.exploration.explore import NO_PRIOR
from berlyne.labels import GrowingLabels, Labels, as_list, impossible_transition, label_array
from berlyne.models.history import COLUMNS, History, TerminalChange, read_history
from berlyne.models.internal_model import InternalModel, make_labels
from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import CounterBased, LeastTaken
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

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
    """Lead an explorer along a history, and note what it thinks before each step.

    Every subject has an explorer of its own, which learns through all episodes. An explorer is found where the next
    line says, so nothing is learned of how one episode came after another; to CB that is a visit of the state, unless
    the line before led there. In which states episodes end, where no action is worth anything, it knows from the world,
    or of a `Run` from its world; or it learns it as `Explorer` does, from what `explore_env` returned or from a column
    `ended` of a frame; a line that begins in an end shows that it is none. With a prior that discovers states, those
    are discovered that the history names, as it names them.

    Parameters
    ----------
    world : a world, of which the explorer knows the prior only, unless the strategy may see it; or just a prior.
    history : lines (s, a, s_next) of labels, whole numbers where there are none; a list or tuple of three arrays; a
        `Run`, or what `explore_env` returned; or a pandas frame with columns, or levels of its index, s, a and
        s_next, and if need be subject, episode and ended (true or false).
    strategy : a name such as "PIG(VI)", or a `Strategy`.
    n_states, n_actions : needed only for a prior that does not carry them.
    states, actions : labels in which the history speaks; those of the world if it has any, else 0, 1, 2, ... Where
        states are discovered they need not be known; explorers know those that are given from the start.
    engine : as in `berlyne.explore`.

    Returns
    -------
    xarray.Dataset of

    - `action_values`, `probabilities`, `utilities` (step, action): as `Explorer.action_values`, `.probabilities` and
      `.utility` say them in the state of the step, before it is made, as if that were no end;
    - `log_likelihood` (step): natural logarithm of the probability of the action that was taken;
    - `expected_missing_information`, `expected_missing_information_after` (step): E[D(theta || theta_hat)] of all rows
      but those of terminal states, before and after the step, in bits; NaN for a prior that does not say it;
    - `s`, `a`, `s_next` (step), the history itself, and the coordinates `subject` and `episode` if it has them.

    For Unembodied a choice is one of a pair: probabilities are those of the pairs of the state s among all pairs.

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(0)
    >>> run = berlyne.explore(world, "LTA", n_steps=100)
    >>> float(berlyne.replay(world, run, "Random").log_likelihood.mean())  # log 1/4
    -1.3862943611198906
    """
    strategy, prior = get_strategy(strategy), _prior(world)
    seen = world if isinstance(world, World) else None
    if seen is not None:
        for name, given, its in (("n_states", n_states, seen.n_states), ("n_actions", n_actions, seen.n_actions)):
            if given is not None and given != its:
                raise ValueError(f"{name} is {given}; the world has {its}, so leave it out")
        n_states, n_actions = seen.n_states, seen.n_actions
        states = seen.state_labels.custom if states is None else states
        actions = seen.action_labels.custom if actions is None else actions
    if discovers_states(prior):
        if seen is None and n_states is not None:
            raise ValueError(f"n_states is {n_states}; {prior!r} discovers its states, so leave it out")
        named_states = Labels("state", seen.n_states, states) if seen is not None else _found(states)
        labels = named_states, make_labels("action", n_actions, prior, actions)
        return _discovering(prior, strategy, seen, engine, history, labels)
    named = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
    model = InternalModel(prior, n_states=named.n_states, n_actions=named.n_actions)  # the mind counts
    lines = _with_ends(read_history(history, named.state_labels, named.action_labels), seen)
    parts = []
    for where in _by_subject(lines):
        record, done = _thoughts(model, strategy, seen, engine, lines.steps[where], lines.terminal_changes(where))
        if done < len(where):
            s, a, s_next = lines.steps[where[done]]
            error = impossible_transition(s, a, s_next).with_labels(named.state_labels, named.action_labels)
            raise ValueError(f"line {where[done]} of the history, counted from 0, says that {error}")
        parts.append((where, record))
    return _dataset(strategy, lines, _together(parts), (named.state_labels, named.action_labels))


def expected_missing_curve(world: World | Prior, history: Any, **options: Any) -> FloatArray:
    """What an explorer led along a history expects to be missing before the first and after every line, in bits."""
    led = replay(world, history, "Random", **options)  # whatever it would choose, it learns the same
    return np.append(led.expected_missing_information.values[:1], led.expected_missing_information_after.values)


def _found(states: Iterable[Hashable] | None) -> GrowingLabels:
    """Labels of the states that explorers know from the start, to which a history may add."""
    labels = GrowingLabels()
    for label in () if states is None else as_list("states", states):
        if labels.number(label) == labels.size:
            labels.add(label)
    return labels


def _discovering(
    prior: Prior, strategy: Strategy, world: World | None, engine: Engine, history: Any, labels: tuple[Labels, Labels]
) -> Dataset:
    """A replay in which states are discovered."""
    known = labels[0].size if isinstance(labels[0], GrowingLabels) else 0
    lines, parts = _with_ends(read_history(history, *labels), world), []
    for where in _by_subject(lines):
        agent = make_open_state_agent(prior, labels[1].size, strategy, engine)
        for s in range(known):
            agent.discover(s)
        parts.append((where, agent.replay(lines.steps[where], lines.terminal_changes(where))))
    return _dataset(strategy, lines, _together(parts), labels)


def _with_ends(lines: History, world: World | None) -> History:
    """The lines as those know them who know where the episodes of the world end: there is nothing to learn of that."""
    if world is None:
        return lines
    return lines._replace(terminal=world.terminal, ended=np.zeros(len(lines.steps), dtype=bool))


def _prior(world: World | Prior) -> Prior:
    if not isinstance(world, World):
        return world
    if world.prior is None:
        raise ValueError(NO_PRIOR)
    return world.prior


def _by_subject(lines: History) -> list[IntArray]:
    """The lines of each subject, in their order."""
    subjects = lines.labels.get("subject")
    if subjects is None or not subjects:
        return [np.arange(len(lines.steps))]
    number = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
    of_line = np.array([number[subject] for subject in subjects])
    return [np.flatnonzero(of_line == i) for i in range(len(number))]


def _thoughts(
    model: InternalModel,
    strategy: Strategy,
    world: World | None,
    engine: Engine,
    steps: IntArray,
    ends: list[TerminalChange],
) -> tuple[ReplayRecord, int]:
    """What one explorer thinks along its lines, and how many of them it could learn."""
    return make_agent(model, strategy, world, engine).replay(np.ascontiguousarray(steps), world, ends)


def _together(parts: list[tuple[IntArray, ReplayRecord]]) -> dict[str, FloatArray]:
    """The thoughts of all explorers in the order of lines, by name."""
    found: dict[str, FloatArray] = {}
    for where, record in parts:
        missing = np.maximum(record.missing, 0.0)  # sums of many gains: rounding may leave them below zero
        own = {
            "values": record.values,
            "probabilities": record.probabilities,
            "utility": record.utility,
            "before": missing[:-1],
            "after": missing[1:],
        }
        if len(parts) == 1:
            return own
        for name, values in own.items():
            every = sum(len(lines) for lines, _ in parts)
            found.setdefault(name, np.empty((every, *values.shape[1:])))[where] = values
    return found


def _dataset(strategy: Strategy, lines: History, found: dict[str, FloatArray], named: tuple[Labels, Labels]) -> Dataset:
    from xarray import Dataset

    states, actions = named

    steps, by_action = lines.steps, ("step", "action")
    taken = found["probabilities"][np.arange(len(steps)), steps[:, 1]]
    with np.errstate(divide="ignore"):
        log_likelihood = np.log(taken)
    left = {"units": "bits", "long_name": "E[D(theta || theta_hat)] of all rows"}
    data = {
        "action_values": (by_action, found["values"], {"units": _unit_of_values(strategy)}),
        "probabilities": (by_action, found["probabilities"], {"units": "1"}),
        "log_likelihood": ("step", log_likelihood, {"units": "nats", "long_name": "of the action that was taken"}),
        "utilities": (by_action, found["utility"], {"units": _unit(strategy)}),
        "expected_missing_information": ("step", found["before"], {**left, "when": "before the step"}),
        "expected_missing_information_after": ("step", found["after"], {**left, "when": "after the step"}),
    }
    for i, name in enumerate(COLUMNS):
        data[name] = ("step", _spoken(steps[:, i], actions if name == "a" else states), {"units": "1"})
    coordinates: dict[str, Any] = {"step": np.arange(len(steps)), "action": _spoken(np.arange(actions.size), actions)}
    coordinates.update({name: ("step", label_array(values)) for name, values in lines.labels.items()})
    return Dataset(data, coordinates, {"strategy": strategy.name})


def _spoken(numbers: IntArray, labels: Labels) -> Any:
    """Numbers, or the labels that they stand for."""
    return numbers if labels.custom is None else label_array([labels[i] for i in numbers.tolist()])


def _unit(strategy: Strategy) -> str:
    return UTILITIES[strategy.utility].unit if isinstance(strategy.utility, str) else "1"


def _unit_of_values(strategy: Strategy) -> str:
    kinds = {LeastTaken: "minus times taken", CounterBased: "minus expected visits"}
    return kinds.get(type(strategy.coordinate), _unit(strategy))
