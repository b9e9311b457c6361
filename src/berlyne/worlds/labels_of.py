"""Ready-made labels of transitions, for priors that share between rows.

Labels are knowledge that an explorer has before it starts, so they use only the states, the actions, their positions,
the walls and transporters of a maze, and the support of the prior. They never use the probabilities of the world. For
the same reason they do not use computed positions (`berlyne.worlds.layout`), which depend on these probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berlyne.labels import Labels
from berlyne.priors.dirichlet import as_support
from berlyne.priors.transition_labels import NO_LABEL, LabelFunction, TransitionLabels, label_by
from berlyne.sparse import Support
from berlyne.validation import SHARING, FloatArray, IntArray, check_dense, short_repr
from berlyne.worlds.from_gymnasium import NoTableError, as_env, from_gymnasium, is_environment
from berlyne.worlds.layout import Geometry
from berlyne.worlds.world import World

STAY, JUMP = "stay", "jump"
"""Names of transitions that stay, and of those that lead neither there nor to a neighbour."""
PLANE: dict[Hashable, tuple[int, ...]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Change of (x, y) by each direction of a maze or a grid; y points down."""
LINE: dict[Hashable, tuple[int, ...]] = {"left": (-1,), "right": (1,)}
"""Change of x by each direction of a line."""
DECIMALS = 9
"""Positions are rounded to this number of decimals, so that equal displacements are equal."""

Kind = str | LabelFunction
"""Name of labels, or a function of a state, an action and the next state."""


class _Transitions(NamedTuple):
    """Possible transitions, and what labels may use.

    Attributes
    ----------
    support : Support
        Possible transitions.
    s, a, s_next : ndarray of int, shape (n_transitions,)
        Numbers of states and actions, in the order of `support.entries()`.
    states, actions : Labels
        Labels of states and actions.
    positions : ndarray of shape (N, D) or None
        Positions of the states.
    geometry : Geometry or None
        Walls and transporters of a maze.
    """

    support: Support
    s: IntArray
    a: IntArray
    s_next: IntArray
    states: Labels
    actions: Labels
    positions: FloatArray | None
    geometry: Geometry | None


class _Classes(NamedTuple):
    """Class of every transition in some features, (F, n_transitions), -1 for none, and the names of the classes."""

    labels: IntArray
    names: list[Hashable]


def labels_of(
    world: Any, kind: Kind | Sequence[Kind] = "effects", *, positions: Any = None, support: Any = None
) -> TransitionLabels:
    """Return labels of the transitions of a world, for `berlyne.SharedDirichlet`.

    Transitions with the same label belong to one class, and the prior learns one weight for each class. All ready-made
    labels are kept apart by action, so that an explorer learns what each action tends to do. The labels of a world do
    not depend on its probabilities.

    Parameters
    ----------
    world : World, gymnasium.Env or str
        World or environment, or the id of an environment. An environment needs discrete observations and actions. If it
        has a transition table, the names of actions and the cells of a grid are known, as in `berlyne.from_gymnasium`.
    kind : {"effects", "moves", "shifts", "targets"}, callable, or list of these
        "effects": the pushes that would lead there. A push leads to the neighbour in one direction. If a wall is there,
        it leads back to the same state, and a transporter of a maze leads to the base. A transition has one label for
        every direction whose push leads there, each in a feature of its own; otherwise it is "stay" or "jump".
        "moves": what the transition does. It is one step up, down, left or right, "stay" or "jump".
        "shifts": the change of position. "targets": the next state, which needs no positions.
        A function of (s, a, s_next), as labels, returns a hashable label, or None for none. A list makes one feature of
        each item (four of "effects"), and the weights of all labels of a transition are added.
    positions : array of shape (N, D) or (N,), mapping, callable, optional
        Position of every state, x to the right and y down: an array, a mapping from states, or a function of a state,
        such as an observation. Neighbours are 1 apart. By default those of the world, which mazes, grids and chains
        have.
    support : array of shape (M, N, N), Support, "all" or other forms of `berlyne.Dirichlet`, optional
        Possible transitions. By default the support of the prior of the world; without one, all transitions.

    Returns
    -------
    TransitionLabels
        Labels of all possible transitions, and the names of the classes: pairs (action, effect), or the values that
        the function returned. A transition without any label shares nothing.

    Raises
    ------
    ValueError
        If an argument is invalid, or if positions are needed but missing.

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(seed=9)
    >>> labels = labels_of(world)
    >>> labels.names[:4]  # what action 0 tends to do, in any room
    ((0, 'up'), (0, 'down'), (0, 'left'), (0, 'right'))
    >>> labels_of(world, lambda s, a, s_next: "stay" if s == s_next else "leave")
    TransitionLabels(2 classes, 1 feature, 484 transitions)
    """
    transitions = _transitions(world, positions, support)
    kinds = [kind] if isinstance(kind, str) or callable(kind) else kind
    if not isinstance(kinds, Iterable) or not (kinds := list(kinds)):
        raise ValueError(f"kind is {short_repr(kind)}; it must be {_valid_kinds()}, or a list of these")
    parts = [_classes(one, transitions) for one in kinds]
    number = {name: i for i, name in enumerate(dict.fromkeys(name for part in parts for name in part.names))}
    labels = np.concatenate([_renumber(part, number) for part in parts])
    states, actions = transitions.states, transitions.actions
    return TransitionLabels(transitions.support, labels.astype(np.int32), tuple(number), states, actions)


