"""Rules that stop an exploration before its last step: a number of episodes, or a state that is reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.labels import GrowingLabels, Labels
from berlyne.validation import BoolArray, IndexArray, check_count


class StoppingRule:
    """A rule that stops an exploration.

    Parameters
    ----------
    labels : Labels
        Labels of the states.
    n_episodes : int or None
        Stop after this number of episodes. None for any number.
    until : object, callable or None
        Stop when a step leads to this state, or to one for which this function of its label returns true.

    Attributes
    ----------
    is_active : bool
        Whether the rule can stop an exploration.
    """

    def __init__(self, labels: Labels, n_episodes: int | None, until: Any) -> None:
        self._labels = labels
        self._n_episodes = None if n_episodes is None else check_count("n_episodes", n_episodes, 1)
        self._reached: Callable[[Any], Any] | None = None
        if callable(until):
            self._reached = until
        elif until is not None:
            label = until if isinstance(labels, GrowingLabels) else labels[labels.number(until, "until")]
            self._reached = lambda state: state == label
        self.is_active = self._n_episodes is not None or self._reached is not None

    def stops(self, state: Any, n_finished: int) -> bool:
        """Whether to stop after a step that led to the state with this label, and after `n_finished` episodes."""
        is_reached = self._reached is not None and bool(self._reached(state))
        return is_reached or (self._n_episodes is not None and n_finished >= self._n_episodes)

    def first(self, next_states: IndexArray, is_last: BoolArray, begin: int = 0) -> int | None:
        """Return the number of steps of a path after which to stop; None if it goes on.

        Parameters
        ----------
        next_states : ndarray of int, shape (T,)
            The state that each step led to.
        is_last : ndarray of bool, shape (T,)
            Whether each step was the last one of its episode.
        begin : int
            The first step to look at.
        """
        finished = np.cumsum(is_last)
        for t in range(begin, len(next_states)):
            if self.stops(self._labels[int(next_states[t])], int(finished[t])):
                return t + 1
        return None
