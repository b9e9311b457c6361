"""Labels of transitions: which transitions of a world have something in common.

A prior that shares between rows (`berlyne.SharedDirichlet`) learns one weight for each class of transitions. Labels say
which class a transition belongs to. Every feature gives at most one label to a transition, so a transition may belong
to several classes. `berlyne.labels_of` creates labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.frozen import FrozenArrays
from berlyne.labels import Labels, without_numpy_scalars
from berlyne.sparse import Support
from berlyne.validation import IndexArray, check_dense, short_repr

NO_LABEL = -1
"""Label of a transition that has none in a feature."""
LabelFunction = Callable[[Any, Any, Any], Hashable]
"""Function of a state, an action and the next state that returns a hashable label, or None for none."""


@dataclass(frozen=True, eq=False)
class TransitionLabels(FrozenArrays):
    """Labels of the possible transitions of a world, and the names of their classes; `berlyne.labels_of` creates them.

    `np.asarray(labels)` is the dense array `labels.dense()`, which does not contain the support.

    Parameters
    ----------
    support : Support
        Possible transitions.
    labels : ndarray of int32, shape (F, n_transitions)
        Class of every transition in each of F features, in the order of `support.entries()`; -1 for none.
    names : tuple of hashable
        Names of the classes 0, 1, 2, ...
    states, actions : sequence of hashable or Labels, optional
        Labels of the states and of the actions; by default their numbers.

    Examples
    --------
    >>> import berlyne
    >>> labels = berlyne.labels_of(berlyne.river_swim(), "moves")
    >>> labels.names[:3]
    (('left', 'left'), ('left', 'right'), ('left', 'stay'))
    >>> labels.dense().shape
    (2, 6, 6)
    """

    support: Support
    labels: IndexArray
    names: tuple[Hashable, ...]
    states: Any = None
    actions: Any = None

    def __post_init__(self) -> None:
        vars(self).update(labels=np.asarray(self.labels), names=tuple(self.names))
        for kind in ("state", "action"):
            size = getattr(self.support, f"n_{kind}s")
            labels = getattr(self, f"{kind}s")
            labels = labels if isinstance(labels, Labels) else Labels(kind, size, labels)
            if labels.size != size:
                raise ValueError(f"{kind}s contain {labels.size} labels; the support has {size} {kind}s")
            vars(self)[f"{kind}s"] = labels
        n = int(self.support.sizes.sum())
        if self.labels.ndim != 2 or self.labels.shape[1] != n or not np.issubdtype(self.labels.dtype, np.integer):
            raise ValueError(
                f"labels have shape {self.labels.shape} and type {self.labels.dtype}; they must be whole numbers of "
                f"shape (n_features, {n}), one for each possible transition"
            )
        if self.labels.size and not -1 <= self.labels.min() <= self.labels.max() < len(self.names):
            raise ValueError(
                f"labels contain {self.labels.min()} to {self.labels.max()}; they must be at least -1 and less than "
                f"the number of names, {len(self.names)}"
            )
        vars(self)["labels"] = self.labels.astype(np.int32)
        super().__post_init__()

    def __repr__(self) -> str:
        features = f"{self.n_features} feature{'s' * (self.n_features != 1)}"
        return f"TransitionLabels({self.n_classes} classes, {features}, {self.labels.shape[1]} transitions)"

    @property
    def n_features(self) -> int:
        """Number of features F."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.names)

    def names_of(self, a: int, s: int, s_next: int) -> tuple[Hashable, ...]:
        """Return the names of the classes of one transition, given by numbers; empty if it is impossible."""
        entry = int(self.support.positions(s * self.support.n_actions + a, s_next))
        return () if entry < 0 else tuple(self.names[c] for c in self.labels[:, entry] if c >= 0)

    def dense(self) -> IndexArray:
        """Return the labels `[a, s, s_next]`, shape (M, N, N), or (F, M, N, N) with several features; -1 for none."""
        support = self.support
        alternative = "labels.labels, which contains possible transitions only"
        check_dense("labels", self.n_features * support.n_actions, support.n_states, alternative)
        shape = self.n_features, support.n_actions, support.n_states, support.n_states
        array = np.full(shape, NO_LABEL, dtype=np.int32)
        s, a = np.divmod(support.row_numbers(), support.n_actions)
        array[:, a, s, support.entries()[1]] = self.labels
        return array if self.n_features > 1 else array[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("copy is False, but the array is created by the conversion; leave copy out")
        return self.dense() if dtype is None else self.dense().astype(dtype)


def _is_label(label: Any) -> bool:
    """Return whether a value is hashable and equal to itself, and if it is a tuple, all of its parts."""
    try:
        hash(label)
        is_same = bool(label == label)
    except Exception:  # a method of a user's class can raise any exception
        return False
    return is_same and (not isinstance(label, tuple) or all(map(_is_label, label)))


def label_by(function: LabelFunction, transition: tuple[Any, Any, Any]) -> Hashable:
    """Return the label that a function gives to a transition (s, a, s_next); a `ValueError` if it cannot be one."""
    try:
        label = without_numpy_scalars(function(*transition))
    except Exception as error:  # a user's function can raise any exception
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise ValueError(f"the label function raised {text}, for (s, a, s_next) = {transition!r}") from error
    if not _is_label(label):
        raise ValueError(
            f"the label of (s, a, s_next) = {transition!r} is {short_repr(label)}; it must be hashable and equal to "
            "itself, or None for no label"
        )
    return label  # type: ignore[no-any-return]  # checked above
