"""Internal models in the form that planning kernels read: outcomes in slots, twelve problems to a block.

See `berlyne.kernels.slots` and `berlyne.kernels.dozen`. Models of one world that share their prior share their
slots, so that what depends on the graph alone is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.model import InternalModel
from berlyne.priors import Dirichlet, OneTwoThree
from berlyne.rows import Counts, Rows, Support
from berlyne.worlds.world import World

LANES = 12
"""Problems worked on at once, as in `berlyne.kernels.dozen`."""

Model = InternalModel | Counts | Rows | FloatArray
"""What can be planned with: `Counts` are read with the world's prior; an array is `theta_hat[a, s, s_next]`."""

Models = Sequence[Model] | IntArray
"""Several of them, or counts `(K, M, N, N)`."""


class Slots:
    """The outcomes of every state, a slot each, for all its actions together."""

    def __init__(self, support: Support) -> None:
        from berlyne.kernels.slots import union_slots

        self.support, self.n_actions = support, support.n_actions
        self.start, self.length, self.succ = union_slots(*support.entries(), support.n_actions)

    @cached_property
    def elimination(self) -> Any:
        """How to solve linear equations on this graph, see `berlyne.kernels.eliminate`."""
        from berlyne.kernels.eliminate import list_elimination

        return list_elimination(self.start, self.length, self.succ)

    @cached_property
    def unseen(self) -> IndexArray:
        """Counts before any data, `[slot * M + a]`: 0, or -1 where an action excludes an outcome."""
        from berlyne.kernels.slots import spread_evenly

        unseen = np.full(len(self.succ) * self.n_actions, -1, dtype=np.int32)
        even = np.empty(len(unseen))
        entries = self.support.entries()
        spread_evenly(*entries, self.start, self.succ, self.n_actions, self.n_actions, even, unseen)
        return unseen

    def chain(self, weight: FloatArray) -> Any:
        """A `berlyne.kernels.navigate.Chain` of these slots; `weight` as returned by `spread`."""
        from berlyne.kernels.navigate import Chain

        return Chain(self.start, self.length, self.succ, weight, self.n_actions)

    def spread(self, rows: Rows) -> FloatArray:
        """Probabilities of `rows` in these slots, `[slot * M + a]`."""
        from berlyne.kernels.slots import spread

        out = np.zeros(len(self.succ) * self.n_actions)
        spread(rows.indptr, rows.indices, rows.data, self.start, self.succ, self.n_actions, self.n_actions, out)
        return out


