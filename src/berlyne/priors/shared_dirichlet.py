"""Dirichlet prior whose rows share what they learn: transitions with the same label have the same pseudo-count.

The paper's explorer learns every row for itself. With labels such as "one room up", the outcomes of one row also tell
what to expect of all others (Sec. 4.1 asks for priors that are learned during exploration). The inference is in
`berlyne.priors.shared_weights`.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from berlyne.frozen import read_only
from berlyne.priors.dirichlet import MAX_ALPHA, MIN_UNEQUAL_ALPHA, Dirichlet, as_support, check_rows_not_empty
from berlyne.priors.protocols import Description
from berlyne.priors.refit import Refit, check_schedule
from berlyne.priors.shared_weights import (
    FIT_PRECISION,
    MAX_REFIT_SWEEPS,
    MAX_SHAPE,
    MAX_SWEEPS,
    MIN_SHAPE,
    REFIT_PRECISION,
    SAME,
    Labelling,
    WeightBelief,
    converge,
    evidence_of,
    labelling_of,
    lower_bound,
)
from berlyne.priors.transition_labels import TransitionLabels
from berlyne.sparse import Counts, Support
from berlyne.validation import FloatArray, IntArray, Seed, check_number, generator

MIN_MEAN, MAX_MEAN = 1e-9, 1e6
"""Range of `alpha`, so that learned weights stay far from the range of pseudo-counts."""
MIN_WEIGHT, MAX_WEIGHT = MIN_UNEQUAL_ALPHA, MAX_ALPHA
"""Range of a weight."""
MIN_STRENGTH, MAX_STRENGTH = 1e-6, 1e12
"""Range of `strength`."""
SHARED_SCHEDULE = Refit(always=10, growth=0.1, tolerance=1e-3)
"""The default schedule of `SharedDirichlet`."""


@dataclass(init=False, repr=False, eq=False)
class SharedDirichlet(Dirichlet):
    """Dirichlet prior whose pseudo-counts are sums of weights that transitions with the same label share.

    The pseudo-count of a transition is the sum of the weights of its labels, one for each feature. Weights are unknown:
    each is drawn from a gamma distribution, whose mean and shape are learned too. So an explorer generalises: what
    "up" does in one room tells what it may do in the others. Explorers refit the weights when `schedule` says so.
    Between refits all weights are fixed, and rows are independent Dirichlet rows with these pseudo-counts. Then all
    closed forms and Theorem 2 hold. Utilities are local to a row: they leave out what an observation would teach about
    other rows.

    Parameters
    ----------
    labels : TransitionLabels or ndarray of int
        Labels that `berlyne.labels_of` returns, which contain the support. Or the label of each transition
        `[a, s, s_next]`, of shape (M, N, N), or (F, M, N, N) for F features; -1 for none. With a support, labels may
        also be of shape (n_transitions,) or (F, n_transitions): those of the possible transitions, in the order of
        `support.entries()`. Features share their weights, so use different numbers for different features. Labels of
        impossible transitions are ignored.
    alpha : float
        Expected weight before any data, from 1e-9 to 1e6. It is also the pseudo-count of each possible transition
        without a label, which stays fixed.
    shape : float
        Shape of the distribution of the weights before any data, from 0.01 to 1e6. The smaller it is, the more the
        weights are expected to differ.
    strength : float
        Number of imagined classes that keep mean and shape of all weights close to `alpha` and `shape`, from 1e-6 to
        1e12. With a very large strength, they stay as they are.
    support : array of shape (M, N, N), Rows, Support or list of M sparse (N, N) matrices, optional
        Possible transitions, as for `Dirichlet`. Without it, those that have a label in some feature are possible.
    schedule : Refit, optional
        When explorers learn the weights: by default after each of the first 10 observations, and then whenever the
        number of observations has grown by a tenth, if a weight changes by more than 0.1 %.

    Attributes
    ----------
    support : Support
        Possible transitions.
    classes : ndarray of int, shape (C,)
        The labels of all possible transitions, ascending.
    weights, weight_sd : ndarray of shape (C,)
        Mean and standard deviation of the weight of each class. Weights in force are the means. Standard deviations
        are NaN for a prior that comes from `with_learned`.
    mean_weight, weight_shape : float
        Mean and shape of the distribution of all weights. The weight of a class of which nothing is known has this
        mean.
    alphas : ndarray of shape (n_transitions,)
        Pseudo-count in force of each possible transition, in the order of `support.entries()`.

    Examples
    --------
    >>> labels = np.array([[[0, 1, 1], [1, 0, 1], [1, 1, 0]]])  # 0 if the state lasts
    >>> prior = SharedDirichlet(labels, 0.5)
    >>> counts = np.array([[[9, 0, 0], [0, 9, 0], [0, 0, 0]]])
    >>> prior.fit(counts).estimate(counts)[0, 2].round(2)  # never seen
    array([0.07, 0.07, 0.86])
    """

    labels: IntArray
    alpha: float
    shape: float
    strength: float
    support: Support
    schedule: Refit | None
    n_states: int = field(init=False)
    n_actions: int = field(init=False)
    bounds: tuple[float, float] = field(init=False)
    classes: IntArray = field(init=False)
    weights: FloatArray = field(init=False)
    alphas: FloatArray = field(init=False)
    _belief: WeightBelief = field(init=False)

    def __init__(
        self,
        labels: Any,
        alpha: float,
        shape: float = 1.0,
        strength: float = 0.5,
        *,
        support: Any = None,
        schedule: Refit | None = None,
    ) -> None:
        vars(self).update(alpha=check_number("alpha", alpha, MIN_MEAN, MAX_MEAN))
        vars(self).update(shape=check_number("shape", shape, MIN_SHAPE, MAX_SHAPE))
        vars(self).update(strength=check_number("strength", strength, MIN_STRENGTH, MAX_STRENGTH))
        vars(self).update(schedule=check_schedule(schedule, SHARED_SCHEDULE))
        possible, by_transition = _labels_by_transition(labels, support)
        check_rows_not_empty(possible)
        vars(self).update(support=possible, n_states=possible.n_states, n_actions=possible.n_actions)
        classes = np.unique(by_transition[by_transition >= 0])
        vars(self).update(labels=read_only(by_transition), classes=read_only(classes))
        self._set_belief(self._at_start)

    @property
    def _at_start(self) -> WeightBelief:
        """The belief about the weights before any data."""
        return WeightBelief.before_data(len(self.classes), self.alpha, self.shape)

    def _set_belief(self, belief: WeightBelief) -> None:
        """Set what is known about the weights, and the pseudo-counts that follow."""
        weights = read_only(belief.weights)
        alphas = read_only(self.labelling.sums(weights))
        vars(self).update(_belief=belief, weights=weights, alphas=alphas)
        vars(self).pop("_row_totals", None)

    def with_belief(self, belief: WeightBelief) -> SharedDirichlet:
        """Return the prior with other distributions of the weights."""
        clone = copy.copy(self)
        clone._set_belief(belief)
        return clone

    def __repr__(self) -> str:
        n_transitions = self.labels.shape[1]
        shown = f"alpha={self.alpha:g}, {len(self.classes)} classes of {n_transitions} transitions"
        if len(self.classes):
            shown += f", weights {self.weights.min():.3g} to {self.weights.max():.3g}"
        return f"SharedDirichlet({shown}, n_actions={self.n_actions}, n_states={self.n_states})"

    @property
    def weight_sd(self) -> FloatArray:
        """Standard deviation of the weight of each class, (C,); NaN if it is unknown."""
        return np.asarray(self.weights / np.sqrt(self._belief.shape))

    @property
    def mean_weight(self) -> float:
        """Mean of the distribution of all weights; that of a class of which nothing is known."""
        return self._belief.mean

    @property
    def weight_shape(self) -> float:
        """Shape of the distribution of all weights."""
        return self._belief.common_shape

    @property
    def learned(self) -> FloatArray:
        """The weights in force, (C,)."""
        return self.weights

    def with_learned(self, weights: Any) -> SharedDirichlet:
        """Return the prior with other weights in force, (C,); their standard deviations are unknown."""
        values, unknown = np.array(weights, dtype=float), np.full(len(self.classes), np.nan)
        if values.shape != unknown.shape or not np.all((values >= MIN_WEIGHT) & (values <= MAX_WEIGHT)):
            raise ValueError(
                f"weights have shape {values.shape}; they must be {len(unknown)} numbers in [{MIN_WEIGHT:g}, "
                f"{MAX_WEIGHT:g}], one for each class"
            )
        clone = self.with_belief(WeightBelief(unknown, unknown / values, np.nan, np.nan))
        vars(clone).update(weights=read_only(values), alphas=read_only(self.labelling.sums(values)))
        return clone

    def fit(self, counts: Counts | IntArray) -> SharedDirichlet:
        """Return the prior with the weights that follow from counts, by variational sweeps from `alpha`.

        The posterior of the weights is approximated by a product of gamma distributions; see
        `berlyne.priors.shared_weights`. An explorer with the returned prior goes on learning, and then the weights
        depend on its own observations only. To keep them as they are, use `Dirichlet(prior.alphas, prior.support)`.

        Parameters
        ----------
        counts : Counts or ndarray of shape (M, N, N)
            Number of observations of each transition.

        Returns
        -------
        SharedDirichlet
            The same prior with other `weights`, `weight_sd`, `mean_weight`, `weight_shape` and `alphas`.
        """
        return self._fitted(counts, self._at_start, FIT_PRECISION, MAX_SWEEPS)

    def refit(self, counts: Counts | IntArray) -> SharedDirichlet:
        """Return the prior with the weights that follow from counts, from those in force.

        Explorers call it. Sweeps end when no weight changes by more than 0.1 %, or after 20 sweeps. The next refit goes
        on from there, so weights approach those of `fit` in the course of exploration. If all weights stay as they are,
        the result is this prior.
        """
        fitted = self._fitted(counts, self.belief_before_refit, REFIT_PRECISION, MAX_REFIT_SWEEPS)
        return fitted if np.any(np.abs(fitted.weights - self.weights) > SAME * self.weights) else self

    @property
    def belief_before_refit(self) -> WeightBelief:
        """The belief about the weights from which a refit begins: that in force or, if it is unknown, the first one."""
        return self._belief if self._knows_spread else self._at_start

    def _fitted(
        self, counts: Counts | IntArray, start: WeightBelief, precision: float, max_sweeps: int
    ) -> SharedDirichlet:
        """Return the prior after sweeps from a belief; this prior if there is nothing to learn."""
        if not len(self.classes):
            return self
        evidence = evidence_of(self._checked(counts), self.support, self.labelling, len(self.classes))
        imagined = self.alpha, self.shape, self.strength
        return self.with_belief(converge(start, evidence, imagined, precision, max_sweeps))

    def lower_bound(self, counts: Counts | IntArray) -> float:
        """Lower bound of the log probability of the observed outcomes in their order, in nats.

        Weights are unknown in it, unlike in `log_marginal_likelihood`, whose weights are those in force. It holds for
        `mean_weight` and `weight_shape`, and is tight for the weights that `fit` returns, up to the approximation. It
        is -inf if the outcomes are impossible.
        """
        sparse = self._check_size(counts)
        if not np.all(self.support.contains(sparse.row, sparse.s_next)):
            return -np.inf
        return lower_bound(self._belief, evidence_of(sparse, self.support, self.labelling, len(self.classes)))

    def draw_weights(self, seed: Seed) -> SharedDirichlet:
        """Return the prior with weights drawn from their distribution.

        `sample` draws rows for the weights in force. `prior.draw_weights(rng).sample(rng, counts)` draws both.
        """
        belief = self._belief
        if not self._knows_spread:
            raise ValueError("the distribution of the weights is unknown; call fit(counts) first")
        drawn = generator(seed).standard_gamma(belief.shape) / belief.rate
        return self.with_learned(np.clip(drawn, MIN_WEIGHT, MAX_WEIGHT))

    def with_support(self, support: Support) -> SharedDirichlet:
        """Return the prior on a larger support; new transitions have no label, and the fixed pseudo-count `alpha`."""
        known = self.support.positions(support.row_numbers(), support.entries()[1])
        labels = np.where(known >= 0, self.labels[:, known], -1)
        other = replace(self, labels=labels, support=support)
        return other.with_belief(self._belief) if self._knows_spread else other.with_learned(self.weights)

    @property
    def _knows_spread(self) -> bool:
        """Whether the distributions of the weights are known, and not only their means."""
        return bool(np.isfinite(self._belief.mean))

    @property
    def family(self) -> str:
        """Name of the functions that kernels use for this prior, in `berlyne.engine.row_beliefs.FAMILIES`."""
        return type(self).__name__

    @property
    def _before(self) -> FloatArray:
        return self.alphas

    @cached_property
    def labelling(self) -> Labelling:
        """The classes of all possible transitions, as positions in `classes`."""
        labels = self.labels
        positions = np.where(labels >= 0, np.searchsorted(self.classes, labels), -1)
        fixed = np.where(np.all(labels < 0, axis=0), self.alpha, 0.0)
        return labelling_of(positions, fixed, self.support, len(self.classes))

    def _kernel_data(self, utility: str | None) -> tuple[FloatArray, FloatArray]:
        """Return data for kernels as `Dirichlet` with unequal alphas does; the last of `numbers` are the weights."""
        numbers, table = super()._kernel_data(utility)
        return np.append(numbers, self.weights), table

    def describe(self) -> Description:
        """Return labels, parameters and schedule, the support, and the weights if they are not those at the start."""
        parameters = {"alpha": self.alpha, "shape": self.shape, "strength": self.strength}
        parameters |= asdict(self.schedule or SHARED_SCHEDULE)
        arrays: dict[str, Any] = {"prior_labels": self.labels}
        if self.support.indptr is not None:
            arrays |= dict(zip(("support_indptr", "support_indices"), self.support.entries(), strict=True))
        belief = self._belief
        if belief.mean != self.alpha or belief.common_shape != self.shape or np.any(belief.shape != self.shape):
            arrays["prior_weights"] = np.stack([self.weights, belief.shape])
            arrays["prior_moments"] = np.array([belief.mean, belief.common_shape])
        return Description("SharedDirichlet", parameters, arrays)

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, description: Description) -> SharedDirichlet:
        """Create the prior from a description, or raise a `ValueError` if its support or labels are invalid."""
        arrays, parameters = description.arrays, dict(description.parameters)
        schedule = Refit(**{part.name: parameters.pop(part.name) for part in fields(Refit)})
        support = Support(n_actions, n_states, arrays.get("support_indptr"), arrays.get("support_indices"))
        prior = cls(arrays["prior_labels"], **parameters, support=support, schedule=schedule)
        if "prior_weights" not in arrays:
            return prior
        (weights, shapes), (mean, common_shape) = arrays["prior_weights"], arrays["prior_moments"]
        prior = prior.with_learned(weights)
        if np.isnan(mean):
            return prior
        positive = np.array([*shapes, mean, common_shape])
        if len(shapes) != len(weights) or not np.all((positive > 0.0) & np.isfinite(positive)):
            raise ValueError("prior_weights and prior_moments must contain positive numbers")
        shapes = np.asarray(shapes, dtype=float)
        return prior.with_belief(WeightBelief(shapes, shapes / prior.weights, float(mean), float(common_shape)))


def _labels_by_transition(labels: Any, support: Any) -> tuple[Support, IntArray]:
    """Return the support, and the labels of the possible transitions, (F, n_transitions).

    Raises
    ------
    ValueError
        If labels are not whole numbers of at least -1, or have another shape than `SharedDirichlet` accepts.
    """
    if isinstance(labels, TransitionLabels) and support is None:
        labels, support = labels.labels, labels.support
    values = np.asarray(labels)
    if values.dtype.kind not in "iu":
        raise ValueError(f"labels are of type {values.dtype}; they must be whole numbers, and -1 for none")
    if values.ndim == 3:
        values = values[None]
    is_dense = values.ndim == 4
    possible = as_support(np.any(values >= 0, axis=0) if support is None and is_dense else support, None, None)
    n_actions, n_states, row = possible.n_actions, possible.n_states, possible.row_numbers()
    if is_dense and values.shape[1:] == (n_actions, n_states, n_states) and len(values):
        s, a = np.divmod(row, n_actions)
        values = values[:, a, s, possible.entries()[1]]
    elif values.ndim in (1, 2) and values.shape[-1] == len(row) and len(values):
        values = np.atleast_2d(values)
    else:
        raise ValueError(
            f"labels have shape {np.shape(labels)}; it must be {(n_actions, n_states, n_states)} or, with a support, "
            f"{row.shape}: one label for each transition or possible transition; for F features, that of each in turn"
        )
    if np.any(values < -1):
        raise ValueError(f"a label is {values.min()}; labels must be at least 0, or -1 for none")
    return possible, np.array(values, dtype=np.int64)
