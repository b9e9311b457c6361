"""Choice rules: turn action values into one action, by argmax with random ties or by a softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.validation import BoolArray, FloatArray

TIE_TOLERANCE = 1e-12
"""Relative tolerance for ties: a value is tied if it is below the largest by at most this share (reading R8)."""


def tie_threshold(largest: float) -> float:
    """Return the smallest value that is tied with the largest; zero is tied with zero only."""
    return largest - TIE_TOLERANCE * abs(largest)


def random_argmax(values: FloatArray, u: float) -> int:
    """Return the index of the largest value; `u` breaks ties (within `TIE_TOLERANCE`) uniformly."""
    tied = np.flatnonzero(values >= tie_threshold(values.max()))
    return int(tied[int(u * len(tied))])


def sample_index(weights: FloatArray, u: float) -> int:
    """Draw an index with probability proportional to `weights`, by inversion of `u`.

    An index of weight zero is never drawn.
    """
    cumulative = np.cumsum(weights)
    above = np.flatnonzero(u * cumulative[-1] < cumulative)
    return int(above[0] if len(above) else np.flatnonzero(weights)[-1])


@dataclass(frozen=True)
class ChoiceRule:
    r"""Rule that turns action values into an action, given two uniform numbers `u`.

    If `u[1] < lapse`, the action is chosen uniformly by `u[0]`. Actions of value -inf are impossible and never chosen.
    Otherwise, at temperature 0, the best action is chosen and `u[0]` breaks ties. At a higher temperature, the action
    is drawn by inversion of `u[0]` from the softmax

    $$p(a) = \frac{e^{Q(a) / T}}{\sum_b e^{Q(b) / T}} .$$

    Parameters
    ----------
    temperature : float
        T, in the unit of the values.
    lapse : float
        Probability of a uniform choice.
    first : bool
        Whether the first of tied actions is taken. The caller must then set `u[0]` to zero.
    """

    temperature: float = 0.0
    lapse: float = 0.0
    first: bool = False

    def choose(self, values: FloatArray, u: FloatArray) -> int:
        """Choose an action, given the values (M,) of all actions."""
        if u[1] < self.lapse:
            possible = np.flatnonzero(values > -np.inf)
            return int(possible[int(u[0] * len(possible))])
        if self.temperature == 0.0:
            return random_argmax(values, u[0])
        return sample_index(self.weights(values, values.max()), u[0])

    def weights(self, values: FloatArray, largest: Any) -> FloatArray:
        """Compute weights proportional to the probabilities without lapses; `largest` is the largest value."""
        if self.temperature == 0.0:
            return np.asarray(values >= tie_threshold(largest), dtype=float)
        with np.errstate(over="ignore"):  # a value far below the largest has probability zero
            return np.asarray(np.exp((values - largest) / self.temperature))

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Compute the probability of each action.

        Parameters
        ----------
        values : ndarray of shape (..., M)
            Values of the actions, along the last axis.

        Returns
        -------
        ndarray of shape (..., M)
            Probabilities; they sum to one along the last axis, or are 0 if no action is possible (all values -inf).
        """
        possible = values > -np.inf
        n_possible = np.count_nonzero(possible, axis=-1, keepdims=True)
        weights = self.weights(values, np.where(n_possible, values.max(axis=-1, keepdims=True), 0.0))
        if self.first:
            weights *= np.cumsum(weights, axis=-1) == 1.0
        total = np.where(n_possible, weights.sum(axis=-1, keepdims=True), 1.0)
        return self.add_lapses(weights / total, possible, np.maximum(n_possible, 1))

    def add_lapses(self, chance: FloatArray, possible: BoolArray, n_possible: Any) -> FloatArray:
        """Mix the probabilities `chance` with the uniform choice among `n_possible` options."""
        return np.asarray((1.0 - self.lapse) * chance + possible * (self.lapse / n_possible))
