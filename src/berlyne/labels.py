"""What states and actions are called: any hashable values, or else the numbers 0, 1, 2, ...

Kernels count states and actions from zero. Labels are looked up where a user hands them in and where an answer is
handed out, and nowhere between. Numbers need no look-up: for them no dictionary is made.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from berlyne.frozen import Frozen
from berlyne.validation import check_index, short_repr

UNDISCOVERED = "elsewhere"
"""What the cell of all that is not discovered is called."""
MAX_LABELS_SHOWN = 6
"""Most labels that a message lists."""


class Labels(Frozen):
    """The labels of all states, or of all actions.

    Parameters
    ----------
    kind : "state" or "action", for messages.
    size : how many there are.
    given : as many different hashable values, in the order of their numbers; None for the numbers themselves.

    Attributes
    ----------
    all : the labels in order: a tuple, or `range(size)`.

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

    def __init__(self, kind: str, size: int, given: Iterable[Hashable] | None = None) -> None:
        vars(self).update(kind=kind, size=size, all=range(size), _number=None)
        if given is None or (isinstance(given, range) and given == self.all):
            return
        values = _listed(kind, given)
        if len(values) != size:
            raise ValueError(f"{kind}s are {len(values)} labels; there are {size} {kind}s, and each needs one")
        if values == tuple(self.all) and all(type(value) is int for value in values):
            return
        vars(self).update(_number=_numbered(kind, values), all=values)

    def _remedy(self, name: str) -> str:
        return f"give {self.kind}s= to another World or Explorer"

    @property
    def custom(self) -> Sequence[Any] | None:
        """The labels if there are any, None for numbers: what makes the same labels again."""
        return None if self._number is None else self.all

    def __getitem__(self, number: int) -> Any:
        return number if self._number is None else self.all[number]

    def number(self, label: Any, name: str | None = None) -> int:
        """The number of a label; `name` is what messages call it."""
        name = name or self.kind
        if self._number is None:
            return check_index(name, label, self.size)
        try:
            return self._number[without_numpy_scalars(label)]
        except (KeyError, TypeError):
            raise ValueError(f"{name} is {short_repr(label)}; {self._instead(label)}") from None

    def numbers(self, labels: Iterable[Any], name: str) -> list[int]:
        """The numbers of several labels."""
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise ValueError(f"{name} is {labels!r}; it must be a list of {self.kind}s")
        return [self.number(label, name) for label in labels]

    def _instead(self, label: Any) -> str:
        """What would have been right."""
        words = {str(known): known for known in self.all}
        near = difflib.get_close_matches(str(label), words, n=1)
        if near:
            return f"there is no such {self.kind}, the nearest is {words[near[0]]!r}"
        listed = ", ".join(repr(known) for known in self.all[:MAX_LABELS_SHOWN])
        article = "an" if self.kind[0] in "aeiou" else "a"
        return f"it must be {article} {self.kind}: {listed}{', ...' * (self.size > MAX_LABELS_SHOWN)}"


class Labelled:
    """What has states and actions that may have labels."""

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
    """Labels of states that are discovered on the way; one that is not is numbered as the next would be."""

    _number: dict[Any, int]
    all: list[Any]
    _fixed = ("kind",)

    def __init__(self) -> None:
        vars(self).update(kind="state", size=0, _number={}, all=[])

    def number(self, label: Any, name: str | None = None) -> int:
        """The number of a label; the next free one if it was not discovered."""
        label = without_numpy_scalars(label)
        try:
            number = self._number.get(label, self.size)
        except TypeError:
            raise ValueError(
                f"{name or self.kind} is {short_repr(label)}, which is not hashable; use a string or a tuple, "
                "and of an environment say in observe= what state an observation stands for"
            ) from None
        if number == self.size and label != label:
            raise ValueError(f"{name or self.kind} is {label!r}, which does not equal itself; use another label")
        if label == UNDISCOVERED:
            raise ValueError(f"{name or self.kind} is {label!r}, as all that is not discovered is called; use another")
        return number

    def add(self, label: Any) -> None:
        """Give the next number to a label that has none."""
        label = without_numpy_scalars(label)
        self._number[label] = self.size
        self.all.append(label)
        self.size += 1

    def copy(self) -> GrowingLabels:
        """The same labels, to which others may be added."""
        return self.copy_first(self.size)

    def copy_first(self, size: int) -> GrowingLabels:
        """The first labels alone, to which others may be added."""
        other = GrowingLabels()
        for label in self.all[:size]:
            other.add(label)
        return other

    def truncate(self, size: int) -> None:
        """Forget all but the first so many."""
        for label in self.all[size:]:
            del self._number[label]
        del self.all[size:]
        self.size = size


