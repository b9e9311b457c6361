"""What a model misses of a world: the part of an `InternalModel` that compares it with the truth.

States and actions of both are matched by label where both have labels, and by number otherwise. An explorer that
discovers its states has a cell for each of them and a last one, elsewhere, for all others. What it expects elsewhere
is spread evenly over the states of the world that are not discovered.
"""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray, IntArray
from berlyne.labels import Cells, Labelled, Labels
from berlyne.priors.prior import ExactPrior
from berlyne.rows import Counts, by_action
from berlyne.worlds.world import World

PIECE = 1 << 18
"""Rows whose estimates are worked out at a time."""


class Measured(Labelled):
    """What believes something of the rows of a world, and can be compared with it."""

    n_states: int
    n_actions: int
    exact: ExactPrior | None

    @property
    def theta_hat(self) -> FloatArray:
        """The estimate, (M, N, N)."""
        raise NotImplementedError

    @property
    def sparse_counts(self) -> Counts:
        """What was observed."""
        raise NotImplementedError

    def missing_information(self, world: World) -> float:
        """Missing information about `world`, in bits (Eq. 2, `eq:IM`), from sparse rows.

        Rows of terminal states, which nobody can try, do not count.
        """
        missing = self._missing(world)
        if len(world.terminal):
            missing = missing[~world.episodes.ends[world.rows.numbers() // world.n_actions]]
        return float(np.sum(missing))

    def missing_information_by_row(self, world: World) -> FloatArray:
        """D(theta || theta_hat) of each row of the world, in bits, `[a, s]`; 0 in terminal states."""
        per_row: FloatArray = by_action(world.rows.row_sums(self._missing(world)), self.n_actions)
        per_row[:, world.terminal] = 0.0
        return per_row

    def _missing(self, world: World) -> FloatArray:
        """The term theta log2(theta / theta_hat) of every transition that is possible in `world`."""
        theta, theta_hat = world.rows.data, self._estimate_of(world)
        with np.errstate(divide="ignore"):
            return np.asarray(theta * (np.log2(theta) - np.log2(theta_hat)))

    def l1_distance(self, world: World) -> float:
        """Sum over rows of |theta - theta_hat| from sparse rows (Fig. S4)."""
        return float(np.sum(self.l1_distances(world)))

    def l1_distances(self, world: World) -> FloatArray:
        """|theta - theta_hat| of each row of the world, `[a, s]`; 0 in terminal states."""
        theta_hat = self._estimate_of(world)
        elsewhere = 1.0 - world.rows.row_sums(theta_hat)  # believed possible, but it is not
        distance = world.rows.row_sums(np.abs(world.rows.data - theta_hat)) + np.maximum(elsewhere, 0.0)
        per_row: FloatArray = by_action(distance, self.n_actions)
        per_row[:, world.terminal] = 0.0
        return per_row

    def estimate_at(self, row: IntArray, s_next: IntArray) -> FloatArray:
        """theta_hat of single transitions, of `s_next` in the row r = s M + a, elementwise."""
        if self.exact is not None:
            return self.exact.estimate_at(self.sparse_counts, row, s_next)
        s, a = np.divmod(row, self.n_actions)
        return np.asarray(self.theta_hat[a, s, s_next])

    def _estimate_of(self, world: World) -> FloatArray:
        """theta_hat at every transition that is possible in `world`."""
        cells, actions, rows = cells_of(world, self), actions_of(world, self), world.rows
        theta_hat = np.empty(len(rows.data))
        n_rows = len(rows.indptr) - 1
        for first in range(0, n_rows, PIECE):  # in pieces: what is intermediate would outweigh the world
            last = min(first + PIECE, n_rows)
            begin, end = rows.indptr[first], rows.indptr[last]
            s, a = np.divmod(np.arange(first, last), rows.n_actions)
            row = np.repeat(cells[s] * self.n_actions + actions[a], np.diff(rows.indptr[first : last + 1]))
            theta_hat[begin:end] = self.estimate_at(row, cells[rows.indices[begin:end]])
        if isinstance(self.state_labels, Cells):
            theta_hat /= np.bincount(cells, minlength=self.n_states)[cells[rows.indices]]
        return theta_hat


def cells_of(world: World, model: Measured) -> IntArray:
    """The model's number of each state of a world, (N,); of those that are not discovered, that of elsewhere."""
    if not isinstance(model.state_labels, Cells):
        return _matched(world.state_labels, model.state_labels)
    cells = np.full(world.n_states, model.n_states - 1)
    number = {label: s for s, label in enumerate(world.states)}
    for cell, label in enumerate(model.states[:-1]):
        if label not in number:
            raise ValueError(f"the model has discovered the state {label!r}; the world must have it, too")
        cells[number[label]] = cell
    return cells


def actions_of(world: World, model: Measured) -> IntArray:
    """The model's number of each action of a world, (M,)."""
    return _matched(world.action_labels, model.action_labels)


def _matched(world: Labels, model: Labels) -> IntArray:
    """The model's number of each label of the world."""
    kind = f"{world.kind}s"
    if world.size != model.size:
        raise ValueError(f"the world has {world.size} {kind} and the model {model.size}; they must be the same")
    if world.given is None or model.given is None:
        return np.arange(world.size)
    number = {label: i for i, label in enumerate(model.given)}
    strange = [label for label in world.given if label not in number]
    if strange:
        raise ValueError(
            f"the world has the {world.kind} {strange[0]!r}, which the model has not; {kind} must be the same"
        )
    return np.array([number[label] for label in world.given])
