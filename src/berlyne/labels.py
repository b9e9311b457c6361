"""Labels of states and actions: any hashable values, or the numbers 0, 1, 2, ... by default.

Kernels number states and actions from zero. Labels are converted to numbers when a user passes them in, and numbers to
labels when results are returned. Default labels are the numbers themselves, so they need no dictionary.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from berlyne.frozen import Frozen
from berlyne.validation import OWN_PRIOR, check_index, short_repr

UNDISCOVERED = "elsewhere"
"""Label of the cell that stands for all undiscovered states."""
MAX_LABELS_SHOWN = 6
"""Largest number of labels that a message lists."""
PASS_OBSERVE = "pass observe=, a function that converts an observation to a state"
"""Remedy for observations that cannot be states; `opaque_env` replaces it, because a study has no `observe`."""
ALLOW_TRANSITION = f"; check the transition, or use a prior that allows it{OWN_PRIOR}"
IMPOSSIBLE_TRANSITION = f"the observed transition has probability zero under the prior{ALLOW_TRANSITION}"


class Labels(Frozen):
    """The labels of all states, or of all actions.

    Parameters
    ----------
    kind : {"state", "action"}
        The word that messages use.
    size : int
        Number of labels.
    custom : iterable of hashable, optional
        `size` different labels, in the order of their numbers. By default the labels are the numbers.

    Attributes
    ----------
    all : sequence
        The labels in order: a tuple, or `range(size)`.

    Examples
    --------
    >>> colours = Labels("state", 2, ["red", "blue"])
    >>> colours.number("blue"), colours[0]
    (1, 'red')
    """

    kind: str
    size: int
    all: Sequence[Any]
    _number: dict[Any, int] | None

    def __init__(self, kind: str, size: int, custom: Iterable[Hashable] | None = None) -> None:
        vars(self).update(kind=kind, size=size, all=range(size), _number=None)
        if custom is None or (isinstance(custom, range) and custom == self.all):
            return
        values = _as_tuple(kind, custom)
        if len(values) != size:
            raise ValueError(f"got {len(values)} {kind} labels for {size} {kind}s; give one label for each {kind}")
        if values == tuple(self.all) and all(type(value) is int for value in values):
            return
        vars(self).update(_number=_number_labels(kind, values), all=values)

    def _remedy(self, name: str) -> str:
        return f"pass {self.kind}s= to a new World or Explorer"

    @property
    def custom(self) -> Sequence[Any] | None:
        """The labels that the user passed, None if the labels are numbers; `Labels` takes either."""
        return None if self._number is None else self.all

    def __getitem__(self, number: int) -> Any:
        return number if self._number is None else self.all[number]

    def number(self, label: Any, name: str | None = None) -> int:
        """Return the number of a label; messages call the label `name`."""
        name = name or self.kind
        if self._number is None:
            return check_index(name, label, self.size)
        try:
            return self._number[without_numpy_scalars(label)]
        except (KeyError, TypeError):
            raise ValueError(f"{name} is {short_repr(label)}; {self._suggest(label)}") from None

    def numbers(self, labels: Iterable[Any], name: str) -> list[int]:
        """Return the numbers of several labels."""
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise ValueError(f"{name} is {labels!r}; it must be a list of {self.kind}s")
        return [self.number(label, name) for label in labels]

    def _suggest(self, label: Any) -> str:
        """Return the end of a message about an unknown label: the nearest label, or a list of valid ones."""
        by_text = {str(valid): valid for valid in self.all}
        near = difflib.get_close_matches(str(label), by_text, n=1)
        if near:
            return f"unknown {self.kind}; did you mean {by_text[near[0]]!r}?"
        listed = ", ".join(repr(valid) for valid in self.all[:MAX_LABELS_SHOWN])
        article = "an" if self.kind[0] in "aeiou" else "a"
        return f"it must be {article} {self.kind}: {listed}{', ...' * (self.size > MAX_LABELS_SHOWN)}"


class Labelled:
    """Base class of objects with labels for states and actions."""

    state_labels: Labels
    action_labels: Labels

    @property
    def states(self) -> Sequence[Any]:
        """The labels of all states in order."""
        return self.state_labels.all

    @property
    def actions(self) -> Sequence[Any]:
        """The labels of all actions in order."""
        return self.action_labels.all


class GrowingLabels(Labels):
    """Labels of states that are discovered during exploration; an unknown label gets the next free number."""

    _number: dict[Any, int]
    all: list[Any]
    _fixed = ("kind",)

    def __init__(self) -> None:
        vars(self).update(kind="state", size=0, _number={}, all=[])

    def number(self, label: Any, name: str | None = None) -> int:
        """Return the number of a label, or the next free number if its state is not discovered yet."""
        label = without_numpy_scalars(label)
        try:
            number = self._number.get(label, self.size)
        except TypeError:
            raise ValueError(
                f"{name or self.kind} is {short_repr(label)}, which is not hashable; use a string or a tuple "
                f"(for an environment: {PASS_OBSERVE})"
            ) from None
        if number == self.size and label != label:
            raise ValueError(
                f"{name or self.kind} is {label!r}, which is not equal to itself, like NaN; use another label"
            )
        if label == UNDISCOVERED:
            raise ValueError(
                f"{name or self.kind} is {label!r}, which is the label of all undiscovered states; use another"
            )
        return number

    def add(self, label: Any) -> None:
        """Give the next number to a new label."""
        label = without_numpy_scalars(label)
        self._number[label] = self.size
        self.all.append(label)
        self.size += 1

    def copy(self) -> GrowingLabels:
        """Return a copy, to which labels can be added independently."""
        return self.copy_first(self.size)

    def copy_first(self, size: int) -> GrowingLabels:
        """Return a copy of the first `size` labels."""
        labels = GrowingLabels()
        for label in self.all[:size]:
            labels.add(label)
        return labels

    def truncate(self, size: int) -> None:
        """Keep the first `size` labels and forget the others."""
        for label in self.all[size:]:
            del self._number[label]
        del self.all[size:]
        self.size = size


class DiscoveredLabels(Labels):
    """Labels of the states that an explorer has discovered; the last label, "elsewhere", stands for all others."""

    def __init__(self, discovered: Iterable[Hashable]) -> None:
        labels = [*discovered, UNDISCOVERED]
        super().__init__("state", len(labels), labels)


def _as_tuple(kind: str, labels: Any) -> tuple[Any, ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ValueError(f"{kind}s are {labels!r}; they must be a list of labels")
    return tuple(without_numpy_scalars(label) for label in labels)


def without_numpy_scalars(label: Any) -> Any:
    """Return a label in which Python values replace NumPy scalars, which are printed and saved differently."""
    if isinstance(label, np.generic):
        return label.item()
    if type(label) is tuple and any(isinstance(part, np.generic | tuple) for part in label):
        return tuple(without_numpy_scalars(part) for part in label)
    return label


def _number_labels(kind: str, values: tuple[Any, ...]) -> dict[Any, int]:
    """Return the number of each label; the labels must be hashable, distinct and equal to themselves."""
    number: dict[Any, int] = {}
    for i, value in enumerate(values):
        try:
            first = number.setdefault(value, i)
        except TypeError:
            raise ValueError(f"the label {value!r} of {kind} {i} is not hashable; use a string or a tuple") from None
        if first != i:
            raise ValueError(f"{kind}s {first} and {i} have the same label {value!r}; every {kind} needs its own label")
        if value != value:
            raise ValueError(f"the label {value!r} of {kind} {i} is not equal to itself, like NaN; use another")
    return number


class TransitionError(ValueError):
    """Error whose message contains numbers of states and actions; `with_labels` replaces them by labels.

    Code below the labels raises it. Callers that know labels catch it and raise `error.with_labels(states, actions)`.

    Parameters
    ----------
    template : str
        The message as a format string, such as "action {a} in state {s} ...".
    states, actions : dict of str to int
        Numbers of the states and actions that the message names, by field of the template.
    values : dict, optional
        All other fields of the template.

    Examples
    --------
    >>> error = TransitionError("row (a={a}, s={s}) sums to {total}", {"s": 1}, {"a": 0}, {"total": 0.9})
    >>> str(error)
    'row (a=0, s=1) sums to 0.9'
    >>> str(error.with_labels(Labels("state", 2, ["red", "blue"]), Labels("action", 1)))
    "row (a=0, s='blue') sums to 0.9"
    """

    def __init__(
        self,
        template: str,
        states: Mapping[str, int],
        actions: Mapping[str, int],
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self.template, self.states, self.actions, self.values = template, states, actions, values or {}
        super().__init__(template.format(**states, **actions, **self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template, self.states, self.actions, self.values)

    def with_labels(self, states: Labels, actions: Labels) -> ValueError:
        """Return a `ValueError` with the same message, in which labels replace numbers."""
        fields = {
            field: repr(labels[int(number)]) if 0 <= number < labels.size else number
            for labels, numbers in ((states, self.states), (actions, self.actions))
            for field, number in numbers.items()
        }
        return ValueError(self.template.format(**fields, **self.values))


class ImpossibleTransitionError(TransitionError):
    """Error about an observed transition that has probability zero under the prior."""


def impossible_transition(s: int, a: int, s_next: int, earlier: str = "") -> ImpossibleTransitionError:
    """Return the error for an observed transition that has probability zero under the prior.

    Parameters
    ----------
    s, a, s_next : int
        Numbers of the state, the action and the next state.
    earlier : str
        Text about earlier observations of this action in this state, such as " (...)"; may be empty.
    """
    return ImpossibleTransitionError(
        "action {a} in state {s} led to state {s_next}, which has probability zero under the prior{earlier}"
        + ALLOW_TRANSITION,
        {"s": s, "s_next": s_next},
        {"a": a},
        {"earlier": earlier},
    )


def label_array(values: list[Any]) -> Any:
    """Return labels of any type as a one-dimensional array; the dtype is `object` if no other dtype fits all labels."""
    array = np.asarray(values) if all(isinstance(v, str | int | float | np.generic) for v in values) else None
    if array is not None and array.ndim == 1 and array.dtype.kind in "iufU" and list(array.tolist()) == values:
        return array
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def label_to_json(label: Any) -> Any:
    """Return a label as a JSON value: a tuple as `{"tuple": [...]}`, a NumPy scalar as a Python value.

    Raises
    ------
    ValueError
        If the label is not a string, a number, a bool, None, or a tuple of these.
    """
    label = without_numpy_scalars(label)
    if isinstance(label, tuple):
        return {"tuple": [label_to_json(part) for part in label]}
    if label is None or type(label) in (str, int, bool) or (type(label) is float and np.isfinite(label)):
        return label
    raise ValueError(f"the label {label!r} cannot be saved; only strings, numbers, bools, None and tuples of these can")


def label_from_json(value: Any) -> Any:
    """Return the label of a JSON value; the inverse of `label_to_json`."""
    if isinstance(value, dict):
        return tuple(label_from_json(part) for part in value["tuple"])
    if isinstance(value, list):
        raise ValueError("a label is a list")
    return value


def as_list(name: str, values: Any) -> list[Any]:
    """Return the values of an iterable as a list; a string raises an error, because it is a single value."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} is {values!r}; it must be a list, such as [{values!r}]")
    return list(values)