class DiscoveredLabels(Labels):
    """Labels of the states that an explorer has discovered, and of elsewhere, the last."""

    def __init__(self, found: Iterable[Hashable]) -> None:
        given = [*found, UNDISCOVERED]
        super().__init__("state", len(given), given)


def _listed(kind: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{kind}s are {given!r}; they must be a list of labels")
    return tuple(without_numpy_scalars(value) for value in given)


def without_numpy_scalars(label: Any) -> Any:
    """A label with the values that NumPy's scalars stand for: hashable, but they print and save unlike them."""
    if isinstance(label, np.generic):
        return label.item()
    if type(label) is tuple and any(isinstance(part, np.generic | tuple) for part in label):
        return tuple(without_numpy_scalars(part) for part in label)
    return label


def _numbered(kind: str, values: tuple[Any, ...]) -> dict[Any, int]:
    number: dict[Any, int] = {}
    for i, value in enumerate(values):
        try:
            first = number.setdefault(value, i)
        except TypeError:
            raise ValueError(f"the label {value!r} of {kind} {i} is not hashable; use a string or a tuple") from None
        if first != i:
            raise ValueError(f"{kind}s {first} and {i} are both called {value!r}; every {kind} needs its own label")
        if value != value:
            raise ValueError(f"the label {value!r} of {kind} {i} does not equal itself; use another")
    return number


def labelled_history(lines: Any, states: Labels, actions: Labels) -> Any:
    """Lines of numbers (s, a, s_next), `(n, 3)`, as they were told: the array itself, or a list if there are labels."""
    if states.custom is None and actions.custom is None:
        return lines
    return [(states[s], actions[a], states[s_next]) for s, a, s_next in lines.tolist()]


class TransitionError(ValueError):
    """Error about states and actions that are known by number only; `with_labels` words it with labels.

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


def impossible_transition(s: int, a: int, s_next: int) -> TransitionError:
    """Return the error for an observed transition that has probability zero under the prior."""
    return TransitionError(
        "action {a} in state {s} led to state {s_next}, which has probability zero under the prior",
        {"s": s, "s_next": s_next},
        {"a": a},
    )


def label_array(values: list[Any]) -> Any:
    """Labels as an array of one dimension, whatever they are."""
    plain = np.asarray(values) if all(isinstance(v, str | int | float | np.generic) for v in values) else None
    if plain is not None and plain.ndim == 1 and plain.dtype.kind in "iufU" and list(plain.tolist()) == values:
        return plain
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def label_to_json(label: Any) -> Any:
    """A label as JSON can hold it: tuples as `{"tuple": [...]}`, NumPy's scalars as the values they stand for.

    Raises
    ------
    ValueError for what is neither a string, a number, a bool, None, nor a tuple of these.
    """
    label = without_numpy_scalars(label)
    if isinstance(label, tuple):
        return {"tuple": [label_to_json(part) for part in label]}
    if label is None or type(label) in (str, int, bool) or (type(label) is float and np.isfinite(label)):
        return label
    raise ValueError(f"the label {label!r} cannot be saved; only strings, numbers, bools, None and tuples of these can")


def label_from_json(value: Any) -> Any:
    """The inverse of `label_to_json`."""
    if isinstance(value, dict):
        return tuple(label_from_json(part) for part in value["tuple"])
    if isinstance(value, list):
        raise ValueError("a label is a list")
    return value


def as_list(name: str, values: Any) -> list[Any]:
    """The values of an iterable; a string is one value, not its letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} is {values!r}; it must be a list, such as [{values!r}]")
    return list(values)
