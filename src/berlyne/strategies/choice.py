"""From values to one action: the best with ties broken at random, or a draw from the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.validation import BoolArray, FloatArray

TIE_TOLERANCE = 1e-12
"""Values that fall short of the largest by a smaller share of it are tied with it (reading R8)."""


def tie_threshold(largest: float) -> float:
    """The least value that is tied with the largest; zero is tied with zero only."""
    return largest - TIE_TOLERANCE * abs(largest)


def random_argmax(values: FloatArray, u: float) -> int:
    """Index of the largest value; ties, within `TIE_TOLERANCE`, are broken uniformly by `u`."""
    tied = np.flatnonzero(values >= tie_threshold(values.max()))
    return int(tied[int(u * len(tied))])


def sample_index(weights: FloatArray, u: float) -> int:
    """Index drawn with chances in proportion to `weights` by inversion of `u`; never one of weight zero."""
    cumulative = np.cumsum(weights)
    beyond = np.flatnonzero(u * cumulative[-1] < cumulative)
    return int(beyond[0] if len(beyond) else np.flatnonzero(weights)[-1])


@dataclass(frozen=True)
class ChoiceRule:
    r"""How values become an action, with two uniform numbers `u`.

    If `u[1] < lapse` any action, the one that `u[0]` points at; but none of value -inf, which cannot be taken.
    Otherwise, at temperature 0, the best, ties broken by `u[0]`; or else one drawn by inversion of `u[0]` from the
    softmax

    $$p(a) = \frac{e^{Q(a) / T}}{\sum_b e^{Q(b) / T}} .$$

    temperature : in the unit of the values.
    lapse : the chance of a uniform choice, for whatever reason.
    first : whether the first of tied actions is taken. Whoever draws `u` then sets `u[0]` to zero.
    """

    temperature: float = 0.0
    lapse: float = 0.0
    first: bool = False

    def choose(self, values: FloatArray, u: FloatArray) -> int:
        """The action for these values (M,)."""
        if u[1] < self.lapse:
            possible = np.flatnonzero(values > -np.inf)
            return int(possible[int(u[0] * len(possible))])
        if self.temperature == 0.0:
            return random_argmax(values, u[0])
        return sample_index(self.weights(values, values.max()), u[0])

    def weights(self, values: FloatArray, largest: Any) -> FloatArray:
        """What the chances of actions are in proportion to, but for lapses; `largest` is the largest value of all."""
        if self.temperature == 0.0:
            return np.asarray(values >= tie_threshold(largest), dtype=float)
        with np.errstate(over="ignore"):  # a value too far below the largest has no chance
            return np.asarray(np.exp((values - largest) / self.temperature))

    def probabilities(self, values: FloatArray) -> FloatArray:
        """The chance of each action, for values along the last axis; of the same shape, sums to one."""
        weights = self.weights(values, values.max(axis=-1, keepdims=True))
        if self.first:
            weights *= np.cumsum(weights, axis=-1) == 1.0
        possible = values > -np.inf
        n_possible = np.count_nonzero(possible, axis=-1, keepdims=True)
        return self.add_lapses(weights / weights.sum(axis=-1, keepdims=True), possible, n_possible)

    def add_lapses(self, chance: FloatArray, possible: BoolArray, n_possible: Any) -> FloatArray:
        """The chance of each option, given what it is without lapses; `n_possible` are possible in all."""
        return np.asarray((1.0 - self.lapse) * chance + possible * (self.lapse / n_possible))