def _valid_kinds() -> str:
    return f"{', '.join(map(repr, KINDS))} or a function of (s, a, s_next)"


def _classes(kind: Any, transitions: _Transitions) -> _Classes:
    """Return the labels of one kind."""
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind](transitions)
    if not callable(kind):
        raise ValueError(f"kind is {short_repr(kind)}; it must be {_valid_kinds()}")
    return _by_function(transitions, kind)


def _renumber(classes: _Classes, number: Mapping[Hashable, int]) -> IntArray:
    """Return the labels with the numbers that their names have among all kinds; the same name is the same class."""
    numbers = np.array([*(number[name] for name in classes.names), NO_LABEL])
    return np.asarray(numbers[classes.labels])  # -1 stands for the last number


def _transitions(world: Any, positions: Any, support: Any) -> _Transitions:
    """Return the possible transitions of a world or an environment, and what labels may use."""
    states, actions, own_positions, geometry, own_support = _parts(world)
    if isinstance(support, str) and support != "all":
        raise ValueError(f"support is {support!r}; it must be 'all' or an array (n_actions, n_states, n_states)")
    if support is None:
        possible = own_support
    else:
        possible = as_support(None if isinstance(support, str) else support, states.size, actions.size)
    if possible.is_full:
        check_dense("the support", actions.size, states.size, "support=, the possible transitions")
    row = possible.row_numbers()
    s, a = np.divmod(row, actions.size)
    if positions is not None:
        own_positions, geometry = _parse_positions(positions, states), None
    s_next = possible.entries()[1].astype(np.int64)
    return _Transitions(possible, s, a, s_next, states, actions, own_positions, geometry)


def _parts(world: Any) -> tuple[Labels, Labels, FloatArray | None, Geometry | None, Support]:
    """Return labels of states and of actions, positions, geometry and support of a world or an environment."""
    if isinstance(world, str) or is_environment(world):
        env = as_env(world)
        try:
            world = from_gymnasium(env)
        except NoTableError:
            return _parts_of_spaces(env)
    if not isinstance(world, World):
        raise ValueError(f"world is {short_repr(world)}; it must be a World, or a Gymnasium environment or its id")
    support = getattr(world.prior, "support", None)
    if not isinstance(support, Support):
        support = Support(world.n_actions, world.n_states)
    return world.state_labels, world.action_labels, world.positions, world.geometry, support


def _parts_of_spaces(env: Any) -> tuple[Labels, Labels, None, None, Support]:
    """Return the parts of an environment without a transition table, from its spaces."""
    sizes = []
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
            raise ValueError(f"the {name} of the environment is {short_repr(space)}; it must be Discrete(n)")
        sizes.append(int(space.n))
    n_states, n_actions = sizes
    return Labels("state", n_states), Labels("action", n_actions), None, None, Support(n_actions, n_states)


def _parse_positions(positions: Any, states: Labels) -> FloatArray:
    """Return positions in any supported form as an array (N, D)."""
    n = states.size
    if callable(positions):
        positions = [positions(state) for state in states.all]
    elif isinstance(positions, Mapping):
        missing = [state for state in states.all if state not in positions]
        if missing:
            raise ValueError(f"positions do not contain state {missing[0]!r}; every state needs a position")
        positions = [positions[state] for state in states.all]
    try:
        array = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim == 1 and len(array) == n:
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != n or not array.shape[1] or not np.all(np.isfinite(array)):
        problem = f"have shape {array.shape}" if array.ndim != 2 or len(array) != n else "are not finite"
        raise ValueError(f"positions {problem}; they must be finite numbers of shape ({n}, D), one row for every state")
    return array


def _positions(transitions: _Transitions, kind: str) -> FloatArray:
    """Return the positions of the states; a `ValueError` if there are none."""
    if transitions.positions is None:
        raise ValueError(
            f"kind is {kind!r}, but the states have no positions; pass positions=, a function of (s, a, s_next), "
            f"or kind='targets'{SHARING}"
        )
    return np.round(transitions.positions, DECIMALS)


def _directions(n_dimensions: int) -> dict[Hashable, tuple[int, ...]]:
    """Return the steps to neighbours, by name."""
    if n_dimensions <= 2:
        return LINE if n_dimensions == 1 else PLANE
    units = np.eye(n_dimensions, dtype=np.int64)
    return {tuple(step): tuple(step) for unit in units for step in (unit.tolist(), (-unit).tolist())}


def _displacement(transitions: _Transitions, kind: str) -> FloatArray:
    """Return the change of position of each transition, (n_transitions, D)."""
    positions = _positions(transitions, kind)
    return np.round(positions[transitions.s_next] - positions[transitions.s], DECIMALS) + 0.0  # no negative zeros


