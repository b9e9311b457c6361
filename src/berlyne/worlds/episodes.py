"""Episodes: start distribution, terminal states and horizon of a world.

A world may have terminal states. When an action leads to a terminal state, the episode ends, and the next one begins in
a state drawn from the start distribution. This reset is not a transition, and nothing is learned from it. No action can
be taken in a terminal state, so its rows are not part of the missing information. `World.with_resets` makes resets
transitions.

With a horizon, episodes are also cut after that number of steps, and begin again in the same way. A cut is not an end:
it says nothing about the state in which it happens.
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
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray, check_count, check_number

if TYPE_CHECKING:
    from berlyne.worlds.world import World

SUM_TOLERANCE = 1e-6
"""Probabilities whose sum differs from one by at most this are rescaled (single precision is not more precise)."""


class Episodes(Frozen):
    """Start distribution and terminal states of a world.

    Parameters
    ----------
    labels : Labels
        Labels of the states.
    start : hashable, mapping, array of shape (N,), or None
        State in which episodes begin, or probabilities, as a mapping from states or an array. None for a uniform
        distribution over the states that are not terminal.
    terminal : iterable of hashable, or None
        States in which an episode ends.
    horizon : int or None
        Number of steps after which an episode is cut. None if it is never cut.

    Attributes
    ----------
    start : int, ndarray of shape (N,) or None
        Number of the state, or probabilities.
    terminal : ndarray of shape (T,)
        Numbers of the terminal states, ascending.
    horizon : int or None
        As above.
    """

    horizon: int | None
    start: int | FloatArray | None
    terminal: IntArray
    _labels: Labels

    def __init__(self, labels: Labels, start: Any = None, terminal: Any = None, horizon: int | None = None) -> None:
        numbers = np.unique(np.array(labels.numbers(_as_list(terminal), "terminal"), dtype=np.int64))
        if len(numbers) == labels.size:
            raise ValueError("all states are terminal; an episode needs a state to begin in")
        horizon = None if horizon is None else check_count("horizon", horizon, 1)
        vars(self).update(_labels=labels, terminal=read_only(numbers), horizon=horizon)
        vars(self).update(start=self._parse_start(start))

    def _remedy(self, name: str) -> str:
        return "create a new World(..., start=..., terminal=...)"

    @property
    def begin_again(self) -> bool:
        """Whether episodes end or are cut, so that others follow."""
        return len(self.terminal) > 0 or self.horizon is not None

    def ends(self, next_states: IndexArray) -> tuple[BoolArray, BoolArray]:
        """Return whether an episode ended with each step of a path, and whether it ended or was cut, (T,) each."""
        terminated = self.is_terminal[next_states]
        if self.horizon is None or not len(next_states):
            return terminated, terminated
        t = np.arange(len(next_states))
        begin = np.maximum.accumulate(np.where(np.append(True, terminated[:-1]), t, 0))  # after the last end
        return terminated, terminated | ((t - begin + 1) % self.horizon == 0)

    @cached_property
    def is_terminal(self) -> BoolArray:
        """Whether each state is terminal, (N,)."""
        mask = np.zeros(self._labels.size, dtype=bool)
        mask[self.terminal] = True
        return read_only(mask)

    @cached_property
    def distribution(self) -> FloatArray:
        """Probability that an episode begins in each state, (N,); sums to one."""
        if isinstance(self.start, np.ndarray):
            return self.start
        chances = ~self.is_terminal if self.start is None else np.arange(self._labels.size) == self.start
        return read_only(np.asarray(chances / chances.sum()))

    @cached_property
    def starts(self) -> tuple[IntArray, FloatArray]:
        """States in which episodes can begin, and the cumulative sum of their probabilities."""
        states = np.flatnonzero(self.distribution)
        return read_only(states), read_only(np.cumsum(self.distribution[states]))

    def draw(self, u: float) -> int:
        """Draw the state in which an episode begins, by inversion of a uniform number `u` in [0, 1)."""
        states, cumulative = self.starts
        return int(states[min(int(np.searchsorted(cumulative, u, side="right")), len(states) - 1)])

    def with_start(self, start: Any) -> Episodes:
        """Return episodes with another start, the same terminal states and the same horizon."""
        return Episodes(self._labels, start, [self._labels[s] for s in self.terminal.tolist()], self.horizon)

    def _parse_start(self, start: Any) -> int | FloatArray | None:
        """Validate the start: the number of a state, probabilities (N,), or None."""
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
        self._check_start(number)
        return number

    def _probabilities(self, start: Any) -> FloatArray:
        """Validate and normalize start probabilities, (N,)."""
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
            self._check_start(int(self.terminal[wrong[0]]))
        chances /= chances.sum()
        chances.flags.writeable = False
        return chances

    def _check_start(self, number: int) -> None:
        """Raise `ValueError` if the start is a terminal state."""
        if self.is_terminal[number]:
            raise ValueError(
                f"start is {self._labels[number]!r}, a terminal state; "
                "an episode must begin in a state that is not terminal"
            )


def _as_list(terminal: Any) -> Any:
    return () if terminal is None else terminal


def draw_initial_state(world: World, start: Any, rng: np.random.Generator) -> int:
    """Return the number of the state in which exploration begins.

    It is drawn by `rng` from `start` or, if that is None, from the start distribution of the world. If neither a start
    nor terminal states are defined, all states are equally likely (reading R13).
    """
    episodes = world.episodes if start is None else world.episodes.with_start(start)
    if isinstance(episodes.start, int):
        return episodes.start
    if episodes.start is None and not len(episodes.terminal):
        return int(rng.integers(world.n_states))
    return episodes.draw(rng.random())


def rows_with_resets(world: World) -> Rows:
    """Return the rows of a world, with every action in a terminal state leading to the start distribution."""
    rows, episodes = world.rows, world.episodes
    states = episodes.starts[0]
    resets = np.repeat(episodes.is_terminal, world.n_actions)  # whether each row is that of a terminal state
    sizes = np.where(resets, len(states), np.diff(rows.indptr))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    new = np.repeat(resets, sizes)
    old = ~resets[rows.row_numbers()]
    indices[~new], data[~new] = rows.indices[old], rows.data[old]
    times = len(episodes.terminal) * world.n_actions
    indices[new], data[new] = np.tile(states, times), np.tile(episodes.distribution[states], times)
    return Rows(world.n_actions, world.n_states, indptr, indices, data)


def prior_with_resets(world: World, rows: Rows) -> Any:
    """Return the prior of a world; resets are added to the support of a Dirichlet prior."""
    prior = world.prior
    if not isinstance(prior, Dirichlet) or prior.support.is_full:
        return prior
    return prior.with_support(_union(prior.support, rows.support))


def _union(first: Support, second: Support) -> Support:
    """Return the union of two supports."""
    keys = [support.row_numbers() * first.n_states + support.entries()[1] for support in (first, second)]
    row, s_next = np.divmod(np.union1d(*keys), first.n_states)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(first.sizes)))]).astype(np.int64)
    return Support(first.n_actions, first.n_states, indptr, s_next.astype(np.int32))
