"""Prior for worlds with unknown states whose rows share what they learn: the Chinese restaurant with labels.

A row predicts a cell in proportion to its number of observations plus a pseudo-count. Cells are the discovered states
and the last cell, *elsewhere*, for all others. `berlyne.ChineseRestaurant` divides the same total pseudo-count evenly
among the cells of every row. Here the pseudo-count of a cell is the sum of the weights of its labels, as in
`berlyne.SharedDirichlet`, and all rows share the weights:

    alpha_ri = sum_f w[label_f(r, i)].

All transitions to elsewhere have one label of their own, "elsewhere". The transition with which a row discovered a
state keeps this label, besides those of the state. So a discovery raises the weights of all labels that can explain
it, and the weight of elsewhere falls with every observation that discovers nothing.

Weights are inferred from the cells that exist now, as if they had existed from the start.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from berlyne.frozen import Frozen, read_only
from berlyne.labels import UNDISCOVERED, Labels, label_from_json, label_to_json
from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.elsewhere import LastCellElsewhere
from berlyne.priors.protocols import Description
from berlyne.priors.refit import Refit
from berlyne.priors.shared_dirichlet import SharedDirichlet
from berlyne.priors.shared_weights import WeightBelief
from berlyne.priors.transition_labels import NO_LABEL, LabelFunction, TransitionLabels, label_by
from berlyne.sparse import Counts, Support
from berlyne.validation import FloatArray, IntArray, check_count, check_dense, short_repr

ELSEWHERE = 0
"""Number of the class of undiscovered states."""
RESERVED = "which is the label of all undiscovered states; use another"


class SharedCells(LastCellElsewhere, Dirichlet):
    """The rows of a `SharedRestaurant` on the cells that exist now, with the weights in force.

    Parameters
    ----------
    alphas : ndarray of shape (n_transitions,)
        Pseudo-count of each transition between cells, in the order of `support.entries()`.
    weights : dict
        Weight of each class, by the name of its label; "elsewhere" is that of undiscovered states.
    n_states, n_actions : int
        Number of cells, the last of which is elsewhere, and number of actions.
    """

    _weights: dict[Hashable, float]
    grows = False  # its last cell is elsewhere, so it cannot be the prior of an explorer

    def __init__(self, alphas: FloatArray, weights: dict[Hashable, float], *, n_states: int, n_actions: int) -> None:
        super().__init__(alphas, Support(n_actions, n_states))
        vars(self).update(alpha=read_only(alphas), _weights=weights)  # an array, also if all are equal

    @property
    def weights(self) -> dict[Hashable, float]:
        """Weight of each class, by its label; "elsewhere" is that of undiscovered states."""
        return dict(self._weights)

    def __repr__(self) -> str:
        return f"SharedCells({len(self.weights)} classes, {self.n_states} cells, n_actions={self.n_actions})"


@dataclass(init=False, repr=False, eq=False)
class SharedRestaurant(Frozen):
    """Prior of unknown states whose pseudo-counts are sums of weights that transitions with the same label share.

    States are discovered during exploration, as with `ChineseRestaurant`. What the explorer learns in one state tells
    it what to expect in all others, as with `SharedDirichlet`. Undiscovered states together, "elsewhere", are one
    outcome of every row, with a weight of their own.

    Parameters
    ----------
    labels : callable, list of callables, or TransitionLabels
        A function of (s, a, s_next), the labels of two states and of an action. It returns a hashable label, or None
        for none; for example the action with the change of position. It is called once for each action and each pair
        of discovered states. Prefer a label such as "far" to None for transitions that you expect to be rare. A list
        makes one feature of each function, and the weights of all labels of a transition are added. Equal labels of
        different functions are one class. If you know which states might exist, you can also pass the labels that
        `berlyne.labels_of(world, support="all")` returns.
    alpha : float
        Expected weight before any data, from 1e-9 to 1e6; 0.1 is a good start. It is also the pseudo-count of each
        transition without a label, which is never learned.
    shape : float
        Shape of the distribution of the weights before any data, as for `SharedDirichlet`.
    strength : float
        Number of imagined classes that keep mean and shape of all weights close to `alpha` and `shape`.
    schedule : Refit, optional
        When explorers learn the weights, as for `SharedDirichlet`. They also do so whenever a state is discovered.
    n_actions : int, optional
        M; by default taken from the world or the explorer.

    Attributes
    ----------
    n_states : None
        The number of states is not known.
    states : tuple of hashable
        Labels of the states that this prior knows. The prior that you pass to an explorer knows none and stays as it
        is.
    weights : dict
        Weight in force of each class, by its label; "elsewhere" is the weight of undiscovered states. What an explorer
        has learned is in `explorer.model.prior.weights`.

    Notes
    -----
    All transitions to elsewhere have the label "elsewhere". The transition with which a row discovered a state has it,
    too, besides its own labels.

    Examples
    --------
    >>> import berlyne
    >>> prior = SharedRestaurant(lambda s, a, s_next: "next" if s_next == s + 1 else "other", 0.1)
    >>> explorer = berlyne.Explorer(prior, n_actions=1)
    >>> explorer.observe_many([(s, 0, s + 1) for s in range(8)])
    >>> explorer.discover([20, 21])
    >>> model = explorer.model
    >>> dict(zip(model.states, model.theta_hat_row(0, 20).round(2).tolist()))[21]  # never tried
    0.88
    """

    labels: Any
    alpha: float
    shape: float
    strength: float
    schedule: Refit
    n_actions: int | None
    n_states: None = field(init=False)
    states: tuple[Hashable, ...] = field(init=False)
    _names: dict[Hashable, int] = field(init=False)
    _n_labelled: int = field(init=False)
    _shared: SharedDirichlet | None = field(init=False)

    grows = True
    reads_states = True

    def __init__(
        self,
        labels: LabelFunction | Sequence[LabelFunction] | TransitionLabels,
        alpha: float,
        shape: float = 1.0,
        strength: float = 0.5,
        *,
        schedule: Refit | None = None,
        n_actions: int | None = None,
    ) -> None:
        n_actions = None if n_actions is None else check_count("n_actions", n_actions, 1)
        if isinstance(labels, TransitionLabels):
            if n_actions not in (None, labels.support.n_actions):
                raise ValueError(f"n_actions is {n_actions}; the labels are for {labels.support.n_actions} actions")
            if UNDISCOVERED in labels.names:
                raise ValueError(f"labels contain {UNDISCOVERED!r}, {RESERVED}")
            n_actions = labels.support.n_actions
        else:
            labels = _as_functions(labels)
        # a blank prior for one action validates the numbers
        blank = SharedDirichlet(np.full((1, 1, 1), ELSEWHERE), alpha, shape, strength, schedule=schedule)
        vars(self).update(labels=labels, alpha=blank.alpha, shape=blank.shape, strength=blank.strength)
        vars(self).update(schedule=blank.schedule, n_actions=n_actions, n_states=None, states=())
        vars(self).update(_names={UNDISCOVERED: ELSEWHERE}, _n_labelled=0, _shared=None)

    def __repr__(self) -> str:
        labels = self.labels if isinstance(self.labels, TransitionLabels) else _names_of_functions(self.labels)
        counts = f", {len(self.states)} states, {len(self._names)} classes" if self.states else ""
        return f"SharedRestaurant({labels}, alpha={self.alpha:g}{counts})"

    @property
    def weights(self) -> dict[Hashable, float]:
        """Weight in force of each class, by its label; "elsewhere" is that of undiscovered states."""
        if self._shared is None:
            return {UNDISCOVERED: self.alpha}
        return dict(zip(self._names, self._shared.weights.tolist(), strict=True))

    def with_state(
        self, state: Hashable, actions: Sequence[Hashable], origin: tuple[int, int] | None = None
    ) -> SharedRestaurant:
        """Return the prior after the discovery of a state.

        Parameters
        ----------
        state : hashable
            Label of the state.
        actions : sequence of hashable
            Labels of all actions.
        origin : tuple of (int, int), optional
            Cell and action whose outcome it was; None if the state was not an outcome.
        """
        if isinstance(self.labels, TransitionLabels):
            _check_labelled(self.labels, state, actions)
        states, names = (*self.states, state), dict(self._names)
        pairs = [(s, state) for s in states] + [(state, s_next) for s_next in self.states]

        def number(function: LabelFunction, transition: tuple[Any, Any, Any]) -> int:
            label = label_by(function, transition)
            if label == UNDISCOVERED:
                raise ValueError(f"the label of (s, a, s_next) = {transition!r} is {label!r}, {RESERVED}")
            return NO_LABEL if label is None else names.setdefault(label, len(names))

        shape = len(self._functions), len(pairs), len(actions)
        of_pairs = np.full(shape, NO_LABEL)
        for f, function in enumerate(self._functions):
            for i, (s, s_next) in enumerate(pairs):
                for a, action in enumerate(actions):
                    of_pairs[f, i, a] = number(function, (s, action, s_next))
        into, out_of = of_pairs[:, : len(states)], of_pairs[:, len(states) :]
        return self._with_cell(state, names, (into, out_of), origin, len(states))

    def with_unknown_state(self, n_actions: int) -> SharedRestaurant:
        """Return the prior after the discovery of an imagined state, whose transitions have no labels of their own.

        From other states it is as probable as elsewhere.
        """
        n_features, n = len(self._functions), len(self.states)
        into, out_of = (np.full((n_features, k, n_actions), NO_LABEL) for k in (n + 1, n))
        into[0, :n] = ELSEWHERE
        return self._with_cell(None, self._names, (into, out_of), None, self._n_labelled)

    def _with_cell(
        self,
        state: Hashable,
        names: dict[Hashable, int],
        labels: tuple[IntArray, IntArray],
        origin: tuple[int, int] | None,
        n_labelled: int,
    ) -> SharedRestaurant:
        """Return the prior with one more cell.

        `labels` are those of transitions from all states, including the new one, to the new one, and from the new state
        to all others, of shape (F, n_pairs, M).
        """
        (into, out_of), n = labels, len(self.states)
        n_features, _, n_actions = into.shape
        check_dense("an array of labels", (n_features + 1) * n_actions, n + 2, "a ChineseRestaurant")
        table = np.full((n_features + 1, n + 2, n_actions, n + 2), NO_LABEL)  # the last feature is elsewhere
        if self._shared is not None:
            table[:, :n, :, :n] = self._shared.labels.reshape(n_features + 1, n + 1, n_actions, n + 1)[:, :n, :, :n]
        table[:-1, : n + 1, :, n] = into
        table[:-1, n, :, :n] = out_of.transpose(0, 2, 1)
        table[-1, : n + 1, :, n + 1] = ELSEWHERE
        if origin is not None:
            table[-1, origin[0], origin[1], n] = ELSEWHERE
        support = Support(n_actions, n + 2)
        shared = SharedDirichlet(
            table.reshape(n_features + 1, -1), self.alpha, self.shape, self.strength, support=support
        )
        if self._shared is not None:
            shared = shared.with_belief(_with_classes(self._shared.belief_before_refit, len(names)))
        clone = copy.copy(self)
        vars(clone).update(states=(*self.states, state), n_actions=n_actions)
        vars(clone).update(_names=names, _n_labelled=n_labelled, _shared=shared)
        return clone

    def estimate(self, counts: IntArray) -> FloatArray:
        """Raise a `ValueError`: only a prior on cells has estimates, such as that of the model of an explorer."""
        raise ValueError(f"{self!r} discovers its states, so it has no estimates; use those of an Explorer")

    def sized(self, n_states: int, n_actions: int) -> SharedCells:
        """Return the prior for the cells of the states that were discovered, and elsewhere.

        Rows of elsewhere, and of cells without a discovered state, are expected to have as large a total pseudo-count
        as the others on average. It is divided evenly.
        """
        prior = self
        while len(prior.states) < n_states - 1:
            prior = prior.with_unknown_state(n_actions)
        if prior._shared is None:
            return SharedCells(np.full(n_actions, self.alpha), self.weights, n_states=1, n_actions=n_actions)
        alphas, n = prior._shared.alphas.reshape(n_states, n_actions, n_states).copy(), prior._n_labelled
        alphas[n:] = (alphas[:n].sum(axis=2).mean(axis=0)[:, None] if n else self.alpha) / n_states
        return SharedCells(alphas.ravel(), prior.weights, n_states=n_states, n_actions=n_actions)

    def refit(self, counts: Counts | IntArray) -> SharedRestaurant:
        """Return the prior with the weights that follow from counts, from those in force; see `SharedDirichlet.refit`.

        It is this prior if all weights stay as they are.
        """
        shared = self._shared
        fitted = None if shared is None else shared.refit(counts)
        if fitted is shared:
            return self
        clone = copy.copy(self)
        vars(clone)["_shared"] = fitted
        return clone

    def labels_among(self, states: Sequence[Hashable], actions: Sequence[Hashable]) -> IntArray:
        """Return numbers of the labels of transitions between some states, `[feature, s, a, s_next]`; -1 for none."""
        number: dict[Hashable, int] = {None: NO_LABEL}
        triples = list(itertools.product(states, actions, states))
        labels = [
            [number.setdefault(label_by(function, triple), len(number)) for triple in triples]
            for function in self._functions
        ]
        return np.reshape(labels, (-1, len(states), len(actions), len(states))).astype(np.int64)

    @property
    def _functions(self) -> list[LabelFunction]:
        """The function of each feature."""
        labels = self.labels
        if not isinstance(labels, TransitionLabels):
            return list(labels)
        return [_look_up(labels, f) for f in range(labels.n_features)]

    @property
    def is_described(self) -> bool:
        """Whether `describe` is complete: a function cannot be saved."""
        return isinstance(self.labels, TransitionLabels)

    def describe(self) -> Description:
        """Return labels, parameters and schedule. Functions are described by their names."""
        parameters = {"alpha": self.alpha, "shape": self.shape, "strength": self.strength, **asdict(self.schedule)}
        labels = self.labels
        if not isinstance(labels, TransitionLabels):
            return Description("SharedRestaurant", parameters | {"labels": _names_of_functions(labels)}, {})
        arrays: dict[str, Any] = {"prior_labels": labels.labels}
        if labels.support.indptr is not None:
            arrays |= dict(zip(("support_indptr", "support_indices"), labels.support.entries(), strict=True))
        texts: dict[str, Any] = {
            "n_labelled": labels.support.n_states,
            "names": [_to_json(name, i) for i, name in enumerate(labels.names)],
        }
        for kind in ("states", "actions"):
            custom = getattr(labels, kind).custom
            texts[kind] = None if custom is None else [label_to_json(label) for label in custom]
        return Description("SharedRestaurant", parameters | texts, arrays)

    @classmethod
    def from_description(cls, n_states: int | None, n_actions: int, description: Description) -> SharedRestaurant:
        """Create the prior from a description, or raise a `ValueError` if it contains functions or invalid labels."""
        arrays, parameters = description.arrays, dict(description.parameters)
        if "prior_labels" not in arrays:
            raise ValueError(f"labels are {parameters.get('labels')}; functions cannot be restored")
        schedule = Refit(**{part.name: parameters.pop(part.name) for part in fields(Refit)})
        n = parameters.pop("n_labelled")
        support = Support(n_actions, n, arrays.get("support_indptr"), arrays.get("support_indices"))
        names = tuple(label_from_json(name) for name in parameters.pop("names"))
        states, actions = (
            Labels(kind[:-1], size, None if stored is None else [label_from_json(label) for label in stored])
            for kind, size, stored in (
                ("states", n, parameters.pop("states")),
                ("actions", n_actions, parameters.pop("actions")),
            )
        )
        labels = TransitionLabels(support, arrays["prior_labels"], names, states, actions)
        return cls(labels, **parameters, schedule=schedule)


def _as_functions(labels: Any) -> tuple[LabelFunction, ...]:
    """Return a function, or the functions of a list; a `ValueError` if there is none."""
    functions = (labels,) if callable(labels) else tuple(labels) if isinstance(labels, list | tuple) else ()
    if not functions or not all(map(_takes_a_transition, functions)):
        raise ValueError(
            f"labels is {short_repr(labels)}; it must be a function of (s, a, s_next), a list of such functions, or "
            "labels such as berlyne.labels_of(world, 'moves', support='all')"
        )
    return functions


def _takes_a_transition(function: Any) -> bool:
    """Return whether an object can be called with (s, a, s_next), as far as its signature tells."""
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return callable(function)


def _names_of_functions(functions: tuple[Any, ...]) -> str:
    """Return the names of label functions, for messages."""
    return ", ".join(getattr(function, "__qualname__", type(function).__name__) for function in functions)


def _check_labelled(labels: TransitionLabels, state: Hashable, actions: Sequence[Hashable]) -> None:
    """Raise a `ValueError` if labels are for other actions; warn if they do not contain a state."""
    if list(actions) != list(labels.actions.all):
        raise ValueError(
            f"the labels are for the actions {short_repr(list(labels.actions.all))}, but the explorer has "
            f"{short_repr(list(actions))}; use the same actions"
        )
    try:
        labels.states.number(state)
    except ValueError:
        warnings.warn(
            f"the labels do not contain the state {short_repr(state)}, so its transitions have none and share nothing",
            stacklevel=2,
        )


def _look_up(labels: TransitionLabels, feature: int) -> Callable[[Any, Any, Any], Hashable]:
    """Return a function that looks up the name of a label, None for a transition without one."""

    def name_of(s: Any, a: Any, s_next: Any) -> Hashable:
        try:
            s, a, s_next = labels.states.number(s), labels.actions.number(a), labels.states.number(s_next)
        except ValueError:  # a state that the labels do not contain
            return None
        entry = int(labels.support.positions(s * labels.support.n_actions + a, s_next))
        label = NO_LABEL if entry < 0 else int(labels.labels[feature, entry])
        return None if label == NO_LABEL else labels.names[label]

    return name_of


def _with_classes(belief: WeightBelief, n_classes: int) -> WeightBelief:
    """Return the belief with new classes, of which nothing is known."""
    new = WeightBelief.before_data(n_classes - len(belief.shape), belief.mean, belief.common_shape)
    shape, rate = (np.append(one, other) for one, other in zip(belief[:2], new[:2], strict=True))
    return WeightBelief(shape, rate, belief.mean, belief.common_shape)


def _to_json(name: Hashable, number: int) -> Any:
    """Return the name of a class as a JSON value; a text that no other class has if it is none."""
    try:
        return label_to_json(name)
    except ValueError:
        return f"{name!r} (class {number})"
