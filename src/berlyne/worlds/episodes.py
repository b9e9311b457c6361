"""Episodes: where they begin and where they end.

A world may have terminal states. When an action leads to one of them the episode is over, and the agent is put into a
state drawn from the start distribution. That is no transition: nothing is learned from it, and the rows of terminal
states, which nobody can try, are no part of the missing information. `World.with_resets` makes it one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.frozen import Frozen, read_only
from berlyne.labels import Labels
from berlyne.priors import Dirichlet
from berlyne.sparse import Rows, Support
from berlyne.validation import BoolArray, FloatArray, IntArray, check_number

if TYPE_CHECKING:
    from berlyne.worlds.world import World

SUM_TOLERANCE = 1e-6
"""Probabilities this close to a sum of one are rescaled to it (single precision gets no closer)."""


class Episodes(Frozen):
    """Where the episodes of a world begin and end.

    Parameters
    ----------
    labels : what states are called.
    start : a state; probabilities, as a mapping from states or an array (N,); or None, for any state that is
        not terminal, with equal chance.
    terminal : states in which an episode ends; None for none.

    Attributes
    ----------
    start : the number of the state, (N,) probabilities, or None.
    terminal : (T,), numbers of the terminal states, ascending.
    """

    start: int | FloatArray | None
    terminal: IntArray
    _labels: Labels

    def __init__(self, labels: Labels, start: Any = None, terminal: Any = None) -> None:
        numbers = np.unique(np.array(labels.numbers(_as_list(terminal), "terminal"), dtype=np.int64))
        if len(numbers) == labels.size:
            raise ValueError("all states are terminal; an episode needs one to begin in")
        vars(self).update(_labels=labels, terminal=read_only(numbers))
        vars(self).update(start=self._checked(start))

    def _remedy(self, name: str) -> str:
        return "make another World(..., start=..., terminal=...)"

    @cached_property
    def is_terminal(self) -> BoolArray:
        """(N,), whether each state is terminal."""
        ends = np.zeros(self._labels.size, dtype=bool)
        ends[self.terminal] = True
        return read_only(ends)

    @cached_property
    def distribution(self) -> FloatArray:
        """(N,), the probability that an episode begins in each state; sums to one."""
        if isinstance(self.start, np.ndarray):
            return self.start
        chances = ~self.is_terminal if self.start is None else np.arange(self._labels.size) == self.start
        return read_only(np.asarray(chances / chances.sum()))

    @cached_property
    def starts(self) -> tuple[IntArray, FloatArray]:
        """States in which episodes can begin, and the running sum of their probabilities."""
        states = np.flatnonzero(self.distribution)
        return read_only(states), read_only(np.cumsum(self.distribution[states]))

    def draw(self, u: float) -> int:
        """The state that an episode begins in, for a uniform number `u` in [0, 1)."""
        states, cumulative = self.starts
        return int(states[min(int(np.searchsorted(cumulative, u, side="right")), len(states) - 1)])

    def with_start(self, start: Any) -> Episodes:
        """The same episodes with another start."""
        return Episodes(self._labels, start, [self._labels[s] for s in self.terminal.tolist()])

    def _checked(self, start: Any) -> int | FloatArray | None:
        if start is None:
            return None
        if isinstance(start, Mapping):
            chances = np.zeros(self._labels.size)
            for state, p in start.items():
                chances[self._labels.number(state, "start")] = check_number("a probability of start", p, 0.0, 1.0)
            return self._probabilities(chances)
        if isinstance(start, np.ndarray | list):
            return self._probabilities(start)
        number = self._labels.number(start, "start")
        self._refuse_terminal(number)
        return number

    def _probabilities(self, start: Any) -> FloatArray:
        try:
            chances = np.array(start, dtype=np.float64)
        except (TypeError, ValueError):
            chances = np.empty(0)
        if chances.shape != (self._labels.size,) or not np.all(chances >= 0):
            raise ValueError(
                f"start must be a state, or {self._labels.size} probabilities that are not negative, one for each state"
            )
        if not abs(chances.sum() - 1.0) <= SUM_TOLERANCE:
            raise ValueError(f"the probabilities of start sum to {chances.sum():.9g}; they must sum to 1")
        wrong = np.flatnonzero(chances[self.terminal])
        if len(wrong):
            self._refuse_terminal(int(self.terminal[wrong[0]]))
        chances /= chances.sum()
        chances.flags.writeable = False
        return chances

    def _refuse_terminal(self, number: int) -> None:
        if self.is_terminal[number]:
            raise ValueError(f"start is {self._labels[number]!r}, a terminal state; an episode must begin in another")


def _as_list(terminal: Any) -> Any:
    return () if terminal is None else terminal


def draw_initial_state(world: World, start: Any, rng: np.random.Generator) -> int:
    """The number of the state that exploration begins in: `start` if given, or else the world's, drawn by `rng`.

    Without terminal states and start all states are equally likely (reading R13).
    """
    episodes = world.episodes if start is None else world.episodes.with_start(start)
    if isinstance(episodes.start, int):
        return episodes.start
    if episodes.start is None and not len(episodes.terminal):
        return int(rng.integers(world.n_states))
    return episodes.draw(rng.random())


def rows_with_resets(world: World) -> Rows:
    """The rows of a world in which every action in a terminal state leads to the start distribution."""
    rows, episodes = world.rows, world.episodes
    states = episodes.starts[0]
    again = np.repeat(episodes.is_terminal, world.n_actions)
    sizes = np.where(again, len(states), np.diff(rows.indptr))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    new = np.repeat(again, sizes)
    old = ~again[rows.row_numbers()]
    indices[~new], data[~new] = rows.indices[old], rows.data[old]
    times = len(episodes.terminal) * world.n_actions
    indices[new], data[new] = np.tile(states, times), np.tile(episodes.distribution[states], times)
    return Rows(world.n_actions, world.n_states, indptr, indices, data)


def prior_with_resets(world: World, rows: Rows) -> Any:
    """The prior of a world, with resets added to what a Dirichlet prior calls possible."""
    prior = world.prior
    if not isinstance(prior, Dirichlet) or prior.support.is_full:
        return prior
    return Dirichlet(prior.alpha, _joined(prior.support, rows.support))


def _joined(one: Support, other: Support) -> Support:
    """What either of two supports allows."""
    keys = [
        np.repeat(np.arange(len(support.sizes)), support.sizes) * one.n_states + support.entries()[1]
        for support in (one, other)
    ]
    row, s_next = np.divmod(np.union1d(*keys), one.n_states)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(one.sizes)))]).astype(np.int64)
    return Support(one.n_actions, one.n_states, indptr, s_next.astype(np.int32))