def _by_action(transitions: _Transitions, code: IntArray, names: Sequence[Hashable]) -> _Classes:
    """Return classes that are pairs of an action and a code, numbered by action; a code of -1 is no label."""
    code = np.atleast_2d(code)
    keys = np.where(code >= 0, transitions.a * len(names) + code, NO_LABEL)
    used = np.unique(keys[keys >= 0])
    pairs = (divmod(key, len(names)) for key in used.tolist())
    labels = np.where(code >= 0, np.searchsorted(used, keys), NO_LABEL)
    return _Classes(labels, [(transitions.actions[a], names[i]) for a, i in pairs])


def _moves(transitions: _Transitions) -> _Classes:
    """Return what each transition does: a step in some direction, staying, or a jump."""
    shift = _displacement(transitions, "moves")
    steps = _directions(shift.shape[1])
    code = np.full(len(shift), len(steps) + 1)
    for i, step in enumerate(steps.values()):
        code[np.all(shift == step, axis=1)] = i
    code[transitions.s == transitions.s_next] = len(steps)
    return _by_action(transitions, code, [*steps, STAY, JUMP])


def _targets(transitions: _Transitions) -> _Classes:
    """Return the next state of each transition."""
    return _by_action(transitions, transitions.s_next, transitions.states.all)


def _shifts(transitions: _Transitions) -> _Classes:
    """Return the change of position of each transition."""
    shifts, code = np.unique(_displacement(transitions, "shifts"), axis=0, return_inverse=True)
    names = [tuple(int(x) if x == int(x) else x for x in shift) for shift in shifts.tolist()]
    return _by_action(transitions, code.ravel(), names)


def _effects(transitions: _Transitions) -> _Classes:
    """Return the pushes that lead to each next state, in one feature for each direction.

    A transition that no push explains has a label in the first feature.
    """
    destination, names = _pushes(transitions)  # (n_directions, n_transitions)
    is_effect = destination == transitions.s_next
    code = np.where(is_effect, np.arange(len(names))[:, np.newaxis], NO_LABEL)
    unexplained = ~is_effect.any(axis=0)
    stays = transitions.s == transitions.s_next
    code[0, unexplained] = np.where(stays, len(names), len(names) + 1)[unexplained]
    return _by_action(transitions, code, [*names, STAY, JUMP])


def _pushes(transitions: _Transitions) -> tuple[IntArray, list[Hashable]]:
    """Return the state that a push in each direction leads to, (n_directions, n_transitions), and the directions.

    Without the geometry of a maze, a push leads to the neighbour if that is possible, and stays otherwise.
    """
    if transitions.geometry is not None:
        return transitions.geometry.destination.T[:, transitions.s].astype(np.int64), [*PLANE]
    positions = _positions(transitions, "effects")
    steps = _directions(positions.shape[1])
    neighbours = _neighbours(positions, list(steps.values()), transitions.states)
    exists = np.any(neighbours >= 0, axis=1)  # a line in the plane has no up and no down
    if not exists.any():
        raise ValueError(
            "positions have no two states that are 1 apart, so nothing is a neighbour; scale them, or pass another kind"
        )
    beside = neighbours[exists][:, transitions.s]
    row = np.broadcast_to(transitions.support.row_numbers(), beside.shape)
    is_open = beside >= 0
    is_open[is_open] = transitions.support.contains(row[is_open], beside[is_open])
    names = [name for name, is_used in zip(steps, exists.tolist(), strict=True) if is_used]
    return np.where(is_open, beside, transitions.s), names


def _neighbours(positions: FloatArray, steps: list[tuple[int, ...]], states: Labels) -> IntArray:
    """Return the state one step away in each direction, (n_directions, N); -1 if there is none."""
    number: dict[tuple[float, ...], int] = {}
    for s, position in enumerate(map(tuple, positions.tolist())):
        if number.setdefault(position, s) != s:
            raise ValueError(
                f"the states {states[number[position]]!r} and {states[s]!r} both lie at {position}; for kind='effects' "
                "every state needs a different position"
            )
    points = (np.round(positions + np.array(step), DECIMALS) for step in steps)
    return np.array([[number.get(tuple(point), -1) for point in near.tolist()] for near in points])


def _by_function(transitions: _Transitions, function: LabelFunction) -> _Classes:
    """Return the labels that a function of states and actions returns; None is no label."""
    number: dict[Hashable, int] = {}
    labels = np.full(len(transitions.s), NO_LABEL)
    states, actions = transitions.states.all, transitions.actions.all
    triples = zip(transitions.s.tolist(), transitions.a.tolist(), transitions.s_next.tolist(), strict=True)
    for i, (s, a, s_next) in enumerate(triples):
        label = label_by(function, (states[s], actions[a], states[s_next]))
        if label is not None:
            labels[i] = number.setdefault(label, len(number))
    return _Classes(labels[np.newaxis], list(number))


KINDS: dict[str, Callable[[_Transitions], _Classes]] = {
    "effects": _effects,
    "moves": _moves,
    "shifts": _shifts,
    "targets": _targets,
}
"""Ready-made labels by name."""