class ModelReader:
    """Reads the estimates of internal models of one world into slots."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.truth = Slots(world.rows.support)
        self._of_prior: dict[int, tuple[Any, Slots]] = {}

    def read(self, models: Models) -> Iterator[tuple[Slots, FloatArray]]:
        """Slots and estimates `(K, slots * M)` of K models at a time, in the order of `models`."""
        if isinstance(models, np.ndarray) and np.issubdtype(models.dtype, np.integer):
            models = _split(models)
        if not len(models):
            raise ValueError("there are no models to read")
        readable = [self._prior_and_counts(model) for model in models]
        for _, group in groupby(readable, key=lambda pair: id(pair[0])):
            batch = list(group)
            if batch[0][0] is None:
                for _, rows in batch:
                    slots = Slots(rows.support)
                    yield slots, slots.spread(rows)[None]
            else:
                slots = self._slots(batch[0][0])
                yield slots, _estimates(batch[0][0], slots, [counts for _, counts in batch])

    def _prior_and_counts(self, model: Model) -> tuple[Any, Any]:
        """A prior of the paper and counts, or None and rows."""
        prior = self.world.prior if isinstance(model, Counts) else getattr(model, "prior", None)
        if isinstance(model, Counts | InternalModel):
            self._check_size(model.n_actions, model.n_states)
            counts = model.sparse_counts if isinstance(model, InternalModel) else model
            if type(prior) in (Dirichlet, OneTwoThree):
                return prior, counts
            if prior is None:
                raise ValueError("counts say nothing without a prior; give the world one, or a model instead of counts")
            model = InternalModel.from_counts(prior, counts, {}).theta_hat
        rows = World(model).rows
        self._check_size(rows.n_actions, rows.n_states)
        return None, rows

    def _check_size(self, n_actions: int, n_states: int) -> None:
        ours = self.world.n_actions, self.world.n_states
        if (n_actions, n_states) != ours:
            raise ValueError(
                f"the model has {n_actions} actions and {n_states} states; the world has {ours[0]} and {ours[1]}"
            )

    def _slots(self, prior: Any) -> Slots:
        if id(prior) not in self._of_prior:
            rows = self.world.rows
            support = prior.support if isinstance(prior, Dirichlet) else Support(rows.n_actions, rows.n_states)
            slots = self.truth if support.indices is rows.indices else Slots(support)
            self._of_prior[id(prior)] = prior, slots  # the prior is kept alive, or its id might be used again
        return self._of_prior[id(prior)][1]


def _split(counts: IntArray) -> list[Counts]:
    """Sparse counts of every model of `(K, M, N, N)`."""
    if counts.ndim != 4 or counts.shape[2] != counts.shape[3]:
        raise ValueError(f"counts have shape {counts.shape}; it must be (n_models, n_actions, n_states, n_states)")
    n_models, n_actions, n_states, _ = counts.shape
    by_row = counts.transpose(0, 2, 1, 3).reshape(n_models, n_states * n_actions, n_states)
    model, row, s_next = np.nonzero(by_row)
    n = by_row[model, row, s_next].astype(np.int64)
    ends = np.searchsorted(model, np.arange(n_models + 1))
    pieces = [slice(begin, end) for begin, end in pairwise(ends.tolist())]
    return [Counts(n_actions, n_states, row[piece], s_next[piece], n[piece]) for piece in pieces]


def _estimates(prior: Any, slots: Slots, counts: list[Counts]) -> FloatArray:
    """Estimates of many models, `(K, slots * M)`."""
    from berlyne.kernels.estimates import dirichlet_estimates, one_two_three_estimates

    begin = np.concatenate([[0], np.cumsum([len(c.row) for c in counts])]).astype(np.int64)
    row, s_next, n = (np.concatenate([getattr(c, name) for c in counts]) for name in ("row", "s_next", "n"))
    out = np.empty((len(counts), len(slots.succ) * slots.n_actions))
    if isinstance(prior, OneTwoThree):
        tables, sizes = prior.tables, (prior.n_states, prior.n_actions)
        wrong = one_two_three_estimates(tables.p_first, tables.p_other, *sizes, row, s_next, begin, out)
    else:
        graph = slots.start, slots.length, slots.succ, slots.unseen
        wrong = dirichlet_estimates(*graph, prior.alpha, prior.n_actions, row, s_next, n, begin, out)
    if wrong >= 0:
        prior.estimate(counts[wrong].dense())  # raises, and names the row
    return out


def blocked(columns: FloatArray) -> FloatArray:
    """`(C, N)` as blocks of twelve columns, `(B, N * 12)`; columns of zeros fill the last block."""
    n_columns, n = columns.shape
    n_blocks = -(-n_columns // LANES)
    padded = np.zeros((n_blocks * LANES, n))
    padded[:n_columns] = columns
    return np.ascontiguousarray(padded.reshape(n_blocks, LANES, n).transpose(0, 2, 1)).reshape(n_blocks, n * LANES)


def unblocked(blocks: FloatArray, n_columns: int) -> FloatArray:
    """The inverse of `blocked`, `(..., B, N * 12)` to `(..., C, N)`."""
    *lead, n_blocks, size = blocks.shape
    split = blocks.reshape(*lead, n_blocks, size // LANES, LANES)
    columns = np.moveaxis(split, -1, -2).reshape(*lead, n_blocks * LANES, size // LANES)
    return columns[..., :n_columns, :]
